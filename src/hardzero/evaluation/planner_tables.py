"""Made-up records of a table of which only public facts are known: its size, or its schema."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from .. import checks
from ..data.bounded import FloatArray
from ..data.variables import Kind, Variables
from ..schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, UsedColumn
from ..schema.encoder import SchemaEncoder
from ..schema.target import NumericTarget

_SPREAD_ROWS = 2**14
"""Rows that are made up to see how far encoded columns of a schema spread."""
_SMALLEST = 2.0**-53


@dataclass(frozen=True)
class Supposed:
    """What sizes and schemas do not tell of a table, and has to be supposed.

    Attributes
    ----------
    accuracy : float
        What a model that knows the truth would reach: how well the classes can be told at all. State what models of
        such tables usually reach without privacy.
    rate : float
        The share of rows of class 1.
    effects : int, optional
        How many features have real effects, of equal strength: 6 if not given, or all features if they are fewer.
    nonzero : float or None
        The share of cells that are not zero: features are then indicators, else numbers. Not with a schema.
    skew : float
        With a schema: 0 for categories that are equally frequent; else the k-th has a share that falls with k^skew.
    correlation : float
        How strongly neighbouring columns correlate, those k apart by its k-th power. Unless it is 0, real effects are
        on neighbours and of the same sign: several columns tell nearly the same, whichever of them is kept.

    Privacy
    -------
    Data-independent, as long as nobody reads it from the records.
    """

    accuracy: float = 0.8
    rate: float = 0.5
    effects: int | None = None
    nonzero: float | None = None
    skew: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        checks.share("accuracy", self.accuracy)
        checks.share("rate", self.rate)
        if self.effects is not None:
            checks.whole("effects", self.effects, 1)
        checks.not_negative("skew", self.skew)
        if self.correlation != 0:
            checks.share("correlation", self.correlation)
        if self.nonzero is not None:
            checks.share("nonzero", self.nonzero)
        if self.accuracy <= max(self.rate, 1 - self.rate):
            raise ValueError(
                f"accuracy must be above {max(self.rate, 1 - self.rate):g}, which always guessing the more frequent "
                f"class reaches at rate={self.rate:g}; got {self.accuracy:g}"
            )

    def words(self, effects: int, beside_probes: int) -> tuple[str, ...]:
        """Return the same in words, with so many effects, of which fewer may be real where others are looked for.

        Privacy
        -------
        Data-independent.
        """
        fewer = "" if beside_probes == effects else f"; {beside_probes} of them where smallest effects are looked for"
        return (
            f"classes of which one has {100 * self.rate:g} % of the rows, and that could be told in "
            f"{100 * self.accuracy:g} % of the rows by a model that knows the truth",
            f"{effects} real effect{'' if effects == 1 else 's'} of equal strength, on "
            + ("features that spread more than others" if self.correlation == 0 else "neighbours, of the same sign")
            + fewer,
        )


class MadeUpTable(Protocol):
    """A table that records can be made up of."""

    @property
    def n_features(self) -> int:
        """How many features there are."""

    @property
    def n_columns(self) -> int:
        """How many columns the features are made from."""

    @property
    def owners(self) -> NDArray[np.intp]:
        """The column of every feature."""

    @property
    def correlation(self) -> float:
        """How strongly neighbouring columns correlate."""

    @property
    def spreads(self) -> FloatArray:
        """The standard deviation of every feature."""

    @property
    def variables(self) -> Variables | None:
        """Which features belong together, if that is known."""

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""

    def holds(self, share: float | None) -> bool:
        """Whether it may have such a feature: an indicator that a share of the rows has, or a number without one."""

    def beside(self, features: int) -> MadeUpTable:
        """Return what is left of the table where so many features are to be put beside it."""

    def made_of(self, numbers: FloatArray) -> FloatArray:
        """Make rows, each feature scaled to [-1, 1], of independent numbers between 0 and 1, one for each column."""


def columns_behind(table: MadeUpTable, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns whose numbers decide on features: their own, and those before where these correlate.

    Privacy
    -------
    Data-independent.
    """
    own = np.unique(table.owners[features])
    return own if table.correlation == 0 else np.arange(own.max(initial=-1) + 1)


def _correlated(numbers: FloatArray, correlation: float) -> FloatArray:
    """Let each column correlate with the one before it, as normal deviates; each stays evenly distributed."""
    if correlation == 0:
        return numbers
    normal = np.asarray(ndtri(np.maximum(numbers, _SMALLEST)))
    for column in range(1, normal.shape[1]):
        own = math.sqrt(1 - correlation**2) * normal[:, column]
        normal[:, column] = correlation * normal[:, column - 1] + own
    return np.asarray(ndtr(normal))


def _in_words(what: str, correlation: float) -> str:
    if correlation == 0:
        return f"independent {what}"
    return f"{what} of which neighbours correlate by {correlation:g}, and others less, the further they are apart"


