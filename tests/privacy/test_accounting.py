import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardzero.methods.private_lasso import paper_noise
from hardzero.privacy import accounting
from hardzero.privacy.accounting import Stretch
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import GaussianRelease, NotPrivate, PerturbedMinimum, PureRelease, Repeated, Selection

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


def delta_by_recursion(eta, times, epsilon, near):
    """δ(ε) from a curve that is made for where it crosses ``near``."""
    return np.interp(epsilon, *accounting.curve_of_sequence((Stretch(eta, times, 0.0),), near))


def test_recursion_needs_still_less_noise_and_keeps_the_budget():
    eta = accounting.selection_eta(BUDGET, 1000, accountant="recursion")
    assert 2 / eta / paper_noise(BUDGET, 1000) <= 0.395
    assert delta_by_recursion(eta, 1000, 1.0, 1e-5) <= 1e-5


def test_recursion_accounts_for_what_it_calibrates():
    eta = accounting.selection_eta(BUDGET, 50, [PureRelease("count", 0.05)], "recursion")
    assert eta > accounting.selection_eta(BUDGET, 50, [PureRelease("count", 0.05)])
    events = [PureRelease("count", 0.05), Repeated(Selection(eta), 50)]
    spent = accounting.spent(events, BUDGET.delta, "recursion")
    assert spent <= BUDGET
    assert spent.epsilon >= 0.9999


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.4])
def test_one_selection_costs_its_range_by_the_recursion(epsilon):
    # A single bounded-range release has δ(ε) = the worst over t of p_t·(1 - e^(ε-t))₊.
    eta = 0.5
    t = np.linspace(0, eta, 100_001)
    chance = np.expm1(t - eta) / np.expm1(-eta)
    exact = float(np.max(chance * np.maximum(-np.expm1(epsilon - t), 0)))
    assert exact <= delta_by_recursion(eta, 1, epsilon, exact) <= 1.005 * exact


def test_recursion_dominates_simulated_adversaries():
    # Any fixed choice of t in every step is one adversary; the recursion must be worse than all of them.
    eta, times, epsilon = 0.2, 12, 0.5
    bound = delta_by_recursion(eta, times, epsilon, 0.01)
    for t in np.linspace(0, eta, 21):
        chance = np.expm1(t - eta) / np.expm1(-eta)
        highs = np.arange(times + 1)
        loss = times * t - (times - highs) * eta
        delta = np.sum(stats.binom.pmf(highs, times, chance) * np.maximum(-np.expm1(epsilon - loss), 0))
        assert delta <= bound


# --- Gaussian releases --------------------------------------------------------------------------------------------


def gaussian_delta(square, epsilon):
    """The exact curve of the Gaussian mechanism to 40 digits."""
    with mpmath.workdps(40):
        mu, e = mpmath.sqrt(square), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("mu", [1e-7, 1e-3, 0.05, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 1e-2, 0.3])
def test_gaussian_releases_cost_exactly_what_they_cost(mu, delta):
    """Never less than the truth, and a millionth less would be less."""
    epsilon = accounting.epsilon_of_gaussian(mu**2, delta)
    if epsilon > 1e-12:
        assert gaussian_delta(mu**2, epsilon) <= delta
        assert gaussian_delta(mu**2, epsilon * (1 - 1e-6)) > delta
    else:
        assert gaussian_delta(mu**2, 0) <= delta


@pytest.mark.parametrize("mu", [1e-4, 0.1, 1.0, 8.0])
def test_the_gaussian_curve_is_never_below_the_truth_for_negative_epsilon_too(mu):
    for epsilon in np.append(-np.geomspace(1e-5, 50, 40), np.geomspace(1e-5, 50, 40)):
        bound, true = accounting.delta_of_gaussian(mu**2, np.array([epsilon]))[0], gaussian_delta(mu**2, epsilon)
        if true > 1e-300:
            assert true * (1 - 1e-15) <= bound <= true * (1 + 1e-5)


