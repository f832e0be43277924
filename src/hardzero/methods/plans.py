"""What all plans share: the check that a plan keeps within its budget, and the default δ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..privacy import accounting
from ..privacy.budget import Budget, BudgetExceededError, Neighbours
from ..privacy.events import Event


@dataclass(frozen=True)
class ChargedPlan:
    """What a plan asked for, under which relation, what it will release, and what that costs.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    events: tuple[Event, ...]
    spent: Budget


def charged(budget: Budget, events: Sequence[Event], accountant: accounting.Accountant = "exact") -> Budget:
    """Return what the events cost, or refuse a plan that costs more than was asked for.

    Privacy
    -------
    Data-independent.
    """
    spent = accounting.spent(events, budget.delta, accountant)
    if not spent <= budget:
        raise BudgetExceededError(f"the plan costs epsilon = {spent.epsilon:g}, more than {budget.epsilon:g}")
    return spent


def default_delta(n_rows: int) -> float:
    """Return n^-1.5, well below the 1/n at which revealing one random record would pass unnoticed.

    Privacy
    -------
    Data-independent: the number of rows counts as public.
    """
    return math.pow(max(n_rows, 2), -1.5)
