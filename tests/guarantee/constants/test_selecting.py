"""Constants in the proofs of selecting: selections, alone and for several classes, the published noise, counts."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import trapezoid
from scipy.special import expit

from hardzero.methods.private_lasso import paper_noise
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.mechanisms import noise_ratio, select_signed, weight_table
from hardzero.privacy.randomness import SeededSource

from ...privacy.scores import signed
from .drawn import SEEDS, SMALL

PUBLISHED = Budget(1.0, 1e-5)


# selection.md


@given(st.integers(-(2**50), 2**50), st.integers(-(2**40), 2**40), st.integers(1, 2**40), st.integers(1, 200))
@SMALL
def test_levels_shift_no_further_than_promised(score, move, sensitivity, levels):
    size = -(-sensitivity // levels)
    other = score + max(-sensitivity, min(sensitivity, move))
    assert abs(score // size - other // size) <= levels

    def truncated(value):
        return (1 if value >= 0 else -1) * (abs(value) // size)

    assert abs(truncated(score) - truncated(other)) <= levels
    near_zero = score % sensitivity  # so that zero is crossed
    assert abs(truncated(near_zero) - truncated(near_zero - sensitivity)) <= levels


@pytest.mark.parametrize("eta", [1e-6, 1e-3, 0.0156, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("candidates", [1, 2, 1000, 200_000])
def test_table_keeps_its_range_rounding_included(eta, candidates):
    table = weight_table(eta, candidates)
    log_weights = np.log(table.weights)
    depth = np.arange(len(log_weights))
    drop = log_weights - log_weights[np.minimum(depth + table.levels, len(table.weights) - 1)]
    assert 2 * drop.max() <= eta
    assert 2 * drop.max() >= 0.99 * eta
    assert candidates * int(table.weights[0]) <= 2**62


@pytest.mark.parametrize("eta", [2.0**-40, 2.0**-39, 1e-9])
def test_table_keeps_its_range_at_the_smallest_eta(eta):
    table = weight_table(eta, 2)
    start, end = int(table.weights[0]), int(table.weights[min(table.levels, len(table.weights) - 1)])
    with localcontext() as context:
        context.prec = 60
        drop = (Decimal(start) / Decimal(end)).ln()
        assert Decimal("0.8") * Decimal(eta) <= 2 * drop <= Decimal(eta)
    with pytest.raises(ValueError, match="cannot be sampled exactly"):
        weight_table(0.99 * 2.0**-40, 2)


def law_of_selection(values, sensitivity, eta, slots):
    """By the definition: the weight of each signed candidate by its depth, divided by their sum."""
    table = weight_table(eta, slots)
    levels = np.stack([values, -values], axis=1) // -(-sensitivity // table.levels)
    depth = np.minimum(levels.max() - levels, len(table.weights) - 1)
    return (table.weights[depth] / table.weights[depth].sum()).ravel()


@pytest.mark.parametrize("order", ["names", "popularity", "chance"])
def test_the_law_of_a_selection_does_not_depend_on_the_order_of_places(order):
    """χ² at 1e-6 over 20 000 draws among 1100 names in blocks of two; the law with two names exchanged is caught."""
    rng = np.random.default_rng(5)
    scores = rng.integers(-50, 50, 1100)
    scores[[3, 40, 41, 700, 1099]] = [5000, -4700, 4600, 4500, -5000]
    places = {"names": np.arange(1100), "popularity": np.argsort(-np.abs(scores)), "chance": rng.permutation(1100)}
    names = places[order]
    source, eta, sensitivity = SeededSource(11), 1.0, 400
    held = signed(scores[names], names=names)
    drawn = [select_signed(held, sensitivity, eta, source) for _ in range(20_000)]
    seen = np.bincount([2 * name + (sign < 0) for name, sign in drawn], minlength=2200)
    law = law_of_selection(scores, sensitivity, eta, 2200)

    def fit(law):
        common = law * 20_000 > 20
        observed = np.append(seen[common], seen[~common].sum())
        return stats.chisquare(observed, np.append(law[common], law[~common].sum()) * 20_000).pvalue

    assert fit(law) > 1e-6
    exchanged = law.copy()
    exchanged[[6, 82]] = law[[82, 6]]
    assert fit(exchanged) < 1e-6


def renyi(p, q, alpha):
    return math.log(float(np.sum(p**alpha * q ** (1 - alpha)))) / (alpha - 1)


@given(SEEDS, st.floats(0.01, 4), st.floats(1.01, 50))
@SMALL
def test_bounded_range_costs_an_eighth_of_its_square(seed, eta, alpha):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(6))
    p = q * np.exp(eta * rng.random(6))
    p /= p.sum()
    assert renyi(p, q, alpha) <= alpha * eta**2 / 8 + 1e-12
    assert np.abs(np.log(p / q)).max() <= eta


def test_an_eighth_is_nearly_reached():
    eta = 0.01
    p = np.array([expit(eta / 2), expit(-eta / 2)])
    assert renyi(p, p[::-1], 2.0) >= 0.999 * 2 * eta**2 / 8


def test_revealing_the_sign_of_the_largest_score_is_caught():
    def twin(values):
        index = int(np.argmax(np.abs(values)))
        return index, int(np.sign(values[index]))

    one, other = np.array([1]), np.array([-1])
    source = SeededSource(0)
    assert twin(one) != twin(other)  # certain to differ: no finite cost
    signs = [[select_signed(signed(v), 2, 0.5, source)[1] for _ in range(2000)] for v in (one, other)]
    shares = [np.mean(np.array(seen) == 1) for seen in signs]
    assert 1 < shares[0] / shares[1] < math.exp(0.5) * 1.1


# noisy-min.md


def test_published_noise_by_optimal_composition():
    scale = paper_noise(PUBLISHED, 1000)
    assert round(accounting.epsilon_of_pure(2 / scale, 1000, 1e-5), 3) == 0.758
    assert round(accounting.epsilon_of_pure(4 / scale, 1000, 1e-5), 3) == 1.626
    assert round(accounting.epsilon_of_pure(2 / scale, 999, 1e-5), 3) == 0.757
    assert round(accounting.epsilon_of_pure(4 / scale, 999, 1e-5), 3) == 1.624


def test_tight_scale_against_the_published_one():
    scale = 2 / accounting.selection_eta(PUBLISHED, 1000)
    assert round(scale, 2) == 127.92
    assert round(paper_noise(PUBLISHED, 1000), 2) == 303.49
    assert round(scale / paper_noise(PUBLISHED, 1000), 4) == 0.4215


def survival(x):
    return np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))


def winning_chances(scores):
    """Chance of each score to be the smallest after Laplace noise of scale 1."""
    z = np.linspace(-40, 40, 400_001)
    chances = []
    for i, score in enumerate(scores):
        density = 0.5 * np.exp(-np.abs(z - score))
        for k, other in enumerate(scores):
            if k != i:
                density = density * survival(z - other)
        chances.append(trapezoid(density, z))
    return np.array(chances)


def binomial_epsilon(times, p, q, delta):
    heads = np.arange(times + 1)
    log_p, log_q = stats.binom.logpmf(heads, times, p), stats.binom.logpmf(heads, times, q)
    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        seen = float(np.sum(np.maximum(np.exp(log_p) - np.exp(middle + log_q), 0)))
        low, high = (middle, high) if seen > delta else (low, middle)
    return low


@pytest.mark.parametrize(("claimed", "reached"), [(1, 0.90), (3, 3.04), (4, 4.23), (8, 9.63)])
def test_attack_on_the_published_noise_under_replace_one(claimed, reached):
    unit = 1 / paper_noise(Budget(claimed, 1e-5), 1000)
    negative = winning_chances(unit * np.array([1, 1, -1, -1]))[2:].sum()
    assert round(binomial_epsilon(1000, negative, 1 - negative, 1e-5), 2) == reached


def chance_of_the_first(lead, scale, wins_ties):
    """That the first of two candidates, ``lead`` ahead, has the smaller noisy score; discrete Laplace noise."""
    z = np.arange(-2000, 2001)
    law = np.exp(-np.abs(z) / scale)
    law /= law.sum()
    below = np.cumsum(law)
    threshold = z + lead - (not wins_ties)  # the first one's noise must not exceed this, given the second's
    return float(np.sum(law * np.where(threshold < -2000, 0.0, below[np.clip(threshold + 2000, 0, 4000)])))


@pytest.mark.parametrize("scale", [3.0, 10.0])
def test_ties_by_names_keep_the_cost_and_ties_by_a_datas_order_do_not(scale):
    """Neighbours move two scores by 1 each, in opposite directions: the cost may be e^(2/scale)."""
    allowed = math.exp(2 / scale)
    for lead in (-150, -20, 0, 20):
        for wins_ties in (True, False):
            ratio = chance_of_the_first(lead, scale, wins_ties) / chance_of_the_first(lead - 2, scale, wins_ties)
            assert ratio <= allowed
    twin = chance_of_the_first(-150, scale, True) / chance_of_the_first(-152, scale, False)
    assert allowed * 1.05 < twin <= math.exp(3 / scale)


# count.md


def test_the_count_is_a_coin_flip():
    numerator, denominator = noise_ratio(10, 0.05)
    ratio = math.exp(-denominator / numerator)

    def at_least(m):
        return ratio**m / (1 + ratio) if m >= 1 else 1 - ratio ** (1 - m) / (1 + ratio)

    shares = [at_least(10 - v) + at_least(v) for v in range(11)]
    assert round(max(shares), 4) == 0.9781
    assert round(min(shares), 4) == 0.9777
    assert round(1 - at_least(1), 3) == 0.501  # from the lower end: to itself, and to the other
    assert round(at_least(10), 3) == 0.477


def test_counts_too_coarse_to_draw_are_refused():
    noise_ratio(1, 2.0**-31.99)
    with pytest.raises(ValueError, match="too small for a count"):
        noise_ratio(1, 2.0**-32.01)


@given(st.integers(1, 10**6), st.floats(1e-3, 100))
@SMALL
def test_count_noise_is_never_too_small(sensitivity, epsilon):
    scale = Fraction(*noise_ratio(sensitivity, epsilon))
    assert Fraction(sensitivity) / Fraction(epsilon) <= scale
    assert scale <= Fraction(sensitivity) / Fraction(epsilon) * (1 + Fraction(1, 2**49)) + Fraction(1, 2**24)


# multinomial.md


def test_algorithm_3_as_printed_is_not_private():
    classes, delta = 3, 1e-5
    scale = 2 * classes * paper_noise(Budget(1.0, delta / classes), 2)
    assert round(scale, 1) == 85.2
    gradient = np.full(classes, 1 / classes)
    gradient[0] -= 1
    with_canary = winning_chances(np.concatenate([gradient, -gradient]) / scale)[0]
    assert round(with_canary, 5) == 0.16819
    for columns, reached in ((10**5, 5.9), (10**6, 25.0)):
        mean, spread = columns / 6, math.sqrt(columns * 5 / 36)
        threshold = np.floor(mean + spread * np.linspace(-6, 40, 400))
        hit = stats.binom.sf(threshold, columns, with_canary)
        miss = stats.binom.logsf(threshold, columns, 1 / 6)
        useful = hit > 2 * delta
        assert round(float(np.max(np.log(hit[useful] - delta) - miss[useful])), 1) == pytest.approx(reached, abs=0.11)


@pytest.mark.parametrize(("classes", "ratio"), [(3, 14.9), (10, 52.0), (20, 106.5)])
def test_joint_selection_against_algorithm_3(classes, ratio):
    published = 2 * paper_noise(Budget(1 / classes, 1e-5 / classes), 1000)
    assert published * accounting.selection_eta(PUBLISHED, 1000) / 2 == pytest.approx(ratio, abs=0.1)
