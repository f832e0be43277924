"""Deliberately broken versions of objective perturbation, Two-Stage and Private ADMM, each caught by the very check
that the right one passes.

Every test first runs the check on the library as it is, then on the twin. What the twin does is charged as before.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from hardzero.methods import admm, two_stage
from hardzero.methods.admm import private_admm
from hardzero.methods.objective import minimise_logistic, plan_perturbation
from hardzero.methods.plans import charged
from hardzero.methods.rows import ClippedRows
from hardzero.methods.two_stage import voted_features
from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget, BudgetExceededError, Neighbours
from hardzero.privacy.events import Cost, PerturbedMinimum, Repeated, Selection
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import every_relation
from ..privacy.test_perturbed_minimum import ADD_REMOVE, FAR, OPPOSITE, largest_ratio
from .test_admm import Rounds, centres_of_both, fresh, has_hard_zeros, of_planned_size, wide
from .test_objective import GAP, miss, rows_of, rows_within, seen_by_the_fit
from .test_twins import twin_of
from .test_two_stage import BUDGET, plan_of, releases, votes_hold, votes_of_both

# --- Noise reused -------------------------------------------------------------------------------------------------


def test_noise_drawn_once_for_all_rounds_is_caught(monkeypatch):
    """Published code does this: the difference of two rounds' minimisers is then free of noise."""
    problem, plan = wide()
    assert fresh(Rounds(problem, plan).linear)
    original = admm.perturbed_logistic
    monkeypatch.setattr(admm, "perturbed_logistic", lambda *args: original(*args[:-1], SeededSource(90)))
    assert not fresh(Rounds(problem, plan).linear)
    assert not fresh(Rounds(problem, plan).gap)


# --- More spent than was asked for --------------------------------------------------------------------------------


def test_noise_of_half_the_size_is_caught(monkeypatch):
    problem, plan = wide()
    assert of_planned_size(Rounds(problem, plan).linear)
    original = mechanisms.perturbed_minimum
    monkeypatch.setattr(
        mechanisms,
        "perturbed_minimum",
        lambda minimise, size, sigma, *rest: original(minimise, size, sigma / 2, *rest),
    )
    assert not of_planned_size(Rounds(problem, plan).linear)


def worst(pairs, noise, bend, bound):
    return max(largest_ratio(pair, contributions, noise, bend, bound) for contributions, pair in pairs)


@pytest.mark.parametrize("noise", [0.3, 1.0, 4.0])
def test_a_cost_as_if_the_noise_were_twice_as_large_is_caught(noise):
    """Exact divergences are above it."""
    assert worst(ADD_REMOVE, noise, 0.01, PerturbedMinimum("", noise, 0.01).cost) <= 1
    assert worst(ADD_REMOVE, noise, 0.01, PerturbedMinimum("", 2 * noise, 0.01).cost) > 1.2


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_replace_one_charged_as_add_remove_is_caught(noise):
    bound = PerturbedMinimum("", noise, 0.01).cost
    assert largest_ratio(OPPOSITE, 2, noise, 0.01, bound, FAR) <= 1
    assert largest_ratio(OPPOSITE, 1, noise, 0.01, bound, FAR) > 1.2


@pytest.mark.parametrize(("noise", "bend"), [(1000.0, 0.01), (100.0, 0.1)])
def test_a_cost_that_forgets_the_bend_is_caught(noise, bend):
    """Where noise is large and convexity weak, a record is given away by the determinant, not by the gradient."""
    cost = PerturbedMinimum("", noise, bend).cost
    assert worst(ADD_REMOVE, noise, bend, cost) <= 1
    assert worst(ADD_REMOVE, noise, bend, cost._replace(shift=cost.shift - math.log1p(bend))) > 2
    assert worst(ADD_REMOVE, noise, bend, Cost(cost.rho)) > 2  # as if the gradient had been released


def test_half_the_budget_for_votes_and_all_of_it_for_the_fit_is_refused():
    """Published code does this: ε/2 + ε."""
    plan = plan_of(3, 10)
    assert charged(BUDGET, plan.events) <= BUDGET
    eta = math.sqrt(8 / 3 * accounting.rho_of_budget(Budget(BUDGET.epsilon / 2, BUDGET.delta)))
    votes = Repeated(Selection(eta, "one feature by the blocks' votes"), 3)
    fit = plan_perturbation("weights of the chosen features", BUDGET, [], 1.0, plan.fit.convexity)
    assert charged(BUDGET, fit.events) <= BUDGET
    with pytest.raises(BudgetExceededError, match="more than 1"):
        charged(BUDGET, [votes, *fit.events])


def test_votes_taken_twice_are_caught(monkeypatch):
    rng = np.random.default_rng(91)
    problem = rows_of(rng.uniform(-1, 1, size=(60, 5)), rng.integers(0, 2, size=60)).problem
    plan = plan_of(2, 5)
    paid = sum(event.times for event in plan.events)
    assert len(releases(problem, plan)) == paid

    def twice(*args):
        voted_features(*args)
        return voted_features(*args)

    monkeypatch.setattr(two_stage, "voted_features", twice)
    assert len(releases(problem, plan)) == paid + plan.kept


# --- Which weights ------------------------------------------------------------------------------------------------


