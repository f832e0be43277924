"""What is publicly known about a table: its columns, their bounds and categories, and what is to be predicted.

Nothing in a schema comes from the records. It is written down beforehand, from knowledge of the variables, and is
all that an encoder may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, get_args

from .. import checks
from . import entries, fields
from .cuts import MOST_CUTS, Spacing, spread_cuts
from .entries import MOST_COLUMNS, MOST_FEATURES, Missing
from .fields import SchemaError
from .kinds import (
    OTHER,
    Boolean,
    Categorical,
    Column,
    Direction,
    Feature,
    Ignored,
    Numeric,
    Ordered,
    Unbounded,
    UsedColumn,
)
from .released import OF_SINGLE_ROWS, BoundsCharge, charges_to_dict, parse_charges
from .target import TARGET_KEYS, NumericTarget, Target, parse_target

__all__ = [
    "DEFAULT_CUTS",
    "DEFAULT_STEPS",
    "MOST_COLUMNS",
    "MOST_FEATURES",
    "OTHER",
    "Boolean",
    "Categorical",
    "Column",
    "Direction",
    "Feature",
    "Ignored",
    "Missing",
    "Numeric",
    "NumericTarget",
    "Ordered",
    "Schema",
    "Target",
    "Unbounded",
    "UsedColumn",
]

DEFAULT_CUTS, DEFAULT_STEPS = 255, 1_500
"""Cut points that a number gets at most, and all numbers of a schema together, where nobody says how many."""


@dataclass(frozen=True)
class Schema:
    """Columns in the order of the encoded matrix, the target, and what becomes of missing values.

    Attributes
    ----------
    columns : tuple of columns
        `Numeric`, `Boolean`, `Categorical`, `Ordered` or `Ignored`, or `Unbounded` until its bounds are released; in
        the order of the features.
    target : Target or NumericTarget
        What is to be predicted: a class or a number.
    missing : {"error", "zero", "drop"}, default="error"
        What becomes of a row with a missing value.
    missing_values : tuple of str
        How missing values are spelled.
    person : str or None
        The column that says whose row it is, where persons have several.
    bounds : tuple of BoundsCharge
        What it cost to release bounds that were not known; empty where all are public.

    Privacy
    -------
    Data-independent, as long as nobody reads bounds, categories or classes from the records; post-processing of a
    release that is charged where ``bounds`` says so.
    """

    columns: tuple[Column, ...]
    target: Target | NumericTarget
    missing: Missing = "error"
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "?")
    person: str | None = None
    bounds: tuple[BoundsCharge, ...] = ()

    def __post_init__(self) -> None:
        if self.person is not None and self.bounds:
            raise SchemaError(OF_SINGLE_ROWS, ("bounds",))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features, in order."""
        self._refuse_unbounded()
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def variables(self) -> tuple[str, ...]:
        """The name of the column of every feature, in order: features of one column are one variable."""
        return tuple(feature.column for feature in self.features)

    @property
    def used(self) -> tuple[UsedColumn, ...]:
        """The columns that are not ignored."""
        self._refuse_unbounded()
        return tuple(column for column in self.columns if not isinstance(column, Ignored | Unbounded))

    @property
    def unbounded(self) -> tuple[Unbounded, ...]:
        """The columns whose range is private and has not been released; with them nothing can be encoded."""
        return tuple(column for column in self.columns if isinstance(column, Unbounded))

    def _refuse_unbounded(self) -> None:
        if self.unbounded:
            raise fields.together([SchemaError(_NO_BOUNDS, _range_of(column.name)) for column in self.unbounded])

    def with_ranges(self, ranges: Mapping[str, tuple[float, float]], *charges: BoundsCharge) -> Self:
        """Return the same schema with bounds for columns that had none, and what they cost.

        Parameters
        ----------
        ranges : mapping of str to pairs of float
            Lower and upper bound by name.
        *charges : BoundsCharge
            What the release of these bounds cost.

        Privacy
        -------
        Post-processing.
        """
        columns = tuple(
            column.between(*ranges[column.name])
            if isinstance(column, Unbounded) and column.name in ranges
            else column
            for column in self.columns
        )
        return replace(self, columns=columns, bounds=(*self.bounds, *charges))

    def at_limits(self) -> Self:
        """Return the same schema with known limits in place of bounds that are not: for checks before a release.

        Privacy
        -------
        Data-independent.
        """
        return self.with_ranges({column.name: (column.lowest, column.highest) for column in self.unbounded})

    def refuse_persons(self, what: str) -> None:
        """Say that something which protects single rows is not for tables in which persons have several.

        Privacy
        -------
        Data-independent.
        """
        if self.person is not None:
            raise SchemaError(
                f"the schema says whose row each row is, by the column {self.person!r}, and {what} protects single "
                "rows only; use a table with one row of each person and a schema without [person]"
            )

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the columns that a fit or an evaluation reads beside the features': target, and person if any."""
        return (self.target.name,) if self.person is None else (self.target.name, self.person)

    def with_steps(self, count: int | None = None, spacing: Spacing = "even") -> Self:
        """Return the same schema with steps for every number that has no cut points yet, and every ordered column.

        Parameters
        ----------
        count : int, optional
            Cut points of a number at most; between whole bounds there is no more than one for each whole number. By
            default 255, or fewer where that would make more than 1,500 of all numbers together.
        spacing : {"even", "log"}, default="even"
            How they are spread between the bounds; see `hardzero.schema.cuts.spread_cuts`.

        Returns
        -------
        Schema
            Columns that list cut points keep theirs.

        Privacy
        -------
        Data-independent: cut points come from the public bounds.
        """
        checks.choice("spacing", spacing, get_args(Spacing))
        self._refuse_unbounded()
        numbers = [column for column in self.columns if isinstance(column, Numeric) and not column.cuts]
        if count is None:
            count = max(min(DEFAULT_CUTS, DEFAULT_STEPS // max(len(numbers), 1)), 1)
        checks.whole_within("count", count, 1, MOST_CUTS)
        columns: list[Column] = []
        for column in self.columns:
            if isinstance(column, Numeric) and not column.cuts:
                columns.append(replace(column, cuts=spread_cuts(column.lower, column.upper, count, spacing)))
            else:
                columns.append(replace(column, steps=True) if isinstance(column, Ordered) else column)
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as the nested dictionary that a file holds: texts, numbers, truth values and lists.

        Privacy
        -------
        Data-independent.
        """
        missing = {"policy": self.missing, "values": list(self.missing_values)}
        bounds = {"bounds": charges_to_dict(self.bounds)} if self.bounds else {}
        return {
            "target": self.target.to_dict(),
            "missing": missing,
            **({} if self.person is None else {"person": {"column": self.person}}),
            **bounds,
            "columns": {column.name: _column_entry(column) for column in self.columns},
        }

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Check a nested dictionary and return the schema it describes; inverse of `to_dict`.

        Raises
        ------
        SchemaError
            With everything that is wrong, and the path of each entry.

        Privacy
        -------
        Data-independent.
        """
        keys = ("target", "missing", "person", "bounds", "columns")
        entry, strange = fields.understood(content, (), keys, dict.fromkeys(("weight", "weights"), _NO_WEIGHTS))
        target_name = entry["target"].get("name") if isinstance(entry.get("target"), dict) else None
        target, (policy, values), columns, person = fields.all_of(
            (
                lambda: parse_target(fields.needed(entry, "target", (), f"add a table [target] with {TARGET_KEYS}")),
                lambda: entries.parse_missing(entry.get("missing", {}), cls.missing, cls.missing_values),
                lambda: entries.parse_columns(
                    fields.needed(entry, "columns", (), "add a table [columns.NAME] for each column"), target_name
                ),
                lambda: entries.parse_person(entry.get("person"), target_name, entry.get("columns")),
            ),
            strange,
        )
        numeric = [column.name for column in columns if isinstance(column, Numeric | Unbounded)]
        return cls(columns, target, policy, values, person, parse_charges(entry.get("bounds", {}), numeric))


_NO_WEIGHTS = (
    "survey weights are not supported: a weight multiplies what its row adds, so that its bounds would have to be "
    "public and the noise proved to cover the heaviest row; leave it out, and the model describes the people in the "
    "sample, not the population that they stand for"
)


_NO_BOUNDS = (
    "is private, and no bounds have been released: release them with `hardzero bounds`, or with --bounds-epsilon of "
    "`hardzero fit`, or private_bounds in Python; or, if bounds are known, write lower and upper in place of range"
)


def _range_of(column: str) -> fields.Path:
    return ("columns", column, "range")


def _column_entry(column: Column) -> dict[str, Any]:
    """Return what a file says of a column; what is as it is by default is left out."""
    match column:
        case Numeric():
            entry = {"type": "numeric", "lower": column.lower, "upper": column.upper, "unit": column.unit}
            entry |= {"cuts": list(column.cuts) or None, "quantiles": column.quantiles or None}
            entry |= {"monotone": column.monotone}
        case Unbounded():
            entry = {"type": "numeric", "range": "private", "lower": column.lowest, "upper": column.highest}
            entry |= {"unit": column.unit, "cuts": column.cuts or None}
            entry |= {"spacing": column.spacing if column.cuts else None, "quantiles": column.quantiles or None}
            entry |= {"monotone": column.monotone}
        case Boolean():
            entry = {"type": "boolean", "true": column.true, "false": column.false}
        case Categorical():
            entry = {"type": "categorical", "values": list(column.values), "other": None if column.other else False}
        case Ordered():
            entry = {"type": "ordered", "values": list(column.values)}
            entry |= {"steps": column.steps or None, "monotone": column.monotone}
        case Ignored():
            entry = {"type": "ignored"}
    return {key: value for key, value in entry.items() if value is not None}
