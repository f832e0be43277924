"""What is to be learnt, with its rows here or scattered over several machines.

Solvers ask rows for one thing: sums of whole numbers over all of them. A sum is made by a function of some rows and
of released values; where rows are in several places it is called in each of them, and what it returns is added up.
Whole numbers add up to the same in any order, so that places change no result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import IntArray, Table
from ..data.persons import Codes, Persons
from .losses import Loss, class_counts


class Rows(Protocol):
    """Rows, or something made from them, kept where they are.

    Functions are named by their module, so that another process can find them; their arguments are released values or
    public ones. None ever draws a random number.

    Privacy
    -------
    Sensitive.
    """

    def total(self, function: Callable[..., IntArray], *arguments: Any) -> IntArray:
        """Sum ``function(rows, *arguments)`` over all places; functions return whole numbers and change nothing."""

    def then(self, function: Callable[..., Any], *arguments: Any) -> Rows:
        """Keep ``function(rows, *arguments)`` in every place beside these."""

    def change(self, function: Callable[..., None], *arguments: Any) -> None:
        """Let ``function(rows, *arguments)`` change what is kept in every place, before the next sum."""


@dataclass(frozen=True)
class Here:
    """Something made from rows that are all here.

    Privacy
    -------
    Sensitive.
    """

    state: Any

    def __repr__(self) -> str:
        return f"Here({type(self.state).__name__})"

    def total(self, function: Callable[..., IntArray], *arguments: Any) -> IntArray:
        """Return ``function(state, *arguments)``."""
        return function(self.state, *arguments)

    def then(self, function: Callable[..., Any], *arguments: Any) -> Here:
        """Keep ``function(state, *arguments)``."""
        return Here(function(self.state, *arguments))

    def change(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function(state, *arguments)``."""
        function(self.state, *arguments)


@dataclass(frozen=True)
class Problem:
    """What is to be learnt: rows within bounds, their targets, and the loss.

    Attributes
    ----------
    stated_rows : int or None
        The public number of rows, where that of ``data`` is not public.
    persons : Persons or None
        Whose rows they are; every row is a person's only one by default. ``n_rows`` is the number of persons then.

    Privacy
    -------
    Sensitive, but for the loss and ``n_rows``. Whatever is not itself a sum over rows must use ``n_rows``, never the
    number of rows of ``data``. What rows add to a sum is ``divided`` by the number of rows of their person, so that
    all of them add no more than one row would. Proof: docs/proofs/persons.md.
    """

    data: Table
    targets: Any
    loss: Loss
    stated_rows: int | None = None
    persons: Persons | None = None

    @property
    def n_rows(self) -> int:
        """The public number of rows, or of persons."""
        return self.counted if self.stated_rows is None else self.stated_rows

    @property
    def counted(self) -> int:
        """The true number of rows, or of persons."""
        return self.data.n_rows if self.persons is None else self.persons.count

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.data.n_features

    @property
    def rows(self) -> Rows:
        """This problem, to be summed over."""
        return Here(self)

    def on(self, data: Table) -> Problem:
        """Return the same problem with the same rows stored or described otherwise."""
        return replace(self, data=data)

    def subset(self, features: NDArray[np.intp]) -> Problem:
        """Return the same problem with some of the features."""
        return self.on(self.data.subset(features))

    def divided(self, codes: Codes) -> Codes:
        """Return what each row adds to a sum: its whole numbers, by the number of rows of its person."""
        return codes if self.persons is None else self.persons.divided(codes)

    def class_sums(self, whole: int) -> IntArray:
        """Count the rows of each class, or of the second of two; each row, or each person, counts ``whole``."""
        if self.persons is None:
            return class_counts(self.loss, self.targets) * whole
        totals = self.persons.tally(np.ravel(self.targets).astype(np.int64), max(self.loss.outputs, 2), whole)
        return totals if self.loss.outputs > 1 else totals[1:]

    def __repr__(self) -> str:
        # The public number: how many rows there are, or persons have, may be secret.
        return f"Problem({self.n_rows} rows, {self.n_features} features, {type(self.loss).__name__})"


@dataclass(frozen=True)
class ScatteredProblem:
    """The same with rows in several places, each of which has a `Problem` of its own.

    Privacy
    -------
    Sensitive, but for the loss, ``n_rows`` and ``n_features``, which are public.
    """

    rows: Rows
    loss: Loss
    n_rows: int
    n_features: int

    def subset(self, features: NDArray[np.intp]) -> ScatteredProblem:
        """Return the same problem with some of the features."""
        return replace(self, rows=self.rows.then(Problem.subset, features), n_features=len(features))

    def __repr__(self) -> str:
        return f"ScatteredProblem({self.n_rows} rows, {self.n_features} features, {type(self.loss).__name__})"


AnyProblem = Problem | ScatteredProblem


def count_rows(rows: Rows) -> int:
    """Count the rows, or the persons, of problems in all places.

    Privacy
    -------
    Sensitive, unless their number is public.
    """
    return int(np.sum(rows.total(_row_count)))


def _row_count(problem: Problem) -> IntArray:
    return np.array([problem.counted], dtype=np.int64)
