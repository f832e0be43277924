"""Figures 1 to 5: measured means with bands, published curves dashed in the same colour and marker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from . import published
from .curves import CHARTS, Chart, curve_estimates, shown
from .methods import FIGURE_METHODS, SELECT_REFIT
from .rows import Rows
from .summaries import Estimate

# Okabe and Ito's colours, which colour-blind people tell apart, and a marker each for print without colour.
_STYLES = (
    ("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"),
    ("#56b4e9", "v"), ("#e69f00", "P"), ("#777777", "X"), ("#000000", "*"),
)  # fmt: skip
_BAND = 1.96
"""Standard errors on either side: a 95 % interval of the mean."""


def draw(name: str, rows: Rows) -> Figure:
    """One figure: the paper's methods on the left, the others on the right, on one scale."""
    chart, points = CHARTS[name], curve_estimates(name, rows)
    in_paper = list(published.FIGURES[name])
    others = [method for method in FIGURE_METHODS if method not in in_paper]
    styles = dict(zip((*in_paper, *others), _STYLES, strict=True))
    figure = Figure(figsize=(10.5, 5.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True, sharex=True)
    panels = (
        ([*in_paper, SELECT_REFIT], "methods of the paper, and hardzero"),
        (others, "further methods, and hardzero"),
    )
    for axis, (methods, title) in zip(axes, panels, strict=True):
        _draw_panel(axis, chart, points, methods, styles)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("ε")
        axis.grid(alpha=0.3)
        # Below the panel: inside it would hide curves.
        axis.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)
    axes[0].set_ylabel(chart.label)
    if chart.metric == "error":  # from below one percent to more than half of all rows
        axes[0].set_yscale("log")
        axes[0].set_ylim(bottom=0.7 * min(point.mean for point in points))
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0].yaxis.set_major_formatter("{x:g}")
        axes[0].yaxis.set_minor_locator(NullLocator())
    else:
        axes[0].set_ylim(bottom=-0.02 * axes[0].get_ylim()[1])  # room for the markers of a zero
    trials = [point.trials for point in points if point.trials]
    counts = " to ".join(str(count) for count in sorted({min(trials), max(trials)}))
    figure.suptitle(f"{chart.title} (solid: means of {counts} trials, 95 % bands; dashed: published)", fontsize=11)
    return figure


def _draw_panel(
    axis: Any, chart: Chart, points: Sequence[Estimate], methods: Sequence[str], styles: dict[str, tuple[str, str]]
) -> None:
    for method in methods:
        for source in ("measured", "published"):
            curve = sorted((p for p in points if (p.method, p.source) == (method, source)), key=lambda p: p.epsilon)
            if curve:
                _draw_curve(axis, curve, *styles[method])
    if chart.limit is not None:
        axis.axhline(chart.limit, color="black", lw=0.8, ls=":", label="all there are")


def _draw_curve(axis: Any, curve: Sequence[Estimate], colour: str, marker: str) -> None:
    epsilons, means = [p.epsilon for p in curve], [p.mean for p in curve]
    name = shown(curve[0].method)
    if curve[0].source == "published":
        look = {"ls": "--", "lw": 1.2, "ms": 5, "mfc": "white", "label": f"{name}, published"}
        axis.plot(epsilons, means, color=colour, marker=marker, **look)
        return
    axis.plot(epsilons, means, color=colour, marker=marker, lw=1.8, ms=6, label=name)
    spread = [_BAND * (p.standard_error or 0.0) for p in curve]
    low, high = ([m + sign * s for m, s in zip(means, spread, strict=True)] for sign in (-1, 1))
    axis.fill_between(epsilons, low, high, color=colour, alpha=0.2, lw=0)


def save(name: str, rows: Rows, folder: Path) -> list[Path]:
    """Write a figure as PNG and SVG; the same rows give the same bytes."""
    figure = draw(name, rows)
    paths = [folder / f"{name}.{ending}" for ending in ("png", "svg")]
    with mpl.rc_context({"svg.hashsalt": name}):  # else the SVG's ids are random
        for path in paths:
            figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
