"""Where a key stands in a TOML or JSON text, so that a message can point at it."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

Format = Literal["toml", "json"]
Path = tuple[str, ...]
Place = tuple[int, int]

DEEPEST = 16
"""Levels that tables and lists may be nested, and parts that a dotted key may have; a schema needs four."""

# What is left open ends with the line, or with the text, so that no place is looked at twice.
_STRINGS = r'"(?:[^"\\\n]|\\[^\n])*"?'
_TOML_TOKEN = re.compile(
    r'(?P<comment>\#[^\n]*)|(?P<text>"""(?:[^\\]|\\.)*?(?:"{3,5}|\\?\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|'
    + _STRINGS
    + r"|'[^'\n]*'?)"
    r"|(?P<mark>[\[\]{}=,.\n])|(?P<bare>[^\s\[\]{}=,.\#\"']+)",
    re.DOTALL,
)
_JSON_TOKEN = re.compile(rf"(?P<text>{_STRINGS})|(?P<mark>[\[\]{{}}:,])|(?P<bare>[^\s\[\]{{}}:,\"]+)")


def find(text: str, paths: Iterable[Path], form: Format) -> list[Place | None]:
    """Return for each path line and column, from 1, of its key, or of the closest key above it.

    The text must be valid, and is read once. What is not found gives None.
    """
    positions: dict[Path, int] = {}
    for found, position in _toml_keys(text) if form == "toml" else _json_keys(text):
        positions.setdefault(found, position)
    starts = line_starts(text)
    places: list[Place | None] = []
    for path in paths:
        above = (path[:length] for length in range(len(path), 0, -1))
        closest = next((positions[key] for key in above if key in positions), None)
        places.append(None if closest is None else place_of(closest, starts))
    return places


def line_starts(text: str) -> list[int]:
    """Return where each line begins."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def place_of(position: int, starts: Sequence[int]) -> Place:
    """Turn a position in a text into line and column, from 1, where the beginnings of lines are known."""
    line = bisect_right(starts, position)
    return line, position - starts[line - 1] + 1


def find_too_deep(text: str, form: Format) -> Place | None:
    """Return the place from which a text is nested deeper than a schema may be, whether or not it is valid.

    Parsers take time and memory by the square of a key's parts, and this is to be asked before them.
    """
    depth = dots = 0
    for match in (_TOML_TOKEN if form == "toml" else _JSON_TOKEN).finditer(text):
        if match.lastgroup != "mark":
            continue
        token = match.group()
        dots = dots + 1 if token == "." else 0
        depth = max(depth + (token in "[{") - (token in "]}"), 0)
        if depth > DEEPEST or dots >= DEEPEST:
            return line_and_column(text, match.start())
    return None


def find_repeated(text: str, key: str) -> tuple[Path, Place] | None:
    """Return path and place of the first JSON key that stands twice in its object and has this name."""
    seen = set()
    for path, position in _json_keys(text):
        if path in seen and path[-1] == key:
            return path, line_and_column(text, position)
        seen.add(path)
    return None


def line_and_column(text: str, position: int) -> Place:
    """Turn a position in a text into line and column, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _toml_keys(text: str) -> Iterator[tuple[Path, int]]:
    """Yield every path that a header or a key opens, with its position."""
    table: Path = ()
    around: list[Path | None] = []  # the table that each open brace stands in, or None for a bracket of a list
    parts: list[tuple[str, int]] | None = []  # the dotted key being read, or None while a value is
    header = False
    current: Path = ()
    for match in _TOML_TOKEN.finditer(text):
        token, position = match.group(), match.start()
        if match.lastgroup == "comment":
            continue
        if parts is None:
            if token == "{":
                around.append(current)
                parts = []
            elif token == "[":
                around.append(None)
            elif token in ("]", "}") and around:  # a header [[x]] closes twice what opens once
                around.pop()
            elif (token == "\n" and not around) or (token == "," and around and around[-1] is not None):
                parts = []
            continue
        if match.lastgroup != "mark":
            parts.append((_toml_key(token), position))
        elif token == "[" and not around:
            header = True
        elif token == "]" and header:
            table = tuple(name for name, _ in parts)
            yield from _prefixes((), parts)
            header, parts = False, None
        elif token == "=":
            base = next((path for path in reversed(around) if path is not None), table)
            current = base + tuple(name for name, _ in parts)
            yield from _prefixes(base, parts)
            parts = None
        elif token == "}":
            around.pop()
            parts = None


def _prefixes(base: Path, parts: list[tuple[str, int]]) -> Iterator[tuple[Path, int]]:
    for count, (_, position) in enumerate(parts, start=1):
        yield base + tuple(name for name, _ in parts[:count]), position


def _toml_key(token: str) -> str:
    return next(iter(tomllib.loads(f"{token} = 0"))) if token[0] in "\"'" else token


def _json_keys(text: str) -> Iterator[tuple[Path, int]]:
    around: list[Path] = []
    current: Path = ()
    last = ("", 0)
    for match in _JSON_TOKEN.finditer(text):
        token = match.group()
        if token in ("{", "["):
            around.append(current)
        elif token in ("}", "]"):
            around.pop()
        elif token == ":":
            current = (*around[-1], json.loads(last[0]))
            yield current, last[1]
        elif match.lastgroup == "text":
            last = (token, match.start())
