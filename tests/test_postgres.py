"""A real PostgreSQL server, started for these tests: a table of people read through a database URL."""

import glob
import os
import shutil
import socket
import subprocess

import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.model_file import FittedModel

from .test_cli_model import SCHEMA, write_people

pytest.importorskip("psycopg", reason="psycopg is not installed")


def find(program):
    places = [*glob.glob("/usr/lib/postgresql/*/bin"), os.environ["PATH"]]
    return shutil.which(program, path=os.pathsep.join(places))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a URL; the server runs as an ordinary user, because it refuses to run as root."""
    if not (find("initdb") and find("pg_ctl")):
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    folder = tmp_path_factory.mktemp("postgres")
    as_user = []
    if os.geteuid() == 0:
        if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
            pytest.skip("there is no user postgres to run the server as")
        shutil.chown(folder, "postgres")
        for parent in folder.parents[:3]:
            parent.chmod(0o755)
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    initdb = [*as_user, find("initdb"), "-D", data, "-A", "trust", "-U", "hardzero"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    start = [*as_user, find("pg_ctl"), "-D", data, "-w", "-l", folder / "log", "-o", options, "start"]
    subprocess.run(start, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"postgresql+psycopg://hardzero@127.0.0.1:{port}/postgres"
    finally:
        stop = [*as_user, find("pg_ctl"), "-D", data, "-m", "immediate", "stop"]
        subprocess.run(stop, check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def people(server, tmp_path_factory):
    """A table with types of its own, filled from the same rows as a CSV file."""
    import psycopg

    folder = tmp_path_factory.mktemp("people")
    write_people(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    with psycopg.connect(server.replace("+psycopg", "")) as connection, connection.cursor() as cursor:
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
    [("SELECT * FROM nobody", "nobody"), ("SELECT age, town FROM people", "'ill'"), ("SELEKT", "SELEKT")],
)
def test_a_bad_query_gives_a_message(server, people, query, said):
    result = fit(server, "--query", query, "--schema", people / "people.toml", "-o", people / "bad.json")
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert said in result.output
    assert not (people / "bad.json").exists()


def test_a_server_that_is_not_there(people):
    result = fit(
        "postgresql+psycopg://nobody@127.0.0.1:1/x",
        *("--query", "SELECT 1", "--schema", people / "people.toml", "-o", people / "bad.json"),
    )
    assert result.exit_code == 1
    assert "error: " in result.output
