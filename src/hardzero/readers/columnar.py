"""Parquet, Arrow and Feather files: typed, with the number of rows at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..optional import require
from .table import ReaderError, TableReader


def open_parquet(path: Path) -> TableReader:
    """Open a Parquet file; a batch needs the memory of a row group at most.

    Privacy
    -------
    Names and types count as public.
    """
    parquet = require("pyarrow.parquet")

    def opened() -> Any:
        return parquet.ParquetFile(path, pre_buffer=False)

    def batches(rows: int, columns: Sequence[str]) -> Iterator[Any]:
        with _readable(path, "Parquet"), opened() as file:
            for batch in file.iter_batches(batch_size=rows, columns=list(columns), use_threads=False):
                yield batch.select(list(columns))  # Parquet keeps the order of the file

    with _readable(path, "Parquet"), opened() as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    return TableReader(str(path), tuple(schema.names), False, n_rows, _types(schema), batches)


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
            for batch in parts:
                batch.validate(full=True)  # a damaged file must not be read beyond its end
                yield batch.select(list(columns))

    with _readable(path, "Arrow"), pa.memory_map(str(path)) as file:
        schema = (ipc.open_stream(file) if is_stream else ipc.open_file(file)).schema
    return TableReader(str(path), tuple(schema.names), False, None, _types(schema), batches)


def _types(schema: Any) -> Any:
    def types() -> Mapping[str, Any]:
        return {field.name: field.type for field in schema}

    return types


@contextmanager
def _readable(path: Path, form: str) -> Iterator[None]:
    """Turn Arrow's errors, which could show cells, into one that does not."""
    pa = require("pyarrow")
    try:
        yield
    except (pa.ArrowException, OSError, ValueError):
        raise ReaderError(f"{path} is not a readable {form} file; it may be damaged or incomplete") from None
