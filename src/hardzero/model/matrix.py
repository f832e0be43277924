"""What a model is asked to predict, as a matrix whose columns are the model's features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

_SHOWN = 5


def matrix_of(X: Any, names: Sequence[str], *, encoded: bool) -> Any:
    """Return a finite matrix of numbers, dense or sparse, with one column for each name.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        The columns of a data frame (pandas, polars, Arrow) whose columns have names are found by name, in whatever
        order they are; all others are taken by their place.
    names : sequence of str
        The features' names.
    encoded : bool
        Whether the features are those that a schema's encoder makes, which lie between -1 and 1.

    Privacy
    -------
    Post-processing, as far as the training data are concerned; messages show no value.
    """
    matrix = _by_name(X, names)
    is_sparse = sparse.issparse(matrix)
    matrix = matrix.tocsr() if is_sparse else _plain(matrix)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"X must hold numbers, got {_kind(matrix.dtype)}; encode a table with its schema first")
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ValueError(f"X must have {len(names)} columns, got shape {matrix.shape}")
    values = matrix.data if is_sparse else matrix
    if not np.all(np.isfinite(values)):
        raise ValueError("X holds NaN or infinity; replace them or leave those rows out")
    if encoded and values.size and not (values.min() >= -1 and values.max() <= 1):
        raise ValueError(
            "X holds values beyond -1 and 1, which no encoded table does; the model has a schema: predict "
            "model.encode(table)"
        )
    return matrix


def _by_name(X: Any, names: Sequence[str]) -> Any:
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame, which has no values yet; call its collect() first")
    present = _columns(X)
    if present is None:
        return X
    counts = Counter(present)
    if absent := [name for name in names if not counts[name]]:
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        raise ValueError(
            f"X has no column {', '.join(map(repr, absent[:_SHOWN]))}{more}; name its columns as the model's "
            "features are named, use model.encode(table) if the model has a schema, or give a matrix without names "
            "whose columns are in the model's order"
        )
    wanted = Counter(names)
    if twice := [name for name in wanted if counts[name] > 1 or wanted[name] > 1]:
        raise ValueError(f"the column {twice[0]!r} is there twice; give a matrix without names")
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]


def _columns(X: Any) -> list[str] | None:
    """The names of a frame's columns; None where they have none, as in arrays, or only numbers."""
    columns = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    if columns is None or not hasattr(X, "shape"):
        return None
    present = list(columns)
    if not any(isinstance(name, str) for name in present):
        return None
    return [str(name) for name in present]


def _plain(X: Any) -> Any:
    if np.ma.is_masked(X):
        raise ValueError("X is an array with masked values; replace them or leave those rows out")
    return np.asarray(X)


def _kind(dtype: Any) -> str:
    kinds = {"c": "complex numbers", "M": "dates", "m": "durations", "U": "text", "S": "bytes"}
    return kinds.get(dtype.kind, "objects of several kinds, or missing values")
