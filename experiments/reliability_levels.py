"""Do 95 % intervals of the levels of a curve hold, where bounds are wide and few records lie far out?

Five independent numbers with a smooth effect each, or none, between public bounds that are wider than the values:
ages, two laboratory values with long tails, two that hardly leave their middle; 20 to 64 cut points each. The target
of a level is what logistic regression of the chances on the kept features finds in a population of 100,000 records,
compared with its average record, so that what coarse steps cannot follow is no fault of an interval.

Run:    .venv/bin/python experiments/reliability_levels.py
Tables: .venv/bin/python experiments/reliability_report.py [--print]

Rows go to experiments/results/reliability-levels.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reliability import RESULTS
from reliability_refit import FloatArray, refit
from scipy.special import expit

from hardzero import FittedModel, Schema, SparsePrivateLogisticRegression
from hardzero.data.variables import level_shares, level_values
from hardzero.model.curves import curves_of
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner
from hardzero.schema.columns import Numeric, Target
from hardzero.schema.cuts import spread_cuts
from hardzero.schema.encoder import SchemaEncoder

FILE = "reliability-levels.jsonl"
ROWS, EPSILONS, SEEDS = (8_000, 20_000, 60_000), (1.0, 4.0), 20
POPULATION = 100_000
BOUNDS = {  # lower, upper, cut points, how they are spread
    "age": (0, 110, 20, "even"),
    "crp": (0, 500, 64, "log"),
    "lactate": (0, 20, 40, "log"),
    "hemoglobin": (3, 20, 40, "even"),
    "sodium": (100, 180, 40, "even"),
}
SCHEMA = Schema(
    tuple(
        Numeric(name, lower, upper, cuts=spread_cuts(lower, upper, count, spacing))
        for name, (lower, upper, count, spacing) in BOUNDS.items()
    ),
    Target("ill", ("no", "yes"), "yes"),
)

Row = dict[str, Any]


def drawn(n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Encoded records, and the chance of each to be ill."""
    table = {
        "age": rng.integers(0, 104, n_rows).astype(float),
        "crp": np.exp(rng.normal(2, 1.2, n_rows)).round(1),
        "lactate": np.exp(rng.normal(0.3, 0.5, n_rows)).round(2),
        "hemoglobin": rng.normal(13, 2, n_rows).round(1),
        "sodium": rng.normal(139, 4, n_rows).round(),
    }
    margin = 0.03 * (table["age"] - 50) + 0.5 * (np.log(table["crp"] + 0.1) - 2) - 1
    margin += 1.2 * (np.log(table["lactate"] + 0.01) - 0.3) - 0.15 * (table["hemoglobin"] - 13)
    X = SchemaEncoder(SCHEMA).transform(table)
    return np.asarray(X.todense() if hasattr(X, "todense") else X), expit(margin)


@lru_cache(maxsize=1)
def population() -> tuple[FloatArray, FloatArray]:
    """Records that stand for all there are."""
    return drawn(POPULATION, np.random.default_rng(0))


def work(trial: Trial) -> Row:
    """Every level of one fit: its share of the population, its standard error, whether its interval holds."""
    rng = np.random.default_rng([int(trial.data.partition("n=")[2]), trial.seed])
    X, chance = drawn(int(trial.data.partition("n=")[2]), rng)
    encoder = SchemaEncoder(SCHEMA)
    estimator = SparsePrivateLogisticRegression(
        epsilon=trial.epsilon,
        bounds=encoder.bounds,
        classes=["no", "yes"],
        variables=encoder.variables,
        random_state=trial.seed,
    ).fit(X, np.where(rng.random(len(X)) < chance, "yes", "no"))
    (curves,) = curves_of(FittedModel.from_estimator(estimator, SCHEMA))
    targets = _targets(estimator.support_)
    row: Row = {"share": [], "error": [], "held": [], "reliable": []}
    for curve in curves:
        values, shares = targets[curve.name]
        for level, value, share in zip(curve.levels, values, shares, strict=True):
            lower, upper = level.interval or (-np.inf, np.inf)
            row["share"].append(float(f"{share:.3g}"))
            row["error"].append(float(f"{(upper - lower) / (2 * 1.96):.3g}"))
            row["held"].append(int(lower <= value <= upper))
            row["reliable"].append(int(bool(curve.reliable)))
    return row


def _targets(kept: NDArray[np.intp]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """For each variable what its levels are in the population, compared with the average, and how many are there."""
    X, chance = population()
    coef, means = refit(X[:, kept], chance).coef, X[:, kept].mean(axis=0)
    targets = {}
    for name in BOUNDS:
        own = [i for i, place in enumerate(kept) if SCHEMA.features[place].column == name]
        values, shares = level_values("steps", coef[own]), level_shares("steps", means[own])
        targets[name] = values - shares @ values, shares
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    sizes = product(ROWS, EPSILONS, range(SEEDS))
    trials = [Trial(f"wide n={rows}", "after", epsilon, "zero-out", seed) for rows, epsilon, seed in sizes]
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        runner.run(trials, work, arguments.results / FILE)


if __name__ == "__main__":
    main()
