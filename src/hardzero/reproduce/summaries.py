"""Means over seeds, paired tests between methods, and their plain-text forms."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from scipy.stats import wilcoxon

from .rows import Parameters, Rows, Trial
from .trials import mean_and_error

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Estimate:
    """A published value, or a mean over ``trials`` seeds with its standard error."""

    data: str
    method: str
    parameters: str
    epsilon: float
    source: str
    metric: str
    trials: int | None
    mean: float
    standard_error: float | None


def having(rows: Rows, method: str, *names: str) -> Rows:
    """The rows of a method whose parameters have just these names."""
    return {
        trial: result
        for trial, result in rows.items()
        if trial.method == method and tuple(name for name, _ in trial.parameters) == names
    }


def grouped(rows: Rows) -> dict[Trial, Rows]:
    """Rows that differ by their seed only, under the first trial of each group."""
    groups: dict[tuple[str, str, float, Parameters], Rows] = {}
    for trial, result in rows.items():
        groups.setdefault((trial.data, trial.method, trial.epsilon, trial.parameters), {})[trial] = result
    return {next(iter(group)): group for group in groups.values()}


def column(rows: Rows, metric: str) -> list[float]:
    """One metric of all rows; "error" is what accuracy leaves."""
    if metric == "error":
        return [100 - result["accuracy"] for result in rows.values()]
    return [result[metric] for result in rows.values()]


def estimates(rows: Rows, metrics: Iterable[str]) -> list[Estimate]:
    """Mean and standard error of each metric in each group."""
    result = []
    for trial, group in grouped(rows).items():
        parameters = ", ".join(f"{name}={value:g}" for name, value in trial.parameters)
        for metric in metrics:
            mean, error = mean_and_error(column(group, metric))
            spread = None if np.isnan(error) else error
            result.append(
                Estimate(
                    trial.data, trial.method, parameters, trial.epsilon, "measured", metric, len(group), mean, spread
                )
            )
    return result


def p_value(ours: Rows, theirs: Rows, metric: str) -> float:
    """Wilcoxon's signed-rank test, two-sided, paired by seed; 1 where nothing differs."""
    first, second = (dict(zip((t.seed for t in rows), column(rows, metric), strict=True)) for rows in (ours, theirs))
    seeds = sorted(set(first) & set(second))
    gains = np.array([first[seed] - second[seed] for seed in seeds])
    return float(wilcoxon(gains).pvalue) if np.any(gains) else 1.0


def verdict(ours: Rows, theirs: Rows, metric: str) -> int:
    """1 where ours are significantly better, -1 where significantly worse, else 0."""
    if p_value(ours, theirs, metric) >= SIGNIFICANT:
        return 0
    return 1 if np.mean(column(ours, metric)) > np.mean(column(theirs, metric)) else -1


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def csv_text(values: Iterable[Estimate]) -> str:
    """One line for each estimate; six digits are more than the errors allow."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(Estimate))
    for value in values:
        writer.writerow("" if cell is None else _short(cell) for cell in astuple(value))
    return out.getvalue()


def _short(cell: object) -> object:
    return f"{cell:.6g}" if isinstance(cell, float) else cell
