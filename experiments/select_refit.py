"""Select-then-refit beside the published Sparsifier and a non-private L1 model, default parameters only.

Run:    .venv/bin/python experiments/select_refit.py --jobs 2            (hours; interrupt and run again to go on)
Tables: .venv/bin/python experiments/select_refit_report.py              (writes docs/select-refit-results.md)
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from hardzero import (
    ExactSolver,
    LassoLogisticRegression,
    SparsePrivateLogisticRegression,
    SparsifierLogisticRegression,
    kernels,
)
from hardzero.data.bounded import RESIDUAL_ONE
from hardzero.data.passes import PackedPasses, Passes
from hardzero.estimators import select_refit as estimator
from hardzero.methods import select_refit
from hardzero.optim import frank_wolfe
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.splits import Split, evaluate
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
BINARY = ["breast-cancer", "splice", "colon-cancer", "synthetic", "gisette", "mushrooms", "phishing", "a9a", "w8a"]
LARGE = ["kdd99", "covtype"]
MULTICLASS = ["dna", "satimage", "letter", "mnist"]
ABLATION = ["a9a", "synthetic", "w8a"]
ABLATION_METHODS = [
    "published",
    "+ accounting",
    "+ tightening",
    "+ intercept",
    "select only",
    "rows clipped by residual",
    "no support rule",
    "select-then-refit",
]
BEFORE = "select-then-refit, before"
"""Rows of the version that clipped rows by their residuals and accounted by zCDP; they cannot be run again."""
BOUNDS = (-1, 1)


def fit(trial: Trial, split: Split) -> object:
    """One model of the method that the trial names."""
    common = {"epsilon": trial.epsilon, "delta": split.delta, "bounds": BOUNDS, "random_state": trial.seed}
    common |= {"classes": "from-y"}  # those of public data sets
    if trial.method == "non-private":
        multiclass = 100.0 if trial.data == "mnist" else 50.0 * len(np.unique(split.y_train))
        radius = multiclass if trial.data in MULTICLASS else 10.0
        solver = ExactSolver(tol=1e-2 if trial.data in MULTICLASS else 1e-4)
        model = LassoLogisticRegression(radius, bounds=BOUNDS, solver=solver)
    elif trial.method == "non-private, same size":
        return _best_of_size(trial, split)
    elif trial.method == "published":
        model = SparsifierLogisticRegression(**common, calibration="paper")
    elif trial.method in ("+ accounting", "+ tightening", "+ intercept"):
        model = SparsifierLogisticRegression(**common, fit_intercept=trial.method == "+ intercept")
    else:
        model = SparsePrivateLogisticRegression(**common, neighbours=trial.neighbours)
    with _Variant(trial.method):
        return model.fit(split.X_train, split.y_train)


def _best_of_size(trial: Trial, split: Split) -> object:
    """Without privacy: select-then-refit's own number of features, chosen by weight times spread, refitted."""
    size = len(
        SparsePrivateLogisticRegression(
            trial.epsilon, split.delta, bounds=BOUNDS, random_state=trial.seed, classes="from-y"
        )
        .fit(split.X_train, split.y_train)
        .support_
    )
    full = LogisticRegression(C=1e3, max_iter=2000).fit(split.X_train, split.y_train)
    X = split.X_train
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if hasattr(X, "multiply") else X * X).mean(axis=0)).ravel()
    effect = np.abs(full.coef_[0]) * np.sqrt(np.maximum(square - mean**2, 0))
    chosen = np.argsort(-effect)[:size]
    small = LogisticRegression(C=1e6, max_iter=5000).fit(X[:, chosen], split.y_train)
    full.coef_ = np.zeros_like(full.coef_)
    full.coef_[0, chosen] = small.coef_[0]
    full.intercept_ = small.intercept_
    return full