@pytest.mark.parametrize(("noise", "times"), [(30.0, 10), (5.0, 1), (50.0, 1000), (2.0, 3)])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-8])
def test_gaussian_plans_agree_with_an_independent_accountant(noise, times, delta):
    """dp_accounting rounds its loss distributions up: it may be above the truth by its grid, never below."""
    theirs = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-4)
    theirs.compose(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(noise), times))
    ours = accounting.spent([Repeated(GaussianRelease("", noise), times)], delta).epsilon
    assert ours == pytest.approx(theirs.get_epsilon(delta), rel=1e-3, abs=1e-4)
    exact = gaussian_delta(times / noise**2, ours)
    assert exact <= delta <= exact * (1 + 1e-6)


@given(st.lists(st.tuples(st.floats(1.0, 100.0), st.integers(1, 50)), min_size=1, max_size=4))
def test_gaussian_releases_compose_in_any_grouping(parts):
    together = accounting.spent([Repeated(GaussianRelease("", noise), times) for noise, times in parts], 1e-6).epsilon
    singly = [GaussianRelease("", noise) for noise, times in parts for _ in range(times)]
    assert accounting.spent(singly, 1e-6).epsilon == pytest.approx(together, rel=1e-10)
    by_zcdp = accounting.spent(singly, 1e-6, "zcdp").epsilon
    assert together < by_zcdp
    assert accounting.spent([*singly, GaussianRelease("", 1e3)], 1e-6).epsilon > together


# --- Selections among Gaussian releases ---------------------------------------------------------------------------

SIZES = st.floats(0.01, 1.0)


def exact_delta(eta, square, epsilon, first):
    """One selection and one Gaussian release by brute force; ``first`` says which of them comes first."""
    t = np.linspace(0, eta, 2001)
    p = np.expm1(t - eta) / np.expm1(-eta)

    def selected(curve, x):
        return np.max(p * curve(x - t) + (1 - p) * curve(x - t + eta))

    if first == "selection":
        return selected(lambda x: stats_delta(square, x), epsilon)
    mu = math.sqrt(square)
    loss = np.linspace(mu**2 / 2 - 9 * mu, mu**2 / 2 + 9 * mu, 4001)
    later = [selected(lambda x: np.maximum(-np.expm1(x), 0), epsilon - one) for one in loss]
    return np.trapezoid(stats.norm.pdf(loss, mu**2 / 2, mu) * later, loss)


def stats_delta(square, x):
    mu = math.sqrt(square)
    return stats.norm.cdf(mu / 2 - x / mu) - np.exp(x) * stats.norm.cdf(-mu / 2 - x / mu)


ORDERS = {
    "selection": lambda eta, square: (Stretch(0.0, 0, 0.0), Stretch(eta, 1, square)),
    "gaussian": lambda eta, square: (Stretch(0.0, 0, square), Stretch(eta, 1, 0.0)),
}


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize(("eta", "mu"), [(0.02, 0.2), (0.3, 0.2), (1.0, 0.5), (0.5, 2.0)])
@pytest.mark.parametrize("epsilon", [0.1, 0.8, 2.0])
def test_a_selection_and_a_gaussian_release_cost_what_brute_force_finds(order, eta, mu, epsilon):
    exact = exact_delta(eta, mu**2, epsilon, order)
    if exact < 1e-12:
        pytest.skip("below what the brute force resolves")
    found = accounting.epsilon_of_sequence(ORDERS[order](eta, mu**2), exact)
    assert epsilon * (1 - 1e-6) <= found <= 1.003 * epsilon


def test_the_order_of_releases_matters_and_an_adversary_shows_it():
    """A selection that may look at a Gaussian release before it is worth more than one that may not.

    The adversary is explicit: after a loss of L it chooses the best t for ε - L. What it reaches is above the bound
    for the other order, so an accountant that lets the two change places is wrong.
    """
    eta, mu, epsilon = 1.0, 0.5, 0.8
    reached = exact_delta(eta, mu**2, epsilon, "gaussian")  # a strategy, hence a lower bound
    commuted = np.interp(epsilon, *accounting.curve_of_sequence(ORDERS["selection"](eta, mu**2), reached))
    right = np.interp(epsilon, *accounting.curve_of_sequence(ORDERS["gaussian"](eta, mu**2), reached))
    assert commuted * 1.01 < reached <= right
    choice, release = Selection(eta), GaussianRelease("", 1 / mu)
    assert accounting.spent([release, choice], reached).epsilon >= epsilon
    assert accounting.spent([choice, release], reached).epsilon < epsilon


