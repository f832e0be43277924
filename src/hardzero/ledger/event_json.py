"""Events as JSON values, and back. Model files and ledgers write them alike."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Mapping
from typing import Any

from ..privacy import events
from ..privacy.events import Cost, Event

# Those of the audited module and no other: a subclass from elsewhere could state any cost.
KINDS: dict[str, type[Event]] = {
    name: kind
    for name, kind in vars(events).items()
    if isinstance(kind, type) and issubclass(kind, Event) and not inspect.isabstract(kind)
}
"""Every kind of event by its name."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event with its cost; null stands for an infinite part of it.

    Privacy
    -------
    Post-processing.
    """
    parts = {part.name: _write_part(getattr(event, part.name)) for part in dataclasses.fields(event)}  # type: ignore[arg-type]
    cost = {name: finite_or_none(getattr(event.cost, name)) for name in stated_parts(event.cost)}
    return {"kind": type(event).__name__, **parts, "cost": cost}


def stated_parts(cost: Cost) -> tuple[str, ...]:
    """Return the parts of a cost that are written: a tail, which few events have, only where there is one.

    Privacy
    -------
    Data-independent.
    """
    return Cost._fields if cost.tail else Cost._fields[:-1]


def event_from_dict(values: Mapping[str, Any]) -> Event:
    """Return the event that was written; its cost is computed anew.

    Raises
    ------
    ValueError
        The values are not those of an event.

    Privacy
    -------
    Post-processing.
    """
    kind = KINDS.get(values["kind"])
    if kind is None:
        raise ValueError("an event is of an unknown kind")
    parts = {part.name: _read_part(values[part.name], str(part.type)) for part in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**parts)


def finite_or_none(number: float) -> float | None:
    """Return what stands for a number that may be infinite."""
    return float(number) if math.isfinite(number) else None


def _write_part(part: Any) -> Any:
    if isinstance(part, Event):
        return event_to_dict(part)
    if isinstance(part, str):
        return part
    return int(part) if isinstance(part, numbers.Integral) else float(part)


def _read_part(value: Any, written_as: str) -> Any:
    match written_as:
        case "Event":
            return event_from_dict(value)
        case "str" if isinstance(value, str):
            return value
        case "int" if isinstance(value, int) and value >= 1:
            return value
        case "float" if isinstance(value, int | float) and 0 < value < math.inf:
            return float(value)
    raise ValueError("an event has a part that cannot be")
