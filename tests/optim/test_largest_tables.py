"""What is summed over 2³⁰ rows before noise: exact in 64 bits, or within what the noise allows for rounding.

So are descents over 2²⁶ rows, with residuals sixteen times as fine.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE
from hardzero.methods.select_refit import class_sums, screening_scores, select_and_refit
from hardzero.methods.select_refit_plan import plan_select_refit
from hardzero.optim import curvature
from hardzero.optim.balls import L1Ball
from hardzero.optim.curvature import curvature_sums
from hardzero.optim.descent import Pace, descent_rows, descent_unit, noisy_descent, prepare_descent, weighted_sums
from hardzero.optim.engine import engine_of
from hardzero.optim.frank_wolfe import ExponentialSelector, LaplaceSelector, NoisyIntercept, Weights, frank_wolfe
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.standardise import length_scores, moment_sums, private_standard
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import dense_and_sparse
from .neighbours import problem_of
from .places import as_large_as_may_be
from .test_descent import standard_of

SUM_ONE = FEATURE_ONE * RESIDUAL_ONE
LARGEST = MAX_ROWS * SUM_ONE
ROWS = 2**10
SURE = 60.0
"""Margins at which a residual is 1 or 0 to the last bit."""


def largest(X, label, loss=None, store=np.asarray, rows=MAX_ROWS):
    """The same row and label in all of 2³⁰ rows, or in so many."""
    few = problem_of(loss or Logistic(), np.tile(X, (ROWS, 1)), np.full(ROWS, label), store)
    return as_large_as_may_be(few, rows)


# --- Moments, rates, screening ------------------------------------------------------------------------------------


@dense_and_sparse
def test_moments_of_rows_at_their_bounds_are_exact(store):
    sums = moment_sums(largest([1.0, -1.0], 1, store=store), 2.0)._secret
    assert sums.tolist() == [LARGEST, -LARGEST, LARGEST, LARGEST, LARGEST]


def test_moments_of_two_halves_add_up():
    """Rows that are shrunk, in Python's whole numbers: 2²⁹ in either half."""
    problem = largest([1.0, 0.5], 2, Softmax(3))
    half = replace(problem, rows=replace(problem.rows, doublings=problem.rows.doublings - 1))
    one = moment_sums(half, 0.7)._secret
    code = math.floor(0.7 / math.sqrt(1.25 * (1 + 1e-9)) * RESIDUAL_ONE)
    square = code * code // RESIDUAL_ONE
    a_row = [
        code * FEATURE_ONE,
        code * FEATURE_ONE // 2,
        square * FEATURE_ONE,
        square * FEATURE_ONE // 4,
        0,
        0,
        SUM_ONE,
    ]
    assert [int(a) + int(b) for a, b in zip(one, one, strict=True)] == [MAX_ROWS * part for part in a_row]
    assert np.array_equal(one + one, moment_sums(problem, 0.7)._secret)


def test_noise_on_the_largest_moments_leaves_them_where_they_are():
    """Noise of 1,000 sensitivities, six thousand rows in all: six millionths of 2³⁰ rows."""
    standard = private_standard(largest([1.0, -1.0], 1), 2.0, 1000.0, 2, SeededSource(0))
    assert standard.centre == pytest.approx([1.0, -1.0], abs=4e-5)
    assert standard.variance == pytest.approx([0.0, 0.0], abs=1e-4)
    assert standard.rates == pytest.approx([1 - 1 / math.sqrt(MAX_ROWS)])


def test_counts_of_classes_and_of_short_rows():
    problem = largest([1.0, 1.0], 1)
    assert class_sums(problem)._secret.tolist() == [MAX_ROWS * RESIDUAL_ONE]
    prices = np.array([1.5, MAX_ROWS])
    scores = length_scores(problem, np.array([1.0, 2.0]), prices)._secret
    assert scores.tolist() == [(-9 * MAX_ROWS - 15) * RESIDUAL_ONE, -11 * MAX_ROWS * RESIDUAL_ONE]


def test_scores_of_screening_are_exact():
    scores = screening_scores(largest([1.0, -1.0, 0.0], 0), np.array([1.0]), RESIDUAL_ONE)
    assert scores._secret.tolist() == [LARGEST, LARGEST, 0]


