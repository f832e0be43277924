"""Columns of a table as numbers and codes, by what a schema says of them. Nothing is learnt from the cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .optional import require
from .schema import OTHER, Boolean, Categorical, Numeric, Ordered, Target, UsedColumn

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
Mask = NDArray[np.bool_]

_UNKNOWN, _MISSING = -1, -2
DECIMAL = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
"""A regular expression for a number in decimal notation."""

_NUMBER = rf"^({DECIMAL}|(?i:[+-]?(inf|infinity|nan)))$"


class EncodingError(ValueError):
    """A table does not fit its schema. The message names columns, never values.

    Privacy
    -------
    That it is raised can depend on the records (a missing value under the policy "error"): for the data holder only.
    """


@dataclass(frozen=True)
class EncodedColumn:
    """What a column adds to the rows of the encoded matrix: at most one entry a row.

    ``position`` counts the column's own features from 0. ``missing`` marks cells that are missing, or cannot be
    understood where no "other" exists; ``outside`` cells beyond the bounds; ``unknown`` values that are not listed.

    Privacy
    -------
    Sensitive.
    """

    position: IntArray
    value: FloatArray
    missing: Mask
    outside: Mask
    unknown: Mask


def columns_of(table: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a table as Arrow arrays of one length.

    Raises
    ------
    EncodingError
        A column is not there, is there twice, or mixes types.

    Privacy
    -------
    Sensitive.
    """
    pa = require("pyarrow")
    if hasattr(table, "to_arrow"):  # polars
        table = table.to_arrow()
    if isinstance(table, pa.Table | pa.RecordBatch):
        present = table.schema.names
    elif isinstance(table, Mapping):
        present = list(table)
    elif hasattr(table, "columns"):
        present = list(table.columns)
    else:
        raise TypeError(f"expected a table with named columns, got {type(table).__name__}")
    counts = Counter(present)
    for name in names:
        if counts[name] != 1:
            raise EncodingError(f"the table has {'more than one' if counts[name] else 'no'} column {name!r}")
    arrays = {name: _as_arrow(name, table[name]) for name in names}
    if len({len(array) for array in arrays.values()}) > 1:
        raise EncodingError("the columns of the table differ in length")
    return arrays


def _as_arrow(name: str, column: Any) -> Any:
    pa = require("pyarrow")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose message could show a cell
        raise EncodingError(
            f"column {name!r} mixes types, or has one that is not known; convert it to text"
        ) from None


def encode_column(column: UsedColumn, cells: Any, missing_values: tuple[str, ...]) -> EncodedColumn:
    """Encode an Arrow array by its description in the schema.

    Privacy
    -------
    Sensitive: the result has one entry for each record.
    """
    match column:
        case Numeric():
            return _encode_numbers(column, cells, missing_values)
        case Categorical():
            return _encode_categories(column, cells, missing_values)
        case Boolean():
            native = require("pyarrow").types.is_boolean(cells.type)
            spellings = ("false", "true") if native else (column.false, column.true)
            return _encode_ranks(_codes(column.name, cells, spellings, missing_values), 1.0)
        case Ordered():
            return _encode_ranks(_codes(column.name, cells, column.values, missing_values), column.features[0].scale)


def encode_labels(target: Target, cells: Any, missing_values: tuple[str, ...]) -> tuple[IntArray, Mask, Mask]:
    """Return each label's place among the classes, where it is missing, and where it is no class.

    Privacy
    -------
    Sensitive: the result has one entry for each record.
    """
    codes = _codes(target.name, cells, target.classes, missing_values)
    return codes, codes == _MISSING, codes == _UNKNOWN


def _encode_numbers(column: Numeric, cells: Any, missing_values: tuple[str, ...]) -> EncodedColumn:
    numbers, unknown = _numbers(column.name, cells, missing_values)
    missing = np.isnan(numbers)
    outside = (numbers < column.lower) | (numbers > column.upper)
    (feature,) = column.features
    np.clip(numbers, column.lower, column.upper, out=numbers)
    value = np.clip((numbers - feature.offset) / feature.scale, -1.0, 1.0)  # again, for rounding
    value[missing] = 0.0
    return EncodedColumn(np.zeros(len(value), np.int32), value, missing, outside, unknown)


