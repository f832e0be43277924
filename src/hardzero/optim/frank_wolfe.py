"""The one Frank-Wolfe loop, private or not: the only difference is the selector that is handed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray
from ..privacy import mechanisms
from ..privacy.mechanisms import Candidates, Sensitive, SignedScores
from ..privacy.randomness import Source
from .balls import Ball
from .engine import Engine, engine_of
from .losses import Loss, residual_cap
from .problem import AnyProblem
from .progress import counted


class VariableEvidence(NamedTuple):
    """How sure whole variables are: false-discovery rates and standard deviations of what they add to the score.

    Beside them, for the kept weights in their order: their features' released means, and their joint covariance.
    """

    q_value: FloatArray
    importance: FloatArray
    mean: FloatArray
    covariance: FloatArray


class Evidence(NamedTuple):
    """How sure each weight is, in the shape and unit of the weights; what `hardzero.Inference` is made from.

    Standard errors of dropped weights mean nothing. ``variables`` is there where some were declared.
    """

    standard_error: FloatArray
    q_value: FloatArray
    covers: str
    variables: VariableEvidence | None = None

    def divided_by(self, scale: FloatArray) -> Evidence:
        """Return the same for weights by other units, one number for each feature; only kept weights have some."""
        error = self.standard_error / np.abs(scale)
        if self.variables is None:
            return self._replace(standard_error=error)
        own = scale[~np.isnan(self.standard_error[0])]
        told = self.variables
        told = told._replace(mean=told.mean * own, covariance=told.covariance / own[:, None] / own)
        return self._replace(standard_error=error, variables=told)


@dataclass(frozen=True)
class Weights:
    """A linear model: ``coef`` of shape (outputs, features) and one intercept per output.

    On features scaled to [-1, 1], or, within a descent, on standardised ones. ``evidence`` is there where a method
    can tell how sure its weights are.
    """

    coef: FloatArray
    intercept: FloatArray
    evidence: Evidence | None = None

    def divided_by(self, scale: FloatArray) -> Weights:
        """Return the weights by other units, one number for each feature."""
        evidence = None if self.evidence is None else self.evidence.divided_by(scale)
        # Adding zero makes 0.0 of -0.0, which would show the sign of a weight that was dropped.
        return Weights(self.coef / scale + 0.0, self.intercept + 0.0, evidence)


class Selector(Protocol):
    """Chooses the corner of steepest descent; ``cap`` bounds every residual code of the step."""

    def __call__(self, scores: SignedScores, cap: int) -> tuple[int, int]:
        """Return the public number and the sign of the corner."""

    def tolerances(self, n_rows: int, steps: FloatArray, stalest: float) -> list[int]:
        """How far a residual code may have moved at each step before it is replaced, from public numbers."""


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

    def __call__(self, scores: SignedScores, cap: int) -> tuple[int, int]:
        """Return the public number and the sign of the corner."""
        sensitivity = self.contributions * cap * FEATURE_ONE
        name, sign = mechanisms.select_signed(scores, sensitivity, self.eta, self.source)
        return name, -sign

    def tolerances(self, n_rows: int, steps: FloatArray, stalest: float) -> list[int]:
        """Small against the selection's noise or, while steps are long, against what a step changes."""
        least = min(2 * self.contributions / self.eta / math.sqrt(n_rows), stalest)
        if least * RESIDUAL_ONE < 1:
            return [0] * len(steps)
        # By doubling, because every new value costs one look at all rows.
        doublings = np.floor(np.log2(_STALE_STEPS * steps / least)).clip(0, _DOUBLINGS)
        whole: list[int] = (least * 2**doublings * RESIDUAL_ONE).astype(np.int64).tolist()
        return whole


@dataclass(frozen=True)
class LaplaceSelector:
    """The published noise: the smallest score after adding Laplace noise of a fixed scale (Algorithm 1).

    Privacy
    -------
    Releases one signed index: docs/proofs/noisy-min.md.
    """

    scale: int
    source: Source

    def __call__(self, scores: SignedScores, cap: int) -> tuple[int, int]:
        """Return the public number and the sign of the corner."""
        return mechanisms.noisy_min_signed(scores, self.scale, self.source)

    def tolerances(self, n_rows: int, steps: FloatArray, stalest: float) -> list[int]:
        """None: the published method has fresh residuals."""
        return [0] * len(steps)


@dataclass(frozen=True)
class ExactSelector:
    """The best corner, without noise.

    Privacy
    -------
    Not private.
    """

    def __call__(self, scores: SignedScores, cap: int) -> tuple[int, int]:
        """Return the public number and the sign of the corner."""
        slopes, tops = mechanisms.exact(scores.slopes), mechanisms.exact(scores.tops)
        size = len(slopes) // len(tops)
        start = int(np.argmax(tops)) * size
        place = start + int(np.argmax(np.abs(slopes[start : start + size])))
        return int(mechanisms.exact(scores.names)[place]), -1 if slopes[place] > 0 else 1

    def tolerances(self, n_rows: int, steps: FloatArray, stalest: float) -> list[int]:
        """None."""
        return [0] * len(steps)


