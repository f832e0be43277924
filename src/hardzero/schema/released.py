"""What a schema remembers of bounds that were not known beforehand but released from records, at a price."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from . import fields
from .fields import Path, SchemaError

_NEEDED = ("columns", "epsilon", "delta", "neighbours", "noise", "rows", "seeded")
_RECEIPT = ("dataset", "entry", "hash")
_RELATIONS = ("zero-out", "replace-one", "add-remove")
OF_SINGLE_ROWS = (
    "were released from single rows, and whoever had many of them is not protected by what that cost: it cannot be "
    "part of a guarantee for persons; write lower and upper that are public knowledge, and leave the charge out"
)
"""Why charges and persons do not go together."""


@dataclass(frozen=True)
class BoundsCharge:
    """What the release of some columns' bounds cost; whoever fits with them says so.

    Attributes
    ----------
    columns : tuple of str
        The columns whose bounds were asked for, told or not.
    epsilon, delta : float
        What the release guaranteed.
    neighbours : {"zero-out", "replace-one", "add-remove"}
        Under which relation.
    noise : float
        Standard deviation of the noise over the L2 sensitivity, from which everything else about the cost follows.
    rows : int
        The public number of rows.
    seeded : bool
        Whether the noise came from a seed: then nothing is guaranteed.
    receipt : tuple of str, int and str, or None
        Data set, number and hash of the ledger's entry, if it was charged to one.

    Privacy
    -------
    Data-independent.
    """

    columns: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    noise: float
    rows: int
    seeded: bool = False
    receipt: tuple[str, int, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what a file holds."""
        entry = {key: getattr(self, key) for key in _NEEDED} | {"columns": list(self.columns)}
        return entry | dict(zip(_RECEIPT, self.receipt or (), strict=False))


def charges_to_dict(charges: Iterable[BoundsCharge]) -> dict[str, Any]:
    """Return the charges as tables with numbers for names, which every form of file can hold.

    Privacy
    -------
    Data-independent.
    """
    return {str(number): charge.to_dict() for number, charge in enumerate(charges, start=1)}


def parse_charges(content: Any, numeric: Collection[str]) -> tuple[BoundsCharge, ...]:
    """Return what the entry of a schema says of releases; ``numeric`` are the names of columns that have bounds.

    Raises
    ------
    SchemaError
        With everything that is wrong.

    Privacy
    -------
    Data-independent.
    """
    if not isinstance(content, dict):
        raise SchemaError(
            "must be a table that `hardzero bounds` wrote, with one entry for each release", ("bounds",)
        )
    return tuple(fields.each(lambda item: _parse_charge(item[1], ("bounds", str(item[0])), numeric), content.items()))


def _parse_charge(content: Any, path: Path, numeric: Collection[str]) -> BoundsCharge:
    entry, strange = fields.understood(content, path, (*_NEEDED, *_RECEIPT))

    def stated(key: str) -> Any:
        return fields.needed(entry, key, path, "leave what `hardzero bounds` wrote as it is")

    columns, epsilon, delta, neighbours, noise, rows, seeded, receipt = fields.all_of(
        (
            lambda: _columns(stated("columns"), (*path, "columns"), numeric),
            lambda: _above_zero(stated("epsilon"), (*path, "epsilon")),
            lambda: _above_zero(stated("delta"), (*path, "delta"), below=1.0),
            lambda: fields.choice(stated("neighbours"), (*path, "neighbours"), _RELATIONS),
            lambda: _above_zero(stated("noise"), (*path, "noise")),
            lambda: _whole(stated("rows"), (*path, "rows")),
            lambda: fields.flag(stated("seeded"), (*path, "seeded")),
            lambda: _receipt(entry, path),
        ),
        strange,
    )
    return BoundsCharge(columns, epsilon, delta, neighbours, noise, rows, seeded, receipt)


def _columns(value: Any, path: Path, numeric: Collection[str]) -> tuple[str, ...]:
    names = fields.strings(value, path, at_least=1)
    if unknown := [name for name in names if name not in numeric]:
        raise SchemaError(f"names {unknown[0]!r}, which is no numeric column of this schema", path)
    return names


def _above_zero(value: Any, path: Path, below: float = 1e300) -> float:
    number = fields.number(value, path, "stated")
    if not 0 < number < below:
        raise SchemaError(f"must be above 0{' and below 1' if below == 1 else ''}", path)
    return number


def _whole(value: Any, path: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SchemaError("must be a whole number from 1 on", path)
    return value


def _receipt(entry: dict[str, Any], path: Path) -> tuple[str, int, str] | None:
    if not any(key in entry for key in _RECEIPT):
        return None
    dataset, number, hashed = fields.each(
        lambda key: fields.needed(entry, key, path, "a ledger's entry has dataset, entry and hash"), _RECEIPT
    )
    return (
        fields.string(dataset, (*path, "dataset")),
        _whole(number, (*path, "entry")),
        fields.string(hashed, (*path, "hash")),
    )
