"""What a guarantee is measured in: a budget (ε, δ) and the relation between neighbouring data sets."""

from __future__ import annotations

import enum
import math
import numbers
from dataclasses import dataclass
from typing import assert_never

_LEAST_DELTA = 1e-100  # far below any use; accounting divides by δ, and leaves the range of doubles much further down


class Neighbours(enum.Enum):
    """Which two data sets must be hard to tell apart.

    ``ZERO_OUT``: one record is replaced by an empty one, which adds nothing to any sum; the number of rows is
    published. ``REPLACE_ONE``: one record is exchanged for another; the same noise then protects half as much.
    ``ADD_REMOVE``: one record is there or is not, in tables of any size: nothing may depend on the true number of
    rows, so a public number has to be stated in its place.

    Privacy
    -------
    Data-independent; the relation is part of every guarantee (docs/proofs/index.md).
    """

    ZERO_OUT = "zero-out"
    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @property
    def contributions(self) -> int:
        """How many single-record contributions separate a sum over one data set from its neighbour's."""
        match self:
            case Neighbours.ZERO_OUT | Neighbours.ADD_REMOVE:
                return 1
            case Neighbours.REPLACE_ONE:
                return 2
            case _:
                assert_never(self)

    @classmethod
    def parse(cls, value: Neighbours | str) -> Neighbours:
        """Accept the enum or its name; anything else is an error that lists the names."""
        try:
            return cls(value)
        except ValueError:
            names = " or ".join(repr(member.value) for member in cls)
            raise ValueError(f"neighbours must be {names}, got {value!r}") from None


@dataclass(frozen=True)
class Budget:
    """A guarantee (ε, δ), partially ordered: ``a <= b`` when a promises at least as much as b.

    Attributes
    ----------
    epsilon : float
        How much likelier any conclusion may become, as a logarithm; infinite for no guarantee at all.
    delta : float
        The probability with which that may fail.

    Privacy
    -------
    Data-independent.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon!r}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {self.delta!r}")

    @classmethod
    def asked(cls, epsilon: float, delta: float) -> Budget:
        """Check a budget that a user asks for: finite, and strictly positive in both parts."""
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
        if not (epsilon > 0 and math.isfinite(epsilon)):
            raise ValueError(f"epsilon must be a finite number above 0 (1.0 is usual), got {epsilon!r}")
        if not _LEAST_DELTA <= delta < 1:
            raise ValueError(
                f"delta must lie strictly between 0 and 1, at {_LEAST_DELTA:g} or above and well below 1/n, got "
                f"{delta!r}; delta = 1 would mean no noise at all"
            )
        return cls(float(epsilon), float(delta))

    def __le__(self, other: Budget) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __ge__(self, other: Budget) -> bool:
        return other <= self


class BudgetExceededError(RuntimeError):
    """What would be released costs more than what was allowed; raised before any data is read."""
