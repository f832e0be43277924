"""The experiments of the paper as lists of trials, and what has to be known before the later ones can be listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median_low

import numpy as np

from .. import datasets
from .methods import FIGURE_METHODS, LASSO, METHODS, OPTIMUM, PLAIN, RANDOM_START, SELECT_REFIT, SPARSIFIER, build
from .rows import Parameters, Result, Rows, Trial
from .splits import Split, evaluate, load_split
from .trials import Runner

# Cheap ones first: an interrupted run has most rows of the table.
DATA_SETS = (
    "splice", "phishing", "synthetic", "mushrooms", "colon-cancer", "a9a", "w8a", "kdd99", "gisette", "covtype",
)  # fmt: skip
MATCHING = "steps that match"
TABLES, SYNTHETIC, KDD99 = "tables.jsonl", "synthetic.jsonl", "kdd99.jsonl"
MOST_STEPS = 1000
FIRST_PILOT = 1000
"""Seeds from here on belong to pilot runs; final trials count from 0."""


@dataclass(frozen=True)
class Effort:
    """How much is run. The defaults are the paper's, but for what takes minutes a fit.

    Attributes
    ----------
    trials : int
        Seeds of each final cell or point.
    plain_steps, plain_trials : int
        Frank-Wolfe steps without noise, and on how many splits: hardly anything about them is random.
    pilots : int
        Splits on which steps are matched and parameters tuned.
    tried : tuple of int
        Places in a tuning grid of the values that are tried.
    epsilons, kdd99_epsilons : tuple of float
        Budgets of the figures.
    """

    trials: int = 50
    plain_steps: int = 50_000
    plain_trials: int = 1
    pilots: int = 5
    tried: tuple[int, ...] = (0, 1, 2, 3, 4)
    epsilons: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    kdd99_epsilons: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 3.0)

    @property
    def seeds(self) -> range:
        """Seeds of final trials."""
        return range(self.trials)

    @property
    def plain_seeds(self) -> range:
        """Seeds for the non-private fits that take minutes."""
        return range(min(self.plain_trials, self.trials))

    @property
    def pilot_seeds(self) -> range:
        """Seeds of pilot runs, apart from all final ones."""
        return range(FIRST_PILOT, FIRST_PILOT + self.pilots)


def quick(trials: int) -> Effort:
    """Everything once or twice, to see that it runs."""
    return Effort(trials, 1000, 1, 1, (1, 2), (1.0, 2.0, 4.0), (1.0, 3.0))


def work(trial: Trial) -> Result:
    """The result of any trial listed here."""
    return matching_steps(trial) if trial.method == MATCHING else evaluate(_fit, trial)


def _fit(trial: Trial, split: Split) -> object:
    return build(trial, split.delta).fit(split.X_train, split.y_train)


def private(data: str, method: str, epsilon: float, seeds: Iterable[int], **parameters: float) -> list[Trial]:
    """Trials of a private method under the paper's relation, adding or removing a record."""
    return [Trial(data, method, epsilon, "zero-out", seed, _frozen(parameters)) for seed in seeds]


def non_private(data: str, method: str, seeds: Iterable[int], **parameters: float) -> list[Trial]:
    """Trials of a method without noise."""
    return [Trial(data, method, 0.0, "none", seed, _frozen(parameters)) for seed in seeds]


def _frozen(parameters: dict[str, float]) -> Parameters:
    return tuple(sorted(parameters.items()))


