"""Ways around a ledger, tried one after the other: each is charged or refused."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

import hardzero
from hardzero import (
    Budget,
    BudgetExceededError,
    DensePrivateLogisticRegression,
    FittedModel,
    Ledger,
    LedgerError,
    PrivateADMMLogisticRegression,
    PrivateLassoLogisticRegression,
    PrivateLassoRegression,
    RepeatedFitWarning,
    SparsePrivateLogisticRegression,
)
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.estimators import _linear

pytest.importorskip("sqlalchemy")
joblib = pytest.importorskip("joblib")

DELTA = 1e-4


@pytest.fixture(scope="module")
def task():
    X = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.db", "people", cap=Budget(2.0, DELTA))


def dense(ledger, **parameters):
    settings = {"epsilon": 0.5, "delta": DELTA, "bounds": (-1, 1), "classes": [0, 1], "n_iter": 3, "ledger": ledger}
    return DensePrivateLogisticRegression(**(settings | parameters))


def charged(ledger):
    return ledger.entries()[-1].state.reservations if ledger.entries() else 0


def kinds(ledger):
    return [entry.values["kind"] for entry in ledger.entries()]


def fit(model, X, y):
    return model.fit(X, y)


class Untouchable:
    """A table that must not be looked at: only its size is told."""

    shape = (120, 3)
    n_rows = 120

    def __getattr__(self, name):
        raise AssertionError(f"the records were looked at ({name})")


def test_a_fit_is_reserved_before_the_records_and_committed_after(task, ledger, monkeypatch):
    seen = []

    def from_matrix(X, bounds):
        seen.append(kinds(ledger))
        return BoundedData.from_matrix(X, bounds)

    monkeypatch.setattr(
        _linear, "BoundedData", type("Spy", (BoundedData,), {"from_matrix": staticmethod(from_matrix)})
    )
    model = dense(ledger).fit(*task)
    assert seen == [["created", "reserved"]]
    assert kinds(ledger) == ["created", "reserved", "committed"]
    entry = ledger.entries()[1]
    assert model.privacy_.ledger == entry.receipt
    assert entry.values["what"] == "DensePrivateLogisticRegression"
    assert (entry.values["epsilon"], entry.values["delta"]) == (model.privacy_.epsilon, DELTA)
    assert "Charged to a ledger: entry 2 of the data set 'people'" in repr(model.privacy_)


def test_beyond_the_cap_nothing_is_read(task, ledger):
    for _ in range(4):
        dense(ledger).fit(*task)
    for model in (dense(ledger, epsilon=1.9), dense(ledger, epsilon=50.0)):
        with pytest.raises(
            BudgetExceededError, match=r"has spent epsilon = .* A fit of about epsilon = .* would be allowed"
        ):
            model.fit(Untouchable(), task[1])
    with pytest.raises(BudgetExceededError):
        dense(ledger, epsilon=1.9, bounds=(-1, 1)).fit_table(Untouchable(), task[1])
    number = PrivateLassoRegression(epsilon=1.9, bounds=(-1, 1), target_bounds=(-1, 1), ledger=ledger)
    with pytest.raises(BudgetExceededError):
        number.fit(Untouchable(), task[1])
    assert charged(ledger) == 4


def test_tables_are_charged_as_well(task, ledger):
    data = BoundedData.from_matrix(task[0], Bounds.parse((-1, 1), 3))
    dense(ledger).fit_table(data, task[1])
    assert charged(ledger) == 1


@pytest.mark.parametrize(
    "duplicate", [clone, copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_spend_the_same_budget(task, ledger, duplicate):
    model = dense(ledger)
    for count in (1, 2):
        duplicate(model).fit(*task)
        assert charged(ledger) == count
    fitted = duplicate(duplicate(model).fit(*task))
    fitted.fit(*task)
    assert charged(ledger) == 4


def test_cross_validation_is_charged_fold_by_fold_and_refused_beyond(task, ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedFitWarning)  # the ledger keeps count
        cross_val_score(dense(ledger), *task, cv=3)
    assert charged(ledger) == 3
    with pytest.warns(FitFailedWarning, match="BudgetExceededError"):
        scores = cross_val_score(dense(ledger, epsilon=1.0), *task, cv=5)
    assert np.isnan(scores).any()
    assert ledger.entries()[-1].state.spent <= 2.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_search_is_charged_for_every_fit(task, ledger, jobs):
    search = GridSearchCV(dense(ledger, epsilon=0.2), {"n_iter": [2, 3]}, cv=2, n_jobs=jobs).fit(*task)
    assert charged(ledger) == 5
    assert search.best_estimator_.privacy_.ledger.dataset == "people"
    assert ledger.verify() == []


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_in_threads_and_processes_spend_the_same_budget(task, ledger, backend):
    work = [joblib.delayed(partial(fit, dense(ledger, epsilon=0.2)))(*task) for _ in range(6)]
    models = joblib.Parallel(n_jobs=2, backend=backend)(work)
    assert charged(ledger) == 6
    assert len({model.privacy_.ledger.number for model in models}) == 6
    assert ledger.verify() == []


def test_parameters_that_change_after_construction_are_charged_as_they_are(task, ledger):
    model = dense(ledger, epsilon=0.1)
    model.set_params(epsilon=1.0)
    model.fit(*task)
    assert ledger.entries()[-2].values["epsilon"] == pytest.approx(1.0)
    model.epsilon = 1.9
    with pytest.raises(BudgetExceededError):
        model.fit(*task)
    model.epsilon, model.n_iter = 0.3, 50
    model.fit(*task)
    assert ledger.entries()[-2].values["epsilon"] == pytest.approx(0.3)


def test_a_caught_exception_gives_nothing_back(task, ledger, monkeypatch):
    def broken(self, problem, plan):
        raise RuntimeError("after the noise was drawn")

    with monkeypatch.context() as patched:
        patched.setattr(DensePrivateLogisticRegression, "_run", broken)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="after the noise"):
                dense(ledger).fit(*task)
    assert kinds(ledger) == ["created", "reserved", "failed", "reserved", "failed"]
    assert charged(ledger) == 2


def test_pickling_in_the_middle_of_a_fit_carries_no_reservation(task, ledger, monkeypatch):
    """What comes out of the pickle is charged anew, and has nothing to close."""
    pickles = []
    run = DensePrivateLogisticRegression._run

    def pickling(self, problem, plan):
        pickles.append(pickle.dumps(self))
        return run(self, problem, plan)

    monkeypatch.setattr(DensePrivateLogisticRegression, "_run", pickling)
    dense(ledger).fit(*task)
    pickle.loads(pickles[0]).fit(*task)
    assert kinds(ledger) == ["created", "reserved", "committed", "reserved", "committed"]


def test_a_seeded_fit_is_charged_and_marked(task, ledger):
    dense(ledger, random_state=0).fit(*task)
    assert ledger.entries()[1].values["private"] is False
    assert charged(ledger) == 1


def test_another_relation_is_refused(task, ledger):
    dense(ledger).fit(*task)
    with pytest.raises(LedgerError, match="neighbours='zero-out'"):
        dense(ledger, neighbours="replace-one").fit(*task)


def test_a_fit_without_the_ledger_says_nothing_of_an_earlier_one(task, ledger):
    """It is not charged: the ledger counts what it is told, and the statement says who was told."""
    model = dense(ledger).fit(*task)
    model.set_params(ledger=None).fit(*task)
    assert model.privacy_.ledger is None
    assert charged(ledger) == 1


def test_what_is_no_ledger_is_refused(task):
    with pytest.raises(TypeError, match=r"ledger must be a Ledger\(url, dataset\)"):
        dense("ledger.db").fit(*task)


def test_each_kind_of_plan_can_be_charged(task, tmp_path):
    settings = {"bounds": (-1, 1), "classes": [0, 1], "delta": DELTA, "epsilon": 1.0}
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(20.0, DELTA))
    SparsePrivateLogisticRegression(**settings, ledger=ledger).fit(*task)
    PrivateLassoLogisticRegression(**settings, n_iter=10, ledger=ledger).fit(*task)
    with pytest.raises(BudgetExceededError, match="renyi"):
        PrivateADMMLogisticRegression(**settings, ledger=ledger).fit(*task)
    other = Ledger(tmp_path / "ledger.db", "people too", cap=Budget(20.0, DELTA), accountant="renyi")
    PrivateADMMLogisticRegression(**settings, ledger=other).fit(*task)
    SparsePrivateLogisticRegression(**settings, ledger=other).fit(*task)
    assert ledger.verify() == other.verify() == []


@pytest.mark.parametrize("name", [name for name in hardzero.estimators.__all__ if name != "LassoLogisticRegression"])
def test_every_private_estimator_is_charged_and_refused(task, tmp_path, name):
    kind = getattr(hardzero, name)
    about = {"classes": [0, 1]} if "Logistic" in name else {"target_bounds": (0, 1)}
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(2.0, DELTA), accountant="renyi")
    model = kind(1.0, DELTA, bounds=(-1, 1), ledger=ledger, **about).fit(*task)
    assert model.privacy_.ledger == ledger.entries()[1].receipt
    assert kinds(ledger) == ["created", "reserved", "committed"]
    with pytest.raises(BudgetExceededError):
        model.set_params(epsilon=1.9).fit(Untouchable(), task[1])


def test_a_model_file_names_its_entry_and_not_where_the_ledger_is(task, ledger, tmp_path):
    model = dense(ledger).fit(*task)
    written = FittedModel.from_estimator(model)
    written.save(tmp_path / "model.json")
    read = FittedModel.load(tmp_path / "model.json")
    assert read.privacy.ledger == model.privacy_.ledger == ledger.entries()[1].receipt
    assert ledger.verify([read.privacy.ledger]) == []
    assert "ledger.db" not in written.to_json()