@given(st.integers(1, 6), st.floats(0.05, 2.0), st.floats(0.2, 1.0))
def test_a_selection_on_a_coarse_grid_dominates_choices_between_its_points(span, eta, mu):
    """Against the supremum over 2,000 choices of t, most of them off the grid, from the exact Gaussian curve."""
    width = eta / span
    x = width * np.arange(-20, 21)
    bound = accounting._before_selections(stats_delta(mu**2, x), width, span, 1)
    t = np.linspace(0, eta, 2001)
    p = np.expm1(t - eta) / np.expm1(-eta)
    inside = slice(span, -span)  # beyond, the ends of the grid count
    exact = [np.max(p * stats_delta(mu**2, y - t) + (1 - p) * stats_delta(mu**2, y - t + eta)) for y in x[inside]]
    assert np.all(bound[inside] >= np.array(exact) * (1 - 1e-9) - 1e-15)


def test_selections_of_two_ranges_dominate_the_exact_adversary():
    """Two adaptive selections on a grid that holds both ranges; the accountant's holds the larger one alone."""
    small, large, epsilon, cells = 0.29, 0.5, 0.3, 1000
    x = epsilon + np.arange(-cells, cells + 1) / cells
    curve = np.maximum(-np.expm1(x), 0)
    for eta in (small, large):  # the later one first
        span = round(eta * cells)
        t = np.arange(span + 1) / cells
        p = np.expm1(t - eta) / np.expm1(-eta)
        padded = np.concatenate([np.zeros(span), curve, np.zeros(span)])  # a lower bound
        low = [padded[span - j :][: len(x)] for j in range(span + 1)]
        high = [padded[2 * span - j :][: len(x)] for j in range(span + 1)]
        curve = np.max(p[:, None] * low + (1 - p[:, None]) * high, axis=0)
    reached = curve[cells]
    found = accounting.epsilon_of_sequence((Stretch(large, 1, 0.0), Stretch(small, 1, 0.0)), reached)
    assert epsilon * (1 - 1e-6) <= found <= 1.01 * epsilon


def test_simulated_adversaries_stay_below_a_long_sequence():
    """Selections around Gaussian releases, every step's t fixed beforehand, in 400,000 runs."""
    rng = np.random.default_rng(8)
    sequence = (Stretch(0.0, 0, 0.05), Stretch(0.1, 6, 0.02), Stretch(0.25, 2, 0.1))
    for share in (0.3, 0.5, 0.7):
        loss = np.zeros(400_000)
        for part in sequence:
            for _ in range(part.times):
                t = share * part.eta
                high = rng.random(len(loss)) < np.expm1(t - part.eta) / np.expm1(-part.eta)
                loss += np.where(high, t, t - part.eta)
            loss += rng.normal(part.square / 2, math.sqrt(part.square), len(loss))
        gain = np.maximum(-np.expm1(0.5 - loss), 0)
        seen, error = gain.mean(), gain.std() / math.sqrt(len(loss))
        bound = np.interp(0.5, *accounting.curve_of_sequence(sequence, seen))
        assert seen <= bound + 5 * error
        assert bound <= 1.25 * seen


@given(SIZES, SIZES, st.integers(1, 20), st.floats(1e-8, 1e-2))
@settings(max_examples=30, deadline=None)
def test_mixed_plans_are_monotone_and_never_above_zcdp(eta, mu, times, delta):
    def cost(eta, mu, times, accountant="exact"):
        events = [GaussianRelease("", 2 / mu), Repeated(Selection(eta), times), GaussianRelease("", 1 / mu)]
        return accounting.spent(events, delta, accountant).epsilon

    base = cost(eta, mu, times)
    assert base <= cost(eta, mu, times, "zcdp")
    room = 1 + 1e-4  # the grid is another one
    assert base <= cost(eta, mu, times + 1) * room
    assert base <= cost(1.02 * eta, mu, times) * room
    assert base <= cost(eta, 1.02 * mu, times) * room
    assert base >= accounting.epsilon_of_gaussian(1.25 * mu**2, delta)  # without the selections


