"""Code books with a line or an entry for each variable: CSV and JSON."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import places
from .codebook import CodeBook, Variable
from .codebook_fields import FIELDS, field_of, said_of
from .fields import SPACES, SchemaError, did_you_mean, listed, string

_DELIMITERS = ",;\t|"
_LISTS = ("columns", "variables", "fields", "attributes", "features")
_SPACE = re.compile(r"\s*")


class Header(NamedTuple):
    """The first line of a table: its number, what separates cells, and the headings."""

    line: int
    delimiter: str
    headings: list[str]


def find_header(text: str) -> Header | None:
    """Return the first line that is neither blank nor a comment, if it has a heading for the names of variables.

    Privacy
    -------
    Data-independent.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(SPACES) or line.startswith("#"):
            continue
        best: Header | None = None
        for delimiter in _DELIMITERS:
            headings = _cells(line, delimiter)
            known = sum(field_of(heading) is not None for heading in headings)
            if any(field_of(heading) == "name" for heading in headings) and (
                best is None or known > sum(field_of(heading) is not None for heading in best.headings)
            ):
                best = Header(number, delimiter, headings)
        return best
    return None


def parse_table(text: str, source: str) -> CodeBook:
    """Return what a table with a line for each variable says.

    Raises
    ------
    SchemaError
        It has no line of headings, or a quotation mark is left open.

    Privacy
    -------
    Data-independent.
    """
    header = find_header(text)
    if header is None:
        raise SchemaError(
            f"the first line must name the columns, `name` among them; known are {listed(FIELDS)}",
            source=source,
            line=1,
        )
    book = _Book(source)
    keys = _keys(header, book)
    name = ""
    for line, cells in _rows(text, header, source):
        entry = {key: cell for key, cell in zip(keys, cells, strict=False) if key is not None}
        if len(cells) > len(keys) and any(cells[len(keys) :]):
            book.note(line, "has more cells than there are headings; the rest is left out")
        if any(cell.strip(SPACES) for cell in cells):
            name = (
                entry.get("name", "").strip(SPACES) or name
            )  # a line without a name goes on with the variable above
            book.add(name, entry, line)
    return book.finished()


def parse_json(text: str, source: str) -> CodeBook:
    """Return what a list or an object with an entry for each variable says.

    Raises
    ------
    SchemaError
        It is not JSON, or neither a list nor an object.

    Privacy
    -------
    Data-independent.
    """
    if place := places.find_too_deep(text, "json"):
        raise SchemaError("is nested too deeply for a code book", (), source, *place)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise SchemaError(f"is not valid JSON: {error.msg}", (), source, error.lineno, error.colno) from None
    except (ValueError, RecursionError):
        raise SchemaError("is not valid JSON", source=source) from None
    if not isinstance(content, list | dict):
        raise SchemaError("must be a list or an object with an entry for each variable", source=source, line=1)
    book = _Book(source)
    starts = places.line_starts(text)
    for key, entry, position in _variables(text, content):
        line = places.place_of(position, starts)[0]
        if isinstance(entry, dict):
            named = {field_of(str(heading)) or str(heading): cell for heading, cell in entry.items()}
            name = named.get("name", key)
            book.add(name if isinstance(name, str) else "", named, line)
        else:
            book.note(line, f"{key or 'an entry'} is not understood: it is no object with name, type and so on")
    return book.finished()


