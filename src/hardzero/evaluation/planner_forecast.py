"""What a planned fit will be worth, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..privacy.budget import Neighbours
from ..privacy.events import Event


@dataclass(frozen=True)
class SmallestEffect:
    """The smallest effect of a kind of feature that is found in nine fits of ten.

    Attributes
    ----------
    share : float or None
        The share of rows that have a category; None for a number.
    standardised : float or None
        The log odds ratio by one standard deviation of the feature; None where no effect is found so often.
    odds_ratio : float or None
        The odds ratio of having the category, or from a number's lower to its upper bound; None as above.
    interval : float or None
        Width of the 95 % interval of the log odds ratio by one standard deviation; None where nothing was kept.

    Privacy
    -------
    Data-independent.
    """

    share: float | None
    standardised: float | None
    odds_ratio: float | None
    interval: float | None

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "a number" if self.share is None else f"a category of {100 * self.share:g} % of the rows"


@dataclass(frozen=True)
class Accuracy:
    """How often the class of a new row will be predicted: on average over rehearsals, in shares of the rows.

    Attributes
    ----------
    private : float
        By the planned fit.
    error : float
        Standard error of that average.
    plain : float
        By logistic regression without privacy on the same rows.
    best : float
        By a model that knows the truth: what was stated.
    guessing : float
        By always guessing the more frequent class.

    Privacy
    -------
    Data-independent.
    """

    private: float
    error: float
    plain: float
    best: float
    guessing: float


@dataclass(frozen=True)
class Forecast:
    """What a fit of `SparsePrivateLogisticRegression` will release, and what that will be worth.

    Attributes
    ----------
    n_rows, n_features : int
        The size of the table.
    epsilon, delta : float
        The budget.
    neighbours : Neighbours
        The relation that the guarantee is about.
    events : tuple of Event
        All releases, with their noise.
    most_kept : int
        Nonzero weights at most.
    effects : tuple of SmallestEffect
        What will be found in nine fits of ten: of a number, and of categories.
    accuracy : Accuracy
        How well classes will be predicted.
    assumptions : tuple of str
        What all of this supposes.
    repeats : int
        How often the fit was rehearsed to find the effects.

    Privacy
    -------
    Data-independent: made from public numbers and made-up records.
    """

    n_rows: int
    n_features: int
    epsilon: float
    delta: float
    neighbours: Neighbours
    events: tuple[Event, ...]
    most_kept: int
    effects: tuple[SmallestEffect, ...]
    accuracy: Accuracy
    assumptions: tuple[str, ...]
    repeats: int

    def to_dict(self) -> dict[str, Any]:
        """Return the same for machines.

        Privacy
        -------
        Data-independent.
        """
        values = asdict(self) | {"neighbours": self.neighbours.value}
        values["events"] = [event.describe() for event in self.events]
        values["accuracy"]["plain"] = None if math.isnan(self.accuracy.plain) else self.accuracy.plain
        return values

    def __str__(self) -> str:
        reached = self.accuracy
        plain = "" if math.isnan(reached.plain) else f"{_percent(reached.plain)} without privacy, "
        return "\n".join(
            [
                f"{self.n_rows:,} rows, {self.n_features:,} features, epsilon = {self.epsilon:g}, "
                f"delta = {self.delta:.2g}, {self.neighbours.value} neighbours",
                "",
                "What will be released, and with how much noise:",
                *(f"  {event.describe()}" for event in self.events),
                f"  At most {self.most_kept:,} weights are kept.",
                "",
                "Smallest effect that is kept and called reliable with probability 0.9:",
                *(f"  {line}" for line in _effect_lines(self.effects)),
                "",
                f"Expected accuracy: {_percent(reached.private)} ± {_percent(reached.error)} ({plain}"
                f"{_percent(reached.best)} at best, {_percent(reached.guessing)} by guessing)",
                "",
                "From rehearsals with made-up records, which suppose:",
                *(f"  {line}" for line in self.assumptions),
            ]
        )


def _effect_lines(effects: tuple[SmallestEffect, ...]) -> list[str]:
    lines = []
    for effect in effects:
        if effect.standardised is None or effect.odds_ratio is None:
            lines.append(f"{effect.kind}: none that can be relied on to be found")
            continue
        what = "from lower to upper bound" if effect.share is None else "of having it"
        width = "" if effect.interval is None else f"; 95 % interval {effect.interval:.2f} wide"
        lines.append(
            f"{effect.kind}: {effect.standardised:.3f} by standard deviation{width}; "
            f"odds ratio {effect.odds_ratio:.3g} {what}"
        )
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
