"""Predictions for the rows of a table, from a model file alone."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import numpy as np

from ...checks import InputError
from ...model import FittedModel
from ...readers import TableReader
from ...readers.matrix import rows_at_once
from ...schema import cells
from ...schema.cell_text import DECIMAL
from ...schema.encoder import SchemaEncoder

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
) -> None:
    """Write a CSV line for each row: kept columns, the predicted class, and the probability of each class.

    Only columns with a nonzero weight are read. A row that the schema would drop, because a value is missing in one
    of them, gets empty cells, so that lines match rows. Text that a spreadsheet would take for a formula gets an
    apostrophe before it.

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
        Whether text is written as it is, formulas and all.

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
    seen = 0
    rows = rows_at_once(len(model.features))
    for batch in reader.batches(rows, columns=list(dict.fromkeys([*names, *keep]))):
        kept, X = _encoded(model, batch)
        answers: list[list[Any]] = [["", *("" for _ in heads)] for _ in range(batch.num_rows)]
        if kept.any():
            labels = model.predict(X)
            probabilities = model.predict_proba(X) if model.is_classifier else np.empty((len(labels), 0))
            for row, label, chances in zip(np.flatnonzero(kept), labels, probabilities, strict=True):
                answers[row] = [written(label), *(f"{chance:.{_DIGITS}f}" for chance in chances)]
        columns = [batch.column(name).to_pylist() for name in keep]
        lines.writerows(
            [*map(written, copied), *answer]
            for copied, answer in zip(_rows(columns, batch.num_rows), answers, strict=True)
        )
        seen += batch.num_rows
        heard(seen)


def without_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: an apostrophe stands before text that begins like a formula.

    Privacy
    -------
    Depends on the cell alone.
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def _as_it_is(cell: Any) -> Any:
    return cell


def _encoded(model: FittedModel, batch: Any) -> tuple[Any, Any]:
    """Which rows can be predicted, and their features."""
    if model.schema is not None:
        encoded = SchemaEncoder(model.schema).encode(batch, target=False, columns=model.needed)
        return encoded.kept, encoded.X
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
