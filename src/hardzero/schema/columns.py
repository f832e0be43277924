"""What is publicly known about a table: its columns, their bounds and categories, and what is to be predicted.

Nothing in a schema comes from the records. It is written down beforehand, from knowledge of the variables, and is
all that an encoder may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from . import fields
from .fields import Path, SchemaError
from .target import TARGET_KEYS, NumericTarget, Target, parse_target

OTHER = "other"
"""Stands for every value that the schema does not list."""

MOST_COLUMNS = 100_000
"""More than that are not for a schema."""


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix.

    ``category`` is None for a number, encoded as (x - offset)/scale clipped to [-1, 1]; for an indicator it is the
    category for which the feature is 1, else 0.
    """

    name: str
    column: str
    category: str | None = None
    offset: float = 0.0
    scale: float = 1.0
    unit: str | None = None


@dataclass(frozen=True)
class Numeric:
    """A number between public bounds."""

    name: str
    lower: float
    upper: float
    unit: str | None = None

    @property
    def features(self) -> tuple[Feature, ...]:
        """One feature in [-1, 1]; zero stays zero where the bounds include it, so that sparse columns stay sparse."""
        if self.lower <= 0 <= self.upper:
            offset, scale = 0.0, max(abs(self.lower), abs(self.upper))
        else:
            offset, scale = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        return (Feature(self.name, self.name, None, offset, scale or 1.0, self.unit),)


@dataclass(frozen=True)
class Boolean:
    """A yes or a no."""

    name: str
    true: str = "true"
    false: str = "false"

    @property
    def features(self) -> tuple[Feature, ...]:
        """One indicator."""
        return (Feature(self.name, self.name, self.true),)


@dataclass(frozen=True)
class _OneOf:
    """What columns with listed values have."""

    name: str
    values: tuple[str, ...]


class Categorical(_OneOf):
    """One of several values; others fall into a column of their own."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """One indicator for each value, and one for all others, which a listed value "other" joins."""
        listed = (value for value in self.values if value != OTHER)
        return tuple(Feature(f"{self.name}={value}", self.name, value) for value in (*listed, OTHER))


class Ordered(_OneOf):
    """One of several values with an order: encoded by rank, evenly from 0 to 1."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """One feature, the rank."""
        return (Feature(self.name, self.name, None, 0.0, max(len(self.values) - 1, 1), "rank"),)


@dataclass(frozen=True)
class Ignored:
    """A column that is not used."""

    name: str

    @property
    def features(self) -> tuple[Feature, ...]:
        """None."""
        return ()


UsedColumn = Numeric | Boolean | Categorical | Ordered
Column = UsedColumn | Ignored


Missing = Literal["error", "zero", "drop"]


@dataclass(frozen=True)
class Schema:
    """Columns in the order of the encoded matrix, the target, and what becomes of missing values.

    Attributes
    ----------
    columns : tuple of columns
        `Numeric`, `Boolean`, `Categorical`, `Ordered` or `Ignored`, in the order of the features.
    target : Target or NumericTarget
        What is to be predicted: a class or a number.
    missing : {"error", "zero", "drop"}, default="error"
        What becomes of a row with a missing value.
    missing_values : tuple of str
        How missing values are spelled.

    Privacy
    -------
    Data-independent, as long as nobody reads bounds, categories or classes from the records.
    """

    columns: tuple[Column, ...]
    target: Target | NumericTarget
    missing: Missing = "error"
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "?")

    @property
    def features(self) -> tuple[Feature, ...]:
        """All features, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def used(self) -> tuple[UsedColumn, ...]:
        """The columns that are not ignored."""
        return tuple(column for column in self.columns if not isinstance(column, Ignored))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as the nested dictionary that a file holds: strings, numbers and lists only.

        Privacy
        -------
        Data-independent.
        """
        missing = {"policy": self.missing, "values": list(self.missing_values)}
        return {
            "target": self.target.to_dict(),
            "missing": missing,
            "columns": {column.name: _column_entry(column) for column in self.columns},
        }

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Check a nested dictionary and return the schema it describes; inverse of `to_dict`.

        Raises
        ------
        SchemaError
            With the path of the entry that is wrong.

        Privacy
        -------
        Data-independent.
        """
        entry, strange = fields.understood(content, (), ("target", "missing", "columns"))
        target_name = entry["target"].get("name") if isinstance(entry.get("target"), dict) else None
        target, (policy, values), columns = fields.all_of(
            (
                lambda: parse_target(fields.needed(entry, "target", (), f"add a table [target] with {TARGET_KEYS}")),
                lambda: _parse_missing(entry.get("missing", {})),
                lambda: _parse_columns(
                    fields.needed(entry, "columns", (), "add a table [columns.NAME] for each column"), target_name
                ),
            ),
            strange,
        )
        return cls(columns, target, policy, values)


