"""Can the list of features and its weights be believed? Five studies of the main method, defaults, δ = 1/n, zero-out.

nulls      null copies (rows permuted) of all columns appended: how many are kept, and called reliable? And power: how
           many real features are called reliable, beside those that a non-private fit finds significant
slope      weights against maximum likelihood on the same features; calibration on rows not seen
agreement  do 95 % intervals hold the non-private weights on the same features?
coverage   do they hold the true weights in simulations of a well-specified model?
stability  two fits of Adult with other noise: how much of the list stays?

Run:    HARDZERO_DATA=… .venv/bin/python experiments/reliability.py nulls slope --seeds 10 --data a9a --epsilon 1
Tables: .venv/bin/python experiments/reliability_report.py [--print]

Rows go to experiments/results/reliability-<study>.jsonl, where ``method`` is the code measured (--code). What is
there is not run again: give each prototype its own --code, or its own folder by --results.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from options import add_studies
from reliability_data import (
    KINDS,
    Design,
    load_table,
    population,
    simulate,
    whole_adult,
    with_null_copies,
)
from reliability_refit import FloatArray, Refit, independent_columns, median_ratio, refit, slope_through_origin
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from hardzero import SparsePrivateLogisticRegression
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
DATA = {
    "nulls": ["a9a", "adult", "w8a", "splice", "mushrooms", "phishing", "breast-cancer", "kdd99", "covtype"],
    "slope": ["adult", "a9a", "phishing", "mushrooms", "w8a", "kdd99"],
    "agreement": ["a9a", "adult", "phishing", "w8a"],
    "stability": ["adult"],
    "coverage": list(KINDS),
}
EPSILONS = {"stability": [1.0], "coverage": [1.0]}
SEEDS = {"coverage": 30}
ROWS, COLUMNS, CORRELATIONS = [5_000, 20_000, 100_000], [30, 100], [0.0, 0.5, 0.8]
LEVEL = 0.95

Row = dict[str, Any]
Mask = NDArray[np.bool_]


def fit(
    trial: Trial, X: Any, y: NDArray[Any], bounds: tuple[FloatArray, FloatArray], seed: int
) -> SparsePrivateLogisticRegression:
    """The main method with its defaults."""
    model = SparsePrivateLogisticRegression(
        trial.epsilon, 1 / len(y), bounds=bounds, classes=[0, 1], neighbours=trial.neighbours, random_state=seed
    )
    return model.fit(X, y)


def reliable(model: Any) -> Mask | None:
    """Which features the model calls reliable, if it says so."""
    return np.asarray(model.reliable_, dtype=bool).ravel() if hasattr(model, "reliable_") else None


def nulls(trial: Trial) -> Row:
    """Null copies and real columns among kept and among reliable features."""
    table = with_null_copies(trial.data, trial.seed)
    real = table.X.shape[1] // 2
    model = fit(trial, table.X, table.y, table.bounds, trial.seed)
    largest = np.argsort(-np.abs(model.coef_[0]))[: min(10, len(model.support_))]
    row = {
        "n": len(table.y),
        "real": real,
        "significant": _significant(trial.data, trial.seed),
        "kept_real": np.sum(model.support_ < real),
        "kept_null": np.sum(model.support_ >= real),
        "largest": len(largest),
        "largest_null": np.sum(largest >= real),
    }
    marked = reliable(model)
    if marked is not None:
        row |= {"reliable_real": marked[:real].sum(), "reliable_null": marked[real:].sum()}
    return row


@lru_cache(maxsize=1)
def _significant(data: str, seed: int) -> int:
    """How many real columns a fit of all of them without privacy finds significant."""
    table = load_table(data, seed)
    return int(refit(table.X[:, independent_columns(table.X)], table.y).significant().sum())


def _groups(model: Any, free: Refit) -> dict[str, Mask]:
    """Masks over kept features: all and reliable ones, each also without those whose weight is not identified."""
    groups = {"kept": np.ones(len(model.support_), dtype=bool)}
    marked = reliable(model)
    if marked is not None:
        groups["reliable"] = marked[model.support_]
    return groups | {f"{name}_identified": mask & free.identified for name, mask in groups.items()}


def slope(trial: Trial) -> Row:
    """Weights against the non-private ones on the same features, and how well margins are calibrated on new rows."""
    table = load_table(trial.data, trial.seed)
    model = fit(trial, table.X, table.y, table.bounds, trial.seed)
    kept = model.support_
    free = refit(table.columns(kept), table.y)
    spread = table.spread[kept]
    margin = model.decision_function(table.X_test)
    free_margin = table.columns(kept, test=True) @ free.coef + free.intercept
    row: Row = {
        "calibration": _calibration(margin, table.y_test),
        "calibration_free": _calibration(free_margin, table.y_test),
        "accuracy": 100 * model.score(table.X_test, table.y_test),
        "auc": 100 * roc_auc_score(table.y_test, margin),
    }
    for name, mask in _groups(model, free).items():
        pair = (model.coef_[0, kept] * spread)[mask], (free.coef * spread)[mask]
        row |= {name: mask.sum(), f"slope_{name}": slope_through_origin(*pair), f"median_{name}": median_ratio(*pair)}
    return row


def _calibration(margin: FloatArray, y: NDArray[Any]) -> float | None:
    """1 where probabilities can be taken at their word, less where they are too extreme."""
    return float(refit(margin[:, None], y).coef[0]) if np.ptp(margin) > 0 else None


def agreement(trial: Trial) -> Row:
    """How many intervals hold the non-private weight on the same features, and how wide they are beside its own."""
    table = load_table(trial.data, trial.seed)
    model = fit(trial, table.X, table.y, table.bounds, trial.seed)
    kept = model.support_
    free = refit(table.columns(kept), table.y)
    held = _held(model, free.coef)
    ratio = np.ravel(model.coef_se_)[kept] / free.se
    row: Row = {}
    for name, mask in _groups(model, free).items():
        row |= {name: mask.sum(), f"held_{name}": held[mask].sum()}
        row[f"ratio_{name}"] = ratio[mask].mean() if mask.any() else None
    return row


def _held(model: Any, target: FloatArray) -> Mask:
    lower, upper = (np.ravel(limit)[model.support_] for limit in model.conf_int(LEVEL))
    return (lower <= target) & (target <= upper)


def coverage(trial: Trial) -> Row:
    """Each kept weight of one simulated data set: its estimate, its target, and if there are intervals, those."""
    design = Design.named(trial.data)
    X, y = simulate(design, trial.seed)
    model = fit(trial, X, y, design.bounds, trial.seed)
    kept, truth = model.support_, population(design)
    target = truth.target(kept)
    row: Row = {
        "complete": np.isin(truth.support, kept).all(),
        "features": kept,
        "estimate": model.coef_[0, kept],
        "target": target,
    }
    marked = reliable(model)
    if marked is not None:
        se = np.ravel(model.coef_se_)[kept]
        row |= {"se": se, "held": _held(model, target), "reliable": marked[kept]}
        free = refit(X[:, kept], y)
        row |= {"ratio": se / free.se, "held_free": np.abs(free.coef - target) <= norm.isf((1 - LEVEL) / 2) * free.se}
    return row


def stability(trial: Trial) -> Row:
    """Jaccard's index of the lists of two fits that differ in their noise only."""
    X, y, bounds = whole_adult()
    models = [fit(trial, X, y, bounds, seed) for seed in (2 * trial.seed, 2 * trial.seed + 1)]
    row: Row = {"kept": _jaccard([model.coef_[0] != 0 for model in models])}
    row["kept_size"] = np.mean([len(model.support_) for model in models])
    marked = [reliable(model) for model in models]
    if marked[0] is not None:
        row |= {"reliable": _jaccard(marked), "reliable_size": np.mean([mask.sum() for mask in marked])}
    return row


