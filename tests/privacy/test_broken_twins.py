"""Deliberately broken versions of what the core does. Each must be caught, or the tests above prove nothing.

The audit is Clopper-Pearson's: an event fixed beforehand happens with probability at least p₁ on one data set and at
most p₀ on its neighbour, so any (ε, δ) guarantee needs ε ≥ log((p₁ - δ)/p₀). Confidence 1 - 1e-6 for each bound.
"""

import math

import numpy as np
import pytest
from scipy import stats

from hardzero.methods.private_lasso import paper_noise
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.mechanisms import Sensitive, count, select_signed
from hardzero.privacy.randomness import SeededSource

from .scores import signed
from .statistics import chi_square_p_value, noisy_min_law

ALPHA = 1e-6


def epsilon_lower_bound(hits, misses, trials, delta=0.0):
    """Largest ε that ``hits`` of ``trials`` against ``misses`` of ``trials`` on the neighbour rules out."""
    p1 = stats.beta.ppf(ALPHA, hits, trials - hits + 1) if hits else 0.0
    p0 = stats.beta.ppf(1 - ALPHA, misses + 1, trials - misses)
    return math.log((p1 - delta) / p0) if p1 > delta else 0.0


# --- The count of Appendix B --------------------------------------------------------------------------------------


def appendix_b_count(value, lowest, highest, epsilon, source):
    """The listing's second clip starts from the raw count again: the noise is thrown away."""
    noisy = count(value, lowest, highest, epsilon, source)
    assert lowest <= noisy <= highest
    return min(max(value._secret, lowest), highest)


def audit_count(mechanism, epsilon=0.05, trials=6000):
    source = SeededSource(21)
    high = [mechanism(Sensitive(20), 10, 20, epsilon, source) for _ in range(trials)]
    low = [mechanism(Sensitive(10), 10, 20, epsilon, source) for _ in range(trials)]
    return epsilon_lower_bound(high.count(20), low.count(20), trials)


def test_the_count_passes_and_the_un_noised_count_is_caught():
    assert audit_count(count) <= 0.05
    assert audit_count(appendix_b_count, trials=500) > 1.0


# --- Halved noise -------------------------------------------------------------------------------------------------


def transcript_votes(eta, steps, trials, lead, seed):
    """How often the first of two candidates wins in ``steps`` selections, by the real mechanism's law.

    The mechanism is run for the win rate; the transcripts are then binomial, because the scores do not change.
    """
    scores = signed([lead])  # one feature, two signs: a balanced pair
    source = SeededSource(seed)
    runs = 10_000
    wins = sum(select_signed(scores, 1000, eta, source)[1] == 1 for _ in range(runs))
    return np.random.default_rng(seed).binomial(steps, wins / runs, size=trials)


def audit_selections(eta, budget, steps=100, trials=1_000_000):
    low = transcript_votes(eta, steps, trials, -500, 22)
    high = transcript_votes(eta, steps, trials, 500, 23)
    # Fixed beforehand: the likelihood-ratio test at the threshold that a right mechanism makes best use of.
    threshold = steps * 0.5 + 1.6 * math.sqrt(steps)
    return epsilon_lower_bound(
        np.count_nonzero(high > threshold), np.count_nonzero(low > threshold), trials, budget.delta
    )


def test_selections_pass_and_halved_noise_is_caught():
    budget = Budget(4.0, 1e-5)
    eta = accounting.selection_eta(budget, 100)
    assert audit_selections(eta, budget) <= budget.epsilon
    assert audit_selections(2 * eta, budget) > budget.epsilon


# --- A shared generator -------------------------------------------------------------------------------------------


def two_counts(sources):
    """Two releases about different things; with fresh noise their errors have nothing to do with each other."""
    first, second = sources
    return count(Sensitive(500), 0, 1000, 50.0, first) - 500, count(Sensitive(400), 0, 1000, 50.0, second) - 400


def noise_correlation(pairs):
    return np.corrcoef(np.array(pairs).T)[0, 1]


def test_fresh_noise_passes_and_a_shared_generator_is_caught():
    limit = 5 / math.sqrt(2000)  # five standard errors
    one_stream = SeededSource(24)
    fresh = [two_counts((one_stream, one_stream)) for _ in range(2000)]
    assert abs(noise_correlation(fresh)) < limit
    # The twin hands each release its own copy of the same generator: subtracting the two removes all noise.
    shared = [two_counts((SeededSource(seed), SeededSource(seed))) for seed in range(2000)]
    assert noise_correlation(shared) > 0.99
    assert len({a - b for a, b in shared}) == 1


# --- Algorithm 3 as printed ---------------------------------------------------------------------------------------


def algorithm_3_step(gradient, scale, rng):
    """One step as printed: for every feature column the vertex of a K-dimensional ball with the least noisy score."""
    scores = np.concatenate([gradient, -gradient])  # (2K, p)
    return (scores + rng.laplace(scale=scale, size=scores.shape)).argmin(axis=0)


def test_the_twin_of_algorithm_3_follows_the_law_that_the_attack_uses():
    rng = np.random.default_rng(27)
    gradient = np.tile([[-1.0], [1.0], [0.0]], 300_000)
    chosen = np.bincount(algorithm_3_step(gradient, 2.0, rng), minlength=6)
    assert chi_square_p_value(chosen, noisy_min_law([-1, 1, 0, 1, -1, 0], 2.0)) > ALPHA


def test_algorithm_3_as_printed_overspends():
    """p selections a step are paid for as K: on features that all agree, the votes add up and give a record away."""
    classes, features, steps = 3, 20_000, 100
    budget = Budget(1.0, 1e-5)
    # Published scale in units of one record's contribution: Lipschitz constant 2, ε/K and δ/K for each class.
    noise = 2 * paper_noise(Budget(budget.epsilon / classes, budget.delta / classes), steps)
    # One record with x = (1, …, 1) moves the same two of a column's 2K vertices by one contribution, in each column.
    base = noisy_min_law([0, 0, 0, 0, 0, 0], noise)[0]
    moved = noisy_min_law([-1, 0, 0, 1, 0, 0], noise)[0]
    rng = np.random.default_rng(25)
    trials = 1_000_000
    with_record = rng.binomial(features * steps, moved, size=trials)
    without = rng.binomial(features * steps, base, size=trials)
    threshold = features * steps * base + 3.0 * math.sqrt(features * steps * base * (1 - base))
    bound = epsilon_lower_bound(
        np.count_nonzero(with_record > threshold), np.count_nonzero(without > threshold), trials, budget.delta
    )
    assert bound > budget.epsilon


def test_the_proved_multinomial_version_is_accounted_for_within_its_budget():
    classes, steps = 3, 100
    budget = Budget(1.0, 1e-5)
    noise = 2 * paper_noise(Budget(budget.epsilon / classes, budget.delta / classes), steps)
    assert accounting.epsilon_of_pure(2 / noise, classes * steps, budget.delta) <= budget.epsilon


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_the_audit_has_power(scale):
    """Randomised response at a known ε: the bound finds most of it and never more."""
    epsilon = 2.0 * scale
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    rng = np.random.default_rng(26)
    trials = 200_000
    bound = epsilon_lower_bound(rng.binomial(trials, p), rng.binomial(trials, 1 - p), trials)
    assert 0.9 * epsilon < bound <= epsilon
