"""Objective perturbation for logistic regression: add a random linear term, minimise, release the minimiser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, Table
from ..optim.losses import Logistic
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget
from ..privacy.events import Event, GaussianRelease, PerturbedMinimum, Repeated
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .rows import ClippedRows

_GAP = 1e-6
_GAP_SHARE = 0.01
_LEAST_CONVEXITY = 1e-3
_NEWTON_STEPS = 200
_UNIT_ROUNDOFF = 2.0**-53
_WEIGHT_LIMBS, _WEIGHT_LIMB = 4, 2.0**14
"""Pieces of 14 bits: products with up to ``MAX_FEATURES`` features are summed without rounding."""
_RESIDUAL_LIMBS = 4
_LONGEST = 2.0**21
"""Weights whose absolute values sum to more have pieces whose products are rounded after all."""
_FLAT = 1e-10
"""A promised decrease below this share of the objective drowns in rounding: the full step is taken."""


@dataclass(frozen=True)
class Perturbation:
    """Noise of the linear term and of the gap, in sensitivities, and the strong convexity that they go with.

    Privacy
    -------
    Data-independent.
    """

    convexity: float
    noise: float
    gap_noise: float
    events: tuple[Event, ...]


def curvature(row_norm: float) -> float:
    """Return the largest curvature that one row no longer than ``row_norm`` adds to the logistic loss.

    Privacy
    -------
    Data-independent.
    """
    return row_norm**2 * Logistic.smoothness


def plan_perturbation(
    what: str, budget: Budget, others: Sequence[Event], row_norm: float, convexity: float, times: int = 1
) -> Perturbation:
    """Give ``times`` minimisations all that ``others`` leave of the budget.

    The caller makes sure that something is left: times·log(1 + curvature/convexity) must be clearly below ε.

    Privacy
    -------
    Data-independent.
    """
    if convexity < _LEAST_CONVEXITY:
        raise ValueError(
            f"a strong convexity of {convexity:.3g} (l2_penalty, or the number of rows times coupling) violates "
            f"convexity ≥ {_LEAST_CONVEXITY:g}: below, minimisers may be too far away to be found exactly; "
            "use a larger l2_penalty or coupling"
        )
    gap_noise = math.sqrt(times / (2 * _GAP_SHARE * accounting.rho_left(budget, others)))
    gap = Repeated(GaussianRelease("distance to the exact minimiser", gap_noise), times)

    def events(inverse_noise: float) -> tuple[Event, ...]:
        minimum = PerturbedMinimum(what, 1 / inverse_noise, curvature(row_norm) / convexity)
        return (*others, Repeated(minimum, times), gap)

    inverse = accounting.most_within(budget, events, 1.0)
    return Perturbation(convexity, 1 / inverse, gap_noise, events(inverse))


def perturbed_logistic(
    rows: ClippedRows, centre: FloatArray, plan: Perturbation, contributions: int, source: Source
) -> FloatArray:
    """Minimise Σ loss + (convexity/2)·‖w - centre‖² + b·w for a Gaussian b, and release the minimiser.

    Privacy
    -------
    Releases weights; costs a PerturbedMinimum and the noise that hides the gap.
    Proof: docs/proofs/objective-perturbation.md.
    """
    sigma = plan.noise * contributions * rows.norm
    if math.sqrt(len(centre)) * sigma * 2.0**-46 > 0.25 * _GAP * plan.convexity:
        raise ValueError(
            f"noise of {sigma:.3g} on {len(centre)} features is too coarse for a strong convexity of "
            f"{plan.convexity:.3g}; use a larger epsilon or a larger l2_penalty or coupling"
        )

    def minimise(linear: FloatArray) -> Sensitive[FloatArray]:
        return Sensitive(minimise_logistic(rows, centre, plan.convexity, linear))

    return mechanisms.perturbed_minimum(minimise, len(centre), sigma, _GAP, plan.gap_noise, source)


@np.errstate(all="ignore")  # a warning on the way would be a message from the records
def minimise_logistic(rows: ClippedRows, centre: FloatArray, convexity: float, linear: FloatArray) -> FloatArray:
    """Newton's method, its equations solved by conjugate gradients; within ¾ of ``_GAP`` of the minimiser.

    The objective is strongly convex, so the length of its gradient divided by ``convexity`` bounds the distance. That
    length is the computed one and what rounding can have hidden.

    Privacy
    -------
    Sensitive. That it fails, which is an error, depends on the records: docs/proofs/objective-perturbation.md.
    """
    X, shrink, y = rows.problem.data.columns(), rows.shrink, rows.problem.targets[:, 0]

    def value(w: FloatArray, margins: FloatArray) -> float:
        loss = np.sum(np.logaddexp(0.0, margins) - y * margins)
        return float(loss + 0.5 * convexity * np.sum((w - centre) ** 2) + linear @ w)

    w = centre.copy()
    for _ in range(_NEWTON_STEPS):
        if not np.isfinite(w @ w):  # nothing that large can be certified, or written in whole numbers
            break
        margins = shrink * _precise_margins(rows.problem.data, w)
        probability = expit(margins)
        slopes = _precise_sums(rows.problem.data, shrink * (probability - y))
        gradient = slopes + convexity * (w - centre) + linear
        length = float(np.linalg.norm(gradient))
        if length + gradient_rounding(rows, w, centre, convexity, linear) <= 0.75 * _GAP * convexity:
            return w
        weight = shrink**2 * probability * (1 - probability)
        step, _ = cg(
            _hessian(X, weight, convexity),
            -gradient,
            rtol=min(0.1, length / (1 + length)) * 0.1,
            maxiter=10 * len(w) + 100,
        )
        slope, start, size = float(gradient @ step), value(w, margins), 1.0
        if -slope > _FLAT * (1 + abs(start)):
            while value(w + size * step, shrink * (X @ (w + size * step))) > start + 1e-4 * size * slope:
                size /= 2
        w = w + size * step
    raise RuntimeError(
        "the perturbed objective could not be minimised as exactly as the guarantee needs; use a larger l2_penalty "
        "or coupling"
    )


def gradient_rounding(
    rows: ClippedRows, w: FloatArray, centre: FloatArray, convexity: float, linear: FloatArray
) -> float:
    """Bound the distance between the computed gradient and the true one, whatever the roundings were.

    Privacy
    -------
    Sensitive. Proof: docs/proofs/objective-perturbation.md.
    """
    if not np.abs(w).sum() <= _LONGEST:
        return math.inf
    n, p, longest = rows.problem.data.n_rows, len(w), rows.norm
    size, from_centre = float(np.linalg.norm(w)), float(np.linalg.norm(centre))
    of_rows = n * longest * (32 + longest * size) + n * math.sqrt(p) * (1 + longest**2) / 32
    of_others = convexity * (size + from_centre) + float(np.linalg.norm(linear))
    return _UNIT_ROUNDOFF * (of_rows + 4 * of_others)


def _precise_margins(data: Table, w: FloatArray) -> FloatArray:
    """X·w with a few roundings in all, however many features there are: weights go in pieces, summed exactly."""
    parts, rest, unit = [], w, 1.0
    for _ in range(_WEIGHT_LIMBS):
        piece = np.rint(rest * _WEIGHT_LIMB)
        parts.append(data.margins(piece[None, :] / _WEIGHT_LIMB)[:, 0] * unit)
        rest, unit = rest * _WEIGHT_LIMB - piece, unit / _WEIGHT_LIMB
    return np.asarray(sum(reversed(parts)))  # the smallest first


def _precise_sums(data: Table, values: FloatArray) -> FloatArray:
    """X'·values with a few roundings in all, however many rows there are: values go in pieces, summed exactly."""
    pieces, rest = [], values
    for _ in range(_RESIDUAL_LIMBS):
        rest = rest * RESIDUAL_ONE
        piece = np.rint(rest)
        pieces.append(piece)
        rest = rest - piece
    sums = data.gradient(np.column_stack(pieces).astype(np.int64))
    total = np.zeros(data.n_features)
    for part in reversed(sums):
        total = (total + part) / RESIDUAL_ONE
    return np.asarray(total / FEATURE_ONE)


def _hessian(X: Any, weight: FloatArray, convexity: float) -> LinearOperator:
    """X'·diag(weight)·X + convexity, without building it."""
    return LinearOperator((X.shape[1], X.shape[1]), matvec=lambda u: X.T @ (weight * (X @ u)) + convexity * u)
