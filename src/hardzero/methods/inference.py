"""What the released values say about each weight: is it real, how large is it, and how sure is that?

Everything here is post-processing of what a fit has released anyway (docs/proofs/inference.md has the derivations and
what they assume).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, erfc, log_ndtr, ndtr, ndtri

from ..data.bounded import FloatArray
from ..data.variables import Variables
from ..optim.curvature import Curvature
from ..optim.descent import Path
from ..optim.standardise import Standard

_SPREADS = 15
"""Points that stand for what a feature's spread may be, given the noise of what was released of it."""
_FLATTER = np.array([1.0, 0.4, 0.15])
"""Shares of the curvature that a feature's spread suggests: rows far out, where a large weight is sure, have less."""
_SIZES = np.concatenate([[0.0], 0.02 * 2.0 ** np.arange(9)])
"""Standard deviations of weights in standardised units: 0 for noise, the others for real ones of all sizes."""
_ROUNDS = 200
_AT_ONCE = 20_000
"""Weights that are judged at a time: each takes a few kilobytes while it is."""
_FURTHEST = 6.0
"""Released variances below so many standard errors under zero count as if they were there."""
_LEAST_LEANING = 0.5
"""So many features more count as noise anyway: without any, the share of noise may be found to be none at all."""
_CLEARLY_SOME = 4.0
"""Features whose released variance is above so many standard errors are not empty."""
_LUCK = 10.0
"""So much log likelihood lines through slopes of noise may gain; in three descents, more happens 3 times in 1,000."""
_PRIOR, _LEAST_PRIOR = 2.0, 0.01
"""Variance around the landing in directions that nothing is known of, by the landing's mean square; and its least."""
_UNKNOWN_CORRELATION = 0.2
"""Standard deviation of correlations between features where none were released."""
_TELLING, _CLEAR = 1 / 3, 0.05
"""Standard errors below the first times a typical weight, less likely to be noise than the second, are telling."""
_WARY = 0.5
"""Standard errors of noise added to what sampling seems to do: too long an interval is better than too short."""
_LEAST_SIGNAL = 1e-4
_FLATTEST = 1e-6


@dataclass(frozen=True)
class Trace:
    """What one descent released about the features that took part in it, by their places among all."""

    path: Path
    mask: NDArray[np.bool_]
    features: NDArray[np.intp]


@dataclass(frozen=True)
class NullChances:
    """The chance of each weight to be noise: as it seems likeliest, and leaning to noise.

    ``gain`` is how much better its slopes are explained by any line than by noise around zero, as a log likelihood.

    Privacy
    -------
    Post-processing.
    """

    likely: FloatArray
    careful: FloatArray
    gain: FloatArray

    def at(self, features: NDArray[np.intp]) -> NullChances:
        """Return the same for some of the features."""
        return NullChances(self.likely[:, features], self.careful[:, features], self.gain[:, features])


def likely_chances(traces: Sequence[Trace], standard: Standard) -> FloatArray:
    """Weigh noise against real weights of all sizes, by all gradients that were released.

    A feature of standardised variance s has gradients κ·s·(w - w*) + noise at places w, κ the curvature: a normal
    likelihood of w*, whose prior is sampling error alone, 1/(κ·s), for noise and that plus τ² for a real weight. It
    is averaged over the s that the released moments allow, none at all among them: a feature that is the same in all
    rows has gradients of noise wherever its weight drifts. How often each τ occurs follows from all features.

    Privacy
    -------
    Post-processing.
    """
    return _chances_of_noise(_all_log_likelihoods(traces, standard, wary=False), _LEAST_LEANING)


def null_chances(traces: Sequence[Trace], standard: Standard, leaning: float, likely: FloatArray) -> NullChances:
    """Add to the ``likely`` chances of weights to be noise the careful view of the same gradients.

    It takes ``leaning`` features more for noise. It also counts that a feature whose released mean is off, as noise
    makes it, takes part of the intercept's gradient for its own.

    Privacy
    -------
    Post-processing.
    """
    careful = _chances_of_noise(_all_log_likelihoods(traces, standard, wary=True), leaning)
    return NullChances(likely, careful, _all_gains(traces, len(standard.centre)))


def possible_spreads(standard: Standard) -> FloatArray:
    """Return equally likely variances of each standardised feature, given the released one and its noise.

    Privacy
    -------
    Post-processing.
    """
    places = (np.arange(_SPREADS) + 0.5)[:, None] / _SPREADS
    error = standard.variance_error
    seen = np.maximum(standard.variance / error, -_FURTHEST)
    # Quantiles of a normal law cut off below zero: a variance is not negative.
    variance = (seen - ndtri(ndtr(seen) * (1 - places))) * error
    return np.asarray(np.maximum(variance, 1e-9) / standard.scale**2)


