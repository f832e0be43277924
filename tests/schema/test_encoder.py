"""Tables become matrices by the schema alone, whatever holds them, and in batches as in one piece."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from hardzero import LassoLogisticRegression
from hardzero.schema.cells import EncodingError
from hardzero.schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from .schemas import MIXED, ROWS, schemas

EXPECTED = [
    #  age, balance, owner, Berne, Chur, other, grade
    [-1.0, -0.05, 1, 1, 0, 0, 0.0],
    [0.0, 0.0, 0, 0, 1, 0, 0.5],
    [1.0, 1.0, 0, 0, 0, 1, 1.0],
    [0.0, 0.0, 0, 0, 0, 1, 0.0],
]
TABLES = {
    "dict": ROWS,
    "pandas": pd.DataFrame(ROWS),
    "polars": pl.DataFrame(ROWS, strict=False),
    "arrow": pa.table(ROWS),
    "batch": pa.RecordBatch.from_pydict(ROWS),
    "text": pa.table({name: [None if c is None else str(c) for c in cells] for name, cells in ROWS.items()}),
    "dictionary": pa.table({name: pa.array(cells).dictionary_encode() for name, cells in ROWS.items()}),
    "chunks": pa.concat_tables([pa.table(ROWS).slice(0, 1), pa.table(ROWS).slice(1)]),
}


def only(column, missing="zero"):
    return SchemaEncoder(Schema((column,), Target("y", ("a", "b"), "b"), missing))


def encoded(column, cells, missing="zero"):
    return only(column, missing).transform({column.name: cells}).toarray().tolist()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_kind_of_table_gives_the_same_matrix(table):
    result = SchemaEncoder(MIXED).encode(table)
    assert result.X.format == "csr"
    assert result.X.dtype == np.float64
    assert result.X.has_canonical_format
    np.testing.assert_array_equal(result.X.toarray(), EXPECTED)
    assert result.y.tolist() == ROWS["ill"]
    assert result.kept.all()


def test_it_is_a_transformer_that_learns_nothing():
    encoder = SchemaEncoder(MIXED)
    before = dict(vars(encoder))
    np.testing.assert_array_equal(clone(encoder).fit_transform(ROWS).toarray(), EXPECTED)
    assert encoder.fit(ROWS) is encoder
    check_is_fitted(encoder)
    assert vars(encoder) == before
    assert encoder.get_feature_names_out().tolist() == [feature.name for feature in MIXED.features]
    model = make_pipeline(encoder, LassoLogisticRegression(bounds=(-1, 1)))
    assert len(model.fit(pd.DataFrame(ROWS), ROWS["ill"]).predict(pd.DataFrame(ROWS))) == 4


@settings(max_examples=30)
@given(schemas(), st.data())
def test_rows_stay_within_the_bounds_and_do_not_depend_on_each_other(schema, data):
    schema = replace(schema, missing="zero")
    listed = {column.name: getattr(column, "values", ("1", "-3", "1e300")) for column in schema.used}
    texts = {
        name: data.draw(st.lists(st.sampled_from([*values, "x", "", "nan", "inf", None]), min_size=3, max_size=3))
        for name, values in listed.items()
    }
    encoder = SchemaEncoder(schema)
    X = encoder.transform(texts).toarray()
    lower, upper = encoder.bounds
    assert np.all((lower <= X) & (upper >= X))
    assert np.all((lower >= -1) & (lower <= 0) & (upper >= 0) & (upper <= 1))
    for row in range(3):
        alone = encoder.transform({name: cells[row : row + 1] for name, cells in texts.items()}).toarray()
        np.testing.assert_array_equal(alone[0], X[row])


def test_numbers_are_understood_however_they_are_stored():
    column = Numeric("x", 0, 10)
    for cells in (["5", "+5.0", " 5e0 "], [5, 5, 5], [5.0, 5.0, 5.0], pa.array(["5"] * 3, pa.string_view())):
        assert encoded(column, cells) == [[0.5]] * 3
    assert encoded(column, [True, False]) == [[0.1], [0.0]]
    assert encoded(column, ["inf", "-infinity", "NaN", "five", "0x5", "1_0"]) == [[1.0], [0.0], [0], [0], [0], [0]]
    assert encoded(column, [2**60, -(2**60)]) == [[1.0], [0.0]]
    assert encoded(column, pa.array(["5.00"]).cast(pa.decimal128(5, 2))) == [[0.5]]
    assert encoded(column, [None, None]) == [[0.0], [0.0]]


def test_categories_are_compared_as_text():
    column = Categorical("x", ("1", "true", "other", "?"))
    assert encoded(column, ["1", "?", "new", "other", None, ""]) == [
        [1, 0, 0, 0],
        [0, 0, 1, 0],  # listed, and so not missing
        [0, 0, 0, 1],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]
    assert encoded(column, [1, 2])[0] == encoded(column, [1.0, float("nan")])[0] == [1, 0, 0, 0]
    assert encoded(column, [True])[0] == [0, 1, 0, 0]


def test_booleans_of_their_own_type_need_no_spelling():
    assert encoded(Boolean("x", "yes", "no"), [True, False, None]) == [[1], [0], [0]]


def test_ranks_go_evenly_from_zero_to_one_and_unknown_ones_are_missing():
    column = Ordered("x", ("a", "b", "c"))
    assert encoded(column, ["a", "b", "c", "z"]) == [[0], [0.5], [1], [0]]
    with pytest.raises(EncodingError, match="column 'x'"):
        encoded(column, ["z"], missing="error")


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        (Numeric("x", 0, 1), "secret"),
        (Numeric("x", 0, 1), None),
        (Boolean("x"), "secret"),
        (Categorical("x", ("a",)), None),
        (Ordered("x", ("a", "b")), "secret"),
    ],
)
def test_missing_values_by_policy(column, bad):
    good = {"Numeric": "1", "Boolean": "true"}.get(type(column).__name__, "a")
    with pytest.raises(EncodingError, match="column 'x' has cells that are missing") as caught:
        encoded(column, [good, bad], missing="error")
    assert "secret" not in str(caught.value)
    table = {"x": [good, bad, good], "y": ["a", "b", "b"]}
    dropped = only(column, "drop").encode(table)
    assert dropped.kept.tolist() == [True, False, True]
    assert dropped.X.shape[0] == 2
    assert dropped.y.tolist() == ["a", "b"]
    with pytest.raises(EncodingError, match="would be dropped"):
        only(column, "drop").transform(table)


def test_labels():
    encoder = only(Numeric("x", 0, 1), "drop")
    assert encoder.encode_target({"y": ["b", " a"]}).tolist() == ["b", "a"]
    with pytest.raises(EncodingError, match="labels that are not among") as caught:
        encoder.encode_target({"y": ["a", "secret"]})
    assert "secret" not in str(caught.value)
    with pytest.raises(EncodingError, match=r"labels that are not among.*schema check --holder"):
        encoder.encode({"x": [1], "y": ["secret"]})
    assert encoder.encode({"x": [1, 0], "y": ["a", None]}).y.tolist() == ["a"]
    with pytest.raises(EncodingError, match=r"missing policy to drop.*schema check --holder"):
        only(Numeric("x", 0, 1), "zero").encode({"x": [1, 0], "y": ["a", None]})
    assert only(Numeric("x", 0, 1)).encode({"x": [1, 0]}, target=False).y is None


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"z": [1]}, "no column 'x'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["x", "x"]), "more than one column 'x'"),
        ({"x": [1, ["secret"]]}, "column 'x' has cells of a type that is not known"),
        ({"x": np.array([1j])}, "column 'x' has cells of a type that is not known"),
        ({"x": pa.array([[1]])}, "column 'x' has the type list"),
        (pa.table({"x": pa.array([0], pa.timestamp("s"))}), "column 'x' has the type timestamp"),
    ],
)
def test_tables_that_do_not_fit(table, words):
    with pytest.raises(EncodingError, match=words) as caught:
        only(Numeric("x", 0, 1)).transform(table)
    assert "secret" not in str(caught.value)


def test_columns_of_different_length_and_things_that_are_no_table():
    encoder = SchemaEncoder(Schema((Numeric("x", 0, 1), Numeric("z", 0, 1)), Target("y", ("a", "b"), "b")))
    with pytest.raises(EncodingError, match="differ in length"):
        encoder.transform({"x": [1], "z": [1, 2]})
    with pytest.raises(TypeError, match="named columns, got list"):
        encoder.transform([[1, 2]])
