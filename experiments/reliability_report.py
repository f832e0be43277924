"""Tables of experiments/results/reliability-*.jsonl, put into docs/reliability.md between its markers.

Run: .venv/bin/python experiments/reliability_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reliability import DATA
from reliability_data import KINDS, TRUE_WEIGHTS, Design
from reliability_refit import slope_through_origin
from result_page import Content, Row, Tables, average, command
from scipy.stats import binom

from hardzero.reproduce.rows import read

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
_OF_LEVELS = ("share", "error", "held", "reliable")
OFTEN = 0.5
"""The worst weight is looked for among those that are reliable in at least this share of the fits."""

Key = tuple[Any, ...]


def grouped(path: Path, key: Callable[[str, float, str], Key]) -> dict[Key, list[Row]]:
    """Rows by what ``key`` makes of data set, ε and code; "before" stands first."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for trial, result in read(path).items():
        groups[key(trial.data, trial.epsilon, trial.method)].append(result)
    return dict(sorted(groups.items(), key=lambda item: [_place(part) for part in item[0]]))


def _place(part: Any) -> tuple[int, Any]:
    order = [*DATA["nulls"], *KINDS, "before", "after"]
    return (order.index(part), "") if part in order else (len(order), part)


def share(part: float, whole: float) -> str:
    """A share in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def total(rows: Iterable[Row], name: str) -> float:
    """Sum of a field over the rows that have it."""
    return sum(row.get(name) or 0 for row in rows)


def nulls(path: Path) -> Content:
    head = ["data", "n", "ε", "code", "seeds", "null of kept", "null of the 10 largest", "null of reliable",
            "target", "real and reliable", "significant without privacy"]  # fmt: skip
    body = []
    for (data, epsilon, code), rows in grouped(path, lambda *key: key).items():
        limit = 0.05 if rows[0]["n"] >= 5_000 else 0.08
        marked = [row for row in rows if "reliable_null" in row]
        found = total(marked, "reliable_null"), total(marked, "reliable_null") + total(marked, "reliable_real")
        largest = share(total(rows, "largest_null"), total(rows, "largest"))
        verdict = "" if not marked else "met" if found[0] <= limit * found[1] else "**missed**"
        body.append([
            data, f"{rows[0]['n']:,}", f"{epsilon:g}", code, str(len(rows)), _of(rows, "kept_null", "kept_real"),
            largest, _of(marked, "reliable_null", "reliable_real"), verdict, average(marked, "reliable_real", 1),
            average(rows, "significant", 1),
        ])  # fmt: skip
    return head, body


def _of(rows: Sequence[Row], null: str, real: str) -> str:
    if not rows:
        return "–"
    part, whole = total(rows, null), total(rows, null) + total(rows, real)
    return f"{part / len(rows):.1f} of {whole / len(rows):.1f}: {share(part, whole)}"


def slope(path: Path) -> Content:
    columns = {
        "slope, kept": "slope_kept_identified", "slope, reliable": "slope_reliable_identified",
        "median, kept": "median_kept_identified", "median, reliable": "median_reliable_identified",
        "slope, kept, any": "slope_kept", "slope, reliable, any": "slope_reliable", "calibration": "calibration",
        "calibration, non-private refit": "calibration_free", "accuracy": "accuracy", "AUC": "auc",
    }  # fmt: skip
    groups = grouped(path, lambda *key: key)
    return ["data", "ε", "code", "seeds", *columns], [
        [data, f"{epsilon:g}", code, str(len(rows)), *(average(rows, name) for name in columns.values())]
        for (data, epsilon, code), rows in groups.items()
    ]


def agreement(path: Path) -> Content:
    names = ["kept_identified", "reliable_identified", "kept", "reliable"]
    head = ["data", "ε", "code", "seeds", "held, kept", "held, reliable", "held, kept, any", "held, reliable, any",
            "s.e. ratio, kept", "s.e. ratio, reliable"]  # fmt: skip
    groups = grouped(path, lambda *key: key)
    return head, [
        [data, f"{epsilon:g}", code, str(len(rows)),
         *(share(total(rows, f"held_{name}"), total(rows, name)) for name in names),
         *(average(rows, f"ratio_{name}") for name in names[:2])]
        for (data, epsilon, code), rows in groups.items()
    ]  # fmt: skip


def stability(path: Path) -> Content:
    head = ["data", "ε", "code", "pairs", "Jaccard, kept", "size", "Jaccard, reliable", "size"]
    groups = grouped(path, lambda *key: key)
    return head, [
        [data, f"{epsilon:g}", code, str(len(rows)), average(rows, "kept"), average(rows, "kept_size", 1),
         average(rows, "reliable"), average(rows, "reliable_size", 1)]
        for (data, epsilon, code), rows in groups.items()
    ]  # fmt: skip


COVERAGE = [
    "no true one missed", "true reliable", "others among reliable", "coverage, kept", "coverage, reliable",
    "the same, none missed", "non-private, reliable", "worst weight (5 % limit)", "s.e. ratio", "slope",
]  # fmt: skip


def cells(path: Path) -> Content:
    """One line for each design."""

    def key(data: str, epsilon: float, code: str) -> Key:
        design = Design.named(data)
        return design.kind, design.n, design.p, design.correlation, epsilon, code

    head = ["features", "n", "p", "correlation", "ε", "code", "fits", *COVERAGE]
    body = []
    for (kind, n, p, correlation, epsilon, code), rows in grouped(path, key).items():
        start = [kind, f"{n:,}", str(p), f"{correlation:g}", f"{epsilon:g}", code, str(len(rows))]
        body.append([*start, *_covered(rows, [rows])])
    return head, body


def coverage(path: Path) -> Content:
    """One line for each number of rows and kind of features, all designs of it together."""
    designs = grouped(path, lambda *key: key)
    together: dict[Key, list[list[Row]]] = defaultdict(list)
    for (data, epsilon, code), rows in designs.items():
        design = Design.named(data)
        together[design.kind, design.n, epsilon, code].append(rows)
    body = []
    for (kind, n, epsilon, code), parts in sorted(together.items(), key=lambda item: [_place(x) for x in item[0]]):
        rows = [row for part in parts for row in part]
        body.append([kind, f"{n:,}", f"{epsilon:g}", code, str(len(rows)), *_covered(rows, parts)])
    return ["features", "n", "ε", "code", "fits", *COVERAGE], body


def _covered(rows: list[Row], designs: list[list[Row]]) -> list[str]:
    slope = slope_through_origin(*(np.concatenate([row[name] for row in rows]) for name in ("estimate", "target")))
    marked = [row for row in rows if "held" in row]
    if not marked:
        return [share(total(rows, "complete"), len(rows)), *["–"] * 8, f"{slope:.2f}"]
    held, held_free, reliable, target, ratio = (
        np.concatenate([row[name] for row in marked]) for name in ("held", "held_free", "reliable", "target", "ratio")
    )
    # Where a true feature is missed all weights of the model given the others may differ from zero.
    complete = np.concatenate([np.full(len(row["held"]), row["complete"], dtype=bool) for row in marked])
    on = reliable.astype(bool)
    whole, fits = on & complete, total(marked, "complete")
    return [
        share(fits, len(marked)), share(np.sum(whole & (target != 0)), TRUE_WEIGHTS * fits),
        share(np.sum(whole & (target == 0)), whole.sum()), share(held.sum(), len(held)),
        share(held[on].sum(), on.sum()), share(held[whole].sum(), whole.sum()), share(held_free[on].sum(), on.sum()),
        _worst(designs), f"{ratio[on].mean():.2f}" if on.any() else "–", f"{slope:.2f}",
    ]  # fmt: skip


def _worst(designs: list[list[Row]]) -> str:
    """The lowest coverage of one weight in one design, and what falls below 95 % intervals one time in twenty."""
    counts = []
    for rows in designs:
        tally: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            for feature, held, reliable in zip(row["features"], row["held"], row["reliable"], strict=True):
                if reliable:
                    tally[feature].append(held)
        counts += [(sum(seen), len(seen)) for seen in tally.values() if len(seen) >= max(5, OFTEN * len(rows))]
    if not counts:
        return "–"
    lowest = min(held / fits for held, fits in counts)
    fits = np.array([fits for _, fits in counts])
    levels = np.linspace(0, 1, 1001)
    below = 1 - np.prod(binom.sf(np.floor(np.outer(levels, fits) + 1e-9), fits, 0.95), axis=1)
    return f"{100 * lowest:.1f} % ({100 * levels[below <= 0.05][-1]:.1f} %)"


def _made(study: str, make: Callable[[Path], Content]) -> Callable[[Path], Content | None]:
    """Make a table from a study's rows, where there are any."""

    def table(results: Path) -> Content | None:
        path = results / f"reliability-{study}.jsonl"
        return make(path) if read(path) else None

    return table


