import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hardzero.privacy import randomness
from hardzero.privacy.randomness import (
    GaussiansAhead,
    SeededSource,
    SystemSource,
    discrete_laplace,
    rounded_gaussian,
    source_for,
)

from .statistics import ALPHA, chi_square_p_value

N = 200_000


def laplace_probabilities(support, scale):
    p = np.exp(-np.abs(support) / scale)
    return p / ((1 + math.exp(-1 / scale)) / (1 - math.exp(-1 / scale)))


def gaussian_probabilities(support, sigma):
    """Of a continuous Gaussian variable, rounded: by the smaller of two tails, which do not cancel."""
    near = np.abs(support) - 0.5
    return np.where(
        support == 0,
        1 - 2 * stats.norm.sf(0.5 / sigma),
        stats.norm.sf(near / sigma) - stats.norm.sf((near + 1) / sigma),
    )


def histogram_p_value(sample, probabilities_of, reach):
    support = np.arange(-reach, reach + 1)
    counts = np.array([np.count_nonzero(sample == x) for x in support])
    outside = np.count_nonzero(np.abs(sample) > reach)
    p = probabilities_of(support)
    return chi_square_p_value(np.append(counts, outside), np.append(p, max(1 - p.sum(), 0)))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(7, 2), Fraction(1, 3)])
def test_discrete_laplace_fits_and_a_wrong_scale_does_not(scale):
    sample = discrete_laplace(SeededSource(1), N, scale.numerator, scale.denominator)
    reach = max(3, int(6 * scale))
    fits = histogram_p_value(sample, lambda x: laplace_probabilities(x, float(scale)), reach)
    assert fits > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert histogram_p_value(sample, lambda x, f=wrong: laplace_probabilities(x, float(scale) * f), reach) < ALPHA


@pytest.mark.parametrize("sigma", [1, 2, 3, 20])
def test_rounded_gaussian_fits_and_a_wrong_scale_does_not(sigma):
    sample = rounded_gaussian(SeededSource(2), N, sigma)
    assert histogram_p_value(sample, lambda x: gaussian_probabilities(x, sigma), 5 * sigma) > ALPHA
    for wrong in (0.95, 1.05):
        assert histogram_p_value(sample, lambda x, f=wrong: gaussian_probabilities(x, sigma * f), 5 * sigma) < ALPHA


def test_rounded_and_discrete_gaussian_are_told_apart():
    """What was drawn before, P(x) ∝ exp(-x²/2σ²), is another law where σ is small."""

    def discrete(x):
        weights = np.exp(-(x.astype(float) ** 2) / 2)
        return weights / math.sqrt(2 * math.pi)  # by Poisson summation, to 1e-8

    assert histogram_p_value(rounded_gaussian(SeededSource(2), N, 1), discrete, 5) < ALPHA


@pytest.mark.parametrize("sigma", [1, 2, 3, 7])
def test_rounded_gaussian_is_what_the_proposals_and_coins_make(sigma):
    """The law by summation over all proposals: geometric times e^-γ is proportional to the Gaussian density."""
    f = (np.arange(4000) + 0.5) / 4000
    whole = np.arange(12 * sigma)[:, None]
    gamma = (whole + f - sigma) ** 2 / (2 * sigma**2) + f / sigma
    assert gamma.min() >= 0
    mass = np.exp(-whole / sigma - gamma)
    halves = np.stack([mass[:, :2000].sum(axis=1), mass[:, 2000:].sum(axis=1)])  # rounded down, rounded up
    law = (np.append(halves[0], 0) + np.append(0, halves[1])) / mass.sum()
    expected = gaussian_probabilities(np.arange(12 * sigma + 1), sigma) * np.append(1, np.full(12 * sigma, 2))
    assert np.abs(law - expected).max() < 1e-6


