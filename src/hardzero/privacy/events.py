"""Frozen records of what was released. Each knows its own cost; repetition is multiplied in one place."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import NamedTuple


class Cost(NamedTuple):
    """Rényi divergence of order α at most ``shift`` + α·``rho`` + ``tail``/(α-1), all α > 1; ``epsilon`` in pure DP.

    A tail multiplies δ by its exponential, whatever the order.
    """

    rho: float
    epsilon: float = math.inf
    shift: float = 0.0
    tail: float = 0.0


class Event(abc.ABC):
    """One release, with its cost and, in plain words, what it was."""

    @property
    @abc.abstractmethod
    def cost(self) -> Cost: ...

    @abc.abstractmethod
    def describe(self) -> str: ...


@dataclass(frozen=True)
class Selection(Event):
    """One choice by the exponential mechanism with bounded range ``eta`` (docs/proofs/selection.md)."""

    eta: float
    what: str = "one vertex"

    @property
    def cost(self) -> Cost:
        return Cost(min(self.eta**2 / 8, self.eta), self.eta)  # η-DP bounds every Rényi divergence by η

    def describe(self) -> str:
        return f"choice of {self.what} by the exponential mechanism (bounded range {self.eta:.4g})"


@dataclass(frozen=True)
class PureRelease(Event):
    """A release known only to be ``bound``-DP, hence min(bound²/2, bound)-zCDP (Bun and Steinke 2016)."""

    what: str
    bound: float

    @property
    def cost(self) -> Cost:
        return Cost(min(self.bound**2 / 2, self.bound), self.bound)

    def describe(self) -> str:
        return f"{self.what} ({self.bound:.4g}-DP)"


@dataclass(frozen=True)
class GaussianRelease(Event):
    """Sums with Gaussian noise, rounded: exactly 1/``noise``-GDP. ``noise`` is σ divided by the L2 sensitivity."""

    what: str
    noise: float

    @property
    def cost(self) -> Cost:
        return Cost(1 / (2 * self.noise**2))

    def describe(self) -> str:
        return f"{self.what} with Gaussian noise of {self.noise:.4g} sensitivities"


@dataclass(frozen=True)
class PerturbedMinimum(Event):
    """The minimiser of an objective with a Gaussian linear term (docs/proofs/objective-perturbation.md).

    ``noise`` is σ divided by how far neighbours' gradients can be apart, ``bend`` a record's largest curvature over
    the strong convexity that is there without any record.
    """

    what: str
    noise: float
    bend: float

    @property
    def cost(self) -> Cost:
        shift = math.log1p(self.bend) + math.sqrt(2 / math.pi) / self.noise
        return Cost(1 / (2 * self.noise**2), shift=shift)

    def describe(self) -> str:
        return f"{self.what}, its objective perturbed with Gaussian noise of {self.noise:.4g} sensitivities"


@dataclass(frozen=True)
class RandomStopping(Event):
    """The best of many runs, after each of which a coin of probability 1/``odds`` says stop (docs/proofs/tuning.md).

    In zCDP each run costs at most what a Gaussian release of ``noise`` sensitivities does.
    """

    what: str
    noise: float
    odds: int

    @property
    def cost(self) -> Cost:
        rho, chance = 1 / (2 * self.noise**2), math.log(self.odds)
        order = max(
            math.sqrt(chance / rho), 1.0
        )  # of the divergence that bounds how rivals do; any from 1 on is valid
        return Cost(rho, shift=2 * ((order - 1) * rho + chance / order), tail=chance)

    def describe(self) -> str:
        return (
            f"the best of {self.what}, {self.odds} on average, whose number was drawn and is not told; "
            f"each costs at most what Gaussian noise of {self.noise:.4g} sensitivities does"
        )


@dataclass(frozen=True)
class Repeated(Event):
    """The same kind of release ``times`` times, each allowed to depend on the ones before."""

    event: Event
    times: int

    @property
    def cost(self) -> Cost:
        return Cost(*(self.times * part for part in self.event.cost))

    def describe(self) -> str:
        return f"{self.times} × {self.event.describe()}"


@dataclass(frozen=True)
class NotPrivate(Event):
    """Something left without protection; no budget covers it."""

    reason: str

    @property
    def cost(self) -> Cost:
        return Cost(math.inf)

    def describe(self) -> str:
        return f"NOT PRIVATE: {self.reason}"
