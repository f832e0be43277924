"""Made-up records of which the truth is known: what is in a table, which of it matters, and how much."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data.bounded import FloatArray
from .planner_tables import MadeUpTable, Supposed, columns_behind

MOST_ROWS = 4096
"""Rows in a lot of a rehearsal; each stands for several records where there are more."""
_MOST_LOTS, _FEATURES_OF_LOT = 4, 100
"""Lots of rows, at most, and how many features ask for one more."""
MOST_FEATURES = 20_000
"""Tables with more features are not rehearsed: too few of their rows would fit into the memory."""
_MOST_CELLS, _FEWEST_ROWS = 2**25, 1024
_RUN = 128
"""Rows of similar scores in which numbers are spread evenly: long enough for rare categories, short enough that there
are many such runs."""
_AT_ONCE = 2**22
"""Cells that are spread at a time."""
_SMALLEST = np.float32(2**-24)
_HALVINGS = 40
_STRONGEST = 200.0
_USUAL_EFFECTS = 6


@dataclass(frozen=True)
class Probe:
    """A feature with an effect of known size: an indicator that a ``share`` of the rows has, or a number.

    ``size`` is the log odds ratio by one standard deviation of the feature.
    """

    share: float | None
    size: float

    @property
    def spread(self) -> float:
        """Its standard deviation: a number lies anywhere between -1 and 1."""
        return spread_of(self.share)

    def made_of(self, numbers: FloatArray) -> FloatArray:
        """Make its values of numbers between 0 and 1."""
        return 2 * numbers - 1 if self.share is None else (numbers < self.share).astype(np.float64)


def spread_of(share: float | None) -> float:
    """Return the standard deviation of an indicator that a share of the rows has, or of a number in [-1, 1].

    Privacy
    -------
    Data-independent.
    """
    return math.sqrt(1 / 3) if share is None else math.sqrt(share * (1 - share))


@dataclass(frozen=True)
class World:
    """A table, and what is supposed of it.

    Its real effects are equally strong and belong to features that spread more than half of the others. Where columns
    correlate they are on neighbours and have the same sign, else they are far from each other and take turns.

    Privacy
    -------
    Data-independent.
    """

    table: MadeUpTable
    supposed: Supposed

    @property
    def able(self) -> int:
        """How many features can have an effect: those that are not the same in all rows."""
        return int(np.count_nonzero(self.table.spreads))

    @property
    def effects(self) -> int:
        """How many have one: as many as was stated, or the usual number where there are so many."""
        return min(_USUAL_EFFECTS, self.able) if self.supposed.effects is None else self.supposed.effects

    def strength(self) -> float:
        """Return the size of every real effect, by one standard deviation.

        Raises
        ------
        ValueError
            No size makes the classes so easy to tell.
        """
        rows = rows_at_hand(MOST_ROWS, self.table.n_features)
        numbers = np.random.default_rng(0).random((rows, self.table.n_columns))
        score = self.table.made_of(numbers) @ self.weights(1.0)

        def reached(size: float) -> float:
            chance = self.chances(size * score)
            return float(np.maximum(chance, 1 - chance).mean())

        if reached(_STRONGEST) < self.supposed.accuracy:
            raise ValueError(
                f"accuracy={self.supposed.accuracy:g} cannot be reached by {self.effects} effects: their "
                "features are too rare; state more effects, or an accuracy closer to that of guessing"
            )
        return _crossing(reached, self.supposed.accuracy, 0.0, _STRONGEST)

    def chances(self, score: FloatArray) -> FloatArray:
        """Return the probabilities of class 1, which they have at the stated rate."""
        intercept = _crossing(lambda at: float(expit(score + at).mean()), self.supposed.rate, -100.0, 100.0)
        return np.asarray(expit(score + intercept))

    def draw(
        self, rows: int, n_rows: int, strength: float, probes: Sequence[Probe], rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Make up rows that stand for ``n_rows``, features of probes last, and each row's probability of class 1.

        Few rows have columns that correlate by chance more than those of all records would, and what then looks like
        an effect blurs those that are looked for. So where a row stands for several records, whatever does not belong
        to the real effects is spread evenly over rows of similar scores.
        """
        world = replace(self, table=self.table.beside(len(probes)))
        table, weights, width = world.table, world.weights(strength), world.table.n_columns + len(probes)
        numbers = rng.random((rows, width)) if rows == n_rows else world._evenly(weights, width, rows, n_rows, rng)
        X = table.made_of(numbers[:, : table.n_columns])
        score = X @ weights
        if probes:
            own = numbers[:, table.n_columns :].T
            beside = np.column_stack([probe.made_of(some) for probe, some in zip(probes, own, strict=True)])
            score = score + beside @ (_turns(len(probes)) * [probe.size / probe.spread for probe in probes])
            X = np.hstack([X, beside])
        return X, world.chances(score)

    def _evenly(
        self, weights: FloatArray, width: int, rows: int, n_rows: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw what rows are made from: scores rise from row to row, and all else is spread evenly over them."""
        behind = columns_behind(self.table, np.flatnonzero(weights))
        others = np.setdiff1d(np.arange(width), behind, assume_unique=True)
        numbers = np.full((rows, width), 0.5)
        numbers[:, behind] = rng.random((rows, len(behind)))
        order = np.argsort(self.table.made_of(numbers[:, : self.table.n_columns]) @ weights, kind="stable")
        numbers[:, behind] = numbers[np.ix_(order, behind)]
        numbers[:, others] = spread_evenly(rows, len(others), rows / n_rows, rng)
        return numbers

    def weights(self, size: float) -> FloatArray:
        """Return the true weights of the table's own features, all effects of this size."""
        spreads, count = self.table.spreads, self.effects
        widest = np.sort(np.argsort(-spreads, kind="stable")[: max(len(spreads) // 2, count)])
        if self.supposed.correlation == 0:
            chosen = widest[np.linspace(0, len(widest) - 1, count).round().astype(np.intp)]
            signs = _turns(len(chosen))
        else:
            chosen = widest[:count]
            signs = np.ones(len(chosen))
        weights = np.zeros(len(spreads))
        weights[chosen] = size * signs
        return np.asarray(np.divide(weights, spreads, out=np.zeros(len(spreads)), where=spreads > 0))


def spread_evenly(rows: int, columns: int, loose: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return numbers between 0 and 1 that every run of rows has evenly, as far as records in their place would.

    Of the interval's equal parts, as many as a run has rows, each run has a number in every one; runs take turns
    inside the parts. Sums over rows of such numbers, weighted by anything that changes slowly from row to row, then
    hardly depend on chance. Sums over all records do: with a share ``loose`` of the variance that independent numbers
    would give. So enough of the numbers are replaced by independent ones.

    Privacy
    -------
    Data-independent.
    """
    pieces = np.array_split(np.arange(columns), max(-(-rows * columns // _AT_ONCE), 1))
    return np.hstack([_spread_evenly(rows, len(piece), loose, rng) for piece in pieces])


def _spread_evenly(rows: int, columns: int, loose: float, rng: np.random.Generator) -> NDArray[np.float32]:
    runs = -(-rows // _RUN)
    numbers = rng.random((columns, _RUN, runs), dtype=np.float32)
    numbers += rng.random(numbers.shape, dtype=np.float32).argsort(axis=2)
    numbers /= runs
    numbers += np.arange(_RUN, dtype=np.float32)[:, None]
    numbers /= _RUN
    places = rng.random((columns, runs, _RUN), dtype=np.float32).argsort(axis=2)
    numbers = np.take_along_axis(numbers.swapaxes(1, 2), places, axis=2).reshape(columns, runs * _RUN)[:, :rows]
    # A share s of numbers that leave and are replaced has a variance of s(2 - s): of those that left, and of the new.
    replaced = rng.random(numbers.shape, dtype=np.float32) < 1 - math.sqrt(1 - loose)
    numbers[replaced] = rng.random(np.count_nonzero(replaced), dtype=np.float32)
    # In single precision some are 0, or round up to 1, and columns that correlate are made from normal quantiles.
    return numbers.clip(_SMALLEST, 1 - _SMALLEST, out=numbers).T


def _turns(count: int) -> FloatArray:
    return np.asarray((-1.0) ** np.arange(count))


def _crossing(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where a rising function reaches a value."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return (low + high) / 2


def rows_at_hand(n_rows: int, n_features: int) -> int:
    """Return how many rows stand for so many records: several lots where there are many features.

    Fewer where rows are so long that they would not fit the memory.

    Privacy
    -------
    Data-independent.
    """
    wanted = MOST_ROWS * min(max(n_features // _FEATURES_OF_LOT, 1), _MOST_LOTS)
    return min(n_rows, max(min(wanted, _MOST_CELLS // n_features), _FEWEST_ROWS))
