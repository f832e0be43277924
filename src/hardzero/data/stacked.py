"""Tables too large for one array of doubles: blocks of rows, held compactly and worked on one at a time.

Sums over blocks are sums of whole numbers, so a stacked table gives the same results, to the last bit, as the same
rows in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..kernels import Lines
from .bounded import MAX_ROWS, BoundedData, Bounds, CodeArray, FloatArray, IntArray
from .packed import Pieces
from .passes import PackedPasses, Passes

Block = Any  # Fortran-ordered NDArray[np.int32] or csc_array of int32

_CACHED = 2**18
"""Entries of a dense block, so that work on it stays in the processor's cache."""


class StackedData(Passes):
    """Rows within public bounds in several blocks, dense or sparse; features need no copies.

    Privacy
    -------
    Sensitive. Values outside the bounds are clipped, silently, because a message would reveal them.
    """

    def __init__(self, blocks: Sequence[Block], picked: NDArray[np.intp]) -> None:
        self._blocks = blocks
        self._picked = picked
        self.n_rows = sum(block.shape[0] for block in blocks)
        self.n_features = len(picked)
        width = blocks[0].shape[1] if blocks else 0
        self._is_all = np.array_equal(picked, np.arange(width))
        self._entries = sum(int(block.size) for block in blocks) * len(picked) // max(width, 1)

    def __repr__(self) -> str:
        return f"StackedData({self.n_rows} rows, {self.n_features} features, {len(self._blocks)} blocks)"

    @classmethod
    def from_batches(cls, batches: Iterable[Any], bounds: Bounds) -> StackedData:
        """Clip, scale and round batches of rows, dense or sparse, keeping one batch at a time beside the result."""
        blocks = [block for batch in batches for block in _compact(BoundedData.from_matrix(batch, bounds))]
        if sum(block.shape[0] for block in blocks) > MAX_ROWS:
            raise ValueError(f"there are more than {MAX_ROWS} rows, which cannot be summed exactly")
        return cls(blocks, np.arange(len(bounds.lower)))

    @property
    def popularity(self) -> NDArray[np.intp]:
        """Features by the number of rows where they are not zero, the most frequent first; ties keep their order."""
        return np.argsort(-self.counts(), kind="stable")

    def counts(self) -> IntArray:
        """Count the rows where each feature is not zero."""
        return sum((part.counts() for _, part in self._parts()), np.zeros(self.n_features, dtype=np.int64))

    def gradient(self, residuals: IntArray | CodeArray) -> IntArray:
        """Sum residual times feature over all rows, exactly: (rows, outputs) → (outputs, features)."""
        return self._total(lambda rows, part: part.gradient(residuals[rows]), (residuals.shape[1], self.n_features))

    def square_gradient(self, codes: IntArray) -> IntArray:
        """Sum code times squared feature over all rows, exactly."""
        return self._total(lambda rows, part: part.square_gradient(codes[rows]), (self.n_features,))

    def margins(self, coef: FloatArray) -> FloatArray:
        """Return X·coef' for weights of shape (outputs, features)."""
        return self._row_by_row(lambda part: part.margins(coef), (len(coef),))

    def row_squares(self, centre: FloatArray, scale: FloatArray) -> FloatArray:
        """Squared length of every row after (x - centre)/scale, never too small for rounding."""
        return self._row_by_row(lambda part: part.row_squares(centre, scale), ())

    def product_sums(self, factors: FloatArray, centre: FloatArray, scale: FloatArray) -> IntArray:
        """Sum products of pairs of factor·((x - centre)/scale, 1), rounded towards zero, over all rows, exactly."""
        total = np.zeros((self.n_features + 1, self.n_features + 1), dtype=np.int64)
        for rows, part in self._parts():
            total += part.product_sums(factors[rows], centre, scale)
        return total

    def add_column(self, margins: FloatArray, feature: int, weight: float) -> None:
        """``margins += weight * column``, in place."""
        for rows, part in self.subset(np.array([feature]))._parts():
            part.add_column(margins[rows], 0, weight)

    def subset(self, features: NDArray[np.intp]) -> StackedData:
        """Return the same rows with some of the features; nothing is copied."""
        return StackedData(self._blocks, self._picked[features])

    def taken(self, rows: NDArray[np.intp]) -> StackedData:
        """Return some rows, in rising order, of which one may be there several times."""
        blocks: list[Block] = []
        for held, part in self._parts():
            first, last = np.searchsorted(rows, [held.start, held.stop])
            blocks += _compact(part.taken(rows[first:last] - held.start))
        return StackedData(blocks, np.arange(self.n_features))

    def packed(self) -> StackedData:
        """Return the same rows, prepared for many passes: a bit for each indicator, beside the blocks as they are."""
        return self if kernels.compiled() is None else PackedStack(self._blocks, self._picked)

    def with_constant(self) -> StackedData:
        """Return the same rows with one more feature that is 1 everywhere."""
        blocks = [block for _, part in self._parts() for block in _compact(part.with_constant())]
        return StackedData(blocks, np.arange(self.n_features + 1))

    def blocks(self, owners: IntArray, count: int) -> list[BoundedData]:
        """Split rows into ``count`` blocks; row i goes to block ``owners[i]``, the order within a block stays."""
        return self._whole().blocks(owners, count)

    def columns(self, features: NDArray[np.intp] | slice = slice(None)) -> Any:
        """Some columns as floating-point numbers in [-1, 1], in one piece."""
        return self._whole().columns(features)

    def _parts(self, first: int = 0, last: int | None = None) -> Iterator[tuple[slice, BoundedData]]:
        """Each block in turn, or some of them, as an ordinary table, with the rows it holds."""
        start = sum(block.shape[0] for block in self._blocks[:first])
        for block in self._blocks[first:last]:
            stop = start + block.shape[0]
            yield slice(start, stop), BoundedData(self._codes(block))
            start = stop

    def _total(self, sums: Callable[[slice, BoundedData], IntArray], shape: tuple[int, ...]) -> IntArray:
        """Add up what the blocks give."""

        def total(first: int, last: int) -> IntArray:
            return sum((sums(rows, part) for rows, part in self._parts(first, last)), np.zeros(shape, dtype=np.int64))

        return np.asarray(np.sum(kernels.by_parts(len(self._blocks), self._entries, total), axis=0))

    def _row_by_row(self, values: Callable[[BoundedData], FloatArray], shape: tuple[int, ...]) -> FloatArray:
        """Put one after the other what the blocks give for each of their rows."""
        result = np.empty((self.n_rows, *shape))

        def fill(first: int, last: int) -> None:
            for rows, part in self._parts(first, last):
                result[rows] = values(part)

        kernels.by_parts(len(self._blocks), self._entries, fill)
        return result

    def _codes(self, block: Block) -> Any:
        """The picked features of a block, by columns, as an ordinary table has them."""
        if self._is_all:
            return block
        if isinstance(block, np.ndarray):
            return block.T[self._picked].T  # whole columns are copied at once
        return block[:, self._picked]

    def _whole(self) -> BoundedData:
        """All rows in one piece, for what needs them so: only the non-private optimum and the votes of blocks do."""
        codes = [self._codes(block) for block in self._blocks]
        if any(sparse.issparse(block) for block in codes):
            return BoundedData(sparse.vstack(codes, format="csc"))
        return BoundedData(np.asfortranarray(np.vstack(codes)))


class PackedStack(PackedPasses, StackedData):
    """Blocks that were packed, beside what they were.

    Privacy
    -------
    Sensitive.
    """

    def __init__(self, blocks: Sequence[Block], picked: NDArray[np.intp]) -> None:
        super().__init__(blocks, picked)
        self._pieces = Pieces(len(picked))
        for block in blocks:
            self._pieces.add(Lines(block.T if isinstance(block, np.ndarray) else block), picked, block.shape[0])


def _compact(data: BoundedData) -> list[Block]:
    """Sparse codes in one block, dense ones in blocks that the processor's cache holds."""
    codes: Any = data.codes
    if sparse.issparse(codes):
        return [codes]
    rows = max(_CACHED // max(data.n_features, 1), 1)
    return [np.asfortranarray(codes[i : i + rows]) for i in range(0, data.n_rows, rows)]
