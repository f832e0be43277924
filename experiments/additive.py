"""Private additive models: the main method on whole variables with public cut points, beside its rivals.

real    public tables at ε = 1: accuracy, AUC, how many variables are used
shapes  simulations with known curves at ε = 1 and 4: which variables are found, and how far curves are from the truth

Each for hardzero, for DP-EBM (`interpret`) with its defaults and tuned, and for two models without privacy. DP-EBM is
tuned on test rows of the same seeds, and not charged for it: first in which form it gets the table, which serves the
defaults too, then its rounds and learning rate, then its bins, in that form and with variables as they are.

Run:    HARDZERO_DATA=… .venv/bin/python experiments/additive.py real shapes --methods DP-EBM
Tables: .venv/bin/python experiments/additive_report.py [--print]

Needs the package interpret. Rows go to experiments/results/additive-<study>.jsonl, those that tune to
additive-<study>-tuning.jsonl. What is there is not run again
without --renew.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from additive_data import TRUTH, FloatArray, grid, load_table, shape_variables, true_curve, true_margin
from additive_models import DEFAULT, EBM, FORMS, LINES, LOGISTIC, OURS, TUNED, Additive, fit
from options import add_studies
from sklearn.metrics import roc_auc_score

from hardzero.reproduce.rows import Parameters, Trial
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
DATA = {
    "real": ["breast-cancer", "splice", "mushrooms", "phishing", "a9a", "adult", "w8a", "covtype"],
    "shapes": ["shapes n=20000", "shapes n=50000"],
}
EPSILONS = {"real": [1.0], "shapes": [1.0, 4.0]}
SEEDS = 10
PILOTS = {"breast-cancer": 10, "splice": 10, "mushrooms": 10, "phishing": 10, "covtype": 1}
"""Seeds on which DP-EBM is tuned: two; all for small tables, where two say little; one where a fit is slow."""
CEILING_SEEDS = {("covtype", LOGISTIC): 1, ("covtype", EBM): 0}
"""Without privacy three seeds are enough, and fewer where a fit takes long; boosting would take about an hour."""
METHODS = [DEFAULT, TUNED, LOGISTIC, EBM, OURS, LINES]
HAVE_NUMBERS = ("breast-cancer", "adult", "covtype", *DATA["shapes"])
"""Tables in which numbers can be lines or steps."""

PACES = [(rate, rounds) for rounds in (100, 300, 900) for rate in (0.01, 0.03, 0.1)]
PACES += [(0.1, 30), (0.3, 30), (0.3, 100), (0.3, 300), (1.0, 30), (1.0, 100)]
"""Learning rates and rounds that are tried; the default is 0.01 and 300."""
MOST_ROUNDS = {"w8a": 300}
"""Where more rounds are not tried: 300 variables make them slow, and noisy."""
BINS = [(bins, share) for bins in (16, 32, 64, 256) for share in (0.02, 0.1, 0.3)]
"""Bins, and the share of ε spent on them, that are tried; the default is 32 and 0.1."""
FEW = 0.1
"""A variable counts as found if its importance is at least this share of the largest one."""

Row = dict[str, Any]


def work(study: str, trial: Trial) -> Row:
    """The row of one trial, with short numbers."""
    table = load_table(trial.data, trial.seed)
    start = time.perf_counter()
    model = fit(trial, table)
    seconds = time.perf_counter() - start
    margin = model.margin(table.X_test)
    row: Row = {
        "accuracy": 100 * np.mean((margin > 0) == table.y_test),
        "auc": 100 * roc_auc_score(table.y_test, margin),
        "used": np.sum(np.ptp(model.parts(table.X_test), axis=0) > 0),
        "variables": len(table.variables),
        "seconds": seconds,
    }
    if study == "shapes":
        truth = true_margin(table.X_test)
        row["auc_true"] = 100 * roc_auc_score(table.y_test, truth)
        row["accuracy_true"] = 100 * np.mean((truth > 0) == table.y_test)
        row |= against_truth(model)
        if model.bands is not None:
            row |= how_sure(model.bands(grid()))
    return {name: _short(value) for name, value in row.items()}


def against_truth(model: Additive) -> Row:
    """How far each curve is from the true one, and how true variables rank among the others.

    Curves are compared where the values are: over the distribution of their variable, both centred there.
    """
    points = grid()
    curves = _centred(model.parts(points))
    truth = _centred(np.column_stack([true_curve(j, points[:, j]) for j in range(points.shape[1])]))
    error = np.sqrt(np.mean((curves - truth) ** 2, axis=0))
    importance = np.sqrt(np.mean(curves**2, axis=0))
    names = [variable.name for variable in shape_variables()]
    real = np.isin(np.arange(len(names)), TRUTH)
    kept, found = importance > 0, importance >= FEW * max(importance.max(), 1e-12)
    largest = np.argsort(-importance, kind="stable")[: len(TRUTH)]
    return {
        **{f"error_{names[j]}": error[j] for j in TRUTH},
        "error": np.sqrt(np.mean(error[real] ** 2)),
        "error_noise": np.sqrt(np.mean(error[~real] ** 2)),
        "kept_true": np.sum(kept & real),
        "kept_noise": np.sum(kept & ~real),
        "found_true": np.sum(found & real),
        "found_noise": np.sum(found & ~real),
        "first_true": np.sum(real[largest]),
    }


def how_sure(bands: Mapping[int, tuple[FloatArray, FloatArray]]) -> Row:
    """How many variables are rightly and wrongly called reliable, and how often their 95 % bands hold the true curve.

    The true curve is averaged over each level of a staircase: what steps cannot follow is no fault of the band.
    """
    points, covered = grid(), []
    for j, (curve, error) in bands.items():
        truth = true_curve(j, points[:, j])
        _, level = np.unique(curve, return_inverse=True)
        means = np.bincount(level, truth) / np.bincount(level)
        covered.append(np.mean(np.abs(curve - (means[level] - truth.mean())) <= 1.96 * error))
    real = sum(j in TRUTH for j in bands)
    return {"reliable_true": real, "reliable_noise": len(bands) - real, "covered": 100 * np.mean(covered)}


def _centred(columns: FloatArray) -> FloatArray:
    return columns - columns.mean(axis=0)


def _short(value: Any) -> Any:
    return int(value) if isinstance(value, int | np.integer) else float(f"{value:.5g}")


def best(rows: Mapping[Trial, Row]) -> Parameters:
    """The setting with the best mean of accuracy plus AUC on test rows."""
    scores: dict[Parameters, list[float]] = defaultdict(list)
    for trial, row in rows.items():
        scores[trial.parameters].append(row["accuracy"] + row["auc"])
    return max(scores, key=lambda setting: np.mean(scores[setting]))


def tune(runner: Runner, study: str, data: str, epsilon: float, path: Path, *, form_only: bool) -> Parameters:
    """The form that is best with the default settings, or the best setting of all that were tried."""

    def choose(settings: Iterable[Parameters]) -> Parameters:
        trials = _seeded(data, "DP-EBM, tried", epsilon, PILOTS.get(data, 2), settings)
        return best(runner.run(trials, partial(work, study), path, f"{data} ε={epsilon:g}"))

    form = choose((("form", form),) for form in FORMS)
    if form_only:
        return form
    paces = [pace for pace in PACES if pace[1] <= MOST_ROUNDS.get(data, pace[1])]
    pace = choose((*form, ("learning_rate", rate), ("max_rounds", rounds)) for rate, rounds in paces)
    # More bins may be what another form lacked: one that keeps a variable whole needs less noise.
    forms = [pace, (("form", "raw"), *pace[1:])]
    return choose(
        (*start, ("max_bins", bins), ("bin_budget_frac", share)) for start, (bins, share) in product(forms, BINS)
    )


def _seeded(
    data: str, method: str, epsilon: float, seeds: int, settings: Iterable[Parameters] = ((),)
) -> list[Trial]:
    """Trials of a method, all settings on one split after the other."""
    listed = list(settings)
    neighbours = "none" if method in (EBM, LOGISTIC) else "zero-out"
    return [Trial(data, method, epsilon, neighbours, s, setting) for s, setting in product(range(seeds), listed)]


def trials(method: str, data: str, epsilon: float, seeds: int, setting: Parameters = ()) -> list[Trial]:
    """What one method runs on one table."""
    if method in (EBM, LOGISTIC):
        return _seeded(data, method, 0.0, min(seeds, CEILING_SEEDS.get((data, method), 3)))
    return _seeded(data, method, epsilon, seeds, [setting])


def run(runner: Runner, study: str, methods: Sequence[str], data: Sequence[str], seeds: int, results: Path) -> None:
    """One study, table by table."""
    path, tuning = results / f"additive-{study}.jsonl", results / f"additive-{study}-tuning.jsonl"
    for name, method, epsilon in product(data, methods, EPSILONS[study]):
        if method == LINES and name not in HAVE_NUMBERS:
            continue
        setting: Parameters = ()
        if method in (DEFAULT, TUNED):
            setting = tune(runner, study, name, epsilon, tuning, form_only=method == DEFAULT)
        runner.run(trials(method, name, epsilon, seeds, setting), partial(work, study), path, f"{name} {method}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_studies(parser, DATA)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS, help="only these methods")
    parser.add_argument("--data", nargs="*", help="only these tables")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            data = [name for name in DATA[study] if not arguments.data or name in arguments.data]
            run(runner, study, arguments.methods, data, arguments.seeds, arguments.results)


if __name__ == "__main__":
    main()
