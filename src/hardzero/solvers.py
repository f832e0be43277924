"""The one Frank-Wolfe loop, private or not: the only difference is the selector that is handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .data import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray, Table
from .geometry import Ball
from .losses import Loss, residual_cap, residual_codes
from .privacy import mechanisms
from .privacy.mechanisms import Sensitive
from .privacy.randomness import Source
from .progress import counted


@dataclass(frozen=True)
class Problem:
    """What is to be learnt: rows within bounds, their targets, and the loss.

    Privacy
    -------
    Sensitive.
    """

    data: Table
    targets: Any
    loss: Loss

    def __repr__(self) -> str:
        return f"Problem({self.data!r}, {type(self.loss).__name__})"


@dataclass(frozen=True)
class Weights:
    """A linear model on scaled features: ``coef`` of shape (outputs, features), one intercept an output."""

    coef: FloatArray
    intercept: FloatArray


class Selector(Protocol):
    """Chooses one of the signed scores; ``cap`` bounds every residual code of the step."""

    def __call__(self, scores: Sensitive[IntArray], cap: int) -> tuple[int, int]:
        """Return the index and the sign of the choice."""


@dataclass(frozen=True)
class ExponentialSelector:
    """The exponential mechanism with bounded range ``eta``; its noise shrinks with the residual bound.

    Privacy
    -------
    Releases one signed index: docs/proofs/selection.md, with the sensitivity of docs/proofs/private-lasso.md.
    """

    eta: float
    contributions: int
    source: Source

    def __call__(self, scores: Sensitive[IntArray], cap: int) -> tuple[int, int]:
        """Return the index and the sign of the choice."""
        return mechanisms.select_signed(scores, self.contributions * cap * FEATURE_ONE, self.eta, self.source)


@dataclass(frozen=True)
class LaplaceSelector:
    """The published noise: the smallest score after adding Laplace noise of a fixed scale (Algorithm 1).

    Privacy
    -------
    Releases one signed index: docs/proofs/noisy-min.md.
    """

    scale: int
    source: Source

    def __call__(self, scores: Sensitive[IntArray], cap: int) -> tuple[int, int]:
        """Return the index and the sign of the choice."""
        index, sign = mechanisms.noisy_min_signed(scores, self.scale, self.source)
        return index, -sign  # scores are minus the gradient, so the smallest marks the opposite corner


@dataclass(frozen=True)
class ExactSelector:
    """The best corner, without noise.

    Privacy
    -------
    Not private.
    """

    def __call__(self, scores: Sensitive[IntArray], cap: int) -> tuple[int, int]:
        """Return the index and the sign of the choice."""
        values = mechanisms.exact(scores)
        index = int(np.argmax(np.abs(values)))
        return index, 1 if values[index] >= 0 else -1


def choose_several(scores: IntArray, count: int, sensitivity: int, eta: float, source: Source) -> NDArray[np.intp]:
    """Choose ``count`` candidates by their scores, one after the other, each taken out once chosen.

    Privacy
    -------
    Releases ``count`` selections of bounded range ``eta`` if no score moves by more than ``sensitivity``:
    docs/proofs/selection.md.
    """
    remaining = np.arange(len(scores))
    chosen = []
    for _ in counted(range(count)):
        place = mechanisms.select(Sensitive(scores), sensitivity, eta, source)
        chosen.append(remaining[place])
        scores, remaining = np.delete(scores, place), np.delete(remaining, place)
    return np.sort(np.array(chosen))


class InterceptRule(Protocol):
    """Moves the intercept, which is outside the ball, at some of the steps."""

    def due(self, t: int) -> bool:
        """Whether step ``t`` (from 1) moves the intercept."""

    def moved(self, t: int, intercept: FloatArray, codes: IntArray, cap: int, loss: Loss) -> FloatArray:
        """The next intercept."""


@dataclass(frozen=True)
class NoisyIntercept:
    """Follows mean residuals with Gaussian noise of ``noise`` sensitivities, at a few steps fixed in advance.

    Privacy
    -------
    Releases one vector for each step in ``steps``: docs/proofs/gaussian.md.
    """

    steps: frozenset[int]
    noise: float
    contributions: int
    n_rows: int
    source: Source

    def due(self, t: int) -> bool:
        """Whether ``t`` is among the steps."""
        return t in self.steps

    def moved(self, t: int, intercept: FloatArray, codes: IntArray, cap: int, loss: Loss) -> FloatArray:
        """One step along the noisy sums divided by the public number of rows."""
        sensitivity = self.contributions * residual_sum_sensitivity(loss, cap)
        sigma = int(np.ceil(self.noise * sensitivity))
        sums = mechanisms.gaussian(Sensitive(codes.sum(axis=0)), sigma, self.source)
        # A base rate closer to 0 or 1 than twice its noise would be a guess.
        margin = min(max(2 * self.noise * self.contributions, 1.0) / self.n_rows, 0.5 / (loss.outputs + 1))
        return _next_intercept(t, intercept, sums / self.n_rows, margin, loss)


@dataclass(frozen=True)
class ExactIntercept:
    """Follows mean residuals without noise, at every step.

    Privacy
    -------
    Not private.
    """

    def due(self, t: int) -> bool:
        """Every step."""
        return True

    def moved(self, t: int, intercept: FloatArray, codes: IntArray, cap: int, loss: Loss) -> FloatArray:
        """One step along the mean residuals."""
        sums = mechanisms.exact(Sensitive(codes.sum(axis=0)))
        return _next_intercept(t, intercept, sums / len(codes), 1e-6, loss)


def _next_intercept(t: int, intercept: FloatArray, mean_codes: FloatArray, margin: float, loss: Loss) -> FloatArray:
    """Return the base rate's intercept at the first step, a gradient step later."""
    mean = mean_codes * (loss.residual_unit / RESIDUAL_ONE)
    moved = loss.start_intercept(mean, margin) if t == 1 else intercept - loss.intercept_rate * mean
    return np.clip(moved, -loss.max_intercept, loss.max_intercept)


