"""Tables of experiments/results/planner-*.jsonl, put into docs/planning.md between its markers.

Run: .venv/bin/python experiments/planner_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from planner import FITTED, KINDS, PLANNED, SIMPLY, size_of
from result_page import Content, Row, Tables, average, command

from hardzero.reproduce.rows import read

PAGE = Path(__file__).parent.parent / "docs" / "planning.md"

Cells = dict[tuple[str, float], dict[str, list[Row]]]


def cells_of(path: Path) -> Cells:
    """Rows by table and ε, what was planned and what was fitted apart."""
    cells: Cells = defaultdict(lambda: {PLANNED: [], SIMPLY: [], FITTED: []})
    for trial, row in read(path).items():
        cells[trial.data, trial.epsilon][trial.method].append(row)
    return {key: cell for key, cell in cells.items() if cell[PLANNED] and cell[FITTED]}


def found(results: Path) -> Content | None:
    """The share of planned effects that fits found, with its standard error."""
    cells = sorted(
        cells_of(results / "planner-found.jsonl").items(), key=lambda item: (*size_of(item[0][0]), item[0][1])
    )
    body = []
    for (data, epsilon), cell in cells:
        (planned,), fitted = cell[PLANNED], cell[FITTED]
        n_rows, n_features = size_of(data)
        rates = [_rate(planned, fitted, kind) for kind in KINDS]
        body.append(
            [f"{n_rows:,}", str(n_features), f"{epsilon:g}", str(len(fitted)), *rates, average(fitted, "noise")]
        )
    head = ["n", "p", "ε", "fits", *(f"{kind}: size, found" for kind in KINDS), "noise called reliable"]
    return (head, body) if body else None


def _rate(planned: Row, fitted: list[Row], kind: str) -> str:
    size, (count, tried) = planned[kind], _counts(fitted, kind)
    if size is None or not tried:
        return "none"
    rate = count / tried
    return f"{size:.3f}, {rate:.2f} ± {math.sqrt(max(rate * (1 - rate), 0.01) / tried):.2f}"


def right(results: Path) -> Content | None:
    """How many planned effects are found as often as was said, and how far off a typical one is."""
    body = []
    for kind in (*KINDS, "all"):
        told = [
            counts
            for cell in cells_of(results / "planner-found.jsonl").values()
            for name in (KINDS if kind == "all" else (kind,))
            if cell[PLANNED][0][name] is not None and (counts := _counts(cell[FITTED], name))[1]
        ]
        if told:
            off = [found / tried - 0.9 for found, tried in told]
            errors = [math.sqrt(0.09 / tried) for _, tried in told]
            body.append(
                [kind, str(len(off)), str(sum(abs(one) <= 0.05 for one in off)), f"{sum(off) / len(off):+.3f}",
                 f"{_typical(off):.3f}", f"{_typical(errors):.3f}", f"{max(map(abs, off)):.3f}"]
            )  # fmt: skip
    head = ["effect of", "cells", "within ±0.05", "mean deviation from 0.9", "typical deviation", "by counting alone",
            "furthest off"]  # fmt: skip
    return (head, body) if body else None


def _typical(values: list[float]) -> float:
    """Root mean square."""
    return math.sqrt(sum(value**2 for value in values) / len(values))


def _counts(fitted: list[Row], kind: str) -> tuple[int, int]:
    """How many effects of a kind were found, and how many there were."""
    return sum(row.get(kind, 0) for row in fitted), sum(row.get(f"{kind} of", 0) for row in fitted)


def widths(results: Path) -> Content | None:
    """How wide intervals were planned, and are."""
    body = []
    cells = sorted(
        cells_of(results / "planner-found.jsonl").items(), key=lambda item: (*size_of(item[0][0]), item[0][1])
    )
    for (data, epsilon), cell in cells:
        n_rows, n_features = size_of(data)
        pairs = [_widths(cell[PLANNED][0], cell[FITTED], kind) for kind in KINDS]
        body.append([f"{n_rows:,}", str(n_features), f"{epsilon:g}", *pairs])
    return (["n", "p", "ε", *(f"{kind}: planned, was" for kind in KINDS)], body) if body else None


def _widths(planned: Row, fitted: list[Row], kind: str) -> str:
    known = [row[f"{kind} wide"] for row in fitted if row.get(f"{kind} wide") is not None]
    if planned[kind] is None or not known:
        return "none"
    return f"{planned[f'{kind} wide']:.3f}, {sum(known) / len(known):.3f}"


def shapes(results: Path) -> Content | None:
    """The accuracy that was expected, and that fits reached."""
    body = []
    for (data, epsilon), cell in sorted(cells_of(results / "planner-shapes.jsonl").items()):
        fitted = cell[FITTED]
        reached = sum(row["accuracy"] for row in fitted) / len(fitted)
        for name, planned in [(data, cell[PLANNED]), (f"{data}, defaults", cell[SIMPLY])]:
            body += [
                [name, f"{epsilon:g}", str(len(fitted)), f"{told['accuracy']:.1f} ± {told['error']:.1f}",
                 average(fitted, "accuracy", 1), f"{told['accuracy'] - reached:+.1f}"]
                for told in planned
            ]  # fmt: skip
    return (["data", "ε", "seeds", "expected", "reached on test rows", "difference"], body) if body else None


TABLES: Tables = {"right": right, "found": found, "widths": widths, "shapes": shapes}


if __name__ == "__main__":
    command(__doc__, {PAGE: TABLES})
