"""What is to be predicted: a class, or a number between public bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import fields
from .fields import SchemaError

TARGET_KEYS = "name and classes, or name, lower and upper for a number"
"""What a target needs, in words."""

_CLASS_KEYS = ("classes", "positive")
_NUMBER_KEYS = ("lower", "upper", "unit")


@dataclass(frozen=True)
class Target:
    """A class. ``positive`` is the one whose odds the weights are about, if there are two; else it need not be."""

    name: str
    classes: tuple[str, ...]
    positive: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what a file holds."""
        positive = {} if self.positive is None else {"positive": self.positive}
        return {"name": self.name, "classes": list(self.classes), **positive}


@dataclass(frozen=True)
class NumericTarget:
    """A number between public bounds, to which it is clipped."""

    name: str
    lower: float
    upper: float
    unit: str | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """None: it is a number."""
        return ()

    @property
    def positive(self) -> None:
        """None: it is a number."""
        return

    def to_dict(self) -> dict[str, Any]:
        """Return what a file holds."""
        unit = {} if self.unit is None else {"unit": self.unit}
        return {"name": self.name, "lower": self.lower, "upper": self.upper, **unit}


def parse_target(content: Any) -> Target | NumericTarget:
    """Return the target that an entry of a schema describes.

    Raises
    ------
    SchemaError
        With everything that is wrong.

    Privacy
    -------
    Data-independent.
    """
    path = ("target",)
    entry, strange = fields.understood(content, path, ("name", *_CLASS_KEYS, *_NUMBER_KEYS))
    numeric = any(key in entry for key in _NUMBER_KEYS)
    if numeric and (clash := [key for key in _CLASS_KEYS if key in entry]):
        problem = (
            "has classes and bounds; keep classes and positive to predict a class, or lower and upper for a number"
        )
        strange.append(SchemaError(problem, (*path, clash[0])))
        numeric = False
    name, target = fields.all_of(
        (
            lambda: fields.string(fields.needed(entry, "name", path, "name the column to predict"), (*path, "name")),
            lambda: fields.bounds_and_unit(entry, path) if numeric else _classes_and_positive(entry),
        ),
        strange,
    )
    return NumericTarget(name, *target) if numeric else Target(name, *target)


def _classes_and_positive(entry: dict[str, Any]) -> tuple[tuple[str, ...], str | None]:
    path = ("target",)
    hint = "list every label that can occur, known without looking at the data; or write lower and upper of a number"
    classes, positive = fields.all_of(
        (
            lambda: fields.strings(fields.needed(entry, "classes", path, hint), (*path, "classes"), at_least=2),
            lambda: _positive(entry),
        )
    )
    if positive is not None and positive not in classes:
        hint = fields.did_you_mean(positive, classes) or f"; use one of {fields.listed(classes)}"
        raise SchemaError(f"is not among the classes{hint}", (*path, "positive"))
    return classes, positive


def _positive(entry: dict[str, Any]) -> str | None:
    """Return the class that weights speak for, which more than two classes need not have."""
    path, classes = ("target",), entry.get("classes")
    if not entry.get("positive") and isinstance(classes, list) and len(classes) > 2:
        return None
    stated = fields.needed(entry, "positive", path, "name the class that weights speak for")
    return fields.string(stated, (*path, "positive"))
