"""What the released values say about each weight: how large is it, how sure is that, and can it be called real?

Everything here is post-processing of what a fit has released anyway (docs/proofs/inference.md has the derivations and
what they assume); methods/evidence.py weighs noise against real weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, erfc

from ..data.bounded import FloatArray
from ..data.variables import Variables
from ..optim.curvature import Curvature
from ..optim.descent import Path
from ..optim.standardise import Standard
from ..optim.walks import Guide
from .evidence import possible_spreads

_PRIOR, _LEAST_PRIOR = 2.0, 0.01
"""Variance around the landing in directions that nothing is known of, by the landing's mean square; and its least."""
_GUIDING_PRIOR = 0.5
"""The same while a curvature guides steps: they are not to follow noise far."""
_STILL_AWAY = 0.5
"""Share of the estimate's own variance that counts as a way still to go, which noise of the curvature multiplies."""
_UNKNOWN_CORRELATION = 0.2
"""Standard deviation of correlations between features where none were released."""
_TELLING, _CLEAR = 1 / 3, 0.05
"""Standard errors below the first times a typical weight, less likely to be noise than the second, are telling."""
_WARY = 0.5
"""Standard errors of noise added to what sampling seems to do: too long an interval is better than too short."""
_LEAST_SIGNAL = 1e-4
_FLATTEST = 1e-6


@dataclass(frozen=True)
class Estimate:
    """A normal law of weights in standardised units and, last, their intercept.

    Privacy
    -------
    Post-processing.
    """

    mean: FloatArray
    covariance: FloatArray

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the weights."""
        return np.sqrt(np.diag(self.covariance))[:-1]

    def widened(self, variables: int) -> Estimate:
        """Return the law with the doubt about correlations between so many variables, of which none was released.

        Were they drawn with their standard deviation, the others would explain this share of a variable on average.
        """
        share = _UNKNOWN_CORRELATION**2 * (variables - 1)
        return replace(self, covariance=self.covariance * (1 + share))

    def stretched(self, factors: FloatArray) -> Estimate:
        """Return the law with standard errors that many times as large, the intercept's among them."""
        return replace(self, covariance=self.covariance * np.outer(factors, factors))

    def keeping(self, kept: NDArray[np.bool_]) -> Estimate:
        """Return the law of the weights in ``kept``, and the intercept, given that all others are zero."""
        inside, outside = np.append(kept, True), np.append(~kept, False)
        if not outside.any():
            return self
        across = self.covariance[np.ix_(inside, outside)]
        gain = np.linalg.solve(self.covariance[np.ix_(outside, outside)], across.T).T
        covariance = self.covariance[np.ix_(inside, inside)] - gain @ across.T
        return Estimate(self.mean[inside] - gain @ self.mean[outside], (covariance + covariance.T) / 2)


def estimate_weights(
    path: Path, curvature: Curvature | None, standard: Standard, variables: Variables | None = None
) -> Estimate:
    """One Newton step from where a descent of two classes came to rest, as far as the noise allows.

    The mean gradient of the last steps is H·(w - w*) plus noise, at a place w near the optimum w*. Directions in
    which that says little stay where the descent came to rest, with the width of the prior around it.

    Privacy
    -------
    Post-processing.
    """
    rest = _at_rest(path, curvature, standard, variables)
    estimate = _estimated(rest, curvature)
    return estimate if curvature is not None else estimate.stretched(_by_possible_spreads(rest, path, standard))


def guide(path: Path, curvature: Curvature, standard: Standard, variables: Variables | None, steps: int) -> Guide:
    """Say how ``steps`` more gradients are to be followed, now that the curvature has been released.

    They begin at the estimate. Each moves by what a mean over all of them would be worth, in directions that noise
    hides by next to nothing, and is drawn back to where the descent has landed as far as nothing is known.

    Privacy
    -------
    Post-processing.
    """
    rest = _at_rest(path, curvature, standard, variables)
    start = _estimated(rest, curvature).mean
    prior = _prior(rest.at, _GUIDING_PRIOR)
    gain = rest.matrix / (path.noise**2 / steps + rest.doubt @ (start - rest.at) ** 2)
    covariance = _inverse(gain @ rest.matrix, np.diag(prior))
    return Guide(start, rest.at, covariance @ gain, covariance * prior)


