"""Where a chance reaches 0.9, from rehearsals that tell how clearly something was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FloatArray
from ..model.inference import Ends

WANTED = 0.9
"""How often an effect has to be found."""
_WIDE, _NARROW, _NEAR = (-0.7, 0.7), (-0.4, 0.4), (-0.2, 0.25)
_ROUNDS = ((_WIDE, 0.1), (_NARROW, 0.2), (_NEAR, 0.45), (_NEAR, 0.7), (_NEAR, 1.0))
"""How far below and above where the limit seems to be logarithms are tried, and the share of the effort then."""
_FIRST = 2
"""Rounds that only look where to look: with sizes far from their limits other effects are found otherwise."""
_BEFOREHAND = 0.5
"""The expected steepness counts as much as outcomes whose squared distances from their mean add up to this."""


class Outcomes(NamedTuple):
    """What was tried: of which kind, at which logarithm, and how clearly it was found; below 0 it was not."""

    kinds: NDArray[np.intp]
    places: FloatArray
    clearness: FloatArray


class Effort(NamedTuple):
    """How much is tried: until there are ``enough`` outcomes of every kind, or after ``most`` rehearsals."""

    enough: int
    most: int


Attempt = Callable[[FloatArray, Ends, int], Outcomes]
"""Rehearses once: near these logarithms, one for each kind, not further below and above, under this number."""


def limits(
    attempt: Attempt, guesses: FloatArray, highest: FloatArray, effort: Effort, steepness: float
) -> FloatArray:
    """Return the logarithms at which chances reach 0.9, one for each kind; infinite beyond ``highest``.

    ``steepness`` is how fast clearness is expected to rise with the logarithm.

    Privacy
    -------
    Data-independent.
    """
    seen, at, number, first = list[Outcomes](), np.minimum(guesses, highest), 0, 0
    for place, (away, share) in enumerate(_ROUNDS):
        first = len(seen) if place <= _FIRST else first
        while number < effort.most * share and _fewest(seen, len(at)) < effort.enough * share:
            seen.append(attempt(at, away, number))
            number += 1
        found = likely_limits(seen[first:], at, steepness)
        at = np.minimum(found, highest)
    return np.where(found < highest, found, np.inf)


def likely_limits(seen: Sequence[Outcomes], guesses: FloatArray, steepness: float) -> FloatArray:
    """Return for each kind the logarithm at which nine outcomes of ten would have been found.

    Every outcome tells where it would just have been found, as clearness rises with the logarithm: the limit is the
    0.9-quantile of these. A kind of which there is no outcome keeps its guess.

    Privacy
    -------
    Data-independent.
    """
    result = np.array(guesses, dtype=np.float64)
    for kind in range(len(guesses)):
        places, clearness = (
            np.concatenate([one[part][one.kinds == kind] for one in seen] or [np.zeros(0)]) for part in (1, 2)
        )
        if len(places):
            away = places - places.mean()
            rise = (away @ clearness + _BEFOREHAND * steepness) / (away @ away + _BEFOREHAND)
            result[kind] = np.quantile(places - clearness / max(rise, steepness / 2), WANTED)
    return result


def _fewest(seen: Sequence[Outcomes], kinds: int) -> int:
    """How many outcomes there are of the kind that was tried least."""
    counts = (np.bincount(one.kinds, minlength=kinds) for one in seen)
    return int(np.min(sum(counts, start=np.zeros(kinds))))
