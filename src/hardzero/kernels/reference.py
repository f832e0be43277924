"""The hot loops in plain NumPy: what the compiled ones are held against, and what runs where there is no compiler.

Floating-point work is element by element, with additions and multiplications in a fixed order, and never through a
library's own exponential: so that a compiled loop, or another processor, gives the same bits. Sums are sums of whole
numbers, hence the same in any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]

# log 2 in two parts, the first with so few bits that whole multiples of it are exact.
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634
_TERMS = [1.0 / math.factorial(k) for k in range(11, -1, -1)]
_LEAST_EXPONENT = -60.0
_ENTRIES_AT_ONCE = 2**20


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
