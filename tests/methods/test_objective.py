"""Objective perturbation for logistic regression: how exactly it is minimised, and what its plan rests on."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS
from hardzero.methods import objective
from hardzero.methods.objective import (
    Perturbation,
    curvature,
    minimise_logistic,
    perturbed_logistic,
    plan_perturbation,
)
from hardzero.methods.rows import ClippedRows
from hardzero.optim.losses import Logistic
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import Repeated, Selection
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import dense_and_sparse
from ..optim.neighbours import problem_of, records

GAP = objective._GAP  # by which a minimiser may be missed: 1e-6 in the proof
ALPHA = 1e-6


def rows_of(X, y, norm=1.0, store=np.asarray):
    return ClippedRows.of(problem_of(Logistic(), X, y, store), norm)


def seen_by_the_fit(rows):
    """The rows, dense, after clipping."""
    X = rows.problem.data.columns()
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)) * rows.shrink[:, None]


# --- The minimiser ------------------------------------------------------------------------------------------------


def miss(rows, centre, convexity, linear, w):
    """Bound the distance to the minimiser by the length of the gradient, in more than double precision.

    Strong convexity: ‖w - w*‖ ≤ ‖gradient‖/convexity.
    """
    X, w = seen_by_the_fit(rows).astype(np.longdouble), w.astype(np.longdouble)
    probability = 1 / (1 + np.exp(-np.clip(X @ w, -1e4, 1e4)))
    gradient = X.T @ (probability - rows.problem.targets[:, 0]) + convexity * (w - centre) + linear
    return float(np.sqrt(np.sum(gradient**2)) / convexity)


@st.composite
def objectives(draw):
    """Rows with zeros and outliers, labels that may be separable or all the same, and any linear term and centre.

    Weights stay below some 1e5, or 1e4 if convexity is tiny: beyond that doubles can be too coarse for the gap.
    """
    X, y = draw(records(Logistic(), most_rows=8))
    labels = draw(st.sampled_from(["any", "separable", "ones", "zeros"]))
    y = {"any": y, "separable": X[:, 0] > 0, "ones": 0 * y + 1, "zeros": 0 * y}[labels].astype(int)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    convexity = draw(st.sampled_from([1e-4, 1e-3, 0.01, 1.0, 1e3, 1e6]))
    size = draw(st.sampled_from([0.0, 1e-6, 1.0, 1e3, 1e5]))
    assume(convexity >= 0.01 or size <= 1e3)
    linear = size * convexity * rng.standard_normal(X.shape[1])
    centre = draw(st.sampled_from([0.0, 1.0, 100.0])) * rng.standard_normal(X.shape[1])
    store = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    return rows_of(X, y, draw(st.sampled_from([0.05, 1.0, 5.0])), store), centre, convexity, linear


@settings(max_examples=200)
@given(objectives())
def test_the_minimiser_is_missed_by_no_more_than_the_gap(problem):
    assert miss(*problem, minimise_logistic(*problem)) <= GAP


@dense_and_sparse
@pytest.mark.parametrize("convexity", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("separable", [False, True], ids=["noisy", "separable"])
def test_larger_problems_are_minimised_as_exactly_and_as_scikit_learn_does(convexity, separable, store):
    rng = np.random.default_rng(60)
    X = rng.uniform(-1, 1, size=(1500, 40)) * (rng.random((1500, 40)) < 0.4)
    score = X[:, 0] - 2 * X[:, 1] + 0.5 * X[:, 2]
    y = score + (0 if separable else rng.logistic(size=1500)) > 0
    rows = rows_of(X, y, 1.0, store)
    w = minimise_logistic(rows, np.zeros(40), convexity, np.zeros(40))
    assert miss(rows, np.zeros(40), convexity, np.zeros(40), w) <= GAP
    theirs = LogisticRegression(
        C=1 / convexity, fit_intercept=False, tol=1e-10, max_iter=1000, solver="newton-cholesky"
    ).fit(seen_by_the_fit(rows), y)
    assert w == pytest.approx(theirs.coef_[0], abs=1e-6)


def test_more_features_than_rows_are_minimised_as_exactly():
    rng = np.random.default_rng(61)
    rows = rows_of(rng.uniform(-1, 1, size=(30, 600)), rng.integers(0, 2, size=30))
    problem = rows, rng.standard_normal(600), 0.01, 5 * rng.standard_normal(600)
    assert miss(*problem, minimise_logistic(*problem)) <= GAP


@dense_and_sparse
def test_sums_over_a_million_rows_are_not_rounded_on_the_way(store):
    """A running total in doubles misses by more than the whole gap: most additions of 0.1 err the same way."""
    n = 10**6
    data = problem_of(Logistic(), np.ones((n, 1)), np.zeros(n), store).data
    exact = n * Fraction(0.1)
    assert abs(Fraction(np.add.accumulate(np.full(n, 0.1))[-1]) - exact) > GAP
    assert abs(Fraction(objective._precise_sums(data, np.full(n, 0.1))[0]) - exact) < 1e-4 * GAP


def exact_dot(numbers, others):
    return sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(numbers, others, strict=True)), Fraction(0))


@dense_and_sparse
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 300]), st.sampled_from([1e-9, 1.0, 1e3]))
def test_margins_and_sums_err_by_a_few_roundings_however_long_they_are(store, seed, size, scale):
    rng = np.random.default_rng(seed)
    X = np.rint(rng.uniform(-1, 1, (size, size)) * FEATURE_ONE) / FEATURE_ONE
    data = problem_of(Logistic(), X, np.zeros(size), store).data
    w, values = scale * rng.standard_normal(size), rng.uniform(-1, 1, size)
    margins, sums = objective._precise_margins(data, w), objective._precise_sums(data, values)
    for i in range(min(size, 7)):
        exact = exact_dot(X[i], w)
        unseen = 2.0**-57 * np.abs(X[i]).sum()  # what is left of the weights after four pieces
        assert abs(Fraction(margins[i]) - exact) <= 2.0**-52 * abs(float(exact)) + 1.01 * unseen
        exact = exact_dot(X[:, i], values)
        assert abs(Fraction(sums[i]) - exact) <= 2.0**-51 * abs(float(exact)) + 2.0**-61 * np.abs(X[:, i]).sum()


@settings(max_examples=60)
@given(objectives())
def test_rounding_hides_no_more_of_the_gradient_than_allowed_for(problem):
    rows, centre, convexity, linear = problem
    w = minimise_logistic(*problem)
    X, shrink, y = seen_by_the_fit(rows), rows.shrink, rows.problem.targets[:, 0]
    data = rows.problem.data
    probability = expit(shrink * objective._precise_margins(data, w))
    computed = objective._precise_sums(data, shrink * (probability - y)) + convexity * (w - centre) + linear
    X, w_long = X.astype(np.longdouble), w.astype(np.longdouble)
    true = X.T @ (1 / (1 + np.exp(-np.clip(X @ w_long, -1e4, 1e4))) - y) + convexity * (w_long - centre) + linear
    assert float(np.linalg.norm((computed - true).astype(float))) <= objective.gradient_rounding(
        rows, w, centre, convexity, linear
    )


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.integers(0, 10**6))
def test_sums_of_residuals_lose_no_more_than_their_last_bits(values, seed):
    """What four pieces of 16 bits leave of a residual, and four roundings; against rational arithmetic."""
    X = np.random.default_rng(seed).integers(-FEATURE_ONE, FEATURE_ONE, (len(values), 3)) / FEATURE_ONE
    data = problem_of(Logistic(), X, np.zeros(len(values))).data
    for found, column in zip(objective._precise_sums(data, np.array(values)), X.T, strict=True):
        terms = [Fraction(x) * Fraction(value) for x, value in zip(column, values, strict=True)]
        left = len(values) * Fraction(1, 2**65)
        assert abs(Fraction(found) - sum(terms)) <= left + 4 * Fraction(1, 2**53) * sum(map(abs, terms), left)


def test_weights_too_large_for_exact_margins_are_never_certified():
    rows = rows_of(np.ones((1, 2)), [1])
    assert objective.gradient_rounding(rows, np.array([2.0**21, 1.0]), np.zeros(2), 1.0, np.zeros(2)) == math.inf


def certified_share(n_rows, size, convexity, features=100):
    """How much of the gap rounding takes at weights of this length, rows of length 1."""
    rows = ClippedRows(SimpleNamespace(data=SimpleNamespace(n_rows=n_rows)), None, 1.0)
    w, nothing = np.full(features, size / math.sqrt(features)), np.zeros(features)
    return objective.gradient_rounding(rows, w, nothing, convexity, nothing) / (GAP * convexity)


def test_rounding_leaves_room_for_the_certificate_where_the_proof_page_says_so():
    """Half of the gap is left for the gradient that Newton's method ends with."""
    for n, convexity in ((2**26, 1.0), (MAX_ROWS, 16.0)):
        assert certified_share(n, 0.0, convexity) < 0.25
        assert certified_share(n, 34.0, convexity) < 0.5 < certified_share(n, 36.0, convexity)
    for convexity in (1e-3, 1.0, 1e3):
        n = 10**6 * convexity
        assert certified_share(n, 2 + math.sqrt(2 * math.log(2) * n / convexity), convexity) < 0.25


