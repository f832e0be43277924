"""What a query may be, and what may be said of one that fails: nothing that the database said about a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..schema.cells import EncodingError
from .table import ReaderError

ONE_SELECT = "the query must be one SELECT statement; a semicolon may stand at its end only"

_START = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values)\b", re.IGNORECASE | re.DOTALL)
_NEVER = re.compile(r";|/\*M?!|\binto\s+(?:outfile|dumpfile)\b", re.IGNORECASE)
"""A second statement, comments that MySQL executes, and results that it writes to files; even within quotes, because
databases differ in where quotes end."""
_WRITING = re.compile(
    r"\b(?:insert|update|delete|merge|drop|alter|create|truncate|into|exec|execute|call)\b", re.IGNORECASE
)
_REASONS = (
    (re.compile(r"syntax error at or near \"([^\"]+)\"|near \"([^\"]+)\": syntax error"), "syntax error near {!r}"),
    (re.compile(r"No files found that match the pattern \"([^\"]+)\""), "there is no file {!r}"),
    (
        re.compile(
            r"no such (?:table|column|function): (\S+)"
            r"|with name ([^\s\"]+) does not exist"
            r"|Referenced column \"([^\"]+)\" not found"
            r"|does not have a column named \"([^\"]+)\""
            r"|(?:relation|column|schema) \"?([^\s\"]+)\"? does not exist"
            r"|Table '(?:[^'.]+\.)?([^']+)' doesn't exist"
            r"|Unknown column '([^']+)'"
        ),
        "there is no table, column or function {!r}",
    ),
)


def refuse_all_but_select(query: str, *, read_only: bool) -> None:
    """Refuse what is not a single SELECT, and words that write where the database cannot be told to only read.

    Privacy
    -------
    Data-independent.
    """
    body = query.rstrip().removesuffix(";")
    if _NEVER.search(body) or not _START.match(body):
        raise ReaderError(ONE_SELECT)
    if not read_only and (found := _WRITING.search(body)):
        raise ReaderError(
            f"the query has the word {found[0]!r}, and this kind of database cannot be told to only read; use a view"
        )


@contextmanager
def without_foreign_words(query: str) -> Iterator[None]:
    """Replace errors of databases and drivers, which can quote records, by what is public.

    Of their messages only names that the query itself has are shown.

    Privacy
    -------
    That an error is raised can depend on the records: for the data holder only.
    """
    try:
        yield
    except (ReaderError, EncodingError):
        raise
    except Exception as error:
        cause = getattr(error, "orig", None) or error  # SQLAlchemy wraps the driver's error
        known = _reason(query, str(cause))
        raise ReaderError(
            f"the query cannot be run: {known or f'the database reports a {type(cause).__name__}'}"
        ) from None


def _reason(query: str, message: str) -> str | None:
    for pattern, words in _REASONS:
        found = pattern.search(message)
        name = found and next(group for group in found.groups() if group)
        if name and name in query:
            return words.format(name)
    return None
