"""A model file in words."""

from __future__ import annotations

import json
import math
from typing import Any

from ...model import FittedModel
from ...model.curves import Curve, curves_of, has_variables
from ...model.inference_json import error_rows
from ...model.plain_text import shown
from ...model.presentation import summary


def describe(model: FittedModel) -> str:
    """Return the method, the kept features with weights in their own units, and the privacy statement.

    Privacy
    -------
    Post-processing.
    """
    return f"{shown(model.method)}, fitted by hardzero {shown(model.hardzero_version)}\n\n{summary(model)}"


def facts(model: FittedModel) -> dict[str, Any]:
    """Return the same for machines.

    Privacy
    -------
    Post-processing.
    """
    privacy, told, reliable = model.privacy, model.inference_original, model.reliable
    return {
        "method": model.method,
        "private": privacy.is_private,
        "epsilon": privacy.epsilon if math.isfinite(privacy.epsilon) else None,
        "delta": privacy.delta,
        "neighbours": privacy.neighbours.value,
        "unit": model.privacy.unit,
        "seeded": privacy.seeded,
        "weaknesses": list(privacy.weaknesses),
        "bounds": [] if model.schema is None else [charge.to_dict() for charge in model.schema.bounds],
        "ledger": None if privacy.ledger is None else vars(privacy.ledger),
        "classes": list(model.classes),
        "features": len(model.features),
        "kept": [model.features[j].name for j in model.kept],
        "coefficients": model.coef_original.tolist(),
        "intercepts": model.intercept_original.tolist(),
        "reliable": None if reliable is None else [model.features[j].name for j in reliable],
        "standard_errors": None if told is None else error_rows(told),
        "q_values": None if told is None else told.q_value.tolist(),
        "covers": None if told is None else told.covers,
        "variables": _variables(model) if has_variables(model) else None,
    }


def _variables(model: FittedModel) -> list[list[dict[str, Any]]]:
    """Return the kept variables of each row of weights, the most important first."""
    return [[_variable(curve) for curve in row] for row in curves_of(model)]


def _variable(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "shape": curve.shape,
        "unit": curve.unit,
        "importance": curve.importance,
        "reliable": curve.reliable,
        "centred": curve.centred,
        "levels": [
            {"label": level.label, "value": level.value, "interval": level.interval, "share": level.share}
            for level in curve.listed
        ],
    }


def to_json(values: dict[str, Any]) -> str:
    """Return JSON on one line, in ASCII: nothing is lost, and nothing obeyed, whatever the terminal.

    Privacy
    -------
    Post-processing.
    """
    return json.dumps(values).replace("\x7f", "\\u007f")  # the one control character that JSON leaves as it is
