"""How sure weights are as JSON, and back: null stands for the standard error of a weight that was dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.bounded import FloatArray
from ..ledger.event_json import finite_or_none
from .fields import Field
from .inference import AGREEMENT, Inference, VariableInference, same_variances

_KEYS = ("covers", "standard_errors", "q_values")
_SINCE_VERSION_4 = ("variables",)
_VARIABLE_KEYS = ("name", "q_value", "importance", "features", "means", "covariance")


def inference_to_dict(inference: Inference | None, scale: FloatArray) -> dict[str, Any] | None:
    """Return standard errors by both units, q-values, variables and what intervals cover, as JSON values.

    Parameters
    ----------
    inference : Inference or None
        How sure weights of scaled features are.
    scale : array
        The features' scales.

    Privacy
    -------
    Post-processing.
    """
    if inference is None:
        return None
    return {
        "covers": inference.covers,
        "standard_errors": {"scaled": error_rows(inference), "original": error_rows(inference.divided_by(scale))},
        "q_values": inference.q_value.tolist(),
        "variables": [_variable_to_dict(variable) for variable in inference.variables],
    }


def _variable_to_dict(variable: VariableInference) -> dict[str, Any]:
    return {
        "name": variable.name,
        "q_value": variable.q_value,
        "importance": variable.importance,
        "features": list(variable.features),
        "means": variable.mean.tolist(),
        "covariance": variable.covariance.tolist(),
    }


def error_rows(inference: Inference) -> list[list[float | None]]:
    """Return standard errors, with null where a weight was dropped.

    Privacy
    -------
    Post-processing.
    """
    return [[finite_or_none(error) for error in row] for row in inference.standard_error.tolist()]


def inference_from_field(field: Field, coef: FloatArray, scale: FloatArray, version: int) -> Inference | None:
    """Check and read what is known about weights, or None for null.

    Parameters
    ----------
    field : Field
        What `inference_to_dict` wrote.
    coef : array
        Weights of scaled features: a standard error is null exactly where one of them is 0.
    scale : array
        The features' scales, by which standard errors in both units must agree.
    version : int
        Version of the file.

    Privacy
    -------
    Post-processing.
    """
    if field.value is None:
        return None
    entries = field.object(_KEYS + (_SINCE_VERSION_4 if version > 3 else ()))
    units = entries["standard_errors"].object(("scaled", "original"))
    errors = {unit: _read_errors(rows, coef) for unit, rows in units.items()}
    q_values, covers = _read_q_values(entries["q_values"], coef), entries["covers"].text()
    variables = _read_variables(entries.get("variables", Field([], "")), coef, errors["scaled"])
    told = Inference(errors["scaled"], q_values, covers, variables)
    expected = told.divided_by(scale).standard_error
    if not np.allclose(errors["original"], expected, rtol=AGREEMENT, atol=0, equal_nan=True):
        units["original"].fail("has other standard errors than the scaled ones by the features' scales")
    return told


def _read_errors(field: Field, coef: FloatArray) -> FloatArray:
    rows = [
        [_read_error(item, weight) for item, weight in zip(row, weights, strict=True)]
        for row, weights in zip(_rows(field, coef), coef.tolist(), strict=True)
    ]
    return np.array(rows)


def _read_error(field: Field, weight: float) -> float:
    if (field.value is None) != (weight == 0):
        field.fail("must be null, because the weight is 0" if weight == 0 else "is missing: its weight is not 0")
    if field.value is None:
        return np.nan
    error = field.number()
    if error <= 0:
        field.fail("must be above 0")
    return error


def _read_q_values(field: Field, coef: FloatArray) -> FloatArray:
    rows = [[_read_q_value(item) for item in row] for row in _rows(field, coef)]
    return np.array(rows) + 0.0


def _read_q_value(field: Field) -> float:
    q_value = field.number()
    if not 0 <= q_value <= 1:
        field.fail("must lie between 0 and 1")
    return q_value


def _rows(field: Field, coef: FloatArray) -> list[list[Field]]:
    """Return the entries of a table that must have the shape of the weights."""
    rows = field.items()
    if len(rows) != len(coef):
        field.fail(f"must have {len(coef)} rows, one for each of the weights, has {len(rows)}")
    entries = [row.items() for row in rows]
    for row, items in zip(rows, entries, strict=True):
        if len(items) != coef.shape[1]:
            row.fail(f"must have {coef.shape[1]} entries, one for each feature, has {len(items)}")
    return entries


def _read_variables(field: Field, coef: FloatArray, errors: FloatArray) -> tuple[VariableInference, ...]:
    """Read the kept variables: none, or so many that every kept feature belongs to one."""
    items = field.items()
    if items and len(coef) > 1:
        field.fail("must be empty: covariances are for one row of weights")
    left = set(np.flatnonzero(coef[0]).tolist())
    variables = [_read_variable(item, left, errors[0]) for item in items]
    if len({variable.name for variable in variables}) < len(variables):
        field.fail("holds a name twice")
    if variables and left:
        field.fail(f"must have every kept feature in one of them; feature {min(left)} is in none")
    return tuple(variables)


def _read_variable(field: Field, left: set[int], errors: FloatArray) -> VariableInference:
    """Read one variable, whose features are taken from those that are ``left``."""
    entries = field.object(_VARIABLE_KEYS)
    features = tuple(_read_place(item, left) for item in entries["features"].items())
    if not features:
        entries["features"].fail("must not be empty")
    means = entries["means"].numbers()
    if len(means) != len(features):
        entries["means"].fail(f"must have {len(features)} entries, one for each feature, has {len(means)}")
    importance = entries["importance"].number()
    if importance < 0:
        entries["importance"].fail("must not be negative")
    return VariableInference(
        entries["name"].text(),
        _read_q_value(entries["q_value"]),
        importance,
        features,
        np.array(means),
        _read_covariance(entries["covariance"], errors[list(features)]),
    )


def _read_place(field: Field, left: set[int]) -> int:
    place = field.whole(at_least=0)
    if place not in left:
        field.fail("must be the place of a feature with a nonzero weight, and in no list twice")
    left.remove(place)
    return place


def _read_covariance(field: Field, errors: FloatArray) -> FloatArray:
    rows = [row.numbers() for row in field.items()]
    if [len(row) for row in rows] != [len(errors)] * len(errors):
        field.fail(f"must have {len(errors)} rows of {len(errors)} numbers, one for each feature")
    covariance = np.array(rows)
    if not same_variances(covariance, errors):
        field.fail("must have the squares of the standard errors on its diagonal")
    if not np.all(np.abs(covariance - covariance.T) <= AGREEMENT * np.outer(errors, errors)):
        field.fail("must be symmetric")
    if not np.all(np.abs(covariance) <= (1 + AGREEMENT) * np.outer(errors, errors)):
        field.fail("holds a correlation beyond -1 and 1")
    return covariance
