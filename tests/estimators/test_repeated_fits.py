"""Fitting a private estimator again and again warns once, with what all fits cost together, and so does a seed that
scikit-learn sets."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hardzero import (
    LassoLogisticRegression,
    PrivateLassoLogisticRegression,
    PrivateLassoRegression,
    RepeatedFitWarning,
    SeededFitWarning,
)

SETTINGS = {"bounds": (-1, 1), "n_iter": 3}


def lasso(**parameters):
    return PrivateLassoLogisticRegression(**(SETTINGS | {"epsilon": 0.5, "classes": [0, 1]} | parameters))


@pytest.fixture(scope="module")
def task():
    X = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
    return X, (X[:, 0] > 0).astype(int)


def heard(action, category=RepeatedFitWarning):
    """The texts of all warnings about repeated fits, or of another category."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(warning.message) for warning in caught if issubclass(warning.category, category)]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("run", [cross_val_score, cross_validate, cross_val_predict], ids=lambda run: run.__name__)
def test_cross_validation_announces_its_total_once(task, run, jobs):
    (text,) = heard(lambda: run(lasso(), *task, cv=5, n_jobs=jobs))
    assert "fits this private estimator 5 times" in text
    assert "epsilon = 2.5 together, and as many times delta" in text
    assert "scores" in text


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("refit", [True, False])
def test_a_grid_search_announces_its_total_once(task, jobs, refit):
    search = GridSearchCV(lasso(), {"radius": [1.0, 3.0, 9.0]}, cv=4, n_jobs=jobs, refit=refit)
    (text,) = heard(lambda: search.fit(*task))
    fits = 12 + refit
    assert f"GridSearchCV fits this private estimator {fits} times" in text
    assert f"budget: epsilon = {0.5 * fits:g} together" in text


def test_a_search_over_epsilon_adds_up_what_each_candidate_spends(task):
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), lasso()), {"privatelassologisticregression__epsilon": [1, 2]}, cv=2
    )
    (text,) = heard(lambda: search.fit(*task))
    assert "5 times" in text
    assert "epsilon = 8 together" in text  # two folds of 1 and of 2, and a refit with at most 2


def test_other_searches_and_splitters_are_counted(task):
    search = RandomizedSearchCV(lasso(), {"radius": [1.0, 3.0, 9.0]}, n_iter=2, cv=KFold(3), refit=False)
    assert "6 times" in heard(lambda: search.fit(*task))[0]
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    assert "2 times" in heard(lambda: cross_validate(lasso(), *task, cv=splits))[0]


def test_where_the_total_is_not_known_the_warning_gives_the_least(task):
    nested = GridSearchCV(lasso(), {"radius": [1.0, 3.0]}, cv=2)
    (text,) = heard(lambda: cross_val_score(nested, *task, cv=3))
    assert "at least 3 times" in text
    (text,) = heard(lambda: learning_curve(lasso(), *task, cv=3, train_sizes=[0.5, 1.0]))
    assert "at least 3 times" in text


def test_clones_fitted_in_a_loop_warn_at_the_second_fit(task):
    model = lasso(delta=1e-4)
    texts = [heard(lambda: clone(model).fit(*task)) for _ in range(4)]
    assert [len(text) for text in texts] == [0, 1, 0, 0]
    spent = 2 * clone(model).fit(*task).privacy_.epsilon
    assert f"2 fits of this estimator and its clones have spent epsilon = {spent:g} and delta = 0.0002" in texts[1][0]
    assert "every further fit adds its own" in texts[1][0]


def test_the_same_estimator_fitted_twice_warns(task):
    model = lasso()
    assert [len(heard(lambda: model.fit(*task))) for _ in range(3)] == [0, 1, 0]


def test_regressors_warn_as_well(task):
    model = PrivateLassoRegression(**SETTINGS, target_bounds=(-1, 1))
    assert "5 times" in heard(lambda: cross_val_score(model, task[0], task[0][:, 0], cv=5))[0]


def test_estimators_of_their_own_are_not_one_family(task):
    assert heard(lambda: [lasso().fit(*task) for _ in range(3)]) == []


