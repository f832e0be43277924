"""The weights as effects that can be compared: by the feature's own unit, and over its public bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import FittedModel
from . import wording


@dataclass(frozen=True)
class Effect:
    """One kept feature. ``change`` is what the score gains from the lower to the upper bound."""

    name: str
    unit: str | None
    weight: float
    lower: float
    upper: float

    @property
    def change(self) -> float:
        """The score's change from the lower to the upper bound."""
        return self.weight * (self.upper - self.lower)

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        return f"{wording.number(self.lower, 10)} to {wording.number(self.upper, 10)}"


@dataclass(frozen=True)
class Output:
    """One row of weights: what it is about, its kept features, largest effect first, and its intercept."""

    label: str
    effects: tuple[Effect, ...]
    intercept: float


def outputs_of(model: FittedModel) -> tuple[Output, ...]:
    """Return one output for two classes or a regression, else one for each class.

    Privacy
    -------
    Post-processing.
    """
    intercepts = model.intercept_original.tolist()
    return tuple(
        Output(label, _effects(model, row), intercept)
        for label, row, intercept in zip(labels_of(model), model.coef_original, intercepts, strict=True)
    )


def labels_of(model: FittedModel) -> list[str]:
    """Return what each row of weights is about."""
    if not model.is_classifier:
        return ["the predicted number"]
    if len(model.classes) == 2:
        return [f"{model.classes[1]} against {model.classes[0]}"]
    return [str(label) for label in model.classes]


def dropped(model: FittedModel) -> list[str]:
    """Return the names of all features without a weight."""
    kept = set(model.kept.tolist())
    return [feature.name for j, feature in enumerate(model.features) if j not in kept]


def _effects(model: FittedModel, row: np.ndarray) -> tuple[Effect, ...]:
    effects = [
        Effect(model.features[j].name, model.features[j].unit, float(row[j]), *model.bounds[j])
        for j in np.flatnonzero(row)
    ]
    return tuple(sorted(effects, key=lambda effect: -abs(effect.change)))
