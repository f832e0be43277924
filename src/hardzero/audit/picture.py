"""Lower bounds against claims, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .judge import CONFIDENCE, Outcome

_LEFT, _WIDTH, _TOP, _ROW = 350.0, 480.0, 74.0, 22.0
_TEXT, _LINE, _CLAIM, _SHOWN, _ALARM = "#1b2530", "#d5dce3", "#b3541e", "#0b5c8a", "#c00000"
_TICKS = 5


def audit_picture(outcomes: Sequence[Outcome]) -> str:
    """Return an SVG picture: for each case what is claimed, and what runs show.

    Parameters
    ----------
    outcomes : sequence of Outcome
        From `audit`.

    Privacy
    -------
    Data-independent.
    """
    largest = max([1.0, *(max(outcome.epsilon, outcome.epsilon_shown) for outcome in outcomes)])
    height = _TOP + _ROW * len(outcomes) + 30
    ticks = "".join(_tick(largest * place / _TICKS, largest, height) for place in range(_TICKS + 1))
    rows = "".join(_row(outcome, _TOP + _ROW * place, largest) for place, outcome in enumerate(outcomes))
    title = f"ε that runs show, at {100 * CONFIDENCE:g} % confidence, against ε that is claimed"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 40:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="12" fill="{_TEXT}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="16" y="24" font-size="15" font-weight="600">{escape(title)}</text>'
        f"{_key(16, 'at the claimed δ', _dot(0, 0, filled=True, colour=_SHOWN))}"
        f"{_key(190, 'of Gaussian noise, by μ', _dot(0, 0, filled=False, colour=_SHOWN))}"
        f"{_key(400, 'claim', _mark(0, 0))}{ticks}{rows}</svg>\n"
    )


def _x(epsilon: float, largest: float) -> float:
    return _LEFT + _WIDTH * epsilon / largest


def _tick(epsilon: float, largest: float, height: float) -> str:
    x = _x(epsilon, largest)
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 12:g}" y2="{height - 26:g}" stroke="{_LINE}"/>'
        f'<text x="{x:.1f}" y="{height - 10:g}" text-anchor="middle">{epsilon:.3g}</text>'
    )


def _row(outcome: Outcome, y: float, largest: float) -> str:
    colour = _SHOWN if outcome.passed else _ALARM
    shown = _x(outcome.epsilon_shown, largest)
    line = f'<line x1="{_LEFT:g}" x2="{shown:.1f}" y1="{y:g}" y2="{y:g}" stroke="{colour}" stroke-width="3"/>'
    implied = outcome.epsilon_as_gaussian
    hollow = "" if implied is None else _dot(_x(min(implied, largest), largest), y, filled=False, colour=colour)
    return (
        f'<text x="{_LEFT - 12:g}" y="{y + 4:g}" text-anchor="end">{escape(outcome.name)}</text>{line}'
        f"{_dot(shown, y, filled=True, colour=colour)}{hollow}{_mark(_x(outcome.epsilon, largest), y)}"
    )


def _dot(x: float, y: float, *, filled: bool, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:g}" r="4" fill="{colour if filled else "#ffffff"}" stroke="{colour}"/>'


def _mark(x: float, y: float) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 8:g}" y2="{y + 8:g}" stroke="{_CLAIM}" stroke-width="3"/>'


def _key(x: float, words: str, sign: str) -> str:
    return f'<g transform="translate({x + 6:g} 44)">{sign}<text x="12" y="4">{escape(words)}</text></g>'
