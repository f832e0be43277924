"""Passes over all rows, however they are stored: margins, sums of codes times features, and both in one.

All sums are of whole numbers, so that every way gives the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..kernels.reference import FEATURE_BITS, CodeArray, FloatArray, IntArray
from .packed import Pieces

_WEIGHT_BITS = 20


class WeighedRows(NamedTuple):
    """What decides on a row's weighted residual beside its margins: see `kernels.weighted_codes`.

    Privacy
    -------
    Sensitive.
    """

    offset: FloatArray
    targets: Any
    squares: FloatArray
    limit: float
    one: float


class Passes:
    """What a table can do once it knows how to do the two passes of a step.

    Privacy
    -------
    Sensitive.
    """

    def margins(self, coef: FloatArray) -> FloatArray:
        """Return X·coef' for weights of shape (outputs, features)."""
        raise NotImplementedError

    def gradient(self, residuals: IntArray | CodeArray) -> IntArray:
        """Sum residual times feature over all rows, exactly: (rows, outputs) → (outputs, features)."""
        raise NotImplementedError

    def weighted_sums(self, coef: FloatArray, rows: WeighedRows) -> list[IntArray]:
        """Sum weighted residuals times features, residuals, and curvatures over all rows at these weights, exactly.

        They are whole numbers, of shapes (outputs, features), (outputs,) and (outputs,).
        """
        codes, bends = kernels.weighted_codes(self.margins(coef), *rows)
        return [self.gradient(codes), kernels.code_totals(codes), kernels.code_totals(bends)]


class PackedPasses(Passes):
    """The same by loops that gain from being called many times, over rows that were packed.

    Privacy
    -------
    Sensitive.
    """

    _pieces: Pieces

    def margins(self, coef: FloatArray) -> FloatArray:
        """Return X·coef' for weights of shape (outputs, features), the same to the last bit as before packing."""
        margins = self._pieces.margins(*whole_weights(coef))
        return super().margins(coef) if margins is None else margins

    def gradient(self, residuals: IntArray | CodeArray) -> IntArray:
        """Sum residual times feature over all rows, exactly: (rows, outputs) → (outputs, features)."""
        return self._pieces.column_sums(residuals)

    def weighted_sums(self, coef: FloatArray, rows: WeighedRows) -> list[IntArray]:
        """Sum weighted residuals times features, residuals, and curvatures over all rows, which are read once."""
        sums = self._pieces.weighted_sums(*whole_weights(coef), rows)
        return super().weighted_sums(coef, rows) if sums is None else sums


def whole_weights(coef: FloatArray) -> tuple[IntArray, float]:
    """Round weights to whole numbers, (features, outputs), that keep sums below 2⁵³; also the sums' unit."""
    largest = float(np.abs(coef).sum(axis=1).max(initial=0.0)) + 1.0
    bits = min(_WEIGHT_BITS, 52 - FEATURE_BITS - math.ceil(math.log2(largest)))
    return np.rint(np.ldexp(coef, bits)).astype(np.int64).T, 2.0 ** (-bits - FEATURE_BITS)
