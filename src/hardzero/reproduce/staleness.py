"""Which rows of a result file the code as it is did not make, and how to find out whether it would make the same.

Trials are seeded, so a row can be made anew to the last bit. A cell, the rows of one method on one data set, is
confirmed if some of its rows come out the same again; which ones follows from the code, and nobody chooses them.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ..atomic import claimed
from .fingerprint import fingerprint
from .rows import Made, Result, Row, Trial, read_rows, write
from .trials import Runner

Work: TypeAlias = Callable[[Trial], Result]

UNKNOWN = Made("unknown", "unknown")
"""Of rows from before the code was written down."""
_MEASURED_BY_CLOCK = ("seconds",)


class Cell(NamedTuple):
    """The rows of one method on one data set."""

    data: str
    method: str


class Standing(NamedTuple):
    """How many rows of a cell the code made, was seen to make the same, or neither."""

    made: int
    confirmed: int
    stale: int


def standing(path: Path, work: Work, past: Container[str] = ()) -> dict[Cell, Standing]:
    """Return how the rows of a file stand to the code behind ``work``; methods of the past are left out.

    Privacy
    -------
    Post-processing: published results.
    """
    code = fingerprint(work)
    counts: dict[Cell, list[int]] = defaultdict(lambda: [0, 0, 0])
    for trial, row in read_rows(path).items():
        if trial.method in past:
            continue
        made = row.made or UNKNOWN
        counts[_cell_of(trial)][0 if made.code == code else 1 if made.is_of(code) else 2] += 1
    return {cell: Standing(*count) for cell, count in sorted(counts.items())}


def confirm(runner: Runner, path: Path, work: Work, sample: int, past: Container[str] = ()) -> set[Cell]:
    """Make ``sample`` rows of each stale cell anew; mark the cells of which all came out the same.

    Parameters
    ----------
    runner : Runner
        Does the work.
    path : Path
        The result file.
    work : callable
        Turns a trial into its result.
    sample : int
        How many rows of a cell are made anew, or all if there are fewer.
    past : container of str
        Names of methods whose code is gone; they are left out.

    Returns
    -------
    set of Cell
        Those that came out otherwise: their rows are stale and have to be run again.

    Privacy
    -------
    Sensitive, as ``work`` is: published experiments measure without charging for it.
    """
    code = fingerprint(work)
    with claimed(path, overwrite=True):
        rows = read_rows(path)
        stale: dict[Cell, list[Trial]] = defaultdict(list)
        for trial, row in rows.items():
            if trial.method not in past and not row.is_of(code):
                stale[_cell_of(trial)].append(trial)
        chosen = [trial for cell in stale.values() for trial in sorted(cell, key=lambda t: _draw(t, code))[:sample]]
        changed = {
            _cell_of(trial)
            for trial, result in runner.results(chosen, work)
            if _bits(result) != _bits(rows[trial].result)
        }
        write(path, _marked(rows, (trial for cell in set(stale) - changed for trial in stale[cell]), code))
    return changed


def _marked(rows: Mapping[Trial, Row], same: Iterable[Trial], code: str) -> dict[Trial, Row]:
    """The rows, with those that come out the same confirmed."""
    marked = dict(rows)
    for trial in same:
        marked[trial] = Row(rows[trial].result, (rows[trial].made or UNKNOWN).confirmed_by(code))
    return marked


def _cell_of(trial: Trial) -> Cell:
    return Cell(trial.data, trial.method)


def _draw(trial: Trial, code: str) -> str:
    """What decides on the rows that are made anew: fixed by the code, but not to be foreseen."""
    return hashlib.sha256(repr((code, trial)).encode()).hexdigest()


def _bits(result: Result) -> str:
    """A result to the last bit, without what a clock measured."""
    return json.dumps(
        {name: value for name, value in result.items() if name not in _MEASURED_BY_CLOCK}, sort_keys=True
    )