@pytest.mark.parametrize("n_rows", [0, 1])
def test_no_row_at_all_and_one_of_zeros_leave_a_quadratic(n_rows):
    rows = rows_of(np.zeros((n_rows, 2)), np.ones(n_rows))
    w = minimise_logistic(rows, np.array([1.0, 2.0]), 4.0, np.array([8.0, -2.0]))
    assert w == pytest.approx([-1.0, 2.5], abs=GAP)


def test_what_cannot_be_minimised_exactly_enough_is_not_released(monkeypatch):
    """Weights of 1e9 across the row's direction, a margin of about 1 along it: doubles cannot hold both at once."""
    rows = rows_of(np.array([[1.0, 0.3]]), [1], 2.0)
    with pytest.raises(RuntimeError, match="as exactly as the guarantee needs"):
        minimise_logistic(rows, np.zeros(2), 1e-9, 0.5 * np.array([1.0, 0.3]) + 0.7 * np.array([-0.3, 1.0]))
    monkeypatch.setattr(objective, "_NEWTON_STEPS", 1)  # nor is one step of Newton's enough
    with pytest.raises(RuntimeError, match="as exactly as the guarantee needs"):
        minimise_logistic(rows, np.zeros(2), 1.0, np.ones(2))


def test_a_method_that_runs_away_is_not_released(monkeypatch):
    rows = rows_of(np.array([[1.0, 0.3]]), [1], 2.0)
    for runaway in (np.nan, np.inf, 1e200):
        monkeypatch.setattr(objective, "cg", lambda *args, away=runaway, **options: (np.full(2, away), 0))
        with pytest.raises(RuntimeError, match="as exactly as the guarantee needs"):
            minimise_logistic(rows, np.zeros(2), 1.0, np.ones(2))


