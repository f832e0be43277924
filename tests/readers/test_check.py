"""Whether a table fits its schema: public structure for all, counts for the data holder."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from hardzero.readers import open_table
from hardzero.readers.check import ColumnCounts, check_table
from hardzero.schema.columns import Categorical, Numeric, Schema, Target

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
        ColumnCounts("age", missing=1, outside=1, unknown=0),
        ColumnCounts("balance", missing=1, outside=1, unknown=0),
        ColumnCounts("owner", missing=1, outside=0, unknown=1),
        ColumnCounts("town", missing=1, outside=0, unknown=1),
        ColumnCounts("grade", missing=0, outside=0, unknown=1),
        ColumnCounts("ill", missing=0, outside=0, unknown=0),
    )
    assert "SENSITIVE" in str(check)
    assert "town: 1 missing, 0 out of bounds, 1 unknown" in str(check)


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


def test_types_of_text_files_are_not_held_against_them(tmp_path):
    (tmp_path / "t.csv").write_text("age,y\nunknown,a\n")
    schema = Schema((Numeric("age", 0, 100),), Target("y", ("a", "b"), "b"))
    assert check_table(schema, open_table(tmp_path / "t.csv")).passed
    (counts, _) = check_table(schema, open_table(tmp_path / "t.csv"), holder=True).counts
    assert counts == ColumnCounts("age", missing=0, outside=0, unknown=1)
