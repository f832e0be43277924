"""Schemas as files: TOML, which people write, or JSON, which programs write; docs/schema.md describes the format."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from . import places as schema_places
from .columns import MOST_COLUMNS, Schema
from .fields import SchemaError, listed, plain_number, string
from .places import Format

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_LINE = 110

LARGEST_FILE = 32 * 2**20
"""Bytes, or characters, of a schema at most."""


class NamesAndTypes(Protocol):
    """What a template needs to know of a table: nothing about its rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""

    @property
    def types(self) -> Mapping[str, Any]:
        """Arrow type of each column."""

    @property
    def is_text(self) -> bool:
        """Whether types are guesses, because the format has none."""


def load_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a file: JSON if its name ends in ``.json``, else TOML.

    Parameters
    ----------
    path : path
        The file, in UTF-8.

    Returns
    -------
    Schema
        What the file describes.

    Raises
    ------
    SchemaError
        The file cannot be read, or what it says is wrong; names line and column where there are any.

    Privacy
    -------
    Data-independent.
    """
    file = Path(path)
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise SchemaError("there is no such file; `hardzero schema init` writes one", source=str(file)) from None
    except IsADirectoryError:
        raise SchemaError("is a folder; name the schema file in it", source=str(file)) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or "not a usable file name"
        raise SchemaError(f"cannot be read: {reason}", source=str(file)) from None
    return loads(content, form="json" if file.suffix.lower() == ".json" else "toml", source=str(file))


def loads(content: str | bytes, *, form: Format = "toml", source: str = "schema") -> Schema:
    """Read a schema from TOML or JSON text.

    Parameters
    ----------
    content : str or bytes
        The text; bytes are UTF-8.
    form : {"toml", "json"}, default="toml"
        How it is written.
    source : str, default="schema"
        What messages call it, such as a file name.

    Raises
    ------
    SchemaError
        What the text says is wrong; names line and column.

    Privacy
    -------
    Data-independent.
    """
    if len(content) > LARGEST_FILE:
        raise SchemaError(f"is larger than {LARGEST_FILE:,} bytes, which is too much for a schema", source=source)
    text = _decoded(content, source) if isinstance(content, bytes) else content
    if place := schema_places.find_too_deep(text, form):
        problem = f"nested more than {schema_places.DEEPEST} levels deep, or a key of more parts; a schema needs four"
        raise SchemaError(problem, (), source, *place)
    parsed = _parse_toml(text, source) if form == "toml" else _parse_json(text, source)
    try:
        return Schema.from_dict(parsed)
    except SchemaError as error:
        line, column = schema_places.find(text, error.path, form) or (None, None)
        raise SchemaError(error.problem, error.path, source, line, column) from None


def dumps(schema: Schema, *, form: Format = "toml") -> str:
    """Write a schema as TOML or JSON text; `loads` reads it back.

    Parameters
    ----------
    schema : Schema
        What to write.
    form : {"toml", "json"}, default="toml"
        How to write it.

    Privacy
    -------
    Data-independent.
    """
    content = schema.to_dict()
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    columns = content.pop("columns")
    tables = content | {f"columns.{_key(name)}": entry for name, entry in columns.items()}
    return "\n".join(f"[{name}]\n{_lines(entry.items())}" for name, entry in tables.items())


def schema_template(table: NamesAndTypes, target: str | None = None, *, guess_types: bool = False) -> str:
    """Write a schema to fill in: the columns of a table with empty bounds, categories and classes.

    Parameters
    ----------
    table : TableReader
        An opened table, of which names and types are used and nothing else.
    target : str, optional
        Name of the column to predict.
    guess_types : bool, default=False
        Whether the types of a text file, which has none, are guessed from its first rows, for the data holder. They
        are left to be filled in otherwise. The types that other files and databases give are used in any case.

    Returns
    -------
    str
        TOML text; `loads` refuses it, with the place of the first gap, until all gaps are filled.

    Privacy
    -------
    Names and types of columns count as public; nothing else is taken from the table. Types that are guessed depend on
    the records: such a template says so, and is for the data holder only.
    """
    if target is not None and target not in table.names:
        raise SchemaError(f"there is no column {target!r}; the table has: {listed(table.names)}")
    if len(table.names) - 1 > MOST_COLUMNS:  # one of them is the target
        raise SchemaError(f"the table has {len(table.names):,} columns; a schema can have {MOST_COLUMNS:,}")
    if table.is_text and not guess_types:
        kinds, about_types = dict.fromkeys(table.names, ""), _TYPES_TO_FILL_IN
    else:
        kinds = {name: _KIND_OF_TYPE.get(type_family(kind), "ignored") for name, kind in table.types.items()}
        about_types = _TYPES_GUESSED if table.is_text else _TYPES_GIVEN
    parts = [
        _TEMPLATE_HEAD + about_types,
        f"[target]\n{_lines([('name', target or ''), ('classes', []), ('positive', '')])}",
        _TEMPLATE_MISSING,
    ]
    parts += [_template_column(name, kinds[name], table.is_text) for name in table.names if name != target]
    return "\n".join(parts)


def type_family(arrow_type: Any) -> str:
    """Return the family of an Arrow type: number, boolean, text, time, or the type's own name.

    Privacy
    -------
    Data-independent.
    """
    name = str(arrow_type)
    if name.startswith("dictionary<"):
        name = name.removeprefix("dictionary<values=").partition(",")[0]
    return next((family for family, pattern in _FAMILIES if pattern.match(name)), name)


_FAMILIES = [
    ("number", re.compile(r"(u?int\d+|halffloat|float|double|decimal\d*\b.*)$")),
    ("boolean", re.compile(r"bool$")),
    ("text", re.compile(r"(large_)?string(_view)?$|null$")),
    ("time", re.compile(r"(date|time|timestamp|duration|month_)")),
]
_KIND_OF_TYPE = {"number": "numeric", "boolean": "boolean", "text": "categorical"}

_TEMPLATE_HEAD = """\
# What is publicly known about the table. Fill in every "" and []: the guarantee rests on it.
# Write what you know about the variables, from a code book or from their meaning: ages 0 to 120, a share 0 to 1.
# Do not read bounds, categories or classes from the data: one record can change them, and would show.
# Values outside the bounds are clipped to them; values not listed fall into "other".
"""
_TYPES_TO_FILL_IN = """\
# A text file has no types. Write one for each column, and below it what belongs to it:
# numeric: lower and upper; boolean: true and false; categorical and ordered: values; ignored: nothing.
"""
_TYPES_GIVEN = """\
# The types are those of the table and may be changed: numeric, boolean, categorical, ordered or ignored.
"""
_TYPES_GUESSED = """\
# FOR THE DATA HOLDER ONLY: the types were guessed from the first rows and depend on them. Set each of them by what is
# known about the variable before this is passed on: numeric, boolean, categorical, ordered or ignored.
"""
_TEMPLATE_MISSING = """\
# For missing values: "error" stops, "zero" sets features to 0 (and categories to "other"), "drop" leaves the row out.
[missing]
policy = "error"
values = ["", "NA", "NaN", "?"]
"""
_NOTES = {
    "lower": "the smallest value that is possible, not the smallest in the data",
    "upper": "the largest value that is possible, not the largest in the data",
    "values": "every value of the code book, whether or not it occurs in the data",
    "true": "how the file spells yes",
    "false": "how the file spells no",
}
_TYPE_NOTE = "numeric, boolean, categorical, ordered or ignored"


def _template_column(name: str, kind: str, is_text: bool) -> str:
    try:
        string(name, ())
    except SchemaError:
        return f"# A schema cannot name the column {_value(name)}, which is left out here; rename it in the table.\n"
    spelling = ("", "") if is_text else ("true", "false")
    gaps: dict[str, list[tuple[str, Any]]] = {
        "numeric": [("lower", ""), ("upper", "")],
        "boolean": [("true", spelling[0]), ("false", spelling[1])],
        "categorical": [("values", [])],
    }
    lines = [f"[columns.{_key(name)}]", f"type = {_value(kind)}" + ("" if kind else f"  # {_TYPE_NOTE}")]
    lines += [f"{key} = {_value(value)}  # {_NOTES[key]}" for key, value in gaps.get(kind, [])]
    return "\n".join(lines) + "\n"


def _decoded(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        line, column = schema_places.line_and_column(before, len(before))
        raise SchemaError("is not UTF-8; save the file with that encoding", (), source, line, column) from None


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        problem = _first_sentence(error)
        place = re.search(r"\(at line (\d+), column (\d+)\)$", problem)
        if place is None:
            at_end = "(at end of document)" in problem
            lines = text.count("\n") + 1 if at_end else None
            raise SchemaError(f"is not valid TOML: {problem}", (), source, lines) from None
        line, column = int(place[1]), int(place[2])
        problem = problem[: place.start()].strip()
        raise SchemaError(f"is not valid TOML: {problem}{_advice(text, line)}", (), source, line, column) from None


def _parse_json(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg}"
        raise SchemaError(problem, (), source, error.lineno, error.colno) from None
    except SchemaError as error:
        path, place = schema_places.find_repeated(text, error.path[0]) or (error.path, (None, None))
        raise SchemaError(error.problem, path, source, *place) from None
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"is not valid JSON: {_first_sentence(error)}", (), source) from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name in entries if counts[name] > 1)
        raise SchemaError("stands there twice; remove or rename one", (twice,))
    return entries


def _first_sentence(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).partition(";")[0]


def _advice(text: str, line: int) -> str:
    lines = text.split("\n")
    if line <= len(lines) and re.search(r"=\s*(#.*)?$", lines[line - 1]):
        return "; write a value after the equals sign"
    return ""


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _lines(entries: Iterable[tuple[str, Any]]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in entries)


def _escaped(character: str) -> str:
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _value(value: str | float | list[Any]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; it leaves others as they are that TOML forbids or that lead terminals astray.
        quoted = json.dumps(value, ensure_ascii=False)
        return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))
    if isinstance(value, list):
        items = [_value(item) for item in value]
        short = f"[{', '.join(items)}]"
        return short if len(short) <= _LONGEST_LINE else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return plain_number(value)
