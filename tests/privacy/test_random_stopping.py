"""Random stopping: how many runs there are, which is released, and what that costs."""

import math
from collections import Counter

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import GaussianRelease, RandomStopping, Repeated
from hardzero.privacy.randomness import SeededSource

from .statistics import ALPHA, chi_square_p_value

DRAWS = 5_000


def numbers_of_runs(odds, seed=1):
    source = SeededSource(seed)
    for _ in range(DRAWS):
        runs = []
        mechanisms.best_of_runs(lambda runs=runs: (runs.append(0) or 0, None), odds, source)
        yield len(runs)


def geometric_p_value(counts, odds):
    most = max(counts)
    law = [(1 - 1 / odds) ** (k - 1) / odds for k in range(1, most + 1)]
    return chi_square_p_value([counts[k] for k in range(1, most + 1)] + [0], [*law, 1 - sum(law)])


@pytest.mark.parametrize("odds", [2, 10])
def test_the_number_of_runs_is_geometric(odds):
    """And other means are told apart: two thirds and three halves of it."""
    counts = Counter(numbers_of_runs(odds))
    assert geometric_p_value(counts, odds) > ALPHA
    for wrong in (odds * 2 / 3, odds * 3 / 2):
        assert geometric_p_value(counts, max(wrong, 1.2)) < ALPHA


def test_one_run_where_nothing_is_drawn():
    assert mechanisms.best_of_runs(lambda: (3, "only"), 1, SeededSource(0)) == "only"
    assert RandomStopping("x", 5.0, 1).cost == GaussianRelease("x", 5.0).cost


def test_the_largest_score_wins_and_of_equal_ones_the_first():
    for seed in range(200):
        made = []
        scores = np.random.default_rng(seed).integers(0, 4, 1000).tolist()

        def run(made=made, scores=scores):
            made.append(len(made))
            return scores[made[-1]], made[-1]

        found = mechanisms.best_of_runs(run, 8, SeededSource(seed))
        assert found == int(np.argmax(scores[: len(made)]))


def stopped(law, classes, odds):
    """The exact law of the released result: of the best class by the chance of runs, inside it as in one run."""
    gamma = 1 / odds

    def mean_power(x):
        return gamma * x / (1 - (1 - gamma) * x)

    below, found = 0.0, np.zeros(len(law))
    for group in sorted(set(classes)):
        inside = np.array(classes) == group
        share = law[inside].sum()
        found[inside] = law[inside] / share * (mean_power(below + share) - mean_power(below))
        below += share
    return found


def divergence(p, q, order):
    return (
        math.log(np.sum(p**order * q ** (1 - order))) / (order - 1) if order > 1 else float(np.sum(p * np.log(p / q)))
    )


@given(
    weights=st.lists(st.floats(0.01, 1), min_size=3, max_size=6),
    tilt=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    classes=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    odds=st.sampled_from([2, 7, 50]),
    orders=st.tuples(st.floats(1.05, 60), st.floats(1.0, 60)),
)
def test_the_theorem_holds_for_laws_that_can_be_written_down(weights, tilt, classes, odds, orders):
    """Ties included; docs/proofs/tuning.md, 2."""
    order, other = orders
    one = np.array(weights) / np.sum(weights)
    two = one * np.exp(np.array(tilt[: len(one)]))
    two /= two.sum()
    classes = classes[: len(one)]
    bound = (
        divergence(one, two, order)
        + 2 * (1 - 1 / other) * divergence(two, one, max(other, 1.0001))
        + 2 * math.log(odds) / other
        + math.log(odds) / (order - 1)
    )
    assert divergence(stopped(one, classes, odds), stopped(two, classes, odds), order) <= bound * (1 + 1e-9) + 1e-12


def test_the_law_above_is_that_of_the_mechanism():
    law, classes, odds = np.array([0.5, 0.3, 0.15, 0.05]), (0, 1, 1, 2), 5
    source, chance = SeededSource(3), np.random.default_rng(3)

    def run():
        drawn = int(chance.choice(4, p=law))
        return classes[drawn], drawn

    counts = Counter(mechanisms.best_of_runs(run, odds, source) for _ in range(DRAWS))
    assert chi_square_p_value([counts[i] for i in range(4)], stopped(law, classes, odds)) > ALPHA
    assert chi_square_p_value([counts[i] for i in range(4)], stopped(law, classes, 7)) < ALPHA


@pytest.mark.parametrize("odds", [2, 10, 1000])
@pytest.mark.parametrize("noise", [0.8, 3.0, 30.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_agrees_with_dp_accounting(odds, noise, delta):
    """Theirs tries 300 orders and ours all: never above theirs, and below by what the orders between are worth."""
    orders = 1 + np.geomspace(1e-3, 1e3, 300)
    theirs = rdp_privacy_accountant.RdpAccountant(list(orders))
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(noise), mean=odds, shape=1))
    epsilon = accounting.spent([RandomStopping("x", noise, odds)], delta).epsilon
    assert theirs.get_epsilon(delta) * (1 - 1e-3) <= epsilon <= theirs.get_epsilon(delta) * (1 + 1e-9)


@pytest.mark.parametrize("odds", [3, 40])
def test_composed_with_others_as_dp_accounting_does(odds):
    events = [RandomStopping("x", 9.0, odds), Repeated(GaussianRelease("y", 30.0), 4), RandomStopping("z", 12.0, 5)]
    theirs = rdp_privacy_accountant.RdpAccountant(list(1 + np.geomspace(1e-3, 1e3, 300)))
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(9.0), mean=odds, shape=1))
    theirs.compose(dp_event.GaussianDpEvent(30.0), 4)
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(12.0), mean=5, shape=1))
    assert accounting.spent(events, 1e-6).epsilon == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-3)


def test_a_delta_beyond_all_numbers_buys_nothing():
    assert math.isinf(accounting.epsilon_of_rho(0.1, 0.0))
    assert math.isinf(accounting.spent([RandomStopping("x", 5.0, 10**400)], 1e-6).epsilon)


class TestFixedNumberOfRuns:
    """The broken twin: as many runs as there are on average. Its accounting would be wrong, and this shows it.

    A run is good if a Gaussian sum lies above a threshold; what is released is bad only if all runs are. Neighbours'
    sums are one sensitivity apart. All probabilities are exact.
    """

    ODDS, BUDGET = 1000, Budget(4.0, 1e-5)

    @pytest.fixture
    def noise(self):
        def events(inverse):
            return [RandomStopping("x", 1 / inverse, self.ODDS)]

        return 1 / accounting.most_within(self.BUDGET, events, 0.3)

    def excess(self, all_bad, noise):
        """The largest δ that some threshold needs at the ε that was asked for, in both directions."""
        threshold = np.linspace(-6, 8, 4001)
        chances = [all_bad(norm.cdf(threshold - shift)) for shift in (0.0, 1 / noise)]
        found = 0.0
        for one, two in (chances, chances[::-1]):
            for p, q in ((one, two), (1 - one, 1 - two)):
                found = max(found, float(np.max(p - math.exp(self.BUDGET.epsilon) * q)))
        return found

    def test_random_stopping_keeps_delta(self, noise):
        assert self.excess(lambda bad: bad / self.ODDS / (1 - (1 - 1 / self.ODDS) * bad), noise) <= self.BUDGET.delta

    def test_a_fixed_number_of_runs_does_not(self, noise):
        assert self.excess(lambda bad: bad**self.ODDS, noise) > 100 * self.BUDGET.delta
