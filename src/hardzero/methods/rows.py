"""What the baselines share: rows clipped to a public length, and an intercept as the weight of a constant feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray
from ..optim.frank_wolfe import Weights
from ..optim.losses import Loss
from ..optim.problem import Problem
from ..privacy.mechanisms import Sensitive

ROW_NORMS = (1e-6, 1e6)
"""Least and largest length to which rows may be clipped; beyond it squares would leave what doubles can hold."""

_ROUNDING = 1e-9


def with_constant(problem: Problem, fit_intercept: bool) -> Problem:
    """Append a feature that is 1 in every row, whose weight will be the intercept.

    Privacy
    -------
    Sensitive. Every row's new entry is a public number.
    """
    return problem.on(problem.data.with_constant()) if fit_intercept else problem


def split_intercept(coef: FloatArray, fit_intercept: bool) -> Weights:
    """Take the constant feature's weights off again.

    Privacy
    -------
    Post-processing.
    """
    if fit_intercept:
        return Weights(coef[:, :-1], coef[:, -1])
    return Weights(coef, np.zeros(len(coef)))


@dataclass(frozen=True)
class ClippedRows:
    """Rows longer than ``norm`` are shrunk to it; the sign of a margin does not change, only its size.

    Privacy
    -------
    Sensitive.
    """

    problem: Problem
    shrink: FloatArray
    norm: float

    @classmethod
    def of(cls, problem: Problem, norm: float) -> ClippedRows:
        """Measure every row by itself."""
        p = problem.data.n_features
        lengths = np.sqrt(problem.data.row_squares(np.zeros(p), np.ones(p)))
        reach = norm * (1 - _ROUNDING)
        return cls(problem, reach / np.maximum(lengths, reach), norm)

    def gradient(self, coef: FloatArray) -> Sensitive[IntArray]:
        """Sum the rows' gradients at ``coef``, output by output, in units of 1/(RESIDUAL_ONE·FEATURE_ONE).

        Privacy
        -------
        Sensitive. A record adds a vector of length at most ``gradient_length``.
        """
        data, loss = self.problem.data, self.problem.loss
        residual = loss.residual(data.margins(coef) * self.shrink[:, None], self.problem.targets)
        residual *= self.shrink[:, None] * (RESIDUAL_ONE / loss.residual_unit)
        return Sensitive(data.gradient(np.trunc(residual, out=residual).astype(np.int64)).ravel())


def gradient_length(loss: Loss, norm: float) -> int:
    """Return the longest gradient of a row no longer than ``norm``, in the units of ``ClippedRows.gradient``.

    Privacy
    -------
    Data-independent.
    """
    return int(np.ceil(norm * loss.residual_norm / loss.residual_unit * RESIDUAL_ONE * FEATURE_ONE))


def soft_threshold(values: FloatArray, level: FloatArray | float) -> FloatArray:
    """Move every value towards zero by ``level``, and no further than zero.

    Privacy
    -------
    Post-processing.
    """
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - level, 0.0))