def test_a_finer_grid_would_change_next_to_nothing(monkeypatch):
    """Many selections of one range and one of another: within half a percent of what 4 times the points give."""
    sequence = (Stretch(0.0, 0, 0.02), Stretch(0.02, 150, 0.0), Stretch(0.05, 1, 0.02))
    coarse = accounting.epsilon_of_sequence(sequence, 1e-5)
    x, _ = accounting.curve_of_sequence(sequence, 1e-5)
    fine = np.arange(x[0], x[-1], 0.02 / 80)
    curve = accounting._before_selections(accounting.delta_of_gaussian(0.02, fine), 0.02 / 80, 200, 1)
    curve = accounting._before_selections(curve, 0.02 / 80, 80, 150)
    curve = accounting._before_gaussian(curve, 0.02 / 80, math.sqrt(0.02), 9.0)
    exact = fine[np.argmax(curve <= 1e-5)]
    assert exact - 0.02 / 80 <= coarse <= 1.005 * exact


def test_repetition_is_the_event_so_many_times_in_a_row():
    for event in (GaussianRelease("", 9.0), Selection(0.1)):
        before, after = Selection(0.2), GaussianRelease("", 5.0)
        once = accounting.spent([before, *([event] * 7), after], 1e-5).epsilon
        assert accounting.spent([before, Repeated(event, 7), after], 1e-5).epsilon == pytest.approx(once, rel=1e-9)


def test_what_would_take_too_long_is_charged_by_zcdp():
    release = GaussianRelease("", 5.0)
    for events in (
        [release, Repeated(Selection(0.001), 10**9)],
        [release, Selection(0.5)] * 500,
        [release, Selection(150.0)],
    ):
        assert accounting.spent(events, 1e-5) == accounting.spent(events, 1e-5, "zcdp")


def test_releases_of_other_kinds_are_charged_by_zcdp():
    for other in (
        PureRelease("", 0.1),
        PerturbedMinimum("", 5.0, 0.1),
        Repeated(Repeated(GaussianRelease("", 9.0), 2), 2),
    ):
        events = [GaussianRelease("", 5.0), other, Selection(0.1)]
        assert accounting.spent(events, 1e-5) == accounting.spent(events, 1e-5, "zcdp")


@pytest.mark.parametrize("times", [0, 1, 300])
def test_most_within_uses_the_budget_in_few_steps(times, monkeypatch):
    asked = []

    def events(scale):
        asked.append(scale)
        gaussian = GaussianRelease("", 1 / math.sqrt(scale))
        return (
            [gaussian, Repeated(Selection(math.sqrt(8 * 0.3 * scale / times)), times), gaussian]
            if times
            else [gaussian]
        )

    scale = accounting.most_within(BUDGET, events, accounting.rho_left(BUDGET))
    spent = accounting.spent(events(scale), BUDGET.delta)
    assert spent <= BUDGET
    assert spent.epsilon >= (1 - (1e-4 if times else 1e-10)) * BUDGET.epsilon
    assert len(asked) <= 12


@pytest.mark.parametrize("guess", [1e-9, 0.01, 0.3, 1e6])
def test_most_within_finds_its_way_from_any_guess(guess):
    """From where nothing is spent, and from where far too much is."""
    inverse = accounting.most_within(Budget(0.5, 0.1), lambda x: [GaussianRelease("", 1 / x)], guess)
    assert accounting.epsilon_of_gaussian(inverse**2, 0.1) == pytest.approx(0.5, rel=1e-9)
    assert accounting.epsilon_of_gaussian(inverse**2, 0.1) <= 0.5


def test_most_within_ends_on_the_safe_side_of_a_jump():
    """A cost that jumps over the budget: the secant cannot hit it, and must end just before."""

    def events(x):
        return [PureRelease("", 0.5 if x < 3 else 2.0)]

    assert accounting.most_within(Budget(1.0, 1e-15), events, 1.0) == pytest.approx(3, rel=1e-9)
    assert accounting.most_within(Budget(1.0, 1e-15), events, 1.0) < 3


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


@pytest.mark.parametrize("selections", [(), (Selection(0.05, "a choice"),)], ids=["gaussian", "with a selection"])
def test_the_least_delta_that_can_be_asked_for_has_an_account(selections):
    asked = Budget.asked(1.0, 1e-100)
    events = (*selections, GaussianRelease("sums", 30.0))
    assert 0.1 < accounting.spent(events, asked.delta).epsilon < 2.0
