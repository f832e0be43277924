"""Losses on margins, with the constants that privacy and convergence rest on (docs/proofs/losses.md).

A margin is w·x + b, one for each output; ``residual`` is the derivative of a row's loss by its margins, so the
gradient of the mean loss is the mean of residual times feature. Features lie in [-1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_softmax

from .. import kernels
from ..data.bounded import RESIDUAL_ONE, FloatArray, IntArray


class Loss(Protocol):
    """What solvers ask of a loss."""

    @property
    def outputs(self) -> int:
        """Margins a row."""

    @property
    def residual_unit(self) -> float:
        """Largest absolute residual anywhere in the feasible set."""

    @property
    def smoothness(self) -> float:
        """Largest entry of a row's Hessian by the weights: β of Corollary 2."""

    @property
    def residual_norm(self) -> float:
        """Largest L2 norm of one row's residuals."""

    @property
    def bend_norm(self) -> float:
        """Largest L2 norm of one row's second derivatives by its margins."""

    @property
    def intercept_rate(self) -> float:
        """One over the largest second derivative by the intercepts."""

    @property
    def max_intercept(self) -> float:
        """Intercepts stay within ± this."""

    @property
    def stalest(self) -> float:
        """How far a residual may be from its present value at most, as a share of the unit, while noise hides it."""

    @property
    def has_refit(self) -> bool:
        """Whether select-then-refit knows the loss: its descent works on residuals of cross-entropy."""

    def value(self, margins: FloatArray, targets: Any) -> float:
        """Mean loss."""

    def residual(self, margins: FloatArray, targets: Any) -> FloatArray:
        """Derivative of each row's loss by its margins, shape (rows, outputs)."""

    def residual_bound(self, row_norms: FloatArray, intercept: FloatArray) -> float:
        """Largest absolute residual at weights with these L1 norms, for any record within bounds."""

    def start_intercept(self, mean_residual: FloatArray, margin: float) -> FloatArray:
        """Best intercept for zero weights, from the mean residual at zero, kept ``margin`` away from certainty."""


