"""What a model's weights say: effects that can be compared, and all of them as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray
from .file import FittedModel
from .plain_text import shown
from .source import Label

_LARGEST_EXPONENT = 700.0  # beyond it an odds ratio is no number any more


@dataclass(frozen=True)
class Effect:
    """One kept feature: its weight by its own unit, and its public bounds."""

    name: str
    unit: str | None
    weight: float
    lower: float
    upper: float

    @property
    def change(self) -> float:
        """The score's change from the lower to the upper bound."""
        return self.weight * (self.upper - self.lower)


@dataclass(frozen=True)
class Output:
    """One row of weights: what it is about, its kept features, largest change first, and its intercept."""

    label: str
    effects: tuple[Effect, ...]
    intercept: float


def contrasts(classes: Sequence[Label]) -> list[str]:
    """Return what each row of weights is about: one class against another, each class, or the target of a regression.

    Privacy
    -------
    Post-processing.

    Examples
    --------
    >>> contrasts(["no", "yes"]), contrasts(["a", "b", "c"]), contrasts([])
    (['yes against no'], ['class a', 'class b', 'class c'], ['target'])
    """
    match len(classes):
        case 0:
            return ["target"]
        case 2:
            return [f"{classes[1]} against {classes[0]}"]
    return [f"class {label}" for label in classes]


def outputs_of(model: FittedModel) -> tuple[Output, ...]:
    """Return one output for two classes or a regression, else one for each class.

    Privacy
    -------
    Post-processing.
    """
    rows = zip(contrasts(model.classes), model.coef_original, model.intercept_original.tolist(), strict=True)
    return tuple(Output(label, _effects(model, weights), intercept) for label, weights, intercept in rows)


def _effects(model: FittedModel, weights: FloatArray) -> tuple[Effect, ...]:
    effects = [
        Effect(model.features[j].name, model.features[j].unit, float(weights[j]), *model.bounds[j])
        for j in np.flatnonzero(weights)
    ]
    return tuple(sorted(effects, key=lambda effect: -abs(effect.change)))


def effect_heads(model: FittedModel) -> tuple[str, ...]:
    """Return what stands over the columns beside the weights.

    Privacy
    -------
    Post-processing.
    """
    return ("odds ratio", "over the bounds") if model.is_classifier else ("change over the bounds",)


def summary(model: FittedModel) -> str:
    """Return the kept features, largest change first, and the privacy statement, as text for a terminal.

    For each feature its weight by its own unit and, for classifiers, two odds ratios: the factor by which the odds
    change when the feature grows by one unit, and from its lower to its upper bound. For a regression the change from
    the lower to the upper bound.

    Privacy
    -------
    Post-processing.
    """
    return "\n\n".join([*(_block(model, output) for output in outputs_of(model)), repr(model.privacy)])


def _block(model: FittedModel, output: Output) -> str:
    lines = [f"{shown(output.label)}: {len(output.effects)} of {len(model.features)} features kept"]
    if output.effects:
        has_units = any(effect.unit for effect in output.effects)
        head = ("feature", "weight", *(("unit",) if has_units else ()), *effect_heads(model))
        lines += _aligned([head, *(_cells(effect, has_units, model.is_classifier) for effect in output.effects)])
    return "\n".join([*lines, f"intercept: {output.intercept:+.4g}"])


def _cells(effect: Effect, has_units: bool, as_odds: bool) -> tuple[str, ...]:
    unit = f"per {shown(effect.unit)}" if effect.unit else ""
    changes = (_ratio(effect.weight), _ratio(effect.change)) if as_odds else (f"{effect.change:+.4g}",)
    return (shown(effect.name), f"{effect.weight:+.4g}", *((unit,) if has_units else ()), *changes)


def _ratio(log_odds: float) -> str:
    return f"{math.exp(min(max(log_odds, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)):.4g}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns wide enough for their cells; names to the left, all else to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
