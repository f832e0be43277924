"""Where bounds can lie: readable numbers, ever wider apart, between limits that are known. No record has a say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FloatArray

_DECADES = 12
_IN_A_DECADE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_DIGITS = 12  # of an edge; sums of readable numbers have no more, but for rounding


@dataclass(frozen=True)
class Grid:
    """Edges from the lowest to the highest limit: ten in each of twelve decades, on both sides of an origin.

    The origin is zero, or the limit that is nearest to it where the limits are both on one side of zero.

    Privacy
    -------
    Data-independent.
    """

    lowest: float
    highest: float

    @cached_property
    def edges(self) -> FloatArray:
        """Edges of the bins, ascending; bin i holds numbers from edge i on, up to but without edge i + 1."""
        origin = min(max(self.lowest, 0.0), self.highest)
        top = math.ceil(math.log10(max(self.highest - origin, origin - self.lowest)))
        sizes = [float(f"{digits}e{k}") for k in range(top - _DECADES, top) for digits in _IN_A_DECADE]
        places = {origin, *(float(f"{origin + side * size:.{_DIGITS}g}") for size in sizes for side in (-1, 1))}
        inside = sorted(place for place in places if self.lowest < place < self.highest)
        return np.array([self.lowest, *inside, self.highest])

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    def places(self, numbers: FloatArray) -> NDArray[np.int64]:
        """Return the bin of each number; what lies beyond the limits belongs to the outermost bins.

        Privacy
        -------
        Sensitive: each place depends on its own number alone.
        """
        return np.searchsorted(self.edges[1:-1], numbers, side="right").astype(np.int64)
