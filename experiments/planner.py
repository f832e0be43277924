"""Is the planner right? What it says before any record is read, beside what fits then do.

found   made-up tables of n rows and p features: effects of the size that is said to be found with probability 0.9 are
        put into them, all rows are drawn, the estimator is fitted, and what it calls reliable is counted
shapes  public tables: the accuracy that is expected when their size, the share of cells that are not zero, the
        rate of the classes and the accuracy of a model without privacy are stated, and what fits reach on test rows

Run:    HARDZERO_DATA=… .venv/bin/python experiments/planner.py found shapes
Tables: .venv/bin/python experiments/planner_report.py [--print]

Rows go to experiments/results/planner-<study>.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from options import add_studies
from scipy import sparse

from hardzero import SparsePrivateLogisticRegression
from hardzero.evaluation import Supposed, plan
from hardzero.evaluation.planner_probes import LARGEST, SHARES, Probing, wanted_size
from hardzero.evaluation.planner_rehearsal import Terms
from hardzero.evaluation.planner_tables import PlainTable
from hardzero.evaluation.planner_worlds import Probe, World, spread_of
from hardzero.reproduce.rows import Parameters, Trial
from hardzero.reproduce.splits import load_split
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
ROWS, FEATURES, EPSILONS = (5_000, 20_000, 100_000), (20, 100, 400), (0.5, 1.0, 4.0)
KINDS = ("number", "20 %", "5 %", "1 %")
SHAPES = {"synthetic": 0.995, "a9a": 0.848, "phishing": 0.938}
"""Public tables, and the accuracy that logistic regression without privacy reaches, as a user would state it."""
DEFINED = {"synthetic": {"effects": 8, "correlation": 0.5}}
"""What is known because a table is defined so."""
SHAPE_EPSILONS, SHAPE_SEEDS = (0.1, 0.25, 0.5, 1.0, 4.0), 60
PLANNED, FITTED, SIMPLY = "planned", "fitted", "planned, defaults"

Row = dict[str, Any]


def fits_of(n_rows: int, n_features: int) -> int:
    """How many fits a cell gets: enough for a standard error of 0.011, or of 0.014 where one takes seconds."""
    if n_features == 20:
        return 690  # with one feature of each kind; the others have three
    return 154 if n_rows * n_features > 2e7 else 230


def cell(n_rows: int, n_features: int) -> str:
    return f"n={n_rows} p={n_features}"


def size_of(data: str) -> tuple[int, int]:
    rows, features = data.split()
    return int(rows[2:]), int(features[2:])


def found_work(trial: Trial) -> Row:
    """The plan of a cell, or what one fit of it finds."""
    n_rows, n_features = size_of(trial.data)
    if trial.method == PLANNED:
        forecast = plan(n_rows, n_features, epsilon=trial.epsilon)
        sizes = {kind: effect.standardised for kind, effect in zip(KINDS, forecast.effects, strict=True)}
        widths = {f"{kind} wide": effect.interval for kind, effect in zip(KINDS, forecast.effects, strict=True)}
        return sizes | widths | {"accuracy": 100 * forecast.accuracy.private}
    return _fitted(n_rows, n_features, trial)


def _fitted(n_rows: int, n_features: int, trial: Trial) -> Row:
    probing = Probing.of(World(PlainTable(n_features), Supposed()), Terms(n_rows, trial.epsilon), trial.seed)
    sizes = dict(trial.parameters)
    kinds = probing.kinds(np.array([sizes[kind] for kind in KINDS]), trial.seed)
    probes = [Probe(SHARES[kind], sizes[KINDS[kind]]) for kind in kinds]
    rng = np.random.default_rng([trial.seed, n_rows, n_features])
    X, chance = probing.world.draw(n_rows, n_rows, probing.strength, probes, rng)
    model = SparsePrivateLogisticRegression(
        epsilon=trial.epsilon, bounds=(-1, 1), classes=[0, 1], random_state=int(rng.integers(2**31))
    ).fit(X, (rng.random(n_rows) < chance).astype(int))
    last = slice(n_features - len(probes), None)
    found = model.reliable_[0, last] & (model.coef_[0, last] != 0)
    wrong = int(model.reliable_[0].sum()) - int(found.sum()) - _strong(model, probing.world, len(probes))
    row: Row = {"noise": wrong, "reliable": int(model.reliable_[0].sum())}
    for kind, name in enumerate(KINDS):
        if (kinds == kind).any():
            own = np.flatnonzero(kinds == kind)
            errors = model.coef_se_[0, last][own] * spread_of(SHARES[kind])
            row[name] = int(found[own].sum())
            row[f"{name} of"] = len(own)
            row[f"{name} wide"] = float(f"{2 * 1.96 * np.nanmean(errors):.4g}") if (errors == errors).any() else None
    return row


def _strong(model: Any, world: World, probes: int) -> int:
    """How many of the strong effects were called reliable."""
    own = replace(world, table=world.table.beside(probes))
    return int(model.reliable_[0, np.flatnonzero(own.weights(1.0))].sum())


@lru_cache(maxsize=1)
def shape_of(name: str) -> tuple[int, int, Supposed]:
    """What a user would state of a public table whose definition is unknown, from what is written about it."""
    split = load_split(name, 0)
    n_rows, n_features = split.X_train.shape
    if sparse.issparse(split.X_train):
        nonzero = split.X_train.nnz / (n_rows * n_features)
    else:
        nonzero = float(np.mean(split.X_train != 0))
    rate = round(float(np.mean(split.y_train)), 2)
    return n_rows, n_features, Supposed(SHAPES[name], rate, nonzero=round(nonzero, 2) if nonzero < 0.99 else None)


def shapes_work(trial: Trial) -> Row:
    """The accuracy that is planned for a public table, or reached on it."""
    if trial.method in (PLANNED, SIMPLY):
        n_rows, n_features, supposed = shape_of(trial.data)
        if trial.method == PLANNED:
            supposed = replace(supposed, **DEFINED.get(trial.data, {}))
        forecast = plan(n_rows, n_features, epsilon=trial.epsilon, supposed=supposed, repeats=1)
        return {"accuracy": 100 * forecast.accuracy.private, "error": 100 * forecast.accuracy.error}
    split = load_split(trial.data, trial.seed)
    model = SparsePrivateLogisticRegression(
        epsilon=trial.epsilon, bounds=(-1, 1), classes=[0, 1], random_state=trial.seed
    ).fit(split.X_train, split.y_train)
    return {"accuracy": 100 * float(model.score(split.X_test, split.y_test))}


def found(runner: Runner, path: Path) -> None:
    """Plan every cell, then fit it; quick ones first, and of the slow ones those with ε = 1."""
    cells = sorted(product(ROWS, FEATURES, EPSILONS), key=lambda c: (c[0] == max(ROWS), c[2] != 1, c[0] * c[1]))
    asked = [Trial(cell(*size), PLANNED, epsilon, "zero-out", 0) for *size, epsilon in cells]
    planned = runner.run(asked, found_work, path, PLANNED)
    for (n_rows, n_features, epsilon), trial in zip(cells, asked, strict=True):
        sizes: Parameters = tuple(
            (kind, float(f"{planned[trial][kind] or wanted_size(LARGEST, share):.4g}"))
            for kind, share in zip(KINDS, SHARES, strict=True)
        )
        fits = [Trial(trial.data, FITTED, epsilon, "zero-out", s, sizes) for s in range(fits_of(n_rows, n_features))]
        runner.run(fits, found_work, path, f"{trial.data} ε={epsilon:g}")


def shapes(runner: Runner, path: Path) -> None:
    """Plan and fit every public table."""
    for name, epsilon in product(SHAPES, SHAPE_EPSILONS):
        trials = [Trial(name, PLANNED, epsilon, "zero-out", 0)]
        trials += [Trial(name, SIMPLY, epsilon, "zero-out", 0)] if name in DEFINED else []
        trials += [Trial(name, FITTED, epsilon, "zero-out", seed) for seed in range(SHAPE_SEEDS)]
        runner.run(trials, shapes_work, path, f"{name} ε={epsilon:g}")


STUDIES = {"found": found, "shapes": shapes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_studies(parser, STUDIES)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            STUDIES[study](runner, arguments.results / f"planner-{study}.jsonl")


if __name__ == "__main__":
    main()
