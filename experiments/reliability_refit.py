"""Logistic regression without privacy, with standard errors: what private weights are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit
from scipy.stats import false_discovery_control, norm

RIDGE = 1e-4
"""1/C, for C = 10,000: too little to move a weight that the rows identify, enough for one solution otherwise."""
IDENTIFIED = 0.01
"""A weight is identified by the rows if the ridge is less than this share of what is known about it."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Refit:
    """Weights of maximum likelihood; the Hessian and the scores' covariance, both with the intercept last."""

    coef: FloatArray
    intercept: float
    hessian: FloatArray
    scores: FloatArray

    @cached_property
    def _inverse(self) -> FloatArray:
        ridge = np.append(np.full(len(self.coef), RIDGE), 0.0)
        return cho_solve(cho_factor(self.hessian + np.diag(ridge)), np.eye(len(ridge)))

    def _errors(self, middle: FloatArray) -> FloatArray:
        return np.sqrt(np.diag(self._inverse @ middle @ self._inverse))[:-1]

    @cached_property
    def se(self) -> FloatArray:
        """Sandwich standard errors: right whether or not the model is."""
        return self._errors(self.scores)

    @cached_property
    def identified(self) -> NDArray[np.bool_]:
        """Which weights the rows determine: not those of collinear features, nor of features with one class only."""
        return RIDGE * np.diag(self._inverse)[:-1] < IDENTIFIED

    def significant(self, level: float = 0.05) -> NDArray[np.bool_]:
        """Which weights differ from zero at a false discovery rate, by the larger of two standard errors.

        The sandwich alone would believe a category of three rows that all have the same label.
        """
        se = np.maximum(self.se, self._errors(self.hessian))
        z = np.divide(self.coef, se, out=np.zeros_like(se), where=se > 0)
        return false_discovery_control(2 * norm.sf(np.abs(z))) <= level


def refit(X: Any, y: NDArray[Any]) -> Refit:
    """Newton's method, halved where a step would not improve; ``y`` may hold probabilities."""
    A = _with_ones(X)
    ridge = np.append(np.full(X.shape[1], RIDGE), 0.0)
    w = np.zeros(A.shape[1])
    value = _objective(A, y, ridge, w)
    for _ in range(100):
        p = expit(A @ w)
        hessian = _gram(A, p * (1 - p))
        slope = A.T @ (p - y) + ridge * w
        step = cho_solve(cho_factor(hessian + np.diag(ridge)), slope)
        if slope @ step < 1e-8:
            break
        w, value = _improved(A, y, ridge, w, step, value)
    return Refit(w[:-1], float(w[-1]), hessian, _gram(A, (p - y) ** 2))


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.csr_array(sparse.hstack([X, ones])) if sparse.issparse(X) else np.hstack([X, ones])


def _objective(A: Any, y: NDArray[Any], ridge: FloatArray, w: FloatArray) -> float:
    margin = A @ w
    return float(np.sum(np.logaddexp(0, margin) - y * margin) + ridge @ w**2 / 2)


def _improved(
    A: Any, y: NDArray[Any], ridge: FloatArray, w: FloatArray, step: FloatArray, value: float
) -> tuple[FloatArray, float]:
    for halvings in range(30):
        candidate = w - step / 2**halvings
        better = _objective(A, y, ridge, candidate)
        if better <= value:
            return candidate, better
    return w, value


def _gram(A: Any, weights: FloatArray) -> FloatArray:
    if sparse.issparse(A):
        return (A.multiply(weights[:, None]).tocsr().T @ A).toarray()
    return A.T @ (A * weights[:, None])


def independent_columns(X: Any) -> NDArray[np.intp]:
    """Columns without those that depend on the others and the intercept; of indicators, a common one is left out."""
    A = _with_ones(X)
    gram = _gram(A, np.ones(A.shape[0]))
    total, square = gram[-1], np.diag(gram)
    order = np.argsort((square - total**2 / A.shape[0])[:-1], kind="stable")
    chosen, factor = [len(order)], np.sqrt(gram[-1:, -1:])
    for j in order:
        row = solve_triangular(factor, gram[chosen, j], lower=True)
        rest = gram[j, j] - row @ row
        if rest > 1e-9 * gram[j, j]:
            factor = np.block([[factor, np.zeros((len(chosen), 1))], [row, np.sqrt(rest)]])
            chosen.append(j)
    return np.sort(chosen[1:])


def slope_through_origin(measured: FloatArray, reference: FloatArray) -> float | None:
    """How many times too large the measured values are; None where there is nothing to compare."""
    square = float(reference @ reference)
    return float(measured @ reference) / square if square > 0 else None


def median_ratio(measured: FloatArray, reference: FloatArray) -> float | None:
    """The median of measured over reference, each pair counted by its reference: no single weight decides it."""
    used = reference != 0
    if not used.any():
        return None
    ratio, weight = measured[used] / reference[used], np.abs(reference[used])
    order = np.argsort(ratio)
    reached = np.cumsum(weight[order])
    return float(ratio[order][np.searchsorted(reached, reached[-1] / 2)])
