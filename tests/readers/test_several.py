"""Tables in several files, and in parts that others read."""

import pickle

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hardzero.readers import ReaderError, open_table, several
from hardzero.readers.several import table_parts


def numbers(first, last):
    return pa.table({"a": list(range(first, last)), "b": [str(i % 3) for i in range(first, last)]})


@pytest.fixture
def folder(tmp_path):
    """Ten rows in three files, whose names are not in the order in which they were written."""
    for name, table in (("2", numbers(3, 7)), ("1", numbers(0, 3)), ("3", numbers(7, 10))):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    return tmp_path


def rows_of(reader):
    return [row for batch in reader.batches(2, ["b", "a"]) for row in batch.to_pylist()]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_read_in_the_order_of_their_names(folder, ending):
    reader = open_table(str(folder / f"*.{ending}"))
    assert [int(row["a"]) for row in rows_of(reader)] == list(range(10))
    assert list(rows_of(reader)[0]) == ["b", "a"]
    assert reader.names == ("a", "b")
    assert reader.n_rows == (10 if ending == "parquet" else None)


def test_parts_together_are_the_table(folder, monkeypatch):
    monkeypatch.setattr(several, "_ROWS_IN_A_PART", 3)
    whole = rows_of(open_table(str(folder / "*.parquet")))
    parts = table_parts(str(folder / "*.parquet"))
    assert [part.groups for part in parts] == [(0, 1), (0, 1), (0, 1)]
    read = [part.opened() for part in pickle.loads(pickle.dumps(parts))]
    assert [row for reader in read for row in rows_of(reader)] == whole
    assert sum(reader.n_rows for reader in read) == 10
    monkeypatch.setattr(several, "_ROWS_IN_A_PART", 1)
    assert len(table_parts(str(folder / "2.parquet"))) == 2
    assert [part.groups for part in table_parts(str(folder / "*.csv"))] == [None] * 3
    assert [row["a"] for part in table_parts(str(folder / "*.csv")) for row in rows_of(part.opened())] == [
        str(i) for i in range(10)
    ]


def test_a_file_without_rows_is_one_part(tmp_path):
    pyarrow.parquet.write_table(numbers(0, 0), tmp_path / "none.parquet")
    (part,) = table_parts(str(tmp_path / "none.parquet"))
    assert rows_of(part.opened()) == []


def test_files_that_are_not_alike_are_refused(folder):
    pyarrow.parquet.write_table(pa.table({"a": [1], "c": ["x"]}), folder / "4.parquet")
    with pytest.raises(
        ReaderError, match=r"4\.parquet has other columns than .*1\.parquet: without 'b' and with 'c'; give"
    ):
        open_table(str(folder / "*.parquet"))
    pyarrow.parquet.write_table(pa.table({"b": ["1"], "a": [1.5]}), folder / "4.parquet")
    with pytest.raises(ReaderError, match=r"4\.parquet has other types of columns than"):
        open_table(str(folder / "*.parquet"))
    pyarrow.parquet.write_table(pa.table({"b": ["1"], "a": [7]}), folder / "4.parquet")
    assert len(rows_of(open_table(str(folder / "*.parquet")))) == 11


def test_patterns_that_match_nothing_are_refused(folder):
    with pytest.raises(ReaderError, match="no file matches this pattern"):
        open_table(str(folder / "*.arrow"))
    with pytest.raises(
        ReaderError, match=r"is a folder; name a file in it, or files by a pattern such as .*\*\.parquet"
    ):
        open_table(folder)


def test_a_file_may_be_named_like_a_pattern(folder):
    odd = folder / "[1].csv"
    odd.write_text("a,b\n77,x\n")
    assert rows_of(open_table(str(odd))) == [{"b": "x", "a": "77"}]
