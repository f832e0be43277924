"""The curvature of the weighted loss in all directions of the kept features, released once in a fit.

A gradient says how far the weights are from their optimum only together with the curvature, and how much noise moves
them: it guides a descent's later steps, and standard errors are made of it. How much sampling moves weights, the
products of the rows' gradients say, which are released beside it. Two classes only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray, IntArray
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .descent import descent_unit, refuse_no_numbers, row_squares, weighted_codes
from .frank_wolfe import Weights
from .problem import AnyProblem, Problem
from .standardise import Standard

_LARGEST = 0.25
"""Most that a row may add, as a share of a standardised row's expected squared length: curvatures are at most ¼."""
_ROW_ONE = 2.0**15
"""The length of the longest row as whole numbers; products of so many rows as a block has stay below 2⁵³."""
_SLACK = 512
"""For every number released: rounding on either side, and the factor √2 in double precision for 2³⁰ rows."""
_SCORE_WEIGHT = 0.5
"""Products of gradients enter the released vector with this weight: the curvature needs less noise than they do."""
_LONGEST = math.ceil(math.hypot(1.0, _SCORE_WEIGHT) * _ROW_ONE**2)
"""Most that a row adds to the released vector."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curvature:
    """Two released symmetric matrices over the weights and, last, the intercept.

    Privacy
    -------
    Post-processing of one Gaussian release.

    Attributes
    ----------
    matrix : array
        The curvature.
    error : float
        Standard deviation of the noise on its diagonal; beside the diagonal it is that over √2.
    scores : array
        Products of the rows' gradients, summed: the covariance that sampling gives their sum.
    """

    matrix: FloatArray
    error: float
    scores: FloatArray

    @property
    def scores_error(self) -> float:
        """Standard deviation of the noise on the diagonal of ``scores``; beside it, that over √2."""
        return self.error / _SCORE_WEIGHT


def noisy_curvature(
    problem: AnyProblem,
    standard: Standard,
    at: Weights,
    clip: float,
    noise: float,
    contributions: int,
    source: Source,
) -> Curvature:
    """Release the curvature at ``at`` of the loss with rows weighted so that no gradient is longer than ``clip``.

    Privacy
    -------
    Releases two symmetric matrices, their upper triangles, with Gaussian noise of ``noise`` sensitivities. A record
    adds a matrix u·uᵀ with ‖u‖ ≤ _ROW_ONE to each, which has Frobenius norm ‖u‖². Proof: docs/proofs/curvature.md.
    """
    refuse_no_numbers(at)
    limit = curvature_limit(standard)
    size = len(standard.centre) + 1
    slack = _SLACK * math.ceil(math.sqrt(size * (size + 1)))
    sigma = math.ceil(noise * (contributions * _LONGEST + slack))
    unit = limit / _ROW_ONE**2
    released = mechanisms.gaussian(curvature_sums(problem, standard, at, clip, limit), sigma, source) * unit
    matrix, scores = (_symmetric(part / _triangle_weights(size), size) for part in np.split(released, 2))
    return Curvature(matrix, sigma * unit, scores / _SCORE_WEIGHT)


def _symmetric(upper: FloatArray, size: int) -> FloatArray:
    """A matrix from its upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T


def curvature_limit(standard: Standard) -> float:
    """Most that one row may add to the trace of the curvature.

    Privacy
    -------
    Post-processing.
    """
    return _LARGEST * (max(float(standard.spread.sum()), 0.1) + 1.0)


def curvature_sums(
    problem: AnyProblem, standard: Standard, at: Weights, clip: float, limit: float
) -> Sensitive[IntArray]:
    """Sum ω·π(1-π)·z·zᵀ and (ω·r)²·z·zᵀ over all rows, z standardised with a 1 for the intercept.

    ω is the row's weight in the gradient, π its probability, r its residual; rows that would add more than ``limit``
    to a trace count less. Upper triangles, in units of limit/_ROW_ONE²: entries off the diagonal times √2, those of
    the second matrix times _SCORE_WEIGHT.

    Privacy
    -------
    Sensitive. A record moves the vector by at most _LONGEST in L2, up to rounding that the noise allows for.
    """
    sums = problem.rows.total(weighted_products, standard, at, clip, limit, descent_unit(problem.n_rows))
    size = sums.shape[-1]
    upper = sums[:, *np.triu_indices(size)] * _triangle_weights(size) * [[1.0], [_SCORE_WEIGHT]]
    return Sensitive(np.rint(upper.ravel()).astype(np.int64))


def weighted_products(
    problem: Problem, standard: Standard, at: Weights, clip: float, limit: float, one: int
) -> IntArray:
    """Sum both kinds of weighted products of the rows in one place; ``one`` stands for a curvature or residual of 1.

    Privacy
    -------
    Sensitive. What a record adds depends on that record and on released values only.
    """
    squares = row_squares(problem, standard, np.ones((1, len(standard.centre)), dtype=bool))
    codes, bends = weighted_codes(problem, standard, at, squares, clip, one)
    products = []
    for each in (bends * (1.0 / one), (codes * (1.0 / one)) ** 2):
        weights = np.minimum(each, limit * (1 - _ROUNDING) / squares)[:, 0]
        weights = weights if problem.persons is None else weights / problem.persons.sizes
        factors = np.sqrt(weights) * (_ROW_ONE / math.sqrt(limit))
        products.append(problem.data.product_sums(factors, standard.centre, standard.scale))
    return np.stack(products)


def _triangle_weights(size: int) -> FloatArray:
    """1 on the diagonal and √2 beside it: the triangle's L2 norm is then the matrix's Frobenius norm."""
    rows, columns = np.triu_indices(size)
    return np.where(rows == columns, 1.0, math.sqrt(2))