@pytest.mark.parametrize("sigma", [2**20, 2**45])
def test_large_rounded_gaussian_is_gaussian(sigma):
    sample = rounded_gaussian(SeededSource(3), N, sigma) / sigma
    assert stats.kstest(sample, "norm").pvalue > ALPHA
    assert stats.kstest(sample * 1.03, "norm").pvalue < ALPHA
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(sample**power) - moment) < 5 * math.sqrt(variance / N)
    # Low-order bits must be as random as high-order ones.
    low = rounded_gaussian(SeededSource(4), N, sigma) % 16
    assert chi_square_p_value(np.bincount(low, minlength=16), np.full(16, 1 / 16)) > ALPHA


def test_uniform_integers_are_uniform_and_in_range():
    source = SeededSource(5)
    many = source.integers_below(7, N)
    assert chi_square_p_value(np.bincount(many, minlength=7), np.full(7, 1 / 7)) > ALPHA
    single = [source.below(7) for _ in range(20_000)]
    assert chi_square_p_value(np.bincount(single, minlength=7), np.full(7, 1 / 7)) > ALPHA
    assert source.below(1) == 0
    big = source.integers_below(3 * 2**60, 1000)  # a quarter of all words must be rejected
    assert big.min() >= 0
    assert big.max() < 3 * 2**60
    assert 0.4 < np.mean(big < 3 * 2**59) < 0.6


def test_words_beyond_the_last_whole_multiple_are_rejected():
    class High(SeededSource):
        """Starts with the largest word, which must not be folded into the range."""

        first = True

        def octets(self, count):
            bits = super().octets(count)
            if self.first:
                self.first = False
                bits = b"\xff" * 8 + bits[8:]
            return bits

    bound = 3 * 2**60
    folded = (2**64 - 1) % bound
    assert folded not in High(6).integers_below(bound, 5)


def test_comparisons_in_doubt_are_decided_exactly(monkeypatch):
    # With everything in doubt all decisions take the exact path; the law must stay the same.
    monkeypatch.setattr(randomness, "_DOUBT", 2.0)
    sample = rounded_gaussian(SeededSource(7), 3000, 2)
    assert histogram_p_value(sample, lambda x: gaussian_probabilities(x, 2), 6) > ALPHA
    assert histogram_p_value(sample, lambda x: gaussian_probabilities(x, 3), 6) < ALPHA


def test_a_fraction_in_doubt_is_extended_by_fresh_bits():
    """Two draws of 32 octets for each coin in doubt: for the fraction and for the uniform number."""
    asked = []

    class Recorded(SeededSource):
        def octets(self, count):
            asked.append(count)
            return super().octets(count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomness, "_DOUBT", 2.0)
        patch.setattr(randomness, "_geometric", lambda source, tries, scale: np.arange(tries))
        rounded_gaussian(Recorded(8), 1, 5)
    proposals = asked[0] // 8
    assert asked[: 2 + 2 * proposals] == [8 * proposals, 8 * proposals, *([32] * 2 * proposals)]


def test_exact_decision_reads_bits_beyond_the_first_64():
    gamma = Fraction(1)
    edge = int(math.exp(-1) * 2**64)  # too coarse to tell: the next bits decide

    class Constant(SeededSource):
        def __init__(self, octet):
            self.octet = octet

        def octets(self, count):
            return self.octet * count

    leading = next(
        word
        for word in range(edge - 4096, edge + 4096)
        if randomness._exp_accept_exactly(Constant(b"\x00"), word, gamma)
        != randomness._exp_accept_exactly(Constant(b"\xff"), word, gamma)
    )
    assert randomness._exp_accept_exactly(Constant(b"\x00"), leading, gamma)
    assert not randomness._exp_accept_exactly(Constant(b"\xff"), leading + 1, gamma)


def test_seeded_source_repeats_and_is_stamped():
    assert SeededSource(3).octets(16) == SeededSource(3).octets(16)
    assert not SeededSource(3).is_private
    assert SystemSource().is_private
    assert SystemSource().octets(16) != SystemSource().octets(16)
    assert len(discrete_laplace(SeededSource(0), 0, 3)) == 0


