"""Tables of experiments/results/evaluation-*.jsonl, put into docs/evaluation.md between its markers.

Run: .venv/bin/python experiments/evaluation_report.py            (--print: to the terminal instead)
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from result_page import Content, Row, Tables, command

from hardzero.reproduce.rows import Trial, read

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


def coverage(results: Path) -> Content | None:
    """Shares of intervals that hold the truth, in percent; what is outside 93 to 97 % is bold."""
    rows = _in_order(results)
    head = ["population", "relation", "n", "ε", "bins", *METRICS.values()]
    body = [
        [trial.data, trial.neighbours, f"{_size(trial):,}", f"{trial.epsilon:g}", str(row["bins"]),
         *(_percent(row["held"].get(name)) for name in METRICS)]
        for trial, row in rows
    ]  # fmt: skip
    return (head, body) if rows else None


def _in_order(results: Path) -> list[tuple[Trial, Row]]:
    """The rows of the study of coverage in the order in which they were asked for: that of their seeds."""
    rows = read(results / "evaluation-coverage.jsonl")
    return sorted(rows.items(), key=lambda row: row[0].seed)


def _size(trial: Trial) -> int:
    return int(dict(trial.parameters)["n_rows"])


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    text = f"{100 * share:.1f}"
    return text if 0.93 <= share <= 0.97 else f"**{text}**"


def widths(results: Path) -> Content | None:
    """How wide intervals are in the median, for the population like Adult."""
    rows = [(trial, row) for trial, row in _in_order(results) if trial.data.startswith("rarer")]
    names = list(METRICS)[:5]
    body = [
        [
            f"{_size(trial):,}",
            f"{trial.epsilon:g}",
            f"{row['noise']:.1f}",
            *(f"{row['width'][name]:.3f}" for name in names),
        ]
        for trial, row in rows
    ]
    return (["n", "ε", "noise in rows", *(METRICS[name] for name in names)], body) if rows else None


def auc(results: Path) -> Content | None:
    """Errors against the exact AUC of the same rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for trial, row in read(results / "evaluation-auc.jsonl").items():
        groups[trial.data].append(row)
    head = ["data", "evaluations", "exact AUC", "mean error", "mean absolute error", "within 0.01", "95 % within"]
    body = []
    for name, rows in groups.items():
        errors = np.concatenate([np.array(row["values"]) - row["exact"] for row in rows])
        body.append([
            name, str(len(errors)), f"{np.mean([row['exact'] for row in rows]):.4f}", f"{errors.mean():+.4f}",
            f"{np.abs(errors).mean():.4f}", f"{100 * np.mean(np.abs(errors) <= 0.01):.0f} %",
            f"{np.quantile(np.abs(errors), 0.95):.4f}",
        ])  # fmt: skip
    return (head, body) if body else None


TABLES: Tables = {"coverage": coverage, "widths": widths, "auc": auc}

if __name__ == "__main__":
    command(__doc__ or "", {PAGE: TABLES})