def test_noise_too_coarse_for_the_gap_is_refused_before_any_record_is_read():
    """A unit of the discrete noise may move the minimiser by a quarter of a gap, no more."""
    coarse = Perturbation(1e-9, 3.0, 100.0, ())
    with pytest.raises(ValueError, match="larger epsilon or a larger l2_penalty or coupling"):
        perturbed_logistic(ClippedRows(None, None, 1.0), np.zeros(100), coarse, 1, SeededSource(0))


def test_more_rows_than_rounding_leaves_room_for_are_refused_by_their_public_number():
    """Whatever the records are and however many: half of the gap would be gone before there is any weight."""
    few = rows_of(np.ones((3, 2)), [0, 1, 1])
    for convexity, fits, many in ((1.0, 10**8, 2 * 10**8), (10.0, MAX_ROWS, None)):
        plan = Perturbation(convexity, 1.0, 100.0, ())
        stated = replace(few, problem=replace(few.problem, stated_rows=fits))
        assert np.all(np.isfinite(perturbed_logistic(stated, np.zeros(2), plan, 1, SeededSource(0))))
        if many:
            unread = ClippedRows(SimpleNamespace(n_rows=many, data=few.problem.data), None, 1.0)
            with pytest.raises(ValueError, match=r"200000000 rows of length 1 are too many .* a larger l2_penalty"):
                perturbed_logistic(unread, np.zeros(2), plan, 1, SeededSource(0))


# --- The rows -----------------------------------------------------------------------------------------------------


def rows_within(rows):
    """No row's gradient is longer than promised, in rational arithmetic at the very doubles that are used.

    A gradient is the residual, at most 1, times the clipped row.
    """
    codes = rows.problem.data.columns() * FEATURE_ONE
    codes = codes.toarray() if sparse.issparse(codes) else codes
    squares = [sum(int(c) ** 2 for c in row) * Fraction(s) ** 2 for row, s in zip(codes, rows.shrink, strict=True)]
    return all(square <= (Fraction(rows.norm) * FEATURE_ONE) ** 2 for square in squares)


norms = st.sampled_from([0.01, 0.3, 1.0, 1.5, 3.0]) | st.floats(0.01, 3)


@dense_and_sparse
@settings(max_examples=100)
@given(records(Logistic(), most_features=9), norms)
def test_no_row_has_a_longer_gradient_than_promised(store, record, norm):
    rows = rows_of(*record, norm, store)
    assert rows_within(rows)
    lengths = np.linalg.norm(rows_of(*record, 1e6).problem.data.columns(), axis=1)
    assert np.all(rows.shrink[lengths < 0.999 * norm] == 1.0)  # short rows are left alone
    assert np.linalg.norm(seen_by_the_fit(rows), axis=1) == pytest.approx(np.minimum(lengths, norm), rel=1e-7)