def test_dense_weights_under_the_name_of_sparse_ones_are_caught():
    problem, plan = wide()
    assert has_hard_zeros(Rounds(problem, plan))
    dense = twin_of(private_admm, "return sparse", "return dense")
    assert not has_hard_zeros(Rounds(problem, plan, dense))


@every_relation
def test_multipliers_made_from_what_was_not_released_are_caught(relation):
    assert np.array_equal(*centres_of_both(relation))
    exact = "perturbed_logistic.__globals__['minimise_logistic'](rows, centre, plan.fit.convexity, 0 * dense)"
    leaking = twin_of(private_admm, "(sparse - dense)", f"(sparse - {exact})")
    assert not np.array_equal(*centres_of_both(relation, leaking))


# --- Blocks -------------------------------------------------------------------------------------------------------

# Two rows of feature 0 and two weak ones of feature 1, by turns: blocks of two vote by turns, but blocks with one row
# of each kind vote for feature 1, which needs the larger weight.
BY_TURNS = np.tile([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.5]], (4, 1))


def blocks_hold(relation, vote, owners, place):
    """A row leaves, or is replaced by one of the other kind."""
    newcomer = BY_TURNS[place + 2], 1
    args = vote, relation, BY_TURNS, np.ones(16, dtype=int), owners, place, plan_of(1, 8), newcomer
    (one, _), (other, _) = votes_of_both(*args)
    return votes_hold(one, other)


@every_relation
def test_blocks_cut_by_position_are_caught_under_add_remove(relation):
    """One row less shifts all later rows, and the blocks with them; where a row is exchanged it is no fault."""
    pairs = np.arange(16) // 2
    assert blocks_hold(relation, voted_features, pairs, 0)
    by_position = twin_of(
        voted_features,
        "source.integers_below(plan.blocks, problem.data.n_rows)",
        "np.repeat(np.arange(plan.blocks), [len(b) for b in np.array_split(problem.targets, plan.blocks)])",
    )
    assert blocks_hold(relation, by_position, pairs, 0) == (relation is Neighbours.REPLACE_ONE)


@every_relation
def test_votes_that_weigh_as_much_as_a_block_has_rows_are_caught(relation, monkeypatch):
    weighed = twin_of(
        two_stage.block_votes,
        "votes += keep_largest(coef, plan.kept)[0] != 0",
        "votes += data.n_rows * (keep_largest(coef, plan.kept)[0] != 0)",
    )
    # One row of each kind make a block; then the weak one leaves, or becomes strong.
    owners = np.array([0, 1, 0, *[1] * 13])
    assert blocks_hold(relation, voted_features, owners, 2)
    monkeypatch.setattr(two_stage, "block_votes", weighed)
    assert not blocks_hold(relation, voted_features, owners, 2)


# --- Rows ---------------------------------------------------------------------------------------------------------


def test_rows_that_are_not_clipped_are_caught(monkeypatch):
    X, y = np.array([[1.0, -1.0, 1.0], [0.1, 0.0, 0.0]]), [0, 1]
    assert rows_within(rows_of(X, y))
    monkeypatch.setattr(
        ClippedRows, "of", classmethod(lambda cls, problem, norm: cls(problem, np.ones(problem.data.n_rows), norm))
    )
    assert not rows_within(rows_of(X, y))


def test_a_constant_added_after_clipping_is_caught():
    """The row without it is as long as it may be; with it, it is longer."""
    X, y = np.array([[0.6, 0.8]]), [1]
    right = rows_of(np.column_stack([X, [1.0]]), y)
    assert rows_within(right)
    clipped = rows_of(X, y)
    assert not rows_within(replace(clipped, problem=right.problem))


# --- The minimiser ------------------------------------------------------------------------------------------------


def sloppy(rows, centre, convexity, linear):
    """Minimise by L-BFGS with the tolerances that everybody uses."""
    X, y = seen_by_the_fit(rows), rows.problem.targets[:, 0]

    def objective(w):
        margins = X @ w
        value = (
            np.sum(np.logaddexp(0, margins) - y * margins) + convexity / 2 * np.sum((w - centre) ** 2) + linear @ w
        )
        return value, X.T @ (1 / (1 + np.exp(-margins)) - y) + convexity * (w - centre) + linear

    return minimize(objective, centre, jac=True, method="L-BFGS-B").x


def test_a_sloppy_minimiser_is_caught():
    rng = np.random.default_rng(92)
    X = rng.uniform(-1, 1, size=(500, 20))
    problem = rows_of(X, X[:, 0] > 0.3 * rng.standard_normal(500)), np.zeros(20), 1.0, rng.standard_normal(20)
    assert miss(*problem, minimise_logistic(*problem)) <= GAP
    assert miss(*problem, sloppy(*problem)) > 10 * GAP


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_minimiser_released_without_the_noise_that_hides_its_gap_is_caught(share, monkeypatch):
    problem, plan = wide()
    assert of_planned_size(Rounds(problem, plan).gap)
    original = mechanisms.gaussian

    def quiet(values, sigma, source):
        noise = original(values, sigma, source) - values._secret
        return values._secret + np.rint(share * noise).astype(np.int64)

    monkeypatch.setattr(mechanisms, "gaussian", quiet)
    assert not of_planned_size(Rounds(problem, plan).gap)
