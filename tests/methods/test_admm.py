"""Private ADMM: where it converges to with hardly any noise, what every round releases, and what is refused."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hardzero import PrivateADMMLogisticRegression
from hardzero.datasets import make_synthetic
from hardzero.methods import objective
from hardzero.methods.admm import plan_admm, private_admm
from hardzero.optim.losses import Logistic
from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import every_relation
from ..optim.neighbours import neighbours_of, problem_of
from ..optim.recorder import recording
from .test_objective import ALPHA, GAP, rows_of, seen_by_the_fit
from .test_select_refit_twins import largest_correlation

QUIET = {"epsilon": 1e12, "delta": 1e-6, "bounds": (-1, 1), "classes": "from-y", "random_state": 80}


@pytest.fixture(scope="module")
def task():
    data, _ = make_synthetic(1000, 20, seed=0)
    return data.X, data.y, seen_by_the_fit(rows_of(data.X, data.y))


# --- With hardly any noise ----------------------------------------------------------------------------------------


def test_fifty_rounds_find_scikit_learns_l1_optimum(task):
    """To a thousandth of the largest weight, with the same zeros; 25 rounds come within a hundredth."""
    X, y, rows = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions spell the penalty in another way
        theirs = LogisticRegression(
            penalty="l1", C=1 / (len(y) * 0.01), solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000
        ).fit(rows, y)
    errors = {}
    for rounds in (25, 50):
        model = PrivateADMMLogisticRegression(**QUIET, penalty=0.01, n_iter=rounds).fit(X, y)
        errors[rounds] = np.abs(model.coef_ - theirs.coef_).max() / np.abs(theirs.coef_).max()
    assert model.support_.tolist() == np.flatnonzero(theirs.coef_[0]).tolist()
    assert 5 < len(model.support_) < 15
    assert errors[25] < 1e-2
    assert errors[50] < 1e-3


def plain_admm(X, y, rounds, coupling, penalty, power):
    """Noise-free and written anew: mean loss + coupling, Newton's method with a direct solver, scaled multipliers."""
    n, p = X.shape
    z, u = np.zeros(p), np.zeros(p)
    for _ in range(rounds):
        w = z + u
        for _ in range(30):
            q = expit(X @ w)
            slope = X.T @ (q - y) / n + coupling * (w - z - u)
            w = w - np.linalg.solve((X.T * (q * (1 - q))) @ X / n + coupling * np.eye(p), slope)
        u = u + z - w
        level = penalty / coupling * (np.abs(z) + 1) ** power
        z = np.clip(np.abs(w - u) - level, 0, None) * np.sign(w - u)
    return z


@pytest.mark.parametrize(("shape", "power"), [("l1", 0.0), ("l1/2", -0.5)])
@pytest.mark.parametrize("rounds", [1, 6])
def test_every_round_is_that_of_a_plain_admm(task, shape, power, rounds):
    X, y, rows = task
    model = PrivateADMMLogisticRegression(
        **QUIET, penalty=0.004, penalty_shape=shape, n_iter=rounds, coupling=0.03
    ).fit(X, y)
    plain = plain_admm(rows, y, rounds, 0.03, 0.004, power)
    assert model.coef_[0] == pytest.approx(plain, abs=1e-4)
    assert model.support_.tolist() == np.flatnonzero(plain).tolist()


def test_the_two_penalties_differ_where_weights_are_large(task):
    """Large weights are thresholded less under L½, so they end larger."""
    X, y, _ = task
    l1, half = (
        PrivateADMMLogisticRegression(**QUIET, penalty=0.01, penalty_shape=shape, n_iter=20).fit(X, y).coef_[0]
        for shape in ("l1", "l1/2")
    )
    assert np.all(np.abs(half[:5]) > 1.1 * np.abs(l1[:5]))


