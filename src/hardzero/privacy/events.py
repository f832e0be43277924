"""Frozen records of what was released. Each knows its own cost; repetition is multiplied in one place."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass


class Event(abc.ABC):
    """One release.

    ``rho`` is its cost in zero-concentrated DP, ``epsilon`` in pure DP (infinite if it has none), and
    ``describe()`` says in plain words what was released.
    """

    @property
    @abc.abstractmethod
    def rho(self) -> float: ...

    @property
    @abc.abstractmethod
    def epsilon(self) -> float: ...

    @abc.abstractmethod
    def describe(self) -> str: ...


@dataclass(frozen=True)
class Selection(Event):
    """One choice by the exponential mechanism with bounded range ``eta`` (docs/proofs/selection.md)."""

    eta: float
    what: str = "one vertex"

    @property
    def rho(self) -> float:
        return min(self.eta**2 / 8, self.eta)  # η-DP bounds every Rényi divergence by η

    @property
    def epsilon(self) -> float:
        return self.eta

    def describe(self) -> str:
        return f"choice of {self.what} by the exponential mechanism (bounded range {self.eta:.4g})"


@dataclass(frozen=True)
class PureRelease(Event):
    """A release known only to be ``cost``-DP, hence min(cost²/2, cost)-zCDP (Bun and Steinke 2016)."""

    what: str
    cost: float

    @property
    def rho(self) -> float:
        return min(self.cost**2 / 2, self.cost)

    @property
    def epsilon(self) -> float:
        return self.cost

    def describe(self) -> str:
        return f"{self.what} ({self.cost:.4g}-DP)"


@dataclass(frozen=True)
class GaussianRelease(Event):
    """Sums released with discrete Gaussian noise; ``noise`` is σ divided by the L2 sensitivity."""

    what: str
    noise: float

    @property
    def rho(self) -> float:
        return 1 / (2 * self.noise**2)

    @property
    def epsilon(self) -> float:
        return math.inf

    def describe(self) -> str:
        return f"{self.what} with Gaussian noise of {self.noise:.4g} sensitivities"


@dataclass(frozen=True)
class Repeated(Event):
    """The same kind of release ``times`` times, each allowed to depend on the ones before."""

    event: Event
    times: int

    @property
    def rho(self) -> float:
        return self.times * self.event.rho

    @property
    def epsilon(self) -> float:
        return self.times * self.event.epsilon

    def describe(self) -> str:
        return f"{self.times} × {self.event.describe()}"


@dataclass(frozen=True)
class NotPrivate(Event):
    """Something left without protection; no budget covers it."""

    reason: str

    @property
    def rho(self) -> float:
        return math.inf

    @property
    def epsilon(self) -> float:
        return math.inf

    def describe(self) -> str:
        return f"NOT PRIVATE: {self.reason}"
