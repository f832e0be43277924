"""Where a descent goes next: with momentum, or guided by a curvature that was released on the way.

Everything here is post-processing of released gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..data.bounded import FloatArray
from .frank_wolfe import Weights

_MOMENTUM = 0.9
_WHOLE_STEPS, _HELD_BACK = 2.0, 16.0
"""Guided step t of T is the first over (t + T over the second), and at most whole: short while noise of single
gradients would move it far. Of 48 or more none is so long that a curvature believed to be a quarter of the true one
makes it leap to and fro."""


class Walk(Protocol):
    """A way through the weights, one gradient after the other."""

    def place(self) -> Weights:
        """Where the next gradient is asked for."""
        ...

    def follow(self, slope: Weights) -> None:
        """Go on from there by the gradient that was released."""
        ...


class Momentum:
    """Nesterov steps of one size; ``allowed`` puts weights back to where they may be."""

    def __init__(self, start: Weights, rate: float, allowed: Callable[[FloatArray], FloatArray]) -> None:
        self._at, self._ahead = start, start
        self._rate, self._allowed = rate, allowed

    def place(self) -> Weights:
        """Return the place ahead, to which speed alone would lead."""
        return self._ahead

    def follow(self, slope: Weights) -> None:
        """Go one step down from the place ahead."""
        coef = self._allowed(self._ahead.coef - self._rate * slope.coef)
        moved = Weights(coef, self._ahead.intercept - self._rate * slope.intercept)
        self._ahead = Weights(
            coef + _MOMENTUM * (coef - self._at.coef),
            moved.intercept + _MOMENTUM * (moved.intercept - self._at.intercept),
        )
        self._at = moved


class Guide(NamedTuple):
    """What is known of the way to the optimum of two classes: vectors hold weights and, last, their intercept.

    ``start`` is where to begin; a gradient g at a place w moves it by -(gain·g + pull·(w - home)), times the share of
    a whole step that its turn allows.

    Privacy
    -------
    Post-processing.
    """

    start: FloatArray
    home: FloatArray
    gain: FloatArray
    pull: FloatArray


class Guided:
    """Steps to where the optimum seems to be, the shorter the more there have been; weights may have any sign."""

    def __init__(self, guide: Guide, steps: int) -> None:
        self._guide, self._at = guide, guide.start
        self._turn = steps / _HELD_BACK

    def place(self) -> Weights:
        """Return where the optimum seems to be so far."""
        return Weights(self._at[None, :-1], self._at[-1:])

    def follow(self, slope: Weights) -> None:
        """Go by the gradient and back towards home, less with every turn."""
        self._turn += 1
        _, home, gain, pull = self._guide
        step = gain @ np.append(slope.coef[0], slope.intercept) + pull @ (self._at - home)
        self._at = self._at - min(_WHOLE_STEPS / self._turn, 1.0) * step
