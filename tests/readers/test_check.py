"""Whether a table fits its schema: public structure for all, counts for the data holder."""

import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hardzero.readers import TableReader, open_table
from hardzero.readers.check import ColumnCounts, check_table, written_as_number
from hardzero.schema.cell_text import text_of
from hardzero.schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, Target

from ..schema.schemas import MIXED, ROWS


@pytest.fixture
def saved(tmp_path):
    def save(columns):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
        return open_table(tmp_path / "t.parquet")

    return save


def test_the_holder_sees_counts(saved):
    check = check_table(MIXED, saved(ROWS), holder=True)
    assert check.passed
    assert check.n_rows == 4
    assert check.unused == ("id",)
    assert check.counts == (
        ColumnCounts("age", missing=1, outside=1, unknown=0, missing_rows=(4,), outside_rows=(3,)),
        ColumnCounts("balance", missing=1, outside=1, unknown=0, missing_rows=(4,), outside_rows=(3,)),
        ColumnCounts("owner", missing=1, outside=0, unknown=1, missing_rows=(4,), unknown_rows=(3,)),
        ColumnCounts("town", missing=1, outside=0, unknown=1, missing_rows=(4,), unknown_rows=(3,)),
        ColumnCounts("grade", missing=0, outside=0, unknown=1, unknown_rows=(4,)),
        ColumnCounts("ill", missing=0, outside=0, unknown=0),
    )
    assert "SENSITIVE" in str(check)
    assert "town: 1 missing (row 4), 0 out of bounds, 1 unknown (row 3)" in str(check)


def test_the_holder_is_told_the_first_rows_of_each_kind_across_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("hardzero.readers.table.TableReader.batches", in_batches_of(3))
    ages = ["1,4", "50", "", "200", "7", *["1,4"] * 6, "-1"]
    (tmp_path / "t.csv").write_text("age;y\n" + "".join(f"{age};{'c' if age == '7' else 'a'}\n" for age in ages))
    schema = Schema((Numeric("age", 0, 100),), Target("y", ("a", "b"), "b"))
    check = check_table(schema, open_table(tmp_path / "t.csv", delimiter=";"), holder=True)
    assert check.n_rows == 12
    assert check.counts == (
        ColumnCounts("age", 1, 2, 7, missing_rows=(3,), outside_rows=(4, 12), unknown_rows=(1, 6, 7, 8, 9)),
        ColumnCounts("y", 0, 0, 1, unknown_rows=(5,)),
    )
    assert "12 rows, of which the first is row 1" in str(check)
    assert "age: 1 missing (row 3), 2 out of bounds (rows 4, 12), 7 unknown (rows 1, 6, 7, 8, 9, …)" in str(check)


def in_batches_of(rows):
    read = TableReader.batches
    return lambda reader, _=None, columns=None: read(reader, rows, columns)


def test_others_see_the_same_whatever_the_rows(saved):
    before = check_table(MIXED, saved(ROWS))
    after = check_table(MIXED, saved({name: [cells[0]] for name, cells in ROWS.items()}))
    assert before == after
    assert str(before) == "the table has every column of the schema, with suitable types\nnot used: id"
    assert (before.n_rows, before.counts) == (None, None)


@pytest.mark.parametrize("holder", [False, True])
def test_what_does_not_fit_is_named(saved, holder):
    schema = Schema(
        (Numeric("born", 0, 1), Numeric("gone", 0, 1), Categorical("tags", ("a",))), Target("y", ("a", "b"), "a")
    )
    reader = saved({"born": pa.array([0], pa.date32()), "tags": [["a"]], "y": ["a"]})
    check = check_table(schema, reader, holder=holder)
    assert not check.passed
    assert check.counts is None
    assert check.problems == (
        "column 'born' has the type date32[day], which gives no numbers; convert or ignore it",
        "column 'gone' is not in the table",
        "column 'tags' has the type list<element: string>, which gives no categories; convert or ignore it",
    )


@pytest.mark.parametrize("holder", [False, True])
def test_values_that_no_cell_of_a_type_can_be_are_named(saved, holder):
    """Every cell would be unknown: a column of nothing but "other", or of nothing at all, and no word of it."""
    schema = Schema(
        (
            Categorical("region", ("01", "02")),
            Ordered("stage", ("I", "II"), steps=True),
            Boolean("smokes", "yes", "no"),
            Boolean("drinks"),
            Categorical("ward", ("yes", "no", "other")),
        ),
        Target("y", ("no", "yes"), "yes"),
    )
    table = {"region": [1], "stage": [1.0], "smokes": [1], "drinks": [0], "ward": [True], "y": [False]}
    check = check_table(schema, saved(table), holder=holder)
    assert check.counts is None
    number = "whose cells are written like 1 or 2.5, and nothing that the schema lists for it is"
    truth = "whose cells are written as true and false, and nothing that the schema lists for it is"
    assert check.problems == (
        f"column 'region' has the type int64, {number} ('01'); list what cells can be, or convert it",
        f"column 'stage' has the type double, {number} ('I'); list what cells can be, or convert it",
        f"column 'smokes' has the type int64, {number} ('yes'); list what cells can be, or convert it",
        f"column 'drinks' has the type int64, {number} ('true'); list what cells can be, or convert it",
        f"column 'ward' has the type bool, {truth} ('yes'); list what cells can be, or convert it",
        f"column 'y' has the type bool, {truth} ('no'); list what cells can be, or convert it",
    )


def test_a_value_that_some_cell_of_a_type_can_be_is_enough(saved):
    schema = Schema(
        (
            Categorical("region", ("unknown", "1")),
            Ordered("stage", ("0.5", "1.0")),
            Boolean("smokes", "yes", "no"),
            Boolean("drinks", "1", "2"),
            Categorical("ward", ("other",)),
            Categorical("empty", ("a",)),
        ),
        Target("y", ("false", "true"), "true"),
    )
    table = {
        "region": [7],
        "stage": [7.0],
        "smokes": [True],
        "drinks": [7],
        "ward": [7],
        "empty": [None],
        "y": [True],
    }
    assert check_table(schema, saved(table)).passed


def test_types_of_text_files_are_not_held_against_them(tmp_path):
    (tmp_path / "t.csv").write_text("age,y\nunknown,a\n")
    schema = Schema((Numeric("age", 0, 100),), Target("y", ("a", "b"), "b"))
    assert check_table(schema, open_table(tmp_path / "t.csv")).passed
    (counts, _) = check_table(schema, open_table(tmp_path / "t.csv"), holder=True).counts
    assert counts == ColumnCounts("age", missing=0, outside=0, unknown=1, unknown_rows=(1,))


@given(st.integers() | st.floats(allow_nan=False) | st.decimals(allow_nan=False))
@example(math.inf)
@example(5e-324)
@example(Decimal("1E+1000"))
def test_texts_of_numbers_are_known_as_such(cell):
    assert written_as_number(text_of(cell))


@pytest.mark.parametrize(
    "text", ["01", "+1", "1.0", ".5", "5.", "-0", "1e3", "nan", "infinity", "A", "", "1,5", "1e99999999999999999999"]
)
def test_texts_that_no_number_has_are_known_as_such(text):
    assert not written_as_number(text)
