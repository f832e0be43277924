"""The estimators as a user meets them."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hardzero import (
    Budget,
    DensePrivateLogisticRegression,
    ExactSolver,
    LassoLogisticRegression,
    PlainFrankWolfe,
    PrivateADMMLogisticRegression,
    PrivateGreedyLogisticRegression,
    PrivateIGHTLogisticRegression,
    PrivateLassoLogisticRegression,
    PrivateLassoRegression,
    SparsePrivateLogisticRegression,
    SparsifierLogisticRegression,
    SparsifierRegression,
    TwoStageLogisticRegression,
)
from hardzero.data.bounded import Bounds
from hardzero.estimators._linear import _without_constants
from hardzero.model.statement import PrivacyStatement
from hardzero.optim.frank_wolfe import Weights
from hardzero.privacy.events import PureRelease

FAST = {"bounds": (-1, 1), "classes": "from-y", "n_iter": 20, "n_blocks": 4}
# So tightly coupled that even a tiny budget allows five rounds.
ADMM = {"n_iter": 5, "coupling": 1.0, "penalty": 1e-4}
CLASSIFIERS = [
    PrivateLassoLogisticRegression,
    SparsifierLogisticRegression,
    SparsePrivateLogisticRegression,
    PrivateIGHTLogisticRegression,
    PrivateGreedyLogisticRegression,
    DensePrivateLogisticRegression,
]
BINARY = [TwoStageLogisticRegression, PrivateADMMLogisticRegression]
REGRESSORS = [PrivateLassoRegression, SparsifierRegression]
PRIVATE = CLASSIFIERS + BINARY + REGRESSORS
SPARSIFIERS = [SparsifierLogisticRegression, SparsifierRegression]
PUBLISHED = [PrivateLassoLogisticRegression, SparsifierLogisticRegression, *REGRESSORS]
EVERY = [LassoLogisticRegression, *PRIVATE]
every_private = pytest.mark.parametrize("kind", PRIVATE, ids=lambda kind: kind.__name__)
every_published = pytest.mark.parametrize("kind", PUBLISHED, ids=lambda kind: kind.__name__)
every_estimator = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)


def make(kind, **parameters):
    """An estimator that fits in milliseconds; what does not apply to it is left out."""
    known = inspect.signature(kind).parameters
    fast = FAST | {"target_bounds": (-1, 1)} | (ADMM if kind is PrivateADMMLogisticRegression else {})
    defaults = {name: value for name, value in fast.items() if name in known}
    return kind(**(defaults | parameters))


def same_model(one, other):
    """To the last bit; where an objective is minimised in floating point, the same zeros and weights within 1e-5."""
    if type(one) not in BINARY:
        return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)
    near = [np.allclose(getattr(one, a), getattr(other, a), rtol=0, atol=1e-5) for a in ("coef_", "intercept_")]
    return np.array_equal(one.support_, other.support_) and all(near)


def targets(kind, X, y):
    return X[:, 0] / 2 - X[:, 1] / 4 if kind in REGRESSORS else y


@pytest.fixture
def task(binary_task):
    return lambda kind: (binary_task[0], targets(kind, *binary_task))


# The same model whatever holds the records


NAMES = [f"feature {j}" for j in range(6)]
CONTAINERS = {
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "list": lambda X: X.tolist(),
}
VARIANTS = {
    "tight": {},
    "replace-one": {"neighbours": "replace-one"},
    "intercept": {"fit_intercept": True},
    "paper": {"calibration": "paper"},
}
KINDS_AND_VARIANTS = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in PRIVATE
    for name, parameters in VARIANTS.items()
    if parameters.keys() <= inspect.signature(kind).parameters.keys()
]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("kind", "variant"), KINDS_AND_VARIANTS)
def test_a_seed_gives_the_same_model_from_every_container(task, kind, variant, container):
    X, y = task(kind)
    dense = make(kind, random_state=5, **VARIANTS[variant]).fit(X, y)
    model = make(kind, random_state=5, **VARIANTS[variant]).fit(CONTAINERS[container](X), y)
    assert same_model(dense, model)
    score = "predict" if kind in REGRESSORS else "decision_function"
    assert np.allclose(
        getattr(model, score)(CONTAINERS[container](X)),
        getattr(dense, score)(X),
        atol=1e-4 if kind in BINARY else 1e-8,
    )


@pytest.mark.parametrize("container", ["csr", "csc", "pandas", "polars"])
@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (PrivateLassoLogisticRegression, {"multinomial": "joint"}),
        (PrivateLassoLogisticRegression, {"multinomial": "per-class"}),
        (PrivateIGHTLogisticRegression, {}),
        (PrivateGreedyLogisticRegression, {"penalty": 0.01}),
        (DensePrivateLogisticRegression, {}),
    ],
    ids=["joint", "per-class", "ight", "greedy", "dense"],
)
def test_multinomial_models_are_the_same_from_every_container(binary_task, kind, option, container):
    X = binary_task[0]
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    one, other = (
        make(kind, **option, fit_intercept=True, random_state=1).fit(data, y)
        for data in (X, CONTAINERS[container](X))
    )
    assert one.coef_.shape == (3, 6)
    assert same_model(one, other)


@pytest.mark.parametrize("kind", [kind for kind in PRIVATE if kind is not TwoStageLogisticRegression])
def test_the_order_of_rows_does_not_matter(task, kind):
    """Except to Two-Stage, which deals rows out to blocks as they come."""
    X, y = task(kind)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = make(kind, random_state=2).fit(X, y), make(kind, random_state=2).fit(X[order], y[order])
    assert same_model(one, other)


@every_private
def test_values_outside_the_bounds_count_as_the_bounds(task, kind):
    X, y = task(kind)
    wild = np.where(X > 0.9, 1e12, X)
    tame = np.where(X > 0.9, 1.0, X)
    assert same_model(make(kind, random_state=2).fit(wild, y), make(kind, random_state=2).fit(tame, y))


@every_private
def test_weights_are_in_the_features_own_units(task, kind):
    X, y = task(kind)
    unit = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    plain = make(kind, random_state=3).fit(X, y)
    scaled = make(kind, random_state=3, bounds=(-unit, unit)).fit(X * unit, y)
    assert np.array_equal(scaled.coef_ * unit, plain.coef_)
    assert np.array_equal(scaled.predict(X * unit), plain.predict(X))


# Within scikit-learn


@every_estimator
def test_works_in_a_pipeline_and_survives_clone_and_pickle(task, kind):
    X, y = task(kind)
    seed = {"random_state": 4} if kind in PRIVATE else {}
    model = make_pipeline(FunctionTransformer(), make(kind, **seed)).fit(X, y)
    again = clone(model).fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.predict(X), again.predict(X))
    assert np.array_equal(model.predict(X), restored.predict(X))
    assert repr(restored[-1].privacy_) == repr(model[-1].privacy_)


@every_estimator
def test_works_in_cross_validation(task, kind):
    X, y = task(kind)
    loose = {"epsilon": 1e4, "delta": 0.01} if kind in PRIVATE else {}
    scores = cross_val_score(make(kind, **loose), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > (0 if kind in REGRESSORS else 0.6)


def test_works_in_a_grid_search(task):
    X, y = task(PrivateLassoLogisticRegression)
    search = GridSearchCV(make(PrivateLassoLogisticRegression), {"radius": [1.0, 5.0]}, cv=2).fit(X, y)
    assert search.best_params_["radius"] in (1.0, 5.0)  # chosen on raw rows: no statement covers the choice


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@every_estimator
def test_feature_names_are_kept_and_shown(task, kind, frame):
    X, y = task(kind)
    model = make(kind).fit(CONTAINERS[frame](X), y)
    assert model.feature_names_in_.tolist() == NAMES
    text = model.summary()
    assert all((NAMES[j] in text) == (j in model.support_) for j in range(6))


def test_the_summary_shows_weights_odds_ratios_and_the_statement(task):
    X, y = task(PrivateLassoLogisticRegression)
    model = make(PrivateLassoLogisticRegression, epsilon=100.0).fit(X, np.where(y, "yes", "no"))
    text = model.summary()
    j = int(np.argmax(np.abs(model.coef_)))
    assert text.startswith(f"yes against no: {len(model.support_)} of 6 features kept")
    row = next(line for line in text.splitlines() if line.startswith(f"x{j} "))
    weight = model.coef_[0, j]
    assert row.split() == [f"x{j}", f"{weight:+.4g}", f"{np.exp(weight):.4g}", f"{np.exp(2 * weight):.4g}"]
    assert "odds ratio" in text
    assert repr(model.privacy_) in text


def test_a_regressors_summary_has_no_odds(task):
    text = make(PrivateLassoRegression).fit(*task(PrivateLassoRegression)).summary()
    assert text.startswith("target: ")
    assert "odds" not in text
    assert "intercept: +0" in text


# What is fitted and what it says


@every_estimator
def test_nothing_is_kept_of_the_records(task, kind):
    X, y = task(kind)
    model = make(kind)
    parameters = set(vars(model))
    model.fit(pd.DataFrame(X, columns=NAMES), y)
    fitted = {"coef_", "intercept_", "support_", "privacy_", "n_features_in_", "feature_names_in_"}
    fitted |= set() if kind in REGRESSORS else {"classes_"}
    fitted |= {"inference_"} if kind is SparsePrivateLogisticRegression else set()  # made from released values
    fitted |= {"_fit_family"} if kind in PRIVATE else set()  # how often it was fitted, and what that cost
    assert set(vars(model)) - parameters == fitted
    assert np.array_equal(model.support_, np.flatnonzero(np.any(np.atleast_2d(model.coef_) != 0, axis=0)))
    assert isinstance(model.privacy_, PrivacyStatement)


@every_private
def test_unseeded_fits_differ_and_are_private(task, kind):
    """Two equal fits would need equal choices, 20 among 12 corners, at almost no budget, or equal Gaussian noise."""
    X, y = task(kind)
    models = [make(kind, epsilon=0.01).fit(X, y) for _ in range(2)]
    assert not np.array_equal(models[0].coef_, models[1].coef_)
    assert all(model.privacy_.is_private for model in models)
    assert all("NOT PRIVATE" not in repr(model.privacy_) for model in models)


@every_private
def test_a_seeded_fit_is_stamped(task, kind):
    model = make(kind, random_state=0).fit(*task(kind))
    assert not model.privacy_.is_private
    assert repr(model.privacy_).startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in model.summary()


def test_the_non_private_model_says_so(task):
    model = make(LassoLogisticRegression).fit(*task(LassoLogisticRegression))
    assert not model.privacy_.is_private
    assert repr(model.privacy_).startswith("NOT PRIVATE")


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@every_private
def test_the_statement_is_within_what_was_asked(task, kind, neighbours):
    X, y = task(kind)
    privacy = make(kind, epsilon=0.7, delta=1e-4, neighbours=neighbours).fit(X, y).privacy_
    assert Budget(privacy.epsilon, privacy.delta) <= Budget(0.7, 1e-4)
    assert privacy.epsilon > 0.69
    assert privacy.neighbours.value == neighbours
    assert any("300" in assumption for assumption in privacy.assumed_public)
    assert any("bounds" in assumption for assumption in privacy.assumed_public)


@every_private
def test_delta_defaults_to_far_below_one_in_n(task, kind):
    assert make(kind).fit(*task(kind)).privacy_.delta == pytest.approx(300**-1.5)


@every_published
def test_published_noise_reports_what_is_proved(task, kind):
    X, y = task(kind)
    parameters = {"calibration": "paper", "epsilon": 1.0, "delta": 1e-5, "n_iter": 100}
    parameters |= {"neighbours": "replace-one"}
    privacy = make(kind, **parameters).fit(X, y).privacy_
    assert privacy.epsilon > 1.0
    assert "asked for epsilon = 1; under replace-one neighbours it is proved only for" in repr(privacy)


def test_classes_read_from_the_labels_are_declared(task):
    X, y = task(PrivateLassoLogisticRegression)
    read, stated = make(PrivateLassoLogisticRegression), make(PrivateLassoLogisticRegression, classes=[0, 1])
    assert "the classes, taken from y because classes='from-y' declares them public" in repr(read.fit(X, y).privacy_)
    assert "the classes (given)" in repr(stated.fit(X, y).privacy_)


# Classes


@pytest.mark.parametrize("kind", [LassoLogisticRegression, *CLASSIFIERS])
def test_probabilities_sum_to_one_and_lead_to_the_prediction(task, kind):
    X, y = task(kind)
    for labels in (y, np.digitize(X[:, 0], [-0.3, 0.3])):
        model = make(kind).fit(X, labels)
        chances = model.predict_proba(X)
        assert chances.shape == (300, len(model.classes_))
        assert np.allclose(chances.sum(axis=1), 1)
        assert np.array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])
        margins = model.decision_function(X)
        assert margins.shape == ((300,) if len(model.classes_) == 2 else (300, 3))
        if len(model.classes_) == 2:
            assert np.allclose(chances[:, 1], 1 / (1 + np.exp(-margins)))


@pytest.mark.parametrize("container", [np.asarray, list, pd.Series, lambda y: pl.Series(y.tolist())])
def test_labels_may_be_words(task, container):
    X, y = task(PrivateLassoLogisticRegression)
    words = np.where(y, "yes", "no")
    plain = make(PrivateLassoLogisticRegression, random_state=0).fit(X, y)
    model = make(PrivateLassoLogisticRegression, random_state=0).fit(X, container(words))
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(model.coef_, plain.coef_)
    assert set(model.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize("kind", [LassoLogisticRegression, *CLASSIFIERS])
def test_a_stated_class_may_be_absent(task, kind):
    X, y = task(kind)
    model = make(kind, classes=["c", "a", "b"]).fit(X, np.where(y, "a", "b"))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (3, 6)
    alone = make(kind, classes=[0, 1]).fit(X, np.ones(300, dtype=int))
    assert alone.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", [LassoLogisticRegression, *CLASSIFIERS])
@pytest.mark.parametrize(
    ("classes", "labels", "words"),
    [
        ([0, 1], [0, 1, 2], "y holds labels that are not in classes"),
        ([0, 2], [0, 1, 2], "y holds labels that are not in classes"),
        (["a", "b"], ["a", "b", "c"], "y holds labels that are not in classes"),
        (["a", "b"], [0, 1, 1], "y holds whole numbers, but classes holds text; write both alike"),
        ([0, 1, 1], [0, 1, 1], "classes holds a label twice"),
        ([1], [1, 1, 1], "classes must name at least two classes, got 1"),
        ("from-y", [1, 1, 1], "y holds only one class; list all with classes="),
    ],
)
def test_wrong_classes_are_explained(kind, classes, labels, words):
    with pytest.raises(ValueError, match=words):
        make(kind, classes=classes).fit(np.zeros((3, 2)), labels)


@pytest.mark.parametrize("multinomial", ["joint", "per-class"])
def test_three_classes_are_learnt(multinomial):
    """5,000 rows, ε = 2, a fixed seed; guessing would be right for about 1 in 3."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5000, 6))
    y = np.argmax(X[:, :3], axis=1)
    model = make(
        PrivateLassoLogisticRegression, epsilon=2.0, n_iter=60, radius=12.0, multinomial=multinomial, random_state=0
    ).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert model.score(X, y) > 0.6
    norms = np.abs(model.coef_).sum(axis=1)
    assert (norms.sum() if multinomial == "joint" else norms.max()) <= 12.0 * (1 + 1e-9)
    assert model.privacy_.events[-1].times == (60 if multinomial == "joint" else 180)