@settings(max_examples=100)
@given(records(Logistic(), most_features=6), norms, st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 100.0]))
def test_no_row_adds_more_curvature_than_promised(record, norm, seed, size):
    """Gradients at two places differ by at most the curvature times the distance."""
    rng = np.random.default_rng(seed)
    X = seen_by_the_fit(rows_of(*record, norm))
    one, other = size * rng.standard_normal((2, X.shape[1]))
    residuals = Logistic().residual(X @ np.stack([one, other], axis=1), 0.0)
    apart = np.linalg.norm(np.diff(residuals, axis=1) * X, axis=1)
    assert np.all(apart <= curvature(norm) * np.linalg.norm(one - other) * (1 + 1e-9))


@pytest.mark.parametrize("norm", [0.2, 1.0, 2.0])
def test_the_curvature_bound_is_reached(norm):
    """By a long row at weights of zero."""
    x = seen_by_the_fit(rows_of(np.ones((1, 9)), [1], norm))[0]
    step = 1e-4 * x / np.linalg.norm(x)
    rise = Logistic().residual(np.array([x @ step, -x @ step]), 0.0)
    assert (rise[0] - rise[1]) / 2e-4 * np.linalg.norm(x) == pytest.approx(curvature(norm), rel=1e-6)


# --- The plan -----------------------------------------------------------------------------------------------------


def epsilon_by_hand(rho, shift, delta):
    """Canonne, Kamath and Steinke 2020, Proposition 12, for D_α ≤ shift + αρ, over a grid of orders."""
    alpha = 1 + np.geomspace(1e-7, 1e7, 20_001)
    return np.min(shift + alpha * rho + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1))


VOTES = Repeated(Selection(0.05), 10)
PLANS = [
    (0.1, 1e-6, 1, 0.02, []),
    (1.0, 1e-5, 1, 0.1, [VOTES]),
    (1.0, 1e-5, 20, 0.025, []),
    (3.0, 1e-3, 3, 0.5, [VOTES]),
    (20.0, 1e-9, 1, 100.0, []),
    (1e4, 1e-2, 100, 1.0, []),
]


@pytest.mark.parametrize(("epsilon", "delta", "times", "bend", "others"), PLANS)
def test_a_perturbation_spends_its_budget_and_no_more(epsilon, delta, times, bend, others):
    budget, row_norm = Budget(epsilon, delta), 0.7
    plan = plan_perturbation("weights", budget, others, row_norm, curvature(row_norm) / bend, times)
    assert accounting.spent(plan.events, delta) <= budget
    # By hand, from nothing but the noise that the plan hands on.
    rho = times / 2 * (plan.noise**-2 + plan.gap_noise**-2) + sum(other.cost.rho for other in others)
    shift = times * (math.log1p(bend) + math.sqrt(2 / math.pi) / plan.noise)
    assert 0.99 * epsilon < epsilon_by_hand(rho, shift, delta) < 1.001 * epsilon
    assert plan.gap_noise > 2 * plan.noise  # hiding the gap costs little


@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize("norm", [0.5, 2.0])
def test_the_linear_term_has_the_planned_size(contributions, norm, monkeypatch):
    """5000 features, Kolmogorov-Smirnov at 1e-6; noise of 2/3 and of 3/2 is detected."""
    seen = []

    def listening(rows, centre, convexity, linear):
        seen.append(linear)
        return np.zeros(len(linear))

    monkeypatch.setattr(objective, "minimise_logistic", listening)
    plan = plan_perturbation("weights", Budget(1.0, 1e-5), [], norm, 10 * curvature(norm))
    perturbed_logistic(rows_of(np.ones((1, 5000)), [1], norm), np.zeros(5000), plan, contributions, SeededSource(62))
    (linear,) = seen
    white = linear / (plan.noise * contributions * norm)
    assert stats.kstest(white, "norm").pvalue > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert stats.kstest(wrong * white, "norm").pvalue < ALPHA


def test_what_is_released_is_the_minimiser_with_the_noise_that_hides_the_gap():
    rng = np.random.default_rng(63)
    rows = rows_of(rng.uniform(-1, 1, size=(20, 1000)), rng.integers(0, 2, size=20))
    plan = plan_perturbation("weights", Budget(1.0, 1e-5), [], 1.0, 10.0)
    exact = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            objective, "minimise_logistic", lambda *args: exact.append(minimise_logistic(*args)) or exact[0]
        )
        released = perturbed_logistic(rows, np.zeros(1000), plan, 1, SeededSource(64))
    errors = (released - exact[0]) / (3 * GAP * plan.gap_noise)
    assert stats.kstest(errors, "norm").pvalue > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert stats.kstest(wrong * errors, "norm").pvalue < ALPHA


def test_a_strong_convexity_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match=r"a strong convexity of .* use a larger l2_penalty or coupling"):
        plan_perturbation("weights", Budget(1e4, 1e-5), [], 0.01, 1e-4)
    plan_perturbation("weights", Budget(1e4, 1e-5), [], 0.01, 1e-3)
