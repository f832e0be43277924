"""Noisy descent: no row moves the released gradient by more than it may, and the noise is as large as is said."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE
from hardzero.optim import descent
from hardzero.optim.descent import DescentPlan, iterate_error, noisy_descent, prepare_descent
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.standardise import Standard
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import dense_and_sparse, every_loss, on_drawn_neighbours
from .neighbours import neighbours_of, problem_of, records, squared_distance, within
from .recorder import recording

STEPS = 4  # the fewest of which an average of the last can be taken


@st.composite
def released(draw, loss, p):
    """Anything that earlier releases may have led to: moments, a mask, and where the descent starts."""
    of = lambda some, size: np.array(draw(st.lists(some, min_size=size, max_size=size)))  # noqa: E731
    centre = of(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1), p)
    scale = of(st.sampled_from([0.02, 0.02, 0.5, 20.0]) | st.floats(0.02, 2), p)
    spread = of(st.sampled_from([-3.0, 0.0, 1.0]) | st.floats(0, 1), p)
    rates = of(st.floats(0.1, 0.9), loss.outputs)
    mask = of(st.booleans(), loss.outputs * p).reshape(loss.outputs, p)
    if draw(st.booleans()) or not mask.any():
        mask[:] = True
    coef = of(st.sampled_from([0.0, 30.0, -30.0]) | st.floats(-3, 3), loss.outputs * p).reshape(loss.outputs, p)
    intercept = of(st.floats(-5, 5), loss.outputs)
    return Standard(centre, scale, spread, rates), mask, Weights(coef, intercept)


def gradient_sums(problem, standard, start, plan, seed=0):
    with recording(seed=seed) as recorder:
        noisy_descent(problem, standard, start, plan, None)
    assert len(recorder.sums) == plan.steps
    assert set(recorder.sigmas) == {plan.sigma}
    return recorder.sums


def gradients_of_both(loss, relation, X, y, standard, mask, start, store=np.asarray, contributions=None, seed=0):
    """Pairs of sums at the same released points, and the sensitivity that the noise is made for.

    Everything in a plan comes from the public number of rows. So do later points, which under add/remove are
    compared only where the number of rows that are there cannot have entered: at the first step.
    """
    contributions = relation.contributions if contributions is None else contributions
    plan = prepare_descent(loss, standard, mask, len(X), STEPS, 1.0, contributions)
    one, other = (
        gradient_sums(problem_of(loss, *side, store), standard, start, plan, seed)
        for side in neighbours_of(relation, X, y)
    )
    steps = 1 if relation is not Neighbours.REPLACE_ONE else STEPS
    return list(zip(one, other, strict=True))[:steps], plan.sigma


@on_drawn_neighbours(max_examples=60)
def test_gradients_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    X, y = data.draw(records(loss))
    standard, mask, start = data.draw(released(loss, X.shape[1]))
    seed = data.draw(st.integers(0, 100))
    pairs, sensitivity = gradients_of_both(loss, relation, X, y, standard, mask, start, store, seed=seed)
    assert all(within(one, other, sensitivity) for one, other in pairs)


def worst_pair(loss, relation):
    """A row far from the centre, and none, or the same row with the other label: opposite gradients, both clipped.

    Where the row goes, the model is as wrong about it as can be, so that its residuals are as large as can be.
    """
    p = 3
    standard = Standard(np.zeros(p), np.full(p, 0.05), np.ones(p), np.full(loss.outputs, 0.5))
    X = np.array([[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    y = np.array([0, 1, 1])
    wrong = np.array([-12.0]) if loss.outputs == 1 else np.array([12.0, -12.0, -12.0])
    start = Weights(np.zeros((loss.outputs, p)), wrong * (relation is not Neighbours.REPLACE_ONE))
    return (loss, relation, X, y, standard, np.ones((loss.outputs, p), dtype=bool), start)


@pytest.mark.parametrize(
    ("loss", "relation", "least"),
    [
        (Logistic(), Neighbours.ZERO_OUT, 0.999),
        (Logistic(), Neighbours.REPLACE_ONE, 0.85),  # residuals of a label and its opposite are one apart, not two
        (Softmax(3), Neighbours.ZERO_OUT, 0.999),
        (Softmax(3), Neighbours.REPLACE_ONE, 0.7),  # residuals of two classes of three cannot be opposite
    ],
    ids=lambda part: getattr(part, "value", getattr(type(part), "__name__", part)),
)
def test_the_gradient_sensitivity_is_nearly_reached(loss, relation, least):
    pairs, sensitivity = gradients_of_both(*worst_pair(loss, relation))
    reached = math.sqrt(squared_distance(*pairs[0])) / sensitivity
    assert least < reached <= 1.0


@every_loss
@settings(max_examples=60)
@given(st.data())
def test_each_row_alone_is_no_longer_than_the_clip(loss, data):
    """In rational arithmetic, at the doubles that are used: no rounding hides anything."""
    X, y = data.draw(records(loss))
    standard, mask, start = data.draw(released(loss, X.shape[1]))
    plan = prepare_descent(loss, standard, mask, len(X), STEPS, 1.0, 1)
    problem = problem_of(loss, X, y)
    squares = descent._row_squares(problem, standard, mask)
    at = Weights(start.coef * mask, start.intercept)
    clipped, plain = descent._clipped_codes(problem, standard, at, squares, plan.clip)
    rows = (problem.data.columns() * FEATURE_ONE).astype(int)
    limit = (Fraction(descent._INTERCEPT_WEIGHT) * RESIDUAL_ONE) ** 2 * (1 if loss.outputs == 1 else 2)
    assert all(sum(int(c) ** 2 for c in row) <= limit for row in plain)
    for row, code in zip(rows, clipped, strict=True):
        z = [
            (Fraction(int(x), FEATURE_ONE) - Fraction(c)) / Fraction(s)
            for x, c, s in zip(row, standard.centre, standard.scale, strict=True)
        ]
        total = sum(int(code[k]) ** 2 * sum(z[j] ** 2 for j in np.flatnonzero(mask[k])) for k in range(loss.outputs))
        assert total <= (Fraction(plan.clip) * RESIDUAL_ONE) ** 2


@dense_and_sparse
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(9)], ids=["2", "3", "9"])
def test_a_rows_codes_do_not_depend_on_the_other_rows(loss, store):
    """To the last bit, wherever the row stands and however many others there are (two rows or more)."""
    rng = np.random.default_rng(12)
    X, y = rng.uniform(-1, 1, size=(70, 5)), rng.integers(0, max(loss.outputs, 2), size=70)
    moments = Standard(rng.uniform(-1, 1, 5), rng.uniform(0.1, 1, 5), np.ones(5), np.full(loss.outputs, 0.3))
    at = Weights(rng.standard_normal((loss.outputs, 5)), rng.standard_normal(loss.outputs))
    mask = np.ones((loss.outputs, 5), dtype=bool)

    def codes(rows):
        problem = problem_of(loss, X[rows], y[rows], store)
        squares = descent._row_squares(problem, moments, mask)
        return np.hstack(descent._clipped_codes(problem, moments, at, squares, 0.8))

    whole = codes(np.arange(70))
    for size in range(2, 70):
        rows = rng.permutation(70)[:size]
        assert np.array_equal(codes(rows), whole[rows])


class Sums:
    """Stands for data whose sums are as large as those of very many rows."""

    def __init__(self, gradient):
        self._gradient = gradient

    def gradient(self, codes):
        return self._gradient


def adversarial_map(rng, n_rows, p):
    """Sums near their limits, scales near their floor."""
    gradient = rng.integers(int(0.9 * n_rows) * 2**36, n_rows * 2**36, size=(1, p), endpoint=True)
    residual = -rng.integers(int(0.9 * n_rows) * 2**20, n_rows * 2**20, size=(1, 1), endpoint=True)
    centre = rng.uniform(0.9, 1.0, size=p)
    scale = np.where(rng.random(p) < 0.5, math.sqrt(0.02**2), rng.uniform(0.02, 0.0201, size=p))
    return gradient, residual, Standard(centre, scale, np.ones(p), np.array([0.5]))


@pytest.mark.parametrize("n_rows", [10, 10**5, 2**26])
def test_the_slack_covers_the_linear_map_in_floating_point(n_rows):
    """Against rational arithmetic, within the proof's bound; twice that is within the slack of every coordinate."""
    p = 400
    gradient, residual, standard = adversarial_map(np.random.default_rng(6), n_rows, p)
    mask = np.ones((1, p), dtype=bool)
    sums = descent._standardised_sums(Sums(gradient), standard, (residual, residual), mask)
    bound = Fraction(1, 2) + Fraction(300 * n_rows, 2**33) * (1 + Fraction(1, 2**40))
    worst = Fraction(0)
    for j in range(p):
        exact = Fraction(int(gradient[0, j]), FEATURE_ONE) - int(residual[0, 0]) * Fraction(standard.centre[j])
        worst = max(worst, abs(int(sums[j]) - exact / Fraction(standard.scale[j])))
    assert sums[-1] == residual[0, 0]
    assert worst <= bound
    assert worst > bound / 5  # the bound is no empty one
    assert 2 * bound <= 2 + Fraction(MAX_ROWS, 2**24)


