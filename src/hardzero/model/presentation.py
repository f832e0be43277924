"""What a model's weights say: effects that can be compared, and all of them as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass

import numpy as np

from .file import FittedModel
from .inference import FALSE_DISCOVERY_RATE, LEVEL, Ends
from .plain_text import shown
from .source import Label

INTERVAL = f"{100 * LEVEL:g} % interval"
"""What stands over a column of intervals."""

NOISE = "cannot be told from noise"
"""What is said of weights that are not reliable."""

_LARGEST_EXPONENT = 700.0  # beyond it an odds ratio is no number any more
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Certainty:
    """How sure one weight is: its standard error, q-value and 95 % interval, and whether it is called reliable."""

    standard_error: float
    q_value: float
    interval: Ends
    reliable: bool


@dataclass(frozen=True)
class Effect:
    """One kept feature: its weight by its own unit, its public bounds, and how sure the weight is, if known."""

    name: str
    unit: str | None
    weight: float
    lower: float
    upper: float
    certainty: Certainty | None = None

    @property
    def change(self) -> float:
        """The score's change from the lower to the upper bound."""
        return self.weight * (self.upper - self.lower)

    @property
    def is_uncertain(self) -> bool:
        """Whether the weight is known not to be reliable."""
        return self.certainty is not None and not self.certainty.reliable

    @property
    def interval(self) -> Ends | None:
        """The 95 % interval of the weight, which as exponents is that of the odds ratio."""
        return None if self.certainty is None else self.certainty.interval

    @property
    def change_interval(self) -> Ends | None:
        """The 95 % interval of the change from the lower to the upper bound."""
        if self.interval is None:
            return None
        low, high = self.interval
        return low * (self.upper - self.lower), high * (self.upper - self.lower)


@dataclass(frozen=True)
class Output:
    """One row of weights: what it is about, its kept features and its intercept.

    Features that are known not to be reliable come last; apart from that the largest change comes first.
    """

    label: str
    effects: tuple[Effect, ...]
    intercept: float

    @property
    def leading(self) -> tuple[Effect, ...]:
        """The reliable features, or all where nothing is known."""
        return tuple(effect for effect in self.effects if not effect.is_uncertain)

    @property
    def uncertain(self) -> tuple[Effect, ...]:
        """The features that cannot be told from noise."""
        return tuple(effect for effect in self.effects if effect.is_uncertain)


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
    rows = enumerate(zip(contrasts(model.classes), model.intercept_original.tolist(), strict=True))
    return tuple(Output(label, _effects(model, row), intercept) for row, (label, intercept) in rows)


def _effects(model: FittedModel, row: int) -> tuple[Effect, ...]:
    weights, sure = model.coef_original[row], _certainties(model, row)
    effects = [
        Effect(model.features[j].name, model.features[j].unit, float(weights[j]), *model.bounds[j], sure.get(j))
        for j in np.flatnonzero(weights).tolist()
    ]
    return tuple(sorted(effects, key=lambda effect: (effect.is_uncertain, -abs(effect.change))))


def _certainties(model: FittedModel, row: int) -> dict[int, Certainty]:
    """How sure the weights of one row are, by their features' places; nothing where the method cannot tell."""
    told = model.inference_original
    if told is None:
        return {}
    columns = (told.standard_error, told.q_value, *told.intervals(model.coef_original), told.reliable)
    return {
        j: Certainty(error, q_value, (low, high), reliable)
        for j, (error, q_value, low, high, reliable) in enumerate(
            zip(*(column[row].tolist() for column in columns), strict=True)
        )
    }


def effect_heads(model: FittedModel) -> tuple[str, ...]:
    """Return what stands over the columns beside the weights.

    Privacy
    -------
    Post-processing.
    """
    return ("odds ratio", "over the bounds") if model.is_classifier else ("change over the bounds",)


