"""Was this person in the table? A membership-inference attack on published models, success against ε.

One hundred made-up records of five numbers and a rare mark. The person asked about is the only one with the mark, at
the edge of the bounds, and on the unexpected side: the easiest record to find. Models are fitted with that record and
without it, under add-remove. The attacker sees weights and intercept, and has models of the same kind to learn from.

others-known     the attacker knows all other records, as in the definition of differential privacy; only noise hides
others-unknown   the other records are drawn anew for every model; chance in them hides as well

Run:    .venv/bin/python experiments/membership.py
Page:   .venv/bin/python experiments/membership_report.py [--print]

Rows go to experiments/results/membership.jsonl. What is there is not run again, unless by --renew other code made it.
"""

from __future__ import annotations

import argparse
import math
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardzero import (
    LassoLogisticRegression,
    SparsePrivateLogisticRegression,
    SparsifierLogisticRegression,
    paper_iterations,
)
from hardzero.model.statement import PrivacyStatement, WeakGuaranteeWarning
from hardzero.privacy.budget import Neighbours
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
FILE = "membership.jsonl"
ATTACKERS = ("others-known", "others-unknown")
NOT_PRIVATE, PUBLISHED, MAIN = "not private", "published", "hardzero"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ROWS, NUMBERS, DELTA, RADIUS = 100, 5, 1e-5, 10.0
MODELS = 500
"""With the record, and as many without it."""
FALSE_ALARMS = 0.01
RESAMPLES = 1000
EFFECTS = np.array([3.0, -2.0, 0.0, 0.0, 0.0, 0.0])
CANARY, ITS_LABEL = np.array([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 1
FloatArray = NDArray[np.float64]
Interval = tuple[float, float]


def others(rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.int64]]:
    """All records but one; nobody has the mark."""
    X = np.hstack([rng.uniform(-1, 1, (ROWS - 1, NUMBERS)), np.zeros((ROWS - 1, 1))])
    return X, (rng.random(ROWS - 1) < 1 / (1 + np.exp(-X @ EFFECTS))).astype(int)


def estimator(method: str, epsilon: float, seed: int) -> Any:
    """The model that is published; seeds make the experiment repeatable."""
    public: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1]}
    if method == NOT_PRIVATE:
        return LassoLogisticRegression(RADIUS, **public)
    public |= {"neighbours": "add-remove", "n_rows": ROWS, "random_state": seed}
    if method == MAIN:
        return SparsePrivateLogisticRegression(epsilon, DELTA, **public)
    steps = paper_iterations(n_rows=ROWS, epsilon=epsilon, radius=RADIUS)
    return SparsifierLogisticRegression(epsilon, DELTA, calibration="paper", radius=RADIUS, n_iter=steps, **public)


def seen(trial: Trial, i: int, *, member: bool) -> tuple[FloatArray, PrivacyStatement]:
    """What the attacker sees of the i-th model: weights, which of them are zero, intercept; and the statement."""
    fixed = trial.data == "others-known"
    X, y = others(np.random.default_rng([trial.seed, 0 if fixed else 1 + 2 * i + member]))
    if member:
        X, y = np.vstack([X, CANARY]), np.append(y, ITS_LABEL)
    model = estimator(trial.method, trial.epsilon, 2 * i + member).fit(X, y)
    w = model.coef_[0]
    return np.concatenate([w, w != 0, model.intercept_]), model.privacy_


def scores(models: FloatArray, member: NDArray[np.bool_]) -> FloatArray:
    """How sure the attacker is, for each half of the models by a rule learnt from the other half."""
    found = np.empty(len(member))
    half = np.arange(len(member)) % 4 < 2
    for learnt in (half, ~half):
        rule = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(models[learnt], member[learnt])
        found[~learnt] = rule.decision_function(models[~learnt])
    return found


def detected(inside: FloatArray, outside: FloatArray) -> float:
    """Share of members found where at most 1 % of the others are accused."""
    allowed = int(FALSE_ALARMS * len(outside))
    threshold = np.sort(outside)[-1 - allowed]
    return float(np.mean(inside > threshold))


def detected_interval(inside: FloatArray, outside: FloatArray) -> Interval:
    """95 % of bootstrap samples, the threshold chosen anew in each."""
    rng = np.random.default_rng(0)
    drawn = [detected(rng.choice(inside, len(inside)), rng.choice(outside, len(outside))) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def work(trial: Trial) -> dict[str, Any]:
    """Attack models of one kind."""
    warnings.simplefilter("ignore", WeakGuaranteeWarning)
    n_models = int(dict(trial.parameters)["models"])
    member = np.tile([True, False], n_models)
    every = [seen(trial, i // 2, member=bool(here)) for i, here in enumerate(member)]
    found = scores(np.array([model for model, _ in every]), member)
    right = int(np.sum((found > 0) == member))
    interval = binomtest(right, len(member)).proportion_ci(method="exact")
    privacy = every[0][1]
    return {
        "epsilon": privacy.epsilon if math.isfinite(privacy.epsilon) else None,
        "success": right / len(member),
        "success_interval": [interval.low, interval.high],
        "detected": detected(found[member], found[~member]),
        "detected_interval": list(detected_interval(found[member], found[~member])),
    }


def trials(models: int) -> list[Trial]:
    """The model without privacy once, as ε = 0 like elsewhere in results, the others for every ε."""
    kinds = [(NOT_PRIVATE, 0.0), *product((PUBLISHED, MAIN), EPSILONS)]
    return [
        Trial(attacker, method, epsilon, Neighbours.ADD_REMOVE.value, 0, (("models", models),))
        for attacker in ATTACKERS
        for method, epsilon in kinds
    ]


def main() -> None:
    """Run all attacks and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        runner.run(trials(arguments.models), work, arguments.results / FILE)


if __name__ == "__main__":
    main()
