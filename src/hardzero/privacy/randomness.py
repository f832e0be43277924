"""Randomness for releases: the operating system's, or a seeded source for tests that says so.

All samplers are exact: they work on integers and compare uniform bits with probabilities in floating point only where
the answer cannot depend on rounding; the rest (about one draw in 2⁴³) is decided with rational arithmetic.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_DOUBT = 2.0**-44
"""Wider than all rounding errors in a comparison of 53 uniform bits with a double-precision e^-γ."""
_AHEAD = 2**15
"""Most Gaussian variables that are drawn before they are asked for."""


class Source(abc.ABC):
    """A supply of uniform bits."""

    is_private: bool

    @abc.abstractmethod
    def octets(self, count: int) -> bytes:
        """``count`` uniform bytes."""

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), exactly, by rejection."""
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            value = int.from_bytes(self.octets(size), "little") & ((1 << bits) - 1)
            if value < bound:
                return value

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` uniform 64-bit words."""
        return np.frombuffer(self.octets(8 * count), dtype=np.uint64)

    def integers_below(self, bound: int, count: int) -> IntArray:
        """``count`` uniform integers in [0, bound), exactly, for bound below 2⁶²."""
        limit = np.uint64(2**64 // bound * bound - 1)

        def draw(size: int) -> IntArray:
            words = self.words(size)
            return (words[words <= limit] % np.uint64(bound)).astype(np.int64)

        return _fill(count, draw)


class SystemSource(Source):
    """The operating system's generator: what every private result is drawn from. Safe across forks."""

    is_private = True

    def octets(self, count: int) -> bytes:  # noqa: D102
        return os.urandom(count)


class SeededSource(Source):
    """A repeatable source for tests and teaching. Whoever knows the seed can subtract the noise."""

    is_private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def octets(self, count: int) -> bytes:  # noqa: D102
        return self._generator.bytes(count)


def source_for(random_state: int | None) -> Source:
    """``None`` is the operating system; an integer is a seeded source whose results are not private."""
    if random_state is None:
        return SystemSource()
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise TypeError(
            f"random_state must be None (private) or an integer (a test run, not private), got {random_state!r}"
        )
    if random_state < 0:
        raise ValueError(f"random_state must not be negative, got {random_state!r}")
    return SeededSource(int(random_state))


def discrete_laplace(source: Source, count: int, numerator: int, denominator: int = 1) -> IntArray:
    """Draw from P(x) ∝ exp(-|x|·denominator/numerator) on the integers.

    Canonne, Kamath and Steinke 2020, Algorithm 2: a geometric variable, cut into pieces, with a sign.
    """

    def draw(size: int) -> IntArray:
        magnitude = _geometric(source, size, numerator) // denominator
        negative = (source.words(len(magnitude)) & np.uint64(1)).astype(bool)
        twice_zero = negative & (magnitude == 0)  # zero has one sign only
        return np.asarray(np.where(negative, -magnitude, magnitude)[~twice_zero])

    return _fill(count, draw, 1.7)


def rounded_gaussian(source: Source | GaussiansAhead, count: int, sigma: int) -> IntArray:
    """Draw continuous Gaussian variables of standard deviation σ, a whole number, and round them to integers.

    Rejection from a whole part m, P(m) ∝ e^(-m/σ), and a uniform fraction f, of which 63 bits are drawn at once and
    more only where they could matter (docs/proofs/gaussian.md).
    """
    if isinstance(source, GaussiansAhead):
        return source.take(count, sigma)

    def draw(size: int) -> IntArray:
        whole = _geometric(source, size, sigma)
        bits = source.words(len(whole))  # the fraction, and a sign in the last bit
        fraction = (bits >> np.uint64(1)) * 2.0**-63
        gamma = ((whole - sigma + fraction) / sigma) ** 2 / 2 + fraction / sigma

        def exact(i: int) -> Fraction:
            f = Fraction((int(bits[i]) >> 1 << 256) | int.from_bytes(source.octets(32), "little"), 2**319)
            return (int(whole[i]) - sigma + f) ** 2 / (2 * sigma**2) + f / sigma

        accepted = _exp_accept(source, gamma, exact)
        bits = bits[accepted]
        nearest = whole[accepted] + (bits >> np.uint64(63)).astype(np.int64)
        return np.where(bits & np.uint64(1), -nearest, nearest)

    return _fill(count, draw, 2.2)


class GaussiansAhead:
    """The next ``total`` rounded Gaussian variables of one σ, drawn many at a time, which costs less; each used once.

    It lives within one computation, so that no fork takes what it holds into two.
    """

    def __init__(self, source: Source, sigma: int, total: int) -> None:
        self._source, self._sigma, self._missing = source, sigma, total
        self._drawn = np.zeros(0, dtype=np.int64)

    def take(self, count: int, sigma: int) -> IntArray:
        """Hand out ``count`` variables, which nobody gets again."""
        if sigma != self._sigma:
            raise ValueError(f"noise of {self._sigma} was drawn ahead, and {sigma} is asked for")
        if len(self._drawn) < count:
            self._drawn = rounded_gaussian(self._source, max(count, min(self._missing, _AHEAD)), sigma)
        self._missing -= count
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken


def _geometric(source: Source, tries: int, scale: int) -> IntArray:
    """Draw from P(m) ∝ e^(-m/scale) on 0, 1, …: a uniform remainder and whole units; some tries are rejected."""
    remainder = source.integers_below(scale, tries)
    kept = remainder[_exp_accept(source, remainder / scale, lambda i: Fraction(int(remainder[i]), scale))]
    return kept + scale * _whole_units(source, len(kept))


def _whole_units(source: Source, count: int) -> IntArray:
    """Geometric with ratio 1/e: how many times in a row an event of probability 1/e happens."""
    units = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while len(active):
        active = active[_exp_accept(source, np.ones(len(active)), lambda _: Fraction(1))]
        units[active] += 1
    return units


def _exp_accept(source: Source, gamma: FloatArray, exact: Callable[[int], Fraction]) -> NDArray[np.bool_]:
    """Independent events of probability e^-γ; ``exact(i)`` gives the i-th γ as a fraction."""
    words = source.words(len(gamma))
    uniform = (words >> np.uint64(11)) * 2.0**-53
    probability = np.exp(-gamma)
    accepted = uniform < probability
    for i in np.flatnonzero(np.abs(uniform - probability) <= _DOUBT):
        accepted[i] = _exp_accept_exactly(source, int(words[i]), exact(int(i)))
    return accepted


def _exp_accept_exactly(source: Source, leading: int, gamma: Fraction) -> bool:
    """Continue the 64 bits already drawn to 320 and compare them with e^-γ to 100 digits."""
    uniform = (leading << 256) | int.from_bytes(source.octets(32), "little")
    with localcontext() as context:
        context.prec = 100
        return uniform < (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp() * 2**320


def _fill(count: int, draw: Callable[[int], IntArray], tries: float = 1.5) -> IntArray:
    """Repeat a sampler that rejects until ``count`` values are there; it needs about ``tries`` for one."""
    parts: list[IntArray] = []
    missing = count
    while missing > 0:
        part = draw(int(tries * missing) + 8)[:missing]
        parts.append(part)
        missing -= len(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
