"""What an audit looks at: two neighbouring inputs, a run that releases numbers, and what is claimed of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..privacy import accounting
from ..privacy.budget import Budget
from ..privacy.events import Event
from ..privacy.randomness import FloatArray

_DELTAS = (0.003, 0.01, 0.03, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""A guarantee holds at every δ. These lie where a few thousand runs can see it."""
_ACCOUNTANTS: tuple[accounting.Accountant, ...] = ("exact", "recursion", "pure")


@dataclass(frozen=True)
class Claim:
    """A guarantee: what is stated, and the events from which it follows, which say what holds at every other δ.

    Attributes
    ----------
    stated : Budget
        The (ε, δ) that is printed.
    events : tuple of Event
        What is said to be released, in the order of time; empty if only the stated budget is claimed.

    Privacy
    -------
    Data-independent.
    """

    stated: Budget
    events: tuple[Event, ...]

    @cached_property
    def curve(self) -> tuple[Budget, ...]:
        """What is claimed: the stated budget first, then the price of the events at every δ of the audit."""
        deltas = _DELTAS if self.events else ()
        return (self.stated, *(Budget(self._least(delta), delta) for delta in deltas))

    def _least(self, delta: float) -> float:
        """What the events cost by the sharpest bound there is, which the claim implies whatever it was made with."""
        return min(accounting.spent(self.events, delta, by).epsilon for by in _ACCOUNTANTS)

    @cached_property
    def mu(self) -> float | None:
        """The μ of a guarantee that is exactly Gaussian; None for any other."""
        parts = accounting.stretches(self.events) if self.events else None
        return math.sqrt(parts[0].square) if parts is not None and len(parts) == 1 else None


@dataclass(frozen=True)
class Case:
    """Something that claims to be private, and two inputs that it must not tell apart.

    Attributes
    ----------
    name : str
        What ``--only`` looks for.
    about : str
        What is released, and which record is there or not.
    claim : Claim
        What is to be refuted.
    inputs : tuple
        Neighbouring inputs: without the record, and with it.
    run : callable
        ``run(input, seed)`` returns numbers that were released, always equally many. With None for a seed the noise
        comes from the operating system.
    runs, quick : int
        How many runs on each input a long audit makes, and a quick one, which leaves out a case with none.
    group : str
        Under which heading it is shown.

    Privacy
    -------
    Data-independent: inputs are made up.
    """

    name: str
    about: str
    claim: Claim
    inputs: tuple[Any, Any]
    run: Callable[[Any, int | None], FloatArray]
    runs: int
    quick: int
    group: str = "mechanisms"


@dataclass(frozen=True)
class ExactCase:
    """Something that must not differ at all between neighbours, whatever the noise.

    Attributes
    ----------
    name, about, group : str
        As in `Case`.
    difference : callable
        Returns in words what differs, and nothing if nothing does.

    Privacy
    -------
    Data-independent: inputs are made up.
    """

    name: str
    about: str
    difference: Callable[[], str]
    group: str = "files"
