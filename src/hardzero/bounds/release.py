"""The one release: for all columns together, sums from which the number of cells below every edge can be told.

Counts of bins with noise would do, but what lies below an edge is a sum of many bins, and so would be its noise. Each
cell adds to all sums from its bin on instead, ever less: by 1, 1/2, 3/8, 5/16, …, the coefficients of (1 - x)^(-1/2).
Applied once more they give cumulative counts, with noise that grows with the logarithm of the number of bins only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import solve_triangular, toeplitz

from ..data.bounded import FloatArray
from ..methods.plans import ChargedPlan, charged
from ..model.composed import bounds_event
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import GaussianRelease
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import IntArray, Source
from .grid import Grid

CELL = 2**16
"""What a cell adds to the sum of its own bin, in units of the noise's whole numbers."""


@dataclass(frozen=True)
class BoundsPlan(ChargedPlan):
    """What will be summed up, and with how much noise; made before a cell is counted.

    ``sigma`` is the standard deviation of the noise in units, ``multiple`` the same over the sensitivity.

    Privacy
    -------
    Data-independent.
    """

    n_rows: int
    grids: tuple[Grid, ...]
    multiple: float
    sigma: int

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of each sum, in cells."""
        return self.sigma / CELL


def plan_bounds(n_rows: int, grids: Sequence[Grid], budget: Budget, neighbours: Neighbours) -> BoundsPlan:
    """Plan a release that costs the budget.

    Parameters
    ----------
    n_rows : int
        The public number of rows.
    grids : sequence of Grid
        One for each column.
    budget : Budget
        What it may cost.
    neighbours : Neighbours
        Under which relation.

    Privacy
    -------
    Data-independent.
    """

    def events(inverse: float) -> tuple[GaussianRelease]:
        return (bounds_event(len(grids), 1 / inverse),)

    released = events(accounting.most_within(budget, events, budget.epsilon / 4))
    sensitivity = math.sqrt(neighbours.contributions * sum(square_of_a_cell(grid.bins) for grid in grids))
    sigma = math.ceil(released[0].noise * sensitivity * (1 + 2.0**-50))
    spent = charged(budget, released)
    return BoundsPlan(budget, neighbours, released, spent, n_rows, tuple(grids), released[0].noise, sigma)


@lru_cache(maxsize=64)
def shares_of_a_cell(bins: int) -> IntArray:
    """Return what a cell adds to the sums of its own bin and of those above it: whole numbers, none negative.

    Privacy
    -------
    Data-independent.
    """
    ratios = 1 - 1 / (2 * np.arange(1, bins))
    shares: IntArray = np.rint(CELL * np.cumprod(np.concatenate([[1.0], ratios]))).astype(np.int64)
    shares.flags.writeable = False
    return shares


def square_of_a_cell(bins: int) -> int:
    """Return the largest sum of squares of what one cell adds: that of a cell in the lowest bin.

    Privacy
    -------
    Data-independent.
    """
    return sum(int(share) ** 2 for share in shares_of_a_cell(bins))


def summed_cells(counts: Sequence[IntArray], plan: BoundsPlan) -> Sensitive[IntArray]:
    """Turn the counts of each column's bins into sums, those of one column after another.

    Privacy
    -------
    Sensitive: a row adds what its cells add, one in each column at most, and a missing cell nothing.
    """
    sums = [
        np.convolve(count, shares_of_a_cell(grid.bins))[: grid.bins]
        for count, grid in zip(counts, plan.grids, strict=True)
    ]
    return Sensitive(np.concatenate(sums))


def noisy_sums(counts: Sequence[IntArray], plan: BoundsPlan, source: Source) -> list[FloatArray]:
    """Return the sums of each column with noise, in cells.

    Privacy
    -------
    Releases the sums at the cost of the plan. Proof: docs/proofs/bounds.md.
    """
    sums = mechanisms.gaussian(summed_cells(counts, plan), plan.sigma, source)
    ends = np.cumsum([grid.bins for grid in plan.grids])[:-1]
    return [np.asarray(part / CELL, dtype=np.float64) for part in np.split(sums, ends)]


@lru_cache(maxsize=64)
def cumulative(bins: int) -> FloatArray:
    """Return the matrix that turns sums into the number of cells below every edge, a line for each of them.

    Privacy
    -------
    Data-independent.
    """
    adding = toeplitz(shares_of_a_cell(bins) / CELL, np.zeros(bins))
    below = solve_triangular(adding.T, np.triu(np.ones((bins, bins))), lower=False).T
    return np.vstack([np.zeros(bins), below])
