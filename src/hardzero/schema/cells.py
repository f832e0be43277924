"""Columns of a table as numbers and codes, by what a schema says of them. Nothing is learnt from the cells.

What a cell becomes is the rule of `cell_text`, which knows no other cell. Where a column has a declared type, text
among them, it is converted at once, with the same result; cells without a declared type go one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import require
from .cell_text import NUMBER, WORDS, UnknownCellError, text_of, without_trailing_zeros
from .columns import OTHER, Boolean, Categorical, Numeric, Ordered, UsedColumn
from .target import NumericTarget, Target

FloatArray = NDArray[np.float64]
PlaceArray = NDArray[np.int32]
Mask = NDArray[np.bool_]

_UNKNOWN, _MISSING = -1, -2
_NUMBER = rf"^{NUMBER}$"


class EncodingError(ValueError):
    """A table does not fit its schema. The message names columns, never values.

    Privacy
    -------
    That it is raised can depend on the records (a missing value under the policy "error"): for the data holder only.
    """


@dataclass(frozen=True)
class EncodedColumn:
    """What a column adds to the rows of the encoded matrix: in each row one value, in a run of neighbouring features.

    ``position`` is the first feature of the run, among the column's own from 0, and ``length`` says how many there
    are: one for a number or a category, any number of steps, none where all are zero. ``missing`` marks cells that
    are missing, or cannot be understood where no "other" exists; ``outside`` cells beyond the bounds; ``unknown``
    values that are not listed.

    Privacy
    -------
    Sensitive.
    """

    position: PlaceArray
    length: PlaceArray
    value: FloatArray
    missing: Mask
    outside: Mask
    unknown: Mask


def columns_of(table: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a table as Arrow arrays of one length.

    Raises
    ------
    EncodingError
        A column is not there, is there twice, or has cells of a type that is not known.

    Privacy
    -------
    Sensitive.
    """
    pa = require("pyarrow")
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


def text_array(name: str, cells: Iterable[Any]) -> Any:
    """Return cells that have no declared type as an Arrow array of text, each by itself.

    Raises
    ------
    EncodingError
        A cell is of a type that has no text.

    Privacy
    -------
    Sensitive. Each entry depends on its own cell only.
    """
    try:
        return require("pyarrow").array([text_of(cell) for cell in cells], "large_string")
    except UnknownCellError:
        raise _unknown_type(name) from None


def _unknown_type(name: str) -> EncodingError:
    return EncodingError(f"column {name!r} has cells of a type that is not known; convert it to text")


def _as_arrow(name: str, column: Any) -> Any:
    """Return a column by its declared type, or cell by cell as text where it has none."""
    pa = require("pyarrow")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    dtype = getattr(column, "dtype", None)
    if hasattr(column, "to_arrow"):  # polars
        return text_array(name, column.to_list()) if str(dtype) == "Object" else column.to_arrow()
    if dtype is None or str(dtype) == "object":
        return text_array(name, column)
    if str(dtype) == "category":
        codes = np.asarray(column.cat.codes if hasattr(column, "cat") else column.codes)
        texts = text_array(name, dtype.categories)
        return texts.take(pa.array(codes, mask=codes < 0))
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose message could show a cell
        raise _unknown_type(name) from None


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
            ranks = dict(zip(WORDS, (0, 1), strict=True)) | {column.false: 0, column.true: 1}
            codes = _codes(column.name, cells, tuple(ranks), missing_values)
            return _encode_ranks(np.where(codes < 0, codes, np.array(list(ranks.values()))[codes]), 1.0)
        case Ordered():
            codes = _codes(column.name, cells, column.values, missing_values)
            if column.steps:
                return _steps(codes, codes < 0, _nowhere(codes), codes == _UNKNOWN)
            return _encode_ranks(codes, column.features[0].scale)


def encode_labels(target: Target, cells: Any, missing_values: tuple[str, ...]) -> tuple[PlaceArray, Mask, Mask]:
    """Return each label's place among the classes, where it is missing, and where it is no class.

    Privacy
    -------
    Sensitive: the result has one entry for each record.
    """
    codes = _codes(target.name, cells, target.classes, missing_values)
    return codes, codes == _MISSING, codes == _UNKNOWN


