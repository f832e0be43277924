"""Persons with many rows: what protecting all rows of a person costs, beside other ways to do so.

accuracy    tables where persons have 1 to 20 rows: fits with groups, beside one row of each person, beside the naive
            way (rows protected with ε/20, and δ to match), and beside fits that protect single rows only
intervals   95 % intervals of weights where labels of a person's rows depend on each other by a correlation of 0 to 1
evaluation  95 % intervals of private metrics on such rows

Run:    HARDZERO_DATA=… .venv/bin/python experiments/persons.py accuracy intervals evaluation
Tables: .venv/bin/python experiments/persons_report.py [--print]

Rows go to experiments/results/persons-<study>.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
import math
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from options import add_studies
from scipy.special import expit, ndtr
from sklearn.metrics import roc_auc_score

from hardzero import FittedModel, PrivateLassoLogisticRegression, SparsePrivateLogisticRegression, datasets
from hardzero.evaluation import evaluate
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
MOST_ROWS = 20
PERSONS, TESTED = 3_000, 10_000
TABLES = ("visits", "visits, few rows", "a9a", "a9a, few rows")
EPSILONS, SEEDS = (0.1, 1.0, 4.0), 10
METHODS = ("persons", "one row each", "lasso, one row each", "lasso, five rows each", "naive", "rows only")
CORRELATIONS, FITS, EVALUATIONS = (0.0, 0.5, 1.0), 20, 200
SIZES = (500, 5_000)
EFFECTS = np.array([1.0, -1.0, 0.7, -0.7, 0.5, -0.5])
N_FEATURES = 40
_CHANGED = 0.1

Row = dict[str, Any]
Rows = tuple[Any, NDArray[np.int64], NDArray[np.int64]]
"""Features, classes, and whose rows they are."""


def owned(count: int, name: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whose rows they are: 1 to 20 of each person, all numbers alike, or mostly one or two."""
    if name.endswith("few rows"):
        sizes = np.minimum(rng.geometric(0.5, count), MOST_ROWS)
    else:
        sizes = rng.integers(1, MOST_ROWS + 1, count)
    return np.repeat(np.arange(count), sizes)


def drawn(owners: NDArray[np.int64], correlation: float, rng: np.random.Generator) -> Rows:
    """Made-up visits: half of a feature is the person's own; labels of a person's rows depend on each other.

    By a Gaussian copula, so that each label by itself has the odds that the true weights give.
    """
    count = int(owners.max()) + 1
    own, each = rng.uniform(-0.5, 0.5, (count, N_FEATURES)), rng.uniform(-0.5, 0.5, (len(owners), N_FEATURES))
    X = own[owners] + each
    shared = math.sqrt(correlation) * rng.standard_normal(count)[owners]
    chance = ndtr(shared + math.sqrt(1 - correlation) * rng.standard_normal(len(owners)))
    return X, (chance < expit(score(X))).astype(np.int64), owners


def score(X: Any) -> Any:
    return 2 * X[:, : len(EFFECTS)] @ EFFECTS


@lru_cache(maxsize=2)
def table(name: str, seed: int) -> tuple[Rows, Any, Any]:
    """Rows to learn from, and rows of other persons to test on, one each."""
    rng = np.random.default_rng([seed, PERSONS])
    owners = owned(PERSONS, name, rng)
    if name.startswith("visits"):
        X, y, _ = drawn(np.arange(TESTED), 0.0, rng)
        return drawn(owners, 0.5, rng), X, y
    whole, test = datasets.load("a9a"), datasets.load("a9a", "test")
    X, y = whole.X.toarray(), (whole.y == 1).astype(np.int64)
    persons = rng.choice(len(y), PERSONS, replace=False)
    rows, labels = X[persons[owners]], y[persons[owners]]
    # Rows of a person differ in a tenth of their cells and labels, which are those of anyone.
    others = rng.integers(0, len(y), rows.shape)
    rows = np.where(rng.random(rows.shape) < _CHANGED, X[others, np.arange(X.shape[1])], rows)
    labels = np.where(rng.random(len(labels)) < _CHANGED, y[others[:, 0]], labels)
    return (rows, labels, owners), test.X.toarray(), (test.y == 1).astype(np.int64)


def accuracy_work(trial: Trial) -> Row:
    """One fit, tested on other persons."""
    (X, y, owners), X_test, y_test = table(trial.data, trial.seed)
    model = _fitted(trial.method, trial.epsilon, trial.seed, X, y, owners)
    margins = model.decision_function(X_test)
    return {
        "auc": 100 * float(roc_auc_score(y_test, margins)),
        "accuracy": 100 * float(np.mean((margins > 0) == y_test)),
        "kept": len(model.support_),
    }


