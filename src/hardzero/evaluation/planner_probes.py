"""Which effects are found: features of known effects are put into rehearsals, and some of them come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FloatArray
from ..model.inference import Ends, reach_of
from .planner_rehearsal import Terms, rehearse
from .planner_search import Effort, Outcomes, limits
from .planner_worlds import Probe, World, spread_of

SHARES: tuple[float | None, ...] = (None, 0.2, 0.05, 0.01)
"""Kinds of features whose smallest effect is told: a number, and categories that such shares of the rows have."""
_OF_EACH = 3
"""Features of each kind in one rehearsal, at most."""
LARGEST = 30.0
"""Odds ratios beyond this are not looked for."""
_MOST_REHEARSALS = 4
"""So many rehearsals for each repeat at most, where not all features fit into one."""
_BY_SIZE, _BY_TERMS = 6.0, 3.0
"""How fast clearness rises with the logarithms of sizes, and of ε or rows."""
_CLEARLY, _CURVATURE, _ROOM = 6.0, 0.15, 0.5
"""A first guess: effects of so many standard errors are found, the curvature by the margin being the second, and
gradients as long as the third times a row."""


class Found(NamedTuple):
    """The smallest effect of a kind, by standard deviation and as an odds ratio, and the width of its interval."""

    standardised: float | None
    odds_ratio: float | None
    interval: float | None


def wanted_size(odds_ratio: float, share: float | None) -> float:
    """Return an effect by one standard deviation: that of having a category, or over the whole range of a number.

    Privacy
    -------
    Data-independent.
    """
    size = abs(math.log(odds_ratio)) * spread_of(share) / _range(share)
    if size == 0:
        raise ValueError("odds_ratio must not be 1: that is no effect; 1.5 is one that is often looked for")
    return size


def _range(share: float | None) -> float:
    return 2.0 if share is None else 1.0


@dataclass(frozen=True)
class Probing:
    """Rehearsals of a world with features of known effects beside its own, of which fewer may be real then.

    ``room`` is how many such features fit into the list of what is kept; ``strength`` is the size of the world's own
    effects.

    Privacy
    -------
    Data-independent.
    """

    world: World
    room: int
    strength: float
    seed: int

    @classmethod
    def of(cls, world: World, terms: Terms, seed: int) -> Probing:
        """Decide how many effects there are, so that all of them could be kept."""
        last = terms.plan(world.table).releases.stages[-1]
        room = min(last.kept, last.variables, world.table.n_features)
        effects = max(min(world.effects, room // 2), 1)
        world = replace(world, supposed=replace(world.supposed, effects=effects))
        return cls(world, max(room - effects, 1), world.strength(), seed)

    def kinds(self, sizes: FloatArray, number: int) -> NDArray[np.intp]:
        """Return the kinds of a rehearsal's features, given the sizes of their effects, one for each kind.

        Together they matter no more than the world's own effects; where not all of them fit in, they take turns.
        """
        count = len(sizes)
        turn = (number + np.arange(_OF_EACH * count)) % count
        mattering = np.cumsum(sizes[turn] ** 2) <= self.world.effects * self.strength**2
        return turn[: max(1, min(self.room, int(mattering.sum())))]

    def smallest(self, terms: Terms, repeats: int) -> list[Found]:
        """Return for each kind the smallest effect that is found with probability 0.9."""
        errors: list[list[float]] = [[] for _ in SHARES]
        largest = np.log([wanted_size(LARGEST, share) for share in SHARES])

        def attempt(at: FloatArray, away: Ends, number: int) -> Outcomes:
            rng = np.random.default_rng([self.seed, number, 1])
            kinds = self.kinds(np.exp(at), number)
            places = np.minimum(at[kinds] + rng.uniform(*away, len(kinds)), largest[kinds])
            probes = [Probe(SHARES[kind], math.exp(place)) for kind, place in zip(kinds, places, strict=True)]
            seen = rehearse(self.world, terms, self.strength, probes, [self.seed, number, 2])
            for kind, error in zip(kinds, seen.errors, strict=True):
                if not math.isnan(error):
                    errors[kind].append(float(error))
            return Outcomes(kinds, places, seen.clearness)

        guesses = np.full(len(SHARES), math.log(_CLEARLY * self._error(terms)))
        logs = limits(attempt, guesses, largest, _effort(repeats), _BY_SIZE)
        return [_told(share, size, known) for share, size, known in zip(SHARES, np.exp(logs), errors, strict=True)]

    def needed(
        self,
        at: Callable[[float], Terms],
        share: float | None,
        size: float,
        among: tuple[float, float, float],
        repeats: int,
    ) -> float | None:
        """Return the terms, between a lowest and a highest, from a guess, at which an effect is found so often."""
        lowest, guess, highest = among
        probes = [Probe(share, size)] * len(self.kinds(np.array([size]), 0))

        def attempt(near: FloatArray, away: Ends, number: int) -> Outcomes:
            rng = np.random.default_rng([self.seed, number, 3])
            place = float(np.clip(near[0] + 2 * rng.uniform(*away), math.log(lowest), math.log(highest)))
            seen = rehearse(self.world, at(math.exp(place)), self.strength, probes, [self.seed, number, 4])
            kinds = np.zeros(len(probes), dtype=np.intp)
            return Outcomes(kinds, np.full(len(probes), place), seen.clearness)

        (found,) = limits(
            attempt, np.array([math.log(guess)]), np.array([math.log(highest)]), _effort(repeats), _BY_TERMS
        )
        return None if math.isinf(found) else max(math.exp(found), lowest)

    def guessed(self, at: Callable[[float], Terms], size: float, lowest: float, highest: float) -> float:
        """Return a first guess of the terms at which an effect is found."""
        tried = np.geomspace(lowest, highest, 40)
        enough = [place for place in tried if _CLEARLY * self._error(at(float(place))) <= size]
        return float(enough[0] if enough else highest)

    def _error(self, terms: Terms) -> float:
        """Roughly the standard error of a weight: sampling, and the noise of the last descent's gradients."""
        last = terms.plan(self.world.table).releases.stages[-1]
        rows = terms.n_rows / terms.neighbours.contributions
        noise = last.pace.noise * _ROOM * math.sqrt(last.kept + 1) / math.sqrt(last.landing_steps) / rows
        return math.sqrt(1 / (_CURVATURE * terms.n_rows) + (noise / _CURVATURE) ** 2)


def _effort(repeats: int) -> Effort:
    return Effort(_OF_EACH * repeats, _MOST_REHEARSALS * repeats)


def _told(share: float | None, size: float, errors: Sequence[float]) -> Found:
    interval = 2 * reach_of(float(np.median(errors))) if errors else None
    if math.isinf(size):
        return Found(None, None, interval)
    return Found(float(size), math.exp(size / spread_of(share) * _range(share)), interval)