def person_names(name: str, cells: Any, missing_values: tuple[str, ...]) -> NDArray[np.object_]:
    """Return whose row each row is, as trimmed text by the rule of `cell_text`; None where that is missing.

    Privacy
    -------
    Sensitive: the result has one entry for each record, which depends on its own cell alone.
    """
    texts = _without_missing(_trimmed(_texts(name, _plain(cells))), missing_values)
    try:
        return np.asarray(texts.to_numpy(zero_copy_only=False), dtype=object)
    except require("pyarrow").ArrowException:  # whose message shows the text
        raise EncodingError(f"column {name!r} holds text that is not UTF-8; convert it beforehand") from None


def encode_outcomes(
    target: NumericTarget, cells: Any, missing_values: tuple[str, ...]
) -> tuple[FloatArray, Mask, Mask, Mask]:
    """Return a target's numbers clipped to its bounds, and where it is missing, was clipped, or is no number.

    What is no number is missing as well.

    Privacy
    -------
    Sensitive: the result has one entry for each record.
    """
    numbers, unknown = _numbers(target.name, cells, missing_values)
    outside = (numbers < target.lower) | (numbers > target.upper)
    return np.clip(numbers, target.lower, target.upper), np.isnan(numbers), outside, unknown


def numbers_of(name: str, cells: Any, missing_values: tuple[str, ...]) -> FloatArray:
    """Return the numbers of a column without bounds, NaN where they are missing or cells are no numbers.

    Privacy
    -------
    Sensitive: the result has one entry for each record.
    """
    return _numbers(name, cells, missing_values)[0]


def _encode_numbers(column: Numeric, cells: Any, missing_values: tuple[str, ...]) -> EncodedColumn:
    numbers, unknown = _numbers(column.name, cells, missing_values)
    missing = np.isnan(numbers)
    outside = (numbers < column.lower) | (numbers > column.upper)
    if column.cuts:
        reached = np.searchsorted(np.array(column.cuts), numbers, side="right")  # how many cuts are not above a cell
        return _steps(reached, missing, outside, unknown)
    (feature,) = column.features
    np.clip(numbers, column.lower, column.upper, out=numbers)
    value = np.clip((numbers - feature.offset) / feature.scale, -1.0, 1.0)  # again, for rounding
    value[missing] = 0.0
    return _single(np.zeros(len(value), np.int32), value, missing, outside, unknown)


def _encode_categories(column: Categorical, cells: Any, missing_values: tuple[str, ...]) -> EncodedColumn:
    listed = tuple(feature.category or "" for feature in column.features)
    spelled = listed[:-1] if column.other and OTHER not in column.values else listed
    codes = _codes(column.name, cells, spelled, missing_values)
    unlisted = codes < 0
    position, value = np.where(unlisted, len(listed) - 1, codes), np.where(unlisted, float(column.other), 1.0)
    missing = codes == _MISSING if column.other else unlisted
    return _single(position, value, missing, _nowhere(codes), codes == _UNKNOWN)


def _encode_ranks(codes: PlaceArray, scale: float) -> EncodedColumn:
    # A rank that nobody knows is no better than none at all.
    value = np.where(codes < 0, 0, codes) / scale
    return _single(np.zeros(len(codes), np.int32), value, codes < 0, _nowhere(codes), codes == _UNKNOWN)


def _single(position: NDArray[Any], value: FloatArray, missing: Mask, outside: Mask, unknown: Mask) -> EncodedColumn:
    """One feature in each row, unless its value is zero."""
    position = position.astype(np.int32, copy=False)
    return EncodedColumn(position, (value != 0).astype(np.int32), value, missing, outside, unknown)


def _steps(reached: NDArray[np.integer], missing: Mask, outside: Mask, unknown: Mask) -> EncodedColumn:
    """As many steps in each row as it has reached, from the first; none where its value is missing."""
    length = np.where(missing, 0, reached).astype(np.int32)
    return EncodedColumn(np.zeros_like(length), length, np.ones(len(length)), missing, outside, unknown)


