"""What is publicly known about a table: its columns, their bounds and categories, and what is to be predicted.

Nothing in a schema comes from the records. It is written down beforehand, from knowledge of the variables, and is
all that an encoder may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, cast, get_args

from .. import checks
from . import fields
from .cuts import MOST_CUTS, Spacing, parse_cuts, spread_cuts
from .fields import Path, SchemaError
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
    Target,
    UsedColumn,
)

__all__ = [
    "DEFAULT_CUTS",
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
    "Ordered",
    "Schema",
    "Target",
    "UsedColumn",
]

MOST_COLUMNS = 100_000
"""More than that are not for a schema."""

MOST_FEATURES = 1_000_000
"""Features of a schema at most: a short file can ask for many cut points."""

DEFAULT_CUTS = 127
"""Cut points of a number that is to have steps and lists none: 128 pieces, of which neighbours differ little."""

Missing = Literal["error", "zero", "drop"]


@dataclass(frozen=True)
class Schema:
    """Columns in the order of the encoded matrix, the target, and what becomes of missing values.

    Attributes
    ----------
    columns : tuple of columns
        `Numeric`, `Boolean`, `Categorical`, `Ordered` or `Ignored`, in the order of the features.
    target : Target
        What is to be predicted.
    missing : {"error", "zero", "drop"}, default="error"
        What becomes of a row with a missing value.
    missing_values : tuple of str
        How missing values are spelled.

    Privacy
    -------
    Data-independent, as long as nobody reads bounds, categories or classes from the records.
    """

    columns: tuple[Column, ...]
    target: Target
    missing: Missing = "error"
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "?")

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def variables(self) -> tuple[str, ...]:
        """The name of the column of every feature, in order: features of one column are one variable."""
        return tuple(feature.column for feature in self.features)

    @property
    def used(self) -> tuple[UsedColumn, ...]:
        """The columns that are not ignored."""
        return tuple(column for column in self.columns if not isinstance(column, Ignored))

    def with_steps(self, count: int = DEFAULT_CUTS, spacing: Spacing = "even") -> Self:
        """Return the same schema with steps for every number that has no cut points yet, and every ordered column.

        Parameters
        ----------
        count : int, default=127
            Cut points of a number at most; between whole bounds there is no more than one for each whole number.
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
        checks.whole_within("count", count, 1, MOST_CUTS)
        checks.choice("spacing", spacing, get_args(Spacing))
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
        target = {"name": self.target.name, "classes": list(self.target.classes), "positive": self.target.positive}
        missing = {"policy": self.missing, "values": list(self.missing_values)}
        return {
            "target": target,
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
        _refuse_weights(content)
        entry = fields.table(content, (), ("target", "missing", "columns"))
        target = _parse_target(
            fields.needed(entry, "target", (), "add a table [target] with name, classes and positive")
        )
        missing = fields.table(entry.get("missing", {}), ("missing",), ("policy", "values"))
        columns = _parse_columns(
            fields.needed(entry, "columns", (), "add a table [columns.NAME] for each column"), target
        )
        policy = fields.choice(missing.get("policy", cls.missing), ("missing", "policy"), get_args(Missing))
        values = cls.missing_values
        if "values" in missing:
            values = fields.strings(missing["values"], ("missing", "values"), at_least=0, empty_allowed=True)
        return cls(columns, target, cast(Missing, policy), values)


_KEYS: Mapping[str, tuple[str, ...]] = {
    "numeric": ("type", "lower", "upper", "unit", "cuts", "spacing", "monotone"),
    "boolean": ("type", "true", "false"),
    "categorical": ("type", "values", "other"),
    "ordered": ("type", "values", "steps", "monotone"),
    "ignored": ("type",),
}


def _column_entry(column: Column) -> dict[str, Any]:
    """Return what a file says of a column; what is as it is by default is left out."""
    match column:
        case Numeric():
            entry = {"type": "numeric", "lower": column.lower, "upper": column.upper, "unit": column.unit}
            entry |= {"cuts": list(column.cuts) or None, "monotone": column.monotone}
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


def _refuse_weights(content: Any) -> None:
    for key in ("weight", "weights"):
        if isinstance(content, dict) and key in content:
            raise SchemaError(
                "survey weights are not supported: a weight multiplies what its row adds, so that its bounds would "
                "have to be public and the noise proved to cover the heaviest row; leave it out, and the model "
                "describes the people in the sample, not the population that they stand for",
                (key,),
            )


def _parse_target(content: Any) -> Target:
    path = ("target",)
    entry = fields.table(content, path, ("name", "classes", "positive"))
    name = fields.string(fields.needed(entry, "name", path, "name the column to predict"), (*path, "name"))
    hint = "list every label that can occur, known without looking at the data"
    classes = fields.strings(fields.needed(entry, "classes", path, hint), (*path, "classes"), at_least=2)
    positive = fields.string(
        fields.needed(entry, "positive", path, "name the class that weights speak for"), (*path, "positive")
    )
    if positive not in classes:
        raise SchemaError(f"is not among the classes; use one of {fields.listed(classes)}", (*path, "positive"))
    return Target(name, classes, positive)


def _parse_columns(content: Any, target: Target) -> tuple[Column, ...]:
    if not isinstance(content, dict):
        raise SchemaError("must be a table with one entry for each column", ("columns",))
    if len(content) > MOST_COLUMNS:
        raise SchemaError(f"has {len(content):,} columns; a schema can have {MOST_COLUMNS:,}", ("columns",))
    columns = []
    owners: dict[str, str] = {}
    for name, entry in content.items():
        path = ("columns", fields.string(name, ("columns",)))
        if name == target.name:
            raise SchemaError("is the target and cannot be a feature as well; remove this entry", path)
        columns.append(_parse_column(name, entry, path))
        for feature in columns[-1].features:
            if (other := owners.setdefault(feature.name, name)) != name:
                raise SchemaError(f"gives a feature {feature.name!r}, as column {other!r} does; rename one", path)
        if len(owners) > MOST_FEATURES:
            raise SchemaError(
                f"brings more than {MOST_FEATURES:,} features together with those above; use fewer cut points", path
            )
    if not owners:
        raise SchemaError("has no column that gives a feature; describe at least one", ("columns",))
    return tuple(columns)


def _parse_column(name: str, content: Any, path: Path) -> Column:
    if not isinstance(content, dict):
        raise SchemaError(f"must be a table with a type, one of {fields.listed(_KEYS)}", path)
    kind = fields.needed(content, "type", path, f"write one of {fields.listed(_KEYS)}")
    if kind == "":
        raise SchemaError(f"is not filled in; write one of {fields.listed(_KEYS)}", (*path, "type"))
    fields.choice(kind, (*path, "type"), _KEYS)
    for key in content:
        if key not in _KEYS[kind] and (others := [other for other, keys in _KEYS.items() if key in keys]):
            raise SchemaError(
                f"is for columns of the type {fields.listed(others)}; remove it, or change the type", (*path, key)
            )
    entry = fields.table(content, path, _KEYS[kind])
    match kind:
        case "numeric":
            return _parse_numeric(name, entry, path)
        case "boolean":
            true, false = (fields.string(entry.get(key, key), (*path, key)) for key in ("true", "false"))
            if true == false:
                raise SchemaError("is spelled as true is; give them different spellings", (*path, "false"))
            return Boolean(name, true, false)
        case "ignored":
            return Ignored(name)
    hint = "list the values that can occur, known without looking at the data"
    values = fields.needed(entry, "values", path, hint)
    if kind == "ordered":
        return Ordered(
            name,
            fields.strings(values, (*path, "values"), at_least=2),
            fields.flag(entry.get("steps", False), (*path, "steps")),
            _parse_direction(entry, path),
        )
    other = fields.flag(entry.get("other", True), (*path, "other"))
    return Categorical(name, fields.strings(values, (*path, "values"), at_least=1), other)


def _parse_direction(entry: dict[str, Any], path: Path) -> Direction | None:
    if "monotone" not in entry:
        return None
    return cast(Direction, fields.choice(entry["monotone"], (*path, "monotone"), get_args(Direction)))


def _parse_numeric(name: str, entry: dict[str, Any], path: Path) -> Numeric:
    lower, upper = (
        fields.number(
            fields.needed(entry, side, path, f"write the {word} value that the variable can take"),
            (*path, side),
            word,
        )
        for side, word in (("lower", "smallest"), ("upper", "largest"))
    )
    if lower >= upper:
        raise SchemaError(f"must be below upper, but {lower:g} is not below {upper:g}", (*path, "lower"))
    if upper - lower < fields.SMALLEST_WIDTH:
        raise SchemaError("is too close to upper for double precision; use another unit", (*path, "lower"))
    unit = fields.string(entry["unit"], (*path, "unit")) if "unit" in entry else None
    cuts = parse_cuts(entry, lower, upper, path)
    return Numeric(name, lower, upper, unit, cuts, _parse_direction(entry, path))
