"""How sure weights are as JSON, and back: null stands for the standard error of a weight that was dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.bounded import FloatArray
from .fields import Field, finite_or_none
from .inference import Inference

_AGREEMENT = 1e-9
"""How closely standard errors in two units must agree."""


def inference_to_dict(inference: Inference | None, scale: FloatArray) -> dict[str, Any] | None:
    """Return standard errors by both units, q-values and what intervals cover, as JSON values.

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
    }


def error_rows(inference: Inference) -> list[list[float | None]]:
    """Return standard errors, with null where a weight was dropped.

    Privacy
    -------
    Post-processing.
    """
    return [[finite_or_none(error) for error in row] for row in inference.standard_error.tolist()]


def inference_from_field(field: Field, coef: FloatArray, scale: FloatArray) -> Inference | None:
    """Check and read what is known about weights, or None for null.

    Parameters
    ----------
    field : Field
        What `inference_to_dict` wrote.
    coef : array
        Weights of scaled features: a standard error is null exactly where one of them is 0.
    scale : array
        The features' scales, by which standard errors in both units must agree.

    Privacy
    -------
    Post-processing.
    """
    if field.value is None:
        return None
    entries = field.object(("covers", "standard_errors", "q_values"))
    units = entries["standard_errors"].object(("scaled", "original"))
    errors = {unit: _read_errors(rows, coef) for unit, rows in units.items()}
    told = Inference(errors["scaled"], _read_q_values(entries["q_values"], coef), entries["covers"].text())
    expected = told.divided_by(scale).standard_error
    if not np.allclose(errors["original"], expected, rtol=_AGREEMENT, atol=0, equal_nan=True):
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
