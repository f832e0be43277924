"""The table and the picture of experiments/results/membership.jsonl, for docs/membership.md.

Run: .venv/bin/python experiments/membership_report.py            (--print: the table to the terminal instead)
"""

from __future__ import annotations

import math
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from membership import ATTACKERS, FALSE_ALARMS, FILE, MAIN, NOT_PRIVATE, PUBLISHED, estimator, others
from result_page import RESULTS, Content, Row, Tables, command

from hardzero.model.statement import PrivacyStatement, WeakGuaranteeWarning
from hardzero.privacy.accounting import Accountant, spent
from hardzero.reproduce.rows import Trial, read

DOCS = Path(__file__).parent.parent / "docs"
PICTURE = DOCS / "figures" / "membership.svg"
STYLES = {PUBLISHED: ("#d55e00", "s"), MAIN: ("#0072b2", "o")}
PANELS = {
    "success": "right answers, in percent",
    "detected": "members found with 1 % false alarms, in percent",
}
DELTAS = np.concatenate([np.logspace(-7, -2, 11), np.linspace(0.02, 0.98, 49)]).tolist()
KINDS = (NOT_PRIVATE, PUBLISHED, MAIN)


def bounds(privacy: PrivacyStatement, accountant: Accountant) -> dict[str, float]:
    """What no attack can exceed, from all releases and public numbers alone.

    Every (ε, δ) that the releases satisfy gives a bound; the smallest of many is reported.
    """
    if not math.isfinite(privacy.epsilon):
        return dict.fromkeys(PANELS, 1.0)
    successes, detections = [], []
    for delta in DELTAS:
        unlikelier = math.exp(-spent(privacy.events, delta, accountant).epsilon)
        successes.append((1 + unlikelier * delta) / (1 + unlikelier))
        detections.append(1 - unlikelier * (1 - delta - FALSE_ALARMS))
        if unlikelier > 0:
            detections.append(FALSE_ALARMS / unlikelier + delta)
    return {"success": min(successes), "detected": min(detections)}


@cache
def bounds_of(method: str, epsilon: float) -> dict[str, float]:
    """Bounds of a kind of model: its statement is the same for all records."""
    warnings.simplefilter("ignore", WeakGuaranteeWarning)
    model = estimator(method, epsilon, 0).fit(*others(np.random.default_rng(0)))
    return bounds(model.privacy_, "pure" if method == PUBLISHED else "exact")


def in_order(results: Path) -> list[tuple[Trial, Row]]:
    """All rows: by attacker, method and ε."""

    def place(row: tuple[Trial, Row]) -> tuple[int, int, float]:
        trial, _ = row
        return ATTACKERS.index(trial.data), KINDS.index(trial.method), trial.epsilon

    return sorted(read(results / FILE).items(), key=place)


def attacks(results: Path) -> Content | None:
    """Success with intervals, beside what no attack can exceed."""
    rows = in_order(results)
    head = ["attacker", "model", "ε asked for", "ε guaranteed", "right answers (%)", "at most",
            "found at 1 % false alarms (%)", "at most"]  # fmt: skip
    body = [
        [
            trial.data.replace("-", " "), trial.method,
            "–" if trial.method == NOT_PRIVATE else f"{trial.epsilon:g}",
            "–" if row["epsilon"] is None else f"{row['epsilon']:.2f}",
            *(text for name, bound in bounds_of(trial.method, trial.epsilon).items()
              for text in (_with_interval(row, name), _percent(bound))),
        ]
        for trial, row in rows
    ]  # fmt: skip
    return (head, body) if rows else None


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _with_interval(row: Row, name: str) -> str:
    low, high = row[f"{name}_interval"]
    return f"{_percent(row[name])} ({_percent(low)} to {_percent(high)})"


def draw(results: Path) -> Figure:
    """Success and detections of the attacker who knows all others, against the ε that was asked for."""
    rows = [(trial, row) for trial, row in in_order(results) if trial.data == ATTACKERS[0]]
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
        for method, (colour, marker) in STYLES.items():
            _curve(axes, [(trial, row) for trial, row in rows if trial.method == method], name, colour, marker)
        (plain,) = (row for trial, row in rows if trial.method == NOT_PRIVATE)
        axes.axhline(100 * plain[name], color="black", label="not private")
        axes.axhline(50 if name == "success" else 1, color="grey", ls=":", label="guessing")
        axes.set(title=title, xlabel="ε asked for", xscale="log", ylim=(0 if name == "detected" else 45, 103))
        axes.set_xticks([trial.epsilon for trial, _ in rows if trial.method == MAIN])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    return figure


def _curve(axes: Any, rows: list[tuple[Trial, Row]], name: str, colour: str, marker: str) -> None:
    epsilons = [trial.epsilon for trial, _ in rows]
    values = [100 * row[name] for _, row in rows]
    ends = [[100 * abs(row[name] - row[f"{name}_interval"][side]) for _, row in rows] for side in (0, 1)]
    method = rows[0][0].method
    axes.errorbar(epsilons, values, yerr=ends, color=colour, marker=marker, capsize=3, label=f"{method}, attacked")
    bound = [100 * bounds_of(method, epsilon)[name] for epsilon in epsilons]
    axes.plot(epsilons, bound, color=colour, ls="--", lw=1.2, label=f"{method}, at most")


TABLES: Tables = {"attacks": attacks}

if __name__ == "__main__":
    command(__doc__ or "", {DOCS / "membership.md": TABLES})
    if "--print" not in sys.argv:
        with mpl.rc_context({"svg.hashsalt": "hardzero"}):
            draw(RESULTS).savefig(PICTURE, metadata={"Date": None})
