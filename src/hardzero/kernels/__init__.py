"""The hot loops: compiled where the extension was built, otherwise plain NumPy; the results are the same, to the bit.

``HARDZERO_KERNELS=reference`` in the environment asks for plain NumPy. ``HARDZERO_THREADS`` (by default
``OMP_NUM_THREADS``, else the number of processors) limits threads, which are used only for sums large enough to gain.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .reference import FEATURE_ONE, CodeArray, FloatArray, IntArray


def _load() -> Any:
    """Return the extension module, or None."""
    if os.environ.get("HARDZERO_KERNELS") == "reference":
        return None
    try:
        return importlib.import_module("._fast", __name__)
    except ImportError:
        return None


_fast = _load()

_WORTH_A_THREAD = 4_000_000
"""Products; about two milliseconds."""


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


_asked_threads: ContextVar[int | None] = ContextVar("asked_threads", default=None)


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Use so many threads meanwhile; None leaves that to the environment."""
    token = _asked_threads.set(count)
    try:
        yield
    finally:
        _asked_threads.reset(token)


def threads() -> int:
    """Return how many threads may be used."""
    asked = _asked_threads.get()
    if asked is not None:
        return asked
    for name in ("HARDZERO_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return max(int(os.environ[name]), 1)
    return os.cpu_count() or 1


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

    Features are whole numbers up to 2¹⁶, codes up to 2¹⁶.
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if _fast is None:
        return reference.column_sums(features.matrix, codes)
    sums = np.zeros((codes.shape[1], features.count), dtype=np.int64)
    parts = min(threads(), features.entries * codes.shape[1] // _WORTH_A_THREAD, features.count)
    if parts < 2:
        _fast.column_sums(features.raw, codes, 0, features.count, sums)
        return sums
    ends = features.equal_work(parts)
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda i: _fast.column_sums(features.raw, codes, ends[i], ends[i + 1], sums), range(parts)))
    return sums


def row_sums(features: Lines, weights: IntArray, n_rows: int) -> IntArray:
    """Sum feature times weight over all features, exactly: (features, outputs) → (rows, outputs)."""
    if _fast is None:
        return reference.row_sums(features.matrix, weights)
    sums = np.zeros((n_rows, weights.shape[1]), dtype=np.int64)
    _fast.row_sums(features.raw, np.ascontiguousarray(weights), sums)
    return sums


# --- The noisy descent, and what comes before it ------------------------------------------------------------------

_BLOCK = 1024
"""Threads share rows by whole blocks of so many."""

_LARGEST_SUM = 2**31
"""Weights that together stay below this can be summed in 32 bits."""

_CODE_IN_PRODUCTS = 16
"""A residual's code takes about as long as so many products."""


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
    moments = (np.ascontiguousarray(part, dtype=np.float64) for part in (centre, scale, at_zero))
    _fast.add_squares(features.raw, *moments, totals)
    return totals


