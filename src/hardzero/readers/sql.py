"""The result of a query: by DuckDB over files or one of its databases, or by SQLAlchemy over a database URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..optional import MissingPackageError, require
from .table import ReaderError, TableReader

_FIRST_ROWS = 1000
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_DRIVER_PACKAGES = {"psycopg": "psycopg[binary]", "MySQLdb": "mysqlclient"}


def open_duckdb(database: str | None, query: str) -> TableReader:
    """Open the result of a SELECT over files, such as ``SELECT * FROM 'x.parquet'``, or over a DuckDB database.

    Privacy
    -------
    Names and types of the result count as public.
    """
    duckdb = require("duckdb")

    @contextmanager
    def relation() -> Iterator[Any]:
        try:
            with duckdb.connect(database or ":memory:", read_only=database is not None) as connection:
                statements = connection.extract_statements(query)
                if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                    raise ReaderError("the query must be one SELECT statement")
                yield connection.sql(query)
        except (duckdb.ProgrammingError, duckdb.IOException) as error:  # about names and files, not about cells
            raise ReaderError(f"the query cannot be run: {str(error).strip()}") from None
        except duckdb.Error as error:
            raise ReaderError(f"the query failed: DuckDB reports a {type(error).__name__}") from None

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with relation() as result:
            reader = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_arrow_reader
            for batch in reader(rows):
                yield batch.select(list(columns))

    def types() -> Mapping[str, Any]:
        with relation() as result:
            schema = result.limit(0).to_arrow_table().schema
        return {field.name: field.type for field in schema}

    with relation() as result:
        names = tuple(result.columns)
    return TableReader("the query's result", names, False, None, types, batches)


def open_database(url: str, query: str) -> TableReader:
    """Open the result of a query to the database that a SQLAlchemy URL names.

    Privacy
    -------
    Names and types of the result count as public; a type that the database does not give is guessed from the first
    1,000 rows.
    """
    sqlalchemy = require("sqlalchemy")
    engine = _engine(url)

    @contextmanager
    def result() -> Iterator[Any]:
        try:
            with engine.connect().execution_options(stream_results=True) as connection:
                yield connection.execute(sqlalchemy.text(query))
        except (sqlalchemy.exc.OperationalError, sqlalchemy.exc.ProgrammingError) as error:  # about names, not cells
            raise ReaderError(f"the query cannot be run: {error.orig}") from None
        except sqlalchemy.exc.SQLAlchemyError as error:
            raise ReaderError(f"the query failed: the database reports a {type(error).__name__}") from None

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with result() as found:
            for part in found.columns(*(names.index(name) for name in columns)).partitions(rows):
                yield _record_batch(part, columns)

    def types() -> Mapping[str, Any]:
        with result() as found:
            return {field.name: field.type for field in _record_batch(found.fetchmany(_FIRST_ROWS), names).schema}

    with result() as found:
        if not found.returns_rows:
            raise ReaderError("the query returns no rows; use a SELECT statement")
        names = tuple(found.keys())
    return TableReader("the query's result", names, False, None, types, batches)


def _engine(url: str) -> Any:
    """Make an engine; messages leave out the URL, which can have a password."""
    sqlalchemy = require("sqlalchemy")
    try:
        parsed = sqlalchemy.make_url(url)
        return sqlalchemy.create_engine(parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername)))
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


def _record_batch(rows: Sequence[Any], names: Sequence[str]) -> Any:
    pa = require("pyarrow")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pa.RecordBatch.from_arrays([_array(list(column)) for column in columns], names=list(names))


def _array(cells: list[Any]) -> Any:
    """Return cells of one type, or as text where a database such as SQLite mixes them."""
    pa = require("pyarrow")
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])
