"""A place for a ledger in each of the two stores."""

import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture
def database(postgres):
    """The URL of an empty database of its own."""
    psycopg = pytest.importorskip("psycopg")
    name = f"ledger_{next(_numbers)}"
    with psycopg.connect(postgres.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.replace("+psycopg", "").rpartition("/")[0] + f"/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a ledger can be made."""
    pytest.importorskip("sqlalchemy")
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("database")
