"""Noisy gradient steps: no row moves a sum by more than is said, noise is as declared, and the steps are right."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from hardzero import DensePrivateLogisticRegression, PrivateIGHTLogisticRegression
from hardzero.methods.gradient_steps import noisy_steps, plan_gradient_steps
from hardzero.methods.plans import charged
from hardzero.methods.rows import ClippedRows, with_constant
from hardzero.optim.losses import Logistic, Softmax
from hardzero.privacy.budget import Budget, BudgetExceededError, Neighbours
from hardzero.privacy.events import GaussianRelease, Repeated
from hardzero.privacy.mechanisms import exact

from ..optim.cases import dense_and_sparse, every_loss, every_relation, on_drawn_neighbours
from ..optim.neighbours import neighbours_of, problem_of, records, squared_distance, within
from .released_path import (
    UNIT,
    epsilon_by_hand,
    following,
    heard_in,
    largest_correlation,
    weights_of,
    with_and_without,
)

STEPS = 4
LOOSE = {"epsilon": 1e10, "delta": 1e-3, "bounds": (-1, 1), "classes": "from-y", "random_state": 0}
BOTH = [DensePrivateLogisticRegression, PrivateIGHTLogisticRegression]
both_methods = pytest.mark.parametrize("kind", BOTH, ids=["dense", "ight"])


def sums_of_both(
    loss, relation, X, y, norm, *, constant=False, store=np.asarray, keep=None, charge_for=None, path=()
):
    """Sums of all steps on both sides, and the sensitivity: σ where noise is one sensitivity."""
    plan = plan_gradient_steps(Budget(1.0, 1e-5), charge_for or relation, loss, STEPS, None, norm)
    runs, ends = [], []
    for side in neighbours_of(relation, X, y):
        plain = problem_of(loss, *side, store)
        problem = with_constant(plain, constant)
        ight = PrivateIGHTLogisticRegression(max_features=keep, fit_intercept=constant, classes="from-y")
        sparse = ight._sparse(loss.outputs, plain.data.n_features) if keep else (lambda coef: coef)
        with following(problem.data.n_rows, *path) as recorder:
            ends.append(noisy_steps(problem, replace(plan, noise=1.0), sparse, None))
        runs.append(recorder)
    assert np.array_equal(*ends)  # one released path
    assert len({*runs[0].sigmas, *runs[1].sigmas}) == 1
    return list(zip(runs[0].sums, runs[1].sums, strict=True)), runs[0].sigmas[0]


# --- Sensitivity --------------------------------------------------------------------------------------------------


@on_drawn_neighbours(max_examples=60)
def test_gradients_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    """In whole numbers, and within the bound itself, which owes nothing to the library: norm times 1 or √2."""
    X, y = data.draw(records(loss))
    norm = data.draw(st.sampled_from([0.1, 1.0, 5.0]))
    pairs, sensitivity = sums_of_both(
        loss,
        relation,
        X,
        y,
        norm,
        constant=data.draw(st.booleans()),
        store=store,
        keep=data.draw(st.sampled_from([None, 1, 2])),
        path=(data.draw(st.integers(0, 100)),),
    )
    assert len(pairs) == STEPS
    limit = (Fraction(norm) * relation.contributions * UNIT) ** 2 * min(loss.outputs, 2)
    for one, other in pairs:
        assert squared_distance(one, other) <= limit
        assert within(one, other, sensitivity)


def worst_pair(loss, relation, p=30):
    """A long row about which the model is wrong, and none; or two that agree in nothing but their first feature.

    The path makes weights that are large where the rows look alike. For softmax the first class is predicted where
    the second is true: residuals of 1 and -1.
    """
    X = np.ones((3, p))
    X[0, 1:] = -1.0
    y = np.zeros(3, dtype=int) if loss.outputs == 1 else np.ones(3, dtype=int)
    slopes = np.zeros((loss.outputs, p))
    slopes[0, 0] = -32.0
    if loss.outputs > 1:
        slopes[1, 0] = 32.0
    return loss, relation, X, y, (0, slopes)


@pytest.mark.parametrize("norm", [0.1, 1.0, 5.0])
@every_relation
@every_loss
def test_the_sensitivity_is_nearly_reached(loss, relation, norm):
    """At later steps; opposite rows share one of 30 features, which costs them √(29/30)."""
    loss, relation, X, y, path = worst_pair(loss, relation)
    pairs, sensitivity = sums_of_both(loss, relation, X, y, norm, path=path)
    reached = max(math.sqrt(squared_distance(*pair)) for pair in pairs) / sensitivity
    least = 0.999 if relation is not Neighbours.REPLACE_ONE else 0.999 * math.sqrt(29 / 30)
    assert least < reached <= 1.0


@dense_and_sparse
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(9)], ids=["2", "3", "9"])
def test_a_sum_is_that_of_each_row_by_itself(loss, store):
    """To the last bit: no row's part depends on other rows."""
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, size=(60, 5)), rng.integers(0, max(loss.outputs, 2), size=60)
    coef = rng.standard_normal((loss.outputs, 5))

    def sums(rows):
        return exact(ClippedRows.of(problem_of(loss, X[rows], y[rows], store), 0.8).gradient(coef))

    whole, alone = sums(slice(None)), sum(sums([i]) for i in range(60))
    assert np.array_equal(whole, alone)


