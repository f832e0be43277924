"""From files of data sets to matrices, names and bounds of features."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..schema import Categorical, Numeric, Schema
from ..schema.file import loads
from .origins import Origin, bundled

FloatArray: TypeAlias = NDArray[np.float64]
SparseArray: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
Matrix: TypeAlias = "FloatArray | SparseArray"
Bounds: TypeAlias = tuple[float | FloatArray, float | FloatArray]
Columns: TypeAlias = dict[str, "tuple[float, float] | list[str]"]
"""Columns of a table, each with its range or its categories."""


def columns_of(source: Origin) -> Columns:
    """Give the columns of a table: from its schema, or from lines such as ``age: 0..100`` and ``sex: f, m``."""
    if source.columns is None:
        return {}
    text = bundled(source.columns).decode()
    if source.columns.endswith(".toml"):
        return _columns_of_schema(loads(text, source=source.columns), source)
    lines = (line.split(": ") for line in text.splitlines() if not line.startswith("#"))
    return {name: _range(*content.split("..")) if ".." in content else content.split(", ") for name, content in lines}


def _columns_of_schema(schema: Schema, source: Origin) -> Columns:
    """Give the columns that a schema uses, but for what the registry says is otherwise in the published encoding."""
    columns: Columns = {}
    for column in schema.used:
        if isinstance(column, Categorical):
            values = [value for value in column.values if value not in source.absent.get(column.name, ())]
            gap = schema.missing_values if column.name in source.gaps else ()
            columns[column.name] = [*(sorted(values) if source.sorted_values else values), *gap]
        elif isinstance(column, Numeric):
            columns[column.name] = _range(*source.ranges.get(column.name, (column.lower, column.upper)))
        else:
            columns[column.name] = (0.0, 1.0)  # yes or no, written as 1 or 0
    return columns


def _range(lower: str | float, upper: str | float) -> tuple[float, float]:
    return float(lower), float(upper)


def features(columns: Columns) -> tuple[tuple[str, ...], Bounds]:
    """Expand columns to features: a number is one feature, a category one indicator for each value."""
    bounds: dict[str, tuple[float, float]] = {}
    for name, content in columns.items():
        if isinstance(content, tuple):
            bounds[name] = content
        else:
            bounds |= {f"{name}={value}": (0.0, 1.0) for value in content}
    pairs = np.array(list(bounds.values()), dtype=np.float64).reshape(-1, 2)
    return tuple(bounds), (pairs[:, 0], pairs[:, 1])


def _read_libsvm(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - slow to import, seldom needed

    X, y = load_svmlight_file(io.BytesIO(contents[0]), n_features=source.n_features, zero_based=False)
    return sparse.csr_array(X) if source.sparse else X.toarray(), y


def _read_csv(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    columns = columns_of(source)
    first = contents[0].partition(b"\n")[0].decode().split(",")
    # A header names the columns, and may have more; without one they come as listed. The label is last.
    header = set(columns) < set(first)
    position = {name: index for index, name in enumerate(first if header else columns)}
    symbols = {name: content for name, content in columns.items() if isinstance(content, list)}
    numbers = [name for name in columns if name not in symbols]

    def table(indices: list[int], dtype: type[Any]) -> NDArray[Any]:
        text, skip = io.BytesIO(contents[0]), int(header)
        return np.loadtxt(text, dtype, None, ",", usecols=indices, skiprows=skip, ndmin=2, encoding="utf-8")

    # Two passes of numpy's own parser are faster than one of the csv module, and make no object a cell.
    numeric = table([position[name] for name in numbers], np.float64)
    symbolic = table([*(position[name] for name in symbols), len(first) - 1], np.str_)
    y = symbolic[:, -1]
    if source.against_rest is not None:
        y = np.where(y == source.against_rest, source.classes[1], source.classes[0])
    if not symbols:
        return numeric, y
    blocks = {name: sparse.csr_array(numeric[:, [j]]) for j, name in enumerate(numbers)}
    blocks |= {name: _one_hot(symbolic[:, j], symbols[name]) for j, name in enumerate(symbols)}
    return sparse.csr_array(sparse.hstack([blocks[name] for name in columns], format="csr")), y


def _one_hot(values: NDArray[Any], categories: Sequence[str]) -> SparseArray:
    """Give one indicator for each category; a value that is none of them has no indicator."""
    rows, codes = np.nonzero(values[:, None] == np.array(categories))
    return sparse.csr_array((np.ones(len(rows)), (rows, codes)), shape=(len(values), len(categories)))


def _read_idx(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    # An IDX header is two zero bytes, the type, the number of dimensions, and four bytes for each of these.
    images, labels = (np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]) for raw in contents)
    X = sparse.csr_array(images.reshape(-1, source.n_features))  # made sparse as bytes, to save memory
    return X.astype(np.float64), labels


def _read_scikit_learn(_: Sequence[bytes], __: Origin) -> tuple[Matrix, NDArray[Any]]:
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - slow to import, seldom needed

    X, y = load_breast_cancer(return_X_y=True)
    return X, y


READERS = {"libsvm": _read_libsvm, "csv": _read_csv, "idx": _read_idx, "scikit-learn": _read_scikit_learn}
