"""Many runs of a case, here or in worker processes."""

from __future__ import annotations

import math
import multiprocessing
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, ExactCase
from .judge import Outcome, chosen_rule, judged, pilot_runs

Heard = Callable[[int, int | None], None]
_CHUNKS = 4
"""Pieces into which the runs of a case on one input are cut, so that workers share them."""


@dataclass(frozen=True)
class ExactOutcome:
    """Whether something that must not differ does.

    Attributes
    ----------
    name, group, about : str
        Of the case.
    difference : str
        In words; empty if there is none.

    Privacy
    -------
    Data-independent.
    """

    name: str
    group: str
    about: str
    difference: str

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.difference

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"passed": self.passed, **vars(self)}


def audit(
    cases: Sequence[Case | ExactCase],
    *,
    quick: bool = False,
    seed: int | None = None,
    jobs: int = 1,
    heard: Heard = lambda done, planned: None,
) -> list[Outcome | ExactOutcome]:
    """Run cases and judge them.

    Parameters
    ----------
    cases : sequence of Case or ExactCase
        What is audited.
    quick : bool, default=False
        Make few runs of each case, and none of those that are too slow for that.
    seed : int, optional
        For tests: makes all runs repeatable. By default the noise is the operating system's.
    jobs : int, default=1
        Worker processes; with 1 all runs are made in this one.
    heard : callable, optional
        Is told how many pieces of work are done, and of how many.

    Returns
    -------
    list of Outcome or ExactOutcome
        One for each case that was run, in the same order.

    Privacy
    -------
    Data-independent: inputs of cases are made up.
    """
    chosen = [case for case in cases if not quick or isinstance(case, ExactCase) or case.quick]
    pieces = [piece for case in chosen for piece in _pieces(case, quick, seed)]
    results: dict[tuple[str, int], list[Any]] = {}
    for done, (piece, result) in enumerate(_finished(pieces, jobs), start=1):
        results.setdefault(piece.key, []).append((piece.number, result))
        heard(done, len(pieces))
    return [_outcome(case, results) for case in chosen]


@dataclass(frozen=True)
class _Piece:
    """Some runs of a case on one of its inputs."""

    case: Case | ExactCase
    side: int
    number: int
    seeds: tuple[int | None, ...]

    @property
    def key(self) -> tuple[str, int]:
        return self.case.name, self.side

    def done(self) -> Any:
        if isinstance(self.case, ExactCase):
            return self.case.difference()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weak guarantees, repeated fits: here they are meant
            given = self.case.inputs[self.side]
            return np.array([np.ravel(self.case.run(given, seed)) for seed in self.seeds], dtype=np.float64)


def _pieces(case: Case | ExactCase, quick: bool, seed: int | None) -> Iterator[_Piece]:
    if isinstance(case, ExactCase):
        yield _Piece(case, 0, 0, ())
        return
    runs = case.quick if quick else case.runs
    size = math.ceil(runs / _CHUNKS)
    for side in (0, 1):
        seeds = _seeds(case.name, side, runs, seed)
        for number, start in enumerate(range(0, runs, size)):
            yield _Piece(case, side, number, seeds[start : start + size])


def _seeds(name: str, side: int, runs: int, seed: int | None) -> tuple[int | None, ...]:
    """Return a seed of its own for every run, or none at all."""
    if seed is None:
        return (None,) * runs
    drawn = np.random.default_rng([seed, zlib.crc32(name.encode()), side]).integers(2**62, size=runs)
    return tuple(drawn.tolist())


def _finished(pieces: Sequence[_Piece], jobs: int) -> Iterator[tuple[_Piece, Any]]:
    if jobs == 1:
        yield from ((piece, piece.done()) for piece in pieces)
        return
    with _pool(jobs) as pool:
        waiting = {pool.submit(piece.done): piece for piece in pieces}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give workers that start from nothing; what they have not begun is dropped when the block is left early."""
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _outcome(case: Case | ExactCase, results: dict[tuple[str, int], list[Any]]) -> Outcome | ExactOutcome:
    sides = [
        [result for _, result in sorted(results[case.name, side], key=lambda part: part[0])]
        for side in ((0,) if isinstance(case, ExactCase) else (0, 1))
    ]
    if isinstance(case, ExactCase):
        return ExactOutcome(case.name, case.group, case.about, sides[0][0])
    without, having = (np.concatenate(parts) for parts in sides)
    pilots = pilot_runs(len(having))
    rule = chosen_rule(without[:pilots], having[:pilots], case.claim, len(having) - pilots)
    return judged(case, rule, without[pilots:], having[pilots:])
