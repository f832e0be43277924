"""A table in several files: one after the other for a reader here, or part by part for readers elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ..schema.fields import listed
from .columnar import open_parquet, row_group_sizes
from .formats import FileFormat
from .table import ReaderError, TableReader

_ROWS_IN_A_PART = 2**21
"""Rows of a Parquet file that are read together; a part begins and ends with a row group."""


def matching_files(location: str) -> list[str] | None:
    """Return the files that a pattern such as ``folder/*.parquet`` stands for, in order; None if it is no pattern.

    Raises
    ------
    ReaderError
        No file matches.

    Privacy
    -------
    Data-independent: names of files count as public.
    """
    if not has_magic(location) or os.path.exists(location):
        return None
    if not (found := sorted(path for path in glob(location) if Path(path).is_file())):
        raise ReaderError(f"{location}: no file matches this pattern")
    return found


def one_after_the_other(source: str, readers: Sequence[TableReader]) -> TableReader:
    """Return one table of the rows of several, whose columns have the same names and types, in any order.

    Privacy
    -------
    Names and types count as public.
    """
    first = readers[0]
    for reader in readers[1:]:
        if sorted(reader.names) != sorted(first.names):
            raise ReaderError(
                f"{reader.source} has other columns than {first.source}: {_differences(reader.names, first.names)}; "
                "give all files the same columns"
            )
        if not first.is_text and dict(reader.types) != dict(first.types):
            raise ReaderError(f"{reader.source} has other types of columns than {first.source}; convert one of them")

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        for reader in readers:
            yield from reader.batches(rows, columns)

    counts = [reader.n_rows for reader in readers]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    return TableReader(source, first.names, first.is_text, n_rows, lambda: first.types, batches)


def _differences(names: Sequence[str], first: Sequence[str]) -> str:
    """Say which names are missing beside the first, and which are there besides; some of them, if they are many."""
    here, there = set(names), set(first)
    missing, more = [name for name in first if name not in here], [name for name in names if name not in there]
    return " and ".join(f"{what} {listed(words)}" for what, words in (("without", missing), ("with", more)) if words)


@dataclass(frozen=True)
class TablePart:
    """Some rows of a table in files: a file, or some row groups of a Parquet file; small, and sent to who reads them.

    Privacy
    -------
    Data-independent.
    """

    path: str
    options: dict[str, Any]
    groups: tuple[int, ...] | None = None

    def opened(self) -> TableReader:
        """Open these rows for reading.

        Privacy
        -------
        Sensitive, but for names and types of columns.
        """
        from .opening import open_table  # noqa: PLC0415 - which imports this module

        return (
            open_table(self.path, **self.options)
            if self.groups is None
            else open_parquet(Path(self.path), self.groups)
        )


def table_parts(source: str, **options: Any) -> list[TablePart]:
    """Return the parts of a table in one file or in several, to be read where they are needed.

    Parameters
    ----------
    source : str
        A file, or a pattern for several.
    **options
        What `open_table` takes beside the source and a query.

    Privacy
    -------
    Data-independent, but for the sizes of row groups, which decide where parts begin and nothing else.
    """
    files = matching_files(source) or [source]
    return [part for path in files for part in _parts_of(path, options)]


def _parts_of(path: str, options: dict[str, Any]) -> list[TablePart]:
    form = options.get("form") or FileFormat.named(Path(path).suffix)
    if form != FileFormat.PARQUET:
        return [TablePart(path, options)]
    parts, groups, rows = [], [], 0
    for number, size in enumerate(row_group_sizes(Path(path))):
        groups.append(number)
        rows += size
        if rows >= _ROWS_IN_A_PART:
            parts.append(TablePart(path, options, tuple(groups)))
            groups, rows = [], 0
    return [*parts, TablePart(path, options, tuple(groups))] if groups or not parts else parts