def _jaccard(masks: Sequence[Mask]) -> float:
    union = np.logical_or(*masks).sum()
    return float(np.logical_and(*masks).sum() / union) if union else 1.0


STUDIES: dict[str, Callable[[Trial], Row]] = {
    "nulls": nulls, "slope": slope, "agreement": agreement, "coverage": coverage, "stability": stability
}  # fmt: skip


def work(study: str, trial: Trial) -> Row:
    """The row of one trial, with short numbers."""
    return {name: _short(value) for name, value in STUDIES[study](trial).items()}


def _short(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_short(entry) for entry in value]
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    return None if value is None else float(f"{value:.5g}")


def trials(study: str, arguments: argparse.Namespace) -> list[Trial]:
    """What one study runs, in an order that loads each table once."""
    listed = arguments.data or DATA[study]
    data = [name for name in DATA[study] if name in listed]
    if study == "coverage":
        cells = product(data, arguments.rows, arguments.columns, arguments.correlations)
        data = [Design(*cell).name for cell in cells]
    epsilons = arguments.epsilon or EPSILONS.get(study, [0.5, 1.0, 4.0])
    seeds = arguments.seeds or SEEDS.get(study, 10)
    return [
        Trial(name, arguments.code, epsilon, "zero-out", seed)
        for name, seed, epsilon in product(data, range(seeds), epsilons)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_studies(parser, STUDIES)
    parser.add_argument("--seeds", type=int, help="default: 10, for coverage 30")
    parser.add_argument("--data", nargs="*", help="only these data sets, or kinds of simulated features")
    parser.add_argument("--epsilon", nargs="*", type=float, help="default: 0.5, 1 and 4; stability and coverage 1")
    parser.add_argument("--code", default="after", help='what is measured: "before", "after" or a prototype\'s name')
    parser.add_argument("--rows", nargs="*", type=int, default=ROWS, help="numbers of rows, for coverage")
    parser.add_argument("--columns", nargs="*", type=int, default=COLUMNS, help="numbers of columns, for coverage")
    parser.add_argument("--correlations", nargs="*", type=float, default=CORRELATIONS, help="for coverage")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            runner.run(
                trials(study, arguments), partial(work, study), arguments.results / f"reliability-{study}.jsonl"
            )


if __name__ == "__main__":
    main()
