"""When is one more release allowed? Sums over all entries, each against one limit that the cap fixed beforehand.

Fits are chosen after earlier results were seen, and so are their budgets. For that, only what is proved for budgets
that are chosen on the way may be added up (docs/proofs/ledger.md). Two such filters are here:

``gaussian``  every release as a Gaussian one that tells as much or more; squares add up. Exact for Gaussian releases.
``renyi``     Rényi divergences of one order, fixed by the cap, add up; holds for every event.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy.special import expit, ndtri

from ..privacy import accounting
from ..privacy.budget import Budget
from ..privacy.events import Event, GaussianRelease, PureRelease, Repeated, Selection

Accountant = Literal["gaussian", "renyi"]
ACCOUNTANTS: tuple[Accountant, ...] = ("gaussian", "renyi")

_ROOM = 1e-9
"""By this share a limit is lower than the cap allows: more than all sums can lose by rounding."""
_SMALL_RANGE = 0.01
_SLOPE = math.sqrt(2 * math.pi) / 4
"""A choice of bounded range η tells at most as much as a Gaussian release of μ = η times this."""
_ROUNDS = 60
_CLOSE = 1e-6


class Cost(NamedTuple):
    """What releases add to the sums: μ² of Gaussian releases, zCDP's ρ and shift, ε in pure DP, and the tail."""

    square: float
    rho: float
    shift: float
    epsilon: float
    tail: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sums of both."""
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Cost(0.0, 0.0, 0.0, 0.0)


def cost_of(events: Sequence[Event]) -> Cost:
    """Return what the events of one fit add to the sums.

    Privacy
    -------
    Data-independent.
    """
    costs = [event.cost for event in events]
    return Cost(
        sum(_square(event) for event in events),
        sum(cost.rho for cost in costs),
        sum(cost.shift for cost in costs),
        sum(cost.epsilon for cost in costs),
        sum(cost.tail for cost in costs),
    )


def _square(event: Event) -> float:
    """Return μ² of a Gaussian release that is at least as telling; infinite where none is known."""
    match event:
        case Repeated(event=single, times=times):
            return times * _square(single)
        case GaussianRelease(noise=noise):
            return 1 / noise**2
        case Selection(eta=eta):
            return _mean_of_range(eta) ** 2
        case PureRelease(bound=bound):
            return _mean_of_range(2 * bound) ** 2
    return math.inf


def _mean_of_range(eta: float) -> float:
    """Return μ for bounded range η: 2·Φ⁻¹(1/(1 + e^(-η/2))), rounded up."""
    if eta < _SMALL_RANGE:  # where the formula would lose digits
        return _SLOPE * eta
    return float(-2 * ndtri(expit(-eta / 2))) * (1 + _ROOM)


@dataclass(frozen=True)
class Filter:
    """What all releases together may add up to: a limit on Σμ², or on Σ Rényi divergences of one order.

    Privacy
    -------
    Data-independent: made from the cap alone, before anything is released.
    """

    accountant: Accountant
    cap: Budget
    limit: float
    order: float | None = None

    @classmethod
    def of_cap(cls, accountant: Accountant, cap: Budget) -> Filter:
        """Return the filter whose releases keep (ε, δ) of the cap."""
        if accountant == "gaussian":
            guess = 2 * accounting.rho_of_budget(cap)
            most = accounting.most_within(cap, lambda square: (GaussianRelease("all", square**-0.5),), guess)
            return cls(accountant, cap, most * (1 - _ROOM))
        order = _best_order(accounting.rho_of_budget(cap), cap.epsilon)
        # docs/proofs/accounting.md, 2, solved for the divergence; valid for any order.
        most = cap.epsilon - math.log1p(-1 / order) + (math.log(cap.delta) + math.log(order)) / (order - 1)
        return cls(accountant, cap, most * (1 - _ROOM), order)

    def used(self, cost: Cost) -> float:
        """Return what counts against the limit."""
        if self.order is None:
            return cost.square
        return cost.shift + self.order * cost.rho + cost.tail / (self.order - 1)

    def allows(self, total: Cost) -> bool:
        """Whether all releases together keep within the cap: by the filter, or in pure DP."""
        return self.used(total) <= self.limit or total.epsilon <= self.cap.epsilon * (1 - _ROOM)

    def epsilon_of(self, total: Cost) -> float:
        """Return the ε of the smallest cap, at the same δ, that would have allowed all this."""
        if total == NOTHING:
            return 0.0
        return min(self._filtered(total), total.epsilon)

    def _filtered(self, total: Cost) -> float:
        delta = self.cap.delta
        if self.order is None:
            return accounting.epsilon_of_gaussian(total.square, delta)
        return accounting.epsilon_of_rho(_with_room(total, delta), delta)

    def would_fit(self, total: Cost, asked: Budget, cost: Cost | None = None) -> float:
        """Return about the largest ε of one more fit with the δ that was asked for.

        ``cost`` is what the fit would cost that was asked for; without it, that of a Gaussian release.
        """
        left = max(self.limit - self.used(total), 0.0)
        if self.order is not None:
            left /= self.order
        if left == 0:
            return 0.0
        if cost is not None:
            used = self.used(cost) if self.order is None else self.used(cost) / self.order
            left *= min(self._amount(asked) / used, 1.0)
        of = accounting.epsilon_of_gaussian if self.order is None else accounting.epsilon_of_rho
        return of(left, asked.delta)

    def refuses(self, total: Cost, asked: Budget) -> bool:
        """Whether a fit that uses all that it asks for is beyond the cap for certain, before it is planned."""
        if total.epsilon + asked.epsilon <= self.cap.epsilon:
            return False
        return asked.epsilon > self.would_fit(total, asked) * (1 + _CLOSE)

    def _amount(self, asked: Budget) -> float:
        """Return μ², or ρ, of a release that costs what was asked for."""
        if self.order is None:
            return Filter.of_cap("gaussian", asked).limit
        return accounting.rho_of_budget(asked)


def _best_order(rho: float, epsilon: float) -> float:
    """Return the α at which ρ-zCDP converts best to ε: where (2α-1)ρ - ε + log(1-1/α) is zero."""
    low, high = -60.0, 60.0
    for _ in range(_ROUNDS + 40):
        middle = (low + high) / 2
        gap = math.exp(middle)
        falling = (2 * gap + 1) * rho - epsilon - math.log1p(1 / gap) < 0
        low, high = (middle, high) if falling else (low, middle)
    return 1 + math.exp(low)


def _with_room(total: Cost, delta: float) -> float:
    """Return the ρ that, at its own best order, has room for a shift and a tail."""
    if total.shift == total.tail == 0 or not math.isfinite(total.rho):
        return total.rho
    whole = total.rho + total.shift / 2 + total.tail / 2
    for _ in range(_ROUNDS):
        order = _best_order(whole, accounting.epsilon_of_rho(whole, delta))
        whole = total.rho + (total.shift + total.tail / (order - 1)) / order
    return whole
