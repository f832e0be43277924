"""What names an entry of a ledger outside of it: in a model file, a report or a witness."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Receipt:
    """Names one entry for ever: whoever keeps it can tell whether the ledger still has that entry.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    number : int
        Number of the entry, counted from 1.
    hash : str
        Its hash, which the hashes of all entries before it went into.

    Privacy
    -------
    Data-independent.
    """

    dataset: str
    number: int
    hash: str

    def __str__(self) -> str:
        return f"entry {self.number} of the data set {self.dataset!r}, hash {self.hash[:16]}…"
