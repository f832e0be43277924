"""The filters: releases that are chosen on the way keep within the cap (docs/proofs/ledger.md)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.ledger.filters import NOTHING, Filter, _mean_of_range, cost_of
from hardzero.ledger.state import State, cost_from_dict, cost_to_dict, opened
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import (
    GaussianRelease,
    NotPrivate,
    PerturbedMinimum,
    PureRelease,
    RandomStopping,
    Repeated,
    Selection,
)

CAPS = [Budget(0.1, 1e-8), Budget(1.0, 1e-6), Budget(8.0, 1e-5)]

noises = st.floats(1.0, 1e3)
singles = st.one_of(
    st.builds(GaussianRelease, st.just("a sum"), noises),
    st.builds(Selection, st.floats(1e-4, 2.0)),
    st.builds(PureRelease, st.just("a count"), st.floats(1e-4, 1.0)),
)
events = st.one_of(singles, st.builds(Repeated, singles, st.integers(1, 50)))


@pytest.mark.parametrize("eta", [1e-4, 0.009, 0.011, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0])
def test_a_choice_of_bounded_range_tells_no_more_than_its_gaussian(eta):
    """At every ε, for every way to split the range: all hockey-stick divergences are below the Gaussian pair's."""
    square = _mean_of_range(eta) ** 2
    epsilon = np.linspace(-eta, eta, 201)
    bound = accounting.delta_of_gaussian(square, epsilon)
    for t in np.linspace(0, eta, 101)[1:-1]:
        p = math.expm1(t - eta) / math.expm1(-eta)
        loss, chance = np.array([t, t - eta])[:, None], np.array([p, 1 - p])[:, None]
        exact = np.sum(chance * -np.expm1(np.minimum(epsilon - loss, 0)), axis=0)
        assert np.all(exact <= bound * (1 + 1e-7) + 1e-15)


@pytest.mark.parametrize("bound", [0.001, 0.1, 1.0, 5.0])
def test_a_pure_release_tells_no_more_than_its_gaussian(bound):
    """Randomised response is the worst of all ε-DP releases."""
    epsilon = np.linspace(-bound, bound, 201)
    p = 1 / (1 + math.exp(-bound))
    exact = p * -np.expm1(np.minimum(epsilon - bound, 0)) + (1 - p) * -np.expm1(np.minimum(epsilon + bound, 0))
    square = cost_of([PureRelease("a count", bound)]).square
    assert np.all(exact <= accounting.delta_of_gaussian(square, epsilon) * (1 + 1e-7))


@pytest.mark.parametrize("eta", [0.1, 1.0, 3.0])
def test_a_smaller_gaussian_would_not_do(eta):
    """The power of the test above: at ε = 0 the even split reaches the bound."""
    p = 1 / (1 + math.exp(-eta / 2))
    exact = 2 * p - 1
    mean = _mean_of_range(eta)
    assert exact == pytest.approx(float(accounting.delta_of_gaussian(mean**2, np.array(0.0))), rel=1e-6)
    assert exact > accounting.delta_of_gaussian((0.99 * mean) ** 2, np.array(0.0))


@pytest.mark.parametrize("cap", CAPS, ids=str)
def test_the_limit_is_what_the_cap_holds(cap):
    gaussian = Filter.of_cap("gaussian", cap)
    assert accounting.epsilon_of_gaussian(gaussian.limit, cap.delta) <= cap.epsilon
    assert accounting.epsilon_of_gaussian(gaussian.limit * (1 + 1e-6), cap.delta) > cap.epsilon
    renyi = Filter.of_cap("renyi", cap)
    assert renyi.limit <= renyi.order * accounting.rho_of_budget(cap)
    assert renyi.limit == pytest.approx(renyi.order * accounting.rho_of_budget(cap), rel=1e-6)
    # The conversion at this order, by the formula of docs/proofs/accounting.md, 2.
    order = renyi.order
    log_delta = (
        (order - 1) * (renyi.limit - cap.epsilon) + (order - 1) * math.log(order - 1) - order * math.log(order)
    )
    assert math.exp(log_delta) <= cap.delta


def worst_after(mean, chosen, epsilon):
    """δ(ε) of a Gaussian release, after which the adversary sees the loss and chooses the next Gaussian release."""
    z = np.linspace(-12, 12, 40_001)
    loss = mean**2 / 2 + mean * z
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    squares = np.maximum([chosen(x) for x in loss], 1e-12)
    later = np.array(
        [accounting.delta_of_gaussian(s, np.array(epsilon - x)) for s, x in zip(squares, loss, strict=True)]
    )
    return float(np.sum(weight * later))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.5])
def test_an_adversary_that_chooses_budgets_by_what_it_saw_keeps_delta(share, threshold):
    cap = Budget(1.0, 1e-3)
    limit = Filter.of_cap("gaussian", cap).limit
    mean = math.sqrt(share * limit)

    def greedy(loss):
        return (1 - share) * limit if loss > threshold * mean else 0.0

    assert worst_after(mean, greedy, cap.epsilon) <= cap.delta
    assert worst_after(mean, lambda loss: (1 - share) * limit, cap.epsilon) == pytest.approx(cap.delta, rel=1e-4)
    # The power of this test: somebody who spends a little more where it pays off is found out.
    if share < 0.9:
        assert worst_after(mean, lambda loss: 1.3 * (1 - share) * limit, cap.epsilon) > cap.delta


