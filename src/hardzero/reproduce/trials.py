"""Running trials: an interrupted run goes on where it stopped and ends with the same bytes.

Rows know which code made them. Those of other code are kept unless the runner is told to renew them.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import connection
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..atomic import claimed
from ..version import __version__
from .fingerprint import fingerprint
from .rows import Made, Result, Row, Rows, Trial, line_of, read_rows, write

_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
    renew : bool, default=False
        Run again what other code made, unless this code was seen to make the same.
    """

    def __init__(
        self, jobs: int, console: Console | None = None, *, finished_only: bool = False, renew: bool = False
    ) -> None:
        self.jobs = jobs
        self.finished_only = finished_only
        self.renew = renew
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

        Raises
        ------
        FileExistsError
            If another process writes the file.
        """
        wanted = list(dict.fromkeys(trials))
        if self.finished_only:
            rows = read_rows(path)
            return {trial: rows[trial].result for trial in wanted if trial in rows}
        path.parent.mkdir(parents=True, exist_ok=True)
        with claimed(path, overwrite=True):
            rows = self._completed(wanted, work, path, title or path.stem)
        return {trial: rows[trial].result for trial in wanted}

    def _completed(
        self, wanted: Sequence[Trial], work: Callable[[Trial], Result], path: Path, title: str
    ) -> dict[Trial, Row]:
        """All rows of the file after running what is to be run."""
        rows, made = read_rows(path), Made(__version__, fingerprint(work))
        todo = [t for t in wanted if t not in rows or (self.renew and not rows[t].is_of(made.code))]
        if todo:
            write(path, rows)  # without a line cut short, to which the next one would be glued
            with path.open("a", encoding="utf-8", newline="\n") as out, self._progress() as progress:
                bar = progress.add_task(title, total=len(wanted), completed=len(wanted) - len(todo))
                for trial, result in self.results(todo, work):
                    rows[trial] = Row(result, made)
                    out.write(line_of(trial, rows[trial]))
                    out.flush()
                    progress.advance(bar)
        write(path, rows)
        return rows

    def _progress(self) -> Progress:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        return Progress(*columns, console=self.console, speed_estimate_period=600)

    def results(self, todo: Sequence[Trial], work: Callable[[Trial], Result]) -> Iterator[tuple[Trial, Result]]:
        """Run trials whether they are in a file or not; each comes as soon as it is finished."""
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
