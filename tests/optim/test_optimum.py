"""The exact solver against scikit-learn and slow references, and its certificate against the truth."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression

from hardzero import datasets
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.optim.balls import L1Ball, project_l1
from hardzero.optim.frank_wolfe import ExactIntercept, ExactSelector, frank_wolfe
from hardzero.optim.losses import Logistic, Softmax, Squared
from hardzero.optim.newton import Slab, evaluate, hessian, quadratic_on_ball
from hardzero.optim.optimum import ExactSolver, PlainFrankWolfe, l1_optimum
from hardzero.optim.problem import Problem


def problem_of(X, targets, loss):
    return Problem(BoundedData.from_matrix(X, Bounds.parse((-1, 1), X.shape[1])), targets, loss)


def logistic_problem(X, y):
    return problem_of(X, np.asarray(y, dtype=float)[:, None], Logistic())


def mean_loss(problem, coef, intercept):
    return problem.loss.value(problem.data.columns() @ np.atleast_2d(coef).T + intercept, problem.targets)


def scikit_learn_l1(X, y, C, **parameters):
    """scikit-learn's L1 penalty; the norm that comes out is the radius at which both solve the same problem."""
    settings = {"solver": "liblinear", "fit_intercept": False, "tol": 1e-8, "max_iter": 5000} | parameters
    model = LogisticRegression(l1_ratio=1.0, C=C, random_state=0, **settings).fit(X, y)
    return model.coef_, model.intercept_, float(np.abs(model.coef_).sum())


@pytest.fixture(scope="module")
def synthetic():
    dataset, _ = datasets.make_synthetic(seed=0)
    return dataset.X, dataset.y


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_agrees_with_scikit_learn_on_the_synthetic_set(synthetic, C):
    X, y = synthetic
    coef, intercept, radius = scikit_learn_l1(X, y, C)
    problem = logistic_problem(X, y)
    found = l1_optimum(problem, radius, fit_intercept=False)
    assert mean_loss(problem, found.weights.coef, 0) == pytest.approx(mean_loss(problem, coef, intercept), abs=1e-4)
    assert np.array_equal(np.abs(found.weights.coef) > 1e-3, np.abs(coef) > 1e-3)
    assert found.gap <= 1e-6


def test_agrees_with_scikit_learn_with_an_intercept(synthetic):
    X, y = synthetic[0][:, :20], synthetic[0][:, 0] > 0.2  # unbalanced
    coef, intercept, radius = scikit_learn_l1(X, y, 0.01, solver="saga", fit_intercept=True)
    problem = logistic_problem(X, y)
    found = l1_optimum(problem, radius, fit_intercept=True)
    theirs = mean_loss(problem, coef, intercept)
    assert mean_loss(problem, found.weights.coef, found.weights.intercept) == pytest.approx(theirs, abs=1e-6)
    assert found.weights.intercept == pytest.approx(intercept, abs=1e-2)
    assert np.array_equal(np.abs(found.weights.coef) > 1e-3, np.abs(coef) > 1e-3)


@pytest.mark.parametrize("C", [0.01, 0.05])
def test_agrees_with_scikit_learn_on_a9a(a9a, C):
    """Equal columns can share a weight in any way, so that weights are compared after adding these up."""
    coef, intercept, radius = scikit_learn_l1(a9a.X, a9a.y, C)
    problem = logistic_problem(a9a.X, a9a.y == 1)
    found = l1_optimum(problem, radius, fit_intercept=False)
    assert mean_loss(problem, found.weights.coef, 0) == pytest.approx(mean_loss(problem, coef, intercept), abs=1e-4)
    _, group = np.unique(a9a.X.toarray(), axis=1, return_inverse=True)
    ours, theirs = (np.bincount(group.ravel(), weights.ravel()) for weights in (found.weights.coef, coef))
    assert np.array_equal(np.abs(ours) > 1e-3, np.abs(theirs) > 1e-3)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-3)


