"""From the entries of a schema file to columns and what becomes of missing values, with all that is wrong at once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Literal, cast, get_args

from . import fields
from .cuts import parse_cuts, parse_quantiles
from .fields import Path, SchemaError
from .kinds import WIDE, Boolean, Categorical, Column, Direction, Feature, Ignored, Numeric, Ordered, Unbounded

MOST_COLUMNS = 100_000
"""More than that are not for a schema."""

MOST_FEATURES = 1_000_000
"""Features of a schema at most: a short file can ask for many cut points."""

Missing = Literal["error", "zero", "drop"]

_KEYS: Mapping[str, tuple[str, ...]] = {
    "numeric": ("type", "range", "lower", "upper", "unit", "cuts", "spacing", "quantiles", "monotone"),
    "boolean": ("type", "true", "false"),
    "categorical": ("type", "values", "other"),
    "ordered": ("type", "values", "steps", "monotone"),
    "ignored": ("type",),
}
_OF_OTHER_TYPES = {
    key: f"is for columns of the type {fields.listed(kind for kind in _KEYS if key in _KEYS[kind])}; "
    "remove it, or change the type"
    for keys in _KEYS.values()
    for key in keys
}


def keys_of(kind: str) -> tuple[str, ...]:
    """Return what can be said of a column of this type.

    Privacy
    -------
    Data-independent.
    """
    return _KEYS[kind]


def parse_missing(
    content: Any, usual_policy: Missing, usual_values: tuple[str, ...]
) -> tuple[Missing, tuple[str, ...]]:
    """Return what becomes of missing values and how they are spelled; the usual, where an entry does not say.

    Raises
    ------
    SchemaError
        With everything that is wrong.

    Privacy
    -------
    Data-independent.
    """
    path = ("missing",)
    entry, strange = fields.understood(content, path, ("policy", "values"))
    spelled = entry.get("values", list(usual_values))
    policy, values = fields.all_of(
        (
            lambda: fields.choice(entry.get("policy", usual_policy), (*path, "policy"), get_args(Missing)),
            lambda: fields.strings(spelled, (*path, "values"), at_least=0, empty_allowed=True),
        ),
        strange,
    )
    return policy, values


def parse_person(content: Any, target_name: Any, columns: Any) -> str | None:
    """Return the column that says whose row it is, if an entry names one; it is no feature and no target.

    Raises
    ------
    SchemaError
        With what is wrong.

    Privacy
    -------
    Data-independent.
    """
    if content is None:
        return None
    path = ("person",)
    entry, strange = fields.understood(content, path, ("column",))
    (name,) = fields.all_of(
        (
            lambda: fields.string(
                fields.needed(entry, "column", path, "name the column that says whose row it is"), (*path, "column")
            ),
        ),
        strange,
    )
    described = columns.get(name) if isinstance(columns, dict) else None
    if name == target_name:
        raise SchemaError("is the target; name the column that says whose row it is", (*path, "column"))
    if isinstance(described, dict) and described.get("type") != "ignored":
        raise SchemaError(
            "is described as a feature as well, which would tell persons apart; remove that entry, or ignore it",
            (*path, "column"),
        )
    return cast(str, name)


def parse_columns(content: Any, target_name: Any) -> tuple[Column, ...]:
    """Return the columns that the entries of a schema describe, none of which may be the target.

    Raises
    ------
    SchemaError
        With everything that is wrong, up to the column that brings too many features.

    Privacy
    -------
    Data-independent.
    """
    if not isinstance(content, dict):
        raise SchemaError("must be a table with one entry for each column", ("columns",))
    if len(content) > MOST_COLUMNS:
        raise SchemaError(f"has {len(content):,} columns; a schema can have {MOST_COLUMNS:,}", ("columns",))
    owners: dict[str, str] = {}
    # Nothing behind the column with too many features is looked at: a short file could ask for hours of work.
    within_limits = takewhile(lambda _: len(owners) <= MOST_FEATURES, content.items())
    columns = fields.each(lambda item: _parse_named(*item, target_name, owners), within_limits)
    if not owners:
        raise SchemaError("has no column that gives a feature; describe at least one", ("columns",))
    return tuple(columns)


def _parse_named(name: Any, content: Any, target_name: Any, owners: dict[str, str]) -> Column:
    path = ("columns", fields.string(name, ("columns",)))
    if name == target_name:
        raise SchemaError("is the target and cannot be a feature as well; remove this entry", path)
    column = _parse_column(name, content, path)
    fields.each(lambda feature: _own(feature, owners, path), column.features)
    if len(owners) > MOST_FEATURES:
        raise SchemaError(
            f"brings more than {MOST_FEATURES:,} features together with those above; use fewer cut points", path
        )
    return column


def _own(feature: Feature, owners: dict[str, str], path: Path) -> None:
    """Note whose feature it is, or refuse it if another column has one of that name."""
    if (other := owners.setdefault(feature.name, feature.column)) != feature.column:
        raise SchemaError(f"gives a feature {feature.name!r}, as column {other!r} does; rename one", path)


def _parse_column(name: str, content: Any, path: Path) -> Column:
    if not isinstance(content, dict):
        raise SchemaError(f"must be a table with a type, one of {fields.listed(_KEYS)}", path)
    kind = fields.needed(content, "type", path, f"write one of {fields.listed(_KEYS)}")
    if kind == "":
        raise SchemaError(f"is not filled in; write one of {fields.listed(_KEYS)}", (*path, "type"))
    fields.choice(kind, (*path, "type"), _KEYS)
    entry, strange = fields.understood(content, path, _KEYS[kind], _OF_OTHER_TYPES)
    (column,) = fields.all_of((lambda: _parse_typed(kind, name, entry, path),), strange)
    return cast(Column, column)


def _parse_typed(kind: str, name: str, entry: dict[str, Any], path: Path) -> Column:
    match kind:
        case "numeric":
            return _parse_numeric(name, entry, path)
        case "boolean":
            true, false = fields.each(lambda key: fields.string(entry.get(key, key), (*path, key)), ("true", "false"))
            if true == false:
                raise SchemaError("is spelled as true is; give them different spellings", (*path, "false"))
            return Boolean(name, true, false)
        case "categorical":
            return Categorical(
                name,
                *fields.all_of(
                    (lambda: _parse_values(entry, path, 1), lambda: _parse_flag(entry, "other", path, True))
                ),
            )
        case "ordered":
            return Ordered(
                name,
                *fields.all_of(
                    (
                        lambda: _parse_values(entry, path, 2),
                        lambda: _parse_flag(entry, "steps", path, False),
                        lambda: _parse_direction(entry, path),
                    )
                ),
            )
    return Ignored(name)


def _parse_values(entry: dict[str, Any], path: Path, at_least: int) -> tuple[str, ...]:
    hint = "list the values that can occur, known without looking at the data"
    return fields.strings(fields.needed(entry, "values", path, hint), (*path, "values"), at_least=at_least)


def _parse_flag(entry: dict[str, Any], key: str, path: Path, usual: bool) -> bool:
    return fields.flag(entry.get(key, usual), (*path, key))


def _parse_direction(entry: dict[str, Any], path: Path) -> Direction | None:
    if "monotone" not in entry:
        return None
    return cast(Direction, fields.choice(entry["monotone"], (*path, "monotone"), get_args(Direction)))


def _parse_numeric(name: str, entry: dict[str, Any], path: Path) -> Numeric | Unbounded:
    if "range" in entry:
        return _parse_unbounded(name, entry, path)
    lower, upper = fields.WIDEST_BOUNDS

    def bounds() -> str | None:
        nonlocal lower, upper  # which stay as wide as can be if they are wrong, so that cut points are checked anyway
        lower, upper, unit = fields.bounds_and_unit(entry, path)
        return unit

    unit, cuts, quantiles, monotone = fields.all_of(
        (
            bounds,
            lambda: parse_cuts(entry, lower, upper, path),
            lambda: parse_quantiles(entry, path),
            lambda: _parse_direction(entry, path),
        )
    )
    return Numeric(name, lower, upper, unit, cuts, monotone, quantiles)


def _parse_unbounded(name: str, entry: dict[str, Any], path: Path) -> Unbounded:
    """Return a number of which the entry knows limits at most, its lower and upper."""
    limits = {"lower": entry.get("lower", -WIDE), "upper": entry.get("upper", WIDE)}
    _, (lowest, highest, unit), cuts, quantiles, monotone = fields.all_of(
        (
            lambda: _check_range(entry, path),
            lambda: fields.bounds_and_unit({**entry, **limits}, path),
            lambda: _parse_cut_count(entry, path),
            lambda: parse_quantiles(entry, path),
            lambda: _parse_direction(entry, path),
        )
    )
    return Unbounded(name, lowest, highest, unit, cuts, entry.get("spacing") or "even", monotone, quantiles)


def _check_range(entry: dict[str, Any], path: Path) -> None:
    if entry["range"] != "private":
        raise SchemaError(
            'must be "private", for bounds that a release will tell; bounds that are known are lower and upper',
            (*path, "range"),
        )


def _parse_cut_count(entry: dict[str, Any], path: Path) -> int:
    if isinstance(entry.get("cuts"), list):
        raise SchemaError(
            "lists cut points, which need no released bounds; remove range, and write lower below the first of them "
            "and upper at or above the last",
            (*path, "cuts"),
        )
    parse_cuts(entry, *fields.WIDEST_BOUNDS, path)
    return cast(int, entry.get("cuts", 0))
