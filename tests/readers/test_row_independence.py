"""A row's codes depend on its own record and the schema: not on other rows, their order, batches or the format."""

import contextlib
import csv
import math
import sqlite3
from dataclasses import replace
from datetime import date
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from hardzero.cli.actions.fit import fit_rows, read_rows
from hardzero.cli.actions.methods import build_estimator
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.readers import open_table, read_encoded, sql
from hardzero.schema.cell_text import text_of
from hardzero.schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

TARGET = Target("y", ("no", "yes"), "yes")
SCHEMA = Schema(
    (
        Numeric("whole", -1000, 1000),
        Categorical("whole_again", ("1", "2", "9007199254740993")),
        Numeric("real", -3.7, 12.3),
        Categorical("real_again", ("1", "0.5", "-2")),
        Numeric("money", -10, 10),
        Categorical("money_again", ("1", "1.5", "0.00001")),
        Boolean("truth", "1", "0"),
        Categorical("day", ("2024-01-31",)),
        Numeric("text", 0, 100),
        Ordered("text_again", ("1", "1.0", "5", "true", "café")),
        Categorical("mixed", ("1", "1.5", "true", "a", "2024-01-31")),
        Numeric("mixed_again", -5, 5),
    ),
    TARGET,
    "zero",
)
TYPES = pa.schema(
    {
        "whole": pa.int64(),
        "real": pa.float64(),
        "money": pa.decimal128(20, 6),
        "truth": pa.bool_(),
        "day": pa.date32(),
        "text": pa.string(),
        "mixed": pa.string(),
        "y": pa.string(),
    }
)
NUMBERS = ["1", "1.0", " 5 ", "+1", "5.", ".5", "1e1", "1e400", "-0", "inf", "nan"]
NO_NUMBERS = ["0x10", "1_0", "1d", "٣", "nan(1)", "?", "NA", "", "true", "café", "a", 'b,"c"', "2024-01-31"]
wholes = st.sampled_from([0, 1, 2, 9007199254740993, -(2**63)]) | st.integers(-1000, 1000)
reals = st.sampled_from([1.0, 0.5, -2.0, -0.0, 0.1, math.inf, math.nan]) | st.floats(-4, 13)
moneys = st.integers(-(10**8), 10**8).map(lambda n: Decimal(n).scaleb(-6)) | st.sampled_from(
    [Decimal("1"), Decimal("1.00"), Decimal("1.50"), Decimal("0.00001")]
)
texts = st.sampled_from([*NUMBERS, *NO_NUMBERS])
records = st.fixed_dictionaries(
    {
        "whole": st.none() | wholes,
        "real": st.none() | reals,
        "money": st.none() | moneys,
        "truth": st.none() | st.booleans(),
        "day": st.none() | st.dates(date(2024, 1, 30), date(2024, 2, 1)),
        "text": st.none() | texts,
        "mixed": st.none() | wholes | reals | moneys | texts | texts.map(str.encode),
        "y": st.sampled_from(TARGET.classes),
    }
)


def shown_twice(record):
    """A record with some columns under two names, so that one cell is read as a number and as a category."""
    return record | {f"{name}_again": record[name] for name in ("whole", "real", "money", "text", "mixed")}


def codes_alone(record):
    """The codes of a record that is read by itself, from a dictionary without any type."""
    X = SchemaEncoder(SCHEMA).encode({name: [cell] for name, cell in shown_twice(record).items()}).X
    return BoundedData.from_matrix(X.toarray(), Bounds.parse((-1, 1), X.shape[1])).codes[0].tolist()


def typed(rows):
    """An Arrow table with declared types; a column of mixed cells is text there."""
    columns = {}
    for name, kind in zip(TYPES.names, TYPES.types, strict=True):
        cells = [text_of(row[name]) if name == "mixed" else row[name] for row in rows]
        columns[name] = pa.array(cells, kind)
    return pa.table(shown_twice(columns))


def save_csv(rows, folder):
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(shown_twice(rows[0]))
        lines.writerows([text_of(shown_twice(row)[name]) for name in shown_twice(rows[0])] for row in rows)
    return (folder / "t.csv",)


def save_parquet(rows, folder):
    pyarrow.parquet.write_table(typed(rows), folder / "t.parquet", row_group_size=2)
    return (folder / "t.parquet",)


