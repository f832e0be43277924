"""Parquet, Arrow and Feather files: typed, with the number of rows at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..checks import require
from .streams import memory_exhausted
from .table import ReaderError, TableReader


def open_parquet(path: Path, groups: Sequence[int] | None = None) -> TableReader:
    """Open a Parquet file, or some of its row groups; a batch needs the memory of a row group at most.

    Privacy
    -------
    Names and types count as public.
    """
    parquet = require("pyarrow.parquet")

    def opened() -> Any:
        return parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with _readable(path, "Parquet"), opened() as file:
            found = file.iter_batches(batch_size=rows, row_groups=groups, columns=list(columns), use_threads=False)
            yield from _as_many_as_promised(_sound(found, columns), n_rows)

    with _readable(path, "Parquet"), opened() as file:
        names, types = _names_and_types(file.schema_arrow)
        n_rows = sum(_sizes(file.metadata, groups))
    return TableReader(str(path), names, False, n_rows, lambda: types, batches)


def row_group_sizes(path: Path) -> list[int]:
    """Return the number of rows in each row group of a Parquet file.

    Privacy
    -------
    Sensitive, as numbers of rows are; where a file is cut for reading changes no result.
    """
    parquet = require("pyarrow.parquet")
    with _readable(path, "Parquet"), parquet.ParquetFile(path) as file:
        return _sizes(file.metadata, None)


def open_arrow(path: Path) -> TableReader:
    """Open an Arrow IPC file (Feather, version 2) or stream.

    Privacy
    -------
    Names and types count as public.
    """
    pa, ipc = require("pyarrow"), require("pyarrow.ipc")
    with path.open("rb") as file:
        is_stream = file.read(6) != b"ARROW1"

    def batches(_: int, columns: Sequence[str]) -> Iterator[Any]:
        with _readable(path, "Arrow"), pa.memory_map(str(path)) as file:
            reader = ipc.open_stream(file) if is_stream else ipc.open_file(file)
            parts = reader if is_stream else map(reader.get_batch, range(reader.num_record_batches))
            yield from _sound(parts, columns)
            if is_stream and not _ends_as_it_should(file):
                raise _DamagedError

    with _readable(path, "Arrow"), pa.memory_map(str(path)) as file:
        names, types = _names_and_types((ipc.open_stream(file) if is_stream else ipc.open_file(file)).schema)
    return TableReader(str(path), names, False, None, lambda: types, batches)


_CONTINUES = b"\xff" * 4
"""Stands before every message of a stream since version 0.15 of Arrow; with a length of zero it ends the stream."""


class _DamagedError(Exception):
    """What a file says of itself does not agree with what is in it."""


def _names_and_types(schema: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return what a schema says while errors are still explained: a damaged name is no text, nor is its type."""
    names, types = tuple(schema.names), {field.name: field.type for field in schema}
    for arrow_type in types.values():
        str(arrow_type)
    return names, types


def _sizes(metadata: Any, groups: Sequence[int] | None) -> list[int]:
    """Return the numbers of rows of row groups, which others make room by, if all of them agree with the whole."""
    counts = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    if min(counts, default=0) < 0 or sum(counts) != metadata.num_rows:
        raise _DamagedError
    return counts if groups is None else [counts[index] for index in groups]


def _sound(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    """Yield the wanted columns in their order, checked: whoever uses them could read beyond their end otherwise."""
    for batch in batches:
        chosen = batch.select(list(columns))
        chosen.validate(full=True)
        yield chosen


def _as_many_as_promised(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    left = n_rows
    for batch in batches:
        left -= batch.num_rows
        yield batch
    if left:
        raise _DamagedError


def _ends_as_it_should(stream: Any) -> bool:
    """Return whether a stream that was read has its end mark; Arrow takes any cut after a batch for the end as well.

    Streams of older versions have marks that cannot be told from padding; they are believed.
    """
    end = stream.tell()
    stream.seek(0)
    if stream.read(4) != _CONTINUES:
        return True
    stream.seek(max(end - 8, 0))
    return bool(stream.read(8) == _CONTINUES + bytes(4))


@contextmanager
def _readable(path: Path, form: str) -> Iterator[None]:
    """Turn Arrow's errors, which could show cells, into one that does not.

    A damaged file can raise nearly anything: about text that is no UTF-8, an index, a number that is too large.
    """
    try:
        yield
    except MemoryError:
        raise memory_exhausted(path) from None
    except Exception:
        raise ReaderError(f"{path} is not a readable {form} file; it may be damaged or incomplete") from None
