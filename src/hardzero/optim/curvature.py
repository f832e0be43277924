"""The curvature of the weighted loss in all directions of the kept features, released once for intervals.

A gradient says how far the weights are from their optimum only together with the curvature, and how much noise moves
them. Two classes only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray, IntArray
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .descent import descent_unit, row_squares, weighted_codes
from .frank_wolfe import Weights
from .problem import AnyProblem, Problem
from .standardise import Standard

_LARGEST = 0.25
"""Most that a row may add, as a share of a standardised row's expected squared length: curvatures are at most ¼."""
_ROW_ONE = 2.0**15
"""The length of the longest row as whole numbers; products of so many rows as a block has stay below 2⁵³."""
_SLACK = 512
"""For every number released: rounding on either side, and the factor √2 in double precision for 2³⁰ rows."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curvature:
    """A released symmetric matrix over the weights and, last, the intercept.

    ``error`` is the standard deviation of the noise on its diagonal; beside the diagonal it is that over √2.

    Privacy
    -------
    Post-processing of one Gaussian release.
    """

    matrix: FloatArray
    error: float


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
    Releases a symmetric matrix, its upper triangle, with Gaussian noise of ``noise`` sensitivities. A record adds a
    matrix u·uᵀ with ‖u‖ ≤ _ROW_ONE, which has Frobenius norm ‖u‖². Proof: docs/proofs/curvature.md.
    """
    limit = curvature_limit(standard)
    size = len(standard.centre) + 1
    slack = _SLACK * math.ceil(math.sqrt(size * (size + 1) / 2))
    sigma = math.ceil(noise * (contributions * int(_ROW_ONE**2) + slack))
    unit = limit / _ROW_ONE**2
    released = mechanisms.gaussian(curvature_sums(problem, standard, at, clip, limit), sigma, source) * unit
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = released / _triangle_weights(size)
    return Curvature(matrix + np.triu(matrix, 1).T, sigma * unit)


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
    """Sum ω·π(1-π)·z·zᵀ over all rows, z standardised with a 1 for the intercept, entries off the diagonal times √2.

    ω is the row's weight in the gradient, lowered where the row would add more than ``limit`` to the trace; π its
    probability. Upper triangle, in units of limit/_ROW_ONE².

    Privacy
    -------
    Sensitive. A record moves the vector by at most _ROW_ONE² in L2, up to rounding that the noise allows for.
    """
    sums = problem.rows.total(weighted_products, standard, at, clip, limit, descent_unit(problem.n_rows))
    upper = sums[np.triu_indices(len(sums))]
    return Sensitive(np.rint(upper * _triangle_weights(len(sums))).astype(np.int64))


def weighted_products(
    problem: Problem, standard: Standard, at: Weights, clip: float, limit: float, one: int
) -> IntArray:
    """Sum the weighted products of the rows in one place; ``one`` stands for a curvature of 1.

    Privacy
    -------
    Sensitive. What a record adds depends on that record and on released values only.
    """
    squares = row_squares(problem, standard, np.ones((1, len(standard.centre)), dtype=bool))
    _, bends = weighted_codes(problem, standard, at, squares, clip, one)
    weights = np.minimum(bends * (1.0 / one), limit * (1 - _ROUNDING) / squares)[:, 0]
    weights = weights if problem.persons is None else weights / problem.persons.sizes
    factors = np.sqrt(weights) * (_ROW_ONE / math.sqrt(limit))
    return problem.data.product_sums(factors, standard.centre, standard.scale)


def _triangle_weights(size: int) -> FloatArray:
    """1 on the diagonal and √2 beside it: the triangle's L2 norm is then the matrix's Frobenius norm."""
    rows, columns = np.triu_indices(size)
    return np.where(rows == columns, 1.0, math.sqrt(2))
