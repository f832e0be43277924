"""From batches to one matrix, without holding the table and the matrix twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import checks
from ..data.bounded import FEATURE_ONE
from .table import TableReader

if TYPE_CHECKING:
    from ..schema.encoder import SchemaEncoder

Matrix: TypeAlias = "NDArray[np.float32] | sparse.csr_array[np.float64, tuple[int, int]]"

DENSE_FROM = 0.3
"""Above this share of nonzero entries dense storage in single precision is about as small as sparse storage.

The share depends on the records, so that the choice must not change a number: entries are rounded beforehand.
"""


_MOST_ROWS = 65_536
_MOST_ENTRIES = 2**23
"""Entries of the matrix of a batch: with many steps a batch of that many rows would not fit into memory."""


def rows_at_once(n_features: int) -> int:
    """Return how many rows a batch may have; rows are encoded one by one, so that this changes no number.

    Privacy
    -------
    Data-independent.
    """
    return max(min(_MOST_ROWS, _MOST_ENTRIES // n_features), 1)


def read_encoded(
    reader: TableReader,
    encoder: SchemaEncoder,
    *,
    rows: int = _MOST_ROWS,
    persons: Callable[[NDArray[np.object_]], None] | None = None,
) -> tuple[Matrix, NDArray[np.str_] | NDArray[np.float64]]:
    """Read and encode a whole table, batch by batch.

    Parameters
    ----------
    reader : TableReader
        The table.
    encoder : SchemaEncoder
        How to encode it.
    rows : int, default=65536
        The most rows in a batch; there are fewer where the schema has more than 128 features.
    persons : callable, optional
        Told whose rows those of each batch are; needed where the schema says which column knows.

    Returns
    -------
    X : csr_array of float64, or ndarray of float32
        Multiples of 2⁻¹⁶, to which estimators round anyway, and which both precisions hold exactly. Dense if more
        than 0.3 of the first batch's entries are not zero.
    y : ndarray of str or float64
        The class of each row, or its number within the target's bounds.

    Notes
    -----
    Peak memory is the result and a few batches: 12 bytes for each nonzero entry, or 4 for each entry of a dense
    matrix, and 4 bytes for each character of the longest class for each row. Where the number of rows is not known
    beforehand (all but Parquet), arrays grow by an eighth at a time, in place where the system can, as Linux does.

    Privacy
    -------
    Sensitive. The numbers of a row depend on its own record and the schema only, however they are stored.
    """
    schema = encoder.schema
    if schema.person is not None and persons is None:
        raise ValueError(
            "the schema says whose row each row is, and persons=… is missing, which has to be told: rows of one "
            "person are protected together or not at all"
        )
    columns = [*(column.name for column in schema.used), *schema.read]
    width = len(schema.features)
    outcomes = np.array(schema.target.classes).dtype  # of no classes: float64, for a target that is a number
    labels = _Growing(outcomes, reader.n_rows)
    store: _DenseRows | _SparseRows | None = None
    for batch in reader.batches(min(checks.whole("rows", rows, 1), rows_at_once(width)), columns):
        encoded = encoder.encode(batch)
        encoded.X.data = np.rint(encoded.X.data * FEATURE_ONE) / FEATURE_ONE
        if store is None:
            dense = encoded.X.nnz > DENSE_FROM * encoded.X.shape[0] * width
            store = _DenseRows(width, reader.n_rows) if dense else _SparseRows(width)
        store.add(encoded.X)
        labels.add(encoded.y)
        if persons is not None and encoded.persons is not None:
            persons(encoded.persons)
    return (store or _SparseRows(width)).finished(), labels.finished()


class _Growing:
    """A one-dimensional array that grows at its end."""

    def __init__(self, dtype: Any, expected: int | None = None) -> None:
        self._array = np.empty(expected or 0, dtype)
        self._size = 0

    def add(self, values: Any) -> None:
        end = self._size + len(values)
        if end > len(self._array):
            self._array.resize(max(end, len(self._array) * 9 // 8), refcheck=False)
        self._array[self._size : end] = values
        self._size = end

    def finished(self) -> Any:
        self._array.resize(self._size, refcheck=False)
        return self._array


class _DenseRows:
    def __init__(self, width: int, expected: int | None) -> None:
        self._width = width
        self._cells = _Growing(np.float32, (expected or 0) * width)

    def add(self, X: Any) -> None:
        self._cells.add(X.toarray().ravel())

    def finished(self) -> Any:
        return self._cells.finished().reshape(-1, self._width)


class _SparseRows:
    def __init__(self, width: int) -> None:
        self._width = width
        self._values, self._indices, self._counts = _Growing(np.float64), _Growing(np.int32), _Growing(np.int64)

    def add(self, X: Any) -> None:
        self._values.add(X.data)
        self._indices.add(X.indices)
        self._counts.add(np.diff(X.indptr))

    def finished(self) -> Any:
        ends = np.concatenate([[0], np.cumsum(self._counts.finished())])
        indices = self._indices.finished()
        index_type = np.int32 if ends[-1] < 2**31 else np.int64
        return sparse.csr_array(
            (self._values.finished(), indices.astype(index_type, copy=False), ends.astype(index_type)),
            shape=(len(ends) - 1, self._width),
        )
