"""Whose rows they are: identifiers of all kinds, refusals that tell nothing, and ledgers of one unit."""

import warnings

import numpy as np
import pandas as pd
import pytest

from hardzero import (
    Budget,
    FittedModel,
    Ledger,
    PrivateLassoLogisticRegression,
    SparsePrivateLogisticRegression,
    SparsifierLogisticRegression,
)
from hardzero.estimators._persons import read_persons
from hardzero.ledger.store import LedgerError

COMMON = {"epsilon": 1.0, "bounds": (-1, 1), "classes": [0, 1]}


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 4))
    return X, (X[:, 0] > 0).astype(int), rng.integers(0, 80, 300)


@pytest.mark.parametrize(
    ("identifiers", "persons"),
    [
        (["a", "b", "a"], [0, 1, 0]),
        ([7, 8, 7], [0, 1, 0]),
        (np.array([1, "1", 1.0, " 1 ", "01"], dtype=object), [0, 0, 0, 0, 1]),
        (np.array([None, "a", np.nan, "", "a", pd.NA], dtype=object), [0, 1, 0, 0, 1, 0]),
        ([1.0, np.nan, np.nan, 1.0], [0, 1, 1, 0]),
        (pd.Series(["x", None, "x", None]), [0, 1, 0, 1]),
        (pd.Series(["x", "y", "x"], dtype="category"), [0, 1, 0]),
        (pd.Series([3, None, 3], dtype="Int64"), [0, 1, 0]),
        (np.array([b"a", b"b", b"a"]), [0, 1, 0]),
        ([True, False, True], [0, 1, 0]),
        ([2**62, 2**62 + 1, 2**62], [0, 1, 0]),
    ],
    ids=str,
)
def test_identifiers_are_compared_as_text(identifiers, persons):
    assert read_persons(identifiers).numbers.tolist() == persons


def test_the_same_persons_by_other_names_give_the_same_fit(task):
    X, y, owners = task
    names = np.array([f"patient {i}" for i in range(80)])[owners]
    fits = [SparsePrivateLogisticRegression(**COMMON, random_state=1).fit(X, y, groups=g) for g in (owners, names)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)


def test_the_order_of_rows_does_not_matter(task):
    X, y, owners = task
    order = np.random.default_rng(1).permutation(len(y))
    one, other = (
        SparsePrivateLogisticRegression(**COMMON, random_state=1).fit(X[rows], y[rows], groups=owners[rows])
        for rows in (slice(None), order)
    )
    assert np.array_equal(one.coef_, other.coef_)


def test_nothing_tells_how_many_rows_there_are(task):
    X, y, owners = task
    model = SparsePrivateLogisticRegression(**COMMON).fit(X, y, groups=owners)
    persons = len(set(owners.tolist()))
    assert model.privacy_.n_rows == persons
    assert f"the number of persons ({persons})" in repr(model.privacy_)
    file = FittedModel.from_estimator(model)
    assert FittedModel.from_json(file.to_json()).privacy == file.privacy
    assert str(len(y)) not in repr(model.privacy_) + model.summary()
    assert '"unit": "person"' in file.to_json()


@pytest.mark.parametrize("other", ["groups", "y"])
def test_different_lengths_are_refused_without_a_number(task, other):
    X, y, owners = task
    changed = {"y": y, "groups": owners} | {other: (owners if other == "groups" else y)[:-1]}
    with pytest.raises(ValueError, match="different numbers of rows") as caught:
        SparsePrivateLogisticRegression(**COMMON).fit(X, **changed)
    assert not any(letter.isdigit() for letter in str(caught.value))


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (np.zeros((300, 2)), ValueError, "1d array"),
        (np.array([object()] * 300), TypeError, "text or whole numbers"),
        (np.array(["2020-01-01"] * 300, dtype="datetime64[D]"), TypeError, "text or whole numbers"),
    ],
    ids=["two columns", "objects", "dates"],
)
def test_what_names_nobody_is_refused(task, groups, error, words):
    with pytest.raises(error, match=words):
        SparsePrivateLogisticRegression(**COMMON).fit(*task[:2], groups=groups)


def test_methods_that_protect_rows_refuse_persons_and_name_those_that_can(task):
    X, y, owners = task
    with pytest.raises(TypeError, match="SparsePrivateLogisticRegression or PrivateLassoLogisticRegression"):
        SparsifierLogisticRegression(**COMMON).fit(X, y, groups=owners)


def test_more_rows_of_each_person_need_persons(task):
    X, y, owners = task
    model = PrivateLassoLogisticRegression(**COMMON, n_iter=5, max_rows_per_person=2)
    with pytest.raises(ValueError, match="max_rows_per_person = 2 goes with groups"):
        model.fit(X, y)
    assert model.fit(X, y, groups=owners).privacy_.unit == "person"


def test_rows_in_several_places_are_refused(task):
    dask = pytest.importorskip("dask.array")
    X, y, owners = task
    with pytest.raises(TypeError, match=r"groups need all rows in one place.*groups.compute\(\)"):
        SparsePrivateLogisticRegression(**COMMON).fit(dask.from_array(X), dask.from_array(y), groups=owners)


def test_a_ledger_adds_up_one_unit_only(task, tmp_path):
    X, y, owners = task
    of_rows = Ledger(tmp_path / "people.db", "rows", cap=Budget(3.0, 1e-4))
    of_persons = Ledger(tmp_path / "people.db", "persons", cap=Budget(3.0, 1e-4), unit="person")
    asked = COMMON | {"delta": 1e-6}
    SparsePrivateLogisticRegression(**asked, ledger=of_rows).fit(X, y)
    SparsePrivateLogisticRegression(**asked, ledger=of_persons).fit(X, y, groups=owners)
    with pytest.raises(LedgerError, match="for all rows of a person, this one is for single rows"):
        SparsePrivateLogisticRegression(**asked, ledger=of_persons).fit(X, y)
    with pytest.raises(LedgerError, match="for single rows, this one is for all rows of a person"):
        SparsePrivateLogisticRegression(**asked, ledger=of_rows).fit(X, y, groups=owners)
    with pytest.raises(LedgerError, match="has another unit than row"):
        SparsePrivateLogisticRegression(**asked, ledger=Ledger(tmp_path / "people.db", "persons", unit="row")).fit(
            X, y
        )
    for ledger in (of_rows, of_persons):
        assert len([entry for entry in ledger.entries() if entry.values["kind"] == "reserved"]) == 1
        assert ledger.verify() == []


def test_a_weak_delta_is_one_over_the_number_of_persons(task):
    X, y, owners = task
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SparsePrivateLogisticRegression(**COMMON, delta=1 / 100).fit(X, y, groups=owners)
        SparsePrivateLogisticRegression(**COMMON, delta=1 / 50).fit(X, y, groups=owners)
    assert [str(one.message) for one in caught if "persons: publishing" in str(one.message)]
    assert len([one for one in caught if "WeakGuarantee" in one.category.__name__]) == 1
