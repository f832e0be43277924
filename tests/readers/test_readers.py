"""Tables are read in batches, from every format alike, and errors name a line but never a cell."""

import bz2
import contextlib
import gzip
import lzma
import sqlite3
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hardzero.checks import MissingPackageError
from hardzero.readers import FileFormat, ReaderError, declared_features, open_table, read_encoded
from hardzero.schema.columns import Categorical, Numeric, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y, z", 'say "no"\nor not'], "y": ["no", "yes", "no"]})
CSV = 'a,b,y\n1,x,no\n2,"y, z",yes\n3,"say ""no""\nor not",no\n'
SCHEMA = Schema((Numeric("a", 0, 4), Categorical("b", ("x", "y, z"))), Target("y", ("no", "yes"), "yes"))
SECRET = "5ecret"


def save_csv(folder):
    (folder / "t.csv").write_text(CSV)
    return {"source": folder / "t.csv"}


def save_compressed(suffix, compress):
    def save(folder):
        (folder / f"t.csv{suffix}").write_bytes(compress(CSV.encode()))
        return {"source": str(folder / f"t.csv{suffix}")}

    return save


def save_tsv(folder):
    pyarrow.csv.write_csv(TABLE, folder / "t.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    return {"source": folder / "t.tsv"}


def save_without_header(folder):
    (folder / "t.data").write_text(CSV.partition("\n")[2])
    return {"source": folder / "t.data", "form": "csv", "names": ["a", "b", "y"]}


def save_parquet(folder):
    pyarrow.parquet.write_table(TABLE, folder / "t.parquet", row_group_size=2)
    return {"source": folder / "t.parquet"}


def save_feather(folder):
    pyarrow.feather.write_feather(TABLE, folder / "t.feather")
    return {"source": folder / "t.feather"}


def save_stream(folder):
    with pa.OSFile(str(folder / "t.arrows"), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    return {"source": folder / "t.arrows"}


def save_for_query(folder):
    save_parquet(folder)
    return {"query": f"SELECT a, b, y FROM '{folder / 't.parquet'}' ORDER BY a"}


def save_duckdb(folder):
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("arrow_table", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM arrow_table")
    return {"source": folder / "t.duckdb", "query": "SELECT * FROM t ORDER BY a"}


def save_sqlite(folder):
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a, b TEXT, y TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [tuple(row.values()) for row in TABLE.to_pylist()])
    return {"source": f"sqlite:///{folder / 't.sqlite'}", "query": "SELECT * FROM t ORDER BY a"}


SAVED = {
    "csv": save_csv,
    "csv.gz": save_compressed(".gz", gzip.compress),
    "csv.bz2": save_compressed(".bz2", bz2.compress),
    "csv.xz": save_compressed(".xz", lzma.compress),
    "tsv": save_tsv,
    "no header": save_without_header,
    "parquet": save_parquet,
    "feather": save_feather,
    "arrow stream": save_stream,
    "query of files": save_for_query,
    "duckdb": save_duckdb,
    "sqlite": save_sqlite,
}
EVERY_FORMAT = pytest.mark.parametrize("save", SAVED.values(), ids=SAVED)


@EVERY_FORMAT
def test_every_format_gives_the_same_rows_as_often_as_asked(save, tmp_path):
    options = save(tmp_path)
    reader = open_table(**options)
    assert reader.names == ("a", "b", "y")
    assert reader.n_rows in (3, None)
    declared = "sqlite" not in str(options.get("source"))  # SQLite declares no types for a result
    assert str(reader.types["a"]) == ("int64" if declared else "string")
    assert str(reader.types["b"]) == "string"
    for _ in range(2):
        batches = list(reader.batches(rows=2))
        assert all(batch.num_rows <= 2 for batch in batches)
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert [row | {"a": int(row["a"])} for row in rows] == TABLE.to_pylist()
    assert next(reader.batches(columns=["y", "a"])).schema.names == ["y", "a"]
    with pytest.raises(ReaderError, match="no column 'c'"):
        next(reader.batches(columns=["c"]))


@EVERY_FORMAT
def test_every_format_gives_the_same_matrix(save, tmp_path):
    X, y = read_encoded(open_table(**save(tmp_path)), SchemaEncoder(SCHEMA), rows=2)
    assert X.dtype == np.float32  # 2 of 4 entries are not zero
    np.testing.assert_array_equal(X, [[0.25, 1, 0, 0], [0.5, 0, 1, 0], [0.75, 0, 0, 1]])
    assert y.tolist() == ["no", "yes", "no"]


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_sparse_tables_are_stacked_as_csr(missing, tmp_path):
    rng = np.random.default_rng(0)
    towns = [f"t{i}" for i in range(20)]
    table = pa.table({"a": rng.integers(-1, 6, 1000), "b": rng.choice([*towns, "?"], 1000), "y": ["no"] * 1000})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    schema = Schema((Numeric("a", 0, 4), Categorical("b", tuple(towns))), SCHEMA.target, missing)
    encoder = SchemaEncoder(schema)
    X, y = read_encoded(open_table(tmp_path / "t.parquet"), encoder, rows=64)
    whole = encoder.encode(table)
    assert X.dtype == np.float64
    assert X.indices.dtype == np.int32
    assert (X != whole.X).nnz == 0
    assert y.tolist() == whole.y.tolist()
    assert (len(y) < 1000) == (missing == "drop")


def test_a_table_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n")
    X, y = read_encoded(open_table(tmp_path / "t.csv"), SchemaEncoder(SCHEMA))
    assert X.shape == (0, 4)
    assert y.shape == (0,)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no rows"),
        (b"a,b", "has no rows"),
        (b"\n\n\n", "has no rows"),
        (f"a,b\n1,2\n\n3,{SECRET},4\n".encode(), "line 4: does not have as many cells as there are columns"),
        (f'a,b\n1,"2\n{SECRET}"\n{SECRET}\n'.encode(), "line 4: does not have as many cells"),
        (f"a,b\n1,2\n{SECRET},\xff\n".encode("latin-1"), "line 3: is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "line 1: is not UTF-8"),
        (b"a,b\n1,\xe2\x82", "line 2: is not UTF-8"),
        (b"a,a\n1,2\n", "more than one column 'a'"),
        (b"17,Male\n18,Female\n", "line 1: has an empty name or a number"),
        (b"a,,c\n1,2,3\n", "line 1: has an empty name or a number"),
        (f'a,b\n1,"{SECRET}\n1,2\n'.encode(), "has a quotation mark that is left open"),
        (f"a,b\n1,{SECRET * 2 * 10**6}\n1,2\n".encode(), "a row of more than 4,194,304 bytes"),
    ],
)
def test_faulty_csv_files_are_explained_without_showing_a_cell(content, words, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ReaderError, match=r"t\.csv") as caught:
        list(open_table(tmp_path / "t.csv").batches())
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


def test_faults_far_into_a_file_are_found(tmp_path):
    lines = ["a,b"] + ["123456789,abcdefghij"] * 600_000 + ["1,2,3"]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=1))
    batches = open_table(tmp_path / "t.csv.gz").batches()
    assert next(batches).num_rows == 65536
    with pytest.raises(ReaderError, match="line 600002: does not have"):
        list(batches)