@every_loss
@pytest.mark.parametrize("contributions", [1, 2])
def test_sigma_is_noise_times_length_and_slack(loss, contributions):
    standard = Standard(np.zeros(3), np.ones(3), np.array([1.0, 0.5, -2.0]), np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, 3), dtype=bool)
    mask[0, 1] = False
    plan = prepare_descent(loss, standard, mask, 10**6, 9, 3.7, contributions)
    d = int(mask.sum()) + loss.outputs
    length = math.hypot(plan.clip, 0.5 * loss.residual_norm)
    sensitivity = contributions * math.ceil(length * RESIDUAL_ONE) + math.ceil((2 + MAX_ROWS / 2**24) * math.sqrt(d))
    assert plan.sigma == math.ceil(3.7 * sensitivity)
    assert plan.steps == 9
    assert 0.1 < plan.clip < 1.0
    assert plan.shock == pytest.approx(plan.rate * plan.sigma / RESIDUAL_ONE)


def test_masked_weights_stay_zero_and_others_move():
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-1, 1, size=(500, 4)), rng.integers(0, 3, size=500)
    mask = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]], dtype=bool)
    loss = Softmax(3)
    standard = Standard(np.zeros(4), np.full(4, 0.6), np.ones(4), np.full(3, 1 / 3))
    plan = prepare_descent(loss, standard, mask, 500, 10, 1.0, 1)
    end = noisy_descent(
        problem_of(loss, X, y), standard, Weights(np.ones((3, 4)), np.zeros(3)), plan, SeededSource(8)
    )
    assert np.array_equal(end.coef != 0, mask)
    assert np.all(np.isfinite(end.intercept))