def save_arrow(rows, folder):
    pyarrow.feather.write_feather(typed(rows), folder / "t.arrow", chunksize=2)
    return (folder / "t.arrow",)


def save_duckdb(rows, folder):
    (folder / "t.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("rows", typed(rows))
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return (folder / "t.duckdb", "SELECT * FROM t")


def save_sqlite(rows, folder):
    """Cells as SQLite has them: whole numbers, doubles, text and bytes, mixed in a column as they come."""

    def stored(cell):
        return text_of(cell) if isinstance(cell, Decimal | date) else cell

    (folder / "t.sqlite").unlink(missing_ok=True)
    names = list(shown_twice(rows[0]))
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        for row in rows:
            cells = [stored(shown_twice(row)[name]) for name in names]
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(cells))})", cells)
    return (f"sqlite:///{folder / 't.sqlite'}", "SELECT * FROM t")


SAVED = {save.__name__: save for save in (save_csv, save_parquet, save_arrow, save_duckdb, save_sqlite)}


def codes_read(reader, schema, batch):
    """The codes that a fit would see, read so many rows at a time."""
    fewer = replace(reader, read_batches=lambda _, columns: reader.batches(batch, columns))
    data = read_rows(fewer, schema, lambda seen: None).data
    columns = data.columns()
    return (np.asarray(columns.todense() if sparse.issparse(columns) else columns) * 2**16).astype(int).tolist()


@pytest.mark.parametrize("save", SAVED.values(), ids=SAVED)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(records, min_size=1, max_size=5), batch=st.integers(1, 6), order=st.permutations(range(5)))
def test_rows_are_read_alike_alone_and_together(save, rows, batch, order, tmp_path):
    expected = [codes_alone(row) for row in rows]
    order = [place for place in order if place < len(rows)]
    reader = open_table(*save([rows[place] for place in order], tmp_path))
    assert codes_read(reader, SCHEMA, batch) == [expected[place] for place in order]


@pytest.mark.parametrize("policy", ["zero", "drop"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(records, min_size=1, max_size=5))
def test_which_rows_are_dropped_depends_on_each_row_alone(policy, rows, tmp_path):
    schema = replace(SCHEMA, missing=policy)
    kept = [
        bool(SchemaEncoder(schema).encode({name: [cell] for name, cell in shown_twice(row).items()}).kept[0])
        for row in rows
    ]
    for save in (save_csv, save_sqlite):
        (batch,) = open_table(*save(rows, tmp_path)).batches()
        assert SchemaEncoder(schema).encode(batch).kept.tolist() == kept


def test_libsvm_rows_are_read_alike_alone_and_together(tmp_path):
    schema = Schema(
        (Numeric("x1", -1, 3), Numeric("x2", 0, 1), Numeric("x3", -5, -1)), Target("label", ("0", "1"), "1")
    )
    lines = ["1 1:0.1 3:-2", "0", "1 2:inf", "0 1:-7 2:1e-3 3:5", "1 3:-1.5"]
    expected = []
    for line in lines:
        (tmp_path / "t.svm").write_text(line)
        expected += codes_read(open_table(tmp_path / "t.svm", n_features=3), schema, 1)
    for batch in (1, 2, 5):
        (tmp_path / "t.svm").write_text("\n".join(lines[::-1]))
        assert codes_read(open_table(tmp_path / "t.svm", n_features=3), schema, batch) == expected[::-1]


# --- Precision and storage ----------------------------------------------------------------------------------------


def halfway(rng, rows, columns):
    """Numbers so close to the middle between two codes that single precision would move them."""
    return (rng.integers(0, 2**16 - 1, size=(rows, columns)) + 0.5) / 2**16 * (1 + 1e-9)


@pytest.mark.parametrize("last", [0.0, 0.7], ids=["sparse", "dense"])
def test_one_record_does_not_choose_the_precision_of_others(last, tmp_path):
    """The last record takes the share of nonzero entries to one side of the limit or the other."""
    columns = [f"c{j}" for j in range(10)]
    schema = Schema(tuple(Numeric(name, 0, 1) for name in columns), TARGET)
    X = np.zeros((9, 10))
    X[:, :3] = halfway(np.random.default_rng(0), 9, 3)
    alone = BoundedData.from_matrix(X, Bounds.parse((0, 1), 10)).codes
    table = pa.table({name: np.append(X[:, j], last) for j, name in enumerate(columns)} | {"y": ["no"] * 10})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    encoder = SchemaEncoder(schema)
    read, _ = read_encoded(open_table(tmp_path / "t.parquet"), encoder)
    assert sparse.issparse(read) == (last == 0)
    codes = BoundedData.from_matrix(read, Bounds.parse(encoder.bounds, 10)).codes
    assert np.array_equal((codes.toarray() if sparse.issparse(codes) else codes)[:9], alone)
    assert codes_read(open_table(tmp_path / "t.parquet"), schema, 10)[:9] == alone.tolist()


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(-2, 2) | st.sampled_from([0.0, -0.0, 1e-9]), min_size=3, max_size=3), min_size=1))
def test_codes_are_the_same_dense_and_sparse(rows):
    X = np.array(rows)
    bounds = Bounds.parse((-1, 1), 3)
    stored = sparse.csr_array((X.ravel(), np.tile(np.arange(3), len(X)), np.arange(0, X.size + 1, 3)), shape=X.shape)
    codes = BoundedData.from_matrix(X, bounds).codes
    for other in (sparse.csr_array(X), stored, sparse.csc_array(X)):
        assert np.array_equal(BoundedData.from_matrix(other, bounds).codes.toarray(), codes)


