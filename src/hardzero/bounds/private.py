"""Private bounds from beginning to end: a table and a schema in, a schema with bounds and their price out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import checks
from ..evaluation.assess import public_rows
from ..ledger.ledger import Ledger
from ..ledger.receipt import Receipt
from ..methods.plans import default_delta
from ..model.composed import bounds_event, refuse_other_relation
from ..model.plain_text import shown
from ..model.statement import PrivacyStatement
from ..model.statement_json import statement_to_dict
from ..privacy import accounting
from ..privacy.budget import Budget, Neighbours
from ..privacy.randomness import IntArray, source_for
from ..readers import TableReader
from ..schema import cells
from ..schema.cells import EncodingError
from ..schema.columns import Schema, Unbounded
from ..schema.fields import plain_number
from ..schema.released import BoundsCharge
from .grid import Grid
from .ranges import ReleasedRange, doubtful_share, range_of
from .release import BoundsPlan, noisy_sums, plan_bounds

TAIL = 0.01
"""The share of cells that may lie beyond each bound, where nobody says another."""

_LARGEST_TAIL = 0.25

UNTOLD = "could not be told; give a public range, or more epsilon"
"""What is said of bounds that noise hides."""


@dataclass(frozen=True, repr=False)
class BoundsStatement(PrivacyStatement):
    """What a release of bounds guarantees.

    Privacy
    -------
    Post-processing: made from the plan alone.
    """

    _released: ClassVar[str] = "these bounds"
    _made_by: ClassVar[str] = "this release"


@dataclass(frozen=True, repr=False)
class PrivateBounds:
    """Released bounds. Printing them gives them in words, with the privacy statement.

    Attributes
    ----------
    schema : Schema
        The schema with bounds for every column for which they could be told, and with what they cost.
    ranges : mapping of str to ReleasedRange or None
        Bounds by column; None where noise hides them.
    privacy : PrivacyStatement
        What was guaranteed, and what it cost.

    Privacy
    -------
    Post-processing of noisy sums.
    """

    schema: Schema
    ranges: Mapping[str, ReleasedRange | None]
    privacy: BoundsStatement

    @property
    def untold(self) -> tuple[str, ...]:
        """The columns whose range could not be told."""
        return tuple(name for name, found in self.ranges.items() if found is None)

    def __repr__(self) -> str:
        return "\n".join([*self.lines(), "", repr(self.privacy)])

    def lines(self) -> Iterator[str]:
        """Return the bounds in words, a line for each column.

        Privacy
        -------
        Post-processing.
        """
        for name, found in self.ranges.items():
            if found is None:
                yield f"{shown(name)}: {UNTOLD}"
            else:
                between = f"{plain_number(found.lower)} to {plain_number(found.upper)}"
                yield f"{shown(name)}: {between} (up to {found.unnoticed:.1%} of values may lie beyond each)"

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds and the statement as JSON values.

        Privacy
        -------
        Post-processing.
        """
        ranges = {name: None if found is None else vars(found) for name, found in self.ranges.items()}
        return {"bounds": ranges, "privacy": statement_to_dict(self.privacy)}


def private_bounds(
    table: Any,
    schema: Schema,
    *,
    epsilon: float,
    delta: float | None = None,
    neighbours: str = "zero-out",
    n_rows: int | None = None,
    tail: float = TAIL,
    random_state: int | None = None,
    ledger: Ledger | None = None,
) -> PrivateBounds:
    """Release bounds for the numeric columns whose range the schema calls private.

    Of each such column quantiles are released on a public grid, all with one Gaussian mechanism, and rounded
    outwards. The table is read once, in batches where it is a reader.

    Parameters
    ----------
    table : TableReader or table
        From `hardzero.readers.open_table`; or a pyarrow table, a pandas or polars frame, or a dictionary of columns.
    schema : Schema
        With ``range = "private"`` for one column at least.
    epsilon : float
        What the release may cost each row.
    delta : float, optional
        By default n_rows^-1.5.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        Which tables are to be hard to tell apart; a fit with these bounds must use the same.
    n_rows : int, optional
        For "add-remove": a public number of rows in place of the true one.
    tail : float, default=0.01
        The share of a column's values that may lie beyond each bound, to be clipped.
    random_state : int, optional
        For tests only: a seeded release is not private.
    ledger : Ledger, optional
        Where the release is charged: its cost is reserved before noise is drawn, or refused.

    Returns
    -------
    PrivateBounds
        The schema with bounds and their price, the bounds, and the privacy statement.

    Raises
    ------
    ValueError
        No range is private, or so few rows and so little ε cannot tell any; nothing is released or charged then.
    EncodingError
        A cell is missing, and the schema's policy is "error".

    Privacy
    -------
    Releases noisy sums: (ε, δ)-differential privacy for each row under the relation. A fit to the same rows costs
    what it costs on top; model files state both together. Proof: docs/proofs/bounds.md.
    """
    terms = BoundsTerms(epsilon, delta, Neighbours.parse(neighbours), n_rows, tail, random_state, ledger)
    return released_bounds(counted_cells(table, schema), schema, terms)


@dataclass(frozen=True)
class BoundsTerms:
    """What bounds may cost and to whom that is charged; see `private_bounds`.

    Privacy
    -------
    Data-independent.
    """

    epsilon: float
    delta: float | None
    neighbours: Neighbours
    n_rows: int | None
    tail: float = TAIL
    random_state: int | None = None
    ledger: Ledger | None = None

    def __post_init__(self) -> None:
        Budget.asked(self.epsilon, default_delta(1) if self.delta is None else self.delta)  # before a table is read
        if checks.share("tail", self.tail) > _LARGEST_TAIL:
            raise ValueError(f"tail must be at most {_LARGEST_TAIL:g}, got {self.tail!r}; 0.01 is usual")


