"""A privacy statement as JSON, and back."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from ..ledger.event_json import KINDS, event_to_dict, finite_or_none, stated_parts
from ..ledger.receipt import Receipt
from ..ledger.units import UNITS, Unit
from ..privacy import accounting
from ..privacy.budget import Neighbours
from ..privacy.events import Cost, Event, Repeated
from .fields import Field
from .statement import PrivacyStatement

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
_SINCE_VERSION_2 = ("n_rows",)
_SINCE_VERSION_5 = ("ledger",)
_SINCE_VERSION_6 = ("unit",)
_FAST_ACCOUNTANTS: tuple[accounting.Accountant, ...] = ("zcdp", "exact")
_ACCOUNTANTS: dict[str, accounting.Accountant] = {"recursion": "recursion", "paper": "pure"}
_MOST_TIMES = {"recursion": 100_000, "paper": 20_000_000}
"""Calibrations with an accountant of their own, and how many repetitions it is asked about: more would take days."""


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
        "events": [event_to_dict(event) for event in statement.events],
        "assumed_public": list(statement.assumed_public),
        "notes": list(statement.notes),
        "n_rows": statement.n_rows,
        "ledger": None if statement.ledger is None else dataclasses.asdict(statement.ledger),
        "unit": statement.unit,
    }


def statement_from_field(field: Field, version: int, calibration: Any = None) -> PrivacyStatement:
    """Check and read a statement: ε must be at least what the events cost.

    Parameters
    ----------
    field : Field
        The statement.
    version : int
        Version of the file.
    calibration : object
        The parameter of that name, if there is one: it says by which accountant ε was found.

    Privacy
    -------
    Post-processing.
    """
    since = ((2, _SINCE_VERSION_2), (5, _SINCE_VERSION_5), (6, _SINCE_VERSION_6))
    added = tuple(key for first, keys in since if version >= first for key in keys)
    entries = field.object(_STATEMENT_KEYS + added)
    epsilon, delta = entries["epsilon"].number_or_infinity(), entries["delta"].number()
    if epsilon < 0:
        entries["epsilon"].fail("must not be negative")
    if not 0 <= delta < 1:
        entries["delta"].fail("must be at least 0 and below 1")
    try:
        neighbours = Neighbours.parse(entries["neighbours"].text())
    except ValueError as error:
        entries["neighbours"].fail(f"is unknown: {error}")
    n_rows = entries.get("n_rows")
    statement = PrivacyStatement(
        epsilon,
        delta,
        neighbours,
        tuple(_event_from_field(event) for event in entries["events"].items()),
        tuple(line.text() for line in entries["assumed_public"].items()),
        seeded=entries["seeded"].flag(),
        notes=tuple(line.text() for line in entries["notes"].items()),
        n_rows=None if n_rows is None or n_rows.value is None else n_rows.whole(at_least=1),
        ledger=_receipt_from_field(entries["ledger"]) if version > 4 else None,
        unit=_unit_from_field(entries["unit"]) if version > 5 else "row",
    )
    if math.isfinite(epsilon):
        if not statement.events:
            entries["events"].fail("must not be empty: whatever was released has its cost")
        if any(math.isinf(event.cost.rho) for event in statement.events):
            entries["epsilon"].fail("must be null, because an event is not private")
        if not _is_covered(statement, calibration):
            entries["epsilon"].fail("is less than the events cost at this delta")
    if entries["is_private"].flag() != statement.is_private:
        entries["is_private"].fail("contradicts epsilon and seeded")
    return statement


def _is_covered(statement: PrivacyStatement, calibration: Any) -> bool:
    """Whether ε is at least what some accountant proves; those that take seconds are asked last, if at all."""
    events, delta, room = statement.events, statement.delta, 1 + _AGREEMENT
    if sum(event.cost.epsilon for event in events) <= statement.epsilon * room:
        return True
    if delta == 0:  # which no accountant but the sum above speaks of
        return False
    if any(accounting.spent(events, delta, by).epsilon <= statement.epsilon * room for by in _FAST_ACCOUNTANTS):
        return True
    times = max((event.times for event in events if isinstance(event, Repeated)), default=1)
    if not isinstance(calibration, str) or times > _MOST_TIMES.get(calibration, 0):
        return False
    return accounting.spent(events, delta, _ACCOUNTANTS[calibration]).epsilon <= statement.epsilon * room


def _unit_from_field(field: Field) -> Unit:
    for unit in UNITS:
        if field.value == unit:
            return unit
    field.fail(f"must be {' or '.join(UNITS)}")


def _receipt_from_field(field: Field) -> Receipt | None:
    if field.value is None:
        return None
    entries = field.object(("dataset", "number", "hash"))
    hashed = entries["hash"].text()
    if not re.fullmatch("[0-9a-f]{64}", hashed):
        entries["hash"].fail("must have 64 digits from 0 to f")
    return Receipt(entries["dataset"].text(), entries["number"].whole(at_least=1), hashed)


def _event_from_field(field: Field) -> Event:
    entries = field.entries()
    name = entries["kind"].text() if "kind" in entries else field.fail("has no kind")
    if name not in KINDS:
        entries["kind"].fail(f"is unknown; known are {', '.join(sorted(KINDS))}")
    kind = KINDS[name]
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
    try:
        cost = event.cost
    except (OverflowError, ZeroDivisionError):
        field.fail("cannot be computed: a parameter of the event is out of range")
    stated = Cost(**{name: part.number_or_infinity() for name, part in field.object(stated_parts(cost)).items()})
    if not all(math.isclose(a, b, rel_tol=_AGREEMENT) for a, b in zip(stated, cost, strict=True)):
        field.fail("is not what the event's parameters give")
