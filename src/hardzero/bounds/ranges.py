"""From noisy sums to bounds that a reader understands. Everything here is post-processing of released values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray
from .grid import Grid
from .release import BoundsPlan, cumulative

_CERTAIN, _LIKELY = 4.0, 2.0
"""Standard deviations: cells beyond an edge are there for certain, and further ones next to them probably."""

_MOST_DOUBT = 0.25
"""A bound is told where a larger share of the cells than that would certainly be seen beyond it."""


@dataclass(frozen=True)
class ReleasedRange:
    """A column's bounds, and the share of its cells that can lie beyond each of them without being noticed.

    Privacy
    -------
    Post-processing.
    """

    lower: float
    upper: float
    unnoticed: float


def range_of(sums: FloatArray, grid: Grid, noise: float, tail: float) -> ReleasedRange | None:
    """Return bounds beyond which no more than ``tail`` of the cells lie, as far as noise lets that be known.

    Bounds are edges of the grid, so that they are rounded outwards. Where cells can be told from noise certainly the
    bound lies beyond, and further out where more are likely in the bins that follow.

    Parameters
    ----------
    sums : array
        Of one column, from `noisy_sums`.
    grid : Grid
        Of that column.
    noise : float
        Standard deviation of the noise of each sum, in cells.
    tail : float
        The share of cells that may lie beyond each bound.

    Returns
    -------
    ReleasedRange or None
        None where noise hides where the cells are.

    Privacy
    -------
    Post-processing.
    """
    matrix = cumulative(grid.bins)
    below = matrix @ sums
    total = float(below[-1])
    doubt = noise * np.linalg.norm(matrix, axis=1), noise * np.linalg.norm(matrix[-1] - matrix, axis=1)
    most = _CERTAIN * max(float(part.max()) for part in doubt)
    if not most <= _MOST_DOUBT * total:
        return None
    upper = _outermost(total - below, doubt[1], tail * total)
    lower = grid.bins - _outermost(below[::-1], doubt[0][::-1], tail * total)
    if not lower < upper:
        return None
    return ReleasedRange(float(grid.edges[lower]), float(grid.edges[upper]), max(tail, most / total))


def _outermost(beyond: FloatArray, doubt: FloatArray, allowed: float) -> int:
    """Return the edge behind the last one beyond which there are too many cells, edges being counted outwards."""
    certain = np.flatnonzero(beyond > np.maximum(allowed, _CERTAIN * doubt))
    place = int(certain[-1]) if len(certain) else 0
    likely = beyond > np.maximum(allowed, _LIKELY * doubt)
    while place + 1 < len(beyond) - 1 and likely[place + 1]:
        place += 1
    return place + 1


def doubtful_share(plan: BoundsPlan) -> float:
    """Return by what factor noise is too large for bounds to be told if no cell is missing; up to 1 is enough.

    Privacy
    -------
    Data-independent.
    """
    norms = [
        max(np.linalg.norm(part, axis=1).max() for part in (matrix, matrix[-1] - matrix))
        for matrix in (cumulative(bins) for bins in {grid.bins for grid in plan.grids})
    ]
    return float(_CERTAIN * plan.noise * max(norms) / (_MOST_DOUBT * plan.n_rows))
