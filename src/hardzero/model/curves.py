"""Variables as curves: what each level of a variable adds to the score, and how sure that is.

People ask what age does, not what the weight of ``age>=35`` is. The features of one variable together are a line, a
staircase, or a value for each category; their weights vary together, and so do these values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from ..data.bounded import FloatArray
from ..data.variables import level_shares
from ..schema.columns import Boolean, Categorical, Feature, Numeric, Ordered, UsedColumn
from ..schema.fields import plain_number
from .file import FittedModel
from .inference import Ends, VariableInference, reach_of

Shape = Literal["line", "steps", "categories", "parts"]
"""How a variable acts: a number by one weight, steps at cut points, categories, or several features side by side."""

_MOST_NAMED = 2  # categories without a weight that are called by their names; more are "all others"
_MISSING = "missing"


@dataclass(frozen=True)
class Level:
    """What one level of a variable adds to the score: a range of a number, a point of a line, a category.

    ``value`` is in log odds, or in the target's unit for a regression; ``interval`` is its 95 % interval, if known.
    ``start`` and ``end`` say where the level lies: among the values of a number, else among levels. ``share`` is the
    share of records there, by released means, if they are known.
    """

    label: str
    value: float
    interval: Ends | None
    start: float
    end: float
    share: float | None = None


@dataclass(frozen=True)
class Curve:
    """One kept variable.

    Attributes
    ----------
    name : str
        The variable's name.
    shape : {"line", "steps", "categories", "parts"}
        How it acts.
    levels : tuple of Level
        All levels with a value of their own, the lowest first. Of a line the public bounds and, where it is known,
        the average between them; of parts one for each feature, the change over its bounds.
    centred : bool
        Whether values compare with the average record, by released means; else with the lowest level, or with records
        of which no feature is set.
    counted : bool
        Whether levels lie along the values of a number.
    unit : str or None
        What numbers are counted in.
    slope : Level or None
        What one unit adds, of a line.
    reliable : bool or None
        Whether the variable can be told from noise; None where the method cannot tell.
    importance : float or None
        Standard deviation of what the variable adds to the score, if it was released and noise left something of it.
    extent : float
        The public range of what it adds to the score.
    told : bool
        Whether anything was released about the variable as a whole.

    Privacy
    -------
    Post-processing.
    """

    name: str
    shape: Shape
    levels: tuple[Level, ...]
    centred: bool
    counted: bool
    unit: str | None
    slope: Level | None
    reliable: bool | None
    importance: float | None
    extent: float
    told: bool = False

    @property
    def most_importance(self) -> float:
        """The importance or, where it is not known, the most that it can be: half of the range."""
        return self.extent / 2 if self.importance is None else self.importance

    @property
    def is_uncertain(self) -> bool:
        """Whether the variable is known not to be reliable."""
        return self.reliable is False

    @property
    def listed(self) -> tuple[Level, ...]:
        """The levels that say something in a list: not the average of a line, with which its ends are compared."""
        return (self.levels[0], self.levels[-1]) if self.shape == "line" else self.levels


def has_variables(model: FittedModel) -> bool:
    """Whether features are known to belong together: by a schema, by what was released, or by their columns.

    Privacy
    -------
    Post-processing.
    """
    told = model.inference_scaled
    return model.schema is not None or bool(told and told.variables) or count_variables(model) < len(model.features)


def count_variables(model: FittedModel) -> int:
    """Return how many variables there are, kept or not.

    Privacy
    -------
    Post-processing.
    """
    return len({feature.column for feature in model.features})


def curves_of(model: FittedModel) -> tuple[tuple[Curve, ...], ...]:
    """Return the kept variables of each row of weights, the most important first.

    Where it is not known how important one is, it stands where it may belong at most: nothing is hidden at the end.

    Privacy
    -------
    Post-processing.
    """
    columns = {} if model.schema is None else {column.name: column for column in model.schema.used}
    return tuple(
        tuple(
            sorted(
                (_curve(model, group, columns.get(group.features[0].column)) for group in _groups(model, row)),
                key=lambda curve: -curve.most_importance,
            )
        )
        for row in range(len(model.coef_scaled))
    )


class _Group(NamedTuple):
    """The kept features of one variable, by their own units; steps in the order of their cuts."""

    name: str
    shape: Shape
    places: tuple[int, ...]
    features: tuple[Feature, ...]
    weights: FloatArray
    mean: FloatArray | None
    covariance: FloatArray | None
    reliable: bool | None
    importance: float | None

    def level(self, place: _Place, point: FloatArray) -> Level:
        """Return what a record adds whose features differ by ``point`` from those it is compared with."""
        with np.errstate(all="ignore"):
            value, reach = float(point @ self.weights), None
            if self.covariance is not None:
                reach = reach_of(math.sqrt(max(float(point @ self.covariance @ point), 0.0)))
        interval = None if reach is None else (_number(value - reach), _number(value + reach))
        return Level(place.label, _number(value), interval, place.start, place.end, place.share)


class _Place(NamedTuple):
    """What a level is called, and where it lies."""

    label: str
    start: float = 0.0
    end: float = 0.0
    share: float | None = None


def _number(value: float) -> float:
    """Files may hold weights with which no one can count; what they give must be shown all the same."""
    return float(np.nan_to_num(value))


def _groups(model: FittedModel, row: int) -> list[_Group]:
    told = model.inference_original
    if told and told.variables:
        return [_group(model, row, known.name, known.features, known) for known in told.variables]
    columns: dict[str, list[int]] = {}
    for place in np.flatnonzero(model.coef_scaled[row]).tolist():
        columns.setdefault(model.features[place].column, []).append(place)
    return [_group(model, row, name, places, None) for name, places in columns.items()]


def _group(model: FittedModel, row: int, name: str, places: Sequence[int], known: VariableInference | None) -> _Group:
    features = [model.features[place] for place in places]
    shape = _shape(features)
    order = list(range(len(places)))
    if shape == "steps":
        order.sort(key=lambda i: features[i].cut or 0.0)
    chosen = [places[i] for i in order]
    told = model.inference_original
    mean = covariance = importance = None
    if known is not None:
        importance = known.importance or None  # a kept weight adds something: 0 is a variance that is lost in noise
        # Released for (x - offset)/scale, and here by the scale already.
        mean = (known.mean + [feature.offset for feature in features])[order]
        covariance = known.covariance[np.ix_(order, order)]
    elif told is not None and (shape != "steps" or len(places) == 1):  # stairs need what is not known without it
        covariance = np.diag(told.standard_error[row, chosen] ** 2)
    reliable = None if told is None else bool(told.reliable[row, chosen].any())
    return _Group(
        name,
        shape,
        tuple(chosen),
        tuple(model.features[place] for place in chosen),
        model.coef_original[row, chosen],
        mean,
        covariance,
        reliable if known is None else known.reliable,
        importance,
    )


def _shape(features: Sequence[Feature]) -> Shape:
    """Return how features act together, as far as they are of one column."""
    if len({feature.column for feature in features}) == 1:
        if all(feature.is_step for feature in features):
            return "steps"
        if all(feature.category is not None and not feature.is_step for feature in features):
            return "categories"
    return "line" if len(features) == 1 else "parts"


def _curve(model: FittedModel, group: _Group, column: UsedColumn | None) -> Curve:
    match group.shape:
        case "line":
            places, points, origin = _line(model, group, column)
        case "steps":
            places, points, origin = _steps(model, group, column)
        case "categories":
            places, points, origin = _categories(model, group, column)
        case _:
            places, points, origin = _parts(model, group)
    levels = tuple(group.level(place, point) for place, point in zip(places, points - origin, strict=True))
    values = [level.value for level in levels]
    return Curve(
        name=group.name,
        shape=group.shape,
        levels=levels,
        centred=group.mean is not None and group.shape != "parts",
        counted=group.shape == "line" or (group.shape == "steps" and group.features[0].category is None),
        unit=column.unit if isinstance(column, Numeric) else group.features[0].unit,
        slope=group.level(_Place(""), np.ones(1)) if group.shape == "line" else None,
        reliable=group.reliable,
        importance=group.importance,
        extent=sum(map(abs, values)) if group.shape == "parts" else max(values) - min(values),
        told=group.mean is not None,
    )


_Layout = tuple[list[_Place], FloatArray, FloatArray]
"""Levels by their names, the features of a record on each of them, and of the record that they compare with."""


def _takes_missing(model: FittedModel) -> bool:
    """Whether rows with missing values take part: their cells are coded as 0, as other cells are."""
    return model.schema is not None and model.schema.missing == "zero"


def _or_missing(name: str, here: bool) -> str:
    """Return the name of a level on which missing cells are as well, if they are."""
    return f"{name} or {_MISSING}" if here else name


def _line(model: FittedModel, group: _Group, column: UsedColumn | None) -> _Layout:
    lower, upper = ends = model.bounds[group.places[0]]
    names = [plain_number(lower), plain_number(upper)]
    if isinstance(column, Ordered):
        names = [column.values[0], column.values[-1]]
    zero = group.features[0].offset if _takes_missing(model) else None
    places = [_Place(_or_missing(name, end == zero), end, end) for name, end in zip(names, ends, strict=True)]
    # A mean is released with noise and can lie where no record does: nothing is compared with such a record.
    origin = lower if group.mean is None else min(max(float(group.mean[0]), lower), upper)
    if group.mean is not None and lower < origin < upper:
        places.insert(1, _Place("average", origin, origin))
    return places, np.array([[place.start] for place in places]), np.array([origin])


def _steps(model: FittedModel, group: _Group, column: UsedColumn | None) -> _Layout:
    """Return a level below the first kept cut, one between each two, and one from the last on."""
    cuts = [feature.cut or 0.0 for feature in group.features]
    points = np.tri(len(cuts) + 1, len(cuts), -1)
    if isinstance(column, Ordered):
        ends = [0.0, *cuts, float(len(column.values))]
        outer = ((column.values[int(start)], column.values[int(end) - 1]) for start, end in pairwise(ends))
        names = [" to ".join(dict.fromkeys(pair)) for pair in outer]
    else:
        ends = _ends(cuts, column)
        names = _ranges(
            [feature.category or plain_number(cut) for feature, cut in zip(group.features, cuts, strict=True)]
        )
    names[0] = _or_missing(names[0], _takes_missing(model))
    shares = _shares("steps", group)
    places = [
        _Place(name, start, end, share)
        for name, (start, end), share in zip(names, pairwise(ends), shares, strict=True)
    ]
    return places, points, _average(shares, points)


def _ends(cuts: Sequence[float], column: UsedColumn | None) -> list[float]:
    """Return where levels end, the outermost at the public bounds; a cut at the upper bound has a width beyond it."""
    every = column.cuts if isinstance(column, Numeric) else cuts
    narrowest = min((right - left for left, right in pairwise(every) if right > left), default=1.0)
    lower = column.lower if isinstance(column, Numeric) else cuts[0] - narrowest
    upper = column.upper if isinstance(column, Numeric) else cuts[-1] + narrowest
    return [lower, *cuts, upper if upper > cuts[-1] else upper + narrowest]


def _ranges(cuts: Sequence[str]) -> list[str]:
    """Return names of the ranges that cuts make: under 24, 24 to under 27, 27 or more."""
    between = (f"{left} to under {right}" for left, right in pairwise(cuts))
    return [f"under {cuts[0]}", *between, f"{cuts[-1]} or more"]


def _categories(model: FittedModel, group: _Group, column: UsedColumn | None) -> _Layout:
    """Return a level for records whose category has no weight, if there can be any, and one for each that has."""
    rest = _without_weight(model, group, column)
    names = [*([] if rest is None else [rest]), *(feature.category or "" for feature in group.features)]
    points = np.vstack([np.zeros(len(group.features)), np.eye(len(group.features))])
    shares, first = _shares("categories", group), len(points) - len(names)
    places = [_Place(name, i, i + 1, shares[first + i]) for i, name in enumerate(names)]
    return places, points[first:], _average(shares, points)


def _without_weight(model: FittedModel, group: _Group, column: UsedColumn | None) -> str | None:
    """Return what to call records of which no kept indicator is set, or None where there are none."""
    if isinstance(column, Boolean):
        return _or_missing(column.false, _takes_missing(model))
    name, kept = group.features[0].column, {feature.name for feature in group.features}
    siblings = model.features if column is None else column.features
    dropped = [f.category or f.name for f in siblings if f.column == name and f.name not in kept]
    if isinstance(column, Categorical):
        if not column.other and _takes_missing(model):
            dropped.append(_MISSING)
        if not dropped:
            return None
    return " or ".join(dropped) if 0 < len(dropped) <= _MOST_NAMED else "all others"


def _parts(model: FittedModel, group: _Group) -> _Layout:
    bounds = np.array([model.bounds[place] for place in group.places])
    places = [_Place(feature.name, i, i + 1) for i, feature in enumerate(group.features)]
    return places, np.diag(bounds[:, 1] - bounds[:, 0]), np.zeros(len(places))


def _shares(kind: Literal["steps", "categories"], group: _Group) -> Sequence[float | None]:
    """Return the shares of records on all levels, first where no feature is set; None each if no means are known."""
    if group.mean is None:
        return [None] * (len(group.features) + 1)
    return level_shares(kind, group.mean).tolist()  # type: ignore[no-any-return]


def _average(shares: Sequence[float | None], points: FloatArray) -> FloatArray:
    """Return the average features of records; where shares are not known, those of a record without any set."""
    known = [share for share in shares if share is not None]
    return np.asarray(np.array(known) @ points) if known else np.zeros(points.shape[1])
