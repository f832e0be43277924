"""Rows in many places, the same in each of them: tables as large as may be, without the memory for them."""

from dataclasses import dataclass
from typing import Any

from hardzero.data.bounded import MAX_ROWS
from hardzero.optim.problem import ScatteredProblem


@dataclass(frozen=True)
class Places:
    """2^doublings places; what they return is added up as 64-bit numbers, two and two, then these two and two."""

    state: Any
    doublings: int

    def total(self, function, *arguments):
        sums = function(self.state, *arguments)
        for _ in range(self.doublings):
            sums = sums + sums
        return sums

    def then(self, function, *arguments):
        return Places(function(self.state, *arguments), self.doublings)

    def change(self, function, *arguments):
        function(self.state, *arguments)


def as_large_as_may_be(problem, rows=MAX_ROWS, stated=None):
    """The same rows again and again, until there are 2³⁰, or so many; their number must be a power of two."""
    times = rows // problem.data.n_rows
    assert times * problem.data.n_rows == rows
    return ScatteredProblem(
        Places(problem, times.bit_length() - 1), problem.loss, stated or rows, problem.data.n_features
    )