@given(st.lists(events, min_size=1, max_size=6), st.sampled_from(CAPS))
def test_what_a_filter_allows_other_accountants_allow_too(released, cap):
    """A plan fixed beforehand can be accounted for by any theorem: none finds more than the filter does."""
    total = cost_of(released)
    by_zcdp = accounting.spent(released, cap.delta, "zcdp").epsilon
    renyi = Filter.of_cap("renyi", cap)
    if renyi.allows(total):
        assert by_zcdp <= cap.epsilon * (1 + 1e-9)
    assert renyi.epsilon_of(total) == pytest.approx(by_zcdp, rel=1e-9)
    if all(isinstance(getattr(event, "event", event), GaussianRelease) for event in released):
        gaussian = Filter.of_cap("gaussian", cap)
        exact = accounting.spent(released, cap.delta).epsilon
        assert gaussian.epsilon_of(total) == pytest.approx(exact, rel=1e-9)
        assert gaussian.allows(total) <= (exact <= cap.epsilon)


@given(st.lists(events, min_size=1, max_size=4), st.integers(1, 9))
def test_repetition_is_the_event_so_many_times(released, times):
    once, again = cost_of(released), cost_of(released * times)
    assert all(a == pytest.approx(times * b, rel=1e-9) for a, b in zip(again, once, strict=True))


def test_shifts_count_against_the_one_order_of_the_filter():
    cap = Budget(1.0, 1e-6)
    renyi = Filter.of_cap("renyi", cap)
    minimum = PerturbedMinimum("weights", 20.0, 0.05)
    cost = cost_of([minimum])
    assert renyi.used(cost) == pytest.approx(cost.shift + renyi.order * cost.rho)
    assert renyi.epsilon_of(cost) >= accounting.spent([minimum], cap.delta).epsilon
    most = int(renyi.limit / renyi.used(cost))
    assert renyi.allows(cost_of([minimum] * most))
    assert not renyi.allows(cost_of([minimum] * (most + 1)))
    assert renyi.epsilon_of(cost_of([minimum] * most)) <= 1.0 < renyi.epsilon_of(cost_of([minimum] * (most + 1)))


def test_tails_count_against_the_one_order_of_the_filter():
    """What the filter allows, the accountant allows; and a tail is not forgotten when it is written."""
    cap = Budget(1.0, 1e-6)
    renyi = Filter.of_cap("renyi", cap)
    stopping = RandomStopping("fits", 40.0, 10)
    cost = cost_of([stopping])
    assert renyi.used(cost) == pytest.approx(cost.shift + renyi.order * cost.rho + math.log(10) / (renyi.order - 1))
    assert renyi.epsilon_of(cost) >= accounting.spent([stopping], cap.delta).epsilon
    most = int(renyi.limit / renyi.used(cost))
    assert most > 1
    assert accounting.spent([stopping] * most, cap.delta).epsilon <= 1.0
    assert renyi.epsilon_of(cost_of([stopping] * most)) <= 1.0 < renyi.epsilon_of(cost_of([stopping] * (most + 1)))
    assert cost_from_dict(cost_to_dict(cost)) == cost
    assert "tail" not in cost_to_dict(cost_of([GaussianRelease("a sum", 3.0)]))
    assert math.isinf(Filter.of_cap("gaussian", cap).used(cost))


@pytest.mark.parametrize("accountant", ["gaussian", "renyi"])
def test_what_is_not_private_is_never_allowed(accountant):
    state = opened(Neighbours.ZERO_OUT, accountant, CAPS[1], None)
    assert not state.charged(cost_of([NotPrivate("a table")]), Budget(math.inf, 0.0)).is_allowed
    assert state.is_allowed
    assert state.spent == 0.0
    assert state.total == NOTHING


@pytest.mark.parametrize("accountant", ["gaussian", "renyi"])
def test_only_the_first_fit_is_taken_at_its_word(accountant):
    """The second is chosen after the first was seen: for that its own accountant proves nothing."""
    state = opened(Neighbours.ZERO_OUT, accountant, CAPS[1], None)
    dear, cheap = cost_of([GaussianRelease("a sum", 1.0)]), cost_of([GaussianRelease("a sum", 1e4)])
    promise = Budget(0.5, 1e-6)
    assert state.charged(dear, promise).is_allowed
    assert not state.charged(dear, promise).charged(cheap, promise).is_allowed
    assert not state.charged(cheap, promise).charged(dear, promise).is_allowed
    assert not state.charged(dear, Budget(0.5, 1e-5)).is_allowed
    assert not state.charged(dear, Budget(1.5, 1e-6)).is_allowed


@given(st.lists(events, max_size=3), st.booleans())
def test_a_state_survives_being_written(released, raised):
    state = opened(Neighbours.REPLACE_ONE, "renyi", CAPS[0], "a" * 64)
    for event in released:
        state = state.charged(cost_of([event]), Budget(0.1, 1e-9))
    if raised:
        state = state.with_cap(Budget(0.2, 1e-8))
    assert State.from_dict(state.to_dict()) == state