def test_the_constant_is_not_penalised(task):
    """A penalty that leaves no feature: the intercept alone is then the optimum of the clipped constant."""
    X, y, _ = task
    y = np.where(np.arange(len(y)) % 3 == 0, 1, y)  # more ones than zeros
    model = PrivateADMMLogisticRegression(**QUIET, penalty=5.0, n_iter=60, fit_intercept=True).fit(X, y)
    constant = seen_by_the_fit(rows_of(np.column_stack([X, np.ones(len(X))]), y))[:, -1]
    best = brentq(lambda b: constant @ (expit(constant * b) - y), -10, 10)
    assert not model.coef_.any()
    assert best > 0.5
    assert model.intercept_ == pytest.approx([best], abs=1e-3)


def test_without_a_penalty_all_weights_are_kept(task):
    X, y, _ = task
    model = PrivateADMMLogisticRegression(**QUIET, penalty=0, n_iter=3).fit(X, y)
    assert len(model.support_) == 20


def test_dense_and_sparse_records_give_the_same_model(task):
    X, y, _ = task
    one, other = (
        PrivateADMMLogisticRegression(2.0, 1e-4, bounds=(-1, 1), n_iter=3, random_state=81, classes="from-y").fit(
            store(X), y
        )
        for store in (np.asarray, sparse.csr_array)
    )
    assert one.support_.tolist() == other.support_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-4)


# --- What is released ---------------------------------------------------------------------------------------------

P = 500


def wide(rounds=6, penalty=0.5, epsilon=1.0):
    rng = np.random.default_rng(82)
    problem = problem_of(Logistic(), rng.uniform(-1, 1, size=(40, P)), rng.integers(0, 2, size=40))
    plan = plan_admm(Budget(epsilon, 1e-5), Neighbours.ZERO_OUT, 40, rounds, 1.0, penalty, "l1", 1.0)
    return problem, plan


class Rounds:
    """What is heard in every round of a fit: linear terms, the gap's noise, both in units of σ, and what left."""

    def __init__(self, problem, plan, run=private_admm):
        self.linear, self.gap, self.released, self.centres = [], [], [], []
        minimise, release = objective.minimise_logistic, mechanisms.gaussian

        def listening(rows, centre, convexity, linear):
            self.linear.append(linear / (plan.fit.noise * plan.neighbours.contributions * plan.row_norm))
            self.centres.append(centre)
            return minimise(rows, centre, convexity, linear)

        def gaussian(values, sigma, source):
            released = release(values, sigma, source)
            unit = GAP / mechanisms._GAP
            self.gap.append((released - values._secret) * unit / (3 * GAP * plan.fit.gap_noise))
            self.released.append(released * unit)
            return released

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(objective, "minimise_logistic", listening)
            patch.setattr(mechanisms, "gaussian", gaussian)
            self.returned = run(problem, plan, problem.data.n_features, SeededSource(83))


def fresh(noises):
    """No two rounds' noise has anything to do with each other: five standard errors for each of 15 pairs."""
    return largest_correlation(noises) < 5 / P**0.5


def of_planned_size(noises):
    """Standard normal in the units planned: Kolmogorov-Smirnov on 3000 values, p-value above 1e-6."""
    return stats.kstest(np.ravel(noises), "norm").pvalue > ALPHA


def test_every_round_has_fresh_noise_of_the_planned_size_and_is_charged():
    problem, plan = wide()
    heard = Rounds(problem, plan)
    for noises in (heard.linear, heard.gap):
        assert len(noises) == plan.rounds
        assert fresh(noises)
        assert of_planned_size(noises)
        assert not of_planned_size(2 / 3 * np.array(noises))
        assert not of_planned_size(3 / 2 * np.array(noises))
    # For each round a minimisation, and the noise that hides its gap.
    assert [event.times for event in plan.events] == [plan.rounds] * 2


def has_hard_zeros(heard):
    """Weights below the threshold are zero to the last bit, while everything that was released is not."""
    return np.mean(heard.returned == 0) > 0.05 and not np.any(np.array(heard.released) == 0)


def sparse_weights(released, coupling, penalty):
    """Again from nothing but what was released."""
    z, v = 0.0, 0.0
    for w in released:
        v = v + coupling * (z - w)
        z = np.sign(w - v / coupling) * np.maximum(np.abs(w - v / coupling) - penalty / coupling, 0.0)
    return z