def limits(path: Path) -> Content:
    head = ["data", "seeds", "one half of the rows against the other", "from – to", "row weights without noise"]
    body = []
    for (data,), rows in grouped(path, lambda data, epsilon, code: (data,)).items():
        halves = [row["halves"] for row in rows]
        reached = f"{min(halves):.2f} – {max(halves):.2f}"
        body.append([data, str(len(rows)), average(rows, "halves"), reached, average(rows, "weighted")])
    return head, body


def levels(path: Path) -> Content:
    """Levels of reliable curves by how many records have them; below one in a thousand the target is not known."""
    sizes = {"3 % or more": (0.03, 1.0), "1 to 3 %": (0.01, 0.03), "0.1 to 1 %": (0.001, 0.01)}
    head = ["n", "ε", "seeds", "all levels", *(f"{name} of the records" for name in sizes)]
    body = []
    for (n_rows, epsilon), rows in grouped(path, _rows_and_epsilon).items():
        share, error, held, reliable = (np.concatenate([row[part] for row in rows]) for part in _OF_LEVELS)
        known = (reliable == 1) & (share >= min(low for low, _ in sizes.values()))
        within = [known & (share >= low) & (share < high) for low, high in sizes.values()]
        cells = [f"{100 * held[on].mean():.1f} % of {on.sum()} (s.e. {np.median(error[on]):.2f})" for on in within]
        body.append([f"{n_rows:,}", f"{epsilon:g}", str(len(rows)), f"{100 * held[known].mean():.1f} %", *cells])
    return head, body


def _rows_and_epsilon(data: str, epsilon: float, code: str) -> Key:
    return int(data.partition("n=")[2]), epsilon


TABLES: Tables = {
    "nulls": _made("nulls", nulls),
    "slope": _made("slope", slope),
    "limits": _made("limits", limits),
    "agreement": _made("agreement", agreement),
    "coverage": _made("coverage", coverage),
    "cells": _made("coverage", cells),
    "levels": _made("levels", levels),
    "stability": _made("stability", stability),
}


if __name__ == "__main__":
    command(__doc__, {PAGE: TABLES})