def test_rows_of_zeros_are_as_silent_as_others():
    """However long rows may be: a warning (here an error) would say that a row is empty."""
    problem = problem_of(Logistic(), np.array([[0.0, 0.0], [1.0, 1.0]]), [0, 1])
    for norm in (1e-9, 1.0, 1e12):
        assert ClippedRows.of(problem, norm).shrink[0] == 1.0


# --- Noise and plans ----------------------------------------------------------------------------------------------


def wide_fit(kind, neighbours="zero-out", p=500, steps=8):
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, size=(50, p)), rng.integers(0, 2, size=50)
    model = kind(
        bounds=(-1, 1),
        classes="from-y",
        delta=1e-5,
        n_iter=steps,
        neighbours=neighbours,
        row_norm=2.0,
        random_state=3,
    )
    return heard_in(lambda: model.fit(X, y))


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@both_methods
def test_every_step_has_fresh_noise_of_the_declared_size(kind, neighbours):
    """4,000 values and 28 pairs of steps, five standard errors each: chance fails less than one seed in 10,000."""
    model, heard = wide_fit(kind, neighbours)
    noises = np.array(heard.noises)
    (event,) = model.privacy_.events
    sensitivity = 2 * UNIT * Neighbours.parse(neighbours).contributions
    assert set(heard.sigmas) == {math.ceil(event.event.noise * sensitivity)}
    assert noises.shape == (8, 500)
    assert noises.std() / heard.sigmas[0] == pytest.approx(1.0, abs=5 / math.sqrt(2 * 4000))
    assert largest_correlation(noises) < 5 / math.sqrt(500)


@pytest.mark.parametrize("classes", [2, 3])
@with_and_without
@both_methods
def test_every_release_is_charged(kind, intercept, classes):
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, size=(40, 3)), np.arange(40) % classes
    model, heard = heard_in(
        lambda: kind(bounds=(-1, 1), classes="from-y", n_iter=7, fit_intercept=intercept).fit(X, y)
    )
    assert [(type(event.event), event.times) for event in model.privacy_.events] == [(GaussianRelease, 7)]
    weights = (3 + intercept) * (1 if classes == 2 else 3)
    assert [len(noise) for noise in heard.noises] == [weights] * 7
    assert heard.selections == 0


@every_loss
@every_relation
def test_plans_keep_within_their_budget_and_use_it(relation, loss):
    for epsilon, delta, steps in itertools.product([0.01, 0.5, 1.0, 10.0, 1e4], [1e-9, 1e-3], [1, 30, 3000]):
        budget = Budget(epsilon, delta)
        plan = plan_gradient_steps(budget, relation, loss, steps, None, 1.0)
        assert plan.spent <= budget
        assert plan.spent.epsilon > 0.99 * epsilon
        assert epsilon_by_hand(steps / plan.noise**2, delta) == pytest.approx(epsilon, rel=1e-6)
        assert plan.events == (Repeated(GaussianRelease("sum of clipped gradients", plan.noise), steps),)


def test_a_plan_that_costs_more_than_was_asked_for_is_refused():
    event = GaussianRelease("sums", 5.0)
    spent = charged(Budget(1.1, 1e-5), [event])
    assert spent.epsilon == pytest.approx(epsilon_by_hand(1 / 25, 1e-5), rel=1e-6)
    with pytest.raises(BudgetExceededError, match=r"the plan costs epsilon = 0\.\d+, more than 0.5"):
        charged(Budget(0.5, 1e-5), [event])


@pytest.mark.parametrize(("classes", "norm", "longest"), [(2, 1.0, 4.0), (2, 2.0, 1.0), (3, 1.0, 2.0), (3, 0.5, 8.0)])
@both_methods
def test_a_step_that_is_too_long_names_the_inequality(kind, classes, norm, longest):
    X, y = np.ones((6, 2)), np.arange(6) % classes
    model = kind(bounds=(-1, 1), classes="from-y", n_iter=2, row_norm=norm, step_size=longest * 1.01)
    with pytest.raises(
        ValueError, match=rf"step_size = .* violates step_size·L ≤ 1, .* at most {longest:g}, or None"
    ):
        model.fit(X, y)
    assert np.all(np.isfinite(model.set_params(step_size=longest).fit(X, y).coef_))