@dataclass(frozen=True)
class PlainTable:
    """Features of which no more is known than their number, and how strongly neighbours correlate.

    Numbers that are uniform between their bounds; or, where the share of cells that are not zero is stated,
    indicators. These are not equally frequent: the shares of rows that have them are the powers of evenly spaced
    numbers that give that share on average, many rare ones and some frequent ones.

    Privacy
    -------
    Data-independent.
    """

    n_features: int
    nonzero: float | None = None
    correlation: float = 0.0

    @property
    def n_columns(self) -> int:
        """Each feature is a column."""
        return self.n_features

    @property
    def owners(self) -> NDArray[np.intp]:
        """The column of every feature."""
        return np.arange(self.n_features)

    @property
    def spreads(self) -> FloatArray:
        """The standard deviation of every feature."""
        if self.nonzero is None:
            return np.full(self.n_features, math.sqrt(1 / 3))
        return np.asarray(np.sqrt(self._shares * (1 - self._shares)))

    @property
    def variables(self) -> None:
        """Each feature stands for itself."""
        return

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""
        if self.nonzero is None:
            return (_in_words("features", self.correlation) + "; numbers, uniform between their bounds",)
        return (
            _in_words("indicators", self.correlation) + f"; {100 * self.nonzero:g} % of their cells are not zero",
        )

    def holds(self, share: float | None) -> bool:
        """Return True: nothing says what else there is."""
        return True

    def beside(self, features: int) -> PlainTable:
        """Return the table without so many features: in all there are as many as were stated."""
        return replace(self, n_features=self.n_features - features)

    def made_of(self, numbers: FloatArray) -> FloatArray:
        """Make rows of numbers between 0 and 1."""
        numbers = _correlated(numbers, self.correlation)
        return 2 * numbers - 1 if self.nonzero is None else (numbers < self._shares).astype(np.float64)

    @property
    def _shares(self) -> FloatArray:
        """How many of the rows have each indicator."""
        assert self.nonzero is not None
        return np.asarray(((np.arange(self.n_features) + 0.5) / self.n_features) ** (1 / self.nonzero - 1))


@dataclass(frozen=True)
class SchemaTable:
    """Columns of a schema: numbers uniform between their bounds, values by their rank.

    With ``skew`` 0 all values of a column are equally frequent; else the k-th has a share that falls with k^skew.

    Privacy
    -------
    Data-independent.
    """

    schema: Schema
    skew: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        target = self.schema.target
        if isinstance(target, NumericTarget) or len(target.classes) != 2:
            raise ValueError(
                "schema must have a target of two classes: nothing else has reliable weights to plan for"
            )

    @cached_property
    def _encoder(self) -> SchemaEncoder:
        return SchemaEncoder(self.schema)

    @property
    def n_features(self) -> int:
        """How many encoded columns there are."""
        return len(self.schema.features)

    @property
    def n_columns(self) -> int:
        """How many columns of the table are used."""
        return len(self.schema.used)

    @property
    def owners(self) -> NDArray[np.intp]:
        """The column of every feature."""
        return np.array(self.variables.owners, dtype=np.intp)

    @cached_property
    def spreads(self) -> FloatArray:
        """The standard deviation of every feature, as made-up rows have it."""
        return np.asarray(self.made_of(np.random.default_rng(0).random((_SPREAD_ROWS, self.n_columns))).std(axis=0))

    @cached_property
    def variables(self) -> Variables:
        """Which of them are of one column."""
        return self._encoder.variables

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""
        frequent = "equally frequent" if self.skew == 0 else f"the k-th as frequent as 1/k^{self.skew:g}"
        one_each = () if self.schema.person is None else ("persons with one row each, who are the rows meant here",)
        kinds = ((True, "numbers uniform between their bounds"), (False, f"categories {frequent}"))
        numeric = {isinstance(column, Numeric) for column in self.schema.used}
        cells = ", ".join(words for kind, words in kinds if kind in numeric)
        return (f"{_in_words('columns', self.correlation)}; {cells}", *one_each)

    def holds(self, share: float | None) -> bool:
        """Return whether some column has such features."""
        return any(_has_indicators(column) == (share is not None) for column in self.schema.used)

    def beside(self, features: int) -> SchemaTable:
        """Return the whole table."""
        return self

    def made_of(self, numbers: FloatArray) -> FloatArray:
        """Make cells of numbers between 0 and 1, and encode them as the schema says."""
        numbers = _correlated(numbers, self.correlation)
        cells = {
            column.name: self._cells(column, own) for column, own in zip(self.schema.used, numbers.T, strict=True)
        }
        return np.asarray(self._encoder.transform(cells).toarray())

    def _cells(self, column: UsedColumn, numbers: FloatArray) -> Any:
        match column:
            case Numeric():
                return column.lower + (column.upper - column.lower) * numbers
            case Boolean():
                values: tuple[str, ...] = (column.true, column.false)
            case Categorical() | Ordered():
                values = column.values
        shares = (1.0 + np.arange(len(values))) ** -self.skew
        return np.array(values)[np.searchsorted(np.cumsum(shares[:-1]) / shares.sum(), numbers, side="right")]


def _has_indicators(column: UsedColumn) -> bool:
    return isinstance(column, Categorical | Boolean) or any(feature.is_step for feature in column.features)


def with_probes(variables: Variables | None, count: int) -> Variables | None:
    """Return the variables with so many more, of one feature each.

    Privacy
    -------
    Data-independent.
    """
    if variables is None:
        return None
    here, alone = len(variables.names), tuple[Kind, ...]("number" for _ in range(count))
    return Variables(
        (*variables.names, *(f"probe {place}\n" for place in range(count))),  # no column has such a name
        (*variables.kinds, *alone),
        (*variables.owners, *range(here, here + count)),
        (*variables.signs, *(0 for _ in range(count))),
        (*variables.quantiles, *(0 for _ in range(count))) if variables.quantiles else (),
    )
