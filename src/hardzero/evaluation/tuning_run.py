"""A planned search, carried out: candidates are fitted, scored on other rows, and one of them is released."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from ..optim import progress
from ..privacy import mechanisms
from ..privacy.events import RandomStopping, Selection
from ..privacy.randomness import IntArray, Source, source_for
from .tuning_plan import TuningPlan
from .tuning_scores import POINTS, total_points

T = TypeVar("T")
Fit = Callable[[int, int | None], T]
"""Fits the candidate of this number with this seed, if there is one, to rows that score nobody."""
Score = Callable[[T], IntArray]
"""Gives the points of each row that was set aside."""

_SEEDS = 2**31


def searched(plan: TuningPlan, fit: Fit[T], score: Score[T], source: Source) -> tuple[int, T]:
    """Return the number of the chosen candidate, and what its fit gave.

    Parameters
    ----------
    plan : TuningPlan
        Paid for.
    fit, score : callable
        What is done to the rows that were not set aside, and to those that were.
    source : Source
        Decides which candidates are tried, and how many.

    Privacy
    -------
    Releases one candidate's number and fit at the cost of the plan, and nothing about the others: no score, and in
    random stopping not how many were tried. Proof: docs/proofs/tuning.md.
    """
    if isinstance(plan.choice, Selection):
        return _best_of_all(plan, plan.choice, fit, score, source)
    with progress.unheard():
        return _best_of_runs(plan, plan.choice, fit, score, source)


def _best_of_all(plan: TuningPlan, choice: Selection, fit: Fit[T], score: Score[T], source: Source) -> tuple[int, T]:
    progress.begin(len(plan.told))
    fitted = []
    for number in progress.counted(range(len(plan.told))):
        with progress.unheard():
            fitted.append(fit(number, _seed(source)))
    scores = total_points([score(found) for found in fitted])
    best = mechanisms.select(scores, POINTS, choice.eta, source)
    return best, fitted[best]


def _best_of_runs(
    plan: TuningPlan, choice: RandomStopping, fit: Fit[T], score: Score[T], source: Source
) -> tuple[int, T]:
    sigma = score_noise(choice)

    def run() -> tuple[int, tuple[int, T]]:
        number = source.below(len(plan.told))
        fitted = fit(number, _seed(source))
        noisy = mechanisms.gaussian(total_points([score(fitted)]), sigma, branched(source))
        return int(noisy[0]), (number, fitted)

    return mechanisms.best_of_runs(run, choice.odds, source)


def score_noise(choice: RandomStopping) -> int:
    """Return the standard deviation of a score's noise, in points.

    Privacy
    -------
    Data-independent.
    """
    return math.ceil(choice.noise * POINTS * (1 + 2.0**-50))


def branched(source: Source) -> Source:
    """Return another source of the same kind; what is drawn from one does not move the other.

    Privacy
    -------
    Data-independent.
    """
    return source_for(_seed(source))


def _seed(source: Source) -> int | None:
    return None if source.is_private else source.below(_SEEDS)
