"""The fields of a schema: each function returns a checked entry or says where it is wrong and what to write."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Path = tuple[str, ...]
"""The keys that lead to an entry."""

SPACES = " \t\n\r\v\f"
"""Ignored around cells, and so not allowed around names and values."""

_LARGEST_BOUND = 1e300
SMALLEST_WIDTH = 1e-290
"""Beyond these, differences and quotients of bounds leave double precision."""

WIDEST_BOUNDS = (-_LARGEST_BOUND, _LARGEST_BOUND)
"""All that bounds can hold."""

_MOST_LISTED = 20
_MOST_COMPARED = 2000


class SchemaError(ValueError):
    """A schema that does not say what it must; the message says where and what to do, for every problem it has.

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
    problems : tuple of SchemaError
        This problem, which is the first, and all others that were found with it.

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
        others: Sequence[SchemaError] = (),
    ) -> None:
        self.problem, self.path, self.source, self.line, self.column = problem, path, source, line, column
        self._others = tuple(others)
        super().__init__(problem)

    @property
    def problems(self) -> tuple[SchemaError, ...]:
        """This problem and all others that were found with it."""
        return (self, *self._others)

    @property
    def message(self) -> str:
        """Where this one problem is, and what to do about it."""
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part is not None)
        message = ": ".join(part for part in (place, ".".join(map(printable, self.path)), self.problem) if part)
        return message.encode(errors="replace").decode()  # half a surrogate pair cannot be printed

    def __str__(self) -> str:
        lines = [error.message for error in self.problems[:_MOST_LISTED]]
        left = len(self.problems) - len(lines)
        return "\n".join([*lines, *([f"and {left:,} more problems"] if left else [])])


def together(problems: Sequence[SchemaError]) -> SchemaError:
    """Return one error for several problems, of which the first speaks."""
    first, *others = problems
    if not others:
        return first
    return SchemaError(first.problem, first.path, first.source, first.line, first.column, others)


def each(check: Callable[[T], R], items: Iterable[T], before: Iterable[SchemaError] = ()) -> list[R]:
    """Return what a check makes of each item, or raise the problems of all of them, after those known ``before``."""
    results, problems = [], list(before)
    for item in items:
        try:
            results.append(check(item))
        except SchemaError as error:
            problems += [problem.with_traceback(None) for problem in error.problems]  # which would hold the schema
    if problems:
        raise together(problems)
    return results


def all_of(steps: Iterable[Callable[[], Any]], before: Iterable[SchemaError] = ()) -> list[Any]:
    """Return what each step returns, or raise the problems of all of them, after those known ``before``."""
    return each(lambda step: step(), steps, before)


def understood(
    content: Any, path: Path, keys: Iterable[str], refused: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], list[SchemaError]]:
    """Return a dictionary of known keys, and a problem for each other key: the reason if it is one of the refused.

    A key that is nearly spelled like one that is absent stands for it, so that its value is checked at the same time.
    """
    known, reasons = tuple(keys), refused or {}
    if not isinstance(content, dict):
        raise SchemaError(f"must be a table with the keys {listed(known)}", path)
    strange = [key for key in content if key not in known]
    if not strange:
        return content, []
    entry = {key: value for key, value in content.items() if key in known}
    for key in strange:
        if key not in reasons and (meant := _closest(str(key), known)) is not None:
            entry.setdefault(meant, content[key])
    unknown = [reasons.get(key) or f"is not a known key{_instead(key, known)}" for key in strange]
    return entry, [SchemaError(problem, (*path, str(key))) for key, problem in zip(strange, unknown, strict=True)]


def _instead(key: Any, known: Sequence[str]) -> str:
    return did_you_mean(key, known) or f"; known here: {listed(known)}"


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


def bounds_and_unit(entry: dict[str, Any], path: Path) -> tuple[float, float, str | None]:
    """Return the bounds of a number, the lower one below the upper one, and its unit if it has one."""

    def bound(side_and_word: tuple[str, str]) -> float:
        side, word = side_and_word
        value = needed(entry, side, path, f"write the {word} value that the variable can take")
        return number(value, (*path, side), word)

    (lower, upper), unit = all_of(
        (
            lambda: each(bound, (("lower", "smallest"), ("upper", "largest"))),
            lambda: string(entry["unit"], (*path, "unit")) if "unit" in entry else None,
        )
    )
    if lower >= upper:
        raise SchemaError(f"must be below upper, but {lower:g} is not below {upper:g}", (*path, "lower"))
    if upper - lower < SMALLEST_WIDTH:
        raise SchemaError("is too close to upper for double precision; use another unit", (*path, "lower"))
    return lower, upper, unit


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
    texts = tuple(items(lambda value: string(value, path, empty_allowed), values, path))
    if len(texts) < at_least:
        raise SchemaError(f"needs at least {at_least} entries, has {len(texts)}", path)
    if twice := [text for text, count in Counter(texts).items() if count > 1]:
        raise SchemaError(f"lists {twice[0]!r} more than once; remove the repetition", path)
    return texts


def items(check: Callable[[Any], R], values: Iterable[Any], path: Path) -> list[R]:
    """Return what a check makes of each entry of a list; problems say which entry they are about."""

    def checked(numbered: tuple[int, Any]) -> R:
        number, value = numbered
        try:
            return check(value)
        except SchemaError as error:
            raise SchemaError(f"entry {number} {error.problem}", path) from None

    return each(checked, enumerate(values, start=1))


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
    close = _closest(str(word), tuple(words))
    return "" if close is None else f"; did you mean {close!r}?"


def suggestions(names: Iterable[str], words: Sequence[str]) -> dict[str, str]:
    """Return a suggestion, or nothing, for each name that is not among the words.

    The first names only are compared with the words, and not with many: each comparison takes its time.
    """
    known = set(words)
    absent = [name for name in names if name not in known] if len(known) <= _MOST_COMPARED else []
    return {name: did_you_mean(name, words) for name in absent[:_MOST_LISTED]}


@lru_cache(1024)
def _closest(word: str, words: tuple[str, ...]) -> str | None:
    return next(iter(difflib.get_close_matches(word, words, n=1)), None)