def square_sums(features: Lines, codes: IntArray | CodeArray) -> IntArray:
    """Sum code times squared feature over all rows, exactly; codes up to 2¹⁶."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if _fast is None:
        return reference.square_sums(features.matrix, codes)
    sums = np.zeros(features.count, dtype=np.int64)
    _fast.square_sums(features.raw, codes, sums)
    return sums


@dataclass(frozen=True)
class SplitColumns:
    """Dense features prepared for many passes: those that are -1, 0 or 1 everywhere become flags of one bit.

    Flag f says in which rows feature ``flagged[f]`` is at ``signs[f]`` times its bound; it is a bit of ``words``, 32
    flags to a line. The features in ``wide`` are left as they are, in ``lines`` of the table.
    """

    n_features: int
    table: CodeArray
    words: NDArray[np.uint32]
    flagged: IntArray
    signs: CodeArray
    wide: IntArray
    lines: IntArray

    @classmethod
    def of(cls, table: CodeArray) -> SplitColumns:
        """Find the features that can be flags, and pack them."""
        plus, minus, other = _values_found(table)
        positive, negative = np.flatnonzero(plus & ~other), np.flatnonzero(minus & ~other)
        flagged = np.concatenate([positive, negative])
        signs = np.repeat(np.array([1, -1], dtype=np.int32), [len(positive), len(negative)])
        wide = np.flatnonzero(other)
        return cls(len(table), table, _packed_flags(table, flagged, signs), flagged, signs, wide, wide)

    def alone(self) -> SplitColumns:
        """Return the same without the lines of the table that flags stand for."""
        lines = np.arange(len(self.wide))
        return replace(self, table=np.ascontiguousarray(self.table[self.lines]), lines=lines)

    def whole(self) -> CodeArray:
        """Return the table, a line for each feature."""
        if len(self.table) == self.n_features:
            return self.table
        table = np.zeros((self.n_features, self.words.shape[1]), dtype=np.int32)
        table[self.wide] = self.table[self.lines]
        for f, (feature, sign) in enumerate(zip(self.flagged, self.signs, strict=True)):
            table[feature] += (self.words[f // 32] >> np.uint32(f % 32) & 1).astype(np.int32) * sign * FEATURE_ONE
        return table

    @property
    def size(self) -> int:
        """Entries of the table."""
        return self.n_features * int(self.words.shape[1])

    @property
    def raw(self) -> Any:
        """What the extension takes."""
        return self.n_features, self.table, self.words, self.flagged, self.signs, self.wide, self.lines


def _values_found(table: CodeArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    if _fast is None:
        return reference.values_found(table)
    plus, minus, other = (np.zeros(len(table), dtype=bool) for _ in range(3))
    _fast.find_values(table, plus, minus, other)
    return plus, minus, other


def _packed_flags(table: CodeArray, flagged: IntArray, signs: CodeArray) -> NDArray[np.uint32]:
    if _fast is None:
        return reference.packed_flags(table, flagged, signs)
    words = np.zeros((-(-len(flagged) // 32), table.shape[1]), dtype=np.uint32)
    nothing = np.zeros(0, dtype=np.int64)
    _fast.pack_flags((len(table), table, words, flagged, signs, nothing, nothing), words)
    return words


def split_column_sums(features: SplitColumns, codes: IntArray | CodeArray) -> IntArray:
    """Sum code times feature over all rows, exactly: (rows, outputs) → (outputs, features); codes up to 2¹⁶."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if _fast is None:
        return reference.column_sums(features.whole(), codes)

    def sums(first: int, last: int) -> IntArray:
        part = np.zeros((codes.shape[1], features.n_features), dtype=np.int64)
        _fast.split_column_sums(features.raw, codes, first, last, part)
        return part

    return np.asarray(sum(_by_rows(len(codes), features.size * codes.shape[1], sums)))


def split_margins(features: SplitColumns, weights: IntArray, unit: float) -> FloatArray:
    """Sum feature times weight over all features, exactly, in units: (features, outputs) → (rows, outputs)."""
    if _fast is None or np.abs(weights).sum(axis=0).max(initial=0) >= _LARGEST_SUM:
        return reference.margins(features.whole(), weights, unit)
    margins = np.empty((features.words.shape[1], weights.shape[1]))
    short = np.ascontiguousarray(weights, dtype=np.int32)
    _by_rows(
        len(margins),
        features.size * weights.shape[1],
        lambda first, last: _fast.split_margins(features.raw, short, unit, first, last, margins),
    )
    return margins


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
    _by_rows(
        len(margins),
        margins.size * _CODE_IN_PRODUCTS,
        lambda first, last: loop(margins, offset, targets, squares, limit, one, first, last, codes, bends),
    )
    return codes, bends


def code_totals(codes: IntArray | CodeArray) -> IntArray:
    """Sum codes over all rows, exactly."""
    if _fast is None or codes.dtype != np.int32:
        return reference.code_totals(codes)
    totals = np.zeros(codes.shape[1], dtype=np.int64)
    _fast.code_totals(np.ascontiguousarray(codes), totals)
    return totals


def _by_rows(n_rows: int, work: int, job: Callable[[int, int], Any]) -> list[Any]:
    """Do a job for stretches of whole blocks of rows, on several threads where the work is worth it."""
    blocks = -(-n_rows // _BLOCK)
    parts = min(threads(), work // _WORTH_A_THREAD, blocks)
    if parts < 2:
        return [job(0, n_rows)]
    ends = [min(blocks * i // parts * _BLOCK, n_rows) for i in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(job, ends[:-1], ends[1:]))
