"""Constants in the proofs of losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from hardzero.data.bounded import RESIDUAL_ONE, BoundedData, Bounds
from hardzero.methods.sparsifier import keep_largest, scaled_count
from hardzero.optim.balls import L1Ball
from hardzero.optim.frank_wolfe import ExponentialSelector, frank_wolfe
from hardzero.optim.losses import Logistic, Softmax, Squared, residual_cap
from hardzero.optim.optimum import l1_optimum
from hardzero.optim.problem import Problem
from hardzero.privacy.mechanisms import weight_table
from hardzero.privacy.randomness import SeededSource

from .drawn import SEEDS, SMALL, UNIT

# losses.md


@given(st.floats(-50, 50), st.integers(0, 1), UNIT)
@SMALL
def test_logistic_gradient_is_at_most_one(margin, target, feature):
    residual = Logistic().residual(np.array([[margin]]), np.array([[float(target)]]))[0, 0]
    assert abs(residual * feature) <= Logistic().residual_unit


def test_lipschitz_constants_are_nearly_reached():
    assert abs(Logistic().residual(np.array([[12.0]]), np.array([[0.0]]))[0, 0]) > 0.99999
    assert Softmax(4).residual(np.array([[14.0, 0, 0, 0]]), np.array([1]))[0, 0] > 0.99999
    squared = Squared(radius=3.0)
    assert (
        squared.residual(np.array([[3.0 + squared.max_intercept]]), np.array([[-1.0]]))[0, 0] == squared.residual_unit
    )


@given(SEEDS, st.integers(2, 10), st.floats(0, 20))
@SMALL
def test_softmax_entries_are_at_most_one_and_rows_at_most_two(seed, classes, size):
    rng = np.random.default_rng(seed)
    residual = Softmax(classes).residual(rng.normal(0, size, (30, classes)), rng.integers(0, classes, 30))
    assert np.abs(residual).max() <= 1.0
    assert np.abs(residual).sum(axis=1).max() <= 2.0 + 1e-12  # the paper's constant, for another norm
    assert np.linalg.norm(residual, axis=1).max() <= Softmax(classes).residual_norm


def curvature(loss, X, targets, first, second, gamma):
    """The expression whose supremum is Γ; weights have shape (outputs, features)."""
    third = first + gamma * (second - first)
    gradient = loss.residual(X @ first.T, targets).T @ X / len(X)
    rise = loss.value(X @ third.T, targets) - loss.value(X @ first.T, targets)
    return 2 / gamma**2 * (rise - float(np.sum((third - first) * gradient)))


def in_ball(rng, shape, radius):
    weights = rng.dirichlet(np.full(math.prod(shape), 0.3)).reshape(shape)
    return radius * weights * rng.choice([-1, 1], shape)


@given(SEEDS, st.floats(0.05, 8), st.floats(0.1, 1), st.sampled_from(["logistic", "softmax", "squared"]))
@SMALL
def test_curvature_is_at_most_four_beta_radius_squared(seed, radius, gamma, name):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0, 0.5], (8, 4))
    if name == "softmax":
        loss, targets, outputs = Softmax(3), rng.integers(0, 3, 8), 3
    else:
        loss = Logistic() if name == "logistic" else Squared(radius)
        targets, outputs = rng.integers(0, 2, (8, 1)).astype(float), 1
    first, second = (in_ball(rng, (outputs, 4), radius) for _ in range(2))
    allowed = 4 * loss.smoothness * radius**2
    assert curvature(loss, X, targets, first, second, gamma) <= allowed * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("radius", [0.01, 0.1, 1.0])
def test_curvature_is_nearly_reached_and_the_printed_constant_is_too_small(radius):
    one = np.ones((1, 1))
    seen = curvature(Logistic(), one, 0 * one, -radius * one, radius * one, 1.0)
    assert seen == pytest.approx(2 * radius * math.tanh(radius / 2), rel=1e-6)
    assert seen > 3 * 0.25 * radius**2  # Corollary 2 as printed
    assert 0.92 * radius**2 <= seen <= radius**2


def test_curvature_of_a_ball_for_each_class():
    radius = 0.02
    first = np.array([[radius], [-radius]])
    seen = curvature(Softmax(2), np.ones((1, 1)), np.array([0]), first, -first, 1.0)
    assert 0.99 * 4 * radius**2 <= seen <= 4 * radius**2


@given(SEEDS, st.floats(0, 10), st.floats(-10, 10))
@SMALL
def test_logistic_tightening(seed, norm, intercept):
    rng = np.random.default_rng(seed)
    weights = in_ball(rng, (1, 5), norm)
    X = np.vstack([rng.uniform(-1, 1, (20, 5)), np.sign(weights), -np.sign(weights)])
    margins = np.tile(X @ weights.T + intercept, (2, 1))
    targets = np.repeat([[0.0], [1.0]], len(X), axis=0)
    loss = Logistic()
    seen = np.abs(loss.residual(margins, targets)).max()
    bound = loss.residual_bound(np.abs(weights).sum(axis=1), np.array([intercept]))
    assert 0.999999 * bound <= seen <= bound * (1 + 1e-12)


@given(SEEDS, st.integers(2, 6), st.floats(0, 6))
@SMALL
def test_softmax_tightening(seed, classes, norm):
    rng = np.random.default_rng(seed)
    weights, intercept = in_ball(rng, (classes, 4), norm), rng.normal(0, 1, classes)
    X = np.vstack([rng.uniform(-1, 1, (20, 4)), np.sign(weights), -np.sign(weights)])
    loss = Softmax(classes)
    margins = X @ weights.T + intercept
    bound = loss.residual_bound(np.abs(weights).sum(axis=1), intercept)
    for label in range(classes):
        assert np.abs(loss.residual(margins, np.full(len(X), label))).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_softmax_tightening_is_reached(classes):
    # The true class pulls one way, all others equally the other way.
    weights = np.full((classes, 1), 0.8)
    weights[0] = -0.8
    loss = Softmax(classes)
    bound = loss.residual_bound(np.abs(weights).sum(axis=1), np.zeros(classes))
    assert abs(loss.residual(weights.T, np.array([0]))[0, 0]) == pytest.approx(bound, rel=1e-12)
    at_zero = loss.residual_bound(np.zeros(classes), np.zeros(classes))
    assert at_zero == pytest.approx((classes - 1) / classes)


@given(SEEDS, st.floats(0, 5), st.floats(-2, 2))
@SMALL
def test_squared_tightening(seed, norm, intercept):
    weights = in_ball(np.random.default_rng(seed), (1, 4), norm)
    loss = Squared(5.0)
    bound = loss.residual_bound(np.abs(weights).sum(axis=1), np.array([intercept]))
    ends = np.array([[np.abs(weights).sum()], [-np.abs(weights).sum()]]) + intercept
    seen = max(np.abs(loss.residual(ends, target)).max() for target in (-1.0, 1.0))
    assert seen == pytest.approx(bound, rel=1e-12)
    assert bound <= loss.residual_unit


@pytest.mark.parametrize(("eta", "n_iter"), [(1.0, 300), (0.05, 60)])
@pytest.mark.parametrize("contributions", [1, 2])
def test_explicit_utility_bound(eta, n_iter, contributions):
    rng = np.random.default_rng(7)
    n, p, radius = 500, 12, 2.0
    X = rng.uniform(-1, 1, (n, p))
    targets = (rng.random((n, 1)) < expit(4 * X[:, :1] - 3 * X[:, 1:2])).astype(float)
    data = BoundedData.from_matrix(X, Bounds.parse((-1, 1), p))
    problem = Problem(data, targets, Logistic())
    optimum = l1_optimum(problem, radius, False, 1e-9)
    stored = data.columns()

    def value(coef):
        return problem.loss.value(stored @ coef.T, targets)

    least = value(optimum.weights.coef) - optimum.gap
    gaps = [
        value(
            frank_wolfe(
                problem, L1Ball(radius), n_iter, ExponentialSelector(eta, contributions, SeededSource(s))
            ).coef
        )
        - least
        for s in range(30)
    ]
    cap = residual_cap(problem.loss, np.array([radius]), np.zeros(1))
    b = 2 * contributions * radius * cap / (RESIDUAL_ONE * n * eta)
    table = weight_table(eta, 2 * p)
    theta = 2 * radius * 2 * p * int(table.weights[-1]) / int(table.weights[0])
    first = 2 * (value(np.zeros((1, p))) - least) / ((n_iter + 1) * (n_iter + 2))
    bound = first + 2 * radius**2 / (n_iter + 2) + b * (1.002 * math.log(2 * p) + 0.005)
    bound += 2.0**-16 * (1 + 2.0**-8) * radius + theta
    assert np.mean(gaps) <= bound
    assert np.mean(gaps) >= 0
    if eta == 1.0:
        assert bound < value(np.zeros((1, p))) - least  # says more than that zero weights are possible
    else:
        assert np.mean(gaps) > bound / 8  # where noise dominates, the bound is not far off


@given(SEEDS, st.integers(2, 30), st.floats(0.1, 10), st.data())
@SMALL
def test_sparsifier_inequality(seed, p, radius, data):
    count = data.draw(st.integers(0, p - 1))
    coef = in_ball(np.random.default_rng(seed), (1, p), radius)
    lost = np.abs(coef - keep_largest(coef, count)).sum()
    sharp, printed = radius * (p - count) / p, radius * min((p - count) / (count + 1), 1)
    assert lost <= sharp * (1 + 1e-12)
    assert sharp <= printed * (1 + 1e-12)
    equal = np.full((1, p), radius / p)
    assert np.abs(equal - keep_largest(equal, count)).sum() == pytest.approx(sharp)


def test_sparsifier_bound_grows_as_fewer_are_kept():
    c = np.arange(50)
    assert np.all(np.diff((50 - c) / (c + 1)) < 0)
    assert scaled_count(10, 0.5, 50) == 5  # below min_features = 10, so that 5 is what the bound needs


@pytest.mark.parametrize("eta", [2.0**-20, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("candidates", [2, 2**20])
def test_constants_of_one_selections_utility(eta, candidates):
    """Section 4(b): s·((ln N + 2τ)/r + 1) ≤ (2Δ/η)·(1.002·ln N + 0.005), from the table itself."""
    levels, sensitivity = weight_table(eta, candidates).levels, 2**24
    tau = 2.0 ** -max(math.ceil(math.log2(2.0**13 / eta)), 4) + 2.0**-45
    unit, rate = -(-sensitivity // levels), (eta - 4 * tau) / (2 * levels)
    log_n = math.log(candidates)
    deficit = unit * ((log_n + 2 * tau) / rate + 1)
    assert deficit <= 2 * sensitivity / eta * (1.002 * log_n + 0.005)
    best = (
        9 * unit - 1
    )  # a score just below a level's end, against one at the end of the next but one, and negative ones
    for other in (best - unit, -unit, -unit - 1, -3 * unit):
        depth = best // unit - other // unit
        assert best - other < (depth + 1) * unit
