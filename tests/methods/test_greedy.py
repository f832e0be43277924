"""Greedy coordinate descent: a choice and one number leave at every step, each as well hidden as is said."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, softmax

from hardzero import PrivateGreedyLogisticRegression
from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE
from hardzero.methods.greedy import greedy_descent, plan_greedy
from hardzero.methods.rows import with_constant
from hardzero.optim.losses import Logistic, Softmax
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import GaussianRelease, Repeated, Selection

from ..optim.cases import dense_and_sparse, every_loss, every_relation, on_drawn_neighbours
from ..optim.neighbours import neighbours_of, problem_of, records, within
from .released_path import (
    UNIT,
    epsilon_by_hand,
    following,
    heard_in,
    weights_of,
    with_and_without,
    zcdp_epsilon_by_hand,
)

STEPS = 5
LOOSE = {"epsilon": 1e12, "delta": 1e-3, "bounds": (-1, 1), "classes": "from-y", "random_state": 0}


def run(problem, relation, *path, steps=STEPS, penalty=0.0):
    """Everything that one side hands in, with noise of one sensitivity, and the weights at the end."""
    plan = replace(plan_greedy(Budget(1.0, 1e-5), relation, steps, None, penalty), noise=1.0)
    with following(problem.data.n_rows, *path) as recorder:
        end = greedy_descent(problem, plan, problem.data.n_features, None)
    return recorder, end


def runs_of_both(loss, relation, X, y, *path, constant=False, store=np.asarray, charge_for=None, penalty=0.0):
    (one, end), (other, same) = (
        run(with_constant(problem_of(loss, *side, store), constant), charge_for or relation, *path, penalty=penalty)
        for side in neighbours_of(relation, X, y)
    )
    assert np.array_equal(end, same)  # one released path
    assert one.sensitivities == other.sensitivities == one.sigmas == other.sigmas
    return one, other


def scores_hold(one, other):
    """Whether no score of any selection moved by more than the selection was told, in whole numbers."""
    triples = zip(one.scores, other.scores, one.sensitivities, strict=True)
    return all(abs(int(a) - int(b)) <= most for u, v, most in triples for a, b in zip(u, v, strict=True))


def numbers_hold(one, other):
    """Whether no measured gradient moved by more than its noise is made for."""
    return all(within(a, b, sigma) for a, b, sigma in zip(one.sums, other.sums, one.sigmas, strict=True))


# --- Sensitivity --------------------------------------------------------------------------------------------------


@on_drawn_neighbours(max_examples=60)
def test_scores_and_gradients_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    X, y = data.draw(records(loss))
    one, other = runs_of_both(
        loss,
        relation,
        X,
        y,
        data.draw(st.integers(0, 100)),
        constant=data.draw(st.booleans()),
        store=store,
        penalty=data.draw(st.sampled_from([0.0, 0.1])),
    )
    assert len(one.scores) == len(one.sums) == STEPS
    assert all(len(sums) == 1 for sums in one.sums)
    assert scores_hold(one, other)
    assert numbers_hold(one, other)
    assert max(one.sensitivities) <= relation.contributions * UNIT  # no residual exceeds 1, whatever the weights


def worst_pair(loss):
    """A row at its bounds under labels that are as wrong as can be, and rows that agree with it, so that signs stay.

    At zero weights a logistic residual is ½, a softmax one -⅔ for the true class. Replaced by its opposite, the row
    moves its coordinate twice as far.
    """
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    return X, np.zeros(5, dtype=int)


@every_relation
@every_loss
def test_the_sensitivities_are_nearly_reached(loss, relation):
    one, other = runs_of_both(loss, relation, *worst_pair(loss), 0, [0.25], [0] * STEPS)
    bound = relation.contributions * (math.ceil(RESIDUAL_ONE * (1 / 2 if loss.outputs == 1 else 2 / 3)) + 1)
    assert one.sensitivities[0] == bound * FEATURE_ONE
    for u, v in ((one.scores[0], other.scores[0]), (one.sums[0], other.sums[0])):
        assert 0.999 * one.sensitivities[0] < np.abs(u - v).max() <= one.sensitivities[0]


@every_loss
def test_sensitivities_grow_with_the_released_weights_and_are_reached_there(loss):
    """Weights that grow by 4 a step in the wrong direction: residuals come close to 1, as does what is charged."""
    X, y = worst_pair(loss)
    slope = -1.0 if loss.outputs == 1 else 1.0
    one, other = runs_of_both(loss, Neighbours.ZERO_OUT, X, y, 0, [slope], [0] * STEPS)
    assert one.sensitivities == sorted(one.sensitivities)
    assert one.sensitivities[-1] == pytest.approx(UNIT, rel=1e-6)
    assert np.abs(one.sums[-1] - other.sums[-1])[0] > 0.999 * one.sensitivities[-1]


@dense_and_sparse
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(9)], ids=["2", "3", "9"])
def test_a_gradient_is_that_of_each_row_by_itself(loss, store):
    """To the last bit: no row's part depends on other rows."""
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, size=(40, 5)), rng.integers(0, max(loss.outputs, 2), size=40)
    whole, _ = run(problem_of(loss, X, y, store), Neighbours.ZERO_OUT, 2, steps=12)
    alone = [run(problem_of(loss, X[[i]], y[[i]], store), Neighbours.ZERO_OUT, 2, steps=12)[0] for i in range(40)]
    assert np.array_equal(whole.sums, sum(np.array(row.sums) for row in alone))


