"""The hot loops: compiled where the extension was built, otherwise plain NumPy; the results are the same, to the bit.

``HARDZERO_KERNELS=reference`` in the environment asks for plain NumPy. ``HARDZERO_THREADS`` (by default
``OMP_NUM_THREADS``, else the number of processors) limits threads, which are used only for sums large enough to gain;
``using_threads`` does so for a stretch of code.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .parallel import by_parts, by_rows, on_threads, parts_for, threads, using_threads
from .reference import CodeArray, FloatArray, IntArray, Run

__all__ = [
    "Lines",
    "SlowKernelsWarning",
    "add_squares",
    "block_tops",
    "by_parts",
    "code_totals",
    "column_sums",
    "compiled",
    "row_sums",
    "say_what_is_missing",
    "scaled_codes",
    "sigmoids",
    "softmaxes",
    "square_sums",
    "stacked_runs",
    "threads",
    "using_threads",
    "weighted_codes",
]


def _load() -> Any:
    """Return the extension module, or None."""
    if os.environ.get("HARDZERO_KERNELS") == "reference":
        return None
    try:
        return importlib.import_module("._fast", __name__)
    except ImportError:
        return None


_fast = _load()


class SlowKernelsWarning(UserWarning):
    """The compiled loops are missing."""


def compiled() -> Any:
    """Return the extension module, or None where plain NumPy runs."""
    return _fast


def say_what_is_missing() -> None:
    """Warn, once, where the extension should be there and is not."""
    if _fast is None and os.environ.get("HARDZERO_KERNELS") != "reference":
        warnings.warn(
            "hardzero's compiled loops are missing; plain NumPy gives the same results, slower. "
            "To build them, install a C++ compiler and reinstall hardzero",
            SlowKernelsWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Lines:
    """Whole numbers of 32 bits by lines, a line for each feature or for each row.

    ``matrix`` is a table with a line in each row, or compressed: CSC for lines that are features, CSR for rows.
    """

    matrix: Any

    @property
    def is_dense(self) -> bool:
        """Whether all entries are stored."""
        return isinstance(self.matrix, np.ndarray)

    @property
    def count(self) -> int:
        """Number of lines."""
        return len(self.matrix) if self.is_dense else len(self.matrix.indptr) - 1

    @property
    def entries(self) -> int:
        """Number of stored entries."""
        return int(self.matrix.size if self.is_dense else self.matrix.nnz)

    @cached_property
    def raw(self) -> Any:
        """What the extension takes: the table, or (ends, indices, values)."""
        if self.is_dense:
            return self.matrix
        ends, indices = self.matrix.indptr, self.matrix.indices
        return ends.astype(np.int64), indices.astype(np.int32, copy=False), self.matrix.data

    def equal_work(self, parts: int) -> list[int]:
        """Return where to cut the lines so that each part holds about as many entries."""
        if self.is_dense:
            return [self.count * i // parts for i in range(parts + 1)]
        ends = np.searchsorted(self.matrix.indptr, [self.entries * i // parts for i in range(1, parts)])
        return [0, *(int(end) for end in ends), self.count]


def sigmoids(margins: FloatArray) -> FloatArray:
    """Return 1/(1 + e^-v)."""
    if _fast is None:
        return reference.sigmoids(margins)
    margins = np.ascontiguousarray(margins, dtype=np.float64)
    result = np.empty_like(margins)
    _fast.sigmoids(margins.reshape(-1), result.reshape(-1))
    return result


def softmaxes(margins: FloatArray) -> FloatArray:
    """Return the probabilities of each row's classes."""
    if _fast is None:
        return reference.softmaxes(margins)
    result = np.array(margins, dtype=np.float64, order="C")
    _fast.softmaxes(result)
    return result


