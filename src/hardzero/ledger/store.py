"""Entries in a database: SQLite in one file, or PostgreSQL. Whoever appends holds the data set's lock meanwhile."""

from __future__ import annotations

import abc
import atexit
import getpass
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from ..checks import InputError, require
from .address import BUSY_SECONDS, engine_for, is_file
from .chain import Entry, hash_of


class LedgerError(RuntimeError):
    """A ledger cannot be used: it is not there, was changed, or does not allow what was asked for."""


_ENGINES: dict[tuple[int, str, tuple[int, int] | None], Any] = {}
"""One for each process, address and file: a forked process must not use its parent's connections, and a file that was
put in the place of another has connections of its own."""

_SQLITE_TABLES = (
    """CREATE TABLE IF NOT EXISTS hardzero_entries (
        dataset TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, closes INTEGER,
        PRIMARY KEY (dataset, number), UNIQUE (dataset, closes))""",
    """CREATE TABLE IF NOT EXISTS hardzero_heads (
        dataset TEXT PRIMARY KEY, number INTEGER NOT NULL, hash TEXT NOT NULL)""",
    """CREATE TRIGGER IF NOT EXISTS hardzero_no_update BEFORE UPDATE ON hardzero_entries
        BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
    """CREATE TRIGGER IF NOT EXISTS hardzero_no_delete BEFORE DELETE ON hardzero_entries
        BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END""",
)
_SCHEMA = "hardzero_ledger."
_LAST = """SELECT e.number, e.body, e.hash, e.closes, h.number, h.hash
    FROM {0}heads h LEFT JOIN {0}entries e ON e.dataset = h.dataset AND e.number = h.number
    WHERE h.dataset = :dataset"""
_PAUSE = 0.01
"""Seconds between two looks at a file that another one is setting up."""
_NOT_THERE = "there is no ledger at this address; create one with `hardzero ledger init`, or with Ledger(…, cap=…)"


class Store:
    """One ledger's database.

    Privacy
    -------
    Data-independent: entries hold plans, and never anything about a record but that a fit failed.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._prefix = "hardzero_" if is_file(address) else _SCHEMA

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Read a state of the ledger that does not change meanwhile."""
        with self._connected() as connection:
            connection.exec_driver_sql("BEGIN" if is_file(self.address) else "SET TRANSACTION READ ONLY")
            yield Reader(connection, self._prefix)
            connection.exec_driver_sql("ROLLBACK") if is_file(self.address) else connection.rollback()

    @contextmanager
    def appending(self, dataset: str, *, create: bool = False, durable: bool = True) -> Iterator[Writer]:
        """Hold the lock of a data set: what is read is what the next entry follows. All or nothing is written.

        What is not durable may be lost if the power fails, and only then: how a fit ended, never that it was charged.
        """
        with self._connected(create=create) as connection:
            writer = (_SQLiteWriter if is_file(self.address) else _PostgresWriter)(connection, self._prefix)
            writer.begin(dataset, create=create, durable=durable)
            try:
                yield writer
            except BaseException:
                writer.rollback()
                raise
            writer.commit()

    @contextmanager
    def _connected(self, *, create: bool = False) -> Iterator[Any]:
        errors = require("sqlalchemy.exc", "ledger")
        try:
            if is_file(self.address) and not Path(self.address).is_file():
                if not create:
                    raise LedgerError(_NOT_THERE)
                Path(self.address).touch()
            with self._engine().connect() as connection:
                yield connection
        except errors.SQLAlchemyError as error:  # which may show the address and what was written
            raise LedgerError(_in_words(getattr(error, "orig", None) or error)) from None
        except OSError as error:
            raise LedgerError(f"the ledger's file cannot be opened: {error.strerror}") from None

    def _engine(self) -> Any:
        key = os.getpid(), self.address, _identity(self.address)
        if key not in _ENGINES:
            _close(self.address)  # those of a file that is there no more
            _ENGINES[key] = engine_for(self.address)
        return _ENGINES[key]


class Reader:
    """Reads entries inside one transaction."""

    def __init__(self, connection: Any, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix

    def _rows(self, statement: str, **parameters: Any) -> Any:
        text = require("sqlalchemy", "ledger").text
        return self._connection.execute(text(statement.format(self._prefix)), parameters)

    def entries(self, dataset: str) -> list[Entry]:
        """Return all entries of a data set in their order."""
        rows = self._rows(
            "SELECT number, body, hash, closes FROM {0}entries WHERE dataset = :dataset ORDER BY number",
            dataset=dataset,
        )
        return [Entry(dataset, *row) for row in rows]

    def head(self, dataset: str) -> tuple[int, str] | None:
        """Return the number and hash that are remembered as the last, if the data set is known."""
        row = self._rows("SELECT number, hash FROM {0}heads WHERE dataset = :dataset", dataset=dataset).first()
        return None if row is None else (row[0], row[1])

    def last(self, dataset: str) -> Entry | None:
        """Return the last entry, if the data set is known; what was changed since it was written is refused."""
        row = self._rows(_LAST, dataset=dataset).first()
        if row is None:
            return None
        number, body, hashed, closes, *head = row
        if (number, hashed) != tuple(head) or hash_of(body) != hashed:
            raise LedgerError(
                f"the ledger's last entry for {dataset!r} was changed or removed; nothing is spent until `hardzero "
                "ledger verify` has shown what happened"
            )
        return Entry(dataset, number, body, hashed, closes)


class Writer(Reader, abc.ABC):
    """Appends entries inside one transaction."""

    @abc.abstractmethod
    def begin(self, dataset: str, *, create: bool, durable: bool) -> None:
        """Take the lock, and make the tables if that is asked for."""

    @abc.abstractmethod
    def append(self, entry: Entry) -> None:
        """Write the next entry."""

    @abc.abstractmethod
    def user(self) -> str:
        """Return who writes."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Make everything last."""

    @abc.abstractmethod
    def rollback(self) -> None:
        """Undo everything."""


class _SQLiteWriter(Writer):
    def begin(self, dataset: str, *, create: bool, durable: bool) -> None:
        if create:
            self._keep_log()
        self._connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._connection.exec_driver_sql("BEGIN IMMEDIATE")
        if create:
            for statement in _SQLITE_TABLES:
                self._connection.exec_driver_sql(statement)

    def _keep_log(self) -> None:
        """Have the file keep a write-ahead log, without which readers and writers would shut each other out.

        Whoever does so while another makes the same ledger is told at once that it is busy: SQLite does not wait
        where it has read already, as it does here to see whether there is anything to be changed.
        """
        busy = require("sqlalchemy.exc", "ledger").OperationalError
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
            except busy as error:
                name = getattr(error.orig, "sqlite_errorname", "")
                if not name.startswith("SQLITE_BUSY") or time.monotonic() > end:
                    raise
            time.sleep(_PAUSE)

    def append(self, entry: Entry) -> None:
        self._rows(
            "INSERT INTO {0}entries (dataset, number, body, hash, closes) "
            "VALUES (:dataset, :number, :body, :hash, :closes)",
            **_columns(entry),
        )
        self._rows(
            "INSERT INTO {0}heads (dataset, number, hash) VALUES (:dataset, :number, :hash) "
            "ON CONFLICT (dataset) DO UPDATE SET number = excluded.number, hash = excluded.hash",
            dataset=entry.dataset,
            number=entry.number,
            hash=entry.hash,
        )

    def user(self) -> str:
        try:
            return getpass.getuser()
        except (KeyError, OSError, ImportError):  # a process without a name
            return str(os.getuid()) if hasattr(os, "getuid") else "unknown"

    def commit(self) -> None:
        self._connection.exec_driver_sql("COMMIT")

    def rollback(self) -> None:
        self._connection.exec_driver_sql("ROLLBACK")


class _PostgresWriter(Writer):
    def begin(self, dataset: str, *, create: bool, durable: bool) -> None:
        # The database's own function compares with the last entry once more, so that nothing rests on this lock.
        if create:
            self._rows("SELECT pg_advisory_xact_lock(hashtextextended('hardzero_ledger', 0))")
            if self._rows("SELECT to_regclass('hardzero_ledger.entries') IS NULL").scalar():
                run_script(self._connection, "postgres.sql")
        self._rows("SELECT pg_advisory_xact_lock(hashtextextended(:dataset, 1))", dataset=dataset)

    def append(self, entry: Entry) -> None:
        self._rows("SELECT {0}append(:dataset, :number, :body, :hash, :closes)", **_columns(entry))

    def user(self) -> str:
        return str(self._rows("SELECT session_user").scalar())

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()


@atexit.register
def _close(address: str | None = None) -> None:
    """Close the connections of this process, to one address or to all."""
    for key in [key for key in _ENGINES if key[0] == os.getpid() and address in (None, key[1])]:
        _ENGINES.pop(key).dispose()


def run_script(connection: Any, name: str) -> None:
    """Set up a database of PostgreSQL: its tables, or its roles."""
    script = resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def grant_roles(address: str) -> None:
    """Make the roles of a ledger in PostgreSQL, and say what each may do.

    Privacy
    -------
    Data-independent.
    """
    refuse_file(address)
    with Store(address)._connected() as connection:
        run_script(connection, "roles.sql")
        connection.commit()


def refuse_file(address: str) -> None:
    """Refuse what only PostgreSQL has.

    Privacy
    -------
    Data-independent.
    """
    if is_file(address):
        raise InputError("roles are those of PostgreSQL; for a file of SQLite use the file's permissions")


def permit(address: str, dataset: str, roles: Sequence[str]) -> None:
    """Let roles of PostgreSQL see a data set, and spend its budget where they are spenders.

    Privacy
    -------
    Data-independent.
    """
    if not roles:
        return
    refuse_file(address)
    statement = "INSERT INTO hardzero_ledger.permissions VALUES (:dataset, :role) ON CONFLICT DO NOTHING"
    with Store(address)._connected() as connection:
        text = require("sqlalchemy", "ledger").text
        connection.execute(text(statement), [{"dataset": dataset, "role": role} for role in roles])
        connection.commit()


def _identity(address: str) -> tuple[int, int] | None:
    if not is_file(address):
        return None
    found = os.stat(address)
    return found.st_dev, found.st_ino


def _columns(entry: Entry) -> dict[str, Any]:
    return {
        "dataset": entry.dataset,
        "number": entry.number,
        "body": entry.body,
        "hash": entry.hash,
        "closes": entry.closes,
    }


def _in_words(cause: BaseException) -> str:
    """Say what a database reports, without quoting it: messages may show addresses, users and values."""
    kind, text = type(cause).__name__, str(cause)
    if "no such table" in text or kind in ("UndefinedTable", "InvalidSchemaName", "UndefinedFunction"):
        return _NOT_THERE
    if "not a database" in text:
        return "the file at the ledger's address is not a ledger"
    if "readonly" in text or kind == "InsufficientPrivilege":
        return "you may not write to this ledger, or not this kind of entry; ask its owner"
    if "locked" in text:
        return "the ledger has been busy for a minute; try again"
    return f"the ledger cannot be used: its database reports {kind}; check its address, user and permissions"
