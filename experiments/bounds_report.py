"""Tables of experiments/results/bounds-*.jsonl, put into docs/bounds.md between its markers.

Run: .venv/bin/python experiments/bounds_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from bounds import EPSILONS, EXTREMES, KNOWN, RELEASED, SIZES, TABLES, WIDE
from result_page import Content, Row, Tables, average, command

from hardzero.reproduce.rows import read

PAGE = Path(__file__).parent.parent / "docs" / "bounds.md"

Cells = dict[tuple[str, int, str, float], list[Row]]


def cells_of(path: Path) -> Cells:
    """Rows by table, size, method and ε."""
    cells: Cells = defaultdict(list)
    for trial, row in read(path).items():
        name, size = trial.data.split(" n=")
        cells[name, int(size), trial.method, trial.epsilon].append(row)
    return cells


def near(results: Path) -> Content | None:
    """For each column the median share of clipped values and width, by n and ε."""
    cells = cells_of(results / "bounds-near.jsonl")
    settings = [(size, epsilon) for epsilon in EPSILONS for size in SIZES]
    kept = [
        (size, epsilon)
        for size, epsilon in settings
        if any(not row["refused"] for name in TABLES for row in cells[name, size, RELEASED, epsilon])
    ]
    body = []
    for name in TABLES:
        told = [row for key, rows in cells.items() if key[0] == name for row in rows]
        columns = dict.fromkeys(key.removesuffix(" told") for row in told for key in row if key.endswith(" told"))
        for column in columns:
            body.append(
                [name, column, *(_clipped(cells[name, *cell[:1], RELEASED, cell[1]], column) for cell in kept)]
            )
    head = ["table", "column", *(f"ε = {epsilon:g}, n = {size:,}" for size, epsilon in kept)]
    return (head, body) if body else None


def _clipped(rows: list[Row], column: str) -> str:
    told = [row for row in rows if row.get(f"{column} told")]
    if not told:
        return "–"
    beyond = np.median([row[f"{column} below"] + row[f"{column} above"] for row in told])
    widths = [row[f"{column} width"] for row in told]
    return f"{beyond:.1f} %, ×{np.median(widths):.2g}" + (f", at most ×{max(widths):.2g}" if max(widths) > 3 else "")


def worth(results: Path) -> Content | None:
    """AUC of models by where their bounds come from."""
    cells = cells_of(results / "bounds-worth.jsonl")
    methods = [(KNOWN, 0.0), *((RELEASED, epsilon) for epsilon in EPSILONS[::-1]), (WIDE, 0.0), (EXTREMES, 0.0)]
    body = []
    for name in TABLES:
        for size in SIZES:
            body.append(
                [name, f"{size:,}", *(_auc(cells[name, size, method, epsilon]) for method, epsilon in methods)]
            )
    titles = {WIDE: "-1,000,000 to 1,000,000", EXTREMES: "smallest and largest (not private)"}
    head = ["table", "n", *(f"released, ε = {e:g}" if m == RELEASED else titles.get(m, m) for m, e in methods)]
    return (head, body) if any(cells.values()) else None


def _auc(rows: list[Row]) -> str:
    told = [row for row in rows if row["told"]]
    if not told:
        return "refused"
    missing = "" if len(told) == len(rows) else f" ({len(told)} of {len(rows)})"
    return f"{average(told, 'auc', 1)}; {average(told, 'accuracy', 1)}{missing}"


TABLES_OF_PAGE: Tables = {"near": near, "worth": worth}


if __name__ == "__main__":
    command(__doc__, {PAGE: TABLES_OF_PAGE})
