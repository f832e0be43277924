"""Made-up records of a table of which only public facts are known: its size, or its schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .. import checks
from ..data.bounded import FloatArray
from ..data.variables import Kind, Variables
from ..schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, UsedColumn
from ..schema.encoder import SchemaEncoder
from ..schema.target import NumericTarget


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
    effects : int
        How many features have real effects, of equal strength.
    nonzero : float or None
        The share of cells that are not zero: features are then indicators, else numbers. Not with a schema.
    skew : float
        With a schema: 0 for categories that are equally frequent; else the k-th has a share that falls with k^skew.

    Privacy
    -------
    Data-independent, as long as nobody reads it from the records.
    """

    accuracy: float = 0.8
    rate: float = 0.5
    effects: int = 6
    nonzero: float | None = None
    skew: float = 0.0

    def __post_init__(self) -> None:
        checks.share("accuracy", self.accuracy)
        checks.share("rate", self.rate)
        checks.whole("effects", self.effects, 1)
        checks.not_negative("skew", self.skew)
        if self.nonzero is not None:
            checks.share("nonzero", self.nonzero)
        if self.accuracy <= max(self.rate, 1 - self.rate):
            raise ValueError(
                f"accuracy must be above {max(self.rate, 1 - self.rate):g}, which always guessing the more frequent "
                f"class reaches at rate={self.rate:g}; got {self.accuracy:g}"
            )

    @property
    def words(self) -> tuple[str, ...]:
        """The same in words."""
        return (
            f"classes of which one has {100 * self.rate:g} % of the rows, and that could be told in "
            f"{100 * self.accuracy:g} % of the rows by a model that knows the truth",
            f"{self.effects} real effects of equal strength, on features that spread more than others",
        )


class MadeUpTable(Protocol):
    """A table that records can be made up of."""

    @property
    def n_features(self) -> int:
        """How many features there are."""

    @property
    def variables(self) -> Variables | None:
        """Which of them belong together, if that is known."""

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""

    def beside(self, features: int) -> MadeUpTable:
        """Return what is left of the table where so many features are to be put beside it."""

    def draw(self, rows: int, rng: np.random.Generator) -> FloatArray:
        """Make up rows, each feature scaled to [-1, 1]."""


@dataclass(frozen=True)
class PlainTable:
    """Independent features of which no more is known than their number.

    Numbers that are uniform between their bounds; or, where the share of cells that are not zero is stated,
    indicators. These are not equally frequent: the shares of rows that have them are the powers of evenly spaced
    numbers that give that share on average, many rare ones and some frequent ones.

    Privacy
    -------
    Data-independent.
    """

    n_features: int
    nonzero: float | None = None

    @property
    def variables(self) -> None:
        """Each feature stands for itself."""
        return

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""
        if self.nonzero is None:
            return ("independent features, uniform between their bounds",)
        return (f"independent indicators, {100 * self.nonzero:g} % of their cells not zero",)

    def beside(self, features: int) -> PlainTable:
        """Return the table without so many features: in all there are as many as were stated."""
        return replace(self, n_features=self.n_features - features)

    def draw(self, rows: int, rng: np.random.Generator) -> FloatArray:
        """Make up rows."""
        if self.nonzero is None:
            return rng.uniform(-1.0, 1.0, (rows, self.n_features))
        places = (np.arange(self.n_features) + 0.5) / self.n_features
        return (rng.random((rows, self.n_features)) < places ** (1 / self.nonzero - 1)).astype(np.float64)


@dataclass(frozen=True)
class SchemaTable:
    """Independent columns of a schema: numbers uniform between their bounds, values by their rank.

    With ``skew`` 0 all values of a column are equally frequent; else the k-th has a share that falls with k^skew.

    Privacy
    -------
    Data-independent.
    """

    schema: Schema
    skew: float = 0.0

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

    @cached_property
    def variables(self) -> Variables:
        """Which of them are of one column."""
        return self._encoder.variables

    @property
    def words(self) -> tuple[str, ...]:
        """What is supposed of its cells."""
        frequent = "equally frequent" if self.skew == 0 else f"the k-th as frequent as 1/k^{self.skew:g}"
        one_each = () if self.schema.person is None else ("persons with one row each, who are the rows meant here",)
        return (f"independent columns, numbers uniform between their bounds, categories {frequent}", *one_each)

    def beside(self, features: int) -> SchemaTable:
        """Return the whole table."""
        return self

    def draw(self, rows: int, rng: np.random.Generator) -> FloatArray:
        """Make up cells, and encode them as the schema says."""
        cells = {column.name: self._cells(column, rows, rng) for column in self.schema.used}
        return np.asarray(self._encoder.transform(cells).toarray())

    def _cells(self, column: UsedColumn, rows: int, rng: np.random.Generator) -> Any:
        match column:
            case Numeric():
                return rng.uniform(column.lower, column.upper, rows)
            case Boolean():
                values: tuple[str, ...] = (column.true, column.false)
            case Categorical() | Ordered():
                values = column.values
        shares = (1.0 + np.arange(len(values))) ** -self.skew
        return np.array(values)[rng.choice(len(values), rows, p=shares / shares.sum())]


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
