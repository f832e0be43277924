"""A model finds the columns of a data frame by name, and refuses what it would have to guess."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hardzero import PrivateLassoLogisticRegression
from hardzero.model import FittedModel, ModelFileError
from hardzero.schema.cells import EncodingError
from hardzero.schema.encoder import SchemaEncoder

from ..models import SCHEMA, made_up, made_up_with_schema, table

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(2000, 3)), columns=NAMES)
    y = X["a"] > X["c"]
    estimator = PrivateLassoLogisticRegression(
        epsilon=9.0, bounds=(-1, 1), classes=[False, True], n_iter=50, random_state=0
    ).fit(X, y)
    return FittedModel.from_estimator(estimator), X, np.asarray(y)


def frames(X):
    yield X
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    yield pl.from_pandas(X)
    yield pa.Table.from_pandas(X, preserve_index=False)


def test_columns_in_another_order_give_the_same_predictions(fitted):
    model, X, y = fitted
    expected = model.predict_proba(X.to_numpy())
    assert np.mean(model.predict(X) == y) > 0.9
    for frame in frames(X[["c", "a", "b"]]):
        np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-12)
    for frame in frames(X.assign(more=0.0)[["more", "c", "b", "a"]]):
        np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-12)


def test_missing_columns_are_named(fitted):
    model, X, _ = fitted
    for frame in frames(X.rename(columns={"b": "B"})):
        with pytest.raises(ValueError, match="X has no column 'b';"):
            model.predict(frame)


def test_a_long_list_of_missing_columns_is_short():
    model = made_up(names=[f"f{i}" for i in range(50)], coef=((1.0,) * 50,))
    with pytest.raises(ValueError, match="'f4' and 45 more;"):
        model.predict(pd.DataFrame({"a": [1.0]}))


def test_a_column_that_is_there_twice_is_refused(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="'a' is there twice"):
        model.predict(pd.concat([X, X[["a"]]], axis=1))


def test_columns_without_names_are_taken_by_their_place(fitted):
    model, X, _ = fitted
    numbered = pd.DataFrame(X.to_numpy())
    np.testing.assert_array_equal(model.predict(numbered), model.predict(X))


@pytest.mark.parametrize("kind", ["uint8", "int32", "bool", "float16"])
def test_all_kinds_of_numbers_are_numbers(fitted, kind):
    model, _, _ = fitted
    X = np.random.default_rng(1).integers(0, 2, size=(50, 3)).astype(kind)
    expected = model.predict_proba(X.astype(np.float64))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    if kind != "float16":  # which SciPy has no sparse matrices of
        np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), expected, rtol=1e-12)


def lazy():
    return pytest.importorskip("polars").LazyFrame({name: [0.5] for name in NAMES})


@pytest.mark.parametrize(
    ("make", "error", "problem"),
    [
        (lambda: np.ma.masked_array(np.zeros((2, 3)), mask=np.eye(2, 3)), ValueError, "masked"),
        (lambda: np.zeros((2, 3), dtype="datetime64[s]"), TypeError, "got dates"),
        (lambda: np.zeros((2, 3), dtype="timedelta64[s]"), TypeError, "got durations"),
        (lambda: np.zeros((2, 3), dtype=complex), TypeError, "complex"),
        (lambda: np.zeros((2, 3), dtype=object), TypeError, "objects"),
        (lambda: pd.DataFrame({"a": ["x"], "b": [1], "c": [2]}), TypeError, "must hold numbers"),
        (lambda: pd.DataFrame({"a": pd.array([None], "Int64"), "b": [1], "c": [2]}), (TypeError, ValueError), "X "),
        (lambda: [["secret"] * 3], TypeError, "text"),
        (lazy, TypeError, "collect"),
    ],
    ids=["masked", "dates", "durations", "complex", "objects", "text", "nullable", "list", "lazy"],
)
def test_what_holds_no_numbers_is_refused(fitted, make, error, problem):
    with pytest.raises(error, match=problem) as refused:
        fitted[0].predict(make())
    assert "secret" not in str(refused.value)


def test_an_array_that_masks_nothing_is_an_array(fitted):
    model, X, _ = fitted
    np.testing.assert_array_equal(model.predict(np.ma.masked_array(X.to_numpy())), model.predict(X))


def test_a_table_is_encoded_by_the_models_schema():
    model, rows = made_up_with_schema(), table(200)
    expected = model.predict(SchemaEncoder(SCHEMA).transform(rows))
    np.testing.assert_array_equal(model.predict(model.encode(rows)), expected)
    np.testing.assert_array_equal(model.predict(model.encode(pd.DataFrame(rows))), expected)
    with pytest.raises(ModelFileError, match="no schema"):
        made_up().encode(rows)
    with pytest.raises(EncodingError, match="'age'"):
        model.encode({name: cells for name, cells in rows.items() if name != "age"})


def test_encoded_features_are_found_by_name():
    model = made_up_with_schema()
    encoded = pd.DataFrame(model.encode(table(50)).toarray(), columns=[f.name for f in model.features])
    np.testing.assert_allclose(
        model.predict_proba(encoded[encoded.columns[::-1]]), model.predict_proba(encoded), rtol=1e-12
    )


def test_a_raw_table_is_not_taken_for_an_encoded_one():
    model = made_up_with_schema()
    with pytest.raises(ValueError, match=r"model\.encode"):
        model.predict(pd.DataFrame(table(5)))
    raw = np.full((3, len(model.features)), 40.0)
    with pytest.raises(ValueError, match=r"model\.encode\(table\)"):
        model.predict(raw)
