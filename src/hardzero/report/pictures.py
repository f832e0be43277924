"""A picture of each variable, all on one vertical scale. Across, places are percentages; down, they are pixels."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..model.curves import Curve, Level
from ..model.inference import Ends
from . import wording

MOST_OPEN = 12
"""Pictures that are seen at once; the rest is folded."""

MOST_LEVELS = 40
"""More bars than this cannot be told apart in one picture."""

UP, DOWN = "▲", "▼"
"""Marks of what goes on beyond the axis."""

_TOP, _HEIGHT, _LABELS = 10.0, 150.0, 24.0
_LETTER = 6.6  # the width of a letter of a label, on average
_SLOTS = {False: 290.0, True: 680.0}  # the width of an axis, in pictures beside others and in wide ones
_WIDE_FROM = 14  # bars
_LONGEST = 18  # letters of a label
_TILT = 50  # degrees
_ALL_DIGITS = 10  # cuts are written as they are
_BEYOND = 1e4  # heights of the axis
_UNSEEN = 1e-4  # of the axis: less than this beyond it is not drawn
_BAR = 0.62  # the share of its slot that a bar takes
_MOST_TICKS, _MOST_BELOW = 7, 5  # of the vertical and the horizontal axis
_CROWDED = 0.15  # half of the cuts within this share of the axis would be too close together
_FEW = 0.03  # of the records
_FARTHEST = 3.5  # times as far as the typical variable
_ROUNDING = 1e-9
_DECIMALS = 9  # so that the logarithms of 0.8 and 1.25 are as far from 0
_LEAST_ODDS, _MOST_ODDS = (round(math.log(odds), _DECIMALS) for odds in (1.25, 1000.0))
_ODDS = (
    (0.8, 0.9, 1.0, 1.1, 1.25),
    (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8),
    (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis; ``anchor`` says on which side of it the label stands."""

    place: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Scale:
    """The vertical axis that all pictures share."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    as_odds: bool
    top: float = _TOP
    bottom: float = _TOP + _HEIGHT

    def y(self, value: float, beyond: float = 0.0) -> float:
        """Return where a value lies, but so many times the height of the axis beyond it at most."""
        share = (self.high - value) / (self.high - self.low)
        return round(_TOP + _HEIGHT * min(max(share, -beyond), 1 + beyond), 2)

    def leaves(self, *ends: float) -> tuple[bool, bool]:
        """Whether some of these values lie below the axis, and whether some lie above it."""
        room = _UNSEEN * (self.high - self.low)
        return min(ends) < self.low - room, max(ends) > self.high + room

    def written(self, value: float) -> str:
        """Return a value in words: a factor of the odds, or a change of the number."""
        return wording.times(value) if self.as_odds else wording.signed(value)


@dataclass(frozen=True)
class Mark:
    """What stands for one level, from left to right, with its interval if that is known.

    ``gone`` says whether the level lies beyond the axis; ``below`` and ``above`` whether it or its interval goes on
    there.
    """

    name: str
    text: str
    left: float
    right: float
    y: float
    band: Ends | None
    grows: bool
    gone: bool
    below: bool
    above: bool

    @property
    def middle(self) -> float:
        """Where a whisker stands."""
        return (self.left + self.right) / 2

    @property
    def reach(self) -> Ends:
        """The highest and the lowest point that is drawn."""
        ends = (self.y, *(self.band or ()))
        return min(ends), max(ends)


@dataclass(frozen=True)
class Picture:
    """Everything that is drawn of one variable."""

    curve: Curve
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    height: float
    wide: bool
    tilt: int
    hidden: int

    @property
    def joints(self) -> list[tuple[float, float, float]]:
        """Where stairs go up or down: the place, and both heights."""
        return [(after.left, before.y, after.y) for before, after in pairwise(self.marks)]

    @property
    def arrows(self) -> list[Tick]:
        """Where something goes on beyond the axis, on either side of it."""
        leaving = {
            UP: [mark for mark in self.marks if mark.above],
            DOWN: [mark for mark in self.marks if mark.below],
        }
        return [
            Tick(place, sign, _anchor(place))
            for sign, marks in leaving.items()
            if marks
            for place in self._exits(sign, marks)
        ]

    def _exits(self, sign: str, leaving: Sequence[Mark]) -> list[float]:
        """Return where marks leave on one side: a line where it is cut off, stairs once, and each bar by itself."""
        if self.curve.shape == "line":
            return _crossings(self.marks, sign)
        if self.curve.shape == "steps":  # the widest of those that are gone, or else of those whose band is
            level = max(leaving, key=lambda mark: (mark.gone and mark.grows == (sign == UP), mark.right - mark.left))
            return [level.middle]
        return [mark.middle for mark in leaving]

    @property
    def outline(self) -> str:
        """The corners of a line's band: along its upper ends, and back along the lower ones."""
        corners = [(mark.left, mark.band) for mark in self.marks if mark.band is not None]
        ways = [(place, band[0]) for place, band in corners] + [(place, band[1]) for place, band in corners[::-1]]
        return " ".join(f"{place:.3f},{y:.2f}" for place, y in ways)