# --- The attack ---------------------------------------------------------------------------------------------------

N, RUNS, ALPHA = 2000, 300, 1e-4
CLAIMED = 1.0
ATTACKED = Schema((Categorical("c", ("0", "1")), Numeric("z", 0, 1)), TARGET)


def inferring_batch(rows, names, types):
    """The broken twin: one type for all cells of a batch, or the text of each where they do not fit together."""
    arrays = []
    for column in zip(*rows, strict=True):
        try:
            arrays.append(pa.array(column))
        except pa.ArrowException:
            arrays.append(pa.array([None if cell is None else str(cell) for cell in column]))
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def attacked_rows(folder, last):
    """Everybody's class follows c, a number; one record's c is the number 1, or a text instead of it."""
    path = folder / "t.sqlite"
    path.unlink(missing_ok=True)
    cells = np.random.default_rng(0).integers(0, 2, size=N).tolist()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (c REAL, z REAL, y TEXT)")
        rows = [(float(c), 0.5, TARGET.classes[c]) for c in cells]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [*rows[:-1], (last, 0.5, "yes")])
    return read_rows(open_table(f"sqlite:///{path}", "SELECT * FROM t"), ATTACKED, lambda seen: None)


def hits(rows):
    """How often a released model makes much of c: which it does where everybody's c is understood."""
    found = 0
    for seed in range(RUNS):
        privacy = {"epsilon": CLAIMED, "delta": None, "neighbours": "replace-one", "random_state": seed}
        model = fit_rows(rows, ATTACKED, build_estimator("private-lasso", ATTACKED, privacy, ("n_iter=5",)))
        zero, one = model.coef_scaled[0][:2]
        found += one - zero > 1.2
    return found


def smallest_epsilon(more, fewer):
    """A Clopper-Pearson bound: the true ε is below it with a probability of at most 2·ALPHA."""
    likely = stats.beta.ppf(ALPHA, more, RUNS - more + 1) if more else 0.0
    unlikely = stats.beta.ppf(1 - ALPHA, fewer + 1, RUNS - fewer) if fewer < RUNS else 1.0
    return math.log(max(likely - N**-1.5, 1e-12) / unlikely)


def test_one_replaced_record_does_not_show_through_the_others(tmp_path, monkeypatch):
    """Fails by chance with a probability of at most 4·ALPHA, as two bounds are looked at; the twin is caught."""
    number, text = attacked_rows(tmp_path, 1.0), attacked_rows(tmp_path, "x")
    assert np.array_equal(codes_of(number)[:-1], codes_of(text)[:-1])
    counts = hits(number), hits(text)
    assert max(smallest_epsilon(*counts), smallest_epsilon(*counts[::-1])) <= CLAIMED

    monkeypatch.setattr(sql, "_record_batch", inferring_batch)
    number, text = attacked_rows(tmp_path, 1.0), attacked_rows(tmp_path, "x")
    assert smallest_epsilon(hits(number), hits(text)) > 2 * CLAIMED


def codes_of(rows):
    columns = rows.data.columns()
    return columns.toarray() if sparse.issparse(columns) else columns
