"""Balls and their corners; the projection against a slow reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import brentq

from hardzero.optim.balls import L1Ball, L1BallPerOutput, Vertex, project_l1
from hardzero.privacy.mechanisms import exact

points = arrays(np.float64, array_shapes(max_dims=2, max_side=8), elements=st.floats(-100, 100))
radii = st.floats(1e-3, 1e3)


def slow_projection(values, radius):
    """Soft thresholding at the level found by root finding."""
    if np.abs(values).sum() <= radius:
        return values
    level = brentq(lambda c: np.maximum(np.abs(values) - c, 0).sum() - radius, 0, np.abs(values).max(), xtol=1e-15)
    return np.sign(values) * np.maximum(np.abs(values) - level, 0)


@given(points, radii)
def test_projection_agrees_with_root_finding(values, radius):
    assert np.allclose(project_l1(values, radius), slow_projection(values, radius), rtol=0, atol=1e-9)


@given(points, radii)
def test_projection_lies_on_the_ball_and_is_idempotent(values, radius):
    projected = project_l1(values, radius)
    norm = np.abs(projected).sum()
    assert projected.shape == values.shape
    if np.abs(values).sum() > radius:
        assert norm == pytest.approx(radius, abs=1e-9)
    else:
        assert np.array_equal(projected, values)
    assert np.allclose(project_l1(projected, radius), projected, rtol=1e-9, atol=1e-12)


@given(points, radii)
def test_projection_shrinks_without_changing_signs_or_order(values, radius):
    projected = project_l1(values, radius)
    assert np.all(projected * values >= 0)
    assert np.all(np.abs(projected) <= np.abs(values))
    order = np.argsort(np.abs(values), axis=None, kind="stable")
    assert np.all(np.diff(np.abs(projected).ravel()[order]) >= 0)


@given(points, radii, st.integers(0, 2**32))
def test_no_point_of_the_ball_is_nearer(values, radius, seed):
    """The angle between what is left over and any way into the ball is obtuse: that characterises a projection."""
    projected = project_l1(values, radius)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        inside = rng.laplace(size=values.shape)
        inside *= radius / np.abs(inside).sum()
        assert np.sum((values - projected) * (inside - projected)) <= 1e-7 * (1 + np.abs(values).sum()) * (1 + radius)


def test_projection_gives_exact_zeros():
    assert project_l1(np.array([3.0, 0.5, -1.0]), 2.0).tolist() == [2.0, 0.0, 0.0]
    assert project_l1(np.array([3.0, 0.5, -2.0]), 2.0).tolist() == [1.5, 0.0, -0.5]


GRADIENT = np.array([[1, -5, 2], [7, 0, -3]])
TOPS = np.array([[5], [7]])
FEATURES = np.array([2, 0, 1])  # the order in which the gradient holds them


def test_the_joint_ball_offers_every_corner_in_one_selection():
    (scores,) = L1Ball(4.0).scores(GRADIENT, TOPS, FEATURES)
    assert exact(scores.slopes).tolist() == [1, -5, 2, 7, 0, -3]
    assert exact(scores.tops).tolist() == [5, 7]
    assert exact(scores.names).tolist() == [2, 0, 1, 5, 3, 4]


def test_the_ball_per_output_offers_one_selection_each():
    first, second = L1BallPerOutput(4.0).scores(GRADIENT, TOPS, FEATURES)
    assert exact(first.slopes).tolist() == [1, -5, 2]
    assert exact(second.slopes).tolist() == [7, 0, -3]
    assert [exact(scores.tops).tolist() for scores in (first, second)] == [[5], [7]]


@given(st.integers(1, 5), st.integers(1, 9), st.data())
def test_a_name_means_the_entry_whose_score_it_is(outputs, n_features, data):
    gradient = np.arange(outputs * n_features).reshape(outputs, n_features)
    order = np.array(data.draw(st.permutations(range(n_features))))
    output, feature = data.draw(st.integers(0, outputs - 1)), data.draw(st.integers(0, n_features - 1))
    sign = data.draw(st.sampled_from([-1, 1]))
    for ball in (L1Ball(2.5), L1BallPerOutput(2.5)):
        found = [
            ball.vertex(i, int(exact(scores.names)[place]), sign, n_features)
            for i, scores in enumerate(ball.scores(gradient[:, order], gradient, order))
            for place in np.flatnonzero(exact(scores.slopes) == gradient[output, feature])
        ]
        assert found == [Vertex(output, feature, sign * 2.5)]


def test_scores_show_nothing_when_printed():
    assert "5" not in repr(L1Ball(1.0).scores(GRADIENT, TOPS, FEATURES))


@given(st.integers(1, 5), st.data())
def test_no_point_between_corners_has_larger_norms(outputs, data):
    for ball in (L1Ball(2.5), L1BallPerOutput(2.5)):
        coef = np.zeros((outputs, 4))
        for i in range(1 if isinstance(ball, L1Ball) else outputs):
            for weight in (0.25, 0.75):
                name = data.draw(st.integers(0, coef.size - 1 if isinstance(ball, L1Ball) else 3))
                vertex = ball.vertex(i, name, data.draw(st.sampled_from([-1, 1])), 4)
                coef[vertex.output, vertex.feature] += weight * vertex.value
        norms, limits = np.sort(np.abs(coef).sum(axis=1)), np.sort(ball.largest_norms(outputs))
        assert np.all(np.cumsum(norms[::-1]) <= np.cumsum(limits[::-1]) + 1e-12)