def test_agrees_with_scikit_learn_on_a9a_with_an_intercept(a9a):
    """liblinear penalises the intercept, 1/100 as much here; a9a's groups of indicators leave the weights open.

    So losses and margins are compared: those are unique.
    """
    coef, intercept, radius = scikit_learn_l1(a9a.X, a9a.y, 0.01, fit_intercept=True, intercept_scaling=100.0)
    problem = logistic_problem(a9a.X, a9a.y == 1)
    found = l1_optimum(problem, radius, fit_intercept=True).weights
    ours, theirs = mean_loss(problem, found.coef, found.intercept), mean_loss(problem, coef, intercept)
    assert theirs - 1e-4 <= ours <= theirs
    assert np.abs(a9a.X @ (found.coef - coef).T + found.intercept - intercept).max() < 0.05


def test_a_loose_ball_gives_the_unconstrained_optimum(binary_task):
    X, y = binary_task
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    problem = logistic_problem(X, y)
    radius = 1.5 * np.abs(model.coef_).sum()
    found = l1_optimum(problem, radius, fit_intercept=True).weights
    assert np.allclose(found.coef, model.coef_, rtol=1e-2)
    assert mean_loss(problem, found.coef, found.intercept) <= mean_loss(problem, model.coef_, model.intercept_) + 1e-6


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.001, 0.02, 0.1])
def test_squared_loss_agrees_with_scikit_learns_lasso(binary_task, alpha, fit_intercept):
    X, _ = binary_task
    y = np.clip(X @ [0.4, 0.0, -0.3, 0.0, 0.05, 0.0] + 0.2 + 0.1 * X[:, 3] ** 2, -1, 1)
    model = Lasso(alpha=alpha, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000).fit(X, y)
    problem = problem_of(X, y[:, None], Squared(1.0))
    found = l1_optimum(problem, float(np.abs(model.coef_).sum()), fit_intercept, tol=1e-9).weights
    assert np.allclose(found.coef[0], model.coef_, rtol=0, atol=1e-3)
    assert np.array_equal(np.abs(found.coef[0]) > 1e-3, np.abs(model.coef_) > 1e-3)
    assert found.intercept[0] == pytest.approx(model.intercept_, abs=1e-4)


def three_classes(X):
    return (X[:, 0] > -0.4).astype(int) + (X[:, 0] + X[:, 1] > 0.5)


def slow_softmax(X, y, radius, fit_intercept, n_iter=20_000):
    """Plain projected gradients with the smallest safe step."""
    coef, intercept, truth = np.zeros((3, X.shape[1])), np.zeros(3), np.eye(3)[y]
    step = 2 / (np.linalg.norm(X, 2) ** 2 / len(X) + 1)
    for _ in range(n_iter):
        odds = np.exp(X @ coef.T + intercept)
        residual = odds / odds.sum(axis=1, keepdims=True) - truth
        coef = project_l1(coef - step * residual.T @ X / len(X), radius)
        intercept = intercept - step * residual.mean(axis=0) * fit_intercept
    return coef, intercept


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("radius", [1.0, 8.0])
def test_softmax_agrees_with_slow_projected_gradients(binary_task, radius, fit_intercept):
    X, _ = binary_task
    problem = problem_of(X, three_classes(X), Softmax(3))
    found = l1_optimum(problem, radius, fit_intercept, tol=1e-7)
    coef, intercept = slow_softmax(X, three_classes(X), radius, fit_intercept)
    ours = mean_loss(problem, found.weights.coef, found.weights.intercept)
    assert ours == pytest.approx(mean_loss(problem, coef, intercept), abs=1e-5)
    assert np.allclose(found.weights.coef, coef, rtol=0, atol=1e-2)


