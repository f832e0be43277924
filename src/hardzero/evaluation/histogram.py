"""The one release: how many rows of each class have which probability, with Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import kernels
from ..data.bounded import FloatArray
from ..data.persons import Persons
from ..methods.plans import ChargedPlan, charged
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import GaussianRelease
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import IntArray, Source
from .bins import Bins, number_of_bins

ROW = 2**16
"""What one row adds to a count, in units of the noise's whole numbers."""


@dataclass(frozen=True)
class EvaluationPlan(ChargedPlan):
    """What will be counted, and with how much noise; made before a row is looked at.

    Privacy
    -------
    Data-independent.
    """

    n_rows: int
    n_classes: int
    bins: Bins
    sigma: int

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of each count, in rows."""
        return self.sigma / ROW

    @property
    def rows(self) -> int | None:
        """How many rows are counted, where that is public."""
        return None if self.neighbours is Neighbours.ADD_REMOVE else self.n_rows


def plan_evaluation(n_rows: int, n_classes: int, budget: Budget, neighbours: Neighbours) -> EvaluationPlan:
    """Plan a histogram that costs the budget.

    Parameters
    ----------
    n_rows : int
        The public number of rows.
    n_classes : int
        Two or more.
    budget : Budget
        What it may cost.
    neighbours : Neighbours
        Under which relation.

    Privacy
    -------
    Data-independent.
    """
    what = "histogram of predicted probability and class" if n_classes == 2 else "confusion matrix and histogram"

    def events(inverse: float) -> tuple[GaussianRelease]:
        return (GaussianRelease(what, 1 / inverse),)

    released = events(accounting.most_within(budget, events, budget.epsilon / 4))
    # Counts of a row are never negative, so that those of two rows differ by √2 times one row's at most.
    sensitivity = ROW * math.sqrt(counts_of_a_row(n_classes) * neighbours.contributions)
    sigma = math.ceil(released[0].noise * sensitivity * (1 + 2.0**-50))
    bins = Bins(number_of_bins(n_rows, sigma / ROW))
    spent = charged(budget, released)
    return EvaluationPlan(budget, neighbours, released, spent, n_rows, n_classes, bins, sigma)


def counts_of_a_row(n_classes: int) -> int:
    """Return in how many counts a row is: its bin and class, or for more classes its confusion and its bin.

    Privacy
    -------
    Data-independent.
    """
    return 1 if n_classes == 2 else 2


def counted_rows(
    margins: FloatArray, places: IntArray, plan: EvaluationPlan, persons: Persons | None = None
) -> Sensitive[IntArray]:
    """Count rows by class and probability; for more than two classes by class and prediction, and by probability.

    Parameters
    ----------
    margins : array of shape (rows, outputs)
        Log odds of the second class of two, or a margin for each class.
    places : array of int
        Each row's true class.
    plan : EvaluationPlan
        With the bins.
    persons : Persons, optional
        Whose rows they are; each person counts as one row, divided among counts by its rows in them.

    Returns
    -------
    Sensitive
        For two classes the counts of the first by bin, then of the second; for K classes K·K counts, true class by
        true class, then those of the probability of the true class by bin.

    Privacy
    -------
    Sensitive: a row adds ``ROW`` to one count, or to two for more than two classes; a person's rows add so much
    together, spread over counts, which is never longer.
    """
    bins, n_classes = plan.bins, plan.n_classes
    if n_classes == 2:
        cells = [places * bins.count + bins.of_margins(margins[:, 0])]
    else:
        chances = kernels.softmaxes(margins)[np.arange(len(places)), places]
        confused = places * n_classes + margins.argmax(axis=1)
        cells = [confused, n_classes**2 + bins.of_probabilities(chances)]
    if persons is not None:
        return Sensitive(np.sum([persons.tally(part, size_of(plan), ROW) for part in cells], axis=0, dtype=np.int64))
    counts = np.bincount(np.concatenate(cells), minlength=size_of(plan))
    return Sensitive(ROW * counts.astype(np.int64))


def size_of(plan: EvaluationPlan) -> int:
    """Return how many counts there are.

    Privacy
    -------
    Data-independent.
    """
    return 2 * plan.bins.count if plan.n_classes == 2 else plan.n_classes**2 + plan.bins.count


def noisy_counts(
    margins: FloatArray, places: IntArray, plan: EvaluationPlan, source: Source, persons: Persons | None = None
) -> FloatArray:
    """Return the counts with noise, in rows, or in persons.

    Privacy
    -------
    Releases the counts at the cost of the plan. Proof: docs/proofs/evaluation.md.
    """
    counts = mechanisms.gaussian(counted_rows(margins, places, plan, persons), plan.sigma, source)
    return np.asarray(counts / ROW, dtype=np.float64)
