"""LIBSVM text: a label and ``index:value`` pairs on each line. Gives the columns label, x1, x2, …"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import require
from ..schema.cell_text import NUMBER
from .streams import CheckedText
from .table import ReaderError, TableReader

MOST_FEATURES = 100_000
"""More columns than that are not for a table."""

_CELLS_AT_ONCE = 2**22
_LINE = re.compile(rb"\s*([^\s:#]+)((?:\s+\d{1,9}:[^\s:#]+)*)\s*(?:#.*)?")
_PAIRS = re.compile(rf"(?:\s+\d+:{NUMBER})*".encode())
_NAME = re.compile(r"x([1-9][0-9]{0,8})")
_LONGEST_LINE = 2**26


def open_libsvm(path: Path, n_features: int | None) -> TableReader:
    """Open LIBSVM text with the columns label and x1 to as many as ``n_features`` says.

    Privacy
    -------
    The number of features must be known without looking at the file: the largest index in it is one person's.
    """
    if n_features is None:
        raise ReaderError(
            f"{path} does not say how many features there are, and its largest index would tell of one record: give "
            "n_features, or describe the columns x1, x2, … in a schema"
        )
    count = n_features
    if not 0 < count <= MOST_FEATURES:
        raise ReaderError(f"n_features is {count}; a table can have 1 to {MOST_FEATURES:,}")
    names = ("label", *(f"x{index}" for index in range(1, count + 1)))

    def types() -> Mapping[str, Any]:
        pa = require("pyarrow")
        return {"label": pa.string(), **dict.fromkeys(names[1:], pa.float64())}

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        return _batches(path, count, min(rows, max(1, _CELLS_AT_ONCE // count)), columns)

    return TableReader(str(path), names, True, None, types, batches)


def declared_features(names: Iterable[str]) -> int | None:
    """Return how many features a schema's names x1, x2, … declare, None if it has no such name.

    Privacy
    -------
    Data-independent.
    """
    return max((int(match[1]) for match in map(_NAME.fullmatch, names) if match), default=None)


def _batches(path: Path, n_features: int, rows: int, columns: Sequence[str]) -> Iterator[Any]:
    pa = require("pyarrow")
    lines = _lines(path)
    while block := list(islice(lines, rows)):
        matrix = np.zeros((len(block), n_features), order="F")
        for row, (number, _, pairs) in enumerate(block):
            indices, values = _parsed(path, number, pairs)
            if len(indices) and indices[-1] > n_features:
                raise ReaderError(
                    f"{path}, line {number}: has an index above the number of features, {n_features}; mention the "
                    "last column in the schema, as ignored if it is not used, or raise n_features"
                )
            matrix[row, indices - 1] = values
        labels = pa.array([label.decode() for _, label, _ in block])
        arrays = [labels if name == "label" else pa.array(matrix[:, int(name[1:]) - 1]) for name in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


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
    if not _PAIRS.fullmatch(pairs):
        raise ReaderError(f"{path}, line {number}: has a value that is no number")
    flat = np.array(pairs.replace(b":", b" ").split(), dtype=np.float64)
    indices = flat[::2].astype(np.intp)
    if len(indices) and (indices[0] < 1 or np.any(np.diff(indices) <= 0)):
        raise ReaderError(f"{path}, line {number}: indices must start at 1 and grow along the line")
    return indices, flat[1::2]