# --- Descent and curvature ----------------------------------------------------------------------------------------


either_unit = pytest.mark.parametrize(("rows", "one"), [(2**26, 2**20), (MAX_ROWS, 2**16)], ids=["fine", "coarse"])


def sums_of_descent(problem, standard, intercept):
    mask = np.ones((1, problem.n_features), dtype=bool)
    plan = replace(prepare_descent(problem.loss, standard, mask, problem.n_rows, Pace(1, 1.0, 0.5), 1), clip=1e6)
    at = Weights(np.zeros(mask.shape), np.array([intercept]))
    return weighted_sums(problem.rows.then(descent_rows, standard, mask), standard, at, plan)._secret


@either_unit
@dense_and_sparse
def test_gradients_of_rows_that_are_all_wrong_are_within_their_allowance(store, rows, one):
    """For the least scale and the farthest centre, against rational arithmetic; sums and half sums are exact."""
    centre, scale = np.array([-1.0, 0.3]), np.full(2, 0.02)
    problem = largest([1.0, -1.0], 0, store=store, rows=rows)
    *slopes, total, bend = sums_of_descent(problem, standard_of(centre, scale), SURE)
    assert (total, bend) == (rows * one, 0)
    for slope, x, c, s in zip(slopes, (1, -1), centre, scale, strict=True):
        exact = (x - Fraction(c)) / Fraction(s) * rows * one
        assert abs(int(slope) - exact) <= 3  # half of the allowance, 6 for both of two neighbours


@either_unit
def test_curvatures_by_the_margin_are_exact(rows, one):
    *_, bend = sums_of_descent(largest([1.0], 0, rows=rows), standard_of([0.0], [1.0]), 0.0)
    assert bend == rows * one // 4 // 2


def test_the_unit_is_the_finest_that_64_bits_allow_for_the_public_number_of_rows():
    assert [descent_unit(rows) for rows in (1, 2**26, 2**26 + 1, MAX_ROWS)] == [2**20, 2**20, 2**16, 2**16]
    for rows in (2**26, MAX_ROWS):
        assert rows * descent_unit(rows) * FEATURE_ONE == 2**62


@pytest.mark.parametrize(
    ("rows", "stated", "message"),
    [
        (2**27, 2**26, "more than 67108864 rows, .* beside so small an n_rows; state one above 67108864"),
        (2**27, 1, "more than 67108864 rows, .* beside so small an n_rows; state one above 67108864"),
        (2**31, 2**30, "more than 1073741824 rows, which cannot be summed exactly$"),
    ],
)
def test_a_descent_refuses_more_rows_than_its_unit_allows(rows, stated, message):
    """However it is called: under add-remove the true number may be larger than the stated one."""
    problem = as_large_as_may_be(drawn(np.array([1.0])), rows, stated)
    standard, mask = standard_of([0.0], [1.0]), np.ones((1, 1), dtype=bool)
    start = Weights(np.zeros((1, 1)), np.zeros(1))

    def descend(public):
        plan = prepare_descent(problem.loss, standard, mask, public, Pace(1, 1.0, 1.0), 1)
        return noisy_descent(problem, standard, start, plan, SeededSource(0))

    with pytest.raises(ValueError, match=message):
        descend(stated)
    if rows <= MAX_ROWS:
        assert descend(2**26 + 1).steps == 1


@pytest.mark.parametrize(("rows", "least", "most"), [(2**21, 1.0, 1.02), (2**26, 1.0, 1.02), (2**27, 1.1, 1.25)])
def test_a_class_of_one_in_ten_thousand_is_fitted_with_the_fine_unit(rows, least, most):
    """How much too likely it is: rounding takes half a unit off codes of π·ω, with a weight ω of a half.

    Hardly any noise, and steps as long as the curvature of so rare a class allows, so that the descent comes to rest.
    """
    few, rate = 2**15, 4 / 2**15
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-1, 1, (few, 1)), np.zeros(few)
    y[rng.choice(few, size=4, replace=False)] = 1
    problem = as_large_as_may_be(problem_of(Logistic(), X, y), rows)
    standard = standard_of([0.0], [math.sqrt(1 / 3)], rates=[rate])
    plan = prepare_descent(Logistic(), standard, np.ones((1, 1), dtype=bool), rows, Pace(150, 1e-3, 0.3), 1)
    plan = replace(plan, rate=0.5 / (rows * rate))
    start = Weights(np.zeros((1, 1)), np.array([math.log(rate)]))
    at = noisy_descent(problem, standard, start, plan, SeededSource(6)).landing.at
    fitted = expit(X @ (at.coef / standard.scale).T + at.intercept)[:, 0]
    weight = 1 / np.sqrt(1 + 3 * X[:, 0] ** 2)
    assert least <= weight @ fitted / (weight @ y) < most