def _log_odds_of_emptiness(standard: Standard) -> FloatArray:
    """Log odds that a feature is the same in all rows, which counts beforehand as one standard error of variances.

    Beyond a few standard errors it is out of the question: no gradient that the model does not fit may suggest it.
    """
    seen = np.maximum(standard.variance / standard.variance_error, -_FURTHEST)
    odds = -(seen**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(seen)
    return np.where(seen < _CLEARLY_SOME, odds, -np.inf)


def _gain_of_lines(path: Path) -> FloatArray:
    """How much better the best line through a weight's slopes fits than noise around zero, as a log likelihood."""
    steps, places, squares = path.steps, path.places, path.squares
    spread = np.maximum(squares - places**2 / steps, _FLATTEST * squares + 1e-300)
    rise = path.products - places * path.slopes / steps
    gain = (path.slopes**2 / steps + rise**2 / spread) / (2 * path.noise**2)
    return np.asarray(gain)


def _all_gains(traces: Sequence[Trace], n_features: int) -> FloatArray:
    """Gains of lines over all descents."""
    gain = np.zeros((len(traces[0].mask), n_features))
    for trace in traces:
        gain[:, trace.features] += _gain_of_lines(trace.path)
    return gain


def _all_log_likelihoods(traces: Sequence[Trace], standard: Standard, *, wary: bool) -> FloatArray:
    """Log likelihoods of all features, some of them at a time, so that wide tables do not fill the memory."""
    count, at_once = len(standard.centre), max(_AT_ONCE // len(traces[0].mask), 1)
    parts = [np.arange(first, min(first + at_once, count)) for first in range(0, count, at_once)]
    likelihoods = [
        _log_likelihoods([_among(trace, part) for trace in traces], standard.subset(part), wary=wary)
        for part in parts
    ]
    return np.concatenate(likelihoods, axis=-1)


def _among(trace: Trace, features: NDArray[np.intp]) -> Trace:
    """What a descent released about the features of one stretch, named by their places in it."""
    inside = slice(*np.searchsorted(trace.features, [features[0], features[-1] + 1]))
    sums = ("places", "slopes", "squares", "products")
    path = replace(trace.path, **{name: getattr(trace.path, name)[:, inside] for name in sums})
    return Trace(path, trace.mask[:, inside], trace.features[inside] - features[0])


def _log_likelihoods(traces: Sequence[Trace], standard: Standard, *, wary: bool) -> FloatArray:
    """Log likelihood of every size, (sizes, outputs, features), by that of gradients which are nothing but noise."""
    spreads = (_FLATTER[:, None, None] * possible_spreads(standard)).reshape(-1, 1, len(standard.centre))
    shape = (len(spreads), len(traces[0].mask), spreads.shape[-1])
    precision, pull, rest = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    gain = _all_gains(traces, shape[-1])
    for trace in traces:
        path, places = trace.path, (slice(None), slice(None), trace.features)
        rise = path.bend[:, None] * spreads[places] * trace.mask
        precision[places] += path.steps * rise**2 / path.noise**2
        pull[places] += (rise**2 * path.places - rise * path.slopes) / path.noise**2
        rest[places] += (rise * path.products - rise**2 * path.squares / 2) / path.noise**2
    sampling = 1 / (traces[-1].path.bend[:, None] * spreads)
    if wary:
        away = np.max([np.abs(trace.path.landing.slope.intercept) / trace.path.bend for trace in traces], axis=0)
        sampling = sampling + (away[:, None] * standard.error / standard.scale / spreads) ** 2
    # Slopes that are clearly no noise are not those of an empty feature, whether or not one optimum explains all of
    # them: correlated features that go change it.
    odds = _log_odds_of_emptiness(standard) - np.maximum(gain - _LUCK, 0.0)
    result = []
    for size in _SIZES:
        prior = sampling + size**2
        wide = 1 + prior * precision
        somewhere = _log_mean_exp(rest + (prior * pull**2 / wide - np.log(wide)) / 2)
        result.append(np.logaddexp(somewhere, odds) - np.logaddexp(0.0, odds))
    return np.array(result)


def _log_mean_exp(logs: FloatArray) -> FloatArray:
    """Logarithm of the mean of exponentials over the first axis."""
    highest = logs.max(axis=0)
    return np.asarray(highest + np.log(np.exp(logs - highest).mean(axis=0)))


def _chances_of_noise(likelihoods: FloatArray, leaning: float) -> FloatArray:
    """Fit how often each size occurs, with ``leaning`` more of noise, and return the chance of size 0 for each."""
    relative = np.exp(likelihoods - likelihoods.max(axis=0)).reshape(len(_SIZES), -1)
    shares = np.full(len(_SIZES), 0.5 / (len(_SIZES) - 1))
    shares[0] = 0.5
    for _ in range(_ROUNDS):
        shares = shares * (relative @ (1 / (shares @ relative)))
        shares[0] += leaning
        shares /= shares.sum()
    return np.asarray((shares[0] * relative[0] / (shares @ relative)).reshape(likelihoods.shape[1:]))


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
    landing = path.landing
    at, slope = (np.append(part.coef[0], part.intercept) for part in (landing.at, landing.slope))
    known = np.eye(len(at))
    if variables is not None:
        known[:-1, :-1] = variables.correlations(standard.centre)
    matrix, doubt = _believed_curvature(path, curvature, standard, known)
    sampling = matrix if curvature is None else _believed_scores(curvature, matrix)
    prior = np.full(len(at), 1 / max(_PRIOR * float(np.mean(at[:-1] ** 2)), _LEAST_PRIOR))
    prior[-1] = 0.0  # nothing is known about the intercept beforehand
    noise = path.noise**2 / landing.steps
    step = np.zeros(len(at))
    for _ in range(3):  # the noise of the curvature counts as much as it is multiplied with: the step itself
        spread = np.diag(noise + doubt @ step**2) + sampling
        gain = np.linalg.solve(spread, matrix).T
        information = gain @ matrix
        covariance = np.linalg.inv((information + information.T) / 2 + np.diag(prior))
        step = -covariance @ (gain @ slope)
    return Estimate(at + step, (covariance + covariance.T) / 2)


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
    signal = max(float(np.mean(beyond[beside] ** 2 - noise[beside])), _LEAST_SIGNAL)
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