def test_byte_order_marks_and_other_delimiters(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeffa;b\r\n1;2\r\n", encoding="utf-8")
    reader = open_table(tmp_path / "t.csv", delimiter=";")
    assert [batch.to_pydict() for batch in reader.batches()] == [{"a": ["1"], "b": ["2"]}]
    for wrong in ('"', "", ";;", "\n", "é"):
        with pytest.raises(ReaderError, match="delimiter must be a single character"):
            open_table(tmp_path / "t.csv", delimiter=wrong)


LIBSVM = "# made up\n+1 1:0.5 3:2 # comment\n\n-1 2:1e1\n-1\n"


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), (".bz2", bz2.compress)])
def test_libsvm_text(suffix, compress, tmp_path):
    path = tmp_path / f"t.libsvm{suffix}"
    path.write_bytes(compress(LIBSVM.encode()))
    reader = open_table(path, n_features=3)
    assert reader.names == ("label", "x1", "x2", "x3")
    assert [str(t) for t in reader.types.values()] == ["string", "double", "double", "double"]
    (batch,) = reader.batches()
    assert batch.to_pydict() == {"label": ["+1", "-1", "-1"], "x1": [0.5, 0, 0], "x2": [0, 10, 0], "x3": [2, 0, 0]}
    assert [batch.num_rows for batch in reader.batches(rows=2, columns=["x3"])] == [2, 1]
    assert len(open_table(path, n_features=5).names) == 6
    with pytest.raises(ReaderError, match="line 2: has an index above the number of features, 2"):
        list(open_table(path, n_features=2).batches())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"1 1:{SECRET}", "line 1: has a value that is no number"),
        (f"1 1:1\n1 {SECRET}", "line 2: is not a label followed by"),
        ("1 qid:3 1:1", "line 1: is not a label followed by"),
        ("1 0:1", "indices must start at 1 and grow"),
        ("1 2:1 2:1", "indices must start at 1 and grow"),
        ("1 1:1_000", "line 1: has a value that is no number"),
        ("1 1:0x10", "line 1: has a value that is no number"),
        ("1 1:1\n1 999999999:1", "line 2: has an index above the number of features, 3"),
        ("1 1:\xff", "line 1: is not UTF-8"),
    ],
)
def test_faulty_libsvm_files_are_explained_without_showing_a_cell(text, words, tmp_path):
    (tmp_path / "t.libsvm").write_text(text, encoding="latin-1")
    with pytest.raises(ReaderError) as caught:
        list(open_table(tmp_path / "t.libsvm", n_features=3).batches())
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("count", [None, 0, 100_001])
def test_the_number_of_features_is_not_read_from_a_libsvm_file(count, tmp_path):
    (tmp_path / "t.libsvm").write_text(LIBSVM)
    words = "give n_features, or describe the columns" if count is None else "a table can have 1 to 100,000"
    with pytest.raises(ReaderError, match=words):
        open_table(tmp_path / "t.libsvm", n_features=count)


