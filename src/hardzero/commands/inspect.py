"""A model file in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..model_file import FittedModel


def describe(model: FittedModel) -> str:
    """Return kept features, largest effect first, with weights in their own units, and the privacy statement.

    Privacy
    -------
    Post-processing.
    """
    parts = [f"{model.method}, fitted by hardzero {model.hardzero_version}"]
    labels = [f"class {label}" for label in model.classes]
    if len(model.coef_scaled) == 1:
        labels = [f"{model.classes[1]} against {model.classes[0]}" if model.classes else "target"]
    rows = zip(labels, np.array(model.coef_scaled), model.coef_original, model.intercept_original, strict=True)
    for label, scaled, original, intercept in rows:
        kept = sorted(np.flatnonzero(scaled).tolist(), key=lambda j: -abs(scaled[j]))
        parts.append(f"{label}: {len(kept)} of {len(model.features)} features kept")
        width = max((len(model.features[j].name) for j in kept), default=0)
        lines = [f"  {model.features[j].name:<{width}}  {original[j]:+.4g}{_per(model, j)}" for j in kept]
        parts.append("\n".join([*lines, f"  intercept {intercept:+.4g}"]))
    return "\n\n".join([*parts, repr(model.privacy)])


def _per(model: FittedModel, j: int) -> str:
    unit = model.features[j].unit
    return f" per {unit}" if unit else ""


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
        "classes": list(model.classes),
        "features": len(model.features),
        "kept": [model.features[j].name for j in model.kept],
        "coefficients": model.coef_original.tolist(),
        "intercepts": model.intercept_original.tolist(),
    }
