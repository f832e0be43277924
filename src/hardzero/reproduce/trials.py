"""Trials kept as JSON lines: an interrupted run goes on where it stopped and ends with the same bytes.

Rows do not know which code made them: delete a method's rows after changing it.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Result: TypeAlias = dict[str, float]
Rows: TypeAlias = "dict[Trial, Result]"
Parameters: TypeAlias = tuple[tuple[str, float], ...]

_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Trial:
    """One fit on one split; everything random in it follows from ``seed``."""

    data: str
    method: str
    epsilon: float
    neighbours: str
    seed: int
    parameters: Parameters = ()

    @property
    def sort_key(self) -> tuple[str, str, float, str, str, int]:
        """The place in a result file, whatever the order in which trials were asked for or finished."""
        return (self.data, self.method, self.epsilon, self.neighbours, json.dumps(self.parameters), self.seed)


class DamagedResultsError(ValueError):
    """A result file has a line that is no finished trial, and it is not the last one, which a kill may cut short."""


def read(path: Path) -> Rows:
    """Finished trials of a file; a last line without its end is left out."""
    if not path.exists():
        return {}
    rows: Rows = {}
    *whole, _ = path.read_text(encoding="utf-8").split("\n")  # what follows the last newline is unfinished
    for number, line in enumerate(whole, start=1):
        try:
            trial, result = _parse(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedResultsError(f"{path}, line {number} is damaged; delete that line and run again") from error
        rows[trial] = result
    return rows


def _parse(line: str) -> tuple[Trial, Result]:
    row = json.loads(line)
    fields = dict(row["trial"])
    parameters = tuple(fields.pop("parameters", {}).items())
    return Trial(**fields, parameters=parameters), row["result"]


def line_of(trial: Trial, result: Mapping[str, float]) -> str:
    """One row of a result file. No timings: they would make two runs differ."""
    fields: dict[str, Any] = asdict(trial)
    del fields["parameters"]
    if trial.parameters:
        fields["parameters"] = dict(trial.parameters)
    return json.dumps({"trial": fields, "result": result}) + "\n"


def write(path: Path, rows: Mapping[Trial, Result]) -> None:
    """Replace a file by all rows in canonical order, at once: a kill leaves the old file or the new one."""
    text = "".join(line_of(trial, rows[trial]) for trial in sorted(rows, key=lambda trial: trial.sort_key))
    if path.exists() and path.read_bytes() == text.encode():
        return
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)


class Runner:
    """Runs trials in worker processes of one thread each; leave its ``with`` block to end them.

    Parameters
    ----------
    jobs : int
        Number of worker processes.
    console : rich.console.Console, optional
        Where the progress bar goes.
    finished_only : bool, default=False
        Run nothing: take the trials that are in the file.
    """

    def __init__(self, jobs: int, console: Console | None = None, *, finished_only: bool = False) -> None:
        self.jobs = jobs
        self.finished_only = finished_only
        self.console = console
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        self._pool.shutdown(wait=error is None, cancel_futures=True)
        if error is not None:  # a fit under way may take minutes: do not wait for what nobody will write down
            for child in multiprocessing.active_children():
                child.terminate()
        self._pool = None

    def run(self, trials: Iterable[Trial], work: Callable[[Trial], Result], path: Path, title: str = "") -> Rows:
        """Run what is not in the file yet; each finished trial is written at once, all in order at the end.

        Parameters
        ----------
        trials : iterable of Trial
            In the order in which they should start.
        work : callable
            Turns a trial into its result; sent to the workers, so a function of a module.
        path : Path
            The result file; rows of other trials in it are kept.
        title : str, optional
            Stands beside the progress bar; by default the file's name.

        Returns
        -------
        dict
            The results of ``trials``; of finished ones only, if the runner was told so.
        """
        wanted = list(dict.fromkeys(trials))
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = read(path)
        if self.finished_only:
            return {trial: rows[trial] for trial in wanted if trial in rows}
        todo = [trial for trial in wanted if trial not in rows]
        if todo:
            write(path, rows)  # without a line cut short, to which the next one would be glued
            with path.open("a", encoding="utf-8", newline="\n") as out, self._progress() as progress:
                bar = progress.add_task(title or path.stem, total=len(wanted), completed=len(wanted) - len(todo))
                for trial, result in self._results(todo, work):
                    out.write(line_of(trial, result))
                    out.flush()
                    rows[trial] = result
                    progress.advance(bar)
        write(path, rows)
        return {trial: rows[trial] for trial in wanted}

    def _progress(self) -> Progress:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        return Progress(*columns, console=self.console, speed_estimate_period=600)

    def _results(self, todo: Sequence[Trial], work: Callable[[Trial], Result]) -> Iterator[tuple[Trial, Result]]:
        with _one_thread_each():
            self._pool = self._pool or ProcessPoolExecutor(
                self.jobs, multiprocessing.get_context("spawn"), initializer=_prepare_worker
            )
            futures = {self._pool.submit(work, trial): trial for trial in todo}
            for future in as_completed(futures):
                trial = futures[future]
                try:
                    yield trial, future.result()
                except Exception as error:
                    error.add_note(f"in {trial}")
                    raise


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set what numerical libraries read when a new process loads them; put it back afterwards."""
    before = {name: os.environ.get(name) for name in _THREAD_COUNTS}
    os.environ.update(dict.fromkeys(_THREAD_COUNTS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _prepare_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent(sentinel: int = parent.sentinel) -> None:
        connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean and its standard error (NaN for a single value)."""
    array = np.array(list(values), dtype=float)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else math.nan
