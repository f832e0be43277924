"""The privacy statement: what a fitted model promises, about whom, and on which assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .privacy.budget import Neighbours
from .privacy.events import Event

_RELATION_WORDS = {
    Neighbours.ZERO_OUT: "one person's record counts or is empty, the number of rows being known",
    Neighbours.REPLACE_ONE: "one person's record is exchanged for any other, the number of rows being known",
    Neighbours.ADD_REMOVE: "one person's record is in the data or is not, the number of rows being secret too",
}


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

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds."""
        return math.isfinite(self.epsilon) and not self.seeded

    def __repr__(self) -> str:
        lines = [self._headline(), *self.notes, "Released:"]
        lines += [f"  - {event.describe()}" for event in self.events]
        lines += ["Assumed public:"]
        lines += [f"  - {assumption}" for assumption in self.assumed_public]
        return "\n".join(lines)

    def _headline(self) -> str:
        if math.isinf(self.epsilon):
            return "NOT PRIVATE: this model was fitted without differential privacy."
        guarantee = (
            f"({self.epsilon:.4g}, {self.delta:.3g})-differential privacy, {self.neighbours.value} neighbours:\n"
            f"anything that can be concluded from this model is at most {_factor(self.epsilon)} times likelier, or "
            f"less likely,\nbecause {_RELATION_WORDS[self.neighbours]}, except with probability {self.delta:.3g}."
        )
        if self.seeded:
            return (
                f"NOT PRIVATE: the noise came from a seed. Without random_state this fit would satisfy\n{guarantee}"
            )
        return guarantee


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g} (= e^{epsilon:.4g})" if epsilon < 20 else f"e^{epsilon:.4g}"
