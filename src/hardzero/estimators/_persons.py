"""Rows of which a person may have several: read, checked, and refused in words without names and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.persons import Persons
from ..ledger.units import Unit
from ..schema.cell_text import UnknownCellError
from ..schema.persons import Register
from . import _input

_UNEQUAL = "X, y and groups have different numbers of rows; give the target and the person of each row of X"


def read_persons(groups: Any) -> Persons:
    """Return whose rows they are.

    Identifiers are compared as text: 1, 1.0 and "1" are one person, and so is everything that is missing.

    Raises
    ------
    TypeError
        Identifiers are neither text nor numbers.
    ValueError
        There is not one for each row.

    Privacy
    -------
    Sensitive. Messages show no identifier and no number of rows.
    """
    names = names_of(groups)
    if names.ndim != 1:
        raise ValueError(f"groups should be a 1d array, got an array with {names.ndim} axes instead")
    try:
        if names.dtype.kind == "O":
            return Persons.of_numbers(Register().numbers(names))
        distinct, places = np.unique(names, return_inverse=True)
        return Persons.of_numbers(Register().numbers(distinct)[places])
    except UnknownCellError:
        raise TypeError("groups must hold text or whole numbers, one identifier for each row") from None


def names_of(groups: Any) -> NDArray[Any]:
    """Return identifiers as an array; those of a list each as it is, so that none changes the type of others.

    Privacy
    -------
    Sensitive.
    """
    _input.refuse_unread("groups", groups)
    if not isinstance(groups, list | tuple):
        return _input.as_array("groups", groups)
    names = np.empty(len(groups), dtype=object)
    for row, name in enumerate(groups):
        names[row] = name
    return names


def refuse_unequal(persons: Persons | None, n_rows: int, y: Any) -> None:
    """Refuse targets or persons that are more or fewer than the rows, whose number is secret where persons are told.

    Privacy
    -------
    Messages show no number of rows.
    """
    if persons is not None and any(len(other) != n_rows for other in (persons.sizes, y) if hasattr(other, "__len__")):
        raise ValueError(_UNEQUAL)


def counted_as(persons: Persons | None, n_rows: int) -> tuple[int, Unit]:
    """Return how many there are of those whom a guarantee is about, and what they are: rows or persons.

    Privacy
    -------
    Sensitive, unless their number is public.
    """
    return (n_rows, "row") if persons is None else (persons.count, "person")
