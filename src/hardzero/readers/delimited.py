"""CSV: every cell is read as text, because a type guessed from some rows need not fit the next."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cell_text import DECIMAL
from ..optional import require
from .streams import CheckedText
from .table import ReaderError, TableReader

_BLOCK = 4 * 2**20


def open_csv(path: Path, delimiter: str, names: Sequence[str] | None) -> TableReader:
    """Open a CSV file whose first line has the names of the columns, or which has none if ``names`` are given.

    Privacy
    -------
    Names count as public.
    """
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ReaderError(f"delimiter must be a single character such as ';' or a tab, got {delimiter!r}")
    file = _CsvFile(path, delimiter, None if names is None else list(names))
    return TableReader(str(path), file.header(), True, None, file.types, file.batches)


class _CsvFile:
    def __init__(self, path: Path, delimiter: str, names: list[str] | None) -> None:
        self.path, self.delimiter, self.names = path, delimiter, names

    def header(self) -> tuple[str, ...]:
        schema = next(self._parsed(require("pyarrow.csv").ConvertOptions())).schema
        if self.names is None and any(
            not name.strip() or re.fullmatch(DECIMAL, name.strip()) for name in schema.names
        ):
            raise ReaderError(
                f"{self.path}, line 1: has an empty name or a number where names of columns are expected; "
                "add a header line, or pass the names"
            )
        return tuple(schema.names)

    def types(self) -> Mapping[str, Any]:
        guess = require("pyarrow.csv").ConvertOptions(null_values=["", "NA", "NaN", "?"], strings_can_be_null=True)
        return {field.name: field.type for field in next(self._parsed(guess)).schema}

    def batches(self, rows: int, columns: Sequence[str]) -> Iterator[Any]:
        as_text = require("pyarrow.csv").ConvertOptions(
            column_types=dict.fromkeys(columns, require("pyarrow").string()),
            include_columns=list(columns),
            strings_can_be_null=False,
        )
        parsed = self._parsed(as_text)
        next(parsed)
        yield from parsed

    def _parsed(self, convert: Any) -> Iterator[Any]:
        """Yield Arrow's reader, for its schema, and then its batches."""
        pa, arrow_csv = require("pyarrow"), require("pyarrow.csv")
        ragged: list[int] = []

        def note(row: Any) -> str:
            ragged.append(row.number)
            return "error"

        # Threads would not know the number of a row. Newlines in quotes are rare, but a record is a record.
        read = arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self.names)
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note)
        try:
            stream = pa.PythonFile(CheckedText(self.path, quoted=True), mode="r")
            with arrow_csv.open_csv(stream, read, parse, convert) as reader:
                yield reader
                yield from reader
        except ReaderError:
            raise
        except (pa.ArrowException, ValueError) as error:  # whose messages could show a cell
            raise ReaderError(self._explained(str(error), ragged)) from None

    def _explained(self, message: str, ragged: Sequence[int]) -> str:
        if ragged:
            return f"{self.path}, {self._line_of(ragged[0])}: does not have as many cells as there are columns"
        if "Empty CSV" in message:
            return f"{self.path} has no rows; the first line must have the names of the columns, rows follow"
        if "straddling" in message:
            return f"{self.path} has a row of more than {_BLOCK:,} bytes; is a quotation mark left open?"
        return f"{self.path} cannot be understood as CSV with the delimiter {self.delimiter!r}"

    def _line_of(self, number: int) -> str:
        for count, (line, _) in enumerate(self._rows(), start=1):
            if count == number:
                return f"line {line}"
        return f"row {number}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of every row that is not blank, by the slower parser that knows lines."""
        with io.TextIOWrapper(io.BufferedReader(CheckedText(self.path)), "utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                yield from ((reader.line_num, row) for row in reader if row)
            except csv.Error:
                raise ReaderError(
                    f"{self.path}, line {reader.line_num}: is not CSV; is a quotation mark left open?"
                ) from None
