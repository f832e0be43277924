"""A real PostgreSQL server, started for these tests: a table of people read through a database URL."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.model import FittedModel
from hardzero.readers import ReaderError, open_table
from hardzero.schema.cell_text import text_of
from hardzero.schema.cells import EncodingError

from ..cli.test_model import SCHEMA, write_people
from .test_row_independence import SCHEMA as SCHEMA_OF_RECORDS
from .test_row_independence import codes_alone, codes_read, records, shown_twice

pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def server(postgres):
    return postgres


def connected(server):
    import psycopg

    return psycopg.connect(server.replace("+psycopg", ""))


@pytest.fixture(scope="module")
def people(server, tmp_path_factory):
    """A table with types of its own, filled from the same rows as a CSV file."""
    folder = tmp_path_factory.mktemp("people")
    write_people(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    with connected(server) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE people (id bigint, age numeric(5, 1), town varchar, ill text)")
        with cursor.copy("COPY people FROM STDIN WITH (FORMAT csv, HEADER true)") as copy:
            copy.write((folder / "people.csv").read_bytes())
    return folder


def fit(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments), "--seed", "1"])


def test_a_query_gives_the_same_model_as_the_file(server, people):
    schema = ("--schema", people / "people.toml")
    query = "SELECT age, town, ill FROM people ORDER BY id"
    result = fit(server, "--query", query, *schema, "-o", people / "database.json")
    assert result.exit_code == 0, result.output
    assert fit(people / "people.csv", *schema, "-o", people / "file.json").exit_code == 0
    assert (people / "database.json").read_bytes() == (people / "file.json").read_bytes()
    assert FittedModel.load(people / "database.json").kept.size > 0


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nobody", "nobody"),
        ("SELECT age, town FROM people", "'ill'"),
        ("SELECT 1 SELEKT 2", "near '2'"),
        ("SELEKT", "one SELECT"),
    ],
)
def test_a_bad_query_gives_a_message(server, people, query, said):
    result = fit(server, "--query", query, "--schema", people / "people.toml", "-o", people / "bad.json")
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert said in result.output
    assert not (people / "bad.json").exists()


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE people",
        "SELECT 1; DROP TABLE people",
        "SELECT 1; COMMIT; DROP TABLE people",
        "WITH gone AS (DELETE FROM people RETURNING age) SELECT * FROM gone",
        "SELECT * INTO copied FROM people",
        "SELECT nextval('numbers')",
        "SELECT setval('numbers', 7)",
        "/* /* */ SELECT 1 */ DROP TABLE people",
    ],
)
def test_a_query_cannot_write(server, people, query):
    with connected(server) as connection:
        connection.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
    with pytest.raises(ReaderError):
        list(open_table(server, query).batches())
    with connected(server) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (400,)
        assert connection.execute("SELECT to_regclass('copied')").fetchone() == (None,)
        assert connection.execute("SELECT is_called FROM numbers").fetchone() == (False,)


def test_types_are_those_that_the_database_declares(server, people):
    query = "SELECT id, age, town, id > 3 AS late, DATE '2024-01-31' AS day, 'a'::bytea AS raw FROM people"
    reader = open_table(server, query)
    assert [str(kind) for kind in reader.types.values()] == [
        "int64",
        "double",
        "string",
        "bool",
        "date32[day]",
        "binary",
    ]
    assert not reader.is_text
    assert str(open_table(server, "SELECT NULL::int AS a WHERE false").types["a"]) == "int32"


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("SELECT x FROM (VALUES (1.50), (2), ('NaN'), (NULL)) t(x)", ["1.5", "2", None, None]),
        ("SELECT x FROM (VALUES (true), (false)) t(x)", ["true", "false"]),
        ("SELECT x::float4 FROM (VALUES (0.1)) t(x)", ["0.10000000149011612"]),
        ("SELECT 9007199254740993 AS x", ["9007199254740993"]),
        ("SELECT timestamptz '2024-01-31 12:00:00+02' AS x", ["2024-01-31 10:00:00Z"]),
        ("SELECT '100%' || ':x' AS x WHERE 'a' LIKE '%a%'", ["100%:x"]),
    ],
)
def test_cells_come_as_text_each_by_itself(server, query, texts):
    assert [batch.column("x").to_pylist() for batch in open_table(server, query).batches()] == [texts]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(records, min_size=1, max_size=5), batch=st.integers(1, 6), order=st.permutations(range(5)))
def test_rows_are_read_alike_alone_and_together(server, rows, batch, order):
    expected = [codes_alone(row) for row in rows]
    names = list(shown_twice(rows[0]))
    kinds = {"whole": "bigint", "real": "float8", "money": "numeric", "truth": "bool", "day": "date"}
    columns = ", ".join(f"{name} {kinds.get(name.removesuffix('_again'), 'text')}" for name in names)
    with connected(server) as connection:
        connection.execute(f"DROP TABLE IF EXISTS drawn; CREATE TABLE drawn ({columns})")
        for row in rows:
            cells = shown_twice(row | {"mixed": text_of(row["mixed"])})
            places = ", ".join(["%s"] * len(names))
            connection.execute(f"INSERT INTO drawn VALUES ({places})", [cells[name] for name in names])
    order = [place for place in order if place < len(rows)]
    turned = f"SELECT * FROM drawn ORDER BY array_position(ARRAY{[place + 1 for place in order]}, nth)"
    reader = open_table(
        server, turned.replace("drawn", "(SELECT *, row_number() OVER () AS nth FROM drawn) numbered")
    )
    assert codes_read(reader, SCHEMA_OF_RECORDS, batch) == [expected[place] for place in order]


def test_errors_quote_no_cell(server, people):
    with pytest.raises(ReaderError, match="the database reports a InvalidTextRepresentation") as caught:
        list(open_table(server, "SELECT ill::int FROM people").batches())
    assert "yes" not in str(caught.value)
    assert '"no"' not in str(caught.value)
    with pytest.raises(EncodingError, match="column 'x' has cells of a type that is not known"):
        list(open_table(server, "SELECT ARRAY[1] AS x").batches())


def test_a_server_that_is_not_there(people):
    result = fit(
        "postgresql+psycopg://nobody@127.0.0.1:1/x",
        *("--query", "SELECT 1", "--schema", people / "people.toml", "-o", people / "bad.json"),
    )
    assert result.exit_code == 1
    assert "error: " in result.output
