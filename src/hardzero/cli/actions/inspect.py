"""A model file in words."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ...model import FittedModel
from ...model.plain_text import is_control, shown


def describe(model: FittedModel) -> str:
    """Return kept features, largest effect first, with weights in their own units, and the privacy statement.

    Privacy
    -------
    Post-processing.
    """
    parts = [f"{shown(model.method)}, fitted by hardzero {shown(model.hardzero_version)}"]
    classes = [shown(label) for label in model.classes]
    names = [shown(feature.name) for feature in model.features]
    labels = [f"class {label}" for label in classes]
    if len(model.coef_scaled) == 1:
        labels = [f"{classes[1]} against {classes[0]}" if classes else "target"]
    rows = zip(labels, np.array(model.coef_scaled), model.coef_original, model.intercept_original, strict=True)
    for label, scaled, original, intercept in rows:
        kept = sorted(np.flatnonzero(scaled).tolist(), key=lambda j: -abs(scaled[j]))
        parts.append(f"{label}: {len(kept)} of {len(model.features)} features kept")
        width = max((len(names[j]) for j in kept), default=0)
        lines = [f"  {names[j]:<{width}}  {original[j]:+.4g}{_per(model, j)}" for j in kept]
        parts.append("\n".join([*lines, f"  intercept {intercept:+.4g}"]))
    return "\n\n".join([*parts, repr(model.privacy)])


def _per(model: FittedModel, j: int) -> str:
    unit = model.features[j].unit
    return f" per {shown(unit)}" if unit else ""


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
