"""Cells that other cells do not change, errors that show none, and what fits and model files say of themselves."""

import contextlib
import json
import sqlite3
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from hardzero.model import FittedModel, ModelFileError
from hardzero.model.statement import WEAK_DELTA, WeakGuaranteeWarning, weaknesses
from hardzero.readers import ReaderError, open_table
from hardzero.schema.cells import EncodingError, columns_of, person_names

from ..cli.test_model import SCHEMA, fit, write_people
from ..models import made_up
from .private_fits import CASES, fitted, records

SECRET = "5ecret"
NUMBER = 735190042


# --- Cells --------------------------------------------------------------------------------------------------------

OTHERS = pytest.mark.parametrize("other", [2, 1.5, "x", b"x", None], ids=repr)


@OTHERS
def test_one_cell_does_not_choose_the_text_of_another_in_a_database(other, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1.0,), (other,)])
    (batch,) = open_table(f"sqlite:///{tmp_path / 't.sqlite'}", "SELECT a FROM t").batches()
    assert batch.column("a")[0].as_py() == "1"


@OTHERS
def test_one_cell_does_not_choose_the_text_of_another_in_categories_of_pandas(other):
    """Pandas finds one type for all categories, by all records."""
    cells = columns_of({"x": pd.Series([1, other], dtype="category")}, ["x"])["x"]
    assert cells[0].as_py() == "1"


# --- Messages -----------------------------------------------------------------------------------------------------


def ragged_csv(folder):
    (folder / "t.csv").write_text(f"a,b\n1,2\n{SECRET},{NUMBER},3\n")
    return (folder / "t.csv",)


def libsvm_without_a_number(folder):
    (folder / "t.libsvm").write_text(f"1 1:{SECRET}{NUMBER}\n")
    return (folder / "t.libsvm",)


def arrow_with_half_a_day(folder):
    half = pa.array([NUMBER], pa.int64()).view(pa.date64())
    pyarrow.feather.write_feather(pa.table({"a": half}), folder / "t.arrow", compression="uncompressed")
    return (folder / "t.arrow",)


def duckdb_conversion(folder):
    pyarrow.parquet.write_table(pa.table({"a": [f"{SECRET}{NUMBER}"]}), folder / "t.parquet")
    return (None, f"SELECT CAST(a AS INT) AS a FROM '{folder / 't.parquet'}'")


def sqlite_list(folder):
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (?)", [f"{SECRET}{NUMBER}"])
    return (f"sqlite:///{folder / 't.sqlite'}", "SELECT json_extract(a, '$') AS a FROM t")


@pytest.mark.parametrize(
    "spoilt", [ragged_csv, libsvm_without_a_number, arrow_with_half_a_day, duckdb_conversion, sqlite_list]
)
def test_no_error_of_a_reader_shows_a_cell_not_even_in_its_traceback(spoilt, tmp_path):
    source = spoilt(tmp_path)
    with pytest.raises(ReaderError) as caught:
        list(open_table(*source, n_features=1).batches())
    said = "".join(traceback.format_exception(caught.value))
    assert SECRET not in said
    assert str(NUMBER) not in said


def test_no_error_shows_whose_row_it_is_where_an_arrow_table_holds_bytes_for_text():
    name = SECRET.encode() + b"\xff"
    parts = [None, pa.py_buffer(np.array([0, len(name)], dtype=np.int32).tobytes()), pa.py_buffer(name)]
    with pytest.raises(EncodingError, match="column 'p' holds text that is not UTF-8") as caught:
        person_names("p", pa.Array.from_buffers(pa.string(), 1, parts), ())
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_duckdb_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(ReaderError):
        open_table(tmp_path / "none.duckdb", "SELECT 1 AS a")
    assert list(tmp_path.iterdir()) == []


# --- What is promised ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [10, 1000, 10**6])
def test_a_delta_is_judged_by_the_number_of_rows(n_rows):
    """One over the number of rows may be far from the limit for tables of unknown size, on either side."""
    assert len(weaknesses(1.0, 1.01 / n_rows, n_rows)) == 1
    assert weaknesses(1.0, 0.99 / n_rows, n_rows) == ()
    assert (1 / n_rows < WEAK_DELTA) == (n_rows > 1000)


@pytest.mark.parametrize("case", CASES[:1], ids=lambda case: case.estimator)
def test_a_fit_that_promises_little_warns(case):
    with pytest.warns(WeakGuaranteeWarning, match=r"delta = 0\.5 is not below 1/n"):
        fitted(case, records(case, 1), delta=0.5)


def test_a_seeded_fit_is_not_private_to_machines_either(tmp_path):
    write_people(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    said = {seed: json.loads(fit(tmp_path, "--json", "--force", *seed).stdout) for seed in [(), ("--seed", "3")]}
    assert [(facts["private"], facts["seeded"]) for facts in said.values()] == [(True, False), (False, True)]


@pytest.mark.parametrize("part", ["epsilon", "rho"])
def test_a_model_file_may_not_belittle_an_event(part):
    content = json.loads(made_up().to_json())
    content["privacy"]["events"][0]["cost"][part] *= 0.5
    with pytest.raises(ModelFileError, match=r"events\[0\]\.cost is not what the event's parameters give"):
        FittedModel.from_json(json.dumps(content))