class _Variant:
    """Switches one part of the method off while a model is fitted; the guarantee stays the same."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __enter__(self) -> None:
        self.saved = (
            frank_wolfe.residual_cap,
            select_refit.clear_of_noise,
            estimator.select_and_refit,
            kernels.weighted_codes,
            PackedPasses.weighted_sums,
        )
        if self.method == "+ accounting":
            frank_wolfe.residual_cap = lambda *_: RESIDUAL_ONE
        if self.method == "no support rule":
            select_refit.clear_of_noise = lambda mask, *_: mask
        if self.method == "rows clipped by residual":
            kernels.weighted_codes = clipped_by_residual
            PackedPasses.weighted_sums = Passes.weighted_sums  # which asks kernels for the codes
        if self.method == "select only":
            whole = estimator.select_and_refit
            estimator.select_and_refit = lambda problem, plan, source: whole(problem, without_refit(plan), source)

    def __exit__(self, *_: object) -> None:
        (
            frank_wolfe.residual_cap,
            select_refit.clear_of_noise,
            estimator.select_and_refit,
            kernels.weighted_codes,
            PackedPasses.weighted_sums,
        ) = self.saved


def without_refit(plan: select_refit.SelectRefitPlan) -> select_refit.SelectRefitPlan:
    """The refit's share goes to the eliminations instead: less noise there, nothing afterwards."""
    *eliminations, refit = plan.releases.stages
    rho = [stage.steps / stage.pace.noise**2 for stage in (*eliminations, refit)]
    gain = sum(rho) / sum(rho[:-1])
    stages = [stage._replace(pace=stage.pace._replace(noise=stage.pace.noise / gain**0.5)) for stage in eliminations]
    return replace(plan, releases=replace(plan.releases, stages=tuple(stages)))


def clipped_by_residual(margins, offset, targets, squares, limit, one):  # type: ignore[no-untyped-def]
    """Shorten each row's gradient by its own residual, as was done before: the same bound, biased weights."""
    chance = kernels.sigmoids(margins + offset)
    residual = chance - targets
    weight = np.minimum(limit / np.maximum(np.abs(residual) * np.sqrt(squares), 1e-300), 1.0) * one
    return np.trunc(residual * weight).astype(np.int32), np.trunc(chance * (1 - chance) * weight).astype(np.int32)


def trials(kind: str, seeds: int) -> list[Trial]:
    """Everything that belongs to one result file."""
    result = []
    for seed in range(seeds):
        if kind in ("binary", "large"):
            for data in BINARY if kind == "binary" else LARGE:
                result.append(Trial(data, "non-private", 0.0, "none", seed))
                result.append(Trial(data, "select-then-refit", 1.0, "replace-one", seed))
                others = (0.5, 2.0, 4.0) if seed < 10 else ()
                for epsilon in (1.0, *others):
                    result.append(Trial(data, "select-then-refit", epsilon, "zero-out", seed))
                    result.append(Trial(data, "published", epsilon, "zero-out", seed))
        if kind == "multiclass":
            for data in MULTICLASS if seed < 5 else MULTICLASS[:-1]:  # a fit of mnist takes a minute
                result.append(Trial(data, "select-then-refit", 1.0, "zero-out", seed))
                if seed == 0:
                    result.append(Trial(data, "non-private", 0.0, "none", seed))
        if kind == "loose":
            for data in ("a9a", "phishing", "covtype") if seed < 3 else ("a9a", "phishing"):
                result.append(Trial(data, "select-then-refit", 1000.0, "zero-out", seed))
                result.append(Trial(data, "non-private, same size", 1000.0, "none", seed))
        if kind == "ablation":
            result += [Trial(data, method, 1.0, "zero-out", seed) for data in ABLATION for method in ABLATION_METHODS]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=["binary", "large", "multiclass", "loose", "ablation"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    parser.add_argument("--methods", nargs="*", help="only these methods")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for kind in arguments.kinds:
            listed = sorted(trials(kind, arguments.seeds), key=lambda trial: (trial.data, trial.seed))
            wanted = [trial for trial in listed if not arguments.methods or trial.method in arguments.methods]
            runner.run(wanted, partial(evaluate, fit), RESULTS / f"select-refit-{kind}.jsonl")


if __name__ == "__main__":
    main()
