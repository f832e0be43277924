"""Schemas as files: TOML, which people write, or JSON, which programs write; docs/schema.md describes the format."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import places as schema_places
from .columns import Schema
from .fields import SchemaError, plain_number, together
from .places import Format
from .text_files import decoded, read_bytes, refuse_too_much

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_LINE = 110

LARGEST_FILE = 32 * 2**20
"""Bytes, or characters, of a schema at most."""


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
    content = read_bytes(file, LARGEST_FILE, "`hardzero schema init` writes one")
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
    refuse_too_much(content, LARGEST_FILE, source)
    text = decoded(content, source) if isinstance(content, bytes) else content
    if place := schema_places.find_too_deep(text, form):
        problem = f"nested more than {schema_places.DEEPEST} levels deep, or a key of more parts; a schema needs four"
        raise SchemaError(problem, (), source, *place)
    parsed = _parse_toml(text, source) if form == "toml" else _parse_json(text, source)
    try:
        return Schema.from_dict(parsed)
    except SchemaError as error:
        found = schema_places.find(text, [problem.path for problem in error.problems], form)
        ordered = sorted(zip(found, error.problems, strict=True), key=lambda pair: pair[0] or (0, 0))
        located = [SchemaError(e.problem, e.path, source, *(place or (None, None))) for place, e in ordered]
        raise together(located) from None


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
    tables: dict[tuple[str, ...], Any] = {
        (name,): content[name] for name in ("target", "missing", "person") if name in content
    }
    for group in ("bounds", "columns"):
        tables |= {(group, name): entry for name, entry in content.get(group, {}).items()}
    return "\n".join(toml_table(path, entry) for path, entry in tables.items())


def toml_table(path: Iterable[str], entry: Mapping[str, Any], notes: Mapping[str, str] | None = None) -> str:
    """Write a table of a TOML file, with a note behind some of its keys.

    Privacy
    -------
    Data-independent.
    """
    behind = {} if notes is None else {key: f"  # {note}" for key, note in notes.items()}
    lines = [f"{key} = {_value(value)}{behind.get(key, '')}\n" for key, value in entry.items()]
    return f"[{'.'.join(map(_key, path))}]\n{''.join(lines)}"


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
