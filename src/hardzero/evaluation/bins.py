"""Bins of predicted probabilities: fixed by public numbers, and how counts in them spread inside each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.bounded import FloatArray
from ..privacy.randomness import IntArray

FEWEST, MOST = 6, 64
_PARTS = 16  # into which a bin is cut to look inside it
_NEIGHBOURS = 3  # bins through whose counts a parabola goes


def number_of_bins(n_rows: int, noise: float) -> int:
    """Return the even number next to the cube root of rows over noise, from 6 to 64.

    More bins see more of the model, but each brings its own noise; rows and noise are public.

    Privacy
    -------
    Data-independent.
    """
    return min(max(2 * round(math.cbrt(n_rows / noise) / 2), FEWEST), MOST)


@dataclass(frozen=True)
class Bins:
    """Bins of equal width in arcsin √p, so that they are narrow where probabilities are near 0 or 1.

    Their number is even: the threshold ½ lies between two of them. A probability on an edge belongs to the bin below.

    Privacy
    -------
    Data-independent.
    """

    count: int

    @property
    def edges(self) -> FloatArray:
        """Probabilities between the bins."""
        return probability(np.arange(1, self.count) / self.count)

    @cached_property
    def margins(self) -> FloatArray:
        """Log odds between the bins; that of ½ is exactly 0."""
        odds = 2 * np.log(np.tan(np.pi / 2 * np.arange(1, self.count) / self.count))
        odds[self.count // 2 - 1] = 0.0
        return np.asarray(odds)

    def of_margins(self, margins: FloatArray) -> IntArray:
        """Return each row's bin by its log odds."""
        return np.searchsorted(self.margins, margins, side="left").astype(np.int64)

    def of_probabilities(self, chances: FloatArray) -> IntArray:
        """Return each row's bin by its probability."""
        return np.searchsorted(self.edges, chances, side="left").astype(np.int64)

    @property
    def upper(self) -> FloatArray:
        """1 for bins above the threshold ½, 0 for those below."""
        return np.asarray(np.arange(self.count) >= self.count // 2, dtype=np.float64)

    @cached_property
    def spread(self) -> FloatArray:
        """The matrix that spreads counts of bins over their parts, by a parabola through three neighbours.

        The parts of a bin add up to its count. Densities that are parabolas in arcsin √p are met.
        """
        spread = np.zeros((self.count * _PARTS, self.count))
        powers = np.arange(1, _NEIGHBOURS + 1)
        inside = np.diff((np.arange(_PARTS + 1) / _PARTS)[:, None] ** powers, axis=0)
        for i in range(self.count):
            first = min(max(i - _NEIGHBOURS // 2, 0), self.count - _NEIGHBOURS)
            ends = np.arange(first, first + _NEIGHBOURS + 1, dtype=np.float64) - i
            masses = np.diff(ends[:, None] ** powers, axis=0)  # of the bins, for each power of a density's integral
            spread[i * _PARTS : (i + 1) * _PARTS, first : first + _NEIGHBOURS] = inside @ np.linalg.inv(masses)
        return spread

    def means(self, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return weights by which counts of bins give the sum of a function of the probability over all rows."""
        fine = self.count * _PARTS
        places = (np.arange(fine * _PARTS) + 0.5) / (fine * _PARTS)
        return np.asarray(self.spread.T @ of(probability(places)).reshape(fine, _PARTS).mean(axis=1))

    @cached_property
    def orders(self) -> FloatArray:
        """Weights of pairs of bins by which counts give how many pairs of rows are in order, ties counted half.

        The first row's bin is the number of the matrix's row; it is to have the larger probability.
        """
        fine = self.count * _PARTS
        return self.spread.T @ (np.tri(fine) - np.eye(fine) / 2) @ self.spread

    @property
    def centres(self) -> FloatArray:
        """A probability that stands for each bin: the mean over the bin, in arcsin √p."""
        width = math.pi / self.count
        ends = np.arange(self.count + 1) * width
        return np.asarray(0.5 - np.diff(np.sin(ends)) / (2 * width))


def probability(place: FloatArray) -> FloatArray:
    """Return sin²(place·π/2): from places between 0 and 1 to probabilities.

    Privacy
    -------
    Data-independent.
    """
    return np.asarray((1 - np.cos(np.pi * place)) / 2)
