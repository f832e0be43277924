"""Utility against ε as a picture: what accuracy, and which effects, a stronger or weaker guarantee gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from .planner_forecast import Forecast

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 340.0, 190.0, 64.0, 54.0, 110.0
_COLOURS = ("#0b5c8a", "#b3541e", "#1d6b45", "#6b4aa0")
_TEXT, _LINE = "#1b2530", "#d5dce3"
_TICKS = 4
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class _Curve:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class _Axes:
    """Two axes: ε, by its logarithm, across, and values upwards."""

    left: float
    epsilons: tuple[float, ...]
    low: float
    high: float

    def x(self, epsilon: float) -> float:
        first, last = math.log(self.epsilons[0]), math.log(self.epsilons[-1])
        return self.left + _WIDTH * ((math.log(epsilon) - first) / (last - first) if last > first else 0.5)

    def y(self, value: float) -> float:
        return _TOP + _HEIGHT * (self.high - value) / (self.high - self.low)


def utility_picture(forecasts: Sequence[Forecast]) -> str:
    """Return an SVG picture of accuracy and smallest effects against ε.

    Parameters
    ----------
    forecasts : sequence of Forecast
        Of the same table, in rising order of ε.

    Privacy
    -------
    Data-independent.
    """
    epsilons = tuple(forecast.epsilon for forecast in forecasts)
    first = forecasts[0]
    accuracy = [_Curve("private", tuple((f.epsilon, 100 * f.accuracy.private) for f in forecasts))]
    if not math.isnan(first.accuracy.plain):
        accuracy.append(_Curve("without privacy", tuple((f.epsilon, 100 * f.accuracy.plain) for f in forecasts)))
    effects = [
        _Curve(effect.kind, _known((f.epsilon, f.effects[place].odds_ratio) for f in forecasts))
        for place, effect in enumerate(first.effects)
    ]
    panels = [
        _panel("expected accuracy, %", accuracy, epsilons, _LEFT, ""),
        _panel("smallest odds ratio that is found", effects, epsilons, _LEFT + _WIDTH + _GAP, "×"),
    ]
    title = f"{first.n_rows:,} rows, {first.n_features:,} features: utility against ε"
    width, height = 2 * _WIDTH + _GAP + 2 * _LEFT, _TOP + _HEIGHT + 60 + 18 * len(effects)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13" fill="{_TEXT}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="{_LEFT:g}" y="22" font-size="16" font-weight="600">{escape(title)}</text>{"".join(panels)}</svg>\n'
    )


def utility_page(forecasts: Sequence[Forecast]) -> str:
    """Return the picture and, below it, the forecasts in words, as one HTML page.

    Parameters
    ----------
    forecasts : sequence of Forecast
        Of the same table, in rising order of ε.

    Privacy
    -------
    Data-independent.
    """
    words = "".join(f"<h2>ε = {f.epsilon:g}</h2><pre>{escape(str(f))}</pre>" for f in forecasts)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>What a private fit will be worth</title>'
        '<body style="font-family: system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem">'
        f"<h1>What a private fit will be worth</h1>{utility_picture(forecasts)}{words}</body></html>\n"
    )


def _known(points: Iterable[tuple[float, float | None]]) -> tuple[tuple[float, float], ...]:
    return tuple((at, value) for at, value in points if value is not None)


def _panel(title: str, curves: Sequence[_Curve], epsilons: tuple[float, ...], left: float, mark: str) -> str:
    values = [value for curve in curves for _, value in curve.points]
    ticks = _round_numbers(min(values, default=1.0), max(values, default=2.0))
    if mark:  # odds ratios start at 1
        ticks = [1.0, *(tick for tick in ticks if tick > 1)]
    axes = _Axes(left, epsilons, ticks[0], ticks[-1])
    parts = [f'<text x="{left:g}" y="44" font-weight="600">{escape(title)}</text>']
    parts += [_grid_line(axes, tick, f"{mark}{tick:g}") for tick in ticks]
    parts += [
        f'<text x="{axes.x(epsilon):.1f}" y="{_TOP + _HEIGHT + 18:g}" text-anchor="middle">{epsilon:g}</text>'
        for epsilon in epsilons
    ]
    parts.append(f'<text x="{left + _WIDTH:g}" y="{_TOP + _HEIGHT + 34:g}" text-anchor="end">ε</text>')
    for place, (curve, colour) in enumerate(zip(curves, _COLOURS, strict=False)):
        parts.append(_drawn(curve, axes.x, axes.y, colour))
        below = _TOP + _HEIGHT + 48 + 18 * place
        none = "" if curve.points else ": none is found"
        parts.append(
            f'<rect x="{left:g}" y="{below - 9:g}" width="14" height="4" fill="{colour}"/>'
            f'<text x="{left + 20:g}" y="{below:g}">{escape(curve.name)}{none}</text>'
        )
    return "".join(parts)


def _grid_line(axes: _Axes, value: float, label: str) -> str:
    y = axes.y(value)
    return (
        f'<line x1="{axes.left:g}" x2="{axes.left + _WIDTH:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>'
        f'<text x="{axes.left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _drawn(curve: _Curve, x: Callable[[float], float], y: Callable[[float], float], colour: str) -> str:
    places = [(x(at), y(value)) for at, value in curve.points]
    line = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
    dots = "".join(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3.5" fill="{colour}"/>' for left, top in places)
    return f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>{dots}'


def _round_numbers(low: float, high: float) -> list[float]:
    """Round numbers from below the lowest to above the highest value."""
    rough = max(high - low, 1e-3 * max(abs(high), 1e-3)) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in _STEPS if step * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(place * step, 10) for place in range(first, max(last, first + 1) + 1)]
