"""Where bars and ticks stand. Across, places are percentages, so that text keeps its size on any screen."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Tick:
    """A line across the chart."""

    place: float
    label: str
    anchor: str


@dataclass(frozen=True)
class Bar:
    """One feature; ``leaves`` says that the bar goes on beyond the axis."""

    name: str
    value: str
    start: float
    width: float
    y: float
    grows: bool
    leaves: bool


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
    largest = max((abs(effect.change) for effect in shown), default=1.0)
    limit, ticks = _odds_axis(largest) if as_odds else _plain_axis(largest)
    bars = tuple(_bar(effect, limit, _TOP + i * _ROW, as_odds) for i, effect in enumerate(shown))
    return Chart(bars, ticks, _TOP + len(shown) * _ROW + 6)


def slices(shares: list[float]) -> list[Slice]:
    """Put shares end to end, in percent."""
    starts = [100 * sum(shares[:i]) for i in range(len(shares))]
    return [Slice(start, 100 * share, i + 1) for i, (start, share) in enumerate(zip(starts, shares, strict=True))]


def _bar(effect: Effect, limit: float, y: float, as_odds: bool) -> Bar:
    reach = 50 * min(abs(effect.change) / limit, 1.0)
    grows = effect.change > 0
    value = wording.times(effect.change) if as_odds else wording.signed(effect.change)
    return Bar(
        effect.name, value, 50 if grows else 50 - reach, reach, y, grows, leaves=abs(effect.change) > limit * 1.0001
    )


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
