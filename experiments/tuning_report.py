"""Tables of experiments/results/tuning.jsonl, put into docs/tuning.md between its markers.

Run: .venv/bin/python experiments/tuning_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from pathlib import Path

from result_page import Content, Row, Tables, average, command
from tuning import ALL, ALONE, BRIER, DATA, EPSILON, GRIDS, OF_THREE, SEEDS, STOPPING, UNTUNED

from hardzero.reproduce.rows import Trial, read

PAGE = Path(__file__).parent.parent / "docs" / "tuning.md"

WAYS = {
    "untuned, all rows": UNTUNED,
    "all ten, one chosen": ALL,
    "random stopping, ten on average": STOPPING,
    "all ten, by Brier score": f"{ALL} {BRIER}",
    "random stopping, by Brier score": f"{STOPPING} {BRIER}",
    "all of three": f"{ALL} {OF_THREE}",
    "random stopping, three on average": f"{STOPPING} {OF_THREE}",
}


def searches(results: Path) -> Content | None:
    """Accuracy, AUC and nonzero weights of what each way of tuning ends with, beside the ceiling."""
    rows = read(results / "tuning.jsonl")
    body = []
    for data in DATA:
        for method in GRIDS:
            for name, way in WAYS.items():
                body.append([data, method, name, *_figures(_rows(rows, data, method, way))])
            alone = [_rows(rows, data, method, f"{ALONE} {i}") for i in range(10)]
            if all(len(found) == SEEDS for found in alone):
                best = [max(found, key=lambda row: row["accuracy"]) for found in zip(*alone, strict=True)]
                body.append([data, method, "ceiling: the best of ten at full ε, by the test rows", *_figures(best)])
    head = ["data", "method", "way", "accuracy", "AUC", "nonzero weights"]
    return (head, body) if rows else None


def candidates(results: Path) -> Content | None:
    """Accuracy of each candidate, fitted alone with the whole budget."""
    rows = read(results / "tuning.jsonl")
    body = [
        [method, ", ".join(f"{name} = {value:g}" for name, value in point.items())]
        + [average(_rows(rows, data, method, f"{ALONE} {i}"), "accuracy") for data in DATA]
        for method, grid in GRIDS.items()
        for i, point in enumerate(grid)
    ]
    return (["method", "candidate", *DATA], body) if rows else None


def _rows(rows: dict[Trial, Row], data: str, method: str, way: str) -> list[Row]:
    asked = [Trial(data, f"{method}: {way}", EPSILON, "zero-out", seed) for seed in range(SEEDS)]
    return [rows[trial] for trial in asked if trial in rows]


def _figures(found: list[Row]) -> list[str]:
    return [average(found, "accuracy"), average(found, "auc"), average(found, "nonzeros", 1)]


TABLES: Tables = {"searches": searches, "candidates": candidates}

if __name__ == "__main__":
    command(__doc__ or "", {PAGE: TABLES})