# --- The steps themselves -----------------------------------------------------------------------------------------


def by_hand(X, y, steps, *, rate=None, norm=1.0, keep=None, intercept=False):
    """Gradient descent, and hard thresholding, in floating point and nothing of the library."""
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    X = X * np.minimum(1.0, norm / np.linalg.norm(X, axis=1))[:, None]
    K, p = (1 if y.max() == 1 else y.max() + 1), X.shape[1] - intercept
    truth = y[:, None] if K == 1 else np.eye(K)[y]
    rate = (4 if K == 1 else 2) / norm**2 if rate is None else rate
    w = np.zeros((K, X.shape[1]))
    for _ in range(steps):
        v = X @ w.T
        w = w - rate * ((expit(v) if K == 1 else softmax(v, axis=1)) - truth).T @ X / len(X)
        if keep is not None:
            part = w[:, :p]
            part[np.abs(part) < np.sort(np.abs(part).ravel())[-keep * K]] = 0.0
    return w


@with_and_without
@both_methods
def test_with_hardly_any_noise_the_steps_are_those_of_a_few_lines_of_numpy(synthetic, kind, intercept):
    X, y = synthetic
    keep = {"max_features": 6} if kind is PrivateIGHTLogisticRegression else {}
    model = kind(**LOOSE, **keep, n_iter=50, fit_intercept=intercept).fit(X, y)
    expected = by_hand(X, y, 50, keep=keep.get("max_features"), intercept=intercept)
    assert np.abs(weights_of(model, intercept) - expected).max() < 1e-3
    assert np.array_equal(model.coef_ != 0, expected[:, :100] != 0)
    assert np.abs(expected).max() > 2  # far from where the steps began
    assert abs(model.intercept_[0]) > 0.3 or not intercept


@with_and_without
@both_methods
def test_several_classes_too(kind, intercept):
    """Other lengths and rates, with rows on both sides of the length."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(600, 8))
    y = np.argmax(X[:, :3] + [0.0, 0.3, 0.0] + 0.3 * rng.standard_normal((600, 3)), axis=1)
    keep = {"max_features": 2} if kind is PrivateIGHTLogisticRegression else {}
    model = kind(**LOOSE, **keep, n_iter=40, step_size=0.7, row_norm=1.6, fit_intercept=intercept).fit(X, y)
    expected = by_hand(X, y, 40, rate=0.7, norm=1.6, keep=keep.get("max_features"), intercept=intercept)
    assert np.abs(weights_of(model, intercept) - expected).max() < 1e-3
    assert np.array_equal(model.coef_ != 0, expected[:, :8] != 0)


@pytest.mark.parametrize(
    ("classes", "limit", "kept"), [(2, 3, 3), (3, 3, 9), (2, None, 4), (4, None, 16), (2, 99, 20)]
)
@with_and_without
def test_exactly_as_many_weights_as_asked_for_survive_and_intercepts_besides(intercept, classes, limit, kept):
    """At a usual budget: noise hardly ever ties or makes a zero (once in 2³⁰ at most)."""
    rng = np.random.default_rng(6)
    X, y = rng.uniform(-1, 1, size=(200, 20)), np.arange(200) % classes
    shared = {"bounds": (-1, 1), "classes": "from-y", "n_iter": 10, "fit_intercept": intercept, "random_state": 8}
    sparse = PrivateIGHTLogisticRegression(**shared, max_features=limit).fit(X, y)
    dense = DensePrivateLogisticRegression(**shared).fit(X, y)
    assert np.count_nonzero(sparse.coef_) == kept
    assert np.all(dense.coef_ != 0)
    for model in (sparse, dense):
        assert np.all((model.intercept_ != 0) == intercept)


def test_a_long_dense_run_comes_to_scikit_learns_loss():
    """On rows that were clipped beforehand, labels drawn from a model, so that a finite optimum exists."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(3000, 5))
    y = (rng.random(3000) < expit(X @ [4.0, -3.0, 0.0, 1.0, 0.0])).astype(int)
    Z = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]

    def loss(coef):
        v = Z @ coef[0]
        return -np.mean(log_softmax(np.column_stack([0 * v, v]), axis=1)[np.arange(3000), y])

    best = loss(LogisticRegression(C=1e9, fit_intercept=False, tol=1e-8).fit(Z, y).coef_)
    above = [
        loss(DensePrivateLogisticRegression(**LOOSE, n_iter=steps).fit(X, y).coef_) - best for steps in (5, 30, 400)
    ]
    assert above[0] > 1e-2 > above[1] > 1e-4
    assert abs(above[2]) < 1e-6
