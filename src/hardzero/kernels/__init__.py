"""The hot loops: compiled where the extension was built, otherwise plain NumPy; the results are the same, to the bit.

``HARDZERO_KERNELS=reference`` in the environment asks for plain NumPy. ``HARDZERO_THREADS`` (by default
``OMP_NUM_THREADS``, else the number of processors) limits threads, which are used only for sums large enough to gain.
"""

from __future__ import annotations

import importlib
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import reference
from .reference import CodeArray, FloatArray, IntArray


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


def threads() -> int:
    """Return how many threads may be used."""
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

    Features are whole numbers up to 2¹⁶, codes up to 2²⁰.
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
