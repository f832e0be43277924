"""Rows prepared for many passes over them: each feature of a piece of the rows in the form that is read fastest.

A feature that is at its bound, at minus its bound or at zero becomes bits, or lists of rows where it is rare; other
numbers stay as they are, or become lists where most are zero. Sums are of whole numbers, so that packing changes none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..kernels.reference import CodeArray, FloatArray, IntArray

PIECE = 2**14
"""Rows of a piece at most, so that what is kept for each row stays in the processor's cache."""

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
        """Add rows that are stored by features, of which those in ``columns`` are wanted; dense ones are not copied."""
        places = columns.astype(np.int64)
        if features.is_dense:
            for start in range(0, n_rows, PIECE):
                self._loops.add_lines(features.matrix[:, start : start + PIECE], places)
            self._work += n_rows * len(places)
        else:
            self._loops.add_entries(features.raw, places, n_rows, PIECE)
            self._work += int(np.diff(features.matrix.indptr)[places].sum())
        self._n_rows += n_rows

    def column_sums(self, codes: IntArray | CodeArray) -> IntArray:
        """Sum code times feature over all rows, exactly: (rows, outputs) → (outputs, features); codes up to 2²⁰."""
        short = np.ascontiguousarray(codes, dtype=np.int32)

        def sums(first: int, last: int) -> IntArray:
            part = np.zeros((short.shape[1], self._n_features), dtype=np.int64)
            self._loops.column_sums(short, first, last, part)
            return part

        return np.asarray(sum(kernels.by_parts(self._loops.count, self._work * short.shape[1], sums)))

    def margins(self, weights: IntArray, unit: float) -> FloatArray | None:
        """Sum feature times weight over all features, exactly, in units: (features, outputs) → (rows, outputs).

        None if weights are too large for sums of 32 bits.
        """
        if np.abs(weights).sum(axis=0).max(initial=0) >= _LARGEST_SUM:
            return None
        short = np.ascontiguousarray(weights, dtype=np.int32)
        margins: Any = (np.empty if self._loops.count else np.zeros)((self._n_rows, weights.shape[1]))
        kernels.by_parts(
            self._loops.count,
            self._work * weights.shape[1],
            lambda first, last: self._loops.margins(short, unit, first, last, margins),
        )
        return np.asarray(margins)