# --- Noise and plans ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_every_number_has_fresh_noise_of_the_declared_size(neighbours):
    """600 values, five standard errors for their size and for the correlation of successive ones."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(50, 6)), rng.integers(0, 2, size=50)
    model = PrivateGreedyLogisticRegression(
        bounds=(-1, 1), n_iter=600, neighbours=neighbours, random_state=4, classes="from-y"
    )
    model, heard = heard_in(lambda: model.fit(X, y))
    noise = model.privacy_.events[0].event.noise
    most = Neighbours.parse(neighbours).contributions * UNIT
    assert heard.sigmas[0] == math.ceil(
        noise * (most // 2 + most // UNIT * FEATURE_ONE)
    )  # a residual of ½, rounded up
    assert all(heard.sigmas[0] <= sigma <= math.ceil(noise * most) for sigma in heard.sigmas)
    relative = np.concatenate(heard.noises) / heard.sigmas
    assert relative.std() == pytest.approx(1.0, abs=5 / math.sqrt(1200))
    assert abs(np.corrcoef(relative[1:], relative[:-1])[0, 1]) < 5 / math.sqrt(600)


@pytest.mark.parametrize("classes", [2, 3])
@with_and_without
def test_every_step_is_charged_for_one_choice_and_one_number(intercept, classes):
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-1, 1, size=(40, 3)), np.arange(40) % classes
    model = PrivateGreedyLogisticRegression(bounds=(-1, 1), n_iter=7, fit_intercept=intercept, classes="from-y")
    model, heard = heard_in(lambda: model.fit(X, y))
    assert [(type(e.event), e.times) for e in model.privacy_.events] == [(GaussianRelease, 7), (Selection, 7)]
    assert heard.selections == 7
    assert [len(noise) for noise in heard.noises] == [1] * 7


@every_relation
def test_plans_keep_within_their_budget_and_use_it(relation):
    for epsilon, delta, steps in itertools.product([0.01, 0.5, 1.0, 10.0], [1e-9, 1e-3], [1, 30, 3000]):
        budget = Budget(epsilon, delta)
        plan = plan_greedy(budget, relation, steps, None, 0.0)
        assert plan.spent <= budget
        assert plan.spent.epsilon > 0.99 * epsilon
        square = steps / plan.noise**2
        if steps == 1:  # one choice, then its gradient; charged as if the gradient came first
            assert 0.9 * epsilon < epsilon_by_hand(square, delta, plan.eta) <= epsilon
        elif steps == 30:  # choices are nearly Gaussian releases of noise 2/η
            assert epsilon_by_hand(2 * square, delta) == pytest.approx(epsilon, rel=0.08)
        else:  # too many for a recursion
            assert zcdp_epsilon_by_hand(square, delta) == pytest.approx(epsilon, rel=1e-3)
        assert plan.eta**2 / 8 == pytest.approx(1 / (2 * plan.noise**2))  # half for each
        assert plan.events == (
            Repeated(GaussianRelease("gradient of the chosen coordinate", plan.noise), steps),
            Repeated(Selection(plan.eta, "one coordinate"), steps),
        )


@pytest.mark.parametrize("classes", [2, 3])
def test_a_step_that_is_too_long_names_the_inequality(classes):
    X, y = np.ones((6, 2)), np.arange(6) % classes
    model = PrivateGreedyLogisticRegression(bounds=(-1, 1), n_iter=2, step_size=4.01, classes="from-y")
    with pytest.raises(ValueError, match=r"step_size = 4.01 violates step_size·M ≤ 1, .* use at most 4, or None"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.set_params(step_size=4.0).fit(X, y).coef_))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_curvature_along_a_coordinate_is_at_most_a_quarter(classes):
    """Second differences of one row's loss, |x| ≤ 1, at random weights; a quarter is reached at even odds."""
    rng = np.random.default_rng(6)
    h = 1e-3

    def second(margins, output, x):
        shift = np.zeros((3, classes))
        shift[:, output] = [h * x, 0.0, -h * x]
        losses = -log_softmax(margins + shift, axis=1)[:, 0]
        return (losses[0] - 2 * losses[1] + losses[2]) / h**2

    found = [
        second(rng.normal(0, 3, classes), int(rng.integers(classes)), rng.choice([-1, 1, rng.uniform(-1, 1)]))
        for _ in range(2000)
    ]
    assert max(found) <= 0.25 + 1e-6
    even = np.r_[math.log(classes - 1), np.zeros(classes - 1)]  # the first class as likely as all others together
    assert second(even, 0, 1.0) == pytest.approx(0.25, abs=1e-5)