def block_tops(values: IntArray, block: int) -> IntArray:
    """Return the largest magnitude of each block of values."""
    if _fast is None:
        return reference.block_tops(values, block)
    tops = np.empty(-(-len(values) // block), dtype=np.int64)
    _fast.block_tops(values, block, tops)
    return tops


def column_sums(features: Lines, codes: IntArray | CodeArray) -> IntArray:
    """Sum code times feature over all rows, exactly: (rows, outputs) → (outputs, features).

    Features are whole numbers up to 2¹⁶, codes up to 2²⁰.
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if _fast is None:
        return reference.column_sums(features.matrix, codes)
    sums = np.zeros((codes.shape[1], features.count), dtype=np.int64)
    ends = features.equal_work(parts_for(features.entries * codes.shape[1], features.count))
    on_threads(ends, lambda first, last: _fast.column_sums(features.raw, codes, first, last, sums))
    return sums


def row_sums(features: Lines, weights: IntArray, n_rows: int) -> IntArray:
    """Sum feature times weight over all features, exactly: (features, outputs) → (rows, outputs)."""
    if _fast is None:
        return reference.row_sums(features.matrix, weights)
    sums = np.zeros((n_rows, weights.shape[1]), dtype=np.int64)
    whole = np.ascontiguousarray(weights)
    by_rows(
        n_rows,
        features.entries * weights.shape[1],
        lambda first, last: _fast.row_sums(features.raw, whole, first, last, sums),
    )
    return sums


def stacked_runs(columns: Sequence[Run]) -> tuple[FloatArray, NDArray[Any], NDArray[Any]]:
    """Return values, features and ends of the rows of a sparse matrix; indices of 32 bits wherever they suffice."""
    if _fast is None:
        values, features, ends = reference.stacked_runs(columns)
    else:
        ends = np.zeros(len(columns[0][1]) + 1, dtype=np.int64)
        _fast.run_ends(columns, ends)
        values, features = np.empty(ends[-1]), np.empty(ends[-1], dtype=_index_type(ends))
        _fast.put_runs(columns, ends, features, values)
    return values, features.astype(_index_type(ends), copy=False), ends.astype(_index_type(ends))


def _index_type(ends: IntArray) -> Any:
    return np.int32 if ends[-1] < 2**31 else np.int64


# --- The noisy descent, and what comes before it ------------------------------------------------------------------

_CODE_IN_PRODUCTS = 16
"""A residual's code takes about as long as so many products."""

_SQUARE_IN_PRODUCTS = 4
"""So does a square, which has a division in it."""


def scaled_codes(X: NDArray[Any], lower: FloatArray, upper: FloatArray, factor: FloatArray) -> CodeArray | None:
    """Clip, scale and round a dense table, (rows, features) → (features, rows); None if a number is not finite."""
    if _fast is None:
        return reference.scaled_codes(X, lower, upper, factor)
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    if not (X.flags.forc and X.flags.aligned):
        X = np.ascontiguousarray(X)
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    limits = (np.ascontiguousarray(part, dtype=np.float64) for part in (lower, upper, factor))
    return codes if _fast.scaled_codes(X, *limits, codes) else None


def add_squares(
    features: Lines, centre: FloatArray, scale: FloatArray, at_zero: FloatArray, totals: FloatArray
) -> FloatArray:
    """Add ((x - centre)/scale)² - at_zero to every row's total, in place, feature after feature."""
    if _fast is None:
        return reference.add_squares(features.matrix, centre, scale, at_zero, totals)
    moments = [np.ascontiguousarray(part, dtype=np.float64) for part in (centre, scale, at_zero)]
    by_rows(
        len(totals),
        features.entries * _SQUARE_IN_PRODUCTS,
        lambda first, last: _fast.add_squares(features.raw, *moments, first, last, totals),
    )
    return totals


def square_sums(features: Lines, codes: IntArray | CodeArray) -> IntArray:
    """Sum code times squared feature over all rows, exactly; codes up to 2¹⁶."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if _fast is None:
        return reference.square_sums(features.matrix, codes)
    sums = np.zeros(features.count, dtype=np.int64)
    ends = features.equal_work(parts_for(features.entries, features.count))
    on_threads(ends, lambda first, last: _fast.square_sums(features.raw, codes, first, last, sums))
    return sums


def weighted_codes(
    margins: FloatArray, offset: FloatArray, targets: Any, squares: FloatArray, limit: float, one: float
) -> tuple[CodeArray, CodeArray]:
    """Return weighted residuals and curvatures of cross-entropy as whole numbers, rounded towards zero.

    A row's weight, at most 1, keeps its gradient within ``limit`` whatever its label, on which it does not depend.
    ``squares`` holds the squared length of a row, or that of each output's part of it; ``one`` stands for 1. Two
    classes have one output.
    """
    if _fast is None:
        return reference.weighted_codes(margins, offset, targets, squares, limit, one)
    codes, bends = (np.empty(margins.shape, dtype=np.int32) for _ in range(2))
    margins, squares = np.ascontiguousarray(margins), np.ascontiguousarray(squares)
    if margins.shape[1] == 1:
        loop, targets = _fast.logistic_weighted, np.ascontiguousarray(targets, dtype=np.float64)
    else:
        loop, targets = _fast.softmax_weighted, np.ascontiguousarray(targets, dtype=np.int64)
    by_rows(
        len(margins),
        margins.size * _CODE_IN_PRODUCTS,
        lambda first, last: loop(margins, offset, targets, squares, limit, one, first, last, codes, bends),
    )
    return codes, bends


def code_totals(codes: IntArray | CodeArray) -> IntArray:
    """Sum codes over all rows, exactly."""
    if _fast is None or codes.dtype != np.int32:
        return reference.code_totals(codes)
    whole = np.ascontiguousarray(codes)

    def totals(first: int, last: int) -> IntArray:
        part = np.zeros(whole.shape[1], dtype=np.int64)
        _fast.code_totals(whole, first, last, part)
        return part

    return np.asarray(np.sum(by_rows(len(codes), codes.size, totals), axis=0))
