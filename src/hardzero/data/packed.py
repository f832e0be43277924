"""Rows prepared for many passes over them: each feature of a piece of the rows in the form that is read fastest.

A feature that is at its bound, at minus its bound or at zero becomes bits, or lists of rows where it is rare; other
numbers stay as they are, or become lists where most are zero. Sums are of whole numbers: packing changes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..kernels.reference import CodeArray, FloatArray, IntArray

if TYPE_CHECKING:
    from .passes import WeighedRows

_ENTRIES = 2**18
"""Of a piece, so that it stays in the processor's cache from one pass to the next."""

_FEWEST, _MOST = 2**10, 2**14
"""Rows of a piece: with fewer, calls and short lists would take longer than sums."""

_LARGEST_SUM = 2**31
"""Weights that together stay below this can be summed in 32 bits."""


class Pieces:
    """Pieces of rows, added one after the other; only where there are compiled loops.

    Privacy
    -------
    Sensitive.
    """

    def __init__(self, n_features: int) -> None:
        self._loops = kernels.compiled().Pieces(n_features)
        self._n_features = n_features
        self._n_rows = 0
        self._work = 0

    def add(self, features: kernels.Lines, columns: NDArray[np.intp], n_rows: int) -> None:
        """Add rows that are stored by features, of which ``columns`` are wanted; dense numbers are not copied."""
        places = columns.astype(np.int64)
        if features.is_dense:
            work = n_rows * len(places)
            size = _rows_of_piece(work, n_rows)
            for start in range(0, n_rows, size):
                self._loops.add_lines(features.matrix[:, start : start + size], places)
        else:
            work = int(np.diff(features.matrix.indptr)[places].sum())
            self._loops.add_entries(features.raw, places, n_rows, _rows_of_piece(work, n_rows))
        self._work += work
        self._n_rows += n_rows

    def column_sums(self, codes: IntArray | CodeArray) -> IntArray:
        """Sum code times feature over all rows, exactly: (rows, outputs) → (outputs, features); codes up to 2²⁰."""
        short = np.ascontiguousarray(codes, dtype=np.int32)

        def sums(first: int, last: int) -> IntArray:
            part = np.zeros((short.shape[1], self._n_features), dtype=np.int64)
            self._loops.column_sums(short, first, last, part)
            return part

        return np.asarray(np.sum(kernels.by_parts(self._loops.count, self._work * short.shape[1], sums), axis=0))

    def margins(self, weights: IntArray, unit: float) -> FloatArray | None:
        """Sum feature times weight over all features, exactly, in units: (features, outputs) → (rows, outputs).

        None if weights are too large for sums of 32 bits.
        """
        short = _short(weights)
        if short is None:
            return None
        margins: Any = (np.empty if self._loops.count else np.zeros)((self._n_rows, weights.shape[1]))
        kernels.by_parts(
            self._loops.count,
            self._work * weights.shape[1],
            lambda first, last: self._loops.margins(short, unit, first, last, margins),
        )
        return np.asarray(margins)

    def weighted_sums(self, weights: IntArray, unit: float, rows: WeighedRows) -> list[IntArray] | None:
        """Sum weighted residuals times features, residuals and curvatures over all rows, which are read once.

        None if weights are too large for sums of 32 bits.
        """
        short, outputs = _short(weights), weights.shape[1]
        if short is None:
            return None
        kinds = (np.float64, np.float64 if outputs == 1 else np.int64, np.float64)
        given = [np.ascontiguousarray(part, dtype=kind) for part, kind in zip(rows[:3], kinds, strict=True)]

        def sums(first: int, last: int) -> list[IntArray]:
            parts = [np.zeros(shape, dtype=np.int64) for shape in ((outputs, self._n_features), outputs, outputs)]
            self._loops.weighted_sums(short, unit, *given, rows.limit, rows.one, first, last, *parts)
            return parts

        first, *others = kernels.by_parts(self._loops.count, 2 * self._work * outputs, sums)
        return [np.asarray(sum(parts[1:], start=parts[0])) for parts in zip(first, *others, strict=True)]


def _short(weights: IntArray) -> CodeArray | None:
    """Return weights in 32 bits; None if sums of them could be longer."""
    fits = np.abs(weights).sum(axis=0).max(initial=0) < _LARGEST_SUM
    return np.ascontiguousarray(weights, dtype=np.int32) if fits else None


def _rows_of_piece(entries: int, n_rows: int) -> int:
    return min(max(_ENTRIES * n_rows // max(entries, 1), _FEWEST), _MOST)