def residual_sum_sensitivity(loss: Loss, cap: int) -> int:
    """Return how far one record can move the vector of residual sums in L2, in whole residual units.

    Rounding to whole numbers can add half a unit to each output.

    Privacy
    -------
    Data-independent (``cap`` is post-processing of released weights).
    """
    outputs = loss.outputs
    norm = loss.residual_norm / loss.residual_unit * RESIDUAL_ONE + 0.5 * np.sqrt(outputs)
    return int(np.ceil(min(norm, cap * np.sqrt(outputs))))


_CANCELLED = 1e-12
"""Opposite corners that cancel leave rounding dust, which is not a weight."""


def open_loop_step(t: int) -> float:
    """μ_t = 2/(t+2), t from 1 (Algorithm 1)."""
    return 2 / (t + 2)


def frank_wolfe(
    problem: Problem, ball: Ball, n_iter: int, selector: Selector, intercept_rule: InterceptRule | None = None
) -> Weights:
    """Minimise the mean loss over a ball: at each step move towards one corner (Algorithm 1).

    Privacy
    -------
    As private as its selector and intercept rule: nothing else leaves the data, and ``n_iter`` is fixed
    beforehand. With exact ones it is the non-private LASSO. Proof: docs/proofs/private-lasso.md.
    """
    data, loss = problem.data, problem.loss
    coef = np.zeros((loss.outputs, data.n_features))
    intercept = np.zeros(loss.outputs)
    margins = np.zeros((data.n_rows, loss.outputs))  # by rows, so that a row's softmax does not depend on the others
    for t in counted(range(1, n_iter + 1)):
        cap = residual_cap(loss, np.abs(coef).sum(axis=1), intercept)
        codes = residual_codes(loss, margins + intercept, problem.targets, cap)
        chosen = [selector(scores, cap) for scores in ball.scores(data.gradient(codes))]
        if intercept_rule is not None and intercept_rule.due(t):
            intercept = intercept_rule.moved(t, intercept, codes, cap, loss)
        mu = open_loop_step(t)
        coef *= 1 - mu
        margins *= 1 - mu
        for i, (index, sign) in enumerate(chosen):
            vertex = ball.vertex(i, index, sign, data.n_features)
            coef[vertex.output, vertex.feature] += mu * vertex.value
            data.add_column(margins[:, vertex.output], vertex.feature, mu * vertex.value)
    coef[np.abs(coef) < _CANCELLED * ball.radius] = 0.0
    return Weights(coef, intercept)
