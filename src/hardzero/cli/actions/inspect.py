"""A model file in words."""

from __future__ import annotations

import json
import math
from typing import Any

from ...model import FittedModel
from ...model.plain_text import is_control, shown
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
    privacy = model.privacy
    return {
        "method": model.method,
        "private": privacy.is_private,
        "epsilon": privacy.epsilon if math.isfinite(privacy.epsilon) else None,
        "delta": privacy.delta,
        "neighbours": privacy.neighbours.value,
        "seeded": privacy.seeded,
        "weaknesses": list(privacy.weaknesses),
        "classes": list(model.classes),
        "features": len(model.features),
        "kept": [model.features[j].name for j in model.kept],
        "coefficients": model.coef_original.tolist(),
        "intercepts": model.intercept_original.tolist(),
    }


def to_json(values: dict[str, Any]) -> str:
    """Return JSON on one line in which every character that a terminal would obey is escaped.

    Privacy
    -------
    Post-processing.
    """
    text = json.dumps(values, ensure_ascii=False)
    return "".join(f"\\u{ord(c):04x}" if is_control(c) else c for c in text)
