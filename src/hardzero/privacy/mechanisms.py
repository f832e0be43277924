"""The only functions that turn a sensitive value into a released one.

All of them work on whole numbers, so a sensitivity is a statement about integers and holds to the
last bit. Each names its proof page in docs/proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, NoReturn, TypeVar

import numpy as np

from .randomness import FloatArray, GaussiansAhead, IntArray, Source, discrete_laplace, rounded_gaussian

T = TypeVar("T")


class Sensitive(Generic[T]):
    """A value computed from records: no arithmetic, no repr, no pickling, opened only in this module."""

    __slots__ = ("_secret",)

    def __init__(self, value: T) -> None:
        self._secret = value

    def __repr__(self) -> str:
        return "Sensitive(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sensitive value cannot be pickled or copied")


@dataclass(frozen=True)
class SignedScores:
    """Candidates of a selection, both signs of each, held in an order that may depend on the records.

    ``slopes`` has ``NOBODY`` where there is no candidate; ``tops`` is the largest magnitude of each block of
    ``block_size`` slopes, which saves looking at all of them; ``names`` is every candidate's public number.
    """

    slopes: Sensitive[IntArray]
    tops: Sensitive[IntArray]
    names: Sensitive[IntArray]


class Candidates:
    """Scores to choose among several times; whoever is chosen is taken out."""

    def __init__(self, scores: Sensitive[IntArray]) -> None:
        self._left = scores._secret.copy()
        self._tops = block_maxima(self._left)

    def __len__(self) -> int:
        return len(self._left)

    def choose(self, sensitivity: int, eta: float, source: Source) -> int:
        """Choose one of those that are left.

        Privacy
        -------
        Releases one index with bounded range ``eta``, as :func:`select` does.
        """
        index = select(Sensitive(self._left), sensitivity, eta, source, Sensitive(self._tops))
        size = block_size(len(self._left))
        start = index // size * size
        self._left[index] = NOBODY
        self._tops[index // size] = self._left[start : start + size].max()
        return index


@dataclass(frozen=True)
class WeightTable:
    """Integer weights of the exponential mechanism by depth below the best score; the last holds for all below it.

    ``levels`` score levels make up one sensitivity.
    """

    levels: int
    weights: IntArray = field(repr=False)


_LEVELS_PER_NAT = 256
_DEEPEST = 2**20
NOBODY = -(2**63)  # in the place of a score: there is no such candidate
_PLUS, _PLUS_MINUS = np.array([1]), np.array([1, -1])
_FINE = 2**48  # units in the standard deviation of a linear term
_GAP = 2**12  # units in the distance by which a minimiser may be missed


@lru_cache(maxsize=4)  # a table takes up to 8 MB, and a fit uses one or two
def weight_table(eta: float, candidates: int) -> WeightTable:
    """Build weights whose bounded range is at most ``eta``, rounding included.

    Entry d is 2^top·exp(-d·η'/(2·levels)) rounded to an integer. If rounding moves every log-weight by
    at most τ, the mechanism has range η' + 4τ, so η' = η - 4τ (docs/proofs/selection.md). All weights
    of ``candidates`` candidates together are at most 2⁶².
    """
    top = 62 - max(candidates - 1, 1).bit_length()
    floor = max(math.ceil(math.log2(2.0**13 / eta)), 4)
    if floor >= top or eta < 2.0**-40:
        raise ValueError(
            f"a selection among {candidates} candidates with eta = {eta:.3g} cannot be sampled exactly: "
            "the budget for each step is too small; use fewer iterations or a larger epsilon"
        )
    tau = 2.0**-floor + 2.0**-45  # rounding to an integer of at least 2^floor, and of exp itself
    levels = max(1, math.ceil(eta * _LEVELS_PER_NAT / 2))
    rate = (eta - 4 * tau) / (2 * levels)
    deepest = min(int((top - floor) * math.log(2) / rate), _DEEPEST)
    weights = np.rint(np.ldexp(np.exp(-rate * np.arange(deepest + 1)), top)).astype(np.int64)
    weights.flags.writeable = False
    return WeightTable(levels, weights)


def select(
    scores: Sensitive[IntArray], sensitivity: int, eta: float, source: Source, tops: Sensitive[IntArray] | None = None
) -> int:
    """Choose a candidate, a large score being likelier, by the exponential mechanism.

    ``tops``, the largest score of each block of ``block_size`` candidates, saves looking at all of them.

    Privacy
    -------
    Releases one index with bounded range ``eta`` if no score moves by more than ``sensitivity`` between neighbours.
    Proof: docs/proofs/selection.md.
    """
    values = scores._secret
    heights = block_maxima(values) if tops is None else tops._secret
    return _draw(values, np.maximum(heights, -(2**61)), _PLUS, sensitivity, eta, source)[0]


def select_signed(scores: SignedScores, sensitivity: int, eta: float, source: Source) -> tuple[int, int]:
    """Choose among ``+slopes`` and ``-slopes``: a candidate's public number and a sign, in one draw.

    The same as :func:`select` over the 2p numbers s₀, -s₀, s₁, -s₁, …, in whatever order they are held.

    Privacy
    -------
    Releases a number and a sign with bounded range ``eta`` if no candidate's score moves by more than
    ``sensitivity``. Proof: docs/proofs/selection.md.
    """
    place, sign = _draw(scores.slopes._secret, scores.tops._secret, _PLUS_MINUS, sensitivity, eta, source)
    return int(scores.names._secret[place]), sign


def noisy_min_signed(scores: SignedScores, scale: int, source: Source) -> tuple[int, int]:
    """Choose among ``+slopes`` and ``-slopes`` by the smallest score plus Laplace noise: the published way.

    Ties go to the smaller public number: the order in which candidates are held may depend on the records.

    Privacy
    -------
    Releases a number and a sign; 2Δ/scale-DP if no candidate's score moves by more than Δ between neighbours.
    Proof: docs/proofs/noisy-min.md.
    """
    places = np.flatnonzero(scores.slopes._secret != NOBODY)
    names = scores.names._secret[places]
    order = np.argsort(names)
    values = scores.slopes._secret[places[order]]
    noise = discrete_laplace(source, 2 * len(values), scale)
    winner = int(np.argmin(np.concatenate([values, -values]) + noise))
    return int(names[order[winner % len(values)]]), 1 if winner < len(values) else -1


def count(value: Sensitive[int], lowest: int, highest: int, epsilon: float, source: Source) -> int:
    """Clip, add double-geometric noise, clip again (Algorithm 2, lines 3 to 5).

    Privacy
    -------
    Releases a whole number in [lowest, highest]; ``epsilon``-DP under either relation, because the
    clipped count cannot move by more than highest - lowest. Proof: docs/proofs/count.md.
    """
    clipped = min(max(value._secret, lowest), highest)
    numerator, denominator = noise_ratio(highest - lowest, epsilon)
    noise = int(discrete_laplace(source, 1, numerator, denominator)[0])
    return min(max(clipped + noise, lowest), highest)


def noise_ratio(sensitivity: int, epsilon: float) -> tuple[int, int]:
    """Return sensitivity/ε as a ratio of integers, never too small, for the discrete Laplace."""
    denominator = 2**24
    numerator = math.ceil(denominator * sensitivity / epsilon * (1 + 2.0**-50))
    if numerator > 2**56:
        raise ValueError(f"epsilon = {epsilon:.3g} is too small for a count over a range of {sensitivity}")
    return numerator, denominator


def gaussian(values: Sensitive[IntArray], sigma: int, source: Source | GaussiansAhead) -> IntArray:
    """Add Gaussian noise of standard deviation ``sigma`` to every sum, and round to whole numbers.

    Privacy
    -------
    Releases a vector; exactly as private as the Gaussian mechanism with Δ/σ if neighbours' vectors differ by at most
    Δ in L2.
    Proof: docs/proofs/gaussian.md.
    """
    if sigma > 2**56:
        raise ValueError(f"noise of 2^{math.log2(sigma):.0f} units cannot be drawn; use a larger epsilon")
    return values._secret + rounded_gaussian(source, len(values._secret), sigma)


Minimiser = Callable[[FloatArray], Sensitive[FloatArray]]


def perturbed_minimum(
    minimise: Minimiser, size: int, sigma: float, gap: float, gap_noise: float, source: Source
) -> FloatArray:
    """Minimise an objective to which a Gaussian linear term of standard deviation ``sigma`` is added.

    ``minimise(b)`` must return a point within ``gap`` of the minimiser of objective(w) + b·w. Noise of ``gap_noise``
    times three gaps is added to it, so that neither the gap nor the last bits give a record away.

    Privacy
    -------
    Releases a vector; costs a PerturbedMinimum and a GaussianRelease of ``gap_noise``.
    Proof: docs/proofs/objective-perturbation.md.
    """
    linear: FloatArray = rounded_gaussian(source, size, _FINE) * np.float64(sigma / _FINE)
    unit = gap / _GAP
    codes = np.clip(np.rint(minimise(linear)._secret / unit), -(2.0**62), 2.0**62).astype(np.int64)
    return gaussian(Sensitive(codes), math.ceil(gap_noise * 3 * _GAP), source) * np.float64(unit)


def best_of_runs(run: Callable[[], tuple[int, T]], odds: int, source: Source) -> T:
    """Run once, and again until a coin of probability 1/odds says stop; return the run with the largest score.

    ``run`` gives a score and a result, both released by other mechanisms; of equal scores the first wins.

    Privacy
    -------
    Releases one result; costs RandomStopping. The number of runs, other results and scores are not released, but
    how long it takes tells about the number. Proof: docs/proofs/tuning.md.
    """
    runs = 1
    while source.below(odds):
        runs += 1
    return max((run() for _ in range(runs)), key=lambda found: found[0])[1]


def exact(value: Sensitive[T]) -> T:
    """Open a value without any protection, for the non-private solvers.

    Privacy
    -------
    Not private. tests/project/test_architecture.py lists who may call this.
    """
    return value._secret


def block_size(candidates: int) -> int:
    """Return how many candidates make a block: a power of two, for 512 to 1024 blocks; at most 256."""
    return 1 << min(max(candidates >> 9, 1).bit_length() - 1, 8)


def block_maxima(values: IntArray) -> IntArray:
    """Return the largest score of each block; the last block may be short."""
    return np.maximum.reduceat(values, np.arange(0, len(values), block_size(len(values))))


def _draw(
    values: IntArray, tops: IntArray, signs: IntArray, sensitivity: int, eta: float, source: Source
) -> tuple[int, int]:
    """Draw an index and a sign with probability proportional to the weight of sign times score.

    By rejection: the weight of a block's top bounds all its weights, and that of level 0 one sign of every score.
    Choose a block by its bound and accept with probability (weights in it)/bound; after a rejection tighten it.
    """
    size = -(-len(values) // len(tops))
    table = weight_table(eta, len(signs) * size * len(tops))
    unit = -(-sensitivity // table.levels)  # height of a level, of which ``levels`` make up one sensitivity or more
    highest = tops // unit
    best = int(highest.max())
    bounds = table.weights.take(best - highest, mode="clip")  # for each of the block's scores
    bounds += (len(signs) - 1) * table.weights.take(best, mode="clip")
    ends = bounds.cumsum()
    while True:
        place = source.below(int(ends[-1]) * size)
        block = int(ends.searchsorted(place // size, side="right"))
        part = values[block * size : (block + 1) * size, None]
        weights = table.weights.take(best - part * signs // unit, mode="clip") * (part != NOBODY)
        inside = weights.cumsum()
        into = place - int(ends[block] - bounds[block]) * size
        if into < inside[-1]:
            index, sign = divmod(int(inside.searchsorted(into, side="right")), len(signs))
            return block * size + index, int(signs[sign])
        ends[block:] -= bounds[block] + (-inside[-1] // size)
        bounds[block] = -(-inside[-1] // size)
