"""The hot loops in plain NumPy: what the compiled ones are held against, and what runs where there is no compiler.

Floating-point work is element by element, with additions and multiplications in a fixed order, and never through a
library's own exponential: so that a compiled loop, or another processor, gives the same bits. Sums are sums of whole
numbers, hence the same in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
Run = tuple[int, NDArray[np.int32], NDArray[np.int32], FloatArray]
"""What a column adds to the rows of a matrix: its first feature; for each row a place from there on, how many
neighbouring features it has, and their value."""

# log 2 in two parts, the first with so few bits that whole multiples of it are exact.
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634
_TERMS = [1.0 / math.factorial(k) for k in range(11, -1, -1)]
_LEAST_EXPONENT = -60.0
_ENTRIES_AT_ONCE = 2**20
_COLUMNS_AT_ONCE = 64
FEATURE_BITS = 16
FEATURE_ONE = 2**FEATURE_BITS


def exp_of_negative(x: FloatArray) -> FloatArray:
    """Return e^x for x ≤ 0 to about 1e-14; below -60 it stays at e^-60."""
    x = np.maximum(x, _LEAST_EXPONENT)
    k = np.rint(x * _LOG2_E)
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    total = np.full_like(r, _TERMS[0])
    for term in _TERMS[1:]:
        total *= r
        total += term
    return np.ldexp(total, k.astype(np.int32))


def sigmoids(margins: FloatArray) -> FloatArray:
    """Return 1/(1 + e^-v)."""
    e = exp_of_negative(-np.abs(margins))
    return np.where(margins >= 0, 1.0, e) * (1.0 / (1.0 + e))


def softmaxes(margins: FloatArray) -> FloatArray:
    """Return the probabilities of each row's classes; their sum runs from the first class to the last."""
    odds = exp_of_negative(margins - margins.max(axis=1, keepdims=True))
    total = odds[:, 0].copy()
    for k in range(1, odds.shape[1]):
        total += odds[:, k]
    return odds / total[:, None]


def block_tops(values: IntArray, block: int) -> IntArray:
    """Return the largest magnitude of each block of values; the last block may be short."""
    return np.maximum.reduceat(np.abs(values), np.arange(0, len(values), block))


def column_sums(columns: Any, codes: CodeArray) -> IntArray:
    """Sum code times feature over all rows, (rows, outputs) → (outputs, features); ``columns`` as Table stores it."""
    if not isinstance(columns, np.ndarray):
        return np.ascontiguousarray((columns.T @ codes.astype(np.int64)).T)
    total = np.zeros((codes.shape[1], len(columns)), dtype=np.int64)
    for rows in _pieces(columns):  # double precision adds this few products of at most 2³⁶ exactly
        total += (columns[:, rows].astype(np.float64) @ codes[rows].astype(np.float64)).T.astype(np.int64)
    return total


def row_sums(columns: Any, weights: IntArray) -> IntArray:
    """Sum feature times weight over all features, (features, outputs) → (rows, outputs), all sums below 2⁵³."""
    if not isinstance(columns, np.ndarray):
        return np.asarray(columns @ weights)
    parts = [columns[:, rows].T.astype(np.float64) @ weights.astype(np.float64) for rows in _pieces(columns)]
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros((0, weights.shape[1]), dtype=np.int64)