def test_random_state_decides_the_source():
    assert isinstance(source_for(None), SystemSource)
    assert isinstance(source_for(0), SeededSource)
    assert isinstance(source_for(np.int64(4)), SeededSource)
    with pytest.raises(TypeError, match="random_state"):
        source_for("7")
    with pytest.raises(TypeError, match="random_state"):
        source_for(True)
    with pytest.raises(ValueError, match="random_state"):
        source_for(-1)


def test_the_system_is_asked_at_each_draw(monkeypatch):
    """No pool that a forked child would share, or that a copy of the process could replay."""
    asked = []

    def urandom(count, real=os.urandom):
        asked.append(count)
        return real(count)

    monkeypatch.setattr(os, "urandom", urandom)
    source = SystemSource()
    for draw in (lambda: source.octets(5), lambda: source.below(1000), lambda: source.words(3)):
        before = len(asked)
        draw()
        draw()
        assert len(asked) >= before + 2
    assert asked[:2] == [5, 5]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_draws_for_itself():
    """128 bits of parent and child, after both have used the source before the fork; a collision has chance 2⁻¹²⁸."""
    source = SystemSource()
    source.octets(16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, source.octets(16))
        os._exit(0)
    os.waitpid(child, 0)
    try:
        assert os.read(reading, 16) != source.octets(16)
    finally:
        os.close(reading)
        os.close(writing)


# --- Noise drawn ahead --------------------------------------------------------------------------------------------


def test_noise_drawn_ahead_is_what_the_sampler_gives_each_of_it_once():
    ahead = GaussiansAhead(SeededSource(5), 1000, 400)
    handed = [rounded_gaussian(ahead, count, 1000) for count in (7, 1, 0, 92, 300)]
    assert [len(part) for part in handed] == [7, 1, 0, 92, 300]
    assert np.array_equal(np.concatenate(handed), rounded_gaussian(SeededSource(5), 400, 1000))


@pytest.mark.parametrize("block", [1, 10, 64])
def test_more_noise_than_a_block_holds_is_drawn_anew(block, monkeypatch):
    """2,000 variables of standard deviation 2⁴⁰, all different: any two alike have a chance of one in a million."""
    monkeypatch.setattr(randomness, "_AHEAD", block)
    ahead = GaussiansAhead(SeededSource(6), 2**40, 900)
    handed = np.concatenate(
        [ahead.take(count, 2**40) for count in (10, 500, 3, 387, 100, 1000)]
    )  # more than was said
    assert len(handed) == len(np.unique(handed)) == 2000


def test_blocks_are_no_longer_than_need_be(monkeypatch):
    asked, original = [], rounded_gaussian
    monkeypatch.setattr(
        randomness,
        "rounded_gaussian",
        lambda source, count, sigma: asked.append(count) or original(source, count, sigma),
    )
    ahead = GaussiansAhead(SeededSource(7), 10, 100_000)
    for _ in range(10):
        ahead.take(10_000, 10)
    assert asked == [2**15, 2**15, 2**15, 10_000]


def test_noise_drawn_ahead_fits_and_a_wrong_scale_does_not():
    ahead = GaussiansAhead(SeededSource(8), 3, N)
    sample = np.concatenate([ahead.take(part, 3) for part in (N // 3, N // 3, N - 2 * (N // 3))])
    assert histogram_p_value(sample, lambda x: gaussian_probabilities(x, 3), 15) > ALPHA
    for wrong in (0.95, 1.05):
        assert histogram_p_value(sample, lambda x, f=wrong: gaussian_probabilities(x, 3 * f), 15) < ALPHA


def test_noise_of_another_size_is_not_handed_out():
    with pytest.raises(ValueError, match="noise of 10 was drawn ahead, and 20 is asked for"):
        rounded_gaussian(GaussiansAhead(SeededSource(0), 10, 5), 5, 20)
