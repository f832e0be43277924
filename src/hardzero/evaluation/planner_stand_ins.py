"""Made-up rows that stand for many records each, so that rehearsing a million takes no longer than some thousands.

Sums over rows are multiplied, and targets, in place of 0 and 1, are the row's probability plus as much chance as so
many labels have on average. Sums then have the mean and the variance that they would have with all records. Squares
of residuals would not: they are summed with labels of 0 and 1.

Where there are many features, noise in their weights makes the residuals of rows differ, and sums over few rows vary
by chance more than those over all records, at every step in the same way. So there are several lots of rows then, and
the steps of a descent take turns with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds, FloatArray, IntArray
from ..methods.select_refit import rows_of_classes
from ..optim.curvature import weighted_products
from ..optim.descent import code_sums
from ..optim.losses import Logistic
from ..optim.problem import Problem
from ..optim.standardise import shrunk_moments
from .planner_worlds import MOST_ROWS

_DRAWS = 4
"""Times that labels are drawn for squares of residuals, so that few rows of a rare category do not decide on them."""


@dataclass(frozen=True)
class Lot:
    """Rows, or something made from them, each of which stands for ``each`` records, some of class 1.

    ``labels`` are targets of 0 and 1 for the same rows, drawn several times.

    Privacy
    -------
    Data-independent: all of it is made up.
    """

    state: Any
    each: float
    positives: float
    labels: tuple[FloatArray, ...]

    def total(self, function: Callable[..., IntArray], *arguments: Any) -> IntArray:
        """Sum over all records; labels are no whole numbers here, so that they are counted beforehand."""
        sums = np.asarray(self.each * function(self.state, *arguments), dtype=np.float64)
        if function is shrunk_moments:
            sums[-1] = self.positives * FEATURE_ONE * RESIDUAL_ONE
        elif function is rows_of_classes:
            sums[-1] = np.rint(self.positives) * RESIDUAL_ONE
        elif function is weighted_products:
            drawn = [function(replace(self.state, targets=targets), *arguments)[1] for targets in self.labels]
            sums[1] = self.each * np.mean(drawn, axis=0)
        return np.rint(sums).astype(np.int64)


@dataclass(frozen=True)
class StandIns:
    """One or several lots of rows, every one of which stands for all records.

    Privacy
    -------
    Data-independent: all of it is made up.
    """

    lots: tuple[Lot, ...]
    turns: Iterator[int]

    @classmethod
    def of(cls, *lots: Lot) -> StandIns:
        """Let the first lot have the first turn."""
        return cls(lots, cycle(range(len(lots))))

    def total(self, function: Callable[..., IntArray], *arguments: Any) -> IntArray:
        """Sum over all records: a step of a descent by the lot whose turn it is, all else by the mean of all lots."""
        if function is code_sums:
            return self.lots[next(self.turns)].total(function, *arguments)
        mean = np.mean([lot.total(function, *arguments) for lot in self.lots], axis=0)
        return np.asarray(np.rint(mean), dtype=np.int64)

    def then(self, function: Callable[..., Any], *arguments: Any) -> StandIns:
        """Keep what a function makes of the rows."""
        lots = [replace(lot, state=function(lot.state, *arguments)) for lot in self.lots]
        return replace(self, lots=tuple(lots))

    def change(self, function: Callable[..., None], *arguments: Any) -> None:
        """Let a function change what is kept."""
        for lot in self.lots:
            function(lot.state, *arguments)


def drawn_labels(chance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw every row's label several times, by its probability of class 1.

    Privacy
    -------
    Data-independent.
    """
    return (rng.random((_DRAWS, len(chance))) < chance).astype(np.float64)


def averaged(labels: FloatArray, chance: FloatArray, n_rows: int) -> FloatArray:
    """Return what the labels of ``n_rows`` are on average by row, with as much chance left in their sum.

    Privacy
    -------
    Data-independent.
    """
    return np.asarray(chance + math.sqrt(len(chance) / n_rows) * (labels - chance))


def stand_ins(X: FloatArray, targets: FloatArray, labels: FloatArray, n_rows: int) -> StandIns:
    """Let rows stand for ``n_rows``, in as many lots as there are enough rows for.

    Rows go to the lots in turn: where scores rise from row to row, all lots then have them alike.

    Privacy
    -------
    Data-independent.
    """
    lots, count = [], max(len(X) // MOST_ROWS, 1)
    for first in range(count):
        rows = slice(first, None, count)
        data, own = BoundedData.from_matrix(X[rows], Bounds.parse((-1, 1), X.shape[1])), targets[rows]
        problem, each = Problem(data, own[:, None], Logistic()), n_rows / len(own)
        lots.append(Lot(problem, each, each * float(own.sum()), tuple(labels[:, rows, None])))
    return StandIns.of(*lots)
