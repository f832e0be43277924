"""Fits that are charged to a ledger: refused before they look at a record, or reserved before and noted after."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..data.persons import Persons
from ..ledger.ledger import Ledger
from ..ledger.receipt import Receipt
from ..ledger.units import Unit
from ..privacy.budget import Budget


class ChargedFits(abc.ABC):
    """Charges what a fit will release to the ledger that was given, if one was."""

    ledger: Any
    random_state: Any
    _receipt: Receipt | None = None

    def _account(self) -> Ledger | None:
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise TypeError(f"ledger must be a Ledger(url, dataset), or None, got {self.ledger!r}")
        return self.ledger

    def _look_ahead(self, X: Any, persons: Persons | None = None) -> None:
        account, n_rows = self._account(), _count(X) if persons is None else persons.count
        if account is not None and n_rows is not None:
            asked = self._budget(self._public_rows(n_rows))
            account.refuse_beyond(asked.epsilon, asked.delta)

    @contextmanager
    def _charged(self, plan: Any, unit: Unit) -> Iterator[None]:
        vars(self).pop("_receipt", None)  # of an earlier fit
        account = self._account()
        if account is None:
            yield
            return
        seeded = self.random_state is not None
        with account.charged(
            plan.events, plan.spent, plan.neighbours, what=type(self).__name__, seeded=seeded, unit=unit
        ) as entry:
            self._receipt = entry
            yield

    @abc.abstractmethod
    def _budget(self, n_rows: int) -> Budget:
        """Return what the fit asks for."""

    @abc.abstractmethod
    def _public_rows(self, counted: int) -> int:
        """Return the number of rows that everything may depend on."""


def _count(X: Any) -> int | None:
    """Return the number of rows as the container tells it, without a look inside; None where it does not."""
    if not hasattr(X, "shape") and hasattr(X, "__len__"):
        return len(X) or None
    told = X.shape[0] if getattr(X, "shape", ()) else getattr(X, "n_rows", None)
    return told if isinstance(told, int) and told > 0 else None
