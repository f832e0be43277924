"""Where a chance reaches 0.9, from rehearsals that end with yes or no: sizes are tried where it seems to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtri

from ..data.bounded import FloatArray

WANTED = 0.9
"""How often an effect has to be found."""
_AT_LIMIT = float(ndtri(WANTED))
_WIDTHS = (0.7, 0.5, 0.3, 0.25, 0.2)
"""How far from where the limit seems to be sizes are tried, as logarithms: one round of rehearsals each."""
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


def limits(attempt: Attempt, guesses: FloatArray, highest: FloatArray, repeats: int, steep: Steepness) -> FloatArray:
    """Return the logarithms at which chances reach 0.9, one for each kind; infinite beyond ``highest``.

    Privacy
    -------
    Data-independent.
    """
    seen: list[Outcomes] = []
    at = np.minimum(guesses, highest)
    rounds = np.array_split(np.arange(repeats), len(_WIDTHS))
    for width, numbers in zip(_WIDTHS, rounds, strict=True):
        seen += [attempt(at, width, int(number)) for number in numbers]
        if seen:
            outcomes = Outcomes(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))
            fitted = likeliest_limits(outcomes, guesses, steep)
            at = np.minimum(fitted, highest)
    return np.where(fitted < highest, fitted, np.inf)


def likeliest_limits(outcomes: Outcomes, guesses: FloatArray, steep: Steepness) -> FloatArray:
    """Fit Φ(z + s·(x - x_kind)) to outcomes at x: z = Φ⁻¹(0.9), x_kind the limits, s the same for all kinds.

    Privacy
    -------
    Data-independent.
    """
    signs = np.where(outcomes.found, 1.0, -1.0)

    def surprise(values: FloatArray) -> float:
        at, steepness = values[:-1], math.exp(values[-1])
        score = _AT_LIMIT + steepness * (outcomes.places - at[outcomes.kinds])
        before = ((at - guesses) / _DOUBT) ** 2 / 2
        return float(
            before.sum()
            + ((values[-1] - math.log(steep.likely)) / steep.doubt) ** 2 / 2
            - log_ndtr(signs * score).sum()
        )

    start = np.append(guesses, math.log(steep.likely))
    return np.asarray(minimize(surprise, start, method="L-BFGS-B").x[:-1])
