"""Dask arrays and data frames: their parts for a fit, and predictions that are made when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

_Method = TypeVar("_Method", bound=Callable[..., Any])


def is_collection(values: Any) -> bool:
    """Whether this is a Dask array or data frame, told without loading Dask.

    Privacy
    -------
    Data-independent.
    """
    return hasattr(type(values), "__dask_graph__")


@dataclass(frozen=True)
class Collection:
    """Rows and what is to be predicted for them, in parts that belong together.

    Attributes
    ----------
    parts : list of pairs of Delayed
        Some rows of X and y each.
    n_rows, n_features : int
        Size of the whole.
    empty : array or data frame
        What X looks like, with names of columns and without rows.

    Privacy
    -------
    Sensitive, but for sizes and names.
    """

    parts: list[tuple[Any, Any]]
    n_rows: int
    n_features: int
    empty: Any

    @classmethod
    def of(cls, X: Any, y: Any) -> Collection:
        """Pair the parts of X and y.

        Raises
        ------
        TypeError
            If y is no Dask collection.
        ValueError
            If they are cut in different places.

        Privacy
        -------
        Sensitive. Reads numbers of rows where Dask does not know them yet.
        """
        if not is_collection(y):
            raise TypeError(
                "X is a Dask collection, so y must be one with the same parts: a column of the same data frame, or "
                "dask.array.from_array(y, chunks=X.chunks[0])"
            )
        is_frame = hasattr(X, "columns")
        if not is_frame:
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
            X = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
            y = _cut_alike(X, y)
        rows, labels = (np.ravel(part.to_delayed()).tolist() for part in (X, y))
        if len(rows) != len(labels):
            raise ValueError(
                f"X has {len(rows)} parts and y has {len(labels)}; cut them alike, such as two columns of one frame"
            )
        empty = X._meta if is_frame else np.empty((0, X.shape[1]))
        return cls(list(zip(rows, labels, strict=True)), _length(X), len(empty.T), empty)


def _cut_alike(X: Any, y: Any) -> Any:
    """Cut y where X is cut, if Dask knows where that is."""
    known = hasattr(y, "chunks") and not any(map(math.isnan, (*X.chunks[0], *y.chunks[0])))
    if not known or X.chunks[0] == y.chunks[0]:
        return y
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X and y have inconsistent numbers of samples: [{X.shape[0]}, {y.shape[0]}]")
    return y.rechunk({0: X.chunks[0]})


def _length(X: Any) -> int:
    """Return the number of rows; counted where it is not known."""
    if hasattr(X, "columns"):
        return len(X)
    if not math.isnan(X.shape[0]):
        return int(X.shape[0])
    return int(X.map_blocks(_row_count, dtype=np.int64, chunks=((1,) * X.numblocks[0], (1,))).sum().compute())


def _row_count(block: Any) -> Any:
    return np.array([[block.shape[0]]])


def lazy_on_collections(method: _Method) -> _Method:
    """Let a method of a model that takes rows return a Dask array for a Dask collection, made when it is computed."""

    @wraps(method)
    def either(self: Any, X: Any) -> Any:
        return _lazily(self, method, X) if is_collection(X) else method(self, X)

    return either  # type: ignore[return-value]


def _lazily(model: Any, method: Callable[..., Any], X: Any) -> Any:
    like = method(model, _one_row(X))
    if hasattr(X, "columns"):
        return X.map_partitions(_applied, method=method.__name__, model=model, meta=like[:0])
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
    X = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
    return X.map_blocks(_applied, method=method.__name__, model=model, dtype=like.dtype, meta=like[:0], **shape)


def _one_row(X: Any) -> Any:
    """A row of zeros like those of X."""
    if not hasattr(X, "columns"):
        return np.zeros((1, X.shape[1]))
    return X._meta.reindex([0]).fillna(0).astype(X._meta.dtypes)


def _applied(rows: Any, method: str, model: Any) -> Any:
    return getattr(model, method)(rows)