# --- The steps themselves -----------------------------------------------------------------------------------------


def by_hand(X, y, steps, *, rate=4.0, penalty=0.0, intercept=False):
    """Move the weight with the largest gradient; floating point, nothing of the library. Also the closest race."""
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    K, p = (1 if y.max() == 1 else y.max() + 1), X.shape[1] - intercept
    truth = y[:, None] if K == 1 else np.eye(K)[y]
    w, closest = np.zeros((K, X.shape[1])), math.inf
    for _ in range(steps):
        v = X @ w.T
        gradient = ((expit(v) if K == 1 else softmax(v, axis=1)) - truth).T @ X / len(X)
        first, second = np.sort(np.abs(gradient).ravel())[[-1, -2]]
        closest = min(closest, first - second)
        place = np.unravel_index(np.argmax(np.abs(gradient)), w.shape)
        moved = w[place] - rate * gradient[place]
        w[place] = np.sign(moved) * max(abs(moved) - rate * penalty * (place[1] < p), 0.0)
    return w, closest


@pytest.mark.parametrize("penalty", [0.0, 0.004])
@with_and_without
def test_with_hardly_any_noise_the_steps_are_those_of_a_few_lines_of_numpy(synthetic, intercept, penalty):
    X, y = synthetic
    model = PrivateGreedyLogisticRegression(**LOOSE, n_iter=50, penalty=penalty, fit_intercept=intercept).fit(X, y)
    expected, closest = by_hand(X, y, 50, penalty=penalty, intercept=intercept)
    assert closest > 1e-7  # no step at which rounding could have chosen otherwise
    assert np.abs(weights_of(model, intercept) - expected).max() < 1e-3
    assert np.array_equal(model.coef_ != 0, expected[:, :100] != 0)
    assert np.abs(expected).max() > 1
    assert abs(model.intercept_[0]) > 1 or not intercept


@with_and_without
def test_several_classes_too(intercept):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(600, 8))
    y = np.argmax(X[:, :3] + [0.0, 0.5, 0.0] + 0.3 * rng.standard_normal((600, 3)), axis=1)
    steps = {"penalty": 0.01, "rate": 1.5, "intercept": intercept}
    model = PrivateGreedyLogisticRegression(
        **LOOSE, n_iter=40, penalty=0.01, step_size=1.5, fit_intercept=intercept
    ).fit(X, y)
    expected, closest = by_hand(X, y, 40, **steps)
    assert closest > 1e-6
    assert np.abs(weights_of(model, intercept) - expected).max() < 1e-3


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_no_more_weights_than_steps(classes, steps):
    """At a budget so small that choices are close to uniform: 20 fits, intercepts counted as well."""
    rng = np.random.default_rng(8)
    X, y = rng.uniform(-1, 1, size=(50, 30)), np.arange(50) % classes
    counts = []
    for seed in range(20):
        model = PrivateGreedyLogisticRegression(
            0.01, bounds=(-1, 1), n_iter=steps, fit_intercept=True, random_state=seed, classes="from-y"
        ).fit(X, y)
        counts.append(np.count_nonzero(model.coef_) + np.count_nonzero(model.intercept_))
    assert min(counts) >= 1
    assert max(counts) == steps


def test_the_penalty_makes_zeros_but_spares_the_intercept(synthetic):
    """No gradient exceeds ½ at zero weights, so a penalty above that leaves nothing but the constant."""
    X, y = synthetic
    counts = []
    for penalty in (0.0, 0.02, 0.6):
        model = PrivateGreedyLogisticRegression(**LOOSE, n_iter=60, penalty=penalty, fit_intercept=True).fit(X, y)
        counts.append(len(model.support_))
        assert model.intercept_[0] < -0.5
    assert counts[0] > counts[1] > counts[2] == 0
