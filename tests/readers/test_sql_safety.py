"""A query only reads, is one statement, and what databases say of records is not passed on."""

import contextlib
import sqlite3

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.readers import ReaderError, open_table, sql
from hardzero.readers.query import refuse_all_but_select, without_foreign_words
from hardzero.schema.template import schema_template

SECRET = "5ecret"
SCHEMA = """
[target]
name = "y"
classes = ["no", "yes"]
positive = "yes"
[columns.a]
type = "numeric"
lower = 0
upper = 4
"""


@pytest.fixture
def database(tmp_path):
    """A SQLite file with two tables."""
    path = tmp_path / "t.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE people (a REAL, y TEXT); INSERT INTO people VALUES (1, 'no'), (2, 'yes');"
            "CREATE TABLE other (b); INSERT INTO other VALUES (1);"
        )
    return path


def content(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE people",
        "SELECT 1; DROP TABLE people",
        "DELETE FROM people",
        "PRAGMA user_version = 3",
        "ATTACH 'new.sqlite' AS new",
        "VACUUM INTO 'new.sqlite'",
        "WITH x AS (SELECT 1) INSERT INTO other SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM people",
        "SELECT load_extension('x')",
        "-- a comment\nDROP TABLE people",
        "/* SELECT */ DROP TABLE people",
    ],
)
@pytest.mark.parametrize("command", ["fit", "schema init"])
def test_queries_to_sqlite_cannot_write(command, query, database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = content(database)
    (tmp_path / "s.toml").write_text(SCHEMA)
    options = ["--schema", "s.toml", "-o", "m.json"] if command == "fit" else []
    result = CliRunner().invoke(app, [*command.split(), f"sqlite:///{database}", "--query", query, *options])
    assert result.exit_code == 1, result.output
    assert result.output.startswith("error: the query ")
    assert content(database) == before
    assert not (tmp_path / "new.sqlite").exists()
    with pytest.raises(ReaderError):  # and not because the statement was looked at only
        open_without_looking(f"sqlite:///{database}", query)
    assert content(database) == before
    assert not (tmp_path / "new.sqlite").exists()


def open_without_looking(url, query):
    """Leave the decision to the database alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "refuse_all_but_select", lambda query, read_only: None)
        return list(open_table(url, query).batches())


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(ReaderError, match="the database cannot be opened"):
        open_table(f"sqlite:///{tmp_path / 'none.sqlite'}", "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_what_a_query_may_be(database):
    url = f"sqlite:///{database}"
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("ALTER TABLE people ADD COLUMN edit")  # no function, for all its name
    assert open_table(url, "SELECT edit, abs(a) AS a FROM people").names == ("edit", "a")
    for query in (
        "SELECT a FROM people;",
        "  -- people\n/* all */ SELECT a FROM people",
        "WITH x AS (SELECT a FROM people) SELECT a FROM x",
        "VALUES (1), (2)",
        "with recursive x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 2) SELECT a FROM x",
    ):
        assert sum(batch.num_rows for batch in open_table(url, query).batches()) == 2
    text = next(open_table(url, "SELECT ':x 100%' AS a WHERE 'b' LIKE '%b'").batches())
    assert text.to_pydict() == {"a": [":x 100%"]}


def test_views_full_text_and_json_of_sqlite_can_be_read(database):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE VIEW v AS SELECT a + 1 AS a FROM people")
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(note)")
        connection.execute("INSERT INTO notes VALUES ('a cough')")
    for query, cells in (
        ("SELECT a FROM v", ["2", "3"]),
        ("SELECT note FROM notes WHERE notes MATCH 'cough'", ["a cough"]),
        ("SELECT value FROM json_each('[1, 2.5]')", ["1", "2.5"]),
    ):
        (batch,) = open_table(f"sqlite:///{database}", query).batches()
        assert batch.column(0).to_pylist() == cells
    for query in ("UPDATE sqlite_master SET name = 'x'", "PRAGMA writable_schema = ON", "PRAGMA query_only = OFF"):
        before = content(database)
        with contextlib.suppress(ReaderError):
            open_without_looking(f"sqlite:///{database}", query)
        assert content(database) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * INTO new FROM people",
        "WITH gone AS (DELETE FROM people RETURNING a) SELECT * FROM gone",
        "SELECT a FROM people FOR UPDATE",
    ],
)
def test_words_that_write_are_refused_where_the_database_cannot_be_told(query):
    refuse_all_but_select(query, read_only=True)
    with pytest.raises(ReaderError, match="cannot be told to only read"):
        refuse_all_but_select(query, read_only=False)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM people INTO OUTFILE '/tmp/x'",
        "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
        "SELECT '\\'; DROP TABLE people; --'",
        "SELECT 1;;",
        "",
    ],
)
def test_what_no_database_may_be_asked(query):
    with pytest.raises(ReaderError, match="must be one SELECT"):
        refuse_all_but_select(query, read_only=True)


def test_a_query_is_run_once_for_a_template_and_types_are_not_guessed(database, monkeypatch):
    runs = []
    connected = sql._connected
    monkeypatch.setattr(sql, "_connected", lambda engine: runs.append(1) or connected(engine))
    template = schema_template(open_table(f"sqlite:///{database}", "SELECT * FROM people"), "y")
    assert len(runs) == 1
    assert '[columns.a]\ntype = ""' in template  # SQLite declares no type for a result
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE people SET a = 'text'")
    assert schema_template(open_table(f"sqlite:///{database}", "SELECT * FROM people"), "y") == template


def test_cells_that_sqlite_cannot_decode_are_not_quoted(database):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"UPDATE people SET y = CAST(x'{SECRET.encode().hex()}ff' AS TEXT)")
    (batch,) = open_table(f"sqlite:///{database}", "SELECT y FROM people").batches()
    assert batch.to_pydict() == {"y": [f"{SECRET}\ufffd"] * 2}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"Original Line: 1,{SECRET}", False),
        (f"no such table: {SECRET}", False),
        (f'syntax error at or near "{SECRET}"', False),
        (f'Could not decode to UTF-8 column y with text "{SECRET}"', False),
        ("no such table: people", True),
        ('relation "people" does not exist', True),
        ("Table 'main.people' doesn't exist", True),
    ],
)
def test_of_foreign_messages_only_names_in_the_query_are_shown(message, shown):
    with pytest.raises(ReaderError) as caught, without_foreign_words("SELECT * FROM people"):
        raise RuntimeError(message)
    assert SECRET not in str(caught.value)
    assert ("'people'" in str(caught.value)) == shown
    assert caught.value.__suppress_context__


# --- DuckDB -------------------------------------------------------------------------------------------------------


@pytest.fixture
def duck(tmp_path, monkeypatch):
    """A DuckDB database with a table, and a view and a macro that read CSV; and files beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(f"a,b\n1,x\n2,{SECRET}\n")
    (tmp_path / "t.json").write_text('{"a": 1, "b": "x"}\n')
    pyarrow.parquet.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), "t.parquet")
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE n (a INT, b TEXT); INSERT INTO n VALUES (1, 'x'), (2, 'y')")
        connection.execute("CREATE VIEW v AS SELECT * FROM 't.csv'; CREATE VIEW w AS SELECT * FROM v")
        connection.execute("CREATE MACRO m() AS TABLE SELECT * FROM 't.csv'; CREATE SEQUENCE s")
    return tmp_path


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM 't.csv'",
        "SELECT * FROM read_csv('t.csv', all_varchar = true)",  # the delimiter would still be guessed
        "SELECT * FROM read_json('t.json')",
        "SELECT * FROM w",
        "SELECT * FROM m()",
        "FROM 't.csv'",
        "SELECT * FROM n UNION ALL SELECT * FROM 't.csv' LIMIT 0",
        "SELECT * FROM n WHERE a IN (SELECT a FROM v)",
        "SELECT a, (SELECT max(b) FROM v) AS b FROM n",
        "WITH x AS (SELECT * FROM v) SELECT n.a, x.b FROM n JOIN x USING (a)",
        "SELECT * FROM query('SELECT * FROM v')",
    ],
)
def test_duckdb_does_not_guess_types_from_records(duck, query):
    with pytest.raises(ReaderError, match="pass the CSV file itself, or load it") as caught:
        open_table("t.duckdb", query)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM n",
        "SELECT * FROM 't.parquet'",
        "SELECT * FROM read_parquet('t.parquet') ORDER BY a LIMIT 2",
        "FROM n",
        "WITH x AS (SELECT DISTINCT a FROM n) SELECT n.a, n.b FROM n JOIN x USING (a) WHERE n.a > 0",
        "SELECT p.a, n.b FROM n, 't.parquet' p WHERE p.a = n.a AND EXISTS (SELECT 1 FROM n WHERE n.a = p.a)",
        "SELECT a, max(b) AS b FROM n GROUP BY a",
        "VALUES (1, 'x'), (2, 'y')",
        "SELECT range AS a, 'x' AS b FROM range(2)",
        "SELECT a, b FROM n LEFT JOIN (SELECT a AS c FROM 't.parquet') ON a < c WHERE c = 2 OR a = 2",
        "SELECT unnest([1, 2]) AS a, 'x' AS b -- a comment",
    ],
)
def test_duckdb_reads_what_has_declared_types(duck, query):
    assert sum(batch.num_rows for batch in open_table("t.duckdb", query).batches()) == 2


