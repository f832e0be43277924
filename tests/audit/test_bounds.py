"""Bounds hold as often as they say, and find most of what is there."""

import math

import numpy as np
import pytest
from scipy import stats

from hardzero.audit.bounds import Chances, chances, epsilon_shown, likely_counts, mu_shown


@pytest.mark.parametrize(("hits", "alarms"), [(0, 0), (1, 0), (50, 3), (99, 97), (100, 100)])
def test_bounds_are_clopper_and_pearsons(hits, alarms):
    found = chances(np.array([hits]), np.array([alarms]), 100, 1e-3)
    assert found.likely[0] == pytest.approx(stats.binomtest(hits, 100).proportion_ci(0.998).low, abs=1e-12)
    assert found.rare[0] == pytest.approx(stats.binomtest(alarms, 100).proportion_ci(0.998).high, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_found_and_never_exceeded(epsilon):
    """At a known ε, with 200,000 runs; the chance that this fails for a seed drawn at random is below 1e-6."""
    p, runs = math.exp(epsilon) / (1 + math.exp(epsilon)), 200_000
    rng = np.random.default_rng(1)
    found = chances(rng.binomial(runs, p, size=1), rng.binomial(runs, 1 - p, size=1), runs, 2.5e-7)
    assert 0.95 * epsilon < epsilon_shown(found, 0.0)[0] <= epsilon


def test_a_complement_shows_as_much_with_the_inputs_exchanged():
    one = Chances(np.array([0.999]), np.array([0.5]))
    other = Chances(np.array([0.5]), np.array([0.001]))
    assert epsilon_shown(one, 0.01)[0] == pytest.approx(epsilon_shown(other, 0.01)[0])
    assert epsilon_shown(one, 0.01)[0] == pytest.approx(math.log(0.49 / 0.001))


def test_delta_is_taken_off_and_nothing_is_shown_below_it():
    found = Chances(np.array([0.3]), np.array([0.1]))
    assert epsilon_shown(found, 0.1)[0] == pytest.approx(math.log(2))
    assert epsilon_shown(found, 0.95)[0] == -math.inf


def test_mu_is_the_distance_of_two_normal_laws():
    mu, at = 1.3, 0.4
    found = Chances(stats.norm.sf([at - mu]), stats.norm.sf([at]))
    assert mu_shown(found)[0] == pytest.approx(mu)
    assert mu_shown(Chances(np.array([0.1]), np.array([0.2])))[0] == 0


def test_likely_counts_are_unlucky_but_not_more():
    hits, alarms = likely_counts(1.0, 1000)
    assert stats.binom.cdf(hits, 1000, stats.norm.cdf(0.5)) == pytest.approx(0.05, abs=0.01)
    assert alarms == 1000 - hits
    assert likely_counts(1e3, 1000)[0] >= 999
