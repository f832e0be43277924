"""Tables of experiments/results/persons-*.jsonl, put into docs/persons.md between its markers.

Run: .venv/bin/python experiments/persons_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from persons import METHODS, TABLES
from result_page import Content, Row, Tables, average, command

from hardzero.reproduce.rows import Trial, read

PAGE = Path(__file__).parent.parent / "docs" / "persons.md"


def grouped(path: Path, key: Any) -> dict[Any, dict[str, list[Row]]]:
    """Rows by what a line of a table is about, and by method."""
    cells: dict[Any, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for trial, row in read(path).items():
        cells[key(trial)][trial.method].append(row)
    return dict(sorted(cells.items()))


def _correlation(trial: Trial) -> float:
    return float(dict(trial.parameters)["correlation"])


def accuracy(results: Path) -> Content | None:
    """AUC by table, ε and way."""
    cells = grouped(results / "persons-accuracy.jsonl", lambda trial: (TABLES.index(trial.data), trial.epsilon))
    body = [
        [TABLES[table], f"{epsilon:g}", *(average(ways[way], "auc", 1) for way in METHODS)]
        for (table, epsilon), ways in cells.items()
    ]
    return (["table", "ε", *METHODS], body) if body else None


def intervals(results: Path) -> Content | None:
    """How many intervals hold the true weight, and how wide they are."""
    cells = grouped(results / "persons-intervals.jsonl", _correlation)
    body = [
        [f"{correlation:g}", *_held(ways, "persons"), *_held(ways, "rows only")]
        for correlation, ways in cells.items()
    ]
    head = ["correlation", "persons: held", "width", "rows only: held", "width"]
    return (head, body) if body else None


def _held(ways: dict[str, list[Row]], way: str) -> list[str]:
    held, of = (sum(row[name] for row in ways[way]) for name in ("held", "of"))
    return [f"{100 * held / of:.0f} % of {of}" if of else "–", average(ways[way], "width", 2)]


def evaluation(results: Path) -> Content | None:
    """How many intervals of accuracy and AUC hold the truth."""
    cells = grouped(results / "persons-evaluation.jsonl", lambda trial: (int(trial.data), _correlation(trial)))
    body = []
    for (persons, correlation), ways in cells.items():
        line = [f"{persons:,}", f"{correlation:g}"]
        for way in ("persons", "rows only"):
            line += [_percent(ways[way], name) for name in ("accuracy", "auc")]
        body.append(line)
    head = ["persons", "correlation", "persons: accuracy", "AUC", "rows only: accuracy", "AUC"]
    return (head, body) if body else None


def _percent(rows: list[Row], name: str) -> str:
    return f"{100 * sum(row[name] for row in rows) / len(rows):.1f} % of {len(rows)}" if rows else "–"


TABLES_OF_PAGE: Tables = {"accuracy": accuracy, "intervals": intervals, "evaluation": evaluation}


if __name__ == "__main__":
    command(__doc__, {PAGE: TABLES_OF_PAGE})
