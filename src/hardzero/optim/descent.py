"""Noisy full-batch gradient descent on standardised features, every row's gradient clipped.

Standardising is implicit: sums over the raw whole numbers are exact, and the linear map to standardised coordinates
is applied to sums, so sparse rows stay sparse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE, CodeArray, FloatArray, IntArray, Table
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .frank_wolfe import Problem, Weights
from .losses import Loss
from .progress import counted
from .standardise import Standard

_MOMENTUM = 0.9
_TAIL = 0.3
_CLIP = 0.5
"""The clipping length is this times the expected length of a standardised row: residuals are about ½."""
_INTERCEPT_WEIGHT = 0.5
"""Residuals enter the released vector with this weight: they are not clipped, or rare classes would be cut down."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class DescentPlan:
    """What a descent will do, from released values alone.

    Privacy
    -------
    Post-processing.
    """

    steps: int
    rate: float
    clip: float
    sigma: int
    mask: NDArray[np.bool_]

    @property
    def shock(self) -> float:
        """Standard deviation that the noise of one step adds to every weight."""
        return self.rate * self.sigma / RESIDUAL_ONE


def prepare_descent(
    loss: Loss,
    standard: Standard,
    mask: NDArray[np.bool_],
    n_rows: int,
    steps: int,
    noise: float,
    contributions: int,
) -> DescentPlan:
    """Choose the clipping length, step size and noise for the features in ``mask``.

    Privacy
    -------
    Post-processing. ``noise`` is in sensitivities of one step.
    """
    squares = np.maximum((standard.spread * mask).sum(axis=1), 0.1)  # expected squared length of a row
    clip = _CLIP * math.sqrt(float(squares.mean()))
    rate = loss.intercept_rate / (n_rows * (float(squares.max()) + 1.0))  # 1 for the intercept
    # For every coordinate: rounding to whole numbers on either side, and the linear map in double precision, whose
    # error grows with the true number of rows; that may be secret, so the largest table is allowed for.
    slack = math.ceil((2 + MAX_ROWS * 2.0**-24) * math.sqrt(int(mask.sum()) + loss.outputs))
    length = math.hypot(clip, _INTERCEPT_WEIGHT * loss.residual_norm)
    sigma = math.ceil(noise * (contributions * math.ceil(length * RESIDUAL_ONE) + slack))
    return DescentPlan(steps, rate, clip, sigma, mask)


def noisy_descent(problem: Problem, standard: Standard, start: Weights, plan: DescentPlan, source: Source) -> Weights:
    """Nesterov steps along noisy gradients; the average of the last of them is returned.

    Privacy
    -------
    Releases ``plan.steps`` vectors, each with discrete Gaussian noise of ``plan.sigma``; a record contributes at most
    ``plan.clip`` in L2 to the weights' part and its residual, halved, to the intercepts'.
    Proof: docs/proofs/select-refit.md.
    """
    squares = _row_squares(problem, standard, plan.mask)
    problem = problem.on(problem.data.packed())
    coef, intercept = start.coef * plan.mask, start.intercept
    speed = Weights(np.zeros_like(coef), np.zeros_like(intercept))
    total = Weights(np.zeros_like(coef), np.zeros_like(intercept))
    first = math.ceil(plan.steps * (1 - _TAIL))
    for t in counted(range(plan.steps)):
        ahead = Weights(coef + _MOMENTUM * speed.coef, intercept + _MOMENTUM * speed.intercept)
        slope = _noisy_gradient(clipped_sums(problem, standard, ahead, squares, plan), plan, source)
        moved = Weights(ahead.coef - plan.rate * slope.coef, ahead.intercept - plan.rate * slope.intercept)
        speed = Weights(moved.coef - coef, moved.intercept - intercept)
        coef, intercept = moved.coef, moved.intercept
        if t >= first:
            total = Weights(total.coef + coef, total.intercept + intercept)
    share = 1 / (plan.steps - first)
    return Weights(total.coef * share, total.intercept * share)


