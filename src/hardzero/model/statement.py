"""The privacy statement: what a fitted model promises, about whom, and on which assumptions."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, field
from typing import ClassVar

from ..ledger.receipt import Receipt
from ..ledger.units import Unit
from ..privacy.budget import Neighbours
from ..privacy.events import Event
from .plain_text import shown

_RELATION_WORDS = {
    Neighbours.ZERO_OUT: "one person's record counts or is empty, the number of rows being known",
    Neighbours.REPLACE_ONE: "one person's record is exchanged for any other, the number of rows being known",
    Neighbours.ADD_REMOVE: "one person's record is in the data or is not, the number of rows being secret too",
}
_RELATION_WORDS_FOR_PERSONS = {
    Neighbours.ZERO_OUT: "all rows of one person count or are empty, the number of persons being known",
    Neighbours.REPLACE_ONE: "all rows of one person are exchanged for any others, the number of persons being known",
    Neighbours.ADD_REMOVE: "all rows of one person are in the data or not, the number of persons being secret too",
}

WEAK_EPSILON = 10.0
"""Above this ε the worst case that the guarantee allows says little: e^10 is more than 20,000."""

WEAK_DELTA = 1e-3
"""From this δ on a guarantee is called weak where the number of rows is not known; else from one over that number."""


FEWEST_ROWS = 100
"""With fewer rows, or fewer than this over an ε below 1, a model says nothing; `hardzero plan` begins here too."""


class WeakGuaranteeWarning(UserWarning):
    """A fit keeps its promise, but the budget that was asked for promises little."""


class FewRowsWarning(UserWarning):
    """A fit keeps its promise, but of so few rows at this epsilon it can say next to nothing."""


@dataclass(frozen=True, repr=False)
class PrivacyStatement:
    """What was guaranteed. Printing it gives the statement in plain words.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee, after accounting; infinite ε means none.
    neighbours : Neighbours
        The relation that the guarantee is about.
    events : tuple of Event
        Everything that was released.
    assumed_public : tuple of str
        What the guarantee takes for known to everyone.
    seeded : bool
        Whether the noise came from a seed; then it can be subtracted and nothing is guaranteed.
    notes : tuple of str
        What else a reader should know.
    n_rows : int or None
        The public number of rows, or of persons, by which δ is judged; None where it is not known.
    ledger : Receipt or None
        The entry of a ledger that the fit was charged to.
    unit : {"row", "person"}
        Whom the guarantee is about: one row, or all rows of one person, however many they are.
    instead : tuple of Event
        What rows pay that had a part in something else than ``events``, as those that choose in a search; no more
        than ε, but beside other releases either may cost more. No file has it: ε there holds for both.

    Privacy
    -------
    Post-processing: made from the plan alone.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    events: tuple[Event, ...]
    assumed_public: tuple[str, ...]
    seeded: bool = False
    notes: tuple[str, ...] = field(default=())
    n_rows: int | None = None
    ledger: Receipt | None = None
    unit: Unit = "row"
    instead: tuple[Event, ...] = field(default=(), compare=False)

    _released: ClassVar[str] = "this model"
    _made_by: ClassVar[str] = "this fit"

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds."""
        return math.isfinite(self.epsilon) and not self.seeded

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Why the guarantee promises little, a sentence each; nothing for one that is sound, or for none at all."""
        return weaknesses(self.epsilon, self.delta, self.n_rows, self.unit) if self.is_private else ()

    @property
    def too_few_rows(self) -> str | None:
        """Why a model of so few rows says nothing at this ε; None where they are enough, or nothing is private."""
        return too_few_rows(self.epsilon, self.n_rows, self.unit) if self.is_private else None

    def __repr__(self) -> str:
        lines = [f"WEAK: {reason}" for reason in self.weaknesses]
        lines += [self._headline(), *map(shown, self.notes), "Released:"]
        lines += [f"  - {shown(event.describe())}" for event in self.events]
        lines += ["Assumed public:"]
        lines += [f"  - {shown(assumption)}" for assumption in self.assumed_public]
        if self.ledger is not None:
            lines.append(f"Charged to a ledger: {shown(str(self.ledger))}")
        return "\n".join(lines)

    def _headline(self) -> str:
        if math.isinf(self.epsilon):
            return "NOT PRIVATE: this model was fitted without differential privacy."
        words = _RELATION_WORDS if self.unit == "row" else _RELATION_WORDS_FOR_PERSONS
        guarantee = (
            f"({self.epsilon:.4g}, {self.delta:.3g})-differential privacy, {self.neighbours.value} neighbours:\n"
            f"anything that can be concluded from {self._released} is at most {_factor(self.epsilon)} times "
            f"likelier, or less likely,\nbecause {words[self.neighbours]}, except with probability "
            f"{self.delta:.3g}."
        )
        if self.seeded:
            return (
                f"NOT PRIVATE: the noise came from a seed. Without random_state {self._made_by} would satisfy\n"
                f"{guarantee}"
            )
        return guarantee


