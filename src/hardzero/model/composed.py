"""What a statement has to add where the schema's bounds were released from records as well."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

from ..ledger.receipt import Receipt
from ..privacy import accounting
from ..privacy.events import GaussianRelease
from ..schema.columns import Schema
from ..schema.fields import SchemaError, listed
from ..schema.released import OF_SINGLE_ROWS, BoundsCharge
from .statement import PrivacyStatement

S = TypeVar("S", bound=PrivacyStatement)

_AGREEMENT = 1e-9


def with_released_bounds(statement: S, schema: Schema | None) -> S:
    """Return the statement of all that was released from people who are in both tables: bounds, and what followed.

    Parameters
    ----------
    statement : PrivacyStatement
        Of a fit, or of an evaluation of rows set aside.
    schema : Schema or None
        With charges for bounds, if any were released.

    Raises
    ------
    SchemaError
        The bounds were released under another relation, from single rows while the statement is about persons, or
        cost more than the schema says.

    Privacy
    -------
    Post-processing.
    """
    charges = () if schema is None else schema.bounds
    if not charges:
        return statement
    if statement.unit == "person":
        raise SchemaError(OF_SINGLE_ROWS, ("bounds",))
    if math.isfinite(statement.epsilon):
        refuse_other_relation(charges, statement.neighbours.value)
    bounds = tuple(event_of(charge) for charge in charges)
    events, instead = (*bounds, *statement.events), (*bounds, *statement.instead)
    delta = statement.delta or max(charge.delta for charge in charges)
    epsilon = max(accounting.spent(part, delta).epsilon for part in (events, instead))
    return replace(
        statement,
        epsilon=epsilon,
        delta=delta if math.isfinite(epsilon) else statement.delta,
        events=events,
        instead=instead if statement.instead else (),
        seeded=statement.seeded or any(charge.seeded for charge in charges),
        notes=(*statement.notes, *map(_note, charges), _together(statement)),
    )


def includes_released_bounds(statement: PrivacyStatement, schema: Schema | None) -> bool:
    """Return whether a statement begins with what the schema says that its bounds cost, if it says so.

    Privacy
    -------
    Post-processing.
    """
    charges = () if schema is None else schema.bounds
    stamped = statement.seeded or not any(charge.seeded for charge in charges)
    events = tuple(bounds_event(len(charge.columns), charge.noise) for charge in charges)
    honest = stamped and (statement.unit == "row" or not charges)
    return honest and statement.events[: len(charges)] == events


def bounds_event(columns: int, noise: float) -> GaussianRelease:
    """Return what a release of bounds is, for an account.

    Privacy
    -------
    Data-independent.
    """
    return GaussianRelease(f"bounds of {columns} column{'s' if columns > 1 else ''}", noise)


def event_of(charge: BoundsCharge) -> GaussianRelease:
    """Return what was released, or refuse a charge that states less than it cost.

    Privacy
    -------
    Data-independent.
    """
    event = bounds_event(len(charge.columns), charge.noise)
    if accounting.spent((event,), charge.delta).epsilon > charge.epsilon * (1 + _AGREEMENT):
        raise SchemaError(
            "is less than the release cost with this noise; leave what `hardzero bounds` wrote as it is",
            ("bounds", "epsilon"),
        )
    return event


def refuse_other_relation(charges: tuple[BoundsCharge, ...], neighbours: str) -> None:
    """Refuse to add guarantees of two relations.

    Privacy
    -------
    Data-independent.
    """
    if others := [charge.neighbours for charge in charges if charge.neighbours != neighbours]:
        raise SchemaError(
            f"were released for {others[0]} neighbours, and guarantees of two relations do not add up; use "
            f"{others[0]} neighbours here as well, or release the bounds for {neighbours} neighbours",
            ("bounds",),
        )


def _note(charge: BoundsCharge) -> str:
    paid = "" if charge.receipt is None else f", charged to a ledger: {Receipt(*charge.receipt)}"
    return (
        f"Bounds of {listed(charge.columns)} are not public: they were released from {charge.rows} rows with "
        f"({charge.epsilon:.4g}, {charge.delta:.3g})-differential privacy{paid}."
    )


def _together(statement: PrivacyStatement) -> str:
    if math.isinf(statement.epsilon):
        return "What came after them was not private."
    return (
        f"{statement._made_by.capitalize()} alone costs ({statement.epsilon:.4g}, {statement.delta:.3g}). What is "
        "guaranteed above is for all together, if the same people are in both tables; who is in one of them only "
        "pays for that one."
    )