def _row_squares(problem: Problem, standard: Standard, mask: NDArray[np.bool_]) -> FloatArray:
    """Squared length of each output's part of a row's gradient per unit residual, (rows, outputs or 1)."""
    if mask.all():
        return problem.data.row_squares(standard.centre, standard.scale)[:, None]
    parts = []
    for row in mask:
        features = np.flatnonzero(row)
        part = standard.subset(features)
        parts.append(problem.data.subset(features).row_squares(part.centre, part.scale))
    return np.column_stack(parts)


def _clipped_codes(
    problem: Problem, standard: Standard, at: Weights, squares: FloatArray, clip: float
) -> tuple[CodeArray, CodeArray]:
    """Residuals as whole numbers, rounded towards zero: for the weights and for the intercepts.

    The first are shrunk so that no row's gradient by the weights is longer than ``clip``; the second are only halved.
    """
    coef = at.coef / standard.scale
    margins, offset = problem.data.margins(coef), at.intercept - coef @ standard.centre
    limit, plain_one = clip * (1 - _ROUNDING), _INTERCEPT_WEIGHT * RESIDUAL_ONE
    return kernels.clipped_codes(margins, offset, problem.targets, squares, limit, RESIDUAL_ONE, plain_one)


def clipped_sums(
    problem: Problem, standard: Standard, at: Weights, squares: FloatArray, plan: DescentPlan
) -> Sensitive[IntArray]:
    """Sum the rows' clipped gradients in standardised coordinates, those in the mask, and their halved residuals.

    Privacy
    -------
    Sensitive. A record moves the vector by at most ``plan.clip`` in the weights' part, and by half its residual in
    the intercepts', in units of 1/RESIDUAL_ONE. Proof: docs/proofs/select-refit.md.
    """
    codes = _clipped_codes(problem, standard, at, squares, plan.clip)
    return Sensitive(_standardised_sums(problem.data, standard, codes, plan.mask))


def _standardised_sums(
    data: Table, standard: Standard, codes: tuple[CodeArray, CodeArray], mask: NDArray[np.bool_]
) -> IntArray:
    """Sums of codes times standardised features, from exact sums over the features as they are; and of codes."""
    clipped, plain = codes
    weighted = data.gradient(clipped) * (1.0 / FEATURE_ONE)
    slopes = (weighted - kernels.code_totals(clipped)[:, None] * standard.centre) / standard.scale
    sums: IntArray = np.rint(np.concatenate([slopes[mask], kernels.code_totals(plain)])).astype(np.int64)
    return sums


def _noisy_gradient(sums: Sensitive[IntArray], plan: DescentPlan, source: Source) -> Weights:
    """Release the sums, and put them back into the places of weights and intercepts."""
    released = mechanisms.gaussian(sums, plan.sigma, source) / RESIDUAL_ONE
    inside = int(plan.mask.sum())
    coef = np.zeros(plan.mask.shape)
    coef[plan.mask] = released[:inside]
    return Weights(coef, released[inside:] / _INTERCEPT_WEIGHT)


def iterate_error(plan: DescentPlan, curvature: float, n_rows: int) -> float:
    """Standard deviation of the averaged iterate around the optimum of a quadratic of this mean curvature.

    The sum of squares of its responses to a unit shock at each step.

    Privacy
    -------
    Post-processing.
    """
    pull = min(plan.rate * n_rows * curvature, 1.0)
    response = np.zeros(plan.steps)
    place = speed = response[0] = 1.0
    for t in range(1, plan.steps):
        ahead = place + _MOMENTUM * speed
        moved = (1 - pull) * ahead
        place, speed = moved, moved - place
        response[t] = place
    first = math.ceil(plan.steps * (1 - _TAIL))
    so_far = np.concatenate([[0.0], np.cumsum(response)])
    shocks = np.arange(plan.steps)
    averaged = (so_far[plan.steps - shocks] - so_far[np.maximum(first - shocks, 0)]) / (plan.steps - first)
    return plan.shock * float(np.sqrt(np.sum(averaged**2)))
