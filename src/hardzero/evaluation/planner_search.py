"""Where a chance reaches 0.9, from rehearsals that end with yes or no: sizes are tried where it seems to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtri

from ..data.bounded import FloatArray

WANTED = 0.9
"""How often an effect has to be found."""
_AT_LIMIT = float(ndtri(WANTED))
_ROUNDS = ((0.7, 0.12), (0.4, 0.24), (0.3, 0.5), (0.25, 0.75), (0.2, 1.0))
"""How far from where the limit seems to be sizes are tried, as logarithms, and the share of the effort after that."""
_FIRST = 2
"""Rounds that only look where to look: with sizes far from their limits other effects are found otherwise."""
_DOUBT = 1.5
"""Standard deviation of the first guess, as a logarithm."""


class Outcomes(NamedTuple):
    """What was tried: of which kind, at which logarithm, and whether it was found."""

    kinds: NDArray[np.intp]
    places: FloatArray
    found: NDArray[np.bool_]


class Steepness(NamedTuple):
    """How fast a chance rises with the logarithm, in standard deviations: what to expect, and how sure that is."""

    likely: float
    doubt: float


Attempt = Callable[[FloatArray, float, int], Outcomes]
"""Rehearses once: near these logarithms, one for each kind, not further away than this, under this number."""


class Effort(NamedTuple):
    """How much is tried: until there are ``enough`` outcomes of every kind, or after ``most`` rehearsals."""

    enough: int
    most: int


def limits(
    attempt: Attempt, guesses: FloatArray, highest: FloatArray, effort: Effort, steep: Steepness
) -> FloatArray:
    """Return the logarithms at which chances reach 0.9, one for each kind; infinite beyond ``highest``.

    Privacy
    -------
    Data-independent.
    """
    nothing = Outcomes(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0, dtype=bool))
    seen, at, number = [nothing], np.minimum(guesses, highest), 0
    for place, (width, share) in enumerate(_ROUNDS):
        while number < effort.most * share and _fewest(_all(seen), len(at)) < effort.enough * share:
            seen.append(attempt(at, width, number))
            number += 1
        if place == _FIRST - 1:
            first, guesses = len(seen), at
        used = seen if place < _FIRST else seen[first:]
        fitted = likeliest_limits(_all(used), guesses, steep) if used else at
        at = np.minimum(fitted, highest)
    return np.where(fitted < highest, fitted, np.inf)


def _all(seen: Sequence[Outcomes]) -> Outcomes:
    return Outcomes(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))


def _fewest(seen: Outcomes, kinds: int) -> int:
    """How many outcomes there are of the kind that was tried least."""
    return int(np.bincount(seen.kinds, minlength=kinds).min())


def likeliest_limits(outcomes: Outcomes, guesses: FloatArray, steep: Steepness) -> FloatArray:
    """Fit Φ(z + s·(x - limit)) to the outcomes of each kind, at x: z = Φ⁻¹(0.9), s their steepness.

    Privacy
    -------
    Data-independent.
    """
    return np.array([_likeliest(outcomes, kind, guess, steep) for kind, guess in enumerate(guesses)])


def _likeliest(outcomes: Outcomes, kind: int, guess: float, steep: Steepness) -> float:
    own = outcomes.kinds == kind
    places, signs = outcomes.places[own], np.where(outcomes.found[own], 1.0, -1.0)

    def surprise(values: FloatArray) -> float:
        limit, steepness = values
        before = ((limit - guess) / _DOUBT) ** 2 + ((steepness - math.log(steep.likely)) / steep.doubt) ** 2
        return float(before / 2 - log_ndtr(signs * (_AT_LIMIT + math.exp(steepness) * (places - limit))).sum())

    return float(minimize(surprise, [guess, math.log(steep.likely)], method="L-BFGS-B").x[0])