@pytest.mark.parametrize(
    "model", [lasso(random_state=0), LassoLogisticRegression(bounds=(-1, 1))], ids=["seeded", "not private"]
)
def test_what_is_not_private_has_nothing_to_spend(task, model):
    assert heard(lambda: cross_val_score(model, *task, cv=3)) == []
    assert heard(lambda: [clone(model).fit(*task) for _ in range(3)]) == []


def test_a_seeded_copy_does_not_count_and_does_not_warn(task):
    model = lasso()
    assert heard(lambda: clone(model).set_params(random_state=1).fit(*task)) == []
    assert heard(lambda: model.fit(*task)) == []


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), clone])
def test_copies_belong_to_the_family(task, duplicate):
    model = lasso().fit(*task)
    other = duplicate(model)
    assert len(heard(lambda: other.fit(*task))) == 1
    assert heard(lambda: model.fit(*task)) == []


def test_the_record_is_no_parameter(task):
    model = lasso()
    before = repr(model), model.get_params()
    clone(model)
    assert (repr(model), model.get_params()) == before
    assert (repr(clone(model)), clone(model).get_params()) == before
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(_fit_family=None)


def test_the_warning_points_at_the_callers_line(task):
    with pytest.warns(RepeatedFitWarning) as caught:
        cross_val_score(lasso(), *task, cv=2)
    assert caught[0].filename == __file__
    model = lasso().fit(*task)
    with pytest.warns(RepeatedFitWarning) as caught:
        model.fit(*task)
    assert caught[0].filename == __file__


# Seeds that nobody asked for


def innermost(member):
    """The private estimator in a search or a pipeline."""
    member = getattr(member, "best_estimator_", member)
    return member[-1] if hasattr(member, "steps") else member


@pytest.mark.parametrize(
    "ensemble",
    [
        lambda: BaggingClassifier(lasso(), n_estimators=3),
        lambda: BaggingClassifier(lasso(), n_estimators=3, random_state=0),
        lambda: BaggingClassifier(make_pipeline(FunctionTransformer(), lasso()), n_estimators=2),
        lambda: BaggingClassifier(GridSearchCV(lasso(), {"radius": [1.0]}, cv=2), n_estimators=2),
        lambda: BaggingRegressor(PrivateLassoRegression(**SETTINGS, target_bounds=(-1, 1)), n_estimators=2),
    ],
    ids=["bagging", "seeded bagging", "a pipeline", "a search", "numbers"],
)
def test_an_ensemble_that_seeds_private_estimators_is_told_of_once(task, ensemble):
    ensemble = ensemble()
    (text,) = heard(lambda: ensemble.fit(*task), SeededFitWarning)
    assert "NOT PRIVATE" in text
    assert not any(innermost(member).privacy_.is_private for member in ensemble.estimators_)


@pytest.mark.parametrize(
    "act",
    [
        lambda task: lasso(random_state=0).fit(*task),
        lambda task: lasso().set_params(random_state=0).fit(*task),
        lambda task: make_pipeline(lasso()).set_params(privatelassologisticregression__random_state=0).fit(*task),
        lambda task: BaggingClassifier(lasso(random_state=0), n_estimators=2).fit(*task),
        lambda task: GridSearchCV(lasso(), {"random_state": [0, 1]}, cv=2).fit(*task),
        lambda task: cross_val_score(lasso(random_state=0), *task, cv=2),
        lambda task: VotingClassifier([("one", lasso()), ("other", lasso())]).fit(*task),
    ],
    ids=["constructor", "set_params", "a pipeline", "bagging", "a search", "cross-validation", "no seed at all"],
)
def test_a_seed_that_was_asked_for_is_nobodys_surprise(task, act):
    assert heard(lambda: act(task), SeededFitWarning) == []


def test_the_warning_of_a_seed_points_at_the_callers_line(task):
    with pytest.warns(SeededFitWarning) as caught:
        BaggingClassifier(lasso(), n_estimators=1).fit(*task)
    assert caught[0].filename == __file__
