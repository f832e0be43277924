"""A privacy statement as JSON, and back."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any

from ..privacy.budget import Neighbours
from ..privacy.events import (
    Cost,
    Event,
    GaussianRelease,
    NotPrivate,
    PerturbedMinimum,
    PureRelease,
    Repeated,
    Selection,
)
from ..statement import PrivacyStatement
from .fields import Field, finite_or_none

_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (GaussianRelease, NotPrivate, PerturbedMinimum, PureRelease, Repeated, Selection)
}
_AGREEMENT = 1e-9
_STATEMENT_KEYS = (
    "is_private",
    "epsilon",
    "delta",
    "neighbours",
    "seeded",
    "events",
    "assumed_public",
    "notes",
)


def statement_to_dict(statement: PrivacyStatement) -> dict[str, Any]:
    """Return the statement as JSON values; null stands for an infinite ε.

    Privacy
    -------
    Post-processing.
    """
    return {
        "is_private": statement.is_private,
        "epsilon": finite_or_none(statement.epsilon),
        "delta": float(statement.delta),
        "neighbours": statement.neighbours.value,
        "seeded": statement.seeded,
        "events": [_event_to_dict(event) for event in statement.events],
        "assumed_public": list(statement.assumed_public),
        "notes": list(statement.notes),
    }


def statement_from_field(field: Field) -> PrivacyStatement:
    """Check and read a statement.

    Privacy
    -------
    Post-processing.
    """
    entries = field.object(_STATEMENT_KEYS)
    epsilon, delta = entries["epsilon"].number_or_infinity(), entries["delta"].number()
    if epsilon < 0:
        entries["epsilon"].fail("must not be negative")
    if not 0 <= delta < 1:
        entries["delta"].fail("must be at least 0 and below 1")
    try:
        neighbours = Neighbours.parse(entries["neighbours"].text())
    except ValueError as error:
        entries["neighbours"].fail(f"is unknown: {error}")
    statement = PrivacyStatement(
        epsilon,
        delta,
        neighbours,
        tuple(_event_from_field(event) for event in entries["events"].items()),
        tuple(line.text() for line in entries["assumed_public"].items()),
        seeded=entries["seeded"].flag(),
        notes=tuple(line.text() for line in entries["notes"].items()),
    )
    unprotected = any(math.isinf(event.cost.rho) for event in statement.events)
    if unprotected and math.isfinite(epsilon):
        entries["epsilon"].fail("must be null, because an event is not private")
    if entries["is_private"].flag() != statement.is_private:
        entries["is_private"].fail("contradicts epsilon and seeded")
    return statement


def _event_to_dict(event: Event) -> dict[str, Any]:
    parts = {part.name: _write_part(getattr(event, part.name)) for part in dataclasses.fields(event)}  # type: ignore[arg-type]
    cost = {name: finite_or_none(part) for name, part in event.cost._asdict().items()}
    return {"kind": type(event).__name__, **parts, "cost": cost}


def _write_part(part: Any) -> Any:
    if isinstance(part, Event):
        return _event_to_dict(part)
    if isinstance(part, str):
        return part
    return int(part) if isinstance(part, numbers.Integral) else float(part)


def _event_from_field(field: Field) -> Event:
    entries = field.entries()
    name = entries["kind"].text() if "kind" in entries else field.fail("has no kind")
    if name not in _KINDS:
        entries["kind"].fail(f"is unknown; known are {', '.join(sorted(_KINDS))}")
    kind = _KINDS[name]
    parts = {part.name: str(part.type) for part in dataclasses.fields(kind)}  # type: ignore[arg-type]
    entries = field.object(("kind", *parts, "cost"))
    event = kind(**{part: _read_part(entries[part], written_as) for part, written_as in parts.items()})
    _check_cost(event, entries["cost"])
    return event


def _read_part(field: Field, written_as: str) -> Any:
    match written_as:
        case "Event":
            return _event_from_field(field)
        case "int":
            return field.whole(at_least=1)
        case "str":
            return field.text()
    number = field.number()
    if number <= 0:
        field.fail("must be above 0")
    return number


def _check_cost(event: Event, field: Field) -> None:
    """A cost is written for readers; it must be what the event's parameters give."""
    stated = Cost(**{name: part.number_or_infinity() for name, part in field.object(Cost._fields).items()})
    try:
        cost = event.cost
    except (OverflowError, ZeroDivisionError):
        field.fail("cannot be computed: a parameter of the event is out of range")
    if not all(math.isclose(a, b, rel_tol=_AGREEMENT) for a, b in zip(stated, cost, strict=True)):
        field.fail("is not what the event's parameters give")
