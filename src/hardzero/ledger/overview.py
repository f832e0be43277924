"""What a ledger has to tell about one data set: every fit, what became of it, and what all of them cost together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..privacy.budget import Budget
from .chain import Entry
from .state import State
from .store import LedgerError

Outcome = Literal["complete", "failed", "open"]
_OUTCOMES: dict[str, Outcome] = {"committed": "complete", "failed": "failed"}


@dataclass(frozen=True)
class Spending:
    """One fit: what it promised by itself, how it ended, and what all fits so far cost with it.

    Privacy
    -------
    Post-processing; that a fit failed may depend on the records.
    """

    number: int
    time: str
    by: str
    what: str
    epsilon: float
    delta: float
    private: bool
    outcome: Outcome
    total: float
    cap: float
    hash: str


@dataclass(frozen=True)
class Overview:
    """One data set as its ledger stands now.

    Attributes
    ----------
    dataset : str
        Its name.
    state : State
        Terms and sums.
    created : str
        When it was created.
    spendings : tuple of Spending
        All fits, the first one first.

    Privacy
    -------
    Post-processing; that a fit failed may depend on the records.
    """

    dataset: str
    state: State
    created: str
    spendings: tuple[Spending, ...]

    @property
    def cap(self) -> Budget:
        """What everything together may cost."""
        return self.state.filter.cap

    @property
    def one_by_one(self) -> Budget:
        """What basic composition says: the sums of what each fit promised."""
        return Budget(
            sum(spending.epsilon for spending in self.spendings),
            min(sum(spending.delta for spending in self.spendings), 1 - 1e-16),
        )

    @property
    def seeded(self) -> int:
        """How many fits had noise from a seed."""
        return sum(not spending.private for spending in self.spendings)

    def facts(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "dataset": self.dataset,
            "created": self.created,
            "neighbours": self.state.neighbours.value,
            "accountant": self.state.filter.accountant,
            "schema": self.state.schema,
            "unit": self.state.unit,
            "cap": {"epsilon": self.cap.epsilon, "delta": self.cap.delta},
            "spent": self.state.spent,
            "one_by_one": {"epsilon": self.one_by_one.epsilon, "delta": self.one_by_one.delta},
            "would_fit": self.state.would_fit(),
            "fits": [vars(spending) for spending in self.spendings],
        }


def overview_of(dataset: str, entries: Sequence[Entry]) -> Overview:
    """Return what the entries tell.

    Raises
    ------
    LedgerError
        There are none.

    Privacy
    -------
    Post-processing.
    """
    if not entries:
        raise LedgerError(f"the ledger has no data set {dataset!r}")
    ends = {entry.closes: _OUTCOMES[entry.values["kind"]] for entry in entries if entry.closes is not None}
    spendings = tuple(
        _spending(entry, ends.get(entry.number, "open")) for entry in entries if entry.values["kind"] == "reserved"
    )
    return Overview(dataset, entries[-1].state, entries[0].values["time"], spendings)


def _spending(entry: Entry, outcome: Outcome) -> Spending:
    values, state = entry.values, entry.state
    told = {name: values[name] for name in ("time", "by", "what", "epsilon", "delta", "private")}
    return Spending(
        number=entry.number,
        **told,
        outcome=outcome,
        total=state.spent,
        cap=state.filter.cap.epsilon,
        hash=entry.hash,
    )