@dataclass(frozen=True)
class Panel:
    """The pictures for one row of weights: seen at once, folded, and those of what cannot be told from noise."""

    open: tuple[Picture, ...]
    folded: tuple[Picture, ...]
    uncertain: tuple[Picture, ...]


@dataclass(frozen=True)
class Panels:
    """All pictures, on one scale."""

    outputs: tuple[Panel, ...]
    scale: Scale

    @property
    def leaves(self) -> bool:
        """Whether something is marked that goes on beyond the axis."""
        return any(picture.arrows for panel in self.outputs for part in vars(panel).values() for picture in part)


def draw(outputs: tuple[tuple[Curve, ...], ...], *, as_odds: bool) -> Panels:
    """Lay out the variables of every row of weights, in the order in which they come.

    Privacy
    -------
    Post-processing.
    """
    every = [curve for curves in outputs for curve in curves]
    scale = scale_of(every, as_odds=as_odds)
    return Panels(tuple(_panel(curves, scale) for curves in outputs), scale)


def _panel(curves: tuple[Curve, ...], scale: Scale) -> Panel:
    leading = tuple(picture(curve, scale) for curve in curves if not curve.is_uncertain)
    uncertain = tuple(picture(curve, scale) for curve in curves if curve.is_uncertain)
    return Panel(leading[:MOST_OPEN], leading[MOST_OPEN:], uncertain)


def scale_of(curves: Sequence[Curve], *, as_odds: bool) -> Scale:
    """Return an axis for all curves: long enough for what is usual, or else everything but the extremes is flat.

    Variables that go much farther than the typical one, and what cannot be told from noise, leave it.

    Privacy
    -------
    Post-processing.
    """
    certain = [curve for curve in curves if not curve.is_uncertain] or curves
    needs = [_needed(curve) for curve in certain]
    typical = statistics.median(max(-low, high) for low, high in needs) if needs else 0.0
    usual = [(low, high) for low, high in needs if max(-low, high) <= _FARTHEST * typical]
    low, high = min((low for low, _ in usual), default=0.0), max((high for _, high in usual), default=0.0)
    if as_odds:
        return _odds_scale(min(max(low, -_MOST_ODDS), -_LEAST_ODDS), max(min(high, _MOST_ODDS), _LEAST_ODDS))
    places = _round_numbers(low, high, _MOST_TICKS) if low < high else [-1.0, 0.0, 1.0]
    low, high = min(low, places[0]), max(high, places[-1])
    return Scale(low, high, tuple(Tick(at, wording.signed(at)) for at in places), as_odds=False)


def _odds_scale(low: float, high: float) -> Scale:
    """Return an axis from low to high log odds, with the finest ticks of which there are not too many."""
    for odds in _ODDS:
        places = [round(math.log(ratio), _DECIMALS) for ratio in odds]
        inside = [(at, ratio) for at, ratio in zip(places, odds, strict=True) if low <= at <= high]
        if places[0] <= low and places[-1] >= high and len(inside) <= _MOST_TICKS:
            break
    return Scale(low, high, tuple(Tick(at, f"×{ratio:g}") for at, ratio in inside), as_odds=True)


def _needed(curve: Curve) -> Ends:
    """Return from where to where a variable goes, with its intervals, but for levels that few records are on."""
    common = [level for level in curve.levels if level.share is None or level.share >= _FEW]
    ends = [end for level in common for end in (level.value, *(level.interval or ()))]
    return min([0.0, *ends]), max([0.0, *ends])


def picture(curve: Curve, scale: Scale) -> Picture:
    """Lay out one variable.

    Privacy
    -------
    Post-processing.
    """
    drawn = replace(curve, levels=_drawn(curve))
    stretches, ticks = _stretches(drawn)
    beyond = _BEYOND if curve.shape == "line" else 0.0  # a line keeps its slope, and is cut off
    marks = tuple(
        _mark(level, stretch, scale, beyond) for level, stretch in zip(drawn.levels, stretches, strict=True)
    )
    wide = not curve.counted and len(marks) > _WIDE_FROM
    tilt, below = 0, 0.0
    if not curve.counted and _width(ticks) > _SLOTS[wide] / len(marks):
        ticks = tuple(replace(tick, label=wording.shortened(tick.label, _LONGEST)) for tick in ticks)
        tilt, below = _TILT, _width(ticks) * math.sin(math.radians(_TILT)) - 6
    return Picture(
        curve=curve,
        marks=marks,
        ticks=ticks,
        height=round(scale.bottom + _LABELS + below, 1),
        wide=wide,
        tilt=tilt,
        hidden=len(curve.levels) - len(marks),
    )


