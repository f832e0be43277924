"""Does a table fit its schema? What is public can be asked by anyone, what is counted only by the data holder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from ..schema import cells
from ..schema.cell_text import NUMBER, WORDS, text_of
from ..schema.cells import Mask
from ..schema.columns import OTHER, Boolean, Numeric, Schema, UsedColumn
from ..schema.fields import printable, suggestions
from ..schema.file import type_family
from ..schema.target import NumericTarget
from . import TableReader

_TEXTS = ("text", "number", "boolean", "time")
_NUMBERS = ("text", "number", "boolean")


_MOST_ROWS = 5


@dataclass(frozen=True)
class ColumnCounts:
    """How many cells of a column are missing, outside the bounds, or no listed value (no number, for a number).

    Of each kind also the numbers of the first rows that have them; the first row of a table is row 1.

    Privacy
    -------
    Sensitive: exact counts, for the data holder only.
    """

    column: str
    missing: int
    outside: int
    unknown: int
    missing_rows: tuple[int, ...] = ()
    outside_rows: tuple[int, ...] = ()
    unknown_rows: tuple[int, ...] = ()

    @property
    def troubled(self) -> int:
        """How many cells are not as the schema expects."""
        return self.missing + self.outside + self.unknown

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        return ColumnCounts(
            self.column,
            self.missing + other.missing,
            self.outside + other.outside,
            self.unknown + other.unknown,
            (self.missing_rows + other.missing_rows)[:_MOST_ROWS],
            (self.outside_rows + other.outside_rows)[:_MOST_ROWS],
            (self.unknown_rows + other.unknown_rows)[:_MOST_ROWS],
        )

    def __str__(self) -> str:
        kinds = (
            ("missing", self.missing, self.missing_rows),
            ("out of bounds", self.outside, self.outside_rows),
            ("unknown", self.unknown, self.unknown_rows),
        )
        return f"{printable(self.column)}: " + ", ".join(
            f"{count} {what}" + (f" ({in_rows(count, rows)})" if count else "") for what, count, rows in kinds
        )


@dataclass(frozen=True)
class TableCheck:
    """What `check_table` found.

    Attributes
    ----------
    problems : tuple of str
        What does not fit, about names and types only. Empty if the table fits.
    unused : tuple of str
        Columns of the table that the schema does not mention, or ignores.
    n_rows : int or None
        Number of rows; for the data holder only.
    counts : tuple of ColumnCounts or None
        Counts for each used column and the target; for the data holder only.

    Privacy
    -------
    Data-independent where ``counts`` is None, else sensitive.
    """

    problems: tuple[str, ...]
    unused: tuple[str, ...]
    n_rows: int | None = None
    counts: tuple[ColumnCounts, ...] | None = None

    @property
    def passed(self) -> bool:
        """Whether names and types fit."""
        return not self.problems

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from self.problems or ("the table has every column of the schema, with suitable types",)
        if self.unused:
            yield f"not used: {', '.join(map(printable, self.unused))}"
        if self.counts is not None:
            yield f"SENSITIVE, for the data holder only: {self.n_rows} rows, of which the first is row 1"
            yield from map(str, sorted(self.counts, key=lambda count: -count.troubled))


def check_table(schema: Schema, reader: TableReader, *, holder: bool = False) -> TableCheck:
    """Check that a table has the columns of a schema, with types that fit.

    Parameters
    ----------
    schema : Schema
        What is publicly known about the table.
    reader : TableReader
        The opened table.
    holder : bool, default=False
        Whether the data holder asks, who may see counts of missing, clipped and unknown cells. The table is read
        for that, once.

    Returns
    -------
    TableCheck
        Problems, and counts if asked for. Counts are left out while there are problems.

    Privacy
    -------
    Without ``holder`` no row is read and the result depends on names and types of columns only. With it the counts
    are exact and sensitive: do not pass them on, and do not choose bounds by them.
    """
    problems = tuple(_problems(schema, reader))
    expected = {*(column.name for column in schema.used), *schema.read}
    unused = tuple(name for name in reader.names if name not in expected)
    if problems or not holder:
        return TableCheck(problems, unused)
    names = [*(column.name for column in schema.used), schema.target.name]
    totals = {name: ColumnCounts(name, 0, 0, 0) for name in names}
    n_rows = 0
    for batch in reader.batches(columns=names):
        arrays = cells.columns_of(batch, names)
        for column in schema.used:
            totals[column.name] += _counts(column, arrays[column.name], schema.missing_values, n_rows)
        totals[schema.target.name] += _target_counts(schema, arrays[schema.target.name], n_rows)
        n_rows += batch.num_rows
    return TableCheck(problems, unused, n_rows, tuple(totals.values()))


def _problems(schema: Schema, reader: TableReader) -> Iterator[str]:
    types = {} if reader.is_text else reader.types
    present, strange = set(reader.names), never_met(schema, reader)
    wanted = {column.name: _NUMBERS if isinstance(column, Numeric) else _TEXTS for column in schema.used}
    wanted[schema.target.name] = _NUMBERS if isinstance(schema.target, NumericTarget) else _TEXTS
    if schema.person is not None:
        wanted[schema.person] = _TEXTS
    hints = suggestions(wanted, reader.names)
    for name, families in wanted.items():
        if name not in present:
            yield f"column {name!r} is not in the table{hints.get(name, '')}"
        elif name in types and type_family(types[name]) not in families:
            kind = "numbers" if families is _NUMBERS else "categories"
            yield f"column {name!r} has the type {types[name]}, which gives no {kind}; convert or ignore it"
        elif name in strange:
            yield strange[name]


def never_met(schema: Schema, reader: TableReader) -> dict[str, str]:
    """Say of which columns the declared type can give nothing that the schema lists: every cell would be unknown.

    Returns
    -------
    dict of str to str
        By the names of the columns, the target among them, what does not fit. Text files have no types.

    Privacy
    -------
    Names and types of columns count as public; no cell is read.
    """
    listed = {column.name: _listed(column) for column in schema.used}
    listed[schema.target.name] = () if isinstance(schema.target, NumericTarget) else schema.target.classes
    found = {}
    for name, kind in ({} if reader.is_text else reader.types).items():
        if words := _never_met(listed.get(name, ()), type_family(kind)):
            found[name] = f"column {name!r} has the type {kind}, {words}"
    return found


def _listed(column: UsedColumn) -> tuple[str, ...]:
    """Return what cells of a column are compared with."""
    if isinstance(column, Numeric):
        return ()
    if isinstance(column, Boolean):
        return (column.true, column.false, *WORDS)
    return tuple(value for value in column.values if value != OTHER)


def _never_met(listed: tuple[str, ...], family: str) -> str | None:
    """Say so where no cell of a type can be any of the texts that it is compared with."""
    if not listed:
        return None
    if family == "number" and not any(map(written_as_number, listed)):
        like = "like 1 or 2.5"
    elif family == "boolean" and not {*listed} & {*WORDS}:
        like = "as true and false"
    else:
        return None
    return (
        f"whose cells are written {like}, and nothing that the schema lists for it is ({listed[0]!r}); list what "
        "cells can be, or convert it"
    )


def written_as_number(text: str) -> bool:
    """Return whether some number has this text by `text_of`: "1" and "0.5" are such texts, "01", "1.0" and ".5" not.

    Privacy
    -------
    Data-independent: about text of a schema.
    """
    try:
        return re.fullmatch(NUMBER, text) is not None and text_of(Decimal(text)) == text
    except InvalidOperation:  # more digits in the exponent than there can be
        return False


def _counts(column: UsedColumn, array: object, missing_values: tuple[str, ...], before: int) -> ColumnCounts:
    found = cells.encode_column(column, array, missing_values)
    return counted(column.name, found.missing & ~found.unknown, found.outside, found.unknown, before)


def _target_counts(schema: Schema, array: object, before: int) -> ColumnCounts:
    target = schema.target
    if isinstance(target, NumericTarget):
        _, missing, outside, unknown = cells.encode_outcomes(target, array, schema.missing_values)
        return counted(target.name, missing & ~unknown, outside, unknown, before)
    _, missing, unknown = cells.encode_labels(target, array, schema.missing_values)
    return counted(target.name, missing, np.zeros_like(missing), unknown, before)


def counted(column: str, missing: Mask, outside: Mask, unknown: Mask, before: int) -> ColumnCounts:
    """Count the marked cells of some rows of a column, ``before`` which there were so many others.

    Privacy
    -------
    Sensitive: exact counts, for the data holder only.
    """
    counts = int(missing.sum()), int(outside.sum()), int(unknown.sum())
    return ColumnCounts(column, *counts, *(_first_rows(marked, before) for marked in (missing, outside, unknown)))


def _first_rows(marked: Mask, before: int) -> tuple[int, ...]:
    return tuple((np.flatnonzero(marked)[:_MOST_ROWS] + before + 1).tolist())


def in_rows(count: int, first: tuple[int, ...]) -> str:
    """Say in which rows so many cells are, of which the first are known.

    Privacy
    -------
    Sensitive.
    """
    more = ", …" if count > len(first) else ""
    return f"row{'' if count == 1 else 's'} {', '.join(map(str, first))}{more}"
