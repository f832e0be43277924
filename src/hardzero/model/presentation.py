"""What a model's weights say: effects that can be compared, and all of them as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass

import numpy as np

from .curves import Curve, Level, count_variables, curves_of, has_variables
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


def how_sure(model: FittedModel, *, by_variable: bool = False) -> tuple[str, ...]:
    """Return what intervals cover and what reliable means, a sentence each; nothing where the method cannot tell.

    Parameters
    ----------
    model : FittedModel
        The model.
    by_variable : bool, default=False
        Whether whole variables are called reliable, where something is known about them, and not their features.

    Privacy
    -------
    Post-processing.
    """
    told = model.inference_scaled
    if told is None:
        return ()
    by_variable = by_variable and bool(told.variables)
    rate, no_effect = FALSE_DISCOVERY_RATE, 1 if by_variable and model.is_classifier else 0
    candidates = f"{count_variables(model):,} variables" if by_variable else f"{told.q_value.size:,} candidates"
    sentences = [
        f"{INTERVAL}s cover {told.covers}.",
        f"Reliable: a false-discovery rate of at most {100 * rate:g} % over all {candidates}; of what "
        f"is called so, one in {1 / rate:.0f} or fewer is expected to be noise.",
        f"Intervals do not count how many candidates were tried, this does: one that excludes {no_effect} can belong "
        f"to what {NOISE}.",
    ]
    lower, upper = told.intervals(np.array(model.coef_scaled))
    if not by_variable and np.any(told.reliable & (lower < 0) & (upper > 0)):
        sentences.append(
            "A reliable feature whose interval contains 0 shares what it says with features correlated with it: it "
            "or one of them matters, and how much of that is its own cannot be told."
        )
    return tuple(sentences)


def compared_with(curves: Sequence[Curve]) -> str:
    """Return what the levels of variables are compared with.

    Privacy
    -------
    Post-processing.
    """
    if any(curve.centred for curve in curves):
        return "the average record"
    return "the lowest level of a variable, or a record without any of the listed categories"


def reliable_of(reliable: Sized | None) -> str:
    """Return how many of the kept features are reliable, to be said after how many there are; nothing if unknown.

    Privacy
    -------
    Post-processing.
    """
    return "" if reliable is None else f", {len(reliable):,} of them reliable"


def summary(model: FittedModel) -> str:
    """Return what was kept, what matters most first, and the privacy statement, as text for a terminal.

    Where features are known to belong to variables, each variable with its levels: for classifiers the factor by
    which the odds change there. Else for each feature its weight by its own unit and, for classifiers, two odds
    ratios: the factor by which the odds change when the feature grows by one unit, and from its lower to its upper
    bound. For a regression the change from the lower to the upper bound. Where the method can tell how sure it is,
    what is reliable comes first, with 95 % intervals, and what cannot be told from noise stands apart. That
    there were too few rows to say anything is said first.

    Privacy
    -------
    Post-processing.
    """
    outputs, grouped = outputs_of(model), has_variables(model)
    if grouped:
        rows = curves_of(model)
        blocks = [_variables_block(model, output, curves) for output, curves in zip(outputs, rows, strict=True)]
    else:
        blocks = [_block(model, output) for output in outputs]
    few, meaning = model.privacy.too_few_rows, "\n".join(map(shown, how_sure(model, by_variable=grouped)))
    first = f"TOO FEW ROWS: {few}" if few else ""
    return "\n\n".join(filter(None, [first, *blocks, meaning, repr(model.privacy)]))


def _variables_block(model: FittedModel, output: Output, curves: Sequence[Curve]) -> str:
    leading = [curve for curve in curves if not curve.is_uncertain]
    uncertain = [curve for curve in curves if curve.is_uncertain]
    reliable = reliable_of(leading if model.inference_scaled is not None and curves else None)
    lines = [f"{shown(output.label)}: {len(curves)} of {count_variables(model)} variables kept{reliable}"]
    lines += _listed(leading, model.is_classifier)
    lines.append(f"intercept: {output.intercept:+.4g}, where every feature is 0")
    if uncertain:
        lines.append(f"{NOISE}: {len(uncertain)} of the kept variables, which may be chance")
        lines += [f"  {line}" for line in _listed(uncertain, model.is_classifier)]
    if curves:
        what = "odds ratios" if model.is_classifier else "changes"
        lines.append(f"{what} compare with {compared_with(curves)}")
    return "\n".join(lines)


def _listed(curves: Sequence[Curve], as_odds: bool) -> list[str]:
    """A line for each variable, and one for each of its levels, in columns that all of them share."""
    written, has_intervals = (_ratio if as_odds else _signed), any(c.levels[0].interval for c in curves)
    head = ("", "odds ratio" if as_odds else "change", INTERVAL if has_intervals else "")
    rows = [
        (f"  {label}", written(level.value), "".join(_ends(level.interval, written)))
        for curve in curves
        for label, level in _rows_of(curve)
    ]
    texts = iter(_aligned([head, *rows]))
    lines = [next(texts).rstrip()] if curves else []
    for curve in curves:
        lines.append(_heading(curve))
        lines += [next(texts).rstrip() for _ in _rows_of(curve)]
    return lines


def _heading(curve: Curve) -> str:
    """What is to be said of a variable on one line."""
    unit = f" ({shown(curve.unit)})" if curve.unit else ""
    importance = "unknown" if curve.importance is None else f"{curve.importance:.2g}"
    facts = [f"importance {importance}"] if curve.told else []
    facts += ["reliable"] if curve.reliable else []
    facts += ["a line"] if curve.shape == "line" else [f"{len(curve.levels)} {_COUNTED[curve.shape]}"]
    return f"{shown(curve.name)}{unit}: {', '.join(facts)}"


_COUNTED = {"steps": "levels", "categories": "levels", "parts": "features, over their bounds"}


def _rows_of(curve: Curve) -> list[tuple[str, Level]]:
    rows = [(shown(level.label), level) for level in curve.listed]
    return rows if curve.slope is None else [*rows, (_per_unit(curve.unit), curve.slope)]


def _per_unit(unit: str | None) -> str:
    return f"per unit ({shown(unit)})" if unit else "per unit"


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
    unit = _per_unit(effect.unit) if effect.unit else ""
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