class _Book:
    """A code book while it is read."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._variables: dict[str, Variable] = {}
        self._notes: list[str] = []

    def note(self, line: int, problem: str) -> None:
        self._notes.append(f"{self._source}:{line}: {problem}")

    def add(self, name: str, entry: Mapping[str, Any], line: int) -> None:
        """Add what an entry says; values of a variable that has several lines are listed together."""
        try:
            string(name := name.strip(SPACES), ())
        except SchemaError:
            self.note(line, "is not understood: there is no usable name of a variable")
            return
        for key in [key for key in entry if key not in FIELDS]:
            self.note(line, f"{name}: {key!r} is not understood{did_you_mean(key, FIELDS)}; it is left out")
        said, problems = said_of({key: cell for key, cell in entry.items() if key in FIELDS})
        known = self._variables.get(name, Variable(name, {}, f"{self._source}:{line}"))
        values = [*known.said.get("values", ()), *said.get("values", ())]
        if "values" in known.said and "values" in said:
            said["values"] = list(dict.fromkeys(values))
            said["labels"] = {**known.said.get("labels", {}), **said.get("labels", {})}
        for key in said.keys() & known.said.keys() - {"values", "labels"}:
            if said[key] != known.said[key]:
                problems.append(f"{key} is said to be something else above; the first holds")
        for problem in problems:
            self.note(line, f"{name}: {problem}")
        self._variables[name] = Variable(name, {**said, **known.said, **_lists_of(said)}, known.place)

    def finished(self) -> CodeBook:
        targets = [v.name for v in self._variables.values() if v.said.get("role") == "target"]
        for name in targets[1:]:
            self._notes.append(f"{self._variables[name].place}: {name!r} is a second target; {targets[0]!r} is kept")
        target = targets[0] if targets else None
        return CodeBook(tuple(self._variables.values()), (), target, tuple(self._notes), (self._source,))


def _lists_of(said: Mapping[str, Any]) -> dict[str, Any]:
    return {key: said[key] for key in ("values", "labels") if key in said}


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip(SPACES) for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _keys(header: Header, book: _Book) -> list[str | None]:
    """Return what stands under each heading; each thing once."""
    keys: list[str | None] = []
    for heading in header.headings:
        key = field_of(heading)
        if key is None and heading:
            book.note(
                header.line,
                f"the heading {heading!r} is not understood{did_you_mean(heading, FIELDS)}; its column is left out",
            )
        elif key in keys:
            book.note(
                header.line, f"the heading {heading!r} stands for {key}, as another does; its column is left out"
            )
            key = None
        keys.append(key)
    return keys


def _rows(text: str, header: Header, source: str) -> Iterator[tuple[int, list[str]]]:
    lines = text.split("\n")[header.line :]
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=header.delimiter, strict=True)
    begin = header.line + 1
    try:
        for cells in reader:
            if cells and not cells[0].startswith("#"):
                yield begin, cells
            begin = header.line + reader.line_num + 1
    except csv.Error:
        raise SchemaError("is not CSV; is a quotation mark left open?", (), source, begin) from None


def _variables(text: str, content: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield name, entry and position of each variable: of a list or object, or of one that stands in an object."""
    start = len(text) - len(text.lstrip())
    inner = next(
        (key for key in _LISTS if isinstance(content, dict) and isinstance(content.get(key), list | dict)), None
    )
    for key, entry, position in _members(text, start):
        if key == "target" and isinstance(entry, str):
            yield entry, {"role": "target"}, position
        elif inner is None:
            yield key, entry, position
        elif key == inner:
            yield from _members(text, position)
        elif key == "target" and isinstance(entry, dict):
            yield "", {**entry, "role": "target"}, position
        else:
            yield key, None, position


def _members(text: str, start: int) -> Iterator[tuple[str, Any, int]]:
    """Yield key (empty in a list), value and the value's position of each member of valid JSON's list or object."""
    decoder = json.JSONDecoder()
    position = _SPACE.match(text, start + 1).end()  # type: ignore[union-attr]
    while text[position] not in "]}":
        key = ""
        if text[start] == "{":
            key, position = decoder.raw_decode(text, position)
            position = _SPACE.match(text, _SPACE.match(text, position).end() + 1).end()  # type: ignore[union-attr]
        value, end = decoder.raw_decode(text, position)
        yield key, value, position
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        if text[position] == ",":
            position = _SPACE.match(text, position + 1).end()  # type: ignore[union-attr]