class _AtRest(NamedTuple):
    """Where a descent of two classes came to rest, in vectors of the weights and, last, their intercept.

    ``slope`` is the mean gradient there and ``noise`` its variance; ``matrix`` is the curvature as far as it is
    believed and ``doubt`` the variance left in its entries.
    """

    at: FloatArray
    slope: FloatArray
    noise: float
    matrix: FloatArray
    doubt: FloatArray


def _at_rest(path: Path, curvature: Curvature | None, standard: Standard, variables: Variables | None) -> _AtRest:
    landing = path.landing
    at, slope = (np.append(part.coef[0], part.intercept) for part in (landing.at, landing.slope))
    known = np.eye(len(at))
    if variables is not None:
        known[:-1, :-1] = variables.correlations(standard.centre)
    matrix, doubt = _believed_curvature(path, curvature, standard, known)
    return _AtRest(at, slope, path.noise**2 / landing.steps, matrix, doubt)


def _estimated(rest: _AtRest, curvature: Curvature | None) -> Estimate:
    sampling = rest.matrix if curvature is None else _believed_scores(curvature, rest.matrix)
    prior = np.diag(_prior(rest.at, _PRIOR))
    unsure = 0.0 if curvature is None else _STILL_AWAY
    away = np.zeros(len(rest.at))
    for _ in range(3):  # noise of the curvature counts as often as it is multiplied with: the way to the optimum
        spread = np.diag(rest.noise + rest.doubt @ away) + sampling
        gain = np.linalg.solve(spread, rest.matrix).T
        covariance = _inverse(gain @ rest.matrix, prior)
        step = -covariance @ (gain @ rest.slope)
        away = step**2 + unsure * np.diag(covariance)
    return Estimate(rest.at + step, (covariance + covariance.T) / 2)


def _by_possible_spreads(rest: _AtRest, path: Path, standard: Standard) -> FloatArray:
    """How much less sure a weight is than the mean of the spreads that its feature may have makes it seem.

    Of a feature that is the same in nearly all rows the released spread is mostly noise. Were there less of it, the
    same slope would say next to nothing, however small it is.
    """
    heights = path.bend[0] * possible_spreads(standard)
    prior = _prior(rest.at, _PRIOR)[:-1]

    def variance(height: FloatArray) -> FloatArray:
        return np.asarray(1 / (height**2 / (rest.noise + height) + prior))

    wider = variance(heights).mean(axis=0) / variance(heights.mean(axis=0))
    return np.append(np.sqrt(np.maximum(wider, 1.0)), 1.0)


def _prior(at: FloatArray, width: float) -> FloatArray:
    """One over the variance that is supposed around a landing, ``width`` times its mean square."""
    typical = float(np.mean(at[:-1] ** 2)) if len(at) > 1 else 0.0  # no weight may be left, but the intercept
    prior = np.full(len(at), 1 / max(width * typical, _LEAST_PRIOR))
    prior[-1] = 0.0  # nothing is known about the intercept beforehand
    return prior


def _inverse(information: FloatArray, prior: FloatArray) -> FloatArray:
    """Covariance of a normal law, from what gradients and a prior tell."""
    return np.asarray(np.linalg.inv((information + information.T) / 2 + prior))


