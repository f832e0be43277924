"""Residuals and their sums by features, kept up to date while a Frank-Wolfe loop moves from corner to corner.

A step towards one corner multiplies all margins by 1 - μ and changes one feature's share. Margins are therefore kept
divided by the product of all 1 - μ, and a step touches one column. Residuals are lazy: a row's code is replaced only
when it has moved by more than a tolerance that is small against the noise of the selection (docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, FloatArray, IntArray, Table
from ..privacy.mechanisms import NOBODY, block_size
from .losses import Logistic, Loss, Softmax, Squared, residual_codes
from .problem import AnyProblem, Problem, ScatteredProblem

_KINDS: dict[type, int] = {Logistic: 0, Squared: 1, Softmax: 2}


class Engine(Protocol):
    """What the Frank-Wolfe loop asks for.

    ``gradient`` holds the sums of the residual codes in use by features, (outputs, features filled up with ``NOBODY``
    to whole blocks); ``tops`` the largest magnitude of each block. ``features`` says whose
    sums each place of the gradient holds, -1 for nobody's: popular features are first, so that most sums lie close
    together.

    Privacy
    -------
    Sensitive. A row's codes depend on that row, on released corners and intercepts, and on public numbers.
    """

    gradient: IntArray
    tops: IntArray
    features: IntArray

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""

    def code_sums(self) -> IntArray:
        """Sum the codes in use over all rows."""


class _LocalEngine:
    """An engine whose rows are all here."""

    codes: Any
    gradient: IntArray
    features: IntArray

    def code_sums(self) -> IntArray:
        """Sum the codes in use over all rows."""
        return np.asarray(self.codes.sum(axis=0, dtype=np.int64))


class ReferenceEngine(_LocalEngine):
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
        self.codes = np.zeros((data.n_rows, loss.outputs), dtype=np.int32)
        self.gradient, self.tops, self.features = _results(data.popularity, loss)

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""
        fresh = residual_codes(self._loss, self._margins * self._scales[t] + intercept, self._targets, cap)
        moved = np.abs(fresh - self.codes).max(axis=1) > tolerance
        self.codes[moved] = fresh[moved]
        _fill(self, self._data.gradient(self.codes), kernels.reference.block_tops)

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""
        self._data.add_column(self._margins[:, output], feature, weight / self._scales[t])


class CompiledEngine(_LocalEngine):
    """The same engine by the compiled loops, which look only at rows that can have moved."""

    def __init__(self, data: BoundedData, targets: Any, loss: Loss, scales: FloatArray) -> None:
        self._scales = scales
        self.codes = np.zeros((data.n_rows, loss.outputs), dtype=np.int32)
        self.gradient, self.tops, self.features = _results(data.popularity, loss)
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


class ScatteredEngine:
    """An engine for rows in several places, each of which has an engine of its own.

    A step sends what the step before has chosen, and gets the sums by features back. Places learn of a step together
    with the next one, so that one message to each of them makes a step.
    """

    def __init__(self, problem: ScatteredProblem, scales: FloatArray) -> None:
        self._engines = problem.rows.then(local_engine, scales)
        popularity = np.argsort(-problem.rows.total(nonzero_counts), kind="stable")
        self.gradient, self.tops, self.features = _results(popularity, problem.loss)

    def refresh(self, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
        """Replace the codes of rows that have moved by more than ``tolerance`` since they were last replaced."""
        self._engines.change(_refresh, t, intercept, cap, tolerance)
        _fill(self, self._engines.total(_slopes), kernels.block_tops)

    def add(self, t: int, output: int, feature: int, weight: float) -> None:
        """Add ``weight`` times a feature to the margins of one output after step ``t``."""
        self._engines.change(_add, t, output, feature, weight)

    def code_sums(self) -> IntArray:
        """Sum the codes in use over all rows."""
        return self._engines.total(_code_sums)


def _refresh(engine: Engine, t: int, intercept: FloatArray, cap: int, tolerance: int) -> None:
    engine.refresh(t, intercept, cap, tolerance)


def _add(engine: Engine, t: int, output: int, feature: int, weight: float) -> None:
    engine.add(t, output, feature, weight)


def _code_sums(engine: Engine) -> IntArray:
    return engine.code_sums()


def _slopes(engine: Engine) -> IntArray:
    """The sums by features in their public order, which no place's rows have a say in."""
    held = engine.features >= 0
    slopes = np.empty((len(engine.gradient), int(held.sum())), dtype=np.int64)
    slopes[:, engine.features[held]] = engine.gradient[:, held]
    return slopes


def engine_of(problem: AnyProblem, scales: FloatArray) -> Engine:
    """Return the engine for rows that are here, or for rows in several places."""
    return (
        ScatteredEngine(problem, scales) if isinstance(problem, ScatteredProblem) else local_engine(problem, scales)
    )


def local_engine(problem: Problem, scales: FloatArray) -> Engine:
    """Return the engine for rows that are here."""
    return engine_for(problem.data, problem.targets, problem.loss, scales)


def nonzero_counts(problem: Problem) -> IntArray:
    """Count the rows where each feature is not zero."""
    return problem.data.counts()


def engine_for(data: Table, targets: Any, loss: Loss, scales: FloatArray) -> Engine:
    """Return the compiled engine where it exists for such data and such a loss, otherwise the plain one."""
    if kernels.compiled() is None or not isinstance(data, BoundedData) or type(loss) not in _KINDS:
        return ReferenceEngine(data, targets, loss, scales)
    return CompiledEngine(data, targets, loss, scales)


def _results(popularity: NDArray[np.intp], loss: Loss) -> tuple[IntArray, IntArray, IntArray]:
    """Empty sums and tops, and whose sums they are."""
    n_features = len(popularity)
    block = block_size(loss.outputs * n_features)
    blocks = -(-n_features // block)
    gradient = np.full((loss.outputs, blocks * block), NOBODY, dtype=np.int64)
    gradient[:, :n_features] = 0
    features = np.full(blocks * block, -1, dtype=np.int64)
    features[:n_features] = popularity
    return gradient, np.zeros((loss.outputs, blocks), dtype=np.int64), features


def _fill(engine: Engine, slopes: IntArray, block_tops: Callable[[IntArray, int], IntArray]) -> None:
    """Put sums by features into their places, and find the largest of each block."""
    places = slopes.shape[1]
    engine.gradient[:, :places] = slopes[:, engine.features[:places]]
    block = engine.gradient.shape[1] // engine.tops.shape[1]
    for held, tops in zip(engine.gradient, engine.tops, strict=True):
        tops[:] = block_tops(held, block)