def _drawn(curve: Curve) -> tuple[Level, ...]:
    """Return levels in the order in which they are drawn: categories have none of their own."""
    if curve.shape in ("line", "steps"):
        return curve.levels
    farthest = sorted(curve.levels, key=lambda level: -abs(level.value))[:MOST_LEVELS]
    return tuple(sorted(farthest, key=lambda level: -level.value))


def _stretches(curve: Curve) -> tuple[list[Ends], tuple[Tick, ...]]:
    """Return where levels start and end, in percent, and what is written below them.

    Levels of a number lie where its values do. Where cuts crowd at one end, each level gets the same width instead,
    as all other levels do, and cuts are written where they are.
    """
    levels, count = curve.levels, len(curve.levels)
    if curve.counted and not _is_crowded(curve):
        low, high = levels[0].start, levels[-1].end
        return [(_place(level.start, low, high), _place(level.end, low, high)) for level in levels], _below(low, high)
    room = (1 - _BAR) / 2 if curve.shape in ("categories", "parts") else 0.0
    slots = [(100 * (i + room) / count, 100 * (i + 1 - room) / count) for i in range(count)]
    if not curve.counted:
        return slots, tuple(Tick(sum(slot) / 2, level.label) for level, slot in zip(levels, slots, strict=True))
    every = math.ceil((count - 1) / _MOST_BELOW)
    return slots, tuple(
        Tick(slots[i][0], wording.number(levels[i].start, _ALL_DIGITS)) for i in range(1, count, every)
    )


def _place(x: float, low: float, high: float) -> float:
    """Return a place in percent."""
    return 100 * (x - low) / (high - low) if 0 < high - low < math.inf else 50.0


def _below(low: float, high: float) -> tuple[Tick, ...]:
    """Return ticks of an axis from low to high, no more than there is room for."""
    for most in range(_MOST_BELOW, 1, -1):
        places = [(x, _place(x, low, high)) for x in _round_numbers(low, high, most)]
        ticks = tuple(Tick(place, wording.number(x), _anchor(place)) for x, place in places)
        if len(ticks) * (_width(ticks) + 2 * _LETTER) <= _SLOTS[False]:
            break
    return ticks


def _width(ticks: Sequence[Tick]) -> float:
    """Return the width of the longest label."""
    return _LETTER * max((len(tick.label) for tick in ticks), default=0)


def _is_crowded(curve: Curve) -> bool:
    if curve.shape != "steps":
        return False
    low, high = curve.levels[0].start, curve.levels[-1].end
    middle = statistics.median(level.start for level in curve.levels[1:])
    return not _CROWDED <= (middle - low) / (high - low) <= 1 - _CROWDED


def _mark(level: Level, stretch: Ends, scale: Scale, room: float) -> Mark:
    text = f"{level.label}: {scale.written(level.value)}"
    band = None
    if level.interval is not None:
        band = (scale.y(level.interval[1], room), scale.y(level.interval[0], room))
        text += f" ({wording.ends(level.interval, as_odds=scale.as_odds)})"
    below, above = scale.leaves(level.value, *(level.interval or ()))
    return Mark(
        level.label,
        text,
        *stretch,
        scale.y(level.value, room),
        band,
        grows=level.value > 0,
        gone=any(scale.leaves(level.value)),
        below=below,
        above=above,
    )


def _crossings(marks: Sequence[Mark], sign: str) -> list[float]:
    """Return where a line, or else its band, crosses an edge of the frame; the middle if all of it lies beyond."""
    beyond = [_TOP - mark.reach[0] if sign == UP else mark.reach[1] - _TOP - _HEIGHT for mark in marks]
    places = [
        start.left + (end.left - start.left) * before / (before - after)
        for (start, before), (end, after) in pairwise(zip(marks, beyond, strict=True))
        if (before > 0) != (after > 0)
    ]
    return places or [50.0]


def _anchor(place: float) -> str:
    """Labels at the ends are written inwards, so that they stay in the picture."""
    return "start" if place < 4 else "end" if place > 96 else "middle"


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from ``low`` to ``high`` at the same distances, at most so many."""
    if not low < high or not math.isfinite(high - low):
        return [low]
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * (1 - _ROUNDING))
    first, last = math.ceil(low / step - _ROUNDING), math.floor(high / step + _ROUNDING)
    return [i * step for i in range(first, last + 1)]


def described(picture: Picture, most: int = MOST_OPEN) -> str:
    """Return what a picture shows, for those who hear it.

    Privacy
    -------
    Post-processing.
    """
    texts = [mark.text for mark in picture.marks]
    more = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {more} more in the table below" if more > 0 else "")
