"""Sparse matrices whose index arrays can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

NOT_FINITE = "X contains NaN or infinity; replace them or leave those rows out"
_BROKEN = (
    "the index arrays of the sparse matrix X do not fit its shape or its values; "
    "build it anew, such as scipy.sparse.csr_array((values, (rows, columns)), shape=…)"
)


def canonical_sparse(X: Any) -> Any:
    """Return a CSR or CSC array, every entry stored once and in order; ``X`` itself is left alone.

    Loops in C trust index arrays: a wrong one reads or writes outside of memory. Flags about sorted indices and
    duplicates are cached by SciPy and outlive a change, so nothing here rests on them.

    Raises
    ------
    TypeError
        If the stored values are not numbers.
    ValueError
        If the index arrays contradict each other or the shape, or a value (a sum, where entries are stored several
        times) is not finite.

    Privacy
    -------
    Sensitive. Messages show no value.
    """
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X is sparse with values of type {X.dtype}; convert it with X.astype(float) first")
    if X.format not in ("csr", "csc"):
        X = _compressed(X)
    make = sparse.csr_array if X.format == "csr" else sparse.csc_array
    lines, places = X.shape if X.format == "csr" else X.shape[::-1]
    if X.data.ndim != 1:
        raise ValueError(_BROKEN)
    _check_compressed(X, lines, places)
    parts = (X.data, X.indices, X.indptr)
    if not _is_sorted_and_unique(X.indices, X.indptr):
        parts = (X.data.astype(np.float64), X.indices.copy(), X.indptr.copy())  # small integers would overflow
    checked = make(parts, shape=X.shape)
    if parts[0] is not X.data:
        checked.sum_duplicates()
    if not np.all(np.isfinite(checked.data)):
        raise ValueError(NOT_FINITE)
    return checked


def _compressed(X: Any) -> Any:
    """Return another sparse format as CSR; the conversions of SciPy do not look at their input."""
    if X.format == "coo":
        _check_places(X.row, X.shape[0], len(X.data))
        _check_places(X.col, X.shape[1], len(X.data))
        X = X.astype(np.float64)  # the conversion adds up duplicates, and small integers would overflow
    elif X.format == "bsr":
        _check_compressed(X, X.shape[0] // X.blocksize[0], X.shape[1] // X.blocksize[1])
    elif not _has_sound_parts(X):
        raise ValueError(_BROKEN)
    try:
        return sparse.csr_array(X)
    except (TypeError, ValueError, IndexError):  # what SciPy says may show an entry
        raise ValueError(_BROKEN) from None


def _check_compressed(X: Any, lines: int, places: int) -> None:
    ends = X.indptr
    sound = ends.ndim == 1 and ends.dtype.kind in "iu" and len(ends) == lines + 1
    if not (sound and ends[0] == 0 and ends[-1] == len(X.indices) and np.all(ends[1:] >= ends[:-1])):
        raise ValueError(_BROKEN)
    _check_places(X.indices, places, len(X.data))


def _check_places(indices: NDArray[Any], places: int, stored: int) -> None:
    if indices.shape != (stored,) or indices.dtype.kind not in "iu":
        raise ValueError(_BROKEN)
    if stored and not (indices.min() >= 0 and indices.max() < places):
        raise ValueError(_BROKEN)


def _has_sound_parts(X: Any) -> bool:
    """Whether the arrays of a matrix by diagonals, or the lists of one by lists, belong together."""
    if X.format == "dia":
        return bool(X.data.ndim == 2 and X.offsets.shape == X.data.shape[:1])
    if X.format == "lil":
        same_count = len(X.rows) == len(X.data) == X.shape[0]
        return same_count and all(len(left) == len(right) for left, right in zip(X.rows, X.data, strict=True))
    return True


def _is_sorted_and_unique(indices: NDArray[Any], ends: NDArray[Any]) -> bool:
    """Whether indices rise within every line."""
    rises = indices[1:] > indices[:-1]
    starts = ends[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True  # a new line may begin anywhere
    return bool(np.all(rises))
