"""Predictions for the rows of a table, from a model file alone."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ...checks import InputError
from ...model import FittedModel
from ...readers import TableReader
from ...readers.check import ColumnCounts, counted, in_rows, never_met
from ...readers.matrix import rows_at_once
from ...schema import cells
from ...schema.cell_text import DECIMAL
from ...schema.columns import Numeric
from ...schema.encoder import stacked
from ...schema.fields import SPACES

_DIGITS = 6
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(DECIMAL)


def write_predictions(
    model: FittedModel,
    reader: TableReader,
    keep: Sequence[str],
    out: TextIO,
    heard: Callable[[int], None],
    *,
    raw: bool = False,
) -> list[str]:
    """Write a CSV line for each row: kept columns, the predicted class, and the probability of each class.

    Only columns with a nonzero weight are read. A row that the schema would drop, because a value is missing in one
    of them, gets empty cells, so that lines match rows. Kept text has no spaces around it; an apostrophe stands
    before text that a spreadsheet would take for a formula.

    Parameters
    ----------
    model : FittedModel
        With a schema; without one, columns are found by the names of the features.
    reader : TableReader
        The table.
    keep : sequence of str
        Columns to copy, such as an identifier.
    out : text file
        Where to write.
    heard : callable
        Told how many rows have been read.
    raw : bool, default=False
        Whether text is written as it is, spaces, formulas and all.

    Returns
    -------
    list of str
        What could not be read, in words: a line for each column that has such cells, or whose type has nothing else.

    Raises
    ------
    InputError
        A column is not there, or a value is missing that the model's schema does not let be missing.

    Privacy
    -------
    Post-processing, as far as the training data are concerned; sensitive for the people in this table.
    """
    names = model.needed
    if absent := [name for name in [*names, *keep] if name not in reader.names]:
        raise InputError(f"{reader.source} has no column {absent[0]!r}, which the model or --keep needs")
    lines = csv.writer(out, lineterminator="\n")
    heads = [f"probability {label}" for label in model.classes]
    written = _as_it_is if raw else without_formula
    lines.writerow([*map(written, keep), "prediction", *heads])
    seen, unread = 0, dict[str, ColumnCounts]()
    rows = rows_at_once(len(model.features))
    for batch in reader.batches(rows, columns=list(dict.fromkeys([*names, *keep]))):
        kept, X = _of_numbers(model, batch) if model.schema is None else _encoded(model, batch, seen, unread)
        answers: list[list[Any]] = [["", *("" for _ in heads)] for _ in range(batch.num_rows)]
        if kept.any():
            labels = model.predict(X)
            probabilities = model.predict_proba(X) if model.is_classifier else np.empty((len(labels), 0))
            for row, label, chances in zip(np.flatnonzero(kept), labels, probabilities, strict=True):
                answers[row] = [written(label), *(f"{chance:.{_DIGITS}f}" for chance in chances)]
        columns = [batch.column(name).to_pylist() for name in keep]
        if not raw:
            columns = [list(map(_trimmed, column)) for column in columns]
        lines.writerows(
            [*map(written, copied), *answer]
            for copied, answer in zip(_rows(columns, batch.num_rows), answers, strict=True)
        )
        seen += batch.num_rows
        heard(seen)
    if model.schema is None:
        return []
    numeric = {column.name for column in model.schema.used if isinstance(column, Numeric)}
    said = {name: _in_words(found, seen, name in numeric) for name, found in unread.items() if found.unknown}
    strange = {name: words for name, words in never_met(model.schema, reader).items() if name in names}
    return list({**strange, **said}.values())


def without_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: an apostrophe stands before text that begins like a formula.

    Privacy
    -------
    Depends on the cell alone.
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def _trimmed(cell: Any) -> Any:
    """Return text without spaces around it, as it is compared with what a schema lists: equal cells stay equal."""
    return cell.strip(SPACES) if isinstance(cell, str) else cell


def _as_it_is(cell: Any) -> Any:
    return cell


def _encoded(
    model: FittedModel, batch: Any, before: int, unread: dict[str, ColumnCounts]
) -> tuple[NDArray[np.bool_], Any]:
    """Return which rows can be predicted, and their features; add up what could not be read.

    Unlike the rows of a fit these are protected by nothing, so that it may be said where cells cannot be understood.
    """
    schema = model.schema
    assert schema is not None
    arrays = cells.columns_of(batch, model.needed)
    used = [column for column in schema.used if column.name in arrays]
    columns = {
        column.name: cells.encode_column(column, arrays[column.name], schema.missing_values) for column in used
    }
    kept = np.ones(batch.num_rows, dtype=bool)
    for name, column in columns.items():
        found = counted(name, column.missing, column.outside, column.unknown & column.missing, before)
        if schema.missing == "error" and found.missing:
            raise InputError(
                f"column {name!r} has cells that are missing or cannot be understood, in "
                f"{in_rows(found.missing, found.missing_rows)} (the first row is row 1), and the model takes no "
                "gaps; mend them, or leave those rows out"
            )
        unread[name] = unread[name] + found if name in unread else found
        if schema.missing == "drop":
            kept &= ~column.missing
    X = stacked(columns, schema.variables)
    return kept, X if kept.all() else X[kept]


def _in_words(found: ColumnCounts, n_rows: int, numeric: bool) -> str:
    return (
        f"column {found.column!r}: {found.unknown:,} of {n_rows:,} cells cannot be understood and count as missing, "
        f"in {in_rows(found.unknown, found.unknown_rows)} (the first row is row 1)"
        + ("; a number has a decimal point, not a comma" if numeric else "")
    )


def _of_numbers(model: FittedModel, batch: Any) -> tuple[NDArray[np.bool_], Any]:
    """Return all rows, and their features by name."""
    arrays = cells.columns_of(batch, model.needed)
    X = np.zeros((batch.num_rows, len(model.features)))
    try:
        for j in model.kept:
            X[:, j] = np.asarray(arrays[model.features[j].name].to_pylist(), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the model has no schema, so that every column it needs must hold numbers") from None
    return np.ones(batch.num_rows, dtype=bool), X


def _rows(columns: Sequence[Sequence[Any]], count: int) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * count