@dense_and_sparse
def test_without_much_noise_the_direction_is_found(store):
    """Clipping takes from rows that are far off, so weights come out larger than the model's, by a common factor."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = rng.random(4000) < 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] + 0.5)))
    standard = Standard(X.mean(axis=0), X.std(axis=0), np.ones(2), np.array([y.mean()]))
    plan = prepare_descent(Logistic(), standard, np.ones((1, 2), dtype=bool), 4000, 200, 1e-3, 1)
    start = Weights(np.zeros((1, 2)), np.zeros(1))
    end = noisy_descent(problem_of(Logistic(), X, y, store), standard, start, plan, SeededSource(10))
    coef = end.coef / standard.scale
    assert 1.8 < coef[0, 0] < 3.0
    assert coef[0, 1] / coef[0, 0] == pytest.approx(-0.5, abs=0.05)
    assert (end.intercept - coef @ standard.centre) / coef[0, 0] == pytest.approx(0.25, abs=0.05)


# --- How far noise carries the iterate ----------------------------------------------------------------------------


def simulated_error(plan, curvature, n_rows, runs, seed):
    """The same steps on the gradient of a quadratic, with normal noise; the tail's average, many times over."""
    rng = np.random.default_rng(seed)
    place, speed, total = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    first = math.ceil(plan.steps * 0.7)
    for t in range(plan.steps):
        ahead = place + 0.9 * speed
        slope = n_rows * curvature * ahead + plan.sigma / RESIDUAL_ONE * rng.standard_normal(runs)
        moved = ahead - plan.rate * slope
        place, speed = moved, moved - place
        if t >= first:
            total += place
    return np.std(total / (plan.steps - first))


@pytest.mark.parametrize("steps", [8, 40, 300])
@pytest.mark.parametrize("pull", [0.001, 0.05, 0.5])
def test_the_iterates_error_is_that_of_a_simulation(steps, pull):
    """20,000 runs: a standard error of half a per cent."""
    n_rows, rate = 1000, 0.004
    plan = DescentPlan(steps, rate, 1.0, 12 * RESIDUAL_ONE, np.ones((1, 1), dtype=bool))
    curvature = pull / (rate * n_rows)
    error = float(iterate_error(plan, curvature, n_rows))
    assert simulated_error(plan, curvature, n_rows, 20_000, 11) == pytest.approx(error, rel=0.03)
    twice = DescentPlan(steps, rate, 1.0, 24 * RESIDUAL_ONE, plan.mask)
    assert float(iterate_error(twice, curvature, n_rows)) == pytest.approx(2 * error)


def test_flat_directions_are_the_noisiest():
    plan = DescentPlan(100, 0.004, 1.0, RESIDUAL_ONE, np.ones((1, 1), dtype=bool))
    errors = [float(iterate_error(plan, curvature, 1000)) for curvature in (0.25, 0.1, 0.01, 0.0)]
    assert np.all(np.diff(errors) > 0)
    assert np.all(np.isfinite(errors))
