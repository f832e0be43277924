"""Does tuning pay? Searches within one budget, beside the untuned method and beside a choice that no budget pays for.

For two methods and ten candidates each (features to keep; radius and steps), at total ε = 1 and δ = 1/n:

untuned     the method's defaults, fitted to all rows with the whole budget
all         all ten fitted, one chosen by the exponential mechanism on rows set aside
stopping    random stopping, ten fits on average
alone i     candidate i, fitted to all rows with the whole budget; the best of them by the test rows is a ceiling that
            nobody may reach: it spends the budget ten times and looks at the test rows

Searches over three candidates (the first, a middle and the last), and by the Brier score, stand beside them.

Run:    HARDZERO_DATA=… .venv/bin/python experiments/tuning.py [--jobs 2]
Tables: .venv/bin/python experiments/tuning_report.py [--print]

Rows go to experiments/results/tuning.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any

from hardzero import PrivateLassoLogisticRegression, PrivateSearch, SparsePrivateLogisticRegression
from hardzero.reproduce.rows import Result, Trial
from hardzero.reproduce.splits import Split, evaluate
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
DATA, SEEDS, EPSILON = ("a9a", "phishing"), 10, 1.0
SELECT_REFIT, LASSO = "select-refit", "private-lasso"
CLASSES = {SELECT_REFIT: SparsePrivateLogisticRegression, LASSO: PrivateLassoLogisticRegression}
GRIDS: dict[str, list[dict[str, Any]]] = {
    SELECT_REFIT: [{"max_features": kept} for kept in (2, 3, 5, 7, 10, 14, 20, 28, 40, 60)],
    LASSO: [
        {"radius": radius, "n_iter": steps} for radius, steps in product((1.0, 3.0, 10.0, 30.0, 100.0), (50, 500))
    ],
}
FEW = (0, 4, 9)
UNTUNED, ALL, STOPPING, ALONE = "untuned", "all", "stopping", "alone"
BRIER, OF_THREE = "brier", "of three"
WAYS = (
    UNTUNED,
    *(f"{way} {which}".strip() for which in ("", BRIER, OF_THREE) for way in (ALL, STOPPING)),
    *(f"{ALONE} {i}" for i in range(10)),
)


def fitted(trial: Trial, split: Split) -> Any:
    """The model that a way of tuning, or none, ends with."""
    method, way = trial.method.split(": ")
    common = {"bounds": (-1, 1), "classes": [0, 1]}
    budget = {"epsilon": trial.epsilon, "delta": split.delta, "random_state": trial.seed}
    kind, grid = CLASSES[method], GRIDS[method]
    first, *more = way.split(" ", 1)
    if first in (UNTUNED, ALONE):
        chosen = grid[int(more[0])] if more else {}
        return kind(**common, **budget, **chosen).fit(split.X_train, split.y_train)
    points = [grid[i] for i in FEW] if OF_THREE in more else grid
    search = PrivateSearch(
        kind(**common),
        [{name: [value] for name, value in point.items()} for point in points],
        strategy="all" if first == ALL else "random-stopping",
        scoring="brier" if BRIER in more else "accuracy",
        **budget,
    )
    return search.fit(split.X_train, split.y_train).best_estimator_


def work(trial: Trial) -> Result:
    """Accuracy and AUC on the test rows, and nonzero weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # δ = 1/n is called weak, rightly
        return evaluate(fitted, trial)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    trials = [
        Trial(data, f"{method}: {way}", EPSILON, "zero-out", seed)
        for data in DATA
        for seed in range(SEEDS)
        for method in GRIDS
        for way in WAYS
    ]
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        runner.run(trials, work, arguments.results / "tuning.jsonl")


if __name__ == "__main__":
    main()
