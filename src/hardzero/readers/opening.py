"""One door to all tables: by the name of a file, by its stated format, or by a query."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from ..schema.text_files import COMPRESSED
from .columnar import open_arrow, open_parquet
from .delimited import open_csv
from .duckdb_query import open_duckdb
from .formats import FileFormat
from .libsvm import open_libsvm
from .several import matching_files, one_after_the_other
from .sql import open_database
from .table import ReaderError, TableReader

_URL = re.compile(r"[A-Za-z][\w+.-]+://")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_DATABASES = (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb")
_DATABASE_FILE = re.compile(r"(?:sqlite|duckdb)(?:\+\w+)?:///(?:file:)?([^?]+)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def open_table(
    source: str | os.PathLike[str] | None = None,
    query: str | None = None,
    *,
    form: FileFormat | str | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    n_features: int | None = None,
) -> TableReader:
    """Open a table for reading in batches.

    Parameters
    ----------
    source : path or str, optional
        A CSV, Parquet, Arrow (Feather) or LIBSVM file; CSV and LIBSVM may be compressed (.gz, .bz2, .xz). A
        pattern such as ``folder/*.parquet`` stands for the rows of several files, in the order of their names. With a
        query: a database URL such as ``postgresql://user@host/database``, a DuckDB database file, or nothing for
        a query that names files itself.
    query : str, optional
        A SELECT statement.
    form : FileFormat or {"csv", "parquet", "arrow", "libsvm"}, optional
        The format, where the name of the file does not tell.
    delimiter : str, optional
        What separates cells of a CSV file: a comma if not given, or a tab in files named ``.tsv``.
    names : sequence of str, optional
        Names of the columns of a CSV file without a header line.
    n_features : int, optional
        Number of features of a LIBSVM file, which must be known without looking at it; `declared_features` of a
        schema's names gives it.

    Returns
    -------
    TableReader
        The opened table.

    Raises
    ------
    ReaderError
        The table cannot be read; the message shows no cell.
    MissingPackageError
        A package is not installed; the message says how to get it.

    Privacy
    -------
    Sensitive, but for names and types of columns, which count as public.
    """
    location = None if source is None else os.fspath(source)
    is_url = location is not None and _URL.match(location)
    if query is not None:
        if names is not None:
            raise ReaderError("names are for CSV files without a header line; a query names its columns itself")
        return open_database(location, query) if location and is_url else open_duckdb(location, query)
    if location is None:
        raise ReaderError("name a table: a file, several by a pattern such as 'folder/*.parquet', or a query")
    if is_url:
        raise ReaderError("a database needs a query, such as SELECT * FROM people")
    if (files := matching_files(location)) is not None:
        given = {"form": form, "delimiter": delimiter, "names": names, "n_features": n_features}
        return one_after_the_other(location, [open_table(file, **given) for file in files])  # type: ignore[arg-type]
    path = Path(location)
    _refuse_what_is_no_file(path)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    match _format(path, plain, form):
        case FileFormat.CSV:
            usual = "\t" if plain.suffix.lower() == ".tsv" else ","
            return open_csv(path, usual if delimiter is None else delimiter, names)
        case form if names is not None:
            raise ReaderError(f"{path}: names are for CSV files without a header line; {form} files are read without")
        case FileFormat.LIBSVM:
            return open_libsvm(path, n_features)
        case FileFormat.PARQUET:
            return open_parquet(path)
        case FileFormat.ARROW:
            return open_arrow(path)


def files_behind(source: str | None, query: str | None = None) -> list[Path]:
    """Return the files that a table is read from, as far as source and query name them.

    Of a query, those count that are quoted in it, also by a pattern.

    Raises
    ------
    ReaderError
        The source is a pattern, and no file matches.

    Privacy
    -------
    Data-independent: names of files count as public.
    """
    location = source or ""
    if not _URL.match(location):
        named = [location] if query is not None else matching_files(location) or [location]
    else:
        named = [found[1]] if (found := _DATABASE_FILE.match(location)) else []
    quoted = (first or second for first, second in _QUOTED.findall(query or ""))
    return [Path(file) for file in [*named, *(file for text in quoted for file in _files_named(text))] if file]


def _files_named(text: str) -> list[str]:
    """Return what a text stands for if it is a name or a pattern of files; no name is without a dot or a folder."""
    return glob(text, recursive=True) if "." in text or "/" in text else []


def _format(path: Path, plain: Path, form: FileFormat | str | None) -> FileFormat:
    """Return the stated format, or the one that the name without an ending of compression tells."""
    kind = FileFormat.named(plain.suffix) if form is None else _parsed(form)
    if kind is None:
        if plain.suffix.lower() in _SPREADSHEETS:
            raise ReaderError(
                f"{path}: Excel files and other spreadsheets are not read; save the sheet as CSV or Parquet"
            )
        if plain.suffix.lower() in _DATABASES:
            raise ReaderError(
                f"{path}: a database needs a query, such as SELECT * FROM people (--query on the command line); with "
                f"it, a database of DuckDB is named by its file, one of SQLite as sqlite:///{path}"
            )
        raise ReaderError(
            f"{path}: the name does not tell the format; name one of {', '.join(FileFormat)}, by --format on the "
            "command line, by form=… in Python"
        )
    if plain != path and not kind.may_be_compressed:
        raise ReaderError(f"{path} is compressed as a whole, which {kind} files are not; decompress it first")
    return kind


def _parsed(form: FileFormat | str) -> FileFormat:
    for known in FileFormat:
        if form == known:
            return known
    raise ReaderError(f"form must be one of {', '.join(FileFormat)}, got {form!r}")


def _refuse_what_is_no_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise ReaderError(
                f"{path} is a folder; name a file in it, or files by a pattern such as {path}/*.parquet"
            )
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise ReaderError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ReaderError(f"{path} cannot be opened: {error.strerror}") from None