def _nowhere(codes: PlaceArray) -> Mask:
    return np.zeros(len(codes), np.bool_)


def _numbers(name: str, cells: Any, missing_values: tuple[str, ...]) -> tuple[FloatArray, Mask]:
    """Return numbers, NaN where there is none, and marks for texts that are neither numbers nor missing."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    cells = _plain(cells)
    types, kind = pa.types, cells.type
    unknown = np.zeros(len(cells), np.bool_)
    if types.is_decimal(kind):
        cells = pc.cast(
            cells, pa.large_string()
        )  # whose digits are rounded once, which a cast to doubles need not do
    if _is_text(cells.type):
        cells, unknown = _numbers_of_text(_without_missing(_trimmed(cells), missing_values))
    elif not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
        raise _unsuitable(name, kind, "numbers")
    numbers = pc.cast(cells, pa.float64(), safe=False)
    # A copy, because Arrow's own memory must not be written to.
    return np.array(_numpy(pc.fill_null(numbers, np.nan)), dtype=np.float64), unknown


def _numbers_of_text(text: Any) -> tuple[Any, Mask]:
    """Return the numbers that trimmed texts denote, null where there is none, and where a text is no number."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    # Arrow's own notion of a number is wider and changes: only texts of the one grammar are left to it.
    is_number = pc.match_substring_regex(text, _NUMBER)
    numbers = pc.cast(pc.if_else(is_number, text, pa.scalar(None, text.type)), pa.float64())
    if numbers.null_count > text.null_count:
        words = pc.index_in(text, value_set=pa.array(WORDS, text.type))
        numbers = pc.coalesce(numbers, pc.cast(words, pa.float64()))
    return numbers, _numpy(pc.and_(pc.is_valid(text), pc.is_null(numbers)))


def _codes(name: str, cells: Any, values: tuple[str, ...], missing_values: tuple[str, ...]) -> PlaceArray:
    """Return each cell's place among the values; a listed value is never missing, however it is spelled."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    text = _trimmed(_texts(name, _plain(cells)))
    places = pc.index_in(text, value_set=pa.array(values, text.type))
    absent = _numpy(pc.fill_null(pc.is_in(text, value_set=pa.array(missing_values, text.type)), False))
    absent = absent | _numpy(pc.is_null(text))
    return np.where(
        _numpy(pc.is_valid(places)), _numpy(pc.fill_null(places, 0)), np.where(absent, _MISSING, _UNKNOWN)
    ).astype(np.int32)


def _texts(name: str, cells: Any) -> Any:
    """Return the text of each cell of a column with a declared type; every different cell is looked at once."""
    pa = require("pyarrow")
    types, kind = pa.types, cells.type
    if _is_text(kind):
        return cells
    if types.is_null(kind):
        return cells.cast(pa.large_string())
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
        distinct = cells.dictionary_encode()
        texts = _time_texts(distinct.dictionary)
    elif types.is_decimal(kind):
        distinct = cells.cast(pa.large_string()).dictionary_encode()
        texts = text_array(name, map(Decimal, distinct.dictionary.to_pylist()))
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        distinct = (cells.cast(pa.float64()) if types.is_floating(kind) else cells).dictionary_encode()
        texts = text_array(name, distinct.dictionary.to_pylist())
    else:
        raise _unsuitable(name, kind, "text")
    return texts.take(distinct.indices)


def _time_texts(cells: Any) -> Any:
    """Return dates and times as text; by Arrow, because Python's have neither nanoseconds nor all years."""
    pa = require("pyarrow")
    zone = ""
    if pa.types.is_timestamp(cells.type) and cells.type.tz is not None:
        cells, zone = cells.cast(pa.timestamp(cells.type.unit)), "Z"  # in UTC
    texts = cells.cast(pa.string()).to_pylist()
    return pa.array([without_trailing_zeros(text) + zone for text in texts], pa.large_string())


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


def _unsuitable(name: str, kind: Any, what: str) -> EncodingError:
    return EncodingError(
        f"column {name!r} has the type {kind}, which gives no {what}; convert it beforehand or ignore it"
    )


def _numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))
