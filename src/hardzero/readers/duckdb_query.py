"""The result of a query by DuckDB, over Parquet files or one of its databases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..checks import require
from .query import ONE_SELECT, without_foreign_words
from .table import ReaderError, TableReader

_READING = frozenset(
    {
        "SEQ_SCAN",
        "TABLE_SCAN",
        "INDEX_SCAN",
        "PARQUET_SCAN",
        "READ_PARQUET",
        "COLUMN_DATA_SCAN",
        "CHUNK_SCAN",
        "EXPRESSION_SCAN",
        "DUMMY_SCAN",
        "EMPTY_RESULT",
        "RANGE",
        "GENERATE_SERIES",
        "UNNEST",
        "PROJECTION",
        "FILTER",
        "LIMIT",
        "LIMIT_PERCENT",
        "STREAMING_LIMIT",
        "TOP_N",
        "ORDER_BY",
        "UNION",
        "HASH_JOIN",
        "NESTED_LOOP_JOIN",
        "BLOCKWISE_NL_JOIN",
        "PIECEWISE_MERGE_JOIN",
        "IE_JOIN",
        "ASOF_JOIN",
        "CROSS_PRODUCT",
        "POSITIONAL_JOIN",
        "DELIM_JOIN",
        "LEFT_DELIM_JOIN",
        "RIGHT_DELIM_JOIN",
        "DELIM_SCAN",
        "CTE",
        "CTE_SCAN",
        "REC_CTE",
        "REC_CTE_SCAN",
        "RECURSIVE_CTE",
        "RECURSIVE_CTE_SCAN",
        "HASH_GROUP_BY",
        "PERFECT_HASH_GROUP_BY",
        "PARTITIONED_AGGREGATE",
        "UNGROUPED_AGGREGATE",
        "SIMPLE_AGGREGATE",
        "WINDOW",
        "STREAMING_WINDOW",
        "STREAMING_SAMPLE",
        "RESERVOIR_SAMPLE",
    }
)
"""Steps of a plan that only read, and only what has declared types. A list of what is allowed, because versions
differ in what else there is: readers that guess types from cells, and writing to files within a SELECT."""

_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"
"""How files of SQLite begin, and what files of DuckDB have from their eighth byte on."""

_FILES = re.compile(r"""['"]([^'"]*[*?\[][^'"]*)['"]""")
_DEFINITIONS = """
    SELECT lower(view_name), sql FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT lower(function_name), macro_definition FROM duckdb_functions()
    WHERE function_type = 'table_macro' AND NOT internal
"""
_PARTITION = r".*[/\\][^/\\=]+=[^/\\]*[/\\].*"
_DECLARED_PARTITIONS = re.compile(r"\bhive_types\b|\bhive_(types_autocast|partitioning)\s*(=>?|:=)\s*(false|0)", re.I)


def open_duckdb(database: str | None, query: str) -> TableReader:
    """Open the result of a SELECT over files, such as ``SELECT * FROM 'x.parquet'``, or over a DuckDB database.

    Privacy
    -------
    Names and types of the result count as public. CSV and JSON are refused: DuckDB would guess their types, and even
    the delimiter, from the records.
    """
    duckdb = require("duckdb")

    @contextmanager
    def relation() -> Iterator[Any]:
        with without_foreign_words(query), _connected(duckdb, database) as connection:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ReaderError(ONE_SELECT)
            _refuse_what_does_not_only_read(connection.cursor(), statements[0].query)
            _refuse_guessed_partitions(connection.cursor(), query)
            yield connection.sql(query)

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with relation() as result:
            reader = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_arrow_reader
            for batch in reader(rows):
                yield batch.select(list(columns))

    with relation() as result:
        names = tuple(result.columns)
        empty = result.limit(0)
        schema = (empty.to_arrow_table if hasattr(empty, "to_arrow_table") else empty.arrow)().schema

    def types() -> Mapping[str, Any]:
        return {field.name: field.type for field in schema}

    return TableReader("the query's result", names, False, None, types, batches)


@contextmanager
def _connected(duckdb: Any, database: str | None) -> Iterator[Any]:
    try:
        connection = duckdb.connect(database or ":memory:", read_only=database is not None)
    except duckdb.Error as error:
        raise ReaderError(_why_closed(database or "", error)) from None
    with connection:
        yield connection


def _why_closed(database: str, error: Exception) -> str:
    """Say why a file cannot be opened as a database, by its first bytes, which no record changes."""
    try:
        with open(database, "rb") as file:
            start = file.read(len(_SQLITE))
    except OSError as reason:
        missing = isinstance(reason, FileNotFoundError)
        return f"{database}: there is no such file" if missing else f"{database} cannot be opened: {reason.strerror}"
    if start == _SQLITE:
        return f"{database} is a database of SQLite, not of DuckDB; with a query it is named sqlite:///{database}"
    if start[8:12] != _DUCKDB:
        return (
            f"{database} is no database of DuckDB; leave out the query to read it as a file, or have the query name "
            f"it: SELECT * FROM '{database}' (Parquet only)"
        )
    return (
        f"{database} cannot be opened, DuckDB reports a {type(error).__name__}; another program may have it open, or "
        "a newer DuckDB may have written it"
    )


def _refuse_what_does_not_only_read(planner: Any, query: str) -> None:
    """Look at the plan, in which views and macros are resolved; nothing is run for that."""
    planner.execute("PRAGMA disable_optimizer")  # which would leave out what gives no rows, but has a type
    ((_, plan),) = planner.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()
    for step in _steps(json.loads(plan)):
        if "CSV" in step or "JSON" in step:
            raise ReaderError(
                "the query reads CSV or JSON, and DuckDB would guess types from the records: pass the CSV file "
                "itself, or load it into a DuckDB table with declared types first"
            )
        if step not in _READING:
            raise ReaderError(
                f"the query needs {step}, which is not known to only read records with declared types; query Parquet "
                "files or tables of a DuckDB database"
            )


def _refuse_guessed_partitions(connection: Any, query: str) -> None:
    """Refuse folders named column=value: DuckDB would guess a column's type from all the values together."""
    texts, known = [query], connection.execute(_DEFINITIONS).fetchall()
    for text in texts:  # which grows by the views and macros that are used
        texts += [definition for name, definition in known if name in text.lower() and definition not in texts]
        if _DECLARED_PARTITIONS.search(text):
            continue
        for pattern in _FILES.findall(text):
            found = connection.execute("SELECT file FROM glob(?) WHERE file SIMILAR TO ?", [pattern, _PARTITION])
            if found.fetchall():
                raise ReaderError(
                    "the query reads folders named like column=value, and DuckDB would guess the column's type from "
                    "them: use read_parquet(…, hive_partitioning = false), or declare it with hive_types"
                )


def _steps(nodes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for node in nodes:
        yield node["name"].strip()
        yield from _steps(node.get("children", ()))