CASES = {
    "logistic": (lambda X, y: (y.astype(float)[:, None], Logistic()), 4.0),
    "softmax": (lambda X, y: (three_classes(X), Softmax(3)), 4.0),
    "squared": (lambda X, y: (X[:, 1:2] * 0.5 + 0.2 * y[:, None], Squared(0.6)), 0.6),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_certificate_is_never_too_small(binary_task, case, fit_intercept, tol):
    X, y = binary_task
    (targets, loss), radius = CASES[case][0](X, y), CASES[case][1]
    problem = problem_of(X, targets, loss)
    rough = l1_optimum(problem, radius, fit_intercept, tol=tol)
    best = l1_optimum(problem, radius, fit_intercept, tol=1e-9).weights
    excess = mean_loss(problem, rough.weights.coef, rough.weights.intercept) - mean_loss(
        problem, best.coef, best.intercept
    )
    assert -1e-9 <= excess <= rough.gap <= tol
    assert np.abs(rough.weights.coef).sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_sparse_and_dense_records_give_one_optimum(binary_task, case, fit_intercept):
    X, y = binary_task
    X = X * (np.abs(X) > 0.5)
    (targets, loss), radius = CASES[case][0](X, y), CASES[case][1]
    dense, thin = (
        l1_optimum(problem_of(make(X), targets, loss), radius, fit_intercept, tol=1e-8).weights
        for make in (np.asarray, sparse.csr_array)
    )
    assert np.allclose(dense.coef, thin.coef, rtol=0, atol=1e-3)
    assert np.allclose(dense.intercept, thin.intercept, rtol=0, atol=1e-3)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_separable_records_use_the_whole_radius(fit_intercept):
    X = np.array([[1.0, 0.0], [0.8, 0.1], [-1.0, 0.0], [-0.9, 0.2]])
    problem = logistic_problem(X, [1, 1, 0, 0])
    found = l1_optimum(problem, 8.0, fit_intercept, tol=1e-9)
    assert found.gap <= 1e-9
    assert np.abs(found.weights.coef).sum() == pytest.approx(8.0, rel=1e-6)
    tight = l1_optimum(problem, 40.0, fit_intercept).weights
    assert mean_loss(problem, tight.coef, tight.intercept) < 1e-5


def test_more_features_than_the_dense_hessian_takes(monkeypatch):
    monkeypatch.setattr("hardzero.optim.optimum._WIDEST", 5)
    X = np.random.default_rng(0).integers(-16, 17, (100, 40)) / 16
    problem = logistic_problem(X, X[:, 0] - X[:, 7] > 0.1)
    gradients = l1_optimum(problem, 5.0, fit_intercept=True)
    monkeypatch.undo()
    newton = l1_optimum(problem, 5.0, fit_intercept=True)
    assert max(gradients.gap, newton.gap) <= 1e-6
    assert np.allclose(gradients.weights.coef, newton.weights.coef, atol=1e-2)


def test_many_more_features_than_rows():
    X = sparse.random_array((60, 3000), density=0.02, rng=np.random.default_rng(1), format="csr")
    y = np.asarray(X[:, :50].sum(axis=1)).ravel() > 0.5
    found = l1_optimum(logistic_problem(X, y), 10.0, fit_intercept=True)
    assert found.gap <= 1e-6
    assert 0 < np.count_nonzero(found.weights.coef) < 200  # zeros are exact


def certificate(problem, weights, radius, fit_intercept):
    """The Frank-Wolfe gap over all features, from its definition."""
    X = problem.data.columns()
    residual = problem.loss.residual(X @ weights.coef.T + weights.intercept, problem.targets)
    gradient = (X.T @ residual).T / len(residual)
    slope = np.abs(residual.mean(axis=0)).sum() * fit_intercept
    return np.sum(gradient * weights.coef) + radius * np.abs(gradient).max() + 10 * slope


def hard_tables():
    rng = np.random.default_rng(5)
    X = rng.integers(-8, 9, (80, 12)) / 8
    twins = X.copy()
    twins[:, 6:] = X[:, :6]
    gaps = X.copy()
    gaps[:, ::3] = 0
    return {
        "plain": X,
        "equal columns": twins,
        "opposite columns": np.hstack([X, -X]),
        "empty columns": gaps,
        "nothing at all": np.zeros((10, 3)),
        "one feature": X[:, :1],
        "one row": X[:1],
        "constant feature": np.hstack([X, np.ones((80, 1))]),
        "more features than rows": rng.integers(-8, 9, (9, 200)) / 8,
        "uneven scales": X * 4.0 ** -np.arange(12),
    }


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("table", hard_tables())
def test_hard_tables_are_solved_without_a_word(table, case, fit_intercept):
    X = hard_tables()[table]
    y = (np.arange(len(X)) % 3 > 0) ^ (X[:, 0] > 0.3)
    make = CASES[case][0] if X.shape[1] > 1 or case == "logistic" else None
    targets, loss = (
        make(X, y) if make else (y.astype(int), Softmax(3)) if case == "softmax" else (X * 0.5, Squared(1.0))
    )
    for radius in (1e-6, 0.3, 5.0, 300.0):
        for stored in (X, sparse.csr_array(X)):
            problem = problem_of(stored, targets, loss)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = l1_optimum(problem, radius, fit_intercept)
            assert found.converged
            assert found.gap == pytest.approx(certificate(problem, found.weights, radius, fit_intercept), abs=1e-9)
            assert np.abs(found.weights.coef).sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "settings",
    [
        {"optimum._SMALLEST_SAMPLE": 5},
        {"newton._COPIED": 0, "newton._FILLED": 0, "newton._BLOCK": 1},
        {"newton._THIN": 0.0},
        {"newton._THIN": 2.0},
        {"newton._STILL_GOOD": 0.0},
        {"newton._STILL_GOOD": 1.0},
        {"optimum._WIDEST": 0},
        {"optimum._FEWEST": 1},
    ],
    ids=str,
)
def test_what_is_there_for_speed_does_not_change_the_optimum(
    large_table, case, stored, settings, fit_intercept, monkeypatch
):
    X, y = large_table
    (targets, loss), radius = CASES[case][0](X, y), CASES[case][1]
    problem = problem_of(stored(X), targets, loss)
    usual = l1_optimum(problem, radius, fit_intercept, tol=1e-7).weights
    for name, value in settings.items():
        monkeypatch.setattr(f"hardzero.optim.{name}", value)
    found = l1_optimum(problem, radius, fit_intercept, tol=1e-7)
    assert found.converged
    assert np.allclose(found.weights.coef, usual.coef, rtol=0, atol=5e-3)
    assert np.allclose(found.weights.intercept, usual.intercept, rtol=0, atol=5e-3)


