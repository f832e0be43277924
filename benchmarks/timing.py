"""Timing of several jobs in turn, in one process: A B C, A B C, ... Medians; the first turn is dropped."""

from __future__ import annotations

import gc
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """Something to time. ``units`` divides its time: the number of steps, where a step is what counts."""

    run: Callable[[], object]
    units: int = 1


@dataclass(frozen=True)
class Timing:
    """Seconds a unit over the runs that count. ``warm`` is False where the limit left only the first run."""

    median: float
    fastest: float
    slowest: float
    runs: int
    units: int
    warm: bool

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def seconds(job: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect garbage now and not while timing: a collection walks all objects and empties the caches of a job."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def fastest(job: Callable[[], object], budget: float) -> float:
    """Seconds of the fastest run within a budget of seconds: others may use the machine meanwhile."""
    job()
    start, times = time.perf_counter(), list[float]()
    with no_collection():
        while len(times) < 3 or time.perf_counter() - start < budget:
            times.append(seconds(job))
    return min(times)


def interleave(jobs: Mapping[str, Job], rounds: int, limit: float) -> dict[str, Timing]:
    """Time all jobs in turn, ``rounds`` times after a first turn that is dropped.

    After ``limit`` seconds no new turn begins. Where the first turn alone took longer, it is all there is, and the
    timings say so: ``warm`` is False.
    """
    start = time.perf_counter()
    turns: list[dict[str, float]] = []
    with no_collection():
        while len(turns) <= rounds and not (turns and time.perf_counter() - start > limit):
            turns.append({name: seconds(job.run) for name, job in jobs.items()})
    counted = turns[1:] or turns
    return {name: _timing([turn[name] for turn in counted], job.units, len(turns) > 1) for name, job in jobs.items()}


def in_rounds(jobs: Mapping[str, Job], calls: int, rounds: int) -> dict[str, Timing]:
    """Time ``calls`` runs of one job, then of the next, ``rounds`` times, so that each finds its own cache warm."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    with no_collection():
        for turn in range(rounds + 1):
            for name, job in jobs.items():
                taken = [seconds(job.run) for _ in range(calls)]
                times[name] += taken if turn else []
    return {name: _timing(times[name], job.units, True) for name, job in jobs.items()}


def _timing(times: list[float], units: int, warm: bool) -> Timing:
    each = [taken / units for taken in times]
    return Timing(statistics.median(each), min(each), max(each), len(each), units, warm)


def units_for(run: Callable[[int], object], budget: float, most: int) -> int:
    """How many steps of a loop with constant cost a step fill ``budget`` seconds, at least 2 and at most ``most``."""
    run(1)
    start = time.perf_counter()
    run(2)
    step = (time.perf_counter() - start) / 2
    return max(2, min(most, int(budget / max(step, 1e-9))))


@dataclass(frozen=True)
class Limited:
    """What a job with a time limit gave: its own seconds and result, or that it was cut off."""

    seconds: float
    result: Any
    cut_off: bool


def limited(job: Callable[[], Any], limit: float) -> Limited:
    """Run a job in a child process that is ended after ``limit`` seconds; the child measures its own time.

    ``job`` returns a pair: the seconds that count, and a result that can be sent.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, job))
    start = time.perf_counter()
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            return Limited(time.perf_counter() - start, None, True)
        failed, answer = receiver.recv()
        if failed:
            raise RuntimeError(answer)
        return Limited(*answer, False)
    except EOFError:
        raise RuntimeError("the child process ended without an answer (out of memory?)") from None
    finally:
        process.kill()
        process.join()


def _send(sender: Any, job: Callable[[], Any]) -> None:
    try:
        sender.send((False, job()))
    except Exception as error:  # handed to the parent, whatever it is
        sender.send((True, f"{type(error).__name__}: {error}"))
