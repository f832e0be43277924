"""Private standardisation: where features lie and how far they spread, from two releases.

Gradient descent needs features on a common scale, and a clipping length that few rows exceed. Both would leak if they
were read from the data; here they are released, and everything later is post-processing of that release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE, FloatArray, IntArray, Table
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .problem import AnyProblem, Problem

_LENGTHS = 40
_SHORTEST = 0.1
_INSIDE, _OUT_OF = 9, 10  # nine rows in ten, of those that are not empty, should be shorter than the clipping length
_PRICE = 0.25
"""How much noise counts beside rows that are cut: it decides where many lengths do as well."""
_LEAST_SCALE = 0.02
_SUM_ONE = FEATURE_ONE * RESIDUAL_ONE


@dataclass(frozen=True)
class Standard:
    """Released moments of the features and rates of the classes.

    Privacy
    -------
    Post-processing of one Gaussian release.

    Attributes
    ----------
    centre, scale : array
        What is subtracted from each feature, and what the difference is divided by.
    variance : array
        The released variance of each feature, which noise may have made negative.
    error : float
        Standard deviation of the noise of every moment.
    rates : array
        Released rates of the classes.
    """

    centre: FloatArray
    scale: FloatArray
    variance: FloatArray
    error: float
    rates: FloatArray

    @property
    def spread(self) -> FloatArray:
        """The expected square of a standardised feature: 1, or less where the scale stands at its floor."""
        return self.variance / self.scale**2

    @property
    def variance_error(self) -> FloatArray:
        """Standard deviation of the noise of every variance, a mean square less the square of a mean."""
        return self.error * np.sqrt(1 + 4 * self.centre**2)

    def subset(self, features: np.typing.NDArray[np.intp]) -> Standard:
        """Return the same for some of the features."""
        return Standard(self.centre[features], self.scale[features], self.variance[features], self.error, self.rates)


def typical_length(problem: AnyProblem, eta: float, noise: float, source: Source) -> float:
    """Choose a length from a fixed grid that about nine in ten of the rows that are not empty do not exceed.

    Of lengths that do as well the shorter ones: the moments' noise, ``noise`` in records, is proportional to them.

    Privacy
    -------
    Releases one grid point with bounded range ``eta`` under every relation: one record moves each score by at most
    one row. Proof: docs/proofs/select-refit.md.
    """
    grid = np.geomspace(_SHORTEST, max(math.sqrt(problem.n_features), 2 * _SHORTEST), _LENGTHS)
    prices = length_prices(grid, problem.n_features, noise)
    return float(grid[mechanisms.select(length_scores(problem, grid, prices), _OUT_OF * RESIDUAL_ONE, eta, source)])


def length_prices(grid: FloatArray, n_features: int, noise: float) -> FloatArray:
    """Return for each length how many rows its noise counts for, never more than the largest table has.

    Privacy
    -------
    Data-independent.
    """
    return np.minimum(_PRICE * math.sqrt(2 * n_features) * noise * grid, MAX_ROWS)


def length_scores(problem: AnyProblem, grid: FloatArray, prices: FloatArray) -> Sensitive[IntArray]:
    """Score every length of a grid: the closer the rows within it are to nine tenths, the higher, less its price.

    Rows within the first length count as empty. Prices are in rows; scores in units so small that dividing one
    sensitivity into levels loses next to nothing.

    Privacy
    -------
    Sensitive. A record that is empty counts 0 in the difference from nine tenths, one within a length 1, one beyond
    it -9: it moves each score by at most 10·RESIDUAL_ONE.
    """
    *inside, total = problem.rows.total(rows_within, grid)
    excess = _OUT_OF * np.array(inside) - (_OUT_OF - _INSIDE) * inside[0] - _INSIDE * total
    return Sensitive(-np.abs(excess) - np.rint(_OUT_OF * RESIDUAL_ONE * prices).astype(np.int64))


def rows_within(problem: Problem, grid: FloatArray) -> IntArray:
    """Count the rows within each length of a grid, and last all rows, in units of 1/RESIDUAL_ONE.

    Privacy
    -------
    Sensitive. A record counts at most RESIDUAL_ONE for each length.
    """
    beyond = np.searchsorted(grid, _lengths(problem.data), side="left")  # lengths of the grid that a row exceeds
    if problem.persons is None:
        counts = np.bincount(beyond, minlength=len(grid) + 1) * RESIDUAL_ONE
    else:
        counts = problem.persons.tally(beyond, len(grid) + 1, RESIDUAL_ONE)
    return np.cumsum(counts, dtype=np.int64)


def _lengths(data: Table) -> FloatArray:
    """L2 lengths of all rows."""
    return np.sqrt(data.row_squares(np.zeros(data.n_features), np.ones(data.n_features)))


def private_standard(
    problem: AnyProblem, length: float, noise: float, contributions: int, source: Source
) -> Standard:
    """Release means, mean squares and class rates in one Gaussian vector, rows clipped to ``length``.

    Privacy
    -------
    Releases 2p + K sums with Gaussian noise of ``noise`` sensitivities. A clipped row x with |x_j| ≤ 1 has
    ‖x‖ ≤ length and ‖x²‖ ≤ ‖x‖, and its class adds 1, so its contribution has L2 norm at most √(2·length² + 1).
    Proof: docs/proofs/select-refit.md.
    """
    n, p = problem.n_rows, problem.n_features
    sensitivity = contributions * math.ceil(math.sqrt(2 * length**2 + 1) * _SUM_ONE)
    sigma = math.ceil(noise * sensitivity)
    means = mechanisms.gaussian(moment_sums(problem, length), sigma, source) / (_SUM_ONE * n)
    error = sigma / (_SUM_ONE * n)
    centre = np.clip(means[:p], -1.0, 1.0)
    variance = means[p : 2 * p] - centre**2
    scale = np.sqrt(np.maximum(variance, max(2 * error, _LEAST_SCALE**2)))
    return Standard(centre, scale, variance, error, rates_of(means[2 * p :], n))


def moment_sums(problem: AnyProblem, length: float) -> Sensitive[IntArray]:
    """Sum features, their squares and classes over rows that are shrunk to ``length``.

    Rounded down throughout, so that the bound holds for the whole numbers themselves.

    Privacy
    -------
    Sensitive. A record adds a vector of length at most √(2·length² + 1), in units of 1/(FEATURE_ONE·RESIDUAL_ONE).
    """
    return Sensitive(problem.rows.total(shrunk_moments, length))


def shrunk_moments(problem: Problem, length: float) -> IntArray:
    """Sum features, squares and classes of the rows in one place.

    Privacy
    -------
    Sensitive. What a record adds depends on that record and on ``length`` only.
    """
    data = problem.data
    shrink = np.minimum(1.0, length / np.maximum(_lengths(data), 1e-12))
    codes = np.floor(shrink * RESIDUAL_ONE).astype(np.int64)
    sums = data.gradient(problem.divided(codes)[:, None])[0]
    squares = data.square_gradient(problem.divided(codes * codes // RESIDUAL_ONE))
    return np.concatenate([sums, squares, problem.class_sums(_SUM_ONE)])


def rates_of(means: FloatArray, n_rows: int) -> FloatArray:
    """Keep noisy class rates away from 0 and 1, by 1/√n.

    Privacy
    -------
    Post-processing.
    """
    least = 1 / math.sqrt(max(n_rows, 4))
    return np.clip(means, least, 1 - least)
