"""The search as a whole: one budget, one statement, rows in one part only, and nothing of the losers."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from hardzero import (
    Budget,
    BudgetExceededError,
    FittedModel,
    LassoLogisticRegression,
    Ledger,
    PrivateADMMLogisticRegression,
    PrivateLassoLogisticRegression,
    PrivateLassoRegression,
    PrivateSearch,
    SparsePrivateLogisticRegression,
)
from hardzero.evaluation import search as search_module
from hardzero.optim import progress
from hardzero.privacy.events import RandomStopping

from ..guarantee.replay import taped
from .test_evaluate import rows

STRATEGIES = ("all", "random-stopping")
EACH_STRATEGY = pytest.mark.parametrize("strategy", STRATEGIES)


def lasso(**changes):
    return PrivateLassoLogisticRegression(**{"bounds": (-1, 1), "classes": ["no", "yes"], "n_iter": 20, **changes})


def search(estimator=None, grid=None, **changes):
    parameters = {"epsilon": 1.0, "random_state": 3, **changes}
    return PrivateSearch(estimator or lasso(), grid or {"radius": [0.5, 5.0, 50.0]}, **parameters)


@EACH_STRATEGY
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_one_statement_for_everything(strategy, relation):
    X, y = rows(600, 1)
    stated = {"n_rows": 600} if relation == "add-remove" else {}
    found = search(strategy=strategy, neighbours=relation, random_state=None, **stated).fit(X, y)
    assert 0.99 < found.privacy_.epsilon <= 1.0
    assert found.privacy_.delta == 600**-1.5
    assert found.privacy_.neighbours.value == relation
    assert found.privacy_.n_rows == 600
    assert found.privacy_.is_private
    best = found.best_estimator_
    assert best.privacy_ is found.privacy_
    assert (best.epsilon, best.delta) == (1.0, 600**-1.5)
    assert best.radius == found.best_params_["radius"]
    assert "Chosen among 3 candidates" in repr(found.privacy_)
    assert "600" in found.privacy_.assumed_public[0]
    assert found.advice_ in found.privacy_.notes
    assert FittedModel.from_estimator(best).privacy.epsilon == found.privacy_.epsilon


def test_a_seeded_search_is_stamped():
    found = search().fit(*rows(300, 1))
    assert found.privacy_.seeded
    assert repr(found.best_estimator_.privacy_).startswith("NOT PRIVATE: the noise came from a seed")


def test_few_candidates_are_all_fitted_and_many_are_not():
    X, y = rows(400, 1)
    few, many = search().fit(X, y), search(grid={"radius": np.geomspace(1, 9, 11).tolist()}).fit(X, y)
    assert len(few.privacy_.events) == 3
    assert [type(event) for event in many.privacy_.events] == [RandomStopping]
    assert many.privacy_.events[0].odds == many.n_candidates_ == 11
    assert search(mean_runs=4).fit(X, y).privacy_.events[0].odds == 4


@EACH_STRATEGY
def test_nothing_is_known_of_other_candidates(strategy):
    """No scores, no fits, no number of runs: attributes are those of the winner, and settings."""
    found = search(strategy=strategy).fit(*rows(400, 1))
    assert {name for name in vars(found) if name.endswith("_")} == {
        "privacy_",
        "advice_",
        "best_estimator_",
        "best_index_",
        "best_name_",
        "best_params_",
        "n_candidates_",
    }
    assert set(vars(found)) - set(found.get_params(deep=False)) == {n for n in vars(found) if n.endswith("_")}


@pytest.fixture
def parts(monkeypatch):
    """The rows that fits and scores were given."""
    seen = {"fit": [], "score": []}
    fit, margins = PrivateLassoLogisticRegression.fit, search_module.margins_of

    def noted_fit(self, X, y):
        seen["fit"].append(X)
        return fit(self, X, y)

    monkeypatch.setattr(PrivateLassoLogisticRegression, "fit", noted_fit)
    monkeypatch.setattr(search_module, "margins_of", lambda model, X: seen["score"].append(X) or margins(model, X))
    return seen


@EACH_STRATEGY
def test_every_row_fits_or_chooses(parts, strategy):
    X, y = rows(1_000, 1)
    X[:, 4] = np.arange(1_000) / 1_000  # a name for each row
    search(strategy=strategy, holdout=0.3, mean_runs=None).fit(X, y)
    names = [{name for part in parts[role] for name in part[:, 4]} for role in ("fit", "score")]
    assert len(parts["fit"]) == len(parts["score"])
    assert not names[0] & names[1]
    assert len(names[0] | names[1]) == 1_000
    assert 230 < len(names[1]) < 370


@EACH_STRATEGY
def test_other_records_with_the_same_answers_give_the_same_model(strategy):
    def released(table, **changes):
        found = search(strategy=strategy, **changes).fit(*table)
        return found.best_index_, found.best_estimator_.coef_.tobytes(), repr(found.privacy_), found.advice_

    with taped() as tape:
        expected = released(rows(600, 1))
    assert tape.calls[-1].mechanism == ("select" if strategy == "all" else "gaussian")
    with taped(tape):
        assert released(rows(600, 2)) == expected
    stated = {"neighbours": "add-remove", "n_rows": 500}
    with taped() as tape:
        expected = released(rows(600, 1), **stated)
    with taped(tape):  # another number of rows, which is secret
        assert released(rows(550, 2), **stated) == expected


def test_progress_tells_of_planned_candidates_and_never_of_how_many_were_tried():
    heard = {}
    for strategy in STRATEGIES:
        heard[strategy] = []
        with progress.listening(lambda *step, strategy=strategy: heard[strategy].append(step)):
            search(strategy=strategy).fit(*rows(300, 1))
    assert heard == {"all": [(1, 3), (2, 3), (3, 3)], "random-stopping": []}


def test_fits_of_a_search_warn_once_about_the_whole():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search(epsilon=30.0, random_state=None).fit(*rows(300, 1))
    assert [w.category.__name__ for w in caught] == ["WeakGuaranteeWarning"]
    assert "epsilon = 30 " in str(caught[0].message)


def test_the_better_candidate_is_found():
    """In 20 searches at a generous budget, where one candidate keeps too little."""
    X, y = rows(4_000, 1)
    for strategy, least in (("all", 20), ("random-stopping", 13)):
        grid = {"radius": [1e-9, 5.0]}
        won = [
            search(grid=grid, strategy=strategy, epsilon=4.0, scoring="brier", random_state=seed, mean_runs=runs)
            .fit(X, y)
            .best_index_
            for seed in range(20)
            for runs in [None if strategy == "all" else 6]
        ]
        assert sum(won) >= least, strategy


def test_several_methods_by_name_and_regressions():
    X, y = rows(500, 1)
    common = {"bounds": (-1, 1), "classes": ["no", "yes"]}
    given = {"refit": SparsePrivateLogisticRegression(**common), "lasso": lasso(radius=3.0)}
    found = PrivateSearch(given, random_state=1).fit(X, y)
    assert found.best_name_ in given
    assert found.best_params_ in ({}, {"radius": 3.0, "n_iter": 20})
    assert found.predict(X).tolist() == found.best_estimator_.predict(X).tolist()
    assert found.predict_proba(X).shape == (500, 2)
    assert found.decision_function(X).shape == (500,)
    assert found.score(X, y) == found.best_estimator_.score(X, y)
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.n_features_in_ == 5
    assert "differential privacy" in found.summary()
    numbers = PrivateLassoRegression(bounds=(-1, 1), target_bounds=(-2, 2), n_iter=20)
    regression = PrivateSearch(numbers, {"radius": [0.1, 1.0]}, random_state=1).fit(X, X[:, 0] * 2)
    assert regression.best_params_["radius"] in (0.1, 1.0)
    assert regression.terms().scoring == "squared-error"
    three = PrivateSearch(lasso(classes=[0, 1, 2]), {"radius": [1.0, 9.0]}, random_state=1, scoring="brier")
    assert three.fit(X, np.digitize(X[:, 0], [-0.3, 0.3])).classes_.tolist() == [0, 1, 2]


def test_frames_and_sparse_matrices_are_divided_alike():
    pd = pytest.importorskip("pandas")
    X, y = rows(400, 1)
    expected = search().fit(X, y).best_estimator_.coef_
    for other in (sparse.coo_array(X), pd.DataFrame(X, columns=list("abcde")), X.tolist()):
        assert np.array_equal(search().fit(other, y).best_estimator_.coef_, expected)


def test_the_search_is_charged_once_and_as_a_whole(tmp_path):
    pytest.importorskip("sqlalchemy")
    X, y = rows(400, 1)
    for strategy, accountant in (("all", "gaussian"), ("random-stopping", "renyi")):
        ledger = Ledger(tmp_path / f"{strategy}.db", "people", cap=Budget(1.5, 1e-3), accountant=accountant)
        found = search(strategy=strategy, ledger=ledger).fit(X, y)
        kinds = [entry.values["kind"] for entry in ledger.entries()]
        assert kinds == ["created", "reserved", "committed"]
        entry = ledger.entries()[1].values
        assert entry["what"] == "PrivateSearch over 3 candidates"
        assert entry["epsilon"] == found.privacy_.epsilon
        assert found.privacy_.ledger.number == 2
        with pytest.raises(BudgetExceededError):
            search(strategy=strategy, ledger=ledger, epsilon=1.4).fit(X, y)
        assert ledger.verify() == []


def test_clones_have_the_same_settings():
    given = search(strategy="all", holdout=0.4)
    assert clone(given).get_params()["holdout"] == 0.4
    assert given.__sklearn_tags__().estimator_type == "classifier"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": lasso(epsilon=0.5)}, "sets epsilon, which the search sets"),
        ({"estimator": lasso(random_state=5)}, "sets random_state"),
        ({"grid": {"epsilon": [1, 2]}}, "param_grid has epsilon"),
        ({"grid": {"radios": [1, 2]}}, "param_grid has 'radios', which PrivateLassoLogisticRegression does not"),
        ({"grid": {"radius": 3}}, "must be a list of values"),
        ({"grid": [3]}, "param_grid must be a mapping"),
        ({"grid": {"radius": [1.0]}}, "two candidates or more"),
        ({"estimator": LassoLogisticRegression(bounds=(-1, 1))}, "not private"),
        ({"estimator": PrivateLassoLogisticRegression}, "must be a private estimator of hardzero"),
        ({"estimator": [lasso(), PrivateLassoRegression(bounds=(-1, 1))], "grid": {"radius": [1.0]}}, "one kind"),
        ({"scoring": "auc"}, "scoring must be one of 'accuracy', 'brier'"),
        ({"strategy": "bayes"}, "strategy must be one of"),
        ({"strategy": "all", "mean_runs": 3}, "mean_runs goes with"),
        ({"mean_runs": 1}, "mean_runs must be at least 2"),
        ({"holdout": 1.0}, "holdout must lie strictly between"),
        ({"ledger": "ledger.db"}, "ledger must be a Ledger"),
        ({"neighbours": "add-remove"}, "needs n_rows"),
        ({"n_rows": 50}, "leave it out"),
        ({"estimator": lasso(classes="from-y")}, "classes"),
        ({"epsilon": -1.0}, "epsilon must be a finite number above 0"),
        ({"epsilon": 1e-12}, "too small"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    estimator, grid = changes.pop("estimator", None), changes.pop("grid", None)
    with pytest.raises((ValueError, TypeError), match=message):
        search(estimator, grid, **changes).fit(*rows(50, 1))


def test_candidates_without_a_bound_in_zcdp_are_for_all():
    admm = PrivateADMMLogisticRegression(bounds=(-1, 1), classes=["no", "yes"], coupling=1.0)
    grid = {"row_norm": [0.5, 1.0]}
    with pytest.raises(ValueError, match="strategy='all'"):
        PrivateSearch(admm, grid, strategy="random-stopping", random_state=0).fit(*rows(300, 1))
    assert PrivateSearch(admm, grid, strategy="all", random_state=0).fit(*rows(300, 1)).privacy_.epsilon <= 1.0


def test_one_axis_is_refused():
    with pytest.raises(ValueError, match="two axes"):
        search().fit([1, 2, 3], ["no", "yes", "no"])
