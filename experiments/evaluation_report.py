"""Tables of experiments/results/evaluation-*.jsonl, put into docs/evaluation.md between its markers.

Run: .venv/bin/python experiments/evaluation_report.py            (--print: to the terminal instead)
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from result_page import Content, Row, Tables, command

PAGE = Path(__file__).parent.parent / "docs" / "evaluation.md"
METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier",
    "confusion": "confusion",
    "roc": "ROC",
    "calibration": "calibration",
}


def rows_of(path: Path) -> list[Row]:
    """The rows of a study, if it was run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def coverage(results: Path) -> Content | None:
    """Shares of intervals that hold the truth, in percent; what is outside 93 to 97 % is bold."""
    rows = rows_of(results / "evaluation-coverage.jsonl")
    head = ["population", "relation", "n", "ε", "bins", *METRICS.values()]
    body = [
        [row["population"], row["neighbours"], f"{row['n']:,}", f"{row['epsilon']:g}", str(row["bins"]),
         *(_percent(row["held"].get(name)) for name in METRICS)]
        for row in rows
    ]  # fmt: skip
    return (head, body) if rows else None


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    text = f"{100 * share:.1f}"
    return text if 0.93 <= share <= 0.97 else f"**{text}**"


def widths(results: Path) -> Content | None:
    """How wide intervals are in the median, for the population like Adult."""
    rows = [row for row in rows_of(results / "evaluation-coverage.jsonl") if row["population"].startswith("rarer")]
    names = list(METRICS)[:5]
    body = [
        [
            f"{row['n']:,}",
            f"{row['epsilon']:g}",
            f"{row['noise']:.1f}",
            *(f"{row['width'][name]:.3f}" for name in names),
        ]
        for row in rows
    ]
    return (["n", "ε", "noise in rows", *(METRICS[name] for name in names)], body) if rows else None


def auc(results: Path) -> Content | None:
    """Errors against the exact AUC of the same rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows_of(results / "evaluation-auc.jsonl"):
        groups[row["data"]].append(row)
    head = ["data", "evaluations", "exact AUC", "mean error", "mean absolute error", "within 0.01", "95 % within"]
    body = []
    for name, rows in groups.items():
        errors = np.array([row["value"] - row["exact"] for row in rows])
        body.append([
            name, str(len(rows)), f"{np.mean([row['exact'] for row in rows]):.4f}", f"{errors.mean():+.4f}",
            f"{np.abs(errors).mean():.4f}", f"{100 * np.mean(np.abs(errors) <= 0.01):.0f} %",
            f"{np.quantile(np.abs(errors), 0.95):.4f}",
        ])  # fmt: skip
    return (head, body) if body else None


TABLES: Tables = {"coverage": coverage, "widths": widths, "auc": auc}

if __name__ == "__main__":
    command(__doc__ or "", {PAGE: TABLES})
