"""LIBSVM text: a label and ``index:value`` pairs on each line. Gives the columns label, x1, x2, …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optional import require
from .streams import CheckedText
from .table import ReaderError, TableReader

MOST_FEATURES = 100_000
"""More columns than that are not for a table."""

_CELLS_AT_ONCE = 2**22
_LINE = re.compile(rb"\s*([^\s:#]+)((?:\s+\d{1,9}:[^\s:#]+)*)\s*(?:#.*)?")
_LONGEST_LINE = 2**26


def open_libsvm(path: Path, n_features: int | None) -> TableReader:
    """Open LIBSVM text; without ``n_features`` the whole file is read once to find the largest index.

    Privacy
    -------
    The largest index counts as public; give ``n_features`` if it is not.
    """
    count = _largest_index(path) if n_features is None else n_features
    if not 0 < count <= MOST_FEATURES:
        raise ReaderError(f"{path} has {count} features; a table can have 1 to {MOST_FEATURES:,}")
    names = ("label", *(f"x{index}" for index in range(1, count + 1)))

    def types() -> Mapping[str, Any]:
        pa = require("pyarrow")
        return {"label": pa.string(), **dict.fromkeys(names[1:], pa.float64())}

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        return _batches(path, count, min(rows, max(1, _CELLS_AT_ONCE // count)), columns)

    return TableReader(str(path), names, True, None, types, batches)


def _batches(path: Path, n_features: int, rows: int, columns: Sequence[str]) -> Iterator[Any]:
    pa = require("pyarrow")
    lines = _lines(path)
    while block := list(islice(lines, rows)):
        matrix = np.zeros((len(block), n_features), order="F")
        for row, (number, _, pairs) in enumerate(block):
            indices, values = _parsed(path, number, pairs)
            if len(indices) and indices[-1] > n_features:
                raise ReaderError(f"{path}, line {number}: has an index above the number of features, {n_features}")
            matrix[row, indices - 1] = values
        labels = pa.array([label.decode() for _, label, _ in block])
        arrays = [labels if name == "label" else pa.array(matrix[:, int(name[1:]) - 1]) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _largest_index(path: Path) -> int:
    largest = 0
    for number, _, pairs in _lines(path):
        indices, _ = _parsed(path, number, pairs)
        largest = max(largest, int(indices[-1]) if len(indices) else 0)
    return largest


def _lines(path: Path) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield number, label and pairs of every line that is not blank."""
    with BufferedReader(CheckedText(path), 2**20) as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            match = _LINE.fullmatch(line.rstrip(b"\r\n"))
            if match is None:
                raise ReaderError(f"{path}, line {number}: is not a label followed by index:value pairs")
            yield number, match[1], match[2]


def _parsed(path: Path, number: int, pairs: bytes) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    try:
        flat = np.array(pairs.replace(b":", b" ").split(), dtype=np.float64)
    except ValueError:  # whose message shows the cell
        raise ReaderError(f"{path}, line {number}: has a value that is no number") from None
    indices = flat[::2].astype(np.intp)
    if len(indices) and (indices[0] < 1 or np.any(np.diff(indices) <= 0)):
        raise ReaderError(f"{path}, line {number}: indices must start at 1 and grow along the line")
    return indices, flat[1::2]
