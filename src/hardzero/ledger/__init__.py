"""The budget of a data set, kept where all its users share it: reserved before a fit, never given back."""

from .chain import Entry, Receipt
from .ledger import Ledger, Reservation
from .store import LedgerError

__all__ = ["Entry", "Ledger", "LedgerError", "Receipt", "Reservation"]
