"""What the released values say about each weight: is it real, how large is it, and how sure is that?

Everything here is post-processing of what a fit has released anyway (docs/proofs/inference.md has the derivations and
what they assume).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, logsumexp, ndtr, ndtri

from ..data.bounded import FloatArray
from ..optim.curvature import Curvature
from ..optim.descent import Path
from ..optim.standardise import Standard

_SPREADS = 15
"""Points that stand for what a feature's spread may be, given the noise of what was released of it."""
_SIZES = np.concatenate([[0.0], 0.02 * 2.0 ** np.arange(9)])
"""Standard deviations of weights in standardised units: 0 for noise, the others for real ones of all sizes."""
_ROUNDS = 200
_FURTHEST = 6.0
"""Released variances below so many standard errors under zero count as if they were there."""
_PRIOR, _LEAST_PRIOR = 2.0, 0.01
"""Variance around the landing in directions that nothing is known of, by the landing's mean square; and its least."""
_UNKNOWN_CORRELATION = 0.2
"""Standard deviation of correlations between features where none were released."""
_TELLING = 1 / 3
"""Standard errors below this share of a typical weight could tell it from zero."""
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

    Privacy
    -------
    Post-processing.
    """

    likely: FloatArray
    careful: FloatArray

    def at(self, features: NDArray[np.intp]) -> NullChances:
        """Return the same for some of the features."""
        return NullChances(self.likely[:, features], self.careful[:, features])


def null_chances(traces: Sequence[Trace], standard: Standard, leaning: float) -> NullChances:
    """Weigh noise against real weights of all sizes, by all gradients that were released.

    A feature of standardised variance s has gradients κ·s·(w - w*) + noise at places w, κ the curvature: a normal
    likelihood of w*, whose prior is sampling error alone, 1/(κ·s), for noise and that plus τ² for a real weight. It
    is averaged over the s that the released moments allow; how often each τ occurs follows from all features.

    The careful view takes ``leaning`` features more for noise. It also counts that a feature whose released mean is
    off, as noise makes it, takes part of the intercept's gradient for its own.

    Privacy
    -------
    Post-processing.
    """
    return NullChances(
        _chances_of_noise(_log_likelihoods(traces, standard, wary=False), 0.0),
        _chances_of_noise(_log_likelihoods(traces, standard, wary=True), leaning),
    )


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


def _log_likelihoods(traces: Sequence[Trace], standard: Standard, *, wary: bool) -> FloatArray:
    """Log likelihood of every size, (sizes, outputs, features)."""
    spreads = possible_spreads(standard)[:, None, :]
    shape = (_SPREADS, len(traces[0].mask), spreads.shape[-1])
    precision, pull, rest = np.zeros(shape), np.zeros(shape), np.zeros(shape)
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
    result = []
    for size in _SIZES:
        prior = sampling + size**2
        wide = 1 + prior * precision
        result.append(logsumexp(rest + (prior * pull**2 / wide - np.log(wide)) / 2, axis=0))
    return np.array(result)


def _chances_of_noise(likelihoods: FloatArray, leaning: float) -> FloatArray:
    """Fit how often each size occurs, with ``leaning`` more of noise, and return the chance of size 0 for each."""
    relative = np.exp(likelihoods - likelihoods.max(axis=0)).reshape(len(_SIZES), -1)
    shares = np.full(len(_SIZES), 0.5 / (len(_SIZES) - 1))
    shares[0] = 0.5
    for _ in range(_ROUNDS):
        chances = shares[:, None] * relative
        chances /= chances.sum(axis=0)
        shares = chances.sum(axis=1)
        shares[0] += leaning
        shares /= shares.sum()
    chances = shares[:, None] * relative
    return np.asarray((chances[0] / chances.sum(axis=0)).reshape(likelihoods.shape[1:]))


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

    def keeping(self, kept: NDArray[np.bool_]) -> Estimate:
        """Return the law of the weights in ``kept``, and the intercept, given that all others are zero."""
        inside, outside = np.append(kept, True), np.append(~kept, False)
        if not outside.any():
            return self
        across = self.covariance[np.ix_(inside, outside)]
        gain = np.linalg.solve(self.covariance[np.ix_(outside, outside)], across.T).T
        covariance = self.covariance[np.ix_(inside, inside)] - gain @ across.T
        return Estimate(self.mean[inside] - gain @ self.mean[outside], (covariance + covariance.T) / 2)


def estimate_weights(path: Path, curvature: Curvature | None, standard: Standard) -> Estimate:
    """One Newton step from where a descent of two classes came to rest, as far as the noise allows.

    The mean gradient of the last steps is H·(w - w*) plus noise, at a place w near the optimum w*. Directions in
    which that says little stay where the descent came to rest, with the width of the prior around it.

    Privacy
    -------
    Post-processing.
    """
    landing = path.landing
    at, slope = (np.append(part.coef[0], part.intercept) for part in (landing.at, landing.slope))
    matrix, doubt = _believed_curvature(path, curvature, standard)
    prior = np.full(len(at), 1 / max(_PRIOR * float(np.mean(at[:-1] ** 2)), _LEAST_PRIOR))
    prior[-1] = 0.0  # nothing is known about the intercept beforehand
    noise = path.noise**2 / landing.count
    step = np.zeros(len(at))
    for _ in range(3):  # the noise of the curvature counts as much as it is multiplied with: the step itself
        spread = np.diag(noise + doubt @ step**2) + matrix  # sampling: at most the curvature, as no weight exceeds 1
        gain = np.linalg.solve(spread, matrix).T
        information = gain @ matrix
        covariance = np.linalg.inv((information + information.T) / 2 + np.diag(prior))
        step = -covariance @ (gain @ slope)
    return Estimate(at + step, (covariance + covariance.T) / 2)


def _believed_curvature(path: Path, curvature: Curvature | None, standard: Standard) -> tuple[FloatArray, FloatArray]:
    """Return the curvature without what noise put into it, positive definite, and the variance left in entries."""
    if curvature is None:  # features taken for uncorrelated
        diagonal = path.bend[0] * np.append(possible_spreads(standard).mean(axis=0), 1.0)
        doubt = _UNKNOWN_CORRELATION**2 * np.outer(diagonal, diagonal)
        return np.diag(diagonal), doubt
    diagonal = np.maximum(np.diag(curvature.matrix), curvature.error)
    size = np.sqrt(np.outer(diagonal, diagonal))
    correlation, noise = curvature.matrix / size, curvature.error**2 / 2 / size**2
    beside = ~np.eye(len(diagonal), dtype=bool)
    signal = max(float(np.mean(correlation[beside] ** 2 - noise[beside])), _LEAST_SIGNAL)
    share = signal / (signal + noise)
    matrix = np.where(beside, share * correlation, 1.0) * size
    doubt = np.where(beside, share * noise * size**2, curvature.error**2)
    heights, directions = np.linalg.eigh(matrix)
    heights = np.maximum(heights, _FLATTEST * heights.max())
    return (directions * heights) @ directions.T, doubt


def q_values(estimate: Estimate, careful: FloatArray, candidates: int) -> FloatArray:
    """Return for each kept weight the false-discovery rate of calling it and all more convincing ones real.

    Two views, of which the worse counts: its chance of being noise by the whole path, and the rate of Benjamini and
    Hochberg by the estimate itself, which knows what correlated features share. All candidates that were dropped
    count there as if they had the least convincing estimates: selection may have favoured those that are left. An
    estimate that could not tell a typical weight from zero leaves it to the path.

    Privacy
    -------
    Post-processing.
    """
    coef, errors = estimate.mean[:-1], estimate.errors
    tails = erfc(np.abs(coef) / errors / math.sqrt(2))
    order = np.argsort(tails, kind="stable")
    rates = tails[order] * candidates / np.arange(1, len(tails) + 1)
    by_estimate = np.empty(len(tails))
    by_estimate[order] = np.minimum.accumulate(rates[::-1])[::-1]
    could_tell = errors <= _TELLING * math.sqrt(float(np.mean(coef**2)))
    return np.minimum(np.where(could_tell, np.maximum(careful, by_estimate), careful), 1.0)