@pytest.fixture(scope="module")
def large_table():
    """More rows than fit into one block when blocks are small."""
    rng = np.random.default_rng(11)
    X = rng.integers(-16, 17, (700, 15)) / 16 * (rng.random((700, 15)) < 0.6)
    return X, X[:, 0] - X[:, 1] + rng.logistic(size=700) / 2 > 0.3


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_sample_that_misses_a_class_does_no_harm(large_table, fit_intercept, monkeypatch):
    monkeypatch.setattr("hardzero.optim.optimum._SMALLEST_SAMPLE", 5)
    X, _ = large_table
    y = np.zeros(len(X))
    y[3::64] = 1  # never among every sixteenth row
    problem = logistic_problem(X, y)
    found = l1_optimum(problem, 20.0, fit_intercept)
    monkeypatch.undo()
    usual = l1_optimum(problem, 20.0, fit_intercept)
    assert found.converged
    assert np.allclose(found.weights.coef, usual.weights.coef, rtol=0, atol=0.05)


@pytest.mark.parametrize("name", ["a9a", "news20", "covtype"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_large_data_sets_are_certified(name, fit_intercept):
    try:
        dataset = datasets.load(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    y = dataset.y == np.unique(dataset.y)[0]
    data = BoundedData.from_matrix(dataset.X, Bounds.parse(dataset.bounds, dataset.X.shape[1]))
    problem = Problem(data, y.astype(float)[:, None], Logistic())
    found = l1_optimum(problem, 10.0, fit_intercept)
    assert found.gap == pytest.approx(certificate(problem, found.weights, 10.0, fit_intercept), abs=1e-9)
    assert found.converged
    assert np.abs(found.weights.coef).sum() <= 10 * (1 + 1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_slopes_and_hessian_are_derivatives(binary_task, case, stored):
    X, y = binary_task
    targets, loss = CASES[case][0](X, y)
    features = np.tile(np.arange(3), loss.outputs)
    slab = Slab.of(stored(X.T), features, np.repeat(np.arange(loss.outputs), 3), loss.outputs, targets, loss)
    weights = np.random.default_rng(0).normal(size=len(slab.outputs))
    here = evaluate(slab, weights)
    coef, intercept = weights[: -loss.outputs].reshape(loss.outputs, 3), weights[-loss.outputs :]
    assert here.value == pytest.approx(loss.value(X[:, :3] @ coef.T + intercept, targets), rel=1e-12)
    nearby = [
        (evaluate(slab, weights + step), evaluate(slab, weights - step)) for step in 1e-5 * np.eye(len(weights))
    ]
    assert np.allclose(here.slopes, [(up.value - down.value) / 2e-5 for up, down in nearby], rtol=0, atol=1e-8)
    curved = [(up.slopes - down.slopes) / 2e-5 for up, down in nearby]
    assert np.allclose(hessian(slab, here.curvature), curved, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_quadratic_problems_are_solved_from_any_start(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 25))
    root = rng.normal(size=(size + 2, size))
    matrix, linear = root.T @ root / size, rng.normal(size=size)
    radius = float(10 ** rng.uniform(-2, 2))
    for start in (np.zeros(size), project_l1(rng.normal(size=size), radius)):
        found = quadratic_on_ball(matrix, linear, start, radius, 1e-10)
        slopes = matrix @ found + linear
        assert slopes @ found + radius * np.abs(slopes).max() <= 1e-9 * (1 + radius**2)
        assert np.abs(found).sum() <= radius * (1 + 1e-12)


def test_stopping_early_is_admitted_without_a_word(binary_task):
    """Inside a private fit a warning would be a leak, so that only the result says it."""
    X, y = binary_task
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = l1_optimum(logistic_problem(X, y), 20.0, fit_intercept=True, tol=1e-12, max_iter=1)
    assert not found.converged
    assert found.gap > 1e-12


def test_the_solver_object_stops_at_its_tolerance(binary_task):
    X, y = binary_task
    problem = logistic_problem(X, y)
    found = ExactSolver(tol=1e-4)(problem, 5.0, fit_intercept=True)
    best = l1_optimum(problem, 5.0, fit_intercept=True, tol=1e-9).weights
    excess = mean_loss(problem, found.weights.coef, found.weights.intercept) - mean_loss(
        problem, best.coef, best.intercept
    )
    assert found.converged
    assert excess <= found.gap <= 1e-4


def test_the_published_way_is_plain_frank_wolfe(binary_task):
    X, y = binary_task
    problem = logistic_problem(X, y)
    for fit_intercept, rule in ((False, None), (True, ExactIntercept(problem.n_rows))):
        expected = frank_wolfe(problem, L1Ball(5.0), 40, ExactSelector(), rule)
        found = PlainFrankWolfe(40)(problem, 5.0, fit_intercept=fit_intercept)
        assert np.array_equal(found.weights.coef, expected.coef)
        assert np.array_equal(found.weights.intercept, expected.intercept)
        assert found.gap is None  # no certificate
    assert PlainFrankWolfe().n_iter == 50_000


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: ExactSolver(tol=0), "tol"),
        (lambda: ExactSolver(tol="a"), "tol"),
        (lambda: ExactSolver(max_iter=0), "max_iter"),
        (lambda: PlainFrankWolfe(-3), "n_iter"),
        (lambda: PlainFrankWolfe(2.5), "n_iter"),
    ],
)
def test_solvers_check_their_parameters(make, name):
    with pytest.raises((ValueError, TypeError), match=name):
        make()