def test_the_sparse_weights_are_returned_and_made_from_released_ones_alone():
    problem, plan = wide()
    heard = Rounds(problem, plan)
    assert has_hard_zeros(heard)
    assert heard.returned == pytest.approx(sparse_weights(heard.released, plan.coupling, plan.penalty), abs=1e-12)


def centres_of_both(relation, run=private_admm):
    """Where each round starts from, for two neighbours that are answered alike whatever they ask."""
    rng = np.random.default_rng(84)
    X, y = rng.uniform(-1, 1, size=(9, 3)), rng.integers(0, 2, size=9)
    plan = plan_admm(Budget(5.0, 1e-5), relation, 9, 4, 1.0, 0.1, "l1/2", 1.0)
    centres = []
    for side in neighbours_of(relation, X, y):
        with recording(spread=1e4):
            centres.append(np.array(Rounds(problem_of(Logistic(), *side), plan, run).centres))
    return centres


@every_relation
def test_centres_depend_on_the_records_through_earlier_releases_only(relation):
    """As the proof of composition needs."""
    one, other = centres_of_both(relation)
    assert np.array_equal(one, other)
    assert np.all(np.diff(one, axis=0) != 0)


# --- The plan -----------------------------------------------------------------------------------------------------

PLANS = [
    (0.1, 1e-6, 10_000, 5, 0.02, Neighbours.ZERO_OUT),
    (1.0, 1e-5, 500, 20, 0.05, Neighbours.REPLACE_ONE),
    (10.0, 1e-2, 100, 3, 0.0006, Neighbours.ZERO_OUT),
    (1e6, 1e-9, 10, 100, 1e-3, Neighbours.ZERO_OUT),
]


@pytest.mark.parametrize(("epsilon", "delta", "n_rows", "rounds", "coupling", "relation"), PLANS)
def test_a_plan_spends_its_budget_and_no_more(epsilon, delta, n_rows, rounds, coupling, relation):
    plan = plan_admm(Budget(epsilon, delta), relation, n_rows, rounds, coupling, 0.01, "l1", 1.0)
    assert accounting.spent(plan.events, delta) == plan.spent <= plan.budget
    assert plan.spent.epsilon > 0.99 * epsilon
    assert plan.fit.convexity == n_rows * coupling


@pytest.mark.parametrize(("epsilon", "rounds", "row_norm"), [(0.7, 5, 1.0), (1.0, 300, 3.0)])
def test_too_loose_a_coupling_is_refused_with_the_inequality_and_a_number_that_works(epsilon, rounds, row_norm):
    def plan(coupling):
        return plan_admm(Budget(epsilon, 1e-5), Neighbours.ZERO_OUT, 50, rounds, coupling, 0.0, "l1", row_norm)

    least = row_norm**2 / 4 / 50 / np.expm1(epsilon / 2 / rounds)
    inequality = re.escape("n_iter·log(1 + row_norm²/(4·n·coupling)) ≤ epsilon/2")
    with pytest.raises(ValueError, match=inequality) as refusal:
        plan(0.999 * least)
    advice = float(re.search(r"at least ([\d.e+-]+),", str(refusal.value))[1])
    assert least <= advice < 1.02 * least
    assert plan(advice).spent.epsilon <= epsilon


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"coupling": 1e-9}, "violates n_iter"),
        ({"n_iter": 0}, "n_iter must be at least 1"),
        ({"coupling": 0.0}, "coupling must be a finite number above 0"),
        ({"penalty": -1.0}, "penalty must be a finite number of at least 0"),
        ({"penalty_shape": "l0"}, "penalty_shape must be one of 'l1', 'l1/2'"),
        ({"row_norm": 0.0}, "row_norm must"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(task, wrong, message):
    """An error and no weights; published code returns random ones."""
    model = PrivateADMMLogisticRegression(bounds=(-1, 1), classes=[0, 1], **wrong)
    with pytest.raises(ValueError, match=message):
        model.fit(*task[:2])
    assert not hasattr(model, "coef_")


def test_three_classes_are_refused(task):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        PrivateADMMLogisticRegression(bounds=(-1, 1), classes="from-y").fit(task[0], np.arange(1000) % 3)
