"""Kinds of columns, and the features that each of them gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .cuts import Spacing, check_cuts, spread_cuts
from .fields import plain_number

OTHER = "other"
"""Stands for every value that the schema does not list."""

Direction = Literal["up", "down"]
"""Whether the odds of the positive class can only rise with a variable, or only fall."""


WIDE = 1e9
"""Limits of a number of which nobody says any, on both sides of zero."""


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix.

    A number, encoded as (x - offset)/scale clipped to [-1, 1], has neither ``category`` nor ``cut``. The indicator of
    a category is 1 for cells that are this ``category``, else 0. A step is 1 for cells that are at or above its
    ``cut``, else 0: the cut is a number, or the rank of an ordered value, whose name is the ``category`` then.
    """

    name: str
    column: str
    category: str | None = None
    offset: float = 0.0
    scale: float = 1.0
    unit: str | None = None
    cut: float | None = None

    @property
    def is_step(self) -> bool:
        """Whether the feature tells who is at or above a cut point from who is below."""
        return self.cut is not None


@dataclass(frozen=True)
class Numeric:
    """A number between public bounds: as it is, or as steps at public cut points.

    Where ``quantiles`` is not 0, only so many of the cut points take part in a fit: those nearest to quantiles that
    the fit releases.
    """

    name: str
    lower: float
    upper: float
    unit: str | None = None
    cuts: tuple[float, ...] = ()
    monotone: Direction | None = None
    quantiles: int = 0

    def __post_init__(self) -> None:
        check_cuts(self.cuts, self.lower, self.upper, ("columns", self.name, "cuts"))

    @property
    def features(self) -> tuple[Feature, ...]:
        """One step for each cut point, or one feature in [-1, 1].

        Zero stays zero where the bounds include it, so that sparse columns stay sparse.
        """
        if self.cuts:
            return tuple(Feature(f"{self.name}>={plain_number(cut)}", self.name, cut=float(cut)) for cut in self.cuts)
        if self.lower <= 0 <= self.upper:
            offset, scale = 0.0, max(abs(self.lower), abs(self.upper))
        else:
            offset, scale = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        return (Feature(self.name, self.name, None, offset, scale or 1.0, self.unit),)


@dataclass(frozen=True)
class Unbounded:
    """A number whose bounds are not known: a private release can find some, between limits that are known.

    Until then nothing can be encoded with it. ``cuts`` says how many cut points will be spread over the bounds.
    """

    name: str
    lowest: float = -WIDE
    highest: float = WIDE
    unit: str | None = None
    cuts: int = 0
    spacing: Spacing = "even"
    monotone: Direction | None = None
    quantiles: int = 0

    def between(self, lower: float, upper: float) -> Numeric:
        """Return the column with bounds."""
        cuts = spread_cuts(lower, upper, self.cuts, self.spacing) if self.cuts else ()
        return Numeric(self.name, lower, upper, self.unit, cuts, self.monotone, self.quantiles)

    @property
    def features(self) -> tuple[Feature, ...]:
        """Those that it would have with its limits as bounds."""
        return self.between(self.lowest, self.highest).features


@dataclass(frozen=True)
class Boolean:
    """A yes or a no."""

    name: str
    true: str = "true"
    false: str = "false"

    @property
    def features(self) -> tuple[Feature, ...]:
        """One indicator."""
        return (Feature(self.name, self.name, self.true),)


@dataclass(frozen=True)
class _OneOf:
    """What columns with listed values have."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Categorical(_OneOf):
    """One of several values; those that are not listed are ``other``, with an indicator of their own, or missing."""

    other: bool = True

    @property
    def features(self) -> tuple[Feature, ...]:
        """One indicator for each value, and with ``other`` one for the rest, which a listed value "other" joins."""
        values = (*(value for value in self.values if value != OTHER), OTHER) if self.other else self.values
        return tuple(Feature(f"{self.name}={value}", self.name, value) for value in values)


@dataclass(frozen=True)
class Ordered(_OneOf):
    """One of several values with an order: encoded by rank, evenly from 0 to 1, or as steps from value to value."""

    steps: bool = False
    monotone: Direction | None = None

    @property
    def features(self) -> tuple[Feature, ...]:
        """One step for each value but the lowest, or one feature, the rank."""
        if self.steps:
            return tuple(
                Feature(f"{self.name}>={value}", self.name, value, cut=float(rank))
                for rank, value in enumerate(self.values)
                if rank > 0
            )
        return (Feature(self.name, self.name, None, 0.0, max(len(self.values) - 1, 1), "rank"),)


@dataclass(frozen=True)
class Ignored:
    """A column that is not used."""

    name: str

    @property
    def features(self) -> tuple[Feature, ...]:
        """None."""
        return ()


UsedColumn = Numeric | Boolean | Categorical | Ordered
Column = UsedColumn | Unbounded | Ignored
