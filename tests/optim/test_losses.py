"""Losses against finite differences, scikit-learn, and their own stated constants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from hardzero.data.bounded import RESIDUAL_ONE
from hardzero.optim.losses import Logistic, Softmax, Squared, residual_cap, residual_codes

LOSSES = [Logistic(), Softmax(3), Softmax(5), Squared(2.0)]
NAMES = ["logistic", "softmax3", "softmax5", "squared"]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=NAMES)


def targets_for(loss, n_rows, rng):
    if isinstance(loss, Softmax):
        return rng.integers(0, loss.outputs, n_rows)
    if isinstance(loss, Logistic):
        return rng.integers(0, 2, (n_rows, 1)).astype(float)
    return rng.uniform(-1, 1, (n_rows, 1))


@every_loss
def test_residual_is_the_derivative_of_the_value(loss):
    rng = np.random.default_rng(0)
    margins, step = rng.normal(0, 2, (6, loss.outputs)), 1e-5
    targets = targets_for(loss, 6, rng)
    numeric = np.zeros_like(margins)
    for i, k in np.ndindex(margins.shape):
        move = np.zeros_like(margins)
        move[i, k] = step
        rise = loss.value(margins + move, targets) - loss.value(margins - move, targets)
        numeric[i, k] = len(margins) * rise / (2 * step)
    assert np.allclose(loss.residual(margins, targets), numeric, rtol=0, atol=1e-8)


@every_loss
def test_residual_leaves_its_arguments_alone(loss):
    rng = np.random.default_rng(1)
    margins, targets = rng.normal(size=(4, loss.outputs)), targets_for(loss, 4, rng)
    before = margins.copy(), targets.copy()
    loss.residual(margins, targets)
    residual_codes(loss, margins, targets, RESIDUAL_ONE)
    assert np.array_equal(margins, before[0])
    assert np.array_equal(targets, before[1])


def test_logistic_value_is_scikit_learns_log_loss():
    rng = np.random.default_rng(2)
    margins, targets = rng.normal(0, 3, (50, 1)), rng.integers(0, 2, (50, 1)).astype(float)
    expected = log_loss(targets[:, 0], 1 / (1 + np.exp(-margins[:, 0])))
    assert Logistic().value(margins, targets) == pytest.approx(expected, rel=1e-12)


def test_softmax_value_is_scikit_learns_log_loss():
    rng = np.random.default_rng(3)
    margins, targets = rng.normal(0, 3, (50, 4)), rng.integers(0, 4, 50)
    odds = np.exp(margins)
    expected = log_loss(targets, odds / odds.sum(axis=1, keepdims=True), labels=range(4))
    assert Softmax(4).value(margins, targets) == pytest.approx(expected, rel=1e-12)


def test_softmax_of_two_classes_is_logistic():
    rng = np.random.default_rng(4)
    margin, targets = rng.normal(0, 3, (20, 1)), rng.integers(0, 2, 20)
    both = np.hstack([np.zeros_like(margin), margin])
    assert Softmax(2).value(both, targets) == pytest.approx(Logistic().value(margin, targets[:, None]))


def test_squared_value_is_half_the_mean_squared_error():
    assert Squared(1.0).value(np.array([[1.0], [0.0]]), np.array([[-1.0], [1.0]])) == 1.25


@pytest.mark.parametrize("margin", [-1000.0, 1000.0])
def test_certain_margins_do_not_overflow(margin):
    wrong = float(margin < 0)
    assert Logistic().value(np.array([[margin]]), np.array([[wrong]])) == 1000.0
    assert Softmax(3).value(np.array([[margin, 0.0, -margin]]), np.array([0 if margin < 0 else 2])) == 2000.0


@every_loss
@given(seed=st.integers(0, 2**32), size=st.floats(0, 30), shift=st.floats(-10, 10))
def test_residuals_stay_within_the_bound_for_any_record(loss, seed, size, shift):
    """Margins are ⟨w, x⟩ + b with |x| ≤ 1 and given row norms of w; the residual then never passes its bound."""
    rng = np.random.default_rng(seed)
    norms = rng.dirichlet(np.ones(loss.outputs)) * (min(size, loss.radius) if isinstance(loss, Squared) else size)
    intercept = np.clip(shift * rng.uniform(-1, 1, loss.outputs), -loss.max_intercept, loss.max_intercept)
    margins = norms * rng.choice([-1.0, 1.0, 0.5], (50, loss.outputs)) + intercept
    targets = targets_for(loss, 50, rng)
    residuals = loss.residual(margins, targets)
    bound = loss.residual_bound(norms, intercept)
    assert np.abs(residuals).max() <= bound * (1 + 1e-12)
    assert bound <= loss.residual_unit * (1 + 1e-12)
    assert np.linalg.norm(residuals, axis=1).max() <= loss.residual_norm * (1 + 1e-12)


@every_loss
@given(seed=st.integers(0, 2**32), cap=st.integers(1, RESIDUAL_ONE))
def test_residual_codes_are_rounded_residuals_within_the_cap(loss, seed, cap):
    rng = np.random.default_rng(seed)
    margins, targets = rng.normal(0, 50, (20, loss.outputs)), targets_for(loss, 20, rng)
    codes = residual_codes(loss, margins, targets, cap)
    assert codes.dtype == np.int64
    assert np.abs(codes).max() <= cap
    unclipped = np.abs(codes) < cap
    exact = loss.residual(margins, targets) * (RESIDUAL_ONE / loss.residual_unit)
    assert np.all(np.abs(codes - exact)[unclipped] <= 0.5)


@every_loss
def test_the_cap_grows_with_the_weights_up_to_one_unit(loss):
    sizes = [0.0, 0.5, 1.0, 2.0]
    caps = [residual_cap(loss, np.full(loss.outputs, s), np.zeros(loss.outputs)) for s in sizes]
    assert caps == sorted(caps)
    assert caps[0] < caps[-1] <= RESIDUAL_ONE
    huge = np.full(loss.outputs, 1e6)
    assert residual_cap(loss, huge, np.zeros(loss.outputs)) == RESIDUAL_ONE


def test_the_cap_at_zero_weights_is_the_free_tightening():
    none = np.zeros(1)
    assert residual_cap(Logistic(), none, none) == RESIDUAL_ONE // 2 + 1
    assert residual_cap(Squared(2.0), none, none) == -(-RESIDUAL_ONE // 5) + 1
    zeros = np.zeros(4)
    assert residual_cap(Softmax(4), zeros, zeros) == pytest.approx(0.75 * RESIDUAL_ONE, abs=2)


@every_loss
def test_start_intercept_minimises_the_loss_at_zero_weights(loss):
    rng = np.random.default_rng(5)
    targets = targets_for(loss, 40, rng)
    targets[:15] = targets[0]  # unbalanced
    mean_residual = loss.residual(np.zeros((40, loss.outputs)), targets).mean(axis=0)
    start = loss.start_intercept(mean_residual, 1e-9)

    def value(intercept):
        return loss.value(np.tile(intercept, (40, 1)), targets)

    best = minimize(value, np.zeros(loss.outputs), tol=1e-12)
    assert value(start) <= best.fun + 1e-10
    assert np.allclose(loss.residual(np.tile(start, (40, 1)), targets).mean(axis=0), 0, atol=1e-9)


def test_start_intercept_keeps_its_margin_from_certainty():
    everyone = np.array([-0.5])  # the mean residual at zero when every label is 1
    assert Logistic().start_intercept(everyone, 0.01)[0] == pytest.approx(np.log(99))
    assert Logistic().start_intercept(-everyone, 0.01)[0] == pytest.approx(-np.log(99))
    one_class = np.array([-2 / 3, 1 / 3, 1 / 3])
    start = Softmax(3).start_intercept(one_class, 0.01)
    assert np.exp(start[0] - start[1]) == pytest.approx(100)
    assert Squared(1.0).start_intercept(np.array([-3.0]), 0.01)[0] == 1.0


@every_loss
def test_intercept_rate_is_one_over_the_largest_second_derivative(loss):
    """Along random directions the curvature by the intercepts never passes 1/rate, and comes close to it."""
    rng = np.random.default_rng(6)
    step, largest = 1e-3, 0.0
    for _ in range(300):
        centre = rng.normal(0, 1, (1, loss.outputs))
        if loss.outputs > 1:
            centre[0, 2:] = -20.0  # two classes share the probability: the sharpest place
            centre[0, :2] = rng.normal(0, 0.1)
        way = rng.normal(size=(1, loss.outputs))
        if loss.outputs > 1:
            way[0, 2:] = 0
            way[0, 1] = -way[0, 0]
        way /= np.linalg.norm(way)
        targets = targets_for(loss, 1, rng)
        ends = loss.value(centre + step * way, targets) + loss.value(centre - step * way, targets)
        largest = max(largest, (ends - 2 * loss.value(centre, targets)) / step**2)
    assert 0.9 / loss.intercept_rate <= largest <= 1.001 / loss.intercept_rate