def _fitted(method: str, epsilon: float, seed: int, X: Any, y: Any, owners: Any) -> Any:
    common: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "random_state": seed, "delta": PERSONS**-1.5}
    firsts = np.unique(owners, return_index=True)[1]
    match method:
        case "persons":
            return SparsePrivateLogisticRegression(epsilon=epsilon, **common).fit(X, y, groups=owners)
        case "one row each":
            return SparsePrivateLogisticRegression(epsilon=epsilon, **common).fit(X[firsts], y[firsts])
        case "naive":  # k rows with (ε, δ) each are together (kε, k·e^((k-1)ε)·δ)
            each = epsilon / MOST_ROWS
            delta = common["delta"] / (MOST_ROWS * math.exp((MOST_ROWS - 1) * each))
            return SparsePrivateLogisticRegression(epsilon=each, **common | {"delta": delta}).fit(X, y)
        case "rows only":
            return SparsePrivateLogisticRegression(epsilon=epsilon, **common | {"delta": len(y) ** -1.5}).fit(X, y)
    rows = 1 if method == "lasso, one row each" else 5
    lasso = PrivateLassoLogisticRegression(
        epsilon=epsilon, radius=10, n_iter=300, max_rows_per_person=rows, fit_intercept=True, **common
    )
    return lasso.fit(X, y, groups=owners)


def intervals_work(trial: Trial) -> Row:
    """How many of the true weights, of those that were kept, are within their intervals."""
    rng = np.random.default_rng([trial.seed, 7])
    X, y, owners = drawn(owned(PERSONS, trial.data, rng), dict(trial.parameters)["correlation"], rng)
    model = SparsePrivateLogisticRegression(
        epsilon=trial.epsilon, bounds=(-1, 1), classes=[0, 1], max_features=len(EFFECTS), random_state=trial.seed
    ).fit(X, y, groups=owners if trial.method == "persons" else None)
    low, high = (side[0] for side in model.conf_int())
    kept = np.flatnonzero(model.coef_[0, : len(EFFECTS)])
    held = (low[kept] <= 2 * EFFECTS[kept]) & (2 * EFFECTS[kept] <= high[kept])
    return {"held": int(held.sum()), "of": len(kept), "width": float(np.mean(high[kept] - low[kept]))}


@lru_cache(maxsize=1)
def judged() -> tuple[FittedModel, float, float]:
    """A model without intercept, and its true accuracy and AUC: by a million rows, or to about 0.0005."""
    rng = np.random.default_rng(0)
    X, y, _ = drawn(np.arange(1_000_000), 0.0, rng)
    few = SparsePrivateLogisticRegression(epsilon=4.0, bounds=(-1, 1), classes=[0, 1], random_state=0)
    model = FittedModel.from_estimator(few.fit(X[:20_000], y[:20_000]))
    margins = model.decision_function(X)
    return model, float(np.mean((margins > 0) == y)), float(roc_auc_score(y, margins))


def evaluation_work(trial: Trial) -> Row:
    """Whether the intervals of accuracy and AUC hold the truth."""
    model, accuracy, auc = judged()
    rng = np.random.default_rng([trial.seed, 11])
    persons, correlation = int(trial.data), dict(trial.parameters)["correlation"]
    X, y, owners = drawn(owned(persons, "", rng), correlation, rng)
    found = evaluate(
        model,
        X,
        y,
        epsilon=trial.epsilon,
        random_state=trial.seed,
        groups=owners if trial.method == "persons" else None,
    ).metrics
    row: Row = {}
    for name, true in (("accuracy", accuracy), ("auc", auc)):
        row[name] = int(found[name].low <= true <= found[name].high)
        row[f"{name} wide"] = found[name].high - found[name].low
    return row


def accuracy(runner: Runner, path: Path) -> None:
    """Every table, ε and way."""
    for name, epsilon in product(TABLES, EPSILONS):
        trials = [Trial(name, way, epsilon, "zero-out", seed) for seed in range(SEEDS) for way in METHODS]
        runner.run(trials, accuracy_work, path, f"{name} ε={epsilon:g}")


def intervals(runner: Runner, path: Path) -> None:
    """Every correlation, with persons and with rows."""
    for correlation, way in product(CORRELATIONS, ("persons", "rows only")):
        told = (("correlation", correlation),)
        trials = [Trial("visits", way, 8.0, "zero-out", seed, told) for seed in range(FITS)]
        runner.run(trials, intervals_work, path, f"{way}, correlation {correlation:g}")


def evaluation(runner: Runner, path: Path) -> None:
    """Every correlation and number of persons, with persons and with rows."""
    for size, correlation, way in product(SIZES, CORRELATIONS, ("persons", "rows only")):
        told = (("correlation", correlation),)
        trials = [Trial(str(size), way, 1.0, "zero-out", seed, told) for seed in range(EVALUATIONS)]
        runner.run(trials, evaluation_work, path, f"{size} {way}, correlation {correlation:g}")


STUDIES = {"accuracy": accuracy, "intervals": intervals, "evaluation": evaluation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_studies(parser, STUDIES)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            STUDIES[study](runner, arguments.results / f"persons-{study}.jsonl")


if __name__ == "__main__":
    main()
