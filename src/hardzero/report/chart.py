"""Where bars and ticks stand. Across, places are percentages, so that text keeps its size on any screen."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..model.inference import Ends
from ..model.presentation import Effect
from . import wording

MOST_BARS = 25
"""More bars than this tell no more than the table does."""

_ODDS_AXES = (
    (1.25, (0.8, 0.9, 1.0, 1.1, 1.25)),
    (2.0, (0.5, 0.7, 1.0, 1.4, 2.0)),
    (5.0, (0.2, 0.5, 1.0, 2.0, 5.0)),
    (10.0, (0.1, 0.3, 1.0, 3.0, 10.0)),
    (100.0, (0.01, 0.1, 1.0, 10.0, 100.0)),
    (1000.0, (0.001, 0.03, 1.0, 30.0, 1000.0)),
)
_TOP, _ROW, _BAR = 34.0, 38.0, 12.0
_ROOM = 1.0001  # what is rounding beyond the axis


@dataclass(frozen=True)
class Tick:
    """A line across the chart."""

    place: float
    label: str
    anchor: str


@dataclass(frozen=True)
class Whisker:
    """An interval: a line across the bar, with caps where its ends are on the axis."""

    start: float
    end: float
    caps: tuple[float, ...]


@dataclass(frozen=True)
class Bar:
    """One feature; ``leaves`` says that the bar or its whisker goes on beyond the axis."""

    name: str
    value: str
    start: float
    width: float
    y: float
    grows: bool
    leaves: bool
    whisker: Whisker | None


@dataclass(frozen=True)
class Chart:
    """Everything that is drawn."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    height: float
    bar_height: float = _BAR
    top: float = _TOP

    @property
    def clipped(self) -> bool:
        """Whether some bar leaves the axis."""
        return any(bar.leaves for bar in self.bars)


@dataclass(frozen=True)
class Slice:
    """A part of a bar that adds up to the whole."""

    start: float
    width: float
    number: int


def draw(effects: tuple[Effect, ...], *, as_odds: bool) -> Chart:
    """Lay out bars for the largest effects, from the middle to either side.

    Privacy
    -------
    Post-processing.
    """
    shown = effects[:MOST_BARS]
    largest = max((_reach(effect) for effect in shown), default=1.0)
    limit, ticks = _odds_axis(largest) if as_odds else _plain_axis(largest)
    bars = tuple(_bar(effect, limit, _TOP + i * _ROW, as_odds) for i, effect in enumerate(shown))
    return Chart(bars, ticks, _TOP + len(shown) * _ROW + 6)


def slices(shares: list[float]) -> list[Slice]:
    """Put shares end to end, in percent."""
    starts = [100 * sum(shares[:i]) for i in range(len(shares))]
    return [Slice(start, 100 * share, i + 1) for i, (start, share) in enumerate(zip(starts, shares, strict=True))]


def _reach(effect: Effect) -> float:
    """How far a bar and its whisker go from the middle."""
    return max(abs(value) for value in effect.change_interval or (effect.change,))


def _bar(effect: Effect, limit: float, y: float, as_odds: bool) -> Bar:
    reach = 50 * min(abs(effect.change) / limit, 1.0)
    grows = effect.change > 0
    return Bar(
        name=effect.name,
        value=wording.times(effect.change) if as_odds else wording.signed(effect.change),
        start=50 if grows else 50 - reach,
        width=reach,
        y=y,
        grows=grows,
        leaves=_reach(effect) > limit * _ROOM,
        whisker=None if effect.change_interval is None else _whisker(effect.change_interval, limit),
    )


def _whisker(interval: Ends, limit: float) -> Whisker:
    start, end = (50 + 50 * min(max(value / limit, -1.0), 1.0) for value in interval)
    inside = [abs(value) <= limit * _ROOM for value in interval]
    return Whisker(start, end, tuple(place for place, shown in zip((start, end), inside, strict=True) if shown))


def _odds_axis(largest: float) -> tuple[float, tuple[Tick, ...]]:
    """The smallest axis that holds all effects; odds beyond a factor of 1000 are drawn as that."""
    axis = next((axis for axis in _ODDS_AXES if math.log(axis[0]) >= largest), _ODDS_AXES[-1])
    limit = math.log(axis[0])
    return limit, _ticks([(math.log(odds) / limit, f"×{odds:g}") for odds in axis[1]])


def _plain_axis(largest: float) -> tuple[float, tuple[Tick, ...]]:
    power = 10.0 ** math.floor(math.log10(largest)) if largest > 0 else 1.0
    limit = next((step * power for step in (1, 2, 5) if step * power >= largest), 10 * power)
    return limit, _ticks([(share, wording.signed(share * limit)) for share in (-1.0, -0.5, 0.0, 0.5, 1.0)])


def _ticks(places: list[tuple[float, str]]) -> tuple[Tick, ...]:
    """The outermost labels are written inwards, so that they stay on the page."""
    last = len(places) - 1
    anchors = {0: "start", last: "end"}
    return tuple(Tick(50 + 50 * place, label, anchors.get(i, "middle")) for i, (place, label) in enumerate(places))
