"""Tables of experiments/results/others-*.jsonl, put into docs/others.md between its markers.

Run: .venv/bin/python experiments/others_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from others import EPSILONS, EXACT, LINEAR, NETWORK, OURS, SIMULATED, SPARSIFIER, STEPS, TABLES, TUNED
from result_page import Content, Row, Tables, average, command

from hardzero.reproduce.rows import Parameters, read

PAGE = Path(__file__).parent.parent / "docs" / "others.md"
REPLACED = f"{OURS}, one replaced"
METHODS = [OURS, REPLACED, SPARSIFIER, *(name + form for name in LINEAR for form in ("", TUNED)), EXACT]
COLUMNS = {"breast-cancer": 30, "mushrooms": 112, "phishing": 68, "a9a": 123}

Cells = dict[tuple[str, float, str], list[Row]]


def cells(path: Path) -> Cells:
    """Rows by table, ε and method; the main method under the stricter relation has a name of its own."""
    found: Cells = defaultdict(list)
    for trial, row in read(path).items():
        strict = trial.method == OURS and trial.neighbours == "replace-one"
        found[trial.data, trial.epsilon, REPLACED if strict else trial.method].append(row)
    return found


def linear(results: Path) -> Content | None:
    """Accuracy and AUC at every ε; columns used and seconds at ε = 1."""
    found = cells(results / "others-linear.jsonl")
    head = ["data", "method", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "columns used", "seconds a fit"]
    body = []
    for data in TABLES:
        for method in METHODS:
            by_epsilon = [found.get((data, 0.0 if method == EXACT else epsilon, method)) for epsilon in EPSILONS]
            if any(by_epsilon):
                one = by_epsilon[EPSILONS.index(1.0)] or []
                used = f"{average(one, 'used', 1)} of {COLUMNS[data]}"
                body.append([data, method, *map(_both, by_epsilon), used, _seconds(one)])
    return (head, body) if body else None


def _both(rows: list[Row] | None) -> str:
    """Accuracy and AUC with their errors."""
    return f"{average(rows, 'accuracy', 1)} / {average(rows, 'auc', 1)}" if rows else "–"


def _seconds(rows: list[Row]) -> str:
    """The median, because the first fit of a budget also looks for its noise."""
    return f"{np.median([row['seconds'] for row in rows]):.2g}" if rows else "–"


def curved(results: Path) -> Content | None:
    """What lines cannot do."""
    found = cells(results / "others-curved.jsonl")
    body = [
        [data, method, *(average(rows, name, 1) for name in ("accuracy", "auc", "used")), _seconds(rows)]
        for data in SIMULATED
        for method in (OURS, STEPS, "DP-EBM", "Opacus", NETWORK)
        if (rows := found.get((data, 1.0, method)))
    ]
    return (["table", "method", "accuracy", "AUC", "columns used of 10", "seconds a fit"], body) if body else None


def claim(results: Path) -> Content | None:
    """The least ε that explains what was seen."""
    rows = sorted(read(results / "others-claim.jsonl").items(), key=lambda item: item[0].parameters)
    head = [
        "`data_norm`",
        "fits of each table",
        "small weights with the record",
        "without",
        "ε claimed",
        "ε at least",
    ]
    body = []
    for trial, row in rows:
        asked = dict(trial.parameters)
        body.append([
            f"{asked['row_norm']:g}", f"{asked['fits']:,.0f}", f"{row['with']:,}", f"{row['without']:,}",
            f"{trial.epsilon:g}", f"{row['least']:.2f}",
        ])  # fmt: skip
    return (head, body) if body else None


def settings(results: Path) -> Content | None:
    """What tuning chose."""
    chosen: dict[tuple[str, str], dict[float, Parameters]] = defaultdict(dict)
    for trial in read(results / "others-linear.jsonl"):
        if trial.method.endswith(TUNED):
            chosen[trial.data, trial.method.removesuffix(TUNED)][trial.epsilon] = trial.parameters
    body = [
        [data, method, *(_words(chosen[data, method].get(epsilon, ())) for epsilon in EPSILONS)]
        for data in TABLES
        for method in LINEAR
        if (data, method) in chosen
    ]
    return (["data", "package", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], body) if body else None


def _words(setting: Parameters) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting) or "–"


TABLES_OF_PAGE: Tables = {"linear": linear, "curved": curved, "claim": claim, "settings": settings}

if __name__ == "__main__":
    command(__doc__ or "", {PAGE: TABLES_OF_PAGE})
