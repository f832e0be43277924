import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import stats

from hardzero.methods.private_lasso import paper_noise
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import GaussianRelease, NotPrivate, PureRelease, Repeated, Selection

BUDGET = Budget(1.0, 1e-5)
GRID = list(itertools.product([0.01, 0.1, 1.0, 4.0, 50.0, 1000.0], [1e-12, 1e-5, 0.1], [1, 30, 1000, 50_000]))


@pytest.mark.parametrize(("epsilon", "delta", "times"), GRID)
def test_calibrate_then_account_never_exceeds_what_was_asked(epsilon, delta, times):
    eta = accounting.selection_eta(Budget(epsilon, delta), times)
    spent = accounting.spent([Repeated(Selection(eta), times)], delta)
    assert spent <= Budget(epsilon, delta)
    # and does not leave much behind, where the pure bound is not the better one
    assert spent.epsilon >= min(0.999999 * epsilon, times * eta)


@pytest.mark.parametrize(("epsilon", "delta", "times"), GRID)
def test_agrees_with_dp_accounting(epsilon, delta, times):
    eta = accounting.selection_eta(Budget(epsilon, delta), times)
    rho = times * eta**2 / 8
    orders = 1 + np.geomspace(1e-4, 1e7, 4000)
    theirs = rdp_privacy_accountant.RdpAccountant(list(orders))
    theirs.compose(dp_event.ZCDpEvent(rho))
    assert accounting.epsilon_of_rho(rho, delta) == pytest.approx(theirs.get_epsilon(delta), rel=0.01)


def test_tight_noise_against_the_papers():
    noise = 2 / accounting.selection_eta(BUDGET, 1000)  # Gumbel scale in sensitivities
    assert noise / paper_noise(BUDGET, 1000) <= 0.43


@pytest.mark.slow
def test_recursion_needs_still_less_noise_and_keeps_the_budget():
    eta = accounting.selection_eta(BUDGET, 1000, accountant="recursion")
    assert 2 / eta / paper_noise(BUDGET, 1000) <= 0.40
    assert accounting.delta_of_selections(eta, 1000, 1.0) <= 1e-5


def test_recursion_accounts_for_what_it_calibrates():
    eta = accounting.selection_eta(BUDGET, 50, [PureRelease("count", 0.05)], "recursion")
    assert eta > accounting.selection_eta(BUDGET, 50, [PureRelease("count", 0.05)])
    events = [PureRelease("count", 0.05), Repeated(Selection(eta), 50)]
    spent = accounting.spent(events, BUDGET.delta, "recursion")
    assert spent <= BUDGET
    assert spent.epsilon >= 0.99


def test_one_selection_costs_its_range_by_the_recursion():
    # A single bounded-range release has δ(ε) = the worst over t of p_t·(1 - e^(ε-t))₊.
    eta, epsilon = 0.5, 0.2
    t = np.linspace(0, eta, 10_001)
    chance = np.expm1(t - eta) / np.expm1(-eta)
    exact = float(np.max(chance * np.maximum(-np.expm1(epsilon - t), 0)))
    bound = accounting.delta_of_selections(eta, 1, epsilon)
    assert exact <= bound <= 1.1 * exact


def test_recursion_dominates_simulated_adversaries():
    # Any fixed choice of t in every step is one adversary; the recursion must be worse than all of them.
    eta, times, epsilon = 0.2, 12, 0.5
    bound = accounting.delta_of_selections(eta, times, epsilon)
    for t in np.linspace(0, eta, 21):
        chance = np.expm1(t - eta) / np.expm1(-eta)
        highs = np.arange(times + 1)
        loss = times * t - (times - highs) * eta
        delta = np.sum(stats.binom.pmf(highs, times, chance) * np.maximum(-np.expm1(epsilon - loss), 0))
        assert delta <= bound


def test_recursion_refuses_releases_without_a_pure_cost():
    with pytest.raises(ValueError, match="zcdp"):
        accounting.selection_eta(BUDGET, 10, [GaussianRelease("sum", 100.0)], "recursion")


def test_the_papers_noise_by_optimal_composition():
    noise = paper_noise(BUDGET, 1000)
    for contributions, honest in ((1, 0.758), (2, 1.626)):
        event = Repeated(PureRelease("noisy-min", 2 * contributions / noise), 1000)
        assert accounting.spent([event], 1e-5, "pure").epsilon == pytest.approx(honest, abs=1e-3)


def test_optimal_composition_of_two_by_hand():
    # Two randomised responses: δ(ε) = Σ (P - e^ε Q)₊ over the four outcomes.
    e0, delta = 0.7, 0.05
    p = np.array([math.exp(e0), 1]) / (1 + math.exp(e0))
    P = np.outer(p, p).ravel()
    Q = np.outer(p[::-1], p[::-1]).ravel()
    epsilon = accounting.epsilon_of_pure(e0, 2, delta)
    assert np.maximum(P - math.exp(epsilon) * Q, 0).sum() == pytest.approx(delta)


def test_budget_already_spent_by_others_is_an_error():
    with pytest.raises(ValueError, match="larger epsilon"):
        accounting.rho_left(BUDGET, [GaussianRelease("sum", 0.1)])


def test_gaussian_costs_what_the_analytic_gaussian_mechanism_allows():
    # The exact δ(ε) of Gaussian noise (Balle and Wang 2018) is below what zCDP promises, and close to it.
    noise = 5.0
    epsilon = accounting.spent([GaussianRelease("sum", noise)], 1e-5).epsilon
    mu = 1 / noise
    exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    assert 1e-7 < exact <= 1e-5


def test_nothing_costs_nothing_and_not_private_costs_everything():
    assert accounting.spent([], 1e-5) == Budget(0.0, 1e-5)
    assert math.isinf(accounting.spent([NotPrivate("x"), Selection(0.1)], 1e-5).epsilon)
    assert math.isinf(accounting.epsilon_of_rho(math.inf, 1e-5))


def test_few_small_releases_are_charged_by_basic_composition():
    assert accounting.spent([Selection(1e-3)], 1e-9).epsilon == pytest.approx(1e-3)


def test_more_budget_means_less_noise():
    etas = [accounting.selection_eta(Budget(epsilon, 1e-6), 100) for epsilon in (0.1, 1, 10)]
    assert etas == sorted(etas)
    assert accounting.selection_eta(Budget(1, 1e-3), 100) > accounting.selection_eta(Budget(1, 1e-9), 100)