def _encode_categories(column: Categorical, cells: Any, missing_values: tuple[str, ...]) -> EncodedColumn:
    listed = tuple(feature.category or "" for feature in column.features)
    codes = _codes(column.name, cells, listed if OTHER in column.values else listed[:-1], missing_values)
    position = np.where(codes < 0, len(listed) - 1, codes).astype(np.int32)
    return EncodedColumn(
        position, np.ones(len(codes)), codes == _MISSING, np.zeros(len(codes), np.bool_), codes == _UNKNOWN
    )


def _encode_ranks(codes: IntArray, scale: float) -> EncodedColumn:
    value = np.where(codes < 0, 0, codes) / scale
    # A rank that nobody knows is no better than none at all.
    return EncodedColumn(
        np.zeros(len(codes), np.int32), value, codes < 0, np.zeros(len(codes), np.bool_), codes == _UNKNOWN
    )


def _numbers(name: str, cells: Any, missing_values: tuple[str, ...]) -> tuple[FloatArray, Mask]:
    """Return numbers, NaN where there is none, and marks for texts that are neither numbers nor missing."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    cells = _plain(cells)
    unknown = np.zeros(len(cells), np.bool_)
    if _is_text(cells.type):
        text = _without_missing(_trimmed(cells), missing_values)
        try:
            cells = pc.cast(text, pa.float64())
        except pa.ArrowInvalid:  # some text is no number: look for it, which takes longer
            is_number = pc.match_substring_regex(text, _NUMBER)
            unknown = _numpy(pc.fill_null(pc.invert(is_number), False))
            cells = pc.cast(pc.if_else(is_number, text, pa.scalar(None, text.type)), pa.float64())
    numbers = _cast(name, cells, pa.float64(), "numbers")
    # A copy, because Arrow's own memory must not be written to.
    return np.array(_numpy(pc.fill_null(numbers, np.nan)), dtype=np.float64), unknown


def _codes(name: str, cells: Any, values: tuple[str, ...], missing_values: tuple[str, ...]) -> IntArray:
    """Return each cell's place among the values; a listed value is never missing, however it is spelled."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    cells = _plain(cells)
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    text = _trimmed(_cast(name, cells, pa.large_string(), "text"))
    places = pc.index_in(text, value_set=pa.array(values, text.type))
    absent = _numpy(pc.fill_null(pc.is_in(text, value_set=pa.array(missing_values, text.type)), False))
    absent = absent | _numpy(pc.is_null(text))
    return np.where(
        _numpy(pc.is_valid(places)), _numpy(pc.fill_null(places, 0)), np.where(absent, _MISSING, _UNKNOWN)
    ).astype(np.int32)


def _plain(cells: Any) -> Any:
    """Return one array without chunks and dictionaries."""
    pa = require("pyarrow")
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def _is_text(arrow_type: Any) -> bool:
    types = require("pyarrow").types
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type))


def _trimmed(text: Any) -> Any:
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    return pc.ascii_trim_whitespace(pc.cast(text, pa.large_string()))


def _without_missing(text: Any, missing_values: tuple[str, ...]) -> Any:
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    absent = pc.is_in(text, value_set=pa.array(missing_values, text.type))
    return pc.if_else(absent, pa.scalar(None, text.type), text)


def _cast(name: str, cells: Any, arrow_type: Any, what: str) -> Any:
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    try:
        return pc.cast(cells, arrow_type, safe=False)
    except pa.ArrowException:  # whose message could show a cell
        raise EncodingError(
            f"column {name!r} has the type {cells.type}, which gives no {what}; convert it beforehand or ignore it"
        ) from None


def _numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))
