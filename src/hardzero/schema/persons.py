"""Whose rows they are, by identifiers: which of them are the same person's.

Identifiers are compared as text by the rule of `cell_text`, without spaces around it: 1, 1.0 and "1" are one person.
To take two persons for one costs accuracy at most; to take one for two would cost privacy. So everything that names
nobody is one person as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cell_text import text_of


class Register:
    """Numbers persons in the order in which they first appear, over as many batches of rows as there are.

    Privacy
    -------
    Sensitive. It compares identifiers themselves, no hashes of them, so that no two persons collide.
    """

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {}

    def __repr__(self) -> str:
        return "Register()"

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, names: Iterable[Any]) -> NDArray[np.int64]:
        """Return the number of each row's person; None and empty text name nobody.

        Raises
        ------
        UnknownCellError
            An identifier is of a type that has no text; the message does not show it.

        Privacy
        -------
        Sensitive.
        """
        known = self._numbers
        return np.fromiter((known.setdefault(_name(name), len(known)) for name in names), dtype=np.int64)


def _name(cell: Any) -> str | None:
    text = text_of(cell)
    return None if text is None else text.strip() or None
