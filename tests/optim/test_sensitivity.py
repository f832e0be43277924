"""One record moves no score by more than the sensitivity that the selection is calibrated to: to the last bit.

Neighbours are made from random records at random released weights, as the loop makes its codes. Add/remove: one row
is dropped, all public constants held. Replace-one: one row is exchanged for any other. Values far outside the bounds
are among the records, because clipping is part of the claim.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.data.bounded import FEATURE_ONE, BoundedData, Bounds
from hardzero.optim.balls import L1Ball, L1BallPerOutput
from hardzero.optim.frank_wolfe import residual_sum_sensitivity
from hardzero.optim.losses import Logistic, Softmax, Squared, residual_cap, residual_codes
from hardzero.privacy.mechanisms import exact

from .cases import every_relation
from .neighbours import neighbours_of

LOSSES = [Logistic(), Softmax(3), Squared(1.5)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "softmax", "squared"])

N_FEATURES = 3
BOUNDS = Bounds.parse(([-1, 0, -3], [1, 10, 3]), N_FEATURES)
values = st.sampled_from([-1e9, -3.0, -1.0, 0.0, 0.3, 1.0, 2.0, 10.0, 1e9]) | st.floats(-12, 12)


@st.composite
def records(draw, loss, n_rows):
    """Rows and targets, the extremes often among them."""
    X = np.array(draw(st.lists(st.lists(values, min_size=3, max_size=3), min_size=n_rows, max_size=n_rows)))
    if isinstance(loss, Softmax):
        target = st.integers(0, loss.outputs - 1)
    elif isinstance(loss, Logistic):
        target = st.sampled_from([0.0, 1.0])
    else:
        target = st.floats(-1, 1)
    y = np.array(draw(st.lists(target, min_size=n_rows, max_size=n_rows)))
    return X, y if isinstance(loss, Softmax) else y[:, None]


@st.composite
def released(draw, loss):
    """Weights within a ball, often at a corner, and an intercept within its limits."""
    radius = draw(st.floats(0, loss.radius if isinstance(loss, Squared) else 12))
    parts = np.array(draw(st.lists(st.floats(-1, 1), min_size=loss.outputs * 3, max_size=loss.outputs * 3)))
    norm = np.abs(parts).sum()
    coef = (parts * (radius / norm) if norm > 1e-6 else 0 * parts).reshape(loss.outputs, 3)
    reach = st.floats(-loss.max_intercept, loss.max_intercept)
    return coef, np.array(draw(st.lists(reach, min_size=loss.outputs, max_size=loss.outputs)))


def codes_at(loss, X, y, coef, intercept):
    """Data, residual codes and cap as in one step of the loop."""
    data = BoundedData.from_matrix(X, BOUNDS)
    margins = np.zeros((len(X), loss.outputs), order="F")
    for k, j in np.ndindex(coef.shape):
        data.add_column(margins[:, k], j, coef[k, j])
    cap = residual_cap(loss, np.abs(coef).sum(axis=1), intercept)
    return data, residual_codes(loss, margins + intercept, y, cap), cap


def both_sides(loss, relation, X, y, weights):
    one, other = (codes_at(loss, *side, *weights) for side in neighbours_of(relation, X, y))
    assert one[2] == other[2]  # the cap comes from released weights alone
    return one, other


@st.composite
def drawn_sides(draw, loss, relation):
    X, y = draw(records(loss, draw(st.integers(2, 5))))
    return both_sides(loss, relation, X, y, draw(released(loss)))


@every_relation
@every_loss
@given(st.data())
def test_no_score_moves_by_more_than_the_stated_sensitivity(loss, relation, data):
    (left, left_codes, cap), (right, right_codes, _) = data.draw(drawn_sides(loss, relation))
    limit = relation.contributions * cap * FEATURE_ONE
    for ball in (L1Ball(1.0), L1BallPerOutput(1.0)):
        sides = (
            ball.scores(side, np.abs(side), np.arange(N_FEATURES))
            for side in (left.gradient(left_codes), right.gradient(right_codes))
        )
        assert all(np.abs(exact(a.slopes) - exact(b.slopes)).max() <= limit for a, b in zip(*sides, strict=True))


@every_relation
@every_loss
@given(st.data())
def test_residual_sums_move_by_no_more_than_their_sensitivity(loss, relation, data):
    (_, left_codes, cap), (_, right_codes, _) = data.draw(drawn_sides(loss, relation))
    moved = left_codes.sum(axis=0) - right_codes.sum(axis=0)
    limit = relation.contributions * residual_sum_sensitivity(loss, cap)
    assert int(moved @ moved) <= limit**2  # in whole numbers: no rounding on either side


def worst_records(loss, size):
    """Weights at a corner, and two records with the largest residual there that differ in the last feature's sign."""
    coef = np.zeros((loss.outputs, N_FEATURES))
    coef[0, 0] = size
    coef[1:2, 0] = -size  # for softmax, so that two margins lie as far apart as they can
    target = {Logistic: [0.0], Softmax: 1, Squared: [-1.0]}[type(loss)]
    return (
        (coef, np.zeros(loss.outputs)),
        np.array([[1.0, 0.0, -3.0]] * 2 + [[1.0, 0.0, 3.0]]),
        np.array([target] * 3),
    )


@every_relation
@every_loss
@pytest.mark.parametrize("size", [0.0, 5.0])
def test_the_sensitivity_is_nearly_reached(loss, relation, size):
    """No slack to speak of: a crafted pair of neighbours uses at least 98 % of the bound."""
    weights, X, y = worst_records(loss, min(size, loss.radius) if isinstance(loss, Squared) else size)
    (left, left_codes, cap), (right, right_codes, _) = both_sides(loss, relation, X, y, weights)
    moved = np.abs(left.gradient(left_codes) - right.gradient(right_codes)).max()
    limit = relation.contributions * cap * FEATURE_ONE
    assert 0.98 * limit <= moved <= limit