def choose_several(
    candidates: Candidates, count: int, sensitivity: int, eta: float, source: Source
) -> NDArray[np.intp]:
    """Choose ``count`` candidates by their scores, one after the other, each taken out once chosen.

    Privacy
    -------
    Releases ``count`` selections of bounded range ``eta`` if no score moves by more than ``sensitivity``:
    docs/proofs/selection.md.
    """
    if count > len(candidates):
        raise ValueError(f"{count} candidates cannot be chosen among {len(candidates)}")
    return np.sort([candidates.choose(sensitivity, eta, source) for _ in counted(range(count))])


class InterceptRule(Protocol):
    """Moves the intercept, which is outside the ball, at some of the steps."""

    def due(self, t: int) -> bool:
        """Whether step ``t`` (from 1) moves the intercept."""

    def moved(self, t: int, intercept: FloatArray, sums: Sensitive[IntArray], cap: int, loss: Loss) -> FloatArray:
        """The next intercept, from the sums of residual codes."""


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

    def moved(self, t: int, intercept: FloatArray, sums: Sensitive[IntArray], cap: int, loss: Loss) -> FloatArray:
        """One step along the noisy sums divided by the public number of rows."""
        sensitivity = self.contributions * residual_sum_sensitivity(loss, cap)
        sigma = int(np.ceil(self.noise * sensitivity))
        released = mechanisms.gaussian(sums, sigma, self.source)
        # A base rate closer to 0 or 1 than twice its noise would be a guess.
        margin = min(max(2 * self.noise * self.contributions, 1.0) / self.n_rows, 0.5 / (loss.outputs + 1))
        return _next_intercept(t, intercept, released / self.n_rows, margin, loss)


@dataclass(frozen=True)
class ExactIntercept:
    """Follows mean residuals without noise, at every step.

    Privacy
    -------
    Not private.
    """

    n_rows: int

    def due(self, t: int) -> bool:
        """Every step."""
        return True

    def moved(self, t: int, intercept: FloatArray, sums: Sensitive[IntArray], cap: int, loss: Loss) -> FloatArray:
        """One step along the mean residuals."""
        return _next_intercept(t, intercept, mechanisms.exact(sums) / self.n_rows, 1e-6, loss)


def residual_sums(engine: Engine) -> Sensitive[IntArray]:
    """Sum the residual codes in use over all rows.

    Privacy
    -------
    Sensitive. A record adds its own codes: ``residual_sum_sensitivity``.
    """
    return Sensitive(engine.code_sums())


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


def open_loop_step(t: Any) -> Any:
    """μ_t = 2/(t+2), t from 1 (Algorithm 1)."""
    return 2 / (t + 2)


_STALE_STEPS, _DOUBLINGS = 3.0, 2


def frank_wolfe(
    problem: AnyProblem, ball: Ball, n_iter: int, selector: Selector, intercept_rule: InterceptRule | None = None
) -> Weights:
    """Minimise the mean loss over a ball: at each step move towards one corner (Algorithm 1).

    Privacy
    -------
    As private as its selector and intercept rule: nothing else leaves the data, and ``n_iter`` is fixed
    beforehand. With exact ones it is the non-private LASSO. Proof: docs/proofs/private-lasso.md.
    """
    loss, n_features = problem.loss, problem.n_features
    steps = open_loop_step(np.arange(1, n_iter + 1))
    scales = np.concatenate([[1.0], np.cumprod(1 - steps)])  # what is left of a weight of 1 after so many steps
    tolerances = selector.tolerances(problem.n_rows, steps, loss.stalest)
    engine = engine_of(problem, scales)
    selections = ball.scores(engine.gradient, engine.tops, engine.features)  # views: the engine updates them
    coef = np.zeros((loss.outputs, n_features))  # divided by the scale, as the margins are
    norms, intercept = np.zeros(loss.outputs), np.zeros(loss.outputs)
    cap, highest = 0, residual_cap(loss, ball.largest_norms(loss.outputs), intercept)
    for t in counted(range(n_iter)):
        moves_intercept = intercept_rule is not None and intercept_rule.due(t + 1)
        tolerance = 0 if t == 0 or moves_intercept else tolerances[t]
        if not tolerance or cap < highest:
            present = residual_cap(loss, norms * scales[t], intercept)
            cap = max(cap, present) if tolerance else present  # stale codes may be from any earlier step
        engine.refresh(t, intercept, cap, tolerance)
        chosen = [selector(scores, cap) for scores in selections]
        if intercept_rule is not None and moves_intercept:
            intercept = intercept_rule.moved(t + 1, intercept, residual_sums(engine), cap, loss)
            highest = residual_cap(loss, ball.largest_norms(loss.outputs), intercept)
        for i, (name, sign) in enumerate(chosen):
            vertex = ball.vertex(i, name, sign, n_features)
            weight = steps[t] * vertex.value
            before = coef[vertex.output, vertex.feature]
            after = coef[vertex.output, vertex.feature] = before + weight / scales[t + 1]
            norms[vertex.output] += abs(after) - abs(before)
            engine.add(t + 1, vertex.output, vertex.feature, weight)
    coef *= scales[-1]
    coef[np.abs(coef) < _CANCELLED * ball.radius] = 0.0
    return Weights(coef, intercept)