def test_with_two_classes_the_multinomial_option_changes_nothing(task):
    X, y = task(PrivateLassoLogisticRegression)
    one, other = (
        make(PrivateLassoLogisticRegression, multinomial=way, random_state=0).fit(X, y)
        for way in ("joint", "per-class")
    )
    assert np.array_equal(one.coef_, other.coef_)
    assert one.privacy_.events == other.privacy_.events


# Sparsifier


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_the_number_of_weights_stays_within_its_limits(task, kind):
    X, y = task(kind)
    counts = {len(make(kind, min_features=2, max_features=4).fit(X, y).support_) for _ in range(12)}
    assert counts <= {2, 3, 4}


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_equal_limits_mean_a_public_count_and_no_count_event(task, kind):
    X, y = task(kind)
    fixed = make(kind, min_features=3, max_features=3).fit(X, y)
    counted = make(kind, min_features=2, max_features=3, epsilon_count=0.125).fit(X, y)
    assert len(fixed.support_) == 3
    assert not any(isinstance(event, PureRelease) for event in fixed.privacy_.events)
    assert [e.bound for e in counted.privacy_.events if isinstance(e, PureRelease)] == [0.125]


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_limits_beyond_the_number_of_features_mean_all(task, kind):
    X, y = task(kind)
    model = make(kind, min_features=50, max_features=60).fit(X, y)
    assert not any(isinstance(event, PureRelease) for event in model.privacy_.events)


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_the_published_way_of_counting_is_offered(task, kind):
    X, y = task(kind)
    model = make(kind, count_solver=PlainFrankWolfe(30), calibration="paper").fit(X, y)
    assert 2 <= len(model.support_) <= 4  # √6 and 2√6, rounded down