@dataclass(frozen=True)
class Logistic:
    """Binary cross-entropy; targets 0 or 1.

    Privacy
    -------
    Data-independent constants. |σ(v) - y| ≤ 1 (Corollary 1), and ≤ σ(‖w‖₁ + |b|) at released w and b, because
    |v| ≤ ‖w‖₁ + |b| whatever the record: the free tightening.
    """

    outputs: int = 1
    residual_unit: float = 1.0
    residual_norm: float = 1.0
    bend_norm: float = 0.25
    smoothness: float = 0.25
    intercept_rate: float = 4.0
    max_intercept: float = 10.0
    stalest: float = 0.05
    has_refit: bool = True

    def value(self, margins: FloatArray, targets: FloatArray) -> float:
        """Mean of log(1 + e^v) - y·v."""
        return float(np.mean(np.logaddexp(0.0, margins) - targets * margins))

    def residual(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """σ(v) - y."""
        result: FloatArray = kernels.sigmoids(margins)
        result -= targets
        return result

    def residual_bound(self, row_norms: FloatArray, intercept: FloatArray) -> float:
        """σ(‖w‖₁ + |b|)."""
        return float(expit(row_norms[0] + abs(intercept[0])))

    def start_intercept(self, mean_residual: FloatArray, margin: float) -> FloatArray:
        """Log odds of the base rate: at zero the mean residual is ½ minus the base rate."""
        rate = np.clip(0.5 - mean_residual, margin, 1 - margin)
        return np.asarray(np.log(rate / (1 - rate)))


@dataclass(frozen=True)
class Softmax:
    """Multinomial cross-entropy; targets are class numbers 0 … outputs - 1.

    Privacy
    -------
    Data-independent constants. Every entry of a row's gradient is x·(ŷ_k - y_k), at most 1 in absolute value: no
    factor K. With s the largest possible gap between two margins, it is at most σ(s + log(K - 1)).
    """

    outputs: int
    residual_unit: float = 1.0
    residual_norm: float = math.sqrt(2)
    bend_norm: float = 0.5
    smoothness: float = 0.25
    intercept_rate: float = 2.0
    max_intercept: float = 10.0
    stalest: float = 0.05
    has_refit: bool = True

    def value(self, margins: FloatArray, targets: IntArray) -> float:
        """Mean of -log ŷ of the true class."""
        return -float(np.mean(log_softmax(margins, axis=1)[np.arange(len(targets)), targets]))

    def residual(self, margins: FloatArray, targets: IntArray) -> FloatArray:
        """ŷ minus the one-hot truth."""
        result: FloatArray = kernels.softmaxes(margins)
        result[np.arange(len(targets)), targets] -= 1.0
        return result

    def residual_bound(self, row_norms: FloatArray, intercept: FloatArray) -> float:
        """σ(s + log(K-1)), s = the two largest row norms together plus the spread of the intercepts."""
        gap = float(np.sort(row_norms)[-2:].sum() + np.ptp(intercept))
        return float(expit(gap + math.log(self.outputs - 1)))

    def start_intercept(self, mean_residual: FloatArray, margin: float) -> FloatArray:
        """Log of the base rates: at zero the mean residual is 1/K minus the base rate."""
        rates = np.clip(1 / self.outputs - mean_residual, margin, None)
        return np.asarray(np.log(rates) - np.mean(np.log(rates)))


@dataclass(frozen=True)
class Squared:
    """Half the squared error; targets in [-1, 1]. Talwar et al.'s original setting.

    Privacy
    -------
    Data-independent constants. |v - y| ≤ ‖w‖₁ + |b| + 1; the weights stay within ``radius`` and the intercept within
    ``max_intercept``, so that is bounded, and tighter at the released w and b.
    """

    radius: float
    outputs: int = 1
    bend_norm: float = 1.0
    smoothness: float = 1.0
    intercept_rate: float = 1.0
    max_intercept: float = 2.0
    stalest: float = 0.0  # residuals may be far smaller than their bound, which is the unit
    has_refit: bool = False

    @property
    def residual_unit(self) -> float:
        """The largest residual inside the ball."""
        return self.radius + self.max_intercept + 1.0

    @property
    def residual_norm(self) -> float:
        """One output, so the same."""
        return self.residual_unit

    def value(self, margins: FloatArray, targets: FloatArray) -> float:
        """Mean of (v - y)²/2."""
        return float(np.mean((margins - targets) ** 2) / 2)

    def residual(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """v - y."""
        return margins - targets

    def residual_bound(self, row_norms: FloatArray, intercept: FloatArray) -> float:
        """‖w‖₁ + |b| + 1."""
        return float(row_norms[0] + abs(intercept[0]) + 1.0)

    def start_intercept(self, mean_residual: FloatArray, margin: float) -> FloatArray:
        """The mean target: at zero the mean residual is minus that."""
        return np.clip(-mean_residual, -1.0, 1.0)


def residual_cap(loss: Loss, row_norms: FloatArray, intercept: FloatArray) -> int:
    """Return the residual bound as a whole number of ``RESIDUAL_ONE`` units, rounded up.

    Privacy
    -------
    Post-processing of released weights.
    """
    share = loss.residual_bound(row_norms, intercept) / loss.residual_unit
    return min(math.ceil(share * RESIDUAL_ONE) + 1, RESIDUAL_ONE)


def residual_codes(loss: Loss, margins: FloatArray, targets: Any, cap: int) -> IntArray:
    """Return residuals as whole numbers, clipped to ± ``cap``, so that the bound holds to the last bit.

    Privacy
    -------
    Sensitive. Each row's codes depend on that row and on released weights only.
    """
    scaled = loss.residual(margins, targets)
    scaled *= RESIDUAL_ONE / loss.residual_unit
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -cap, cap, out=scaled).astype(np.int64)


def class_counts(loss: Loss, targets: Any) -> IntArray:
    """Count rows with target 1, or rows of each class for several outputs.

    Privacy
    -------
    Sensitive. One record counts in one place, or in none.
    """
    if loss.outputs == 1:
        return np.array([np.count_nonzero(targets)], dtype=np.int64)
    return np.bincount(targets, minlength=loss.outputs).astype(np.int64)
