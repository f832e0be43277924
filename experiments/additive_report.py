"""Tables of experiments/results/additive-*.jsonl, put into docs/additive.md between its markers.

Run: .venv/bin/python experiments/additive_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from additive import DATA
from additive_data import NUMBERS, SHAPES, TRUE, shape_variables
from additive_models import DEFAULT, EBM, LINES, LOGISTIC, OURS, TUNED
from result_page import Content, Row, Tables, average, command

from hardzero.reproduce.rows import Parameters, read

PAGE = Path(__file__).parent.parent / "docs" / "additive.md"
README = Path(__file__).parent.parent / "README.md"
ORDER = [OURS, LINES, DEFAULT, TUNED, LOGISTIC, EBM]
NOISE = NUMBERS - len(SHAPES)

Groups = dict[tuple[str, float, str, Parameters], list[Row]]


def grouped(path: Path) -> Groups:
    """Rows by table, ε, method and setting, in the order of the page; models without privacy stand after all ε."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for trial, result in read(path).items():
        groups[trial.data, trial.epsilon, trial.method, trial.parameters].append(result)
    data = [*DATA["real"], *DATA["shapes"]]
    return dict(
        sorted(groups.items(), key=lambda item: (data.index(item[0][0]), item[0][1] or 99.0, ORDER.index(item[0][2])))
    )


def real(results: Path) -> Content | None:
    head = ["data", "method", "seeds", "accuracy", "AUC", "variables used", "seconds a fit"]
    body = [
        [data, method, str(len(rows)), average(rows, "accuracy"), average(rows, "auc"),
         f"{average(rows, 'used', 1)} of {rows[0]['variables']}", _seconds(rows)]
        for (data, _, method, _), rows in grouped(results / "additive-real.jsonl").items()
    ]  # fmt: skip
    return (head, body) if body else None


def short(results: Path) -> Content | None:
    """Ours, the rival and the ceiling, a line for each table."""
    groups = grouped(results / "additive-real.jsonl")
    shown = [OURS, DEFAULT, TUNED, EBM]
    cells = {(data, method): rows for (data, _, method, _), rows in groups.items()}
    body = [
        [data, *(_both(cells.get((data, method))) for method in shown)]
        for data in dict.fromkeys(d for d, *_ in groups)
    ]
    return (
        (["data", "hardzero (variables)", *(f"{method} (variables)" for method in shown[1:])], body) if body else None
    )


def _both(rows: list[Row] | None) -> str:
    if not rows:
        return "–"
    accuracy, auc, used = (np.mean([row[name] for row in rows]) for name in ("accuracy", "auc", "used"))
    return f"{accuracy:.1f} / {auc:.1f} ({used:.0f})"


def _seconds(rows: list[Row]) -> str:
    return f"{sum(row['seconds'] for row in rows) / len(rows):.1f}"


def settings(results: Path) -> Content | None:
    """What tuning chose."""
    names = {"form": "form", "learning_rate": "learning rate", "max_rounds": "rounds", "max_bins": "bins",
             "bin_budget_frac": "share of ε for bins"}  # fmt: skip
    body = []
    for study in ("real", "shapes"):
        for data, epsilon, method, setting in grouped(results / f"additive-{study}.jsonl"):
            if method in (DEFAULT, TUNED):
                chosen = dict(setting)
                body.append([data, f"{epsilon:g}", method, *(_text(chosen.get(name)) for name in names)])
    return (["data", "ε", "method", *names.values()], body) if body else None


def _text(value: Any) -> str:
    return "default" if value is None else str(value)


def found(results: Path) -> Content | None:
    head = ["table", "ε", "method", "seeds", f"kept: true of {TRUE}", f"noise of {NOISE}",
            f"not small: true of {TRUE}", f"noise of {NOISE}", f"true among the first {TRUE}", "accuracy", "AUC",
            "AUC of the truth"]  # fmt: skip
    counts = ("kept_true", "kept_noise", "found_true", "found_noise", "first_true")
    body = [
        [data, _epsilon(epsilon), method, str(len(rows)), *(average(rows, name, 1) for name in counts),
         average(rows, "accuracy"), average(rows, "auc"), average(rows, "auc_true")]
        for (data, epsilon, method, _), rows in grouped(results / "additive-shapes.jsonl").items()
    ]  # fmt: skip
    return (head, body) if body else None


def curves(results: Path) -> Content | None:
    true = [*SHAPES, *(variable.name for variable in shape_variables() if variable.levels)]
    body = [
        [data, _epsilon(epsilon), method, *(average(rows, f"error_{name}") for name in true),
         average(rows, "error"), average(rows, "error_noise", 3)]
        for (data, epsilon, method, _), rows in grouped(results / "additive-shapes.jsonl").items()
    ]  # fmt: skip
    return (["table", "ε", "method", *true, "true ones", "noise"], body) if body else None


def sure(results: Path) -> Content | None:
    """What our own marks and bands are worth."""
    body = [
        [data, _epsilon(epsilon), str(len(rows)), average(rows, "reliable_true", 1),
         average(rows, "reliable_noise", 1), average(rows, "covered", 1)]
        for (data, epsilon, method, _), rows in grouped(results / "additive-shapes.jsonl").items()
        if method == OURS
    ]  # fmt: skip
    head = [
        "table",
        "ε",
        "seeds",
        f"reliable: true of {TRUE}",
        f"noise of {NOISE}",
        "% of the curves inside 95 % bands",
    ]
    return (head, body) if body else None


def _epsilon(epsilon: float) -> str:
    return f"{epsilon:g}" if epsilon else "–"


TABLES: Tables = {"real": real, "settings": settings, "found": found, "curves": curves, "sure": sure}


if __name__ == "__main__":
    command(__doc__, {PAGE: TABLES, README: {"rivals": short}})
