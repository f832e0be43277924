"""The page about a data set's budget: what was spent over time, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ..ledger.overview import Overview
from . import wording
from .page import environment

_HEIGHT, _TOP, _BOTTOM = 260.0, 16.0, 30.0
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_OUTCOMES = {"complete": "complete", "failed": "failed, charged", "open": "never closed, charged"}


@dataclass(frozen=True)
class Step:
    """What all fits together cost from one fit to the next; across in percent, upwards in pixels."""

    left: float
    right: float
    y: float
    before: float
    text: str


@dataclass(frozen=True)
class Steps:
    """The chart: a stair of totals under the line of the cap."""

    steps: tuple[Step, ...]
    cap: tuple[tuple[float, float, float], ...]
    ticks: tuple[tuple[float, str], ...]
    height: float = _HEIGHT


def draw(overview: Overview) -> Steps:
    """Lay out the totals, fit by fit: times are listed in the table, fits come in bursts.

    Privacy
    -------
    Post-processing.
    """
    spendings = overview.spendings
    top = max([overview.cap.epsilon, *(spending.cap for spending in spendings)])
    width = 100 / max(len(spendings), 1)

    def y(epsilon: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(epsilon / top, 1.0), 2)

    totals = [0.0, *(spending.total for spending in spendings)]
    steps = tuple(
        Step(i * width, (i + 1) * width, y(spending.total), y(totals[i]), _said(overview, i))
        for i, spending in enumerate(spendings)
    )
    caps = [spending.cap for spending in spendings] or [overview.cap.epsilon]
    lines = tuple((i * width, (i + 1) * width, y(cap)) for i, cap in enumerate(caps))
    return Steps(steps, lines, tuple((y(share * top), wording.number(share * top, 3)) for share in _SHARES))


def _said(overview: Overview, place: int) -> str:
    spending = overview.spendings[place]
    return f"entry {spending.number}: {spending.what}, ε {wording.number(spending.epsilon)}; all together " + (
        wording.number(spending.total)
    )


def render_ledger(overview: Overview, version: str) -> str:
    """Return the page as HTML that needs no network, no fonts and no scripts.

    Parameters
    ----------
    overview : Overview
        What to show.
    version : str
        Version of hardzero.

    Privacy
    -------
    Post-processing; that a fit failed may depend on the records: such a page is for the data holder.
    """
    return str(
        _template().render(
            overview=overview,
            state=overview.state,
            chart=draw(overview),
            outcomes=_OUTCOMES,
            wording=wording,
            version=version,
        )
    )


@cache
def _template() -> Any:
    return environment().get_template("ledger.html.j2")