_KEYS: Mapping[str, tuple[str, ...]] = {
    "numeric": ("type", "lower", "upper", "unit"),
    "boolean": ("type", "true", "false"),
    "categorical": ("type", "values"),
    "ordered": ("type", "values"),
    "ignored": ("type",),
}


def _column_entry(column: Column) -> dict[str, Any]:
    match column:
        case Numeric():
            unit = {} if column.unit is None else {"unit": column.unit}
            return {"type": "numeric", "lower": column.lower, "upper": column.upper, **unit}
        case Boolean():
            return {"type": "boolean", "true": column.true, "false": column.false}
        case Categorical():
            return {"type": "categorical", "values": list(column.values)}
        case Ordered():
            return {"type": "ordered", "values": list(column.values)}
        case Ignored():
            return {"type": "ignored"}


def _parse_missing(content: Any) -> tuple[Missing, tuple[str, ...]]:
    entry, strange = fields.understood(content, ("missing",), ("policy", "values"))
    policy, values = fields.all_of(
        (
            lambda: _parse_policy(entry.get("policy", Schema.missing)),
            lambda: fields.strings(
                entry.get("values", list(Schema.missing_values)),
                ("missing", "values"),
                at_least=0,
                empty_allowed=True,
            ),
        ),
        strange,
    )
    return policy, values


def _parse_policy(policy: Any) -> Missing:
    if policy not in get_args(Missing):
        known = get_args(Missing)
        raise SchemaError(
            f"must be one of {fields.listed(known)}{fields.did_you_mean(policy, known)}", ("missing", "policy")
        )
    return policy  # type: ignore[no-any-return]


def _parse_columns(content: Any, target_name: Any) -> tuple[Column, ...]:
    if not isinstance(content, dict):
        raise SchemaError("must be a table with one entry for each column", ("columns",))
    if len(content) > MOST_COLUMNS:
        raise SchemaError(f"has {len(content):,} columns; a schema can have {MOST_COLUMNS:,}", ("columns",))
    columns = fields.each(lambda item: _parse_named(*item, target_name), content.items())
    owners: dict[str, str] = {}
    repeated = []
    for feature in (feature for column in columns for feature in column.features):
        if feature.name in owners:
            other = owners[feature.name]
            problem = f"gives a feature {feature.name!r}, as column {other!r} does; rename one"
            repeated.append(SchemaError(problem, ("columns", feature.column)))
        owners.setdefault(feature.name, feature.column)
    if repeated:
        raise fields.together(repeated)
    if not owners:
        raise SchemaError("has no column that gives a feature; describe at least one", ("columns",))
    return tuple(columns)


def _parse_named(name: Any, content: Any, target_name: Any) -> Column:
    path = ("columns", fields.string(name, ("columns",)))
    if name == target_name:
        raise SchemaError("is the target and cannot be a feature as well; remove this entry", path)
    return _parse_column(name, content, path)


def _parse_column(name: str, content: Any, path: Path) -> Column:
    if not isinstance(content, dict):
        raise SchemaError(f"must be a table with a type, one of {fields.listed(_KEYS)}", path)
    kind = fields.needed(content, "type", path, f"write one of {fields.listed(_KEYS)}")
    if kind == "":
        raise SchemaError(f"is not filled in; write one of {fields.listed(_KEYS)}", (*path, "type"))
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SchemaError(f"must be one of {fields.listed(_KEYS)}{fields.did_you_mean(kind, _KEYS)}", (*path, "type"))
    entry, strange = fields.understood(content, path, _KEYS[kind])
    (column,) = fields.all_of((lambda: _parse_typed(kind, name, entry, path),), strange)
    return column  # type: ignore[no-any-return]


def _parse_typed(kind: str, name: str, entry: dict[str, Any], path: Path) -> Column:
    if kind == "numeric":
        return _parse_numeric(name, entry, path)
    if kind == "boolean":
        true, false = fields.each(lambda key: fields.string(entry.get(key, key), (*path, key)), ("true", "false"))
        if true == false:
            raise SchemaError("is spelled as true is; give them different spellings", (*path, "false"))
        return Boolean(name, true, false)
    if kind == "ignored":
        return Ignored(name)
    hint = "list the values that can occur, known without looking at the data"
    values = fields.needed(entry, "values", path, hint)
    if kind == "ordered":
        return Ordered(name, fields.strings(values, (*path, "values"), at_least=2))
    return Categorical(name, fields.strings(values, (*path, "values"), at_least=1))


def _parse_numeric(name: str, entry: dict[str, Any], path: Path) -> Numeric:
    lower, upper, unit = fields.bounds_and_unit(entry, path)
    return Numeric(name, lower, upper, unit)


def keys_of(kind: str) -> tuple[str, ...]:
    """Return what can be said of a column of this type.

    Privacy
    -------
    Data-independent.
    """
    return _KEYS[kind]