def _pieces(columns: CodeArray) -> list[slice]:
    """Stretches of rows small enough to be copied in double precision."""
    n_features, n_rows = columns.shape
    rows = max(_ENTRIES_AT_ONCE // max(n_features, 8), 1)
    return [slice(start, start + rows) for start in range(0, n_rows, rows)]


def scaled_codes(X: NDArray[Any], lower: FloatArray, upper: FloatArray, factor: FloatArray) -> CodeArray | None:
    """Clip, scale and round a dense table, (rows, features) → (features, rows); None if a number is not finite."""
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    for features in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        part = slice(features, features + _COLUMNS_AT_ONCE)
        if not np.all(np.isfinite(X[:, part])):
            return None
        block = np.clip(X[:, part], lower[part], upper[part]).astype(np.float64, copy=False)
        block *= factor[part]
        codes[part] = np.rint(block, out=block).T
    return codes


def add_squares(
    columns: Any, centre: FloatArray, scale: FloatArray, at_zero: FloatArray, totals: FloatArray
) -> FloatArray:
    """Add ((x - centre)/scale)² - at_zero to every row's total, feature after feature; stored zeros add nothing."""
    for j in range(len(centre)):
        rows, values = _line(columns, j)
        z = (values * (1.0 / FEATURE_ONE) - centre[j]) / scale[j]
        totals[rows] += z * z - at_zero[j]
    return totals


def square_sums(columns: Any, codes: CodeArray) -> IntArray:
    """Sum code times squared feature over all rows; squares are rounded down to multiples of 2⁻¹⁶."""
    count = len(columns) if isinstance(columns, np.ndarray) else columns.shape[1]
    total = np.zeros(count, dtype=np.int64)
    for j in range(count):
        rows, values = _line(columns, j)
        squares = np.square(values.astype(np.int64)) >> FEATURE_BITS
        total[j] = np.dot(squares, codes[rows].astype(np.int64))
    return total


def _line(columns: Any, j: int) -> tuple[Any, Any]:
    """Return the rows where a feature may be nonzero, and its values there."""
    if isinstance(columns, np.ndarray):
        return slice(None), columns[j]
    part = slice(columns.indptr[j], columns.indptr[j + 1])
    return columns.indices[part], columns.data[part]


def margins(columns: Any, weights: IntArray, unit: float) -> FloatArray:
    """Sum feature times weight over all features, all sums below 2⁵³, and give them in units of a power of two."""
    return row_sums(columns, weights).astype(np.float64) * unit


def weighted_codes(
    margins: FloatArray, offset: FloatArray, targets: Any, squares: FloatArray, limit: float, one: float
) -> tuple[CodeArray, CodeArray]:
    """Return residuals and curvatures as whole numbers, no row's gradient longer than ``limit`` for any label."""
    if margins.shape[1] == 1:
        chance = sigmoids(margins + offset)
        longest = np.square(np.maximum(chance, 1.0 - chance)) * squares
    else:
        chance = softmaxes(margins + offset)
        extra = ((1.0 - 2.0 * chance) * squares).max(axis=1, initial=0.0, keepdims=True)
        longest = sums_by_eights(np.square(chance) * squares)[:, None] + extra
    weight = np.minimum(limit / np.maximum(np.sqrt(longest), 1e-300), 1.0) * one
    bends = np.trunc(chance * (1.0 - chance) * weight).astype(np.int32)
    if margins.shape[1] == 1:
        chance -= targets
    else:
        chance[np.arange(len(targets)), targets] -= 1.0
    return np.trunc(chance * weight).astype(np.int32), bends


def sums_by_eights(values: FloatArray) -> FloatArray:
    """Sum every row in a fixed order: eight running sums, then those in pairs, then the rest; halves beyond 128."""
    width = values.shape[1]
    if width > 128:
        half = width // 2 - width // 2 % 8
        return sums_by_eights(values[:, :half]) + sums_by_eights(values[:, half:])
    end = width - width % 8
    if width < 8:
        total, end = values[:, 0].copy(), 1
    else:
        parts = values[:, :8].copy()
        for start in range(8, end, 8):
            parts += values[:, start : start + 8]
        pairs = parts[:, ::2] + parts[:, 1::2]
        total = (pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])
    for k in range(end, width):
        total += values[:, k]
    return total


def code_totals(codes: IntArray | CodeArray) -> IntArray:
    """Sum codes over all rows."""
    return np.asarray(codes.sum(axis=0, dtype=np.int64))


def stacked_runs(columns: Sequence[Run]) -> tuple[FloatArray, IntArray, IntArray]:
    """Return values, features and ends of the rows of a sparse matrix: those of one row after another."""
    firsts = np.column_stack([first + places for first, places, _, _ in columns]).ravel()
    lengths = np.column_stack([lengths for _, _, lengths, _ in columns]).ravel()
    values = np.column_stack([values for _, _, _, values in columns]).ravel()
    ends = np.concatenate([[0], lengths.cumsum(dtype=np.int64)])
    features = np.repeat(firsts - ends[:-1], lengths) + np.arange(ends[-1])
    return np.repeat(values, lengths), features, ends[:: len(columns)]
