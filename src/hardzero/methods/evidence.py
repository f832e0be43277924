"""How likely each weight is to be noise, by all gradients that a fit has released.

Everything here is post-processing (docs/proofs/inference.md, 1, has the derivations and what they assume).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from ..data.bounded import FloatArray
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
_NARROWEST = 1e-6


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
    spread = np.maximum(squares - places**2 / steps, _NARROWEST * squares + 1e-300)
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
    each = 1 / (relative.shape[1] + leaning)
    shares = np.full(len(_SIZES), 0.5 / (len(_SIZES) - 1))
    shares[0] = 0.5
    mixed, counts, weighed, leant = (
        np.empty(relative.shape[1]),
        np.empty(len(_SIZES)),
        relative * each,
        leaning * each,
    )
    for _ in range(_ROUNDS):  # in place: small tables spend most of their time here
        np.dot(shares, relative, out=mixed)
        np.reciprocal(mixed, out=mixed)
        np.dot(weighed, mixed, out=counts)
        shares *= counts  # adds up to what leaning leaves of 1, as expected counts add up to the number of weights
        shares[0] += leant
    return np.asarray((shares[0] * relative[0] / (shares @ relative)).reshape(likelihoods.shape[1:]))
