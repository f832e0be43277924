"""A budget that outlives the process: every private fit reserves its full cost before it looks at a record."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from .. import checks
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event
from .address import normal
from .chain import Entry, Kind, faults, next_entry
from .event_json import event_to_dict
from .filters import ACCOUNTANTS, cost_of
from .receipt import Receipt
from .state import State, cost_to_dict, opened
from .store import LedgerError, Store, Writer
from .units import UNITS, Unit

_LONGEST_NAME = 200
_KNOWN: set[tuple[str, str]] = set()
"""Addresses and data sets that this process has used."""
_ABOUT: dict[Unit, str] = {"row": "single rows", "person": "all rows of a person"}
_CURES: dict[Unit, str] = {
    "row": "say whose rows they are, with groups=… or [person] in the schema",
    "person": "charge it to a data set of its own, made with unit='person' (hardzero ledger init --unit person)",
}


@dataclass(frozen=True)
class Ledger:
    """The budget of one data set, kept in a file or a database that all its users share.

    Give it to an estimator as ``ledger=``: each fit then reserves its cost before it looks at the records, and is
    refused where that would exceed the cap. It holds an address and names, no connection, so that it can be copied
    and pickled; nothing is opened before it is used.

    Parameters
    ----------
    url : str or path
        A file of SQLite, or a database as ``postgresql://user@host/name``, without a password: that belongs into
        ``~/.pgpass`` or ``PGPASSWORD``.
    dataset : str
        Name of the data set. Whoever uses two names for the same people spends two budgets.
    cap : Budget, optional
        What all fits together may cost. Creates the data set when it is first used; one that is there already must
        have this cap.
    neighbours : {"zero-out", "replace-one", "add-remove"}, optional
        The relation of all fits; zero-out for a new data set.
    accountant : {"gaussian", "renyi"}, optional
        How costs add up; gaussian for a new data set, which is exact for Gaussian releases. renyi is better where
        most fits select thousands of times, as Private LASSO does, and is needed for Two-Stage and Private ADMM.
    schema : str, optional
        A fingerprint of the public schema; fits under another one are refused. Never a hash of records.
    unit : {"row", "person"}, optional
        Whom all fits protect: one row, or all rows of one person; row for a new data set. Fits that protect another
        one are refused, because the guarantees do not add up.

    Notes
    -----
    **Privacy.** Data-independent. What is spent is composed over the events of all fits and keeps (epsilon, delta) of
    the cap, however later fits are chosen by the results of earlier ones. Proof: docs/proofs/ledger.md.

    Examples
    --------
    >>> ledger = Ledger("people.db", "people", cap=Budget(3.0, 1e-6))  # a file is made by its first use
    """

    url: str
    dataset: str
    cap: Budget | None = None
    neighbours: str | None = None
    accountant: str | None = None
    schema: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        # A relative path would mean another file in another process.
        object.__setattr__(self, "url", normal(os.fspath(self.url)))
        name = self.dataset
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
            raise checks.InputError(
                f"dataset must be a name of 1 to {_LONGEST_NAME} printable characters, got {name!r}"
            )
        if self.cap is not None:
            if not isinstance(self.cap, Budget):
                raise TypeError(f"cap must be a Budget(epsilon, delta), got {self.cap!r}")
            Budget.asked(self.cap.epsilon, self.cap.delta)
        if self.neighbours is not None:
            Neighbours.parse(self.neighbours)
        if self.accountant is not None:
            checks.choice("accountant", self.accountant, ACCOUNTANTS)
        if self.unit is not None:
            checks.choice("unit", self.unit, UNITS)

    @property
    def _store(self) -> Store:
        return Store(self.url)

    def create(self) -> Receipt:
        """Create the data set; one that is there already is an error.

        Privacy
        -------
        Data-independent.
        """
        if self.cap is None:
            raise LedgerError("a new data set needs a cap: Ledger(…, cap=Budget(epsilon, delta))")
        with self._store.appending(self.dataset, create=True) as writer:
            if writer.last(self.dataset) is not None:
                raise LedgerError(f"the data set {self.dataset!r} is there already")
            return self._created(writer).receipt

    def _created(self, writer: Writer) -> Entry:
        if self.cap is None:
            raise LedgerError(
                f"the ledger has no data set {self.dataset!r}; create it with `hardzero ledger init`, or with "
                "Ledger(…, cap=Budget(epsilon, delta))"
            )
        state = opened(
            Neighbours.parse(self.neighbours or Neighbours.ZERO_OUT),
            self.accountant or ACCOUNTANTS[0],  # type: ignore[arg-type]  # was checked
            self.cap,
            self.schema,
            self.unit or UNITS[0],  # type: ignore[arg-type]  # was checked
        )
        return self._append(writer, None, "created", state)

    def _append(
        self, writer: Writer, last: Entry | None, kind: Kind, after: State, closes: int | None = None, **details: Any
    ) -> Entry:
        time = datetime.now(UTC).isoformat(timespec="seconds")
        entry = next_entry(self.dataset, last, kind, after, details, time=time, by=writer.user(), closes=closes)
        writer.append(entry)
        return entry

    def raise_cap(self, cap: Budget) -> Receipt:
        """Give the data set another cap, at the same δ and not below what is spent.

        A cap that is raised because of what was released promises less than one that was fixed beforehand
        (docs/proofs/ledger.md, 6).

        Privacy
        -------
        Data-independent, unless the decision depends on what was released.
        """
        cap = Budget.asked(cap.epsilon, cap.delta)
        with self._store.appending(self.dataset) as writer:
            last = self._last(writer)
            old = last.state.filter.cap
            if cap.delta != old.delta or not cap.epsilon > old.epsilon:
                raise LedgerError(
                    f"the cap is epsilon = {old.epsilon:g}, delta = {old.delta:g}; it can be raised to a larger "
                    "epsilon with the same delta, and in no other way"
                )
            return self._append(writer, last, "raised", last.state.with_cap(cap)).receipt

    def _last(self, writer: Writer) -> Entry:
        last = writer.last(self.dataset) or self._created(writer)
        state = last.state
        for name, asked, stands in (
            ("cap", self.cap, state.filter.cap),
            ("neighbours", self.neighbours and Neighbours.parse(self.neighbours).value, state.neighbours.value),
            ("accountant", self.accountant, state.filter.accountant),
            ("schema", self.schema, state.schema),
            ("unit", self.unit, state.unit),
        ):
            if asked is not None and stands is not None and asked != stands:
                raise LedgerError(
                    f"the data set {self.dataset!r} has another {name} than {asked}: it is {stands}; leave it out, "
                    "or use the data set's own"
                )
        return last

    def refuse_beyond(self, epsilon: float, delta: float) -> None:
        """Raise the error now, before any record is read, that a fit of this budget would raise.

        Parameters
        ----------
        epsilon, delta : float
            What the fit will ask for.

        Raises
        ------
        BudgetExceededError
            What is left does not suffice.

        Privacy
        -------
        Data-independent.
        """
        state = self._state()
        if state is not None:
            state.refuse_beyond(self.dataset, Budget.asked(epsilon, delta))

    def _state(self) -> State | None:
        """Return the state now; None for a data set that the next fit will create."""
        if self.cap is not None:
            with suppress(LedgerError), self._store.reading() as reader:
                last = reader.last(self.dataset)
                return None if last is None else last.state
            return None
        with self._store.reading() as reader:
            last = reader.last(self.dataset)
        if last is None:
            raise LedgerError(f"the ledger has no data set {self.dataset!r}; create it with `hardzero ledger init`")
        return last.state

    def reserve(
        self,
        events: Sequence[Event],
        promise: Budget,
        neighbours: Neighbours,
        *,
        what: str,
        seeded: bool = False,
        unit: Unit = "row",
    ) -> Reservation:
        """Charge a plan to the data set, for good: before anything is computed from the records.

        Parameters
        ----------
        events : sequence of Event
            All that will be released.
        promise : Budget
            What the plan's own accountant proves.
        neighbours : Neighbours
            The plan's relation.
        what : str
            What is done, such as the name of an estimator.
        seeded : bool, default=False
            Whether the noise comes from a seed: charged alike, and marked as not private.
        unit : {"row", "person"}, default="row"
            Whom the plan protects.

        Returns
        -------
        Reservation
            To be committed or marked as failed; neither changes what it costs.

        Raises
        ------
        BudgetExceededError
            The cap does not allow it. Nothing is written.

        Privacy
        -------
        Data-independent, or post-processing where the plan was chosen by earlier results.
        """
        cost = cost_of(events)
        # Made by the first fit where a cap was given; what this process has used before and is gone is not made anew.
        known = (self.url, self.dataset)
        with self._store.appending(self.dataset, create=self.cap is not None and known not in _KNOWN) as writer:
            last = self._last(writer)
            before = last.state
            if neighbours is not before.neighbours:
                raise LedgerError(
                    f"the data set {self.dataset!r} adds up guarantees for {before.neighbours.value} neighbours; fit "
                    f"with neighbours={before.neighbours.value!r}. Guarantees of two relations do not add up"
                )
            if unit != before.unit:
                raise LedgerError(
                    f"the data set {self.dataset!r} adds up guarantees for {_ABOUT[before.unit]}, this one is for "
                    f"{_ABOUT[unit]}, and the two do not add up; {_CURES[unit]}"
                )
            after = before.charged(cost, promise)
            if not after.is_allowed:
                before.refuse(self.dataset, promise, cost)
            entry = self._append(
                writer,
                last,
                "reserved",
                after,
                what=what,
                epsilon=promise.epsilon,
                delta=promise.delta,
                private=not seeded,
                events=[event_to_dict(event) for event in events],
                cost=cost_to_dict(cost),
            )
        _KNOWN.add(known)
        return Reservation(self, entry.receipt)

    @contextmanager
    def charged(
        self,
        events: Sequence[Event],
        promise: Budget,
        neighbours: Neighbours,
        *,
        what: str,
        seeded: bool = False,
        unit: Unit = "row",
    ) -> Iterator[Receipt]:
        """Reserve, let the block run, and note how it ended. A block that fails or is interrupted stays charged.

        Parameters
        ----------
        events, promise, neighbours, what, seeded, unit
            As for `reserve`.

        Privacy
        -------
        Data-independent, but that a block failed may depend on the records.
        """
        reservation = self.reserve(events, promise, neighbours, what=what, seeded=seeded, unit=unit)
        try:
            yield reservation.receipt
        except BaseException:
            with suppress(LedgerError):  # the first error is the one to be told
                reservation.fail()
            raise
        try:
            reservation.commit()
        except LedgerError as error:  # what is paid for is not thrown away
            warnings.warn(
                f"{reservation.receipt} is charged, but could not be marked as complete: {error}", stacklevel=3
            )

    def entries(self) -> list[Entry]:
        """Return all entries of the data set, in their order.

        Privacy
        -------
        Post-processing; that a fit failed may depend on the records.
        """
        with self._store.reading() as reader:
            return reader.entries(self.dataset)

    def verify(self, receipts: Iterable[Receipt] = ()) -> list[str]:
        """Return what is wrong with the chain of entries; nothing if it is whole.

        Parameters
        ----------
        receipts : iterable of Receipt
            Entries that must be there. Without one that is kept elsewhere, a ledger that was set back as a whole
            cannot be told from one that never went on.

        Privacy
        -------
        Post-processing.
        """
        with self._store.reading() as reader:
            found = reader.entries(self.dataset), reader.head(self.dataset)
        if not found[0] and found[1] is None:
            return [f"the ledger has no data set {self.dataset!r}"]
        return list(faults(self.dataset, *found, receipts))


class Reservation:
    """A cost that is charged; whoever holds it says how the fit ended. It belongs to the process that made it.

    Attributes
    ----------
    receipt : Receipt
        Names its entry.

    Privacy
    -------
    Data-independent.
    """

    def __init__(self, ledger: Ledger, receipt: Receipt) -> None:
        self.receipt = receipt
        self._ledger = ledger

    def commit(self) -> None:
        """Note that the release was made."""
        self._close("committed")

    def fail(self) -> None:
        """Note that the fit failed or was interrupted. Nothing is given back: something may have been released."""
        self._close("failed")

    def _close(self, kind: Kind) -> None:
        ledger, number = self._ledger, self.receipt.number
        with ledger._store.appending(ledger.dataset, durable=False) as writer:
            last = writer.last(ledger.dataset)
            if last is None:
                raise LedgerError(f"the data set {ledger.dataset!r} is gone")
            ledger._append(writer, last, kind, last.state, number)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a reservation cannot be pickled: it is closed by the process that made it")
