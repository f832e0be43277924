"""The fields of a schema: each function returns a checked entry or says where it is wrong and what to write."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

Path = tuple[str, ...]
"""The keys that lead to an entry."""

SPACES = " \t\n\r\v\f"
"""Ignored around cells, and so not allowed around names and values."""

_LARGEST_BOUND = 1e300
SMALLEST_WIDTH = 1e-290
"""Beyond these, differences and quotients of bounds leave double precision."""


_MOST_LISTED = 20


class SchemaError(ValueError):
    """A schema that does not say what it must; the message says where and what to do.

    Attributes
    ----------
    problem : str
        What is wrong and how to mend it.
    path : tuple of str
        The keys that lead to the offending entry, such as ``("columns", "age", "lower")``.
    source : str or None
        The file, where the schema came from one.
    line, column : int or None
        Place of the entry in the file, counted from 1.

    Privacy
    -------
    Data-independent: a schema knows nothing of the records.
    """

    def __init__(
        self,
        problem: str,
        path: tuple[str, ...] = (),
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.problem, self.path, self.source, self.line, self.column = problem, path, source, line, column
        place = ":".join(str(part) for part in (source, line, column) if part is not None)
        message = ": ".join(part for part in (place, ".".join(map(printable, path)), problem) if part)
        super().__init__(message.encode(errors="replace").decode())  # half a surrogate pair cannot be printed


def table(content: Any, path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """Return a dictionary that has no keys but the known ones."""
    if not isinstance(content, dict):
        raise SchemaError(f"must be a table with the keys {listed(keys)}", path)
    for key in content:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; known here: {listed(keys)}"
            raise SchemaError(f"is not a known key{hint}", (*path, str(key)))
    return content


def needed(entry: dict[str, Any], key: str, path: Path, advice: str) -> Any:
    """Return an entry that must be there."""
    if key not in entry:
        raise SchemaError(f"{key} is missing; {advice}", path)
    return entry[key]


def number(value: Any, path: Path, word: str) -> float:
    """Return a finite number that double precision can work with."""
    if value == "":
        raise SchemaError(
            f"is not filled in; write the {word} value that the variable can take, known without looking at the data",
            path,
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SchemaError("must be a number, written without quotes", path)
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError("must be a finite number; choose a bound beyond which values may be clipped", path)
    if abs(value) > _LARGEST_BOUND:
        raise SchemaError("is too large for double precision; use another unit", path)
    return float(value)


def string(value: Any, path: Path, empty_allowed: bool = False) -> str:
    """Return a text as it can be compared with trimmed cells."""
    if not isinstance(value, str):
        raise SchemaError('must be text in quotes, such as "1"', path)
    if not value and not empty_allowed:
        raise SchemaError("is not filled in; write the text between the quotes", path)
    if value != value.strip(SPACES):
        raise SchemaError("has spaces at its ends, which are ignored in the data; remove them", path)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise SchemaError("holds half of a surrogate pair, which is no character; remove it", path)
    return value


def strings(values: Any, path: Path, *, at_least: int, empty_allowed: bool = False) -> tuple[str, ...]:
    """Return a list of different texts."""
    if not isinstance(values, list):
        raise SchemaError('must be a list of texts, such as ["a", "b"]', path)
    if not values and at_least:
        raise SchemaError("is not filled in; list what can occur, known without looking at the data", path)
    texts = tuple(string(value, path, empty_allowed) for value in values)
    if len(texts) < at_least:
        raise SchemaError(f"needs at least {at_least} entries, has {len(texts)}", path)
    if twice := [text for text, count in Counter(texts).items() if count > 1]:
        raise SchemaError(f"lists {twice[0]!r} more than once; remove the repetition", path)
    return texts


def flag(value: Any, path: Path) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise SchemaError("must be true or false, written without quotes", path)
    return value


def choice(value: Any, path: Path, options: Iterable[str]) -> str:
    """Return one of several words."""
    if value not in (words := list(options)):
        raise SchemaError(f"must be one of {listed(words)}{did_you_mean(value, words)}", path)
    return str(value)


def listed(words: Iterable[str]) -> str:
    """Return words as a message shows them, the first ones if they are many."""
    words = list(words)
    shown = ", ".join(map(repr, words[:_MOST_LISTED]))
    return shown if len(words) <= _MOST_LISTED else f"{shown} and {len(words) - _MOST_LISTED:,} more"


def plain_number(value: float) -> str:
    """Return the shortest decimal that gives a number back."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def printable(name: str) -> str:
    """Return a name as a terminal may see it: as it is, or quoted if it has characters that are not for showing."""
    return name if name.isprintable() else repr(name)


def did_you_mean(word: Any, words: Iterable[str]) -> str:
    """Return a suggestion if a known word is close."""
    close = difflib.get_close_matches(str(word), list(words), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
