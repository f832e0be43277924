"""Figures 1 to 5 as numbers: their points, published and measured, and where hardzero is behind."""

from __future__ import annotations

from dataclasses import dataclass

from . import published
from .methods import FIGURE_METHODS, SELECT_REFIT
from .rows import Rows
from .summaries import Estimate, estimates, markdown_table


@dataclass(frozen=True)
class Chart:
    """What a figure shows; ``direction`` is 1 where more is better, -1 where less is."""

    title: str
    metric: str
    label: str
    direction: int
    limit: float | None = None
    note: str = ""


CHARTS = {
    "figure1": Chart("Figure 1: zeros found", "correct_zeros", "correct zeros (of 92)", 1, 92),
    "figure2": Chart("Figure 2: features lost", "incorrect_zeros", "incorrect zeros (of 8)", -1, 8),
    "figure3": Chart("Figure 3: support", "f1", "F1 score of the support", 1),
    "figure4": Chart("Figure 4: error, synthetic data", "error", "error on the test rows, percent", -1),
    "figure5": Chart(
        "Figure 5: error, KDD'99",
        "error",
        "error on the test rows, percent",
        -1,
        note="Two-Stage is tuned between λ = 1 and 7.07 here; above, one fit takes minutes.",
    ),
}
NOTE = """\
Mean ± standard error; in brackets what the paper prints (for Private ADMM taken from that method's own paper). Each
method's one parameter is the best of up to five values on the held-out 20 % of pilot splits, at no charge, as in the
paper; hardzero runs with its defaults."""


def curve_estimates(name: str, rows: Rows) -> list[Estimate]:
    """The points of a figure, published ones first."""
    metric = CHARTS[name].metric
    data = next(iter(rows)).data
    points = [
        Estimate(data, method, "", epsilon, "published", metric, None, value, None)
        for method, curve in published.FIGURES[name].items()
        for epsilon, value in curve.items()
    ]
    return points + estimates(rows, [metric])


def shown(method: str) -> str:
    """A method's name in a figure."""
    return "hardzero, untuned" if method == SELECT_REFIT else method


def curve_table(name: str, rows: Rows) -> str:
    """The points of a figure as Markdown."""
    measured = {(p.method, p.epsilon): p for p in estimates(rows, [CHARTS[name].metric])}
    methods = [method for method in FIGURE_METHODS if any(method == key for key, _ in measured)]
    body = [
        [f"{epsilon:g}", *(_cell(name, measured.get((method, epsilon)), method, epsilon) for method in methods)]
        for epsilon in sorted({epsilon for _, epsilon in measured})
    ]
    trials = sorted({point.trials or 0 for point in measured.values()})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    title = f"{CHARTS[name].title}; {CHARTS[name].label}; {count} trials"
    table = markdown_table(["ε", *(shown(method) for method in methods)], body)
    paragraphs = [title, table, NOTE, CHARTS[name].note, "\n".join(behind(name, rows))]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def _cell(name: str, point: Estimate | None, method: str, epsilon: float) -> str:
    printed = published.FIGURES[name].get(method, {}).get(epsilon)
    text = "–" if point is None else f"{point.mean:.3g}"
    if point is not None and point.standard_error is not None:
        text += f" ± {point.standard_error:.2g}"
    return text if printed is None else f"{text} ({printed:.3g})"


def behind(name: str, rows: Rows) -> list[str]:
    """One line for each ε at which a printed value is better than hardzero's mean."""
    chart = CHARTS[name]
    lines = []
    for point in estimates(rows, [chart.metric]):
        if point.method != SELECT_REFIT:
            continue
        printed = [
            (curve[point.epsilon], method)
            for method, curve in published.FIGURES[name].items()
            if point.epsilon in curve
        ]
        value, method = max(printed, key=lambda pair: chart.direction * pair[0], default=(point.mean, ""))
        if chart.direction * (value - point.mean) > 0:
            lines.append(
                f"- At ε = {point.epsilon:g} hardzero has {point.mean:.3g}; {method} as printed {value:.3g}."
            )
    return lines