def _by_seed(trials: Iterable[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial.seed)  # one split serves all methods


def nonzeros(rows: Rows) -> float:
    """Average number of nonzero weights."""
    return fmean(result["nonzeros"] for result in rows.values())


def table1_trials(data: str, effort: Effort) -> list[Trial]:
    """One row of Table 1."""
    seeds, few = effort.seeds, effort.plain_seeds
    return _by_seed(
        [
            *private(data, SPARSIFIER, 1.0, seeds),
            *private(data, LASSO, 1.0, seeds),
            *non_private(data, OPTIMUM, seeds),
            *private(data, RANDOM_START, 1.0, few),
            *non_private(data, PLAIN, few, n_iter=effort.plain_steps),
        ]
    )


def run_table1(runner: Runner, folder: Path, effort: Effort, names: Sequence[str]) -> dict[str, Rows]:
    """Run Table 1: the rows of each data set."""
    return {
        data: runner.run(table1_trials(data, effort), work, folder / TABLES, f"Table 1, {data}") for data in names
    }


def run_table2(runner: Runner, folder: Path, effort: Effort, names: Sequence[str]) -> dict[str, Rows]:
    """Run Table 2: the rows of each data set."""
    return {data: _run_table2_row(runner, folder / TABLES, effort, data) for data in names}


def _run_table2_row(runner: Runner, path: Path, effort: Effort, data: str) -> Rows:
    seeds = effort.seeds
    title = f"Table 2, {data}"
    sparsifier = runner.run(private(data, SPARSIFIER, 1.0, seeds), work, path, title)
    size = max(1, round(nonzeros(sparsifier)))
    search = private(data, MATCHING, 1.0, effort.pilot_seeds, nonzeros=size)
    steps = median_low(int(result["n_iter"]) for result in runner.run(search, work, path, title).values())
    others = [
        *private(data, LASSO, 1.0, seeds, n_iter=steps),
        *private(data, SELECT_REFIT, 1.0, seeds),
        *private(data, SELECT_REFIT, 1.0, seeds, max_features=max(1, math.floor(nonzeros(sparsifier)))),
    ]
    return sparsifier | runner.run(_by_seed(others), work, path, title)


def matching_steps(trial: Trial) -> Result:
    """The fewest steps after which Private LASSO has as many nonzeros as asked for, by doubling and halving.

    Privacy
    -------
    Sensitive: the search is not charged, as it is not in the paper.
    """
    split = load_split(trial.data, trial.seed)
    asked = dict(trial.parameters)["nonzeros"]

    def enough(steps: int) -> bool:
        (attempt,) = private(trial.data, LASSO, trial.epsilon, [trial.seed], n_iter=steps)
        model = build(attempt, split.delta).fit(split.X_train, split.y_train)
        return bool(np.count_nonzero(model.coef_) >= asked)

    low, high = 0, int(asked)
    while high < MOST_STEPS and not enough(high):
        low, high = high, min(2 * high, MOST_STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return {"n_iter": high}


def tuning_trials(data: str, method: str, epsilon: float, effort: Effort) -> list[Trial]:
    """Pilot trials for one point of a curve; none for a method without a tuned parameter."""
    tuned, grid = METHODS[method].tuned, METHODS[method].values(data)
    return [
        trial
        for place in (effort.tried if tuned else ())
        for trial in private(data, method, epsilon, effort.pilot_seeds, **{tuned: grid[place]})
    ]


def chosen_parameters(pilots: Rows) -> Parameters:
    """The parameters with the highest average accuracy on the pilots' held-out 20 %; none without pilots."""
    accuracies: dict[Parameters, list[float]] = {}
    for trial, result in pilots.items():
        accuracies.setdefault(trial.parameters, []).append(result["accuracy"])
    return max(accuracies, key=lambda parameters: fmean(accuracies[parameters]), default=())


def run_curves(runner: Runner, path: Path, effort: Effort, data: str, epsilons: Sequence[float]) -> Rows:
    """Tune on pilot splits, then run the final trials of all curves over ε on one data set.

    Pilots have splits of their own; for the synthetic data even records of their own.
    """
    points = [(method, epsilon) for epsilon in epsilons for method in FIGURE_METHODS]
    pilots = {(method, epsilon): tuning_trials(data, method, epsilon, effort) for method, epsilon in points}
    every_pilot = _by_seed(trial for trials in pilots.values() for trial in trials)
    tuned = runner.run(every_pilot, work, path, f"tuning, {data}")
    final: list[Trial] = []
    for (method, epsilon), trials in pilots.items():
        chosen = chosen_parameters({trial: tuned[trial] for trial in trials})
        final += private(data, method, epsilon, effort.seeds, **dict(chosen))
    return runner.run(_by_seed(final), work, path, f"final trials, {data}")


def run_synthetic(runner: Runner, folder: Path, effort: Effort) -> Rows:
    """Figures 1 to 4."""
    return run_curves(runner, folder / SYNTHETIC, effort, "synthetic", effort.epsilons)


def run_kdd99(runner: Runner, folder: Path, effort: Effort) -> Rows:
    """Figure 5."""
    return run_curves(runner, folder / KDD99, effort, "kdd99", effort.kdd99_epsilons)


def missing(names: Iterable[str]) -> list[str]:
    """Those data sets whose files are not on this machine."""
    here = {*datasets.available(), "synthetic"}
    return [name for name in names if name not in here]
