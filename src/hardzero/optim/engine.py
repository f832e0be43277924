"""Residuals and their sums by features, kept up to date while a Frank-Wolfe loop moves from corner to corner.

A step towards one corner multiplies all margins by 1 - μ and changes one feature's share. Margins are therefore kept
divided by the product of all 1 - μ, and a step touches one column. Residuals are lazy: a row's code is replaced only
when it has moved by more than a tolerance that is small against the noise of the selection (docs/architecture.md).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import kernels
from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, FloatArray, IntArray, Table
from ..privacy.mechanisms import NOBODY, block_size
from .losses import Logistic, Loss, Softmax, Squared, residual_codes

_KINDS: dict[type, int] = {Logistic: 0, Squared: 1, Softmax: 2}


class Engine(Protocol):
    """What the Frank-Wolfe loop asks for.

    ``codes`` are the residual codes in use, (rows, outputs); ``gradient`` their sums by features, (outputs, features
    filled up with ``NOBODY`` to whole blocks); ``tops`` the largest magnitude of each block. ``features`` says whose
    sums each place of the gradient holds, -1 for nobody's: popular features are first, so that most sums lie close
    together.

    Privacy
    -------
    Sensitive. A row's codes depend on that row, on released corners and intercepts, and on public numbers.
    """

    codes: Any
    gradient: IntArray
    tops: IntArray
    features: IntArray

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""


class ReferenceEngine:
    """The engine in plain NumPy: it looks at all rows and sums all columns at every step.

    Parameters
    ----------
    data, targets, loss
        The problem.
    scales : array
        What margins are multiplied by after each number of steps, from 0 on.
    """

    def __init__(self, data: Table, targets: Any, loss: Loss, scales: FloatArray) -> None:
        self._data, self._targets, self._loss, self._scales = data, targets, loss, scales
        self._margins = np.zeros((data.n_rows, loss.outputs))
        self.codes, self.gradient, self.tops, self.features = _results(data, loss)

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""
        fresh = residual_codes(self._loss, self._margins * self._scales[t] + intercept, self._targets, cap)
        moved = np.abs(fresh - self.codes).max(axis=1) > tolerance
        self.codes[moved] = fresh[moved]
        self.gradient[:, : self._data.n_features] = self._data.gradient(self.codes)[:, self._data.popularity]
        block = self.gradient.shape[1] // self.tops.shape[1]
        for slopes, tops in zip(self.gradient, self.tops, strict=True):
            tops[:] = kernels.reference.block_tops(slopes, block)

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""
        self._data.add_column(self._margins[:, output], feature, weight / self._scales[t])


class CompiledEngine:
    """The same engine by the compiled loops, which look only at rows that can have moved."""

    def __init__(self, data: BoundedData, targets: Any, loss: Loss, scales: FloatArray) -> None:
        self._scales = scales
        self.codes, self.gradient, self.tops, self.features = _results(data, loss)
        self._loops = kernels.compiled().Engine(
            data.by_feature.raw,
            data.by_row.raw,
            self.features,
            _KINDS[type(loss)],
            RESIDUAL_ONE / loss.residual_unit,
            np.ascontiguousarray(np.ravel(targets), dtype=np.float64),
            scales,
            self.gradient.shape[1] // self.tops.shape[1],
            self.codes,
            self.gradient,
            self.tops,
        )

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""
        self._loops.refresh(t, intercept, cap, tolerance)

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""
        self._loops.add(t, output, feature, weight / self._scales[t] / FEATURE_ONE)


def engine_for(data: Table, targets: Any, loss: Loss, scales: FloatArray) -> Engine:
    """Return the compiled engine where it exists for such data and such a loss, otherwise the plain one."""
    if kernels.compiled() is None or not isinstance(data, BoundedData) or type(loss) not in _KINDS:
        return ReferenceEngine(data, targets, loss, scales)
    return CompiledEngine(data, targets, loss, scales)


def _results(data: Table, loss: Loss) -> tuple[Any, IntArray, IntArray, IntArray]:
    """Empty codes, sums and tops, and whose sums they are."""
    block = block_size(loss.outputs * data.n_features)
    blocks = -(-data.n_features // block)
    gradient = np.full((loss.outputs, blocks * block), NOBODY, dtype=np.int64)
    gradient[:, : data.n_features] = 0
    features = np.full(blocks * block, -1, dtype=np.int64)
    features[: data.n_features] = data.popularity
    codes = np.zeros((data.n_rows, loss.outputs), dtype=np.int32)
    return codes, gradient, np.zeros((loss.outputs, blocks), dtype=np.int64), features