def _believed_curvature(
    path: Path, curvature: Curvature | None, standard: Standard, known: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the curvature without what noise put into it, positive definite, and the variance left in entries.

    ``known`` are the correlations within variables, which means imply, and zeros for all others.
    """
    if curvature is None:  # features of different variables are taken for uncorrelated
        diagonal = path.bend[0] * np.append(possible_spreads(standard).mean(axis=0), 1.0)
        size = np.sqrt(np.outer(diagonal, diagonal))
        unknown = 1 - known**2 + np.eye(len(known))
        return _positive(known * size), _UNKNOWN_CORRELATION**2 * unknown * size**2
    diagonal = np.maximum(np.diag(curvature.matrix), curvature.error)
    matrix, doubt = _without_noise(curvature.matrix, curvature.error, diagonal, known)
    return matrix, doubt + np.diag(np.full(len(known), curvature.error**2))


def _believed_scores(curvature: Curvature, matrix: FloatArray) -> FloatArray:
    """Return the covariance that sampling gives the sum of all gradients, rather too large than too small.

    Were all rows weighted alike its correlations would be those of the curvature, ``matrix``. As no weight exceeds 1
    it is at most the curvature where the model holds, so noise may not add more than that.
    """
    bound, seen = np.diag(matrix), np.maximum(np.diag(curvature.scores), 0.0)
    diagonal = np.minimum(seen + _WARY * curvature.scores_error, np.maximum(seen, bound))
    known = matrix / np.sqrt(np.outer(bound, bound))
    return _without_noise(curvature.scores, curvature.scores_error, diagonal, known)[0]


def _without_noise(
    released: FloatArray, error: float, diagonal: FloatArray, known: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a released matrix with this diagonal and correlations between what was seen and what is ``known``.

    The more noise an entry has, the less it counts; how far correlations lie from the known ones follows from all of
    them. Beside the matrix the variance left in its entries, none on the diagonal.
    """
    size = np.sqrt(np.outer(diagonal, diagonal))
    beyond, noise = released / size - known, error**2 / 2 / size**2
    beside = ~np.eye(len(diagonal), dtype=bool)
    seen = float(np.mean(beyond[beside] ** 2 - noise[beside])) if beside.any() else 0.0
    signal = max(seen, _LEAST_SIGNAL)
    share = signal / (signal + noise)
    matrix = np.where(beside, known + share * beyond, 1.0) * size
    return _positive(matrix), np.where(beside, share * noise * size**2, 0.0)


def _positive(matrix: FloatArray) -> FloatArray:
    """Lift the lowest heights of a symmetric matrix above zero."""
    heights, directions = np.linalg.eigh(matrix)
    heights = np.maximum(heights, _FLATTEST * heights.max())
    return np.asarray((directions * heights) @ directions.T)


def q_values(
    estimate: Estimate, careful: FloatArray, candidates: int, must_tell: NDArray[np.bool_] | bool = False
) -> FloatArray:
    """Return for each kept weight the false-discovery rate of calling it and all more convincing ones real.

    Two views, of which the worse counts: its chance of being noise by the whole path, and the rate of Benjamini and
    Hochberg by the estimate itself, which knows what correlated features share. All candidates that were dropped
    count there as if they had the least convincing estimates: selection may have favoured those that are left. An
    estimate that could not tell a typical weight from zero leaves it to the path, unless it ``must_tell``.

    Privacy
    -------
    Post-processing.
    """
    coef, errors = estimate.mean[:-1], estimate.errors
    by_estimate = _benjamini_hochberg(erfc(np.abs(coef) / errors / math.sqrt(2)), candidates)
    clear = np.abs(coef)[careful <= _CLEAR]
    could_tell = errors <= _TELLING * (np.median(clear) if len(clear) else np.inf)
    return np.minimum(np.where(could_tell | must_tell, np.maximum(careful, by_estimate), careful), 1.0)


def variable_q_values(
    estimate: Estimate, careful: FloatArray, variables: Variables, candidates: NDArray[np.intp]
) -> FloatArray:
    """Return for each variable the false-discovery rate of calling it and all more convincing ones real.

    By Wald's test of all its kept weights together and the rate of Benjamini and Hochberg over all variables; 1 for
    variables of which no weight is left. Selection may have favoured the weights that are left, so the test counts
    all ``candidates`` of each variable, as if the dropped ones had added nothing. A variable of one feature is as
    sure as that: its chance of being noise by the path counts as well.

    Privacy
    -------
    Post-processing.
    """
    chances, tails = np.zeros(len(candidates)), np.ones(len(candidates))
    for variable, places in enumerate(variables.places):
        if len(places):
            coef = estimate.mean[:-1][places]
            distance = float(coef @ np.linalg.solve(estimate.covariance[np.ix_(places, places)], coef))
            tails[variable] = chdtrc(candidates[variable], max(distance, 0.0))
            chances[variable] = careful[places[0]] if candidates[variable] == 1 else 0.0
    return np.minimum(np.maximum(chances, _benjamini_hochberg(tails, len(tails))), 1.0)


def _benjamini_hochberg(tails: FloatArray, candidates: int) -> FloatArray:
    """False-discovery rates of calling real all with such a tail probability or a smaller one."""
    order = np.argsort(tails, kind="stable")
    rates = tails[order] * candidates / np.arange(1, len(tails) + 1)
    result = np.empty(len(tails))
    result[order] = np.minimum.accumulate(rates[::-1])[::-1]
    return result