def test_a_schema_declares_the_number_of_features():
    assert declared_features(["x1", "x12", "label", "x07", "x0", "ax99", "x3b"]) == 12
    assert declared_features(["age"]) is None


ANY_BYTES = st.binary(max_size=60) | st.text("a1,;:\"'\n\r\t .-e#+\x00é", max_size=60).map(str.encode)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.bz2", "csv.xz", "libsvm", "libsvm.xz", "parquet", "arrow"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=ANY_BYTES)
@example(content=b"ARROW1\0\0")
@example(content=b"PAR1" * 3)
@example(content=b"a,b\n\xe2")
@example(content=b'"')
@example(content=b"a\n\x00")
def test_any_bytes_give_rows_or_a_reader_error(suffix, content, tmp_path):
    (tmp_path / f"t.{suffix}").write_bytes(content)
    with contextlib.suppress(ReaderError):
        reader = open_table(tmp_path / f"t.{suffix}", n_features=3)
        assert set(reader.types) == set(reader.names)
        assert sum(batch.num_rows for batch in reader.batches()) >= 0


@pytest.mark.parametrize("name", ["csv.gz", "csv.xz", "parquet", "feather", "arrow stream"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(position=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_files_give_rows_or_a_reader_error(name, position, byte, cut, tmp_path):
    options = SAVED[name](tmp_path)
    with open(options["source"], "rb") as file:
        content = bytearray(file.read())
    position %= len(content)
    content[position:] = b"" if cut else bytes([byte]) + content[position + 1 :]
    damaged = tmp_path / f"damaged-{Path(options['source']).name}"
    damaged.write_bytes(content)
    with contextlib.suppress(ReaderError):
        reader = open_table(damaged)
        assert all(tuple(batch.schema.names) == reader.names for batch in reader.batches())


@pytest.mark.parametrize("name", ["csv", "csv.gz", "parquet", "feather"])
def test_files_that_vanish_after_opening(name, tmp_path):
    options = SAVED[name](tmp_path)
    reader = open_table(**options)
    Path(options["source"]).unlink()
    with pytest.raises(ReaderError):
        list(reader.batches())


def test_files_that_are_not_there_or_not_known(tmp_path):
    for name in ("t.data", "t.xlsx", "t.db", "t.duckdb"):
        (tmp_path / name).write_text("")
    (tmp_path / "t.parquet.gz").write_text("")
    for source, words in [
        (tmp_path / "none.csv", "there is no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "t.data", "does not tell the format; name one of csv, .* by --format on the command line"),
        (tmp_path / "t.xlsx", "Excel files and other spreadsheets are not read; save the sheet as CSV or Parquet"),
        (tmp_path / "t.parquet.gz", "decompress it first"),
        (tmp_path / "t.db", "t.db: a database needs a query, .* one of SQLite as sqlite:///.*t.db"),
        (tmp_path / "t.duckdb", "a database needs a query, such as SELECT"),
        (None, "name a table: a file, several by a pattern"),
        ("sqlite://", "a database needs a query, such as SELECT"),
    ]:
        with pytest.raises(ReaderError, match=words):
            open_table(source)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELEC 1", "cannot be run: .*syntax error"),
        ("SELECT * FROM 'none.parquet'", "cannot be run: .*none.parquet"),
        ("CREATE TABLE t (a INT)", "must be one SELECT"),
        ("SELECT 1; SELECT 2", "must be one SELECT"),
        ("", "must be one SELECT"),
        (f"SELECT CAST('{SECRET}' || range AS INT) AS a FROM range(3)", "the database reports a ConversionException"),
    ],
)
def test_faulty_queries_of_files(query, words):
    with pytest.raises(ReaderError, match=f"(?s){words}") as caught:
        list(open_table(query=query).batches())
    assert SECRET not in str(caught.value)


def test_files_that_are_no_databases_of_duckdb(tmp_path):
    """What is wrong with the file is said, not that the query were: it is not even looked at."""
    save_sqlite(tmp_path)
    save_csv(tmp_path)
    sqlite, csv = tmp_path / "t.sqlite", tmp_path / "t.csv"
    (tmp_path / "broken.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    for source, words in [
        (sqlite, f"is a database of SQLite, not of DuckDB; with a query it is named sqlite:///{sqlite}"),
        (csv, "is no database of DuckDB; leave out the query to read it as a file, or have the query name it"),
        (tmp_path / "none.duckdb", "none.duckdb: there is no such file"),
        (tmp_path, "cannot be opened: Is a directory"),
        (tmp_path / "broken.duckdb", "cannot be opened, DuckDB reports a .*; another program may have it open"),
    ]:
        with pytest.raises(ReaderError, match=words):
            open_table(source, "SELECT * FROM t")


def test_faulty_database_queries(tmp_path):
    url = save_sqlite(tmp_path)["source"]
    for query, words in [
        ("SELECT * FROM none", "no table, column or function 'none'"),
        ("SELECT a b c FROM t", "syntax error near 'c'"),
        ("SELEC", "must be one SELECT"),
        ("DELETE FROM t", "must be one SELECT"),
    ]:
        with pytest.raises(ReaderError, match=words):
            open_table(url, query)
    assert sum(batch.num_rows for batch in open_table(url, "SELECT * FROM t").batches()) == 3  # nothing was deleted
    with pytest.raises(ReaderError, match="kind 'nosuch' are not known"):
        open_table("nosuch://host/database", "SELECT 1")
    with pytest.raises(ReaderError, match="URL cannot be understood") as caught:
        open_table(f"postgresql://user:{SECRET}@host:port/database", "SELECT 1")
    assert SECRET not in str(caught.value)


def test_databases_that_mix_types_in_a_column(tmp_path):
    url = save_sqlite(tmp_path)["source"]
    reader = open_table(url, "SELECT 1 AS a UNION ALL SELECT 'x' UNION ALL SELECT NULL")
    assert [batch.to_pydict() for batch in reader.batches()] == [{"a": ["1", "x", None]}]


def test_missing_packages_are_named_with_their_remedy(monkeypatch, tmp_path):
    options = save_csv(tmp_path)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'psycopg\[binary\]'"):
        open_table("postgresql://host/database", "SELECT 1")
    for module in ("pyarrow", "pyarrow.csv", "duckdb", "sqlalchemy"):
        monkeypatch.setitem(sys.modules, module, None)
    for arguments in (options, {"query": "SELECT 1"}, {"source": "sqlite://", "query": "SELECT 1"}):
        with pytest.raises(MissingPackageError, match=r"pip install 'hardzero\[io\]'"):
            open_table(**arguments)


def test_a_format_that_nobody_reads_is_refused_with_the_list(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(ReaderError, match="form must be one of csv, parquet, arrow, libsvm, got 'xlsx'"):
        open_table(tmp_path / "rows.csv", form="xlsx")


def test_no_ending_belongs_to_two_formats():
    assert all(FileFormat.named(suffix.upper()) is form for form in FileFormat for suffix in form.suffixes)
