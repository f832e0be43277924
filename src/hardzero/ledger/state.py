"""What a data set has spent, and whether one more fit is allowed. Each entry carries the state after it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ..privacy.budget import Budget, BudgetExceededError, Neighbours
from .event_json import finite_or_none
from .filters import NOTHING, Accountant, Cost, Filter
from .units import Unit


@dataclass(frozen=True)
class State:
    """The terms of a data set, and the sums over all that was reserved.

    Attributes
    ----------
    neighbours : Neighbours
        The relation that all fits have.
    filter : Filter
        The cap, and what it limits.
    schema : str or None
        A fingerprint of the public schema.
    total : Cost
        Sums over all reservations, whatever became of them.
    reservations : int
        How many there are.
    alone : Budget or None
        What the first one promises by itself, as long as it is the only one.
    unit : {"row", "person"}
        Whom all fits protect.

    Privacy
    -------
    Data-independent, or post-processing where plans were chosen by earlier results.
    """

    neighbours: Neighbours
    filter: Filter
    schema: str | None = None
    total: Cost = NOTHING
    reservations: int = 0
    alone: Budget | None = None
    unit: Unit = "row"

    def with_cap(self, cap: Budget) -> State:
        """Return the state under another cap."""
        return replace(self, filter=Filter.of_cap(self.filter.accountant, cap))

    def charged(self, cost: Cost, promise: Budget) -> State:
        """Return the state with one more reservation, allowed or not."""
        alone = promise if self.reservations == 0 else None
        return replace(self, total=self.total.plus(cost), reservations=self.reservations + 1, alone=alone)

    @property
    def is_allowed(self) -> bool:
        """Whether everything together keeps within the cap.

        A fit that is alone keeps what its own accountant proves; with the second the filter speaks for both.
        """
        return self.filter.allows(self.total) or (self.alone is not None and self.alone <= self.filter.cap)

    @property
    def spent(self) -> float:
        """The ε of everything together, at the cap's δ."""
        epsilon = self.filter.epsilon_of(self.total)
        if self.alone is not None and self.alone.delta <= self.filter.cap.delta:
            epsilon = min(epsilon, self.alone.epsilon)
        return epsilon

    def would_fit(self, asked: Budget | None = None, cost: Cost | None = None) -> float:
        """Return about the largest ε that one more fit may have."""
        asked = asked or self.filter.cap
        if self.reservations == 0 and asked.delta <= self.filter.cap.delta:
            return self.filter.cap.epsilon
        return self.filter.would_fit(self.total, asked, cost)

    def refuse(self, dataset: str, asked: Budget, cost: Cost) -> None:
        """Raise the error for a fit that is not allowed."""
        after = self.charged(cost, asked).spent
        cap = self.filter.cap
        if math.isinf(cost.square) and self.filter.accountant == "gaussian":
            why = (
                "this method has no bound that the accountant 'gaussian' can add up; charge it to a data set with "
                "the accountant 'renyi'"
            )
        else:
            advice = self._advice(asked, cost)
            why = f"this fit, of epsilon = {asked.epsilon:.4g}, would bring it to {after:.4g}. {advice}"
        raise BudgetExceededError(
            f"the data set {dataset!r} has spent epsilon = {self.spent:.4g} of its cap of {cap.epsilon:g} "
            f"(delta = {cap.delta:g}); {why}"
        )

    def refuse_beyond(self, dataset: str, asked: Budget) -> None:
        """Raise the same error before a plan is made, where what is asked for cannot be allowed."""
        if self.reservations == 0 and asked <= self.filter.cap:
            return
        if self.filter.refuses(self.total, asked):
            cap = self.filter.cap
            raise BudgetExceededError(
                f"the data set {dataset!r} has spent epsilon = {self.spent:.4g} of its cap of {cap.epsilon:g} "
                f"(delta = {cap.delta:g}), which leaves too little for a fit of epsilon = {asked.epsilon:.4g}. "
                f"{self._advice(asked, None)}"
            )

    def _advice(self, asked: Budget, cost: Cost | None) -> str:
        fits = _rounded_down(min(self.would_fit(asked, cost), asked.epsilon))
        if fits == 0:
            return "Nothing is left; only its owner can raise the cap"
        about = "about " if cost is None else ""  # without a plan, as if the fit were one Gaussian release
        return f"A fit of {about}epsilon = {fits:g} would be allowed; only its owner can raise the cap"

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values; null stands for an infinite sum."""
        return {
            "neighbours": self.neighbours.value,
            "accountant": self.filter.accountant,
            "cap": _budget_to_dict(self.filter.cap),
            "limit": self.filter.limit,
            "order": self.filter.order,
            "schema": self.schema,
            "total": cost_to_dict(self.total),
            "reservations": self.reservations,
            "alone": None if self.alone is None else _budget_to_dict(self.alone),
            **({} if self.unit == "row" else {"unit": self.unit}),  # ledgers from before there were persons have none
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the state that was written."""
        alone = values["alone"]
        return cls(
            Neighbours.parse(values["neighbours"]),
            Filter(values["accountant"], Budget(**values["cap"]), values["limit"], values["order"]),
            values["schema"],
            cost_from_dict(values["total"]),
            values["reservations"],
            None if alone is None else _budget_from_dict(alone),
            values.get("unit", "row"),
        )


def opened(
    neighbours: Neighbours, accountant: Accountant, cap: Budget, schema: str | None, unit: Unit = "row"
) -> State:
    """Return the state of a data set of which nothing was released."""
    return State(neighbours, Filter.of_cap(accountant, cap), schema, unit=unit)


def cost_to_dict(cost: Cost) -> dict[str, float | None]:
    """Return the sums; null stands for an infinite one, and a tail is told where there is one."""
    return {name: finite_or_none(part) for name, part in cost._asdict().items() if name != "tail" or part}


def cost_from_dict(values: Mapping[str, Any]) -> Cost:
    """Return the sums that were written."""
    parts = {name: values[name] for name in Cost._fields if name != "tail" or name in values}
    return Cost(**{name: math.inf if part is None else float(part) for name, part in parts.items()})


def _budget_to_dict(budget: Budget) -> dict[str, float | None]:
    return {"epsilon": finite_or_none(budget.epsilon), "delta": budget.delta}


def _budget_from_dict(values: Mapping[str, Any]) -> Budget:
    epsilon = values["epsilon"]
    return Budget(math.inf if epsilon is None else epsilon, values["delta"])


def _rounded_down(number: float) -> float:
    """Three digits, and a little less, so that what is advised is allowed."""
    if not number > 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.floor(number * 0.999 / unit) * unit:.3g}")
