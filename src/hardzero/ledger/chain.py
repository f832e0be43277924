"""Entries of a ledger, each with the hash of the one before it, and what shows that a chain was changed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ..privacy.budget import Budget
from .event_json import event_from_dict
from .filters import Filter, cost_of
from .receipt import Receipt
from .state import State, cost_from_dict

Kind = Literal["created", "raised", "reserved", "committed", "failed"]
START = "0" * 64
"""What stands for the hash before the first entry."""
_AGREEMENT = 1e-7


@dataclass(frozen=True)
class Entry:
    """One line of a ledger, as it is stored: text, its hash, and which entry it closes.

    Privacy
    -------
    Data-independent, or post-processing; that a fit failed may depend on the records.
    """

    dataset: str
    number: int
    body: str
    hash: str
    closes: int | None = None

    @cached_property
    def values(self) -> dict[str, Any]:
        """What the text says."""
        values: dict[str, Any] = json.loads(self.body)
        return values

    @cached_property
    def state(self) -> State:
        """The state after this entry."""
        return State.from_dict(self.values["after"])

    @property
    def receipt(self) -> Receipt:
        """What to keep of it."""
        return Receipt(self.dataset, self.number, self.hash)


def next_entry(
    dataset: str,
    last: Entry | None,
    kind: Kind,
    after: State,
    details: Mapping[str, Any],
    *,
    time: str,
    by: str,
    closes: int | None = None,
) -> Entry:
    """Return the entry that follows the last one."""
    number = 1 if last is None else last.number + 1
    body = canonical(
        {
            "dataset": dataset,
            "number": number,
            "kind": kind,
            "time": time,
            "by": by,
            "previous": START if last is None else last.hash,
            "closes": closes,
            **details,
            "after": after.to_dict(),
        }
    )
    return Entry(dataset, number, body, hash_of(body), closes)


def canonical(values: Mapping[str, Any]) -> str:
    """Return JSON that is the same text for the same values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(body: str) -> str:
    """Return the hash of an entry's text, in which the hash of the entry before it stands."""
    return hashlib.sha256(body.encode()).hexdigest()


def faults(
    dataset: str, entries: Sequence[Entry], head: tuple[int, str] | None, receipts: Iterable[Receipt] = ()
) -> Iterator[str]:
    """Say what is wrong with a chain; nothing if it is whole.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    entries : sequence of Entry
        All that are stored, in their order.
    head : pair or None
        Number and hash that the store remembers as the last.
    receipts : iterable of Receipt
        Entries that must be there, remembered outside of the ledger.

    Privacy
    -------
    Post-processing.
    """
    last: Entry | None = None
    for expected, entry in enumerate(entries, start=1):
        if entry.number != expected:
            yield f"entry {expected} is missing: the next one is {entry.number}"
            return
        problem = _fault_of(dataset, entry, last, entries)
        if problem is not None:
            yield f"entry {expected} {problem}"
            return
        last = entry
    stored = (0, START) if last is None else (last.number, last.hash)
    if head is None or tuple(head) != stored:
        said = "no entry" if head is None else f"entry {head[0]}"
        yield f"the ledger ends with entry {stored[0]}, but remembers {said} as the last: some were removed or added"
    for receipt in receipts:
        if receipt.dataset != dataset:
            yield f"a receipt is for the data set {receipt.dataset!r}"
        elif receipt.number > len(entries):
            yield (
                f"entry {receipt.number} is not there, though a receipt names it: the ledger was set back to "
                f"entry {len(entries)}"
            )
        elif entries[receipt.number - 1].hash != receipt.hash:
            yield f"entry {receipt.number} is not the one that a receipt names: the ledger was rewritten"


def _fault_of(dataset: str, entry: Entry, last: Entry | None, entries: Sequence[Entry]) -> str | None:
    if hash_of(entry.body) != entry.hash:
        return "was changed: its text does not have its hash"
    try:
        values = entry.values
        if (values["dataset"], values["number"], values["closes"]) != (dataset, entry.number, entry.closes):
            return "was moved: its text names another place"
        if values["previous"] != (START if last is None else last.hash):
            return "does not follow the one before it"
        if (values["kind"] == "created") != (last is None):
            return "is no beginning" if last is None else "begins anew"
        return _created(values) if last is None else _FOLLOWING[values["kind"]](values, last.state, entries)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError):
        return "cannot be read"


def _created(values: Mapping[str, Any]) -> str | None:
    after = State.from_dict(values["after"])
    return _raised(values, State(after.neighbours, after.filter, after.schema, unit=after.unit))


def _raised(values: Mapping[str, Any], before: State, entries: Sequence[Entry] = ()) -> str | None:
    stated = State.from_dict(values["after"]).filter
    made = Filter.of_cap(stated.accountant, stated.cap)
    if not _agree((made.limit, made.order or 0.0), (stated.limit, stated.order or 0.0)):
        return "has a limit that its cap does not have"
    return _compared(values, replace(before, filter=stated))


def _reserved(values: Mapping[str, Any], before: State, entries: Sequence[Entry]) -> str | None:
    cost = cost_from_dict(values["cost"])
    if not _agree(cost, cost_of([event_from_dict(event) for event in values["events"]])):
        return "has a cost that its events do not have"
    expected = before.charged(cost, Budget(values["epsilon"], values["delta"]))
    return _compared(values, expected) if expected.is_allowed else "spends more than the cap"


def _closed(values: Mapping[str, Any], before: State, entries: Sequence[Entry]) -> str | None:
    if entries[values["closes"] - 1].values["kind"] != "reserved":
        return "closes no reservation"
    return _compared(values, before)


_FOLLOWING = {"raised": _raised, "reserved": _reserved, "committed": _closed, "failed": _closed}


def _compared(values: Mapping[str, Any], expected: State) -> str | None:
    return None if expected.to_dict() == values["after"] else "has sums that do not follow from the entries"


def _agree(numbers: Iterable[float], others: Iterable[float]) -> bool:
    """Another version of a library may differ in the last digits."""
    return all(math.isclose(a, b, rel_tol=_AGREEMENT) for a, b in zip(numbers, others, strict=True))
