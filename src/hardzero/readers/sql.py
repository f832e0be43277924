"""The result of a query by SQLAlchemy over a database URL. Databases are only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..checks import MissingPackageError, require
from ..schema.cells import text_array
from .query import refuse_all_but_select, without_foreign_words
from .table import ReaderError, TableReader

_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_DRIVER_PACKAGES = {"psycopg": "psycopg[binary]", "MySQLdb": "mysqlclient"}
_ONLY_READ = {"postgresql", "sqlite", "mysql", "mariadb"}
"""Databases that can be told to refuse writing."""

_POSTGRES_TYPES: Mapping[int, str] = {
    **{16: "bool", 17: "binary", 20: "int64", 21: "int16", 23: "int32", 700: "float32", 701: "float64"},
    **{1700: "float64", 1082: "date32", 1083: "time64[us]", 1114: "timestamp[us]", 1184: "timestamp[us]"},
}
_MYSQL_TYPES: Mapping[int, str] = {
    **{0: "float64", 1: "int8", 2: "int16", 3: "int32", 4: "float32", 5: "float64", 8: "int64", 9: "int32"},
    **{7: "timestamp[us]", 10: "date32", 12: "timestamp[us]", 13: "int16", 246: "float64"},
}
_DECLARED_TYPES = {"postgresql": _POSTGRES_TYPES, "mysql": _MYSQL_TYPES, "mariadb": _MYSQL_TYPES}
"""Arrow types by the codes that a result has for its columns; all others are text."""

_SQLITE_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_SQLITE_SIDE_EFFECTS = {"load_extension", "writefile", "edit", "fts3_tokenizer"}


def open_database(url: str, query: str) -> TableReader:
    """Open the result of a query to the database that a SQLAlchemy URL names.

    Cells come as text, each by itself: no type is guessed from several of them. The query is run once here, for
    names and types, and once more each time rows are asked for.

    Privacy
    -------
    Names of the result, and types that the database declares, count as public.
    """
    engine = _engine(url)
    dialect = engine.dialect.name
    refuse_all_but_select(query, read_only=dialect in _ONLY_READ)

    @contextmanager
    def result() -> Iterator[Any]:
        with _connected(engine) as connection, without_foreign_words(query):
            _only_read(dialect, connection)
            # Without parameters, percent signs and colons are the query's own.
            options = {"stream_results": True, "no_parameters": True}
            yield connection.exec_driver_sql(query, execution_options=options)

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with result() as found:
            for part in found.columns(*(names.index(name) for name in columns)).partitions(rows):
                yield _record_batch(part, columns, types)

    with result() as found:
        if not found.returns_rows:
            raise ReaderError("the query returns no rows; use a SELECT statement")
        names = tuple(found.keys())
        codes = [column[1] for column in found.cursor.description]
    pa = require("pyarrow")
    declared = _DECLARED_TYPES.get(dialect)
    types = {
        name: pa.type_for_alias((declared or {}).get(code, "string")) for name, code in zip(names, codes, strict=True)
    }
    return TableReader("the query's result", names, declared is None, None, lambda: types, batches)


def _engine(url: str) -> Any:
    """Make an engine; messages leave out the URL, which can have a password."""
    sqlalchemy = require("sqlalchemy")
    try:
        parsed = sqlalchemy.make_url(url)
        parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
        # Connections are not used again: each is given its limits once.
        return sqlalchemy.create_engine(_without_creating(parsed), poolclass=sqlalchemy.pool.NullPool)
    except ModuleNotFoundError as error:
        package = _DRIVER_PACKAGES.get(error.name or "", error.name or "of the driver")
        raise MissingPackageError(
            f"this kind of database needs the package {error.name}, which is not installed: pip install '{package}'",
            name=error.name,
        ) from None
    except sqlalchemy.exc.NoSuchModuleError:
        raise ReaderError(f"databases of the kind {url.partition(':')[0]!r} are not known to SQLAlchemy") from None
    except (sqlalchemy.exc.SQLAlchemyError, ValueError):
        raise ReaderError(
            "the database URL cannot be understood; it looks like dialect://user@host/database"
        ) from None


def _without_creating(url: Any) -> Any:
    """Open files of SQLite for reading only: SQLite would make a file that is not there."""
    file = url.database
    if url.get_backend_name() != "sqlite" or not file or file == ":memory:" or file.startswith("file:"):
        return url
    location = f"file:{quote(str(Path(file).absolute()))}"
    return url.set(database=location, query={**url.query, "mode": "ro", "uri": "true"})


@contextmanager
def _connected(engine: Any) -> Iterator[Any]:
    """Connect, and roll back in the end, whatever happened."""
    try:
        connection = engine.connect()
    except Exception as error:  # which can show the URL, and a password with it
        cause = getattr(error, "orig", None) or error
        raise ReaderError(
            f"the database cannot be opened ({type(cause).__name__}); check its address, name, user and password"
        ) from None
    with connection:
        yield connection


def _only_read(dialect: str, connection: Any) -> None:
    """Have the database itself refuse to write."""
    if dialect == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    elif dialect in ("mysql", "mariadb"):
        connection.exec_driver_sql("START TRANSACTION READ ONLY")
    elif dialect == "sqlite":
        connection.exec_driver_sql("PRAGMA query_only = ON")
        raw = connection.connection.dbapi_connection
        raw.set_authorizer(_sqlite_may)
        raw.text_factory = partial(str, encoding="utf-8", errors="replace")  # SQLite's own error would quote the cell


def _sqlite_may(action: int, first: str | None, second: str | None, *others: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        harmless = (second or "").lower() not in _SQLITE_SIDE_EFFECTS
    else:
        # Full-text tables ask for a version, and declare their columns; the schema itself can never be updated so.
        declared = (action, first) in (
            (sqlite3.SQLITE_PRAGMA, "data_version"),
            (sqlite3.SQLITE_UPDATE, "sqlite_master"),
        )
        harmless = action in _SQLITE_READS or declared
    return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY


def _record_batch(rows: Sequence[Any], names: Sequence[str], types: Mapping[str, Any]) -> Any:
    pa = require("pyarrow")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    arrays = [_text_array(name, column, types[name]) for name, column in zip(names, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _text_array(name: str, cells: Sequence[Any], kind: Any) -> Any:
    if kind == require("pyarrow").float32():  # drivers give the few digits that tell single precision apart
        cells = [None if cell is None else np.float32(cell) for cell in cells]
    return text_array(name, cells)
