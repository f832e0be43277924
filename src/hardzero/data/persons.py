"""Whose rows they are: every person has one voice, however many rows.

What a row adds to a sum of whole numbers is divided by the number of rows of its person, so that all of them together
add no more than one row of a person who has no other (docs/proofs/persons.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Codes = TypeVar("Codes", NDArray[np.int64], NDArray[np.int32])


@dataclass(frozen=True, repr=False)
class Persons:
    """How many persons there are, and for each row how many its person has and how many of these stand above it.

    Attributes
    ----------
    numbers : array of int
        For each row the number of its person, from 0, in the order in which they first appear.
    sizes : array of int
        For each row the number of rows of its person.
    ranks : array of int
        For each row the number of rows of its person above it.

    Privacy
    -------
    Sensitive. A row's entries depend on the rows of its own person only. The number of persons is as public as the
    number of rows is where everyone has one; the number of their rows is not.
    """

    numbers: IntArray
    sizes: IntArray
    ranks: IntArray

    @classmethod
    def of_numbers(cls, numbers: IntArray) -> Persons:
        """Tell persons apart by whole numbers, one for each row, which are equal for rows of one person."""
        _, firsts, places = np.unique(numbers, return_index=True, return_inverse=True)
        numbers = np.argsort(np.argsort(firsts))[places].astype(np.int64)
        counts = np.bincount(numbers)
        ranks = np.empty(len(numbers), dtype=np.int64)
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        ranks[np.argsort(numbers, kind="stable")] = np.arange(len(numbers)) - starts
        return cls(numbers, counts[numbers].astype(np.int64), ranks)

    @property
    def count(self) -> int:
        """The number of persons."""
        return int(np.sum(self.ranks == 0))

    def __repr__(self) -> str:
        return "Persons()"

    def divided(self, codes: Codes) -> Codes:
        """Divide each row's whole numbers by the number of rows of its person, towards zero.

        Towards zero, because then the quotients of a person's rows are never more than a row's numbers together.
        """
        sizes = self.sizes.astype(codes.dtype).reshape(-1, *[1] * (codes.ndim - 1))
        return np.sign(codes) * (np.abs(codes) // sizes)

    def tally(self, cells: IntArray, size: int, whole: int) -> IntArray:
        """Count rows by cells, from 0 to ``size`` - 1, where each person counts ``whole``, up to 2³².

        That is divided among a person's cells by its rows in them, rounded down; the order of rows does not matter.
        """
        pairs, rows, counts = np.unique(self.numbers * size + cells, return_index=True, return_counts=True)
        totals = np.zeros(size, dtype=np.int64)
        np.add.at(totals, pairs % size, whole * counts // self.sizes[rows])
        return totals

    def standing_in(self, rows: int) -> NDArray[np.intp]:
        """Return rows of the table of which so many stand for each person: the first, and again from the first."""
        times = np.where(self.ranks < rows, (rows - 1 - self.ranks) // self.sizes + 1, 0)
        return np.repeat(np.arange(len(times)), times)
