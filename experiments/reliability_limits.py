"""How near to maximum likelihood could weights come at all? Two limits of the slopes of experiments/reliability.py.

On the features that a private fit keeps (ε = 1, defaults), and on the same rows, without any noise:

halves    maximum likelihood on a random half of the rows against that on the other half
weighted  the optimum of the problem that the method solves, rows weighted without looking at their labels, against
          maximum likelihood: where fits would end without noise

Run:    HARDZERO_DATA=… .venv/bin/python experiments/reliability_limits.py
Tables: .venv/bin/python experiments/reliability_report.py [--print]

Rows go to experiments/results/reliability-limits.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reliability import RESULTS, fit
from reliability_data import load_table
from reliability_refit import FloatArray, refit, slope_through_origin
from scipy.special import expit

from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

FILE = "reliability-limits.jsonl"
DATA = ["adult", "a9a", "phishing", "w8a", "kdd99"]
SEEDS = 10
CLIP = 0.5
"""The method's: of the length that a standardised row has on average."""
NARROWEST = 0.02
ROUNDS, LONGEST, NEAR = 500, 0.5, 1e-3
"""Newton steps no longer than the second, until they are shorter than the third."""

Row = dict[str, Any]


def weighted_optimum(X: FloatArray, y: NDArray[Any]) -> FloatArray:
    """Weights at which the gradients of rows add up to nothing, weighted so that none is long for either label."""
    spread = np.maximum(X.std(axis=0), NARROWEST)
    Z = np.column_stack([(X - X.mean(axis=0)) / spread, np.ones(len(y))])
    lengths = np.linalg.norm(Z, axis=1)
    clip, at = CLIP * np.sqrt(np.mean(lengths**2)), np.zeros(Z.shape[1])
    for _ in range(ROUNDS):
        chance = expit(Z @ at)
        weight = np.minimum(1, clip / (np.maximum(chance, 1 - chance) * lengths))
        bend = (Z * (weight * chance * (1 - chance))[:, None]).T @ Z + 1e-4 * np.eye(len(at))
        step = np.linalg.solve(bend, Z.T @ (weight * (chance - y)))
        at -= step * min(1, LONGEST / np.abs(step).max())
        if np.abs(step).max() < NEAR:
            break
    return at[:-1] / spread


def work(trial: Trial) -> Row:
    """Both slopes for one table."""
    table = load_table(trial.data, trial.seed)
    kept = fit(trial, table.X, table.y, table.bounds, trial.seed).support_
    X, spread = table.columns(kept).astype(np.float64), table.spread[kept]
    free = refit(X, table.y)
    order = np.random.default_rng(trial.seed).permutation(len(table.y))
    one, other = (refit(X[half], table.y[half]).coef for half in np.array_split(order, 2))
    identified = free.identified

    def slope(measured: FloatArray, reference: FloatArray) -> float | None:
        return slope_through_origin((measured * spread)[identified], (reference * spread)[identified])

    slopes = {"halves": slope(one, other), "weighted": slope(weighted_optimum(X, table.y), free.coef)}
    return {name: None if value is None else float(f"{value:.5g}") for name, value in slopes.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    trials = [Trial(data, "after", 1.0, "zero-out", seed) for data in DATA for seed in range(SEEDS)]
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        runner.run(trials, work, arguments.results / FILE)


if __name__ == "__main__":
    main()
