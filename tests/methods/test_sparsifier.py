"""Sparsifier's own steps: how many weights are kept, and which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hardzero.data.bounded import BoundedData, Bounds
from hardzero.methods.private_lasso import plan_lasso, private_lasso
from hardzero.methods.sparsifier import keep_largest, scaled_count, sparsifier
from hardzero.optim.balls import L1Ball
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.optimum import ExactSolver, PlainFrankWolfe
from hardzero.optim.problem import Problem
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import PureRelease
from hardzero.privacy.randomness import SeededSource

BUDGET = Budget(1.0, 1e-5)
weights_arrays = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-9, 9))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 16))
    y = (X[:, :5].sum(axis=1) > 0).astype(float)[:, None]
    return Problem(BoundedData.from_matrix(X, Bounds.parse((-1, 1), 16)), y, Logistic())


def run(problem, seed=0, *, low=2, high=6, ratio=1.0, solver=ExactSolver(1e-3), count_epsilon=0.1, budget=BUDGET):  # noqa: B008
    plan = plan_lasso(budget, Neighbours.ZERO_OUT, "tight", 60, count_epsilon=count_epsilon)
    limits = {"min_features": low, "max_features": high, "keep_ratio": ratio, "count_solver": solver}
    return sparsifier(problem, 5.0, plan, SeededSource(seed), **limits)


@given(weights_arrays, st.integers(0, 40))
def test_the_largest_weights_are_kept_and_all_others_are_zero(coef, count):
    before = coef.copy()
    kept = keep_largest(coef, count)
    assert np.array_equal(coef, before)
    assert np.count_nonzero(kept) == min(count, np.count_nonzero(coef))
    assert np.all((kept == 0) | (kept == coef))
    dropped = np.abs(coef[(kept == 0) & (coef != 0)])
    if np.any(kept) and len(dropped):
        assert np.abs(kept[kept != 0]).min() >= dropped.max()


@pytest.mark.parametrize("order", ["C", "F"])
def test_ties_go_to_the_first_in_reading_order(order):
    coef = np.array([[1.0, -2.0, 2.0], [2.0, 0.0, -1.0]], order=order)
    assert keep_largest(coef, 2).tolist() == [[0, -2, 2], [0, 0, 0]]
    assert keep_largest(coef, 4).tolist() == [[1, -2, 2], [2, 0, 0]]


@pytest.mark.parametrize(
    ("kept", "ratio", "size", "expected"),
    [
        (10, 1.0, 100, 10),
        (10, 0.5, 100, 5),
        (10, 0.25, 100, 3),
        (10, 2.0, 15, 15),
        (10, 0.01, 100, 0),
        (0, 3.0, 9, 0),
    ],
)
def test_the_count_is_scaled_rounded_and_clipped(kept, ratio, size, expected):
    assert scaled_count(kept, ratio, size) == expected


def test_the_number_of_nonzeros_stays_within_its_limits(problem):
    counts = [np.count_nonzero(run(problem, seed).coef) for seed in range(40)]
    assert set(counts) <= set(range(2, 7))
    assert len(set(counts)) > 1  # at this budget the count is noisy


def test_a_large_budget_finds_the_true_count(problem):
    nonzeros = np.count_nonzero(ExactSolver(1e-3)(problem, 5.0, fit_intercept=False).weights.coef)
    generous = Budget(1e6, 1e-5)
    found = run(problem, low=0, high=16, count_epsilon=1e5, budget=generous)
    planned = plan_lasso(generous, Neighbours.ZERO_OUT, "tight", 60, count_epsilon=1e5)
    unreduced = np.count_nonzero(private_lasso(problem, L1Ball(5.0), planned, SeededSource(0)).coef)
    assert np.count_nonzero(found.coef) == min(nonzeros, unreduced)


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_keep_ratio_scales_the_number_kept(problem, ratio):
    assert np.count_nonzero(run(problem, low=4, high=4, count_epsilon=None, ratio=ratio).coef) == 4 * ratio


def test_the_published_way_of_counting(problem):
    """50 plain steps stand for the paper's 50,000."""
    weights = run(problem, solver=PlainFrankWolfe(50))
    assert 2 <= np.count_nonzero(weights.coef) <= 6


def test_a_public_count_costs_nothing_and_nothing_is_counted(problem):
    def forbidden(*_, **__):
        raise AssertionError("the records were counted")

    plan = plan_lasso(BUDGET, Neighbours.ZERO_OUT, "tight", 60)
    assert not any(isinstance(event, PureRelease) for event in plan.events)
    assert np.count_nonzero(run(problem, low=3, high=3, count_epsilon=None, solver=forbidden).coef) == 3


def test_the_kept_weights_are_private_lassos_own(problem):
    plan = plan_lasso(BUDGET, Neighbours.ZERO_OUT, "tight", 60)
    full = private_lasso(problem, L1Ball(5.0), plan, SeededSource(4))
    sparse = run(problem, 4, low=3, high=3, count_epsilon=None)
    assert np.array_equal(sparse.coef, keep_largest(full.coef, 3))


def test_several_classes_share_one_count(problem):
    several = Problem(problem.data, np.arange(400) % 3, Softmax(3))
    assert np.count_nonzero(run(several, low=7, high=7, count_epsilon=None).coef) == 7
    assert 2 <= np.count_nonzero(run(several).coef) <= 6


def test_the_count_is_fitted_with_an_intercept_when_the_model_has_one(problem):
    asked = []

    def solver(problem, radius, *, fit_intercept):
        asked.append((radius, fit_intercept))
        return ExactSolver(1e-2)(problem, radius, fit_intercept=fit_intercept)

    limits = {"min_features": 1, "max_features": 9, "keep_ratio": 1.0, "count_solver": solver}
    for fit_intercept in (False, True):
        plan = plan_lasso(BUDGET, Neighbours.ZERO_OUT, "tight", 5, fit_intercept=fit_intercept, count_epsilon=0.1)
        sparsifier(problem, 5.0, plan, SeededSource(0), **limits)
    assert asked == [(5.0, False), (5.0, True)]