def how_sure(model: FittedModel) -> tuple[str, ...]:
    """Return what intervals cover and what reliable means, a sentence each; nothing where the method cannot tell.

    Privacy
    -------
    Post-processing.
    """
    told = model.inference_scaled
    if told is None:
        return ()
    rate, candidates = FALSE_DISCOVERY_RATE, told.q_value.size
    sentences = [
        f"{INTERVAL}s cover {told.covers}.",
        f"Reliable: a false-discovery rate of at most {100 * rate:g} % over all {candidates:,} candidates; of what "
        f"is called so, one in {1 / rate:.0f} or fewer is expected to be noise.",
    ]
    lower, upper = told.intervals(np.array(model.coef_scaled))
    if np.any(told.reliable & (lower < 0) & (upper > 0)):
        sentences.append(
            "A reliable feature whose interval contains 0 shares what it says with features correlated with it: it "
            "or one of them matters, and how much of that is its own cannot be told."
        )
    return tuple(sentences)


def reliable_of(reliable: Sized | None) -> str:
    """Return how many of the kept features are reliable, to be said after how many there are; nothing if unknown.

    Privacy
    -------
    Post-processing.
    """
    return "" if reliable is None else f", {len(reliable):,} of them reliable"


def summary(model: FittedModel) -> str:
    """Return the kept features, largest change first, and the privacy statement, as text for a terminal.

    For each feature its weight by its own unit and, for classifiers, two odds ratios: the factor by which the odds
    change when the feature grows by one unit, and from its lower to its upper bound. For a step such as ``age>=30``
    both compare the odds at or above the cut with those below, all other steps held fixed. For a regression the
    change from the lower to the upper bound. Where the method can tell how sure its weights are, reliable features
    come first, with 95 % intervals, and those that cannot be told from noise stand apart.

    Privacy
    -------
    Post-processing.
    """
    blocks = [_block(model, output) for output in outputs_of(model)]
    meaning = "\n".join(map(shown, how_sure(model)))
    return "\n\n".join([*blocks, *([meaning] if meaning else []), repr(model.privacy)])


def _block(model: FittedModel, output: Output) -> str:
    reliable = reliable_of(output.leading if model.inference_scaled is not None and output.effects else None)
    lines = [f"{shown(output.label)}: {len(output.effects)} of {len(model.features)} features kept{reliable}"]
    if output.leading:
        has_units = any(effect.unit for effect in output.leading)
        rows = [_cells(effect, has_units, model.is_classifier) for effect in output.leading]
        lines += _aligned([_heads(model, has_units), *rows])
    lines.append(f"intercept: {output.intercept:+.4g}")
    if output.uncertain:
        lines.append(f"{NOISE}: {len(output.uncertain)} of the kept features, with weights that may be chance")
        lines += [f"  {line}" for line in _aligned([_short_cells(effect) for effect in output.uncertain])]
    return "\n".join(lines)


def _heads(model: FittedModel, has_units: bool) -> tuple[str, ...]:
    interval = () if model.inference_scaled is None else (INTERVAL,)
    unit = ("unit",) if has_units else ()
    per_unit, *over_bounds = effect_heads(model)
    changes = (per_unit, *interval, *over_bounds)
    return ("feature", "weight", *interval, *unit, *changes)


def _cells(effect: Effect, has_units: bool, as_odds: bool) -> tuple[str, ...]:
    unit = f"per {shown(effect.unit)}" if effect.unit else ""
    weight = (_signed(effect.weight), *_ends(effect.interval, _signed))
    changes: tuple[str, ...]
    if as_odds:
        changes = (_ratio(effect.weight), *_ends(effect.interval, _ratio), _ratio(effect.change))
    else:
        changes = (_signed(effect.change), *_ends(effect.change_interval, _signed))
    return (shown(effect.name), *weight, *((unit,) if has_units else ()), *changes)


def _short_cells(effect: Effect) -> tuple[str, ...]:
    return (shown(effect.name), _signed(effect.weight), *_ends(effect.interval, _signed))


def _ends(interval: Ends | None, written: Callable[..., str]) -> tuple[str, ...]:
    """One cell for an interval, or none where there is none."""
    return () if interval is None else (" to ".join(written(end, digits=3) for end in interval),)


def _signed(number: float, digits: int = 4) -> str:
    return f"{number:+.{digits}g}"


def _ratio(log_odds: float, digits: int = 4) -> str:
    """An odds ratio with enough digits to tell it from 1: no interval shall seem to hold nothing else."""
    away = abs(log_odds)
    if 0 < away < 10.0 ** (1 - digits):
        digits = min(2 - math.floor(math.log10(away)), _MOST_DIGITS)
    return f"{math.exp(min(max(log_odds, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)):.{digits}g}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns wide enough for their cells; names to the left, all else to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