def test_several_classes_share_the_count(binary_task):
    X = binary_task[0]
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    model = make(SparsifierLogisticRegression, min_features=5, max_features=5).fit(X, y)
    assert np.count_nonzero(model.coef_) == 5


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_a_count_that_did_not_converge_is_kept_silent(task, kind):
    """Whether the solver converged depends on the records: a warning would give it away."""
    X, y = task(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(kind, count_solver=ExactSolver(tol=1e-15, max_iter=1)).fit(X, y)
    assert model.privacy_.is_private


def test_without_privacy_a_solver_that_did_not_converge_warns(task):
    X, y = task(LassoLogisticRegression)
    hasty = make(LassoLogisticRegression, solver=ExactSolver(tol=1e-15, max_iter=1))
    with pytest.warns(ConvergenceWarning, match=r"stopped at a gap of .*; raise max_iter or tol"):
        hasty.fit(X, y)
    assert hasty.score(X, y) > 0.5


# Learning works


@pytest.fixture(scope="module")
def large_task():
    """20,000 rows of 20 features, 3 of them of use."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20_000, 20))
    signal = 3 * X[:, 0] - 2 * X[:, 3] + X[:, 7]
    return X, signal, rng


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_classifier_learns_at_epsilon_one(large_task, kind, neighbours):
    """Chance is 0.5 with a standard error of 0.0035; a fixed seed."""
    X, signal, _ = large_task
    y = signal > 0
    steps = {"n_iter": 100} if kind in PUBLISHED else {}
    model = make(kind, epsilon=1.0, neighbours=neighbours, random_state=0, **steps).fit(X, y)
    assert model.score(X, y) > 0.85
    assert {0, 3} <= set(model.support_.tolist())


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_regressor_learns_at_epsilon_one(large_task, kind):
    X, signal, _ = large_task
    y = 40 + signal  # in 34 … 46
    limits = {"bounds": (-1, 1), "target_bounds": (0, 50)}
    model = kind(epsilon=1.0, **limits, n_iter=100, fit_intercept=True, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("kind", [PrivateLassoLogisticRegression, SparsifierLogisticRegression])
def test_an_intercept_helps_when_classes_are_unbalanced(large_task, kind):
    """Nine of ten rows are positive; five seeds, each a clear gain in accuracy."""
    X, signal, _ = large_task
    y = signal > np.quantile(signal, 0.1)
    for seed in range(5):
        scores = [
            kind(bounds=(-1, 1), classes=[False, True], n_iter=60, fit_intercept=wanted, random_state=seed)
            .fit(X, y)
            .score(X, y)
            for wanted in (False, True)
        ]
        assert scores[1] > scores[0] + 0.05
        assert scores[1] > 0.88


def test_a_large_budget_comes_close_to_the_non_private_optimum(large_task):
    X, signal, _ = large_task
    y = signal + 0.5 * np.sin(50 * X[:, 9]) > 0
    best = LassoLogisticRegression(5.0, bounds=(-1, 1), fit_intercept=False).fit(X, y)
    loose = PrivateLassoLogisticRegression(
        1e4, radius=5.0, bounds=(-1, 1), n_iter=300, random_state=0, classes="from-y"
    ).fit(X, y)
    assert np.abs(best.coef_ - loose.coef_).max() < 0.3


# Bad input


NUMBER = [0, -1, float("inf"), float("nan"), "1", None, True, [1]]
COMMON = {
    "epsilon": NUMBER,
    "delta": [0, 1, 1.5, -0.1, float("nan"), "1e-5", True],
    "bounds": [None, 3, (1, -1), (0, [1, 2]), ("a", 1), (float("nan"), 1), (0, float("inf")), (0, 1, 2)],
    "radius": NUMBER,
    "n_iter": [0, -5, 2.5, 20.0, "20", None, True],
    "step_size": [0, -1, float("inf"), float("nan"), "1", True, 1e3],
    "row_norm": [*NUMBER, 1e-200, 1e200],
    "penalty": [-1, float("inf"), float("nan"), "1", None, True],
    "neighbours": ["both", None, 1, "ADD"],
    "calibration": ["loose", None, 3],
    "fit_intercept": ["yes", 1, None],
    "random_state": ["seed", 1.5, -1, True, np.random.RandomState(0)],
}
SPECIAL = {
    LassoLogisticRegression: {"solver": [None, "exact"]},
    PrivateLassoLogisticRegression: {"multinomial": ["ovr", None]},
    PrivateLassoRegression: {"target_bounds": [None, (1, 0), (0, [1, 2]), ("a", 1)]},
    SparsifierLogisticRegression: {},
    SparsePrivateLogisticRegression: {"max_features": [0, 2.5, "3", -1, True]},
    SparsifierRegression: {"target_bounds": [None, (1, 0)]},
    PrivateIGHTLogisticRegression: {"max_features": [0, 2.5, "3", -1, True]},
    PrivateGreedyLogisticRegression: {},
    DensePrivateLogisticRegression: {},
    TwoStageLogisticRegression: {
        "max_features": [0, 2.5, "3", -1, True],
        "n_blocks": [0, 2.5, "3", -1, True],
        "l2_penalty": [0, -1, float("inf"), float("nan"), "1", True],
        "selection_share": [0, 1, 1.5, -0.1, float("nan"), "0.5", None, True],
    },
    PrivateADMMLogisticRegression: {
        "coupling": NUMBER,
        "penalty_shape": ["l2", "L1", None, 1, ["l1"]],
    },
}
COUNTING = {
    "min_features": [2.5, "3", -1, True],
    "max_features": [2.5, "3", -1, True],
    "epsilon_count": [0, -1, 1.0, 2.0, "0.1", float("nan")],
    "keep_ratio": [0, -1, "1", None],
    "count_solver": [None, 50_000],
}
BAD = [
    pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{type(value).__name__}-{place}")
    for kind in EVERY
    for name, wrong in (COMMON | SPECIAL[kind] | (COUNTING if kind in SPARSIFIERS else {})).items()
    if name in inspect.signature(kind).parameters
    for place, value in enumerate(wrong)
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_a_wrong_parameter_is_named_with_what_was_given(task, kind, name, value):
    X, y = task(kind)
    with pytest.raises((ValueError, TypeError), match=name) as caught:
        make(kind, **{name: value}).fit(X, y)
    message = str(caught.value)
    if name not in (
        "bounds",
        "target_bounds",
    ):  # their messages show the side that is wrong; see data/test_bounded.py
        assert repr(value) in message or (isinstance(value, float) and f"{value:g}" in message)


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.__name__)
def test_more_than_two_classes_are_refused_with_a_way_out(task, kind):
    """Found in the labels or stated beforehand; two stated classes of which one is absent are two."""
    X, y = task(kind)
    message = "has 3 classes; use SparsePrivateLogisticRegression, or fit one class against the rest"
    with pytest.raises(ValueError, match=message):
        make(kind).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match=message):
        make(kind, classes=[0, 1, 2]).fit(X, y)
    assert make(kind, classes=["no", "yes"]).fit(X, np.full(len(X), "yes")).classes_.tolist() == ["no", "yes"]
    one_against_the_rest = make(kind).fit(X, np.arange(len(X)) % 3 == 0)
    assert one_against_the_rest.coef_.shape == (1, 6)


@pytest.mark.parametrize("kind", SPARSIFIERS)
def test_inverted_limits_are_named(task, kind):
    with pytest.raises(ValueError, match="min_features = 5 is above max_features = 2; swap them or change one"):
        make(kind, min_features=5, max_features=2).fit(*task(kind))


@pytest.mark.parametrize("calibration", ["recursion", "paper"])
@every_published
def test_an_intercept_that_the_method_does_not_allow_is_refused(task, kind, calibration):
    with pytest.raises(ValueError, match="fit_intercept=True needs calibration='tight'"):
        make(kind, fit_intercept=True, calibration=calibration).fit(*task(kind))


def with_one(array, value):
    """A copy whose first entry is ``value``."""
    copy = array.copy()
    copy.flat[0] = value
    return copy


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples: \\[300, 299\\]"),
        (lambda X, y: (X, np.column_stack([y, y])), "y should be a 1d array"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (with_one(X, np.nan), y), "X contains NaN"),
        (lambda X, y: (with_one(X, np.inf), y), "X contains NaN or infinity"),
        (lambda X, y: (sparse.csr_array(with_one(X, np.nan)), y), "X contains NaN"),
        (lambda X, y: (np.full(X.shape, "word"), y), "X must hold numbers, got text"),
        (lambda X, y: (X, None), "requires y to be passed"),
    ],
    ids=["one axis", "lengths", "two targets", "empty", "nan", "infinity", "sparse nan", "words", "no y"],
)
@every_estimator
def test_wrong_records_are_refused(task, kind, spoil, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make(kind).fit(*spoil(*task(kind)))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_target_that_is_not_finite_is_refused(task, kind):
    X, y = task(kind)
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input y contains"):
            make(kind).fit(X, with_one(y, wrong))


@pytest.mark.parametrize("kind", [LassoLogisticRegression, *CLASSIFIERS])
def test_numbers_are_not_labels(task, kind):
    X, _ = task(kind)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        make(kind).fit(X, X[:, 0])


@every_estimator
def test_prediction_checks_the_number_of_features(task, kind):
    X, y = task(kind)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6"):
        make(kind).fit(X, y).predict(X[:, :5])


def test_sparse_records_and_bounds_that_exclude_zero_do_not_go_together(task):
    X, y = task(PrivateLassoLogisticRegression)
    with pytest.raises(ValueError, match="bounds of feature 0 exclude 0"):
        make(PrivateLassoLogisticRegression, bounds=(0.5, 1)).fit(sparse.csr_array(X), y)


def test_the_exact_solver_can_be_loosened(task):
    X, y = task(LassoLogisticRegression)
    loose = make(LassoLogisticRegression, solver=ExactSolver(tol=0.1)).fit(X, y)
    tight = make(LassoLogisticRegression).fit(X, y)
    assert tight.score(X, y) >= loose.score(X, y) - 0.05
    assert not np.array_equal(loose.coef_, tight.coef_)


@every_estimator
def test_a_nan_is_refused_even_where_scikit_learn_does_not_look(task, kind):
    X, y = task(kind)
    with config_context(assume_finite=True):
        for spoilt in (with_one(X, np.nan), sparse.csr_array(with_one(X, np.inf))):
            with pytest.raises(ValueError, match="X contains NaN or infinity"):
                make(kind).fit(spoilt, y)
        if kind in REGRESSORS:
            with pytest.raises(ValueError, match="y contains NaN or infinity"):
                make(kind).fit(X, with_one(y, np.nan))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("words", [["Alice Smith"] * 300, ["0.5"] * 300], ids=["words", "digits"])
@every_estimator
def test_a_text_column_is_named_but_not_shown(task, kind, frame, words):
    X, y = task(kind)
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])} | {"who": words}
    with pytest.raises(TypeError, match="column 'who' of X must hold numbers") as caught:
        make(kind).fit(frame(columns), y)
    assert words[0] not in str(caught.value)


@every_estimator
def test_no_record_is_shown_when_numbers_are_text(task, kind):
    X, y = task(kind)
    spoilt = X.astype(object)
    spoilt[7, 1] = "Alice Smith"
    with pytest.raises(TypeError, match="must hold numbers") as caught:
        make(kind).fit(spoilt, y)
    assert "Alice" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_private_fits_are_silent_about_labels(kind):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 60  # scikit-learn would warn about so many classes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(kind, epsilon=1.0).fit(rng.uniform(-1, 1, size=(100, 3)), y)
    assert len(model.classes_) == 60


def test_probabilities_are_finite_for_any_finite_row(task):
    X, y = task(SparsePrivateLogisticRegression)
    model = make(SparsePrivateLogisticRegression).fit(X, y)
    huge = np.full((2, X.shape[1]), 1e306) * [[1.0], [-1.0]]  # sums that scikit-learn itself takes do not overflow
    assert np.all(np.isfinite(model.predict_proba(huge)))


def test_summary_wants_a_name_for_each_feature(task):
    X, y = task(SparsePrivateLogisticRegression)
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        make(SparsePrivateLogisticRegression).fit(X, y).summary(["age"])


# Features that public bounds hold at one value


@every_estimator
@pytest.mark.parametrize("value", [0, -7.5])
def test_bounds_without_any_width_are_refused(task, kind, value):
    with pytest.raises(ValueError, match=r"^bounds have no width for any feature, .*give pairs \(lower, upper\)"):
        make(kind, bounds=(value, value)).fit(*task(kind))


@every_estimator
def test_a_feature_with_one_possible_value_has_no_weight(task, kind):
    X, y = task(kind)
    lower, upper = np.full((2, X.shape[1]), [[-1.0], [1.0]])
    lower[[1, 2]] = upper[[1, 2]] = 0.0, 4.0
    for seed in range(3):
        known = {"random_state": seed, "epsilon": 0.5} if kind is not LassoLogisticRegression else {}
        model = make(kind, bounds=(lower, upper), **known).fit(X, y)
        assert np.all(np.atleast_2d(model.coef_)[:, [1, 2]] == 0)
        assert not {1, 2} & set(model.support_.tolist())


def test_what_a_constant_feature_adds_belongs_to_the_intercept():
    bounds = Bounds.parse(([-1, 4, 0, 2], [1, 4, 0, 2]), 4)
    fitted = Weights(np.array([[1.0, 2.0, 3.0, -0.5], [0.5, -1.0, 1.0, 0.0]]), np.array([0.25, 1.0]), None)
    shown = _without_constants(fitted, bounds)
    assert shown.coef.tolist() == [[1, 0, 0, 0], [0.5, 0, 0, 0]]
    row = np.array([0.5, 4.0, 0.0, 2.0])
    assert shown.coef @ row + shown.intercept == pytest.approx(fitted.coef @ row + fitted.intercept)
    same = _without_constants(fitted, Bounds.parse((-1, 1), 4))
    assert np.array_equal(same.coef, fitted.coef)
    assert np.array_equal(same.intercept, fitted.intercept)
