"""Reading a model file: every field by its type, and the parts against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.bounded import FloatArray
from ..ledger.units import Unit
from ..schema.columns import Feature, Schema
from .composed import includes_released_bounds
from .fields import Field, ModelFileError
from .inference_json import inference_from_field
from .source import Label, Pair, bounds_of_schema
from .statement_json import statement_from_field

FORMAT = "hardzero-model"
VERSION = 6
"""What is written; every version from 1 on can be read.

Version 2 added the number of rows to the privacy statement, version 3 how sure each weight is, version 4 the cut
points of steps and how sure whole variables are, version 5 the ledger's entry,
version 6 whom the guarantee is about, one row or all rows of a person, and whose rows are a person's."""

_KEYS = (
    "format",
    "version",
    "hardzero",
    "method",
    "parameters",
    "classes",
    "positive",
    "features",
    "coefficients",
    "schema",
    "privacy",
)
_SINCE_VERSION_3 = ("inference",)
_FEATURE_KEYS = ("name", "column", "category", "offset", "scale", "unit", "lower", "upper")
_FEATURE_KEYS_SINCE_VERSION_4 = ("cut",)
_AGREEMENT = 1e-9
"""How closely two ways to write the same weights must agree."""


def read_parts(field: Field) -> dict[str, Any]:
    """Return the parts of a model, checked.

    Privacy
    -------
    Post-processing.
    """
    version = _read_version(field)
    entries = field.object(_KEYS + (_SINCE_VERSION_3 if version > 2 else ()))
    classes = _read_classes(entries["classes"], entries["positive"])
    described = [_read_feature(feature, version) for feature in entries["features"].items()]
    if not described:
        entries["features"].fail("must not be empty")
    features, bounds = tuple(f for f, _ in described), tuple(b for _, b in described)
    coef, intercept = _read_weights(entries["coefficients"], len(classes), features)
    scale = np.array([feature.scale for feature in features])
    parameters = {
        _read_name(Field(name, f"the parameter's name {name!r}")): entry.plain()
        for name, entry in entries["parameters"].entries().items()
    }
    privacy = statement_from_field(entries["privacy"], version, parameters.get("calibration"))
    schema = _read_schema(entries["schema"], classes, features, bounds, privacy.unit)
    if not includes_released_bounds(privacy, schema):
        entries["privacy"].fail("leaves out what the schema says that its bounds cost")
    return {
        "method": _read_name(entries["method"]),
        "parameters": parameters,
        "classes": classes,
        "features": features,
        "bounds": bounds,
        "coef_scaled": tuple(tuple(row) for row in coef.tolist()),
        "intercept_scaled": tuple(intercept.tolist()),
        "privacy": privacy,
        "schema": schema,
        "hardzero_version": entries["hardzero"].text(),
        "inference_scaled": inference_from_field(entries.get("inference", Field(None, "")), coef, scale, version),
    }


def _read_version(field: Field) -> int:
    """Look at format and version first: of a file from elsewhere nothing else needs to be said."""
    entries = field.entries()
    if "format" not in entries or entries["format"].value != FORMAT:
        field.fail(f"is not a model file: its format is not {FORMAT!r}")
    if "version" not in entries:
        field.fail("has no version")
    version = entries["version"].whole(at_least=1)
    if version > VERSION:
        entries["version"].fail(f"is {version}; this hardzero reads versions 1 to {VERSION}")
    return version


def _read_name(field: Field) -> str:
    """Names of Python's, and nothing that could be mistaken for code where a report shows how to run a fit again."""
    name = field.text()
    if not name.isidentifier():
        field.fail("must be a name: letters, digits and underscores")
    return name


def _read_classes(field: Field, positive: Field) -> tuple[Label, ...]:
    labels = read_labels(field)
    if len(labels) == 1:
        field.fail("must hold two labels or more, or none for a regression")
    expected = labels[1] if len(labels) == 2 else None
    if type(positive.value) is not type(expected) or positive.value != expected:
        positive.fail("must be the second of two classes, else null")
    return labels


