"""Reading JSON that nobody vouches for: every value is asked for by its type, and an error names its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn


class ModelFileError(ValueError):
    """A model file, or a model to be written to one, is not what it should be; the message names the field."""


def parse(text: str) -> Field:
    """Parse strictly: no key twice, no NaN or Infinity."""
    try:
        return Field(json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant), "")
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise ModelFileError(f"not a model file: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ModelFileError(f"not a model file: the key {key!r} stands twice in one object")
        entries[key] = value
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise ModelFileError(f"not a model file: {name} is not a number")


@dataclass(frozen=True)
class Field:
    """A parsed value and the place where it stands, such as ``features[3].scale``."""

    value: Any
    place: str

    def fail(self, problem: str) -> NoReturn:
        """Refuse the value."""
        raise ModelFileError(f"{self.place or 'the file'} {problem}")

    def object(self, keys: Iterable[str]) -> dict[str, Field]:
        """Return the entries of an object that must have these keys and no others."""
        expected = tuple(keys)
        entries = self.entries()
        for key in expected:
            if key not in entries:
                Field(None, self._below(key)).fail("is missing")
        for key, entry in entries.items():
            if key not in expected:
                entry.fail("is not a field of this format")
        return entries

    def entries(self) -> dict[str, Field]:
        """Return the entries of an object with any keys."""
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, got {_kind(self.value)}")
        return {key: Field(value, self._below(key)) for key, value in self.value.items()}

    def items(self) -> list[Field]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            self.fail(f"must be a list, got {_kind(self.value)}")
        return [Field(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a string that can be written as UTF-8."""
        if not isinstance(self.value, str):
            self.fail(f"must be text, got {_kind(self.value)}")
        if not encodable(self.value):
            self.fail("holds half a character (a lone surrogate)")
        return self.value

    def text_or_none(self) -> str | None:
        """Return a string, or None for null."""
        return None if self.value is None else self.text()

    def number(self) -> float:
        """Return a finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.fail(f"must be a number, got {_kind(self.value)}")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail("is too large a number")
        return number

    def number_or_none(self) -> float | None:
        """Return a finite number, or None for null."""
        return None if self.value is None else self.number()

    def numbers(self) -> list[float]:
        """Return a list of finite numbers."""
        values = self.value
        if isinstance(values, list) and all(type(value) is float and math.isfinite(value) for value in values):
            return values  # the usual case, and lists are long
        return [item.number() for item in self.items()]

    def number_or_infinity(self) -> float:
        """Return a finite number, or infinity for null: JSON has no other word for it."""
        return math.inf if self.value is None else self.number()

    def whole(self, at_least: int) -> int:
        """Return a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"must be a whole number, got {_kind(self.value)}")
        if self.value < at_least:
            self.fail(f"must be at least {at_least}")
        return self.value

    def flag(self) -> bool:
        """Return True or False."""
        if not isinstance(self.value, bool):
            self.fail(f"must be true or false, got {_kind(self.value)}")
        return self.value

    def plain(self) -> Any:
        """Return any JSON value whose numbers are finite and whose text is well-formed."""
        match self.value:
            case None | bool():
                return self.value
            case int() | float():
                self.number()
                return self.value
            case str():
                return self.text()
            case list():
                return [item.plain() for item in self.items()]
        for key in self.entries():
            Field(key, self._below(repr(key))).text()
        return {key: entry.plain() for key, entry in self.entries().items()}

    def _below(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def encodable(text: str) -> bool:
    """Whether a string has only whole characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