@pytest.mark.parametrize(("x", "entry"), [(0.0, 32767), (1.0, 23170)], ids=["diagonal", "beside it"])
def test_products_of_the_longest_rows_are_within_their_allowance(x, entry):
    """Rows u = (0, 2¹⁵) or (2¹⁴·⁵, 2¹⁴·⁵), rounded towards zero, so that every sum is as large as it may be."""
    at = Weights(np.zeros((1, 1)), np.zeros(1))
    sums, scores = np.split(curvature_sums(largest([x], 1), standard_of([0.0], [1.0]), at, 1e6, 0.25)._secret, 2)
    across = entry if x else 0
    exact = [across**2, across * entry * Fraction(math.sqrt(2)), entry**2]
    for found, half, one_row in zip(sums, scores, exact, strict=True):
        assert abs(int(found) - MAX_ROWS * one_row) <= curvature._SLACK / 2
        assert abs(int(half) - MAX_ROWS * one_row / 2) <= curvature._SLACK / 2
    assert max(exact) * MAX_ROWS > 0.99 * 2**59


# --- Frank-Wolfe --------------------------------------------------------------------------------------------------


def test_scores_of_corners_are_exact_and_the_steepest_is_chosen():
    problem = largest([1.0, 0.5, 0.0], 0)
    engine = engine_of(problem, np.ones(2))
    engine.refresh(0, np.array([SURE]), RESIDUAL_ONE, 0)
    slopes = dict(zip(engine.features.tolist(), engine.gradient[0].tolist(), strict=True))
    assert [slopes[feature] for feature in range(3)] == [LARGEST, LARGEST // 2, 0]
    assert engine.code_sums().tolist() == [MAX_ROWS * RESIDUAL_ONE]
    (scores,) = L1Ball(1.0).scores(engine.gradient, engine.tops, engine.features)
    for selector in (
        ExponentialSelector(1e-3, 2, SeededSource(0)),
        LaplaceSelector(2**50, SeededSource(0)),
    ):
        assert selector(scores, RESIDUAL_ONE) == (0, -1)


def drawn(weights, seed=0, n_rows=2**12):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, len(weights)))
    return problem_of(Logistic(), X, rng.random(n_rows) < expit(X @ weights + 0.4))


def test_frank_wolfe_on_many_copies_is_frank_wolfe_on_one():
    """Without noise to speak of the number of copies changes nothing; both choose from fresh residuals."""
    one = drawn(np.array([2.0, -1.0, 0.0]))

    def fit(problem):
        intercept = NoisyIntercept(frozenset({1, 5, 20}), 1e-6, 1, problem.n_rows, SeededSource(1))
        return frank_wolfe(problem, L1Ball(3.0), 40, ExponentialSelector(1e5, 1, SeededSource(2)), intercept)

    few, many = fit(one), fit(as_large_as_may_be(one))
    assert many.coef == pytest.approx(few.coef, abs=1e-12)
    assert many.intercept == pytest.approx(few.intercept, abs=1e-6)


def test_select_then_refit_on_the_largest_table_finds_the_weights():
    """4,096 rows over and over: their own weights are known to 0.08, and privacy costs nothing."""
    weights = np.array([2.0, -1.0, 0.0])
    problem = as_large_as_may_be(drawn(weights))
    plan = plan_select_refit(Budget(1.0, 1e-12), Neighbours.ADD_REMOVE, MAX_ROWS, 3, 1, max_features=2)
    found = select_and_refit(problem, plan, SeededSource(3))
    assert found.coef[0] == pytest.approx(weights, abs=0.3)
    assert found.coef[0, 2] == 0
    assert found.intercept == pytest.approx([0.4], abs=0.2)