def weaknesses(epsilon: float, delta: float, n_rows: int | None = None, unit: Unit = "row") -> tuple[str, ...]:
    """Return why a guarantee promises little, a sentence each; nothing if it does not.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    n_rows : int, optional
        The public number of rows, or of persons.
    unit : {"row", "person"}, default="row"
        Whom the guarantee is about.

    Returns
    -------
    tuple of str
        One sentence for an ε above `WEAK_EPSILON`, one for a δ of 1/n_rows or more (`WEAK_DELTA` where the number of
        rows is not known).

    Privacy
    -------
    Data-independent: the number of rows counts as public.

    Examples
    --------
    >>> weaknesses(1.0, 1e-6, 20_000)
    ()
    >>> len(weaknesses(100.0, 0.1, 20_000))
    2
    """
    reasons = []
    if epsilon > WEAK_EPSILON:
        reasons.append(
            f"epsilon = {epsilon:.4g} is above {WEAK_EPSILON:g}, where the bound says little: conclusions may be "
            f"{_factor(epsilon)} times likelier because of one person. Around 1 is usual."
        )
    if n_rows is not None and delta >= 1 / n_rows:
        reasons.append(
            f"delta = {delta:.3g} is not below 1/n = {1 / n_rows:.3g} for {n_rows} {unit}s: publishing some people's "
            "records whole would satisfy it too. Well below 1/n is usual."
        )
    elif n_rows is None and delta >= WEAK_DELTA:
        reasons.append(
            f"delta = {delta:.3g} is large: in a table of {1 / delta:.3g} rows or more, publishing some people's "
            "records whole would satisfy it too. Well below one over the number of rows is usual."
        )
    return tuple(reasons)


def too_few_rows(epsilon: float, n_rows: int | None, unit: Unit = "row") -> str | None:
    """Return why a model of so few rows says nothing; None if they are enough or their number is not known.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    n_rows : int or None
        The public number of rows, or of persons.
    unit : {"row", "person"}, default="row"
        Whom the guarantee is about.

    Privacy
    -------
    Data-independent: the number of rows counts as public.

    Examples
    --------
    >>> too_few_rows(1.0, 100), too_few_rows(0.5, 200)
    (None, None)
    >>> too_few_rows(0.5, 199)[:69]
    'chance and noise outweigh all that 199 rows can say at epsilon = 0.5,'
    """
    told = float(f"{epsilon:.3g}")  # a plan may spend a hair less than was asked for
    if n_rows is None or n_rows * min(told, 1.0) >= FEWEST_ROWS:
        return None
    return (
        f"chance and noise outweigh all that {n_rows} {unit}{'' if n_rows == 1 else 's'} can say at epsilon = "
        f"{told:g}, so that weights and intervals mean nothing; a model takes {FEWEST_ROWS} {unit}s or more, and "
        f"{FEWEST_ROWS}/epsilon where epsilon is below 1"
    )


def warn_if_weak(statement: PrivacyStatement) -> None:
    """Warn about a guarantee that holds but promises little, and about rows that are too few for a model.

    Privacy
    -------
    Data-independent.
    """
    # The library's own frames are passed over, so that warnings point at the call of fit.
    if reasons := statement.weaknesses:
        warnings.warn(WeakGuaranteeWarning("a weak guarantee: " + " ".join(reasons)), stacklevel=_frames_of_ours())
    if reason := statement.too_few_rows:
        warnings.warn(FewRowsWarning("too few rows: " + reason), stacklevel=_frames_of_ours())


def _frames_of_ours() -> int:
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g} (= e^{epsilon:.4g})" if epsilon < 20 else f"e^{epsilon:.4g}"