def read_labels(field: Field) -> tuple[Label, ...]:
    """Return labels of one type, none of them twice.

    Privacy
    -------
    Post-processing.
    """
    labels: list[Label] = []
    for item in field.items():
        if not isinstance(item.value, str | int | float):
            item.fail("must be text, a number, or true or false")
        labels.append(item.plain())
    if len({type(label) for label in labels}) > 1:
        field.fail("must all be of one type")
    if len(set(labels)) < len(labels):
        field.fail("holds a label twice")
    return tuple(labels)


def _read_feature(field: Field, version: int) -> tuple[Feature, Pair]:
    entries = field.object(_FEATURE_KEYS + (_FEATURE_KEYS_SINCE_VERSION_4 if version > 3 else ()))
    feature = Feature(
        name=entries["name"].text(),
        column=entries["column"].text(),
        category=entries["category"].text_or_none(),
        offset=entries["offset"].number(),
        scale=entries["scale"].number(),
        unit=entries["unit"].text_or_none(),
        cut=entries["cut"].number_or_none() if "cut" in entries else None,
    )
    if feature.scale <= 0:
        entries["scale"].fail("must be above 0")
    lower, upper = entries["lower"].number(), entries["upper"].number()
    if lower > upper:
        entries["lower"].fail("must not be above upper")
    return feature, (lower, upper)


def _read_weights(field: Field, n_classes: int, features: tuple[Feature, ...]) -> tuple[FloatArray, FloatArray]:
    """Weights of scaled features; those in original units are there for readers and must say the same."""
    units = field.object(("scaled", "original"))
    n_rows = n_classes if n_classes > 2 else 1
    coef, intercept = _read_rows(units["scaled"], n_rows, len(features))
    stated_coef, stated_intercept = _read_rows(units["original"], n_rows, len(features))
    scale = np.array([feature.scale for feature in features])
    offset = np.array([feature.offset for feature in features])
    with np.errstate(all="ignore"):
        original = coef / scale
        shifts = original * offset
        room = np.abs(intercept) + np.abs(shifts).sum(axis=1)
        if not np.allclose(stated_coef, original, rtol=_AGREEMENT, atol=0):
            units["original"].fail("has other weights than the scaled ones by the features' scales")
        if not np.all(np.abs(stated_intercept - intercept + shifts.sum(axis=1)) <= _AGREEMENT * room):
            units["original"].fail("has other intercepts than the scaled ones by the features' offsets")
    return coef, intercept


def _read_rows(field: Field, n_rows: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    entries = field.object(("weights", "intercepts"))
    rows = entries["weights"].items()
    if len(rows) != n_rows:
        entries["weights"].fail(f"must have {n_rows} rows for these classes, has {len(rows)}")
    weights = [row.numbers() for row in rows]
    for row, values in zip(rows, weights, strict=True):
        if len(values) != n_features:
            row.fail(f"must have {n_features} weights, one for each feature, has {len(values)}")
    intercepts = entries["intercepts"].numbers()
    if len(intercepts) != n_rows:
        entries["intercepts"].fail(f"must have {n_rows} entries, has {len(intercepts)}")
    return np.array(weights) + 0.0, np.array(intercepts) + 0.0  # there is no negative zero among weights


def _read_schema(
    field: Field, classes: tuple[Label, ...], features: tuple[Feature, ...], bounds: tuple[Pair, ...], unit: Unit
) -> Schema | None:
    if field.value is None:
        return None
    try:
        schema = Schema.from_dict(field.plain())
    except ModelFileError:
        raise
    except (ValueError, TypeError) as error:
        field.fail(f"is not valid: {error}")
    if schema.features != features or bounds_of_schema(schema) != bounds:
        field.fail("makes other features than those listed")
    if sorted(map(str, classes)) != sorted(schema.target.classes):
        field.fail("has a target with other classes")
    if len(classes) == 2 and str(classes[1]) != schema.target.positive:
        field.fail("has a target with another positive class")
    if schema.person is not None and unit != "person":
        field.fail("says whose row each row is, but the guarantee is about single rows")
    return schema