@dataclass(frozen=True)
class CountedCells:
    """How many cells of each column lie in each bin of its grid, and how many rows there are.

    Privacy
    -------
    Sensitive.
    """

    grids: tuple[Grid, ...]
    counts: tuple[IntArray, ...] = field(repr=False)
    rows: int = field(repr=False)


def released_bounds(counted: CountedCells, schema: Schema, terms: BoundsTerms) -> PrivateBounds:
    """Release bounds from cells that were counted.

    Privacy
    -------
    Releases noisy sums, as `private_bounds`.
    """
    relation, ledger = terms.neighbours, terms.ledger
    refuse_other_relation(schema.bounds, relation.value)  # of columns that were asked for before
    plan = _planned(counted.grids, public_rows(relation, terms.n_rows, counted.rows), terms)
    source = source_for(terms.random_state)
    seeded = not source.is_private
    charging = (
        nullcontext()
        if ledger is None
        else ledger.charged(plan.events, plan.spent, relation, what="private bounds", seeded=seeded)
    )
    with charging as receipt:
        sums = noisy_sums(counted.counts, plan, source)
    ranges = {
        column.name: range_of(part, grid, plan.noise, terms.tail)
        for column, part, grid in zip(schema.unbounded, sums, plan.grids, strict=True)
    }
    return _released(schema, ranges, plan, receipt, seeded=seeded)


def counted_cells(table: Any, schema: Schema, heard: Callable[[int], None] | None = None) -> CountedCells:
    """Read the columns whose range is private, once, and count their cells; ``heard`` is told of rows.

    Privacy
    -------
    Sensitive. Where a cell is counted depends on that cell and the schema alone.
    """
    schema.refuse_persons("a release of bounds")
    columns = schema.unbounded
    if not columns:
        raise ValueError('no column of the schema has range = "private"; its bounds are all public')
    names = [column.name for column in columns]
    grids = tuple(Grid(column.lowest, column.highest) for column in columns)
    counts = tuple(np.zeros(grid.bins, dtype=np.int64) for grid in grids)
    seen = 0
    for batch in table.batches(columns=names) if isinstance(table, TableReader) else (table,):
        arrays = cells.columns_of(batch, names)
        for column, grid, found in zip(columns, grids, counts, strict=True):
            found[:] += np.bincount(grid.places(_present(column, arrays[column.name], schema)), minlength=grid.bins)
        seen += len(arrays[names[0]])
        if heard is not None:
            heard(seen)
    return CountedCells(grids, counts, seen)


def _present(column: Unbounded, array: Any, schema: Schema) -> Any:
    """Return the numbers of a column; cells that are missing or no numbers are not counted, or refused."""
    numbers = cells.numbers_of(column.name, array, schema.missing_values)
    missing = np.isnan(numbers)
    if schema.missing == "error" and missing.any():
        raise EncodingError(
            f"column {column.name!r} has cells that are missing or cannot be understood; mend them, or set the "
            "schema's missing policy to zero or drop"
        )
    return numbers[~missing]


def _planned(grids: Sequence[Grid], n_rows: int, terms: BoundsTerms) -> BoundsPlan:
    epsilon = terms.epsilon
    budget = Budget.asked(epsilon, default_delta(n_rows) if terms.delta is None else terms.delta)
    plan = plan_bounds(n_rows, grids, budget, terms.neighbours)
    factor = doubtful_share(plan)
    if factor > 1:
        quieter = bounds_event(len(grids), plan.multiple / factor)
        enough = accounting.spent((quieter,), budget.delta).epsilon
        raise ValueError(
            f"epsilon = {epsilon:g} cannot tell {quieter.what} from {n_rows} rows: noise would hide "
            f"them; use epsilon = {math.ceil(100 * enough) / 100:g} or more, fewer columns, or public bounds. "
            "Nothing was released"
        )
    return plan


def _released(
    schema: Schema,
    ranges: Mapping[str, ReleasedRange | None],
    plan: BoundsPlan,
    receipt: Receipt | None,
    *,
    seeded: bool,
) -> PrivateBounds:
    """Put bounds and price into the schema, and say what is guaranteed."""
    entry = None if receipt is None else (receipt.dataset, receipt.number, receipt.hash)
    spent, relation = plan.spent, plan.neighbours
    charge = BoundsCharge(
        tuple(ranges), spent.epsilon, spent.delta, relation.value, plan.multiple, plan.n_rows, seeded, entry
    )
    told = {name: (found.lower, found.upper) for name, found in ranges.items() if found is not None}
    size = f"the number of rows ({plan.n_rows})"
    if relation is Neighbours.ADD_REMOVE:
        size = f"the stated number of rows ({plan.n_rows}); the true number is protected"
    statement = BoundsStatement(
        spent.epsilon,
        spent.delta,
        relation,
        plan.events,
        ("the schema but for these bounds: columns, limits, missing values", size),
        seeded=seeded,
        notes=(
            "It is about the rows of the table that was read, one row being one record. What is done with the same "
            "rows later costs more on top.",
        ),
        n_rows=plan.n_rows,
        ledger=receipt,
    )
    return PrivateBounds(schema.with_ranges(told, charge), ranges, statement)