@pytest.mark.parametrize(
    "query",
    [
        "COPY n TO 'new.csv'",
        "WITH x AS (COPY n TO 'new.csv') SELECT * FROM x",
        "WITH x AS (COPY (SELECT 1 AS a) TO 'new.csv') SELECT 1 AS a",
        "WITH x AS (INSERT INTO n VALUES (3, 'z') RETURNING a) SELECT * FROM x",
        "SELECT nextval('s') AS a",
        "ATTACH 'new.duckdb'",
        "INSTALL json",
        "SELECT 1; DROP TABLE n",
        "PIVOT n ON b USING sum(a)",
        "SELECT * FROM checkpoint('t')",
        "SELECT * FROM read_text('t.csv')",
        "SELECT * FROM glob('*')",
    ],
)
@pytest.mark.parametrize("source", ["t.duckdb", None])
def test_duckdb_only_reads(duck, source, query):
    files, before = sorted(duck.iterdir()), (duck / "t.duckdb").read_bytes()
    with pytest.raises(ReaderError):
        list(open_table(source, query).batches())
    assert sorted(duck.iterdir()) == files
    assert (duck / "t.duckdb").read_bytes() == before


def test_duckdb_does_not_guess_types_from_names_of_folders(duck):
    for place in ("2", "3"):
        (duck / "h" / f"place={place}").mkdir(parents=True)
        pyarrow.parquet.write_table(pa.table({"a": [1]}), f"h/place={place}/t.parquet")
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE VIEW folders AS SELECT * FROM 'h/*/*.parquet'")
        connection.execute("CREATE MACRO again() AS TABLE SELECT * FROM folders")
    assert open_table("t.duckdb", "SELECT * FROM n").names == ("a", "b")
    for query in (
        "SELECT * FROM 'h/*/*.parquet'",
        "SELECT * FROM read_parquet('h/**')",
        "SELECT * FROM folders",
        "SELECT * FROM again()",
    ):
        with pytest.raises(ReaderError, match="use read_parquet"):
            open_table("t.duckdb", query)
    for declared in ("hive_partitioning = false", "hive_types_autocast = false", "hive_types = {'place': VARCHAR}"):
        assert len(list(open_table(query=f"SELECT * FROM read_parquet('h/*/*.parquet', {declared})").batches())) > 0
    assert open_table(query="SELECT * FROM '*.parquet'").names == ("a", "b")


def test_duckdb_does_not_see_variables(duck):
    frame = pa.table({"a": [1]})
    with pytest.raises(ReaderError, match=r"no table, column or function 'frame'|not known to only read"):
        open_table(query="SELECT * FROM frame")
    assert frame.num_rows == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nobody", "there is no table, column or function 'nobody'"),
        ("SELECT z FROM n", "there is no table, column or function 'z'"),
        ("SELECT n.z FROM n", "there is no table, column or function 'z'"),
        ("SELECT a + FROM n", "syntax error near 'FROM'"),
        ("SELECT * FROM 'none.parquet'", "there is no file 'none.parquet'"),
        ("SELECT b::INT FROM n", "the database reports a ConversionException"),
        ("SELECT error(b) FROM n", "the database reports a InvalidInputException"),
    ],
)
def test_what_is_said_of_queries_that_fail(duck, query, said):
    with pytest.raises(ReaderError) as caught:
        list(open_table("t.duckdb", query).batches())
    assert str(caught.value) == f"the query cannot be run: {said}"
