"""CSV: every cell is read as text, because a type guessed from some rows need not fit the next."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checks import require
from ..schema.cell_text import DECIMAL
from ..schema.text_files import DAMAGED
from .quoting import LONGEST_ROW, TOO_LONG, QuotingCheck
from .streams import NOT_UTF8, CheckedText, memory_exhausted, open_bytes
from .table import ReaderError, TableReader

_MARKS = {";": "a semicolon", "\t": "a tab", "|": "a bar"}
_WORDS = {";": ";", "\t": "tab", "|": "|"}


def open_csv(path: Path, delimiter: str, names: Sequence[str] | None) -> TableReader:
    """Open a CSV file whose first line has the names of the columns, or which has none if ``names`` are given.

    Privacy
    -------
    Names count as public.
    """
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ReaderError(f"delimiter must be a single character such as ';' or a tab, got {delimiter!r}")
    require("pyarrow.csv")  # better missed now than after the header was checked
    if names is not None and not all(names):
        raise ReaderError("names must have a name for each column, but one of them is empty")
    columns = _header(path, delimiter) if names is None else tuple(names)
    file = _CsvFile(path, delimiter, columns, has_header=names is None)
    return TableReader(str(path), columns, True, None, file.types, file.batches)


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    """Return the cells of the first line that is not blank; what follows it is not looked at."""
    rows = csv.reader(_lines(path), delimiter=delimiter, strict=True)
    try:
        names = next((row for row in rows if row), None)
    except csv.Error:
        raise ReaderError(f"{path}, line 1: is not CSV; is a quotation mark left open?") from None
    if names is None:
        raise ReaderError(_without_rows(path))
    if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), None)):
        raise ReaderError(
            f"{path}, line 1: has one column, whose name contains {_MARKS[mark]}; if that separates the cells, add "
            f"--delimiter '{_WORDS[mark]}' (in Python: delimiter={mark!r})"
        )
    if any(not name.strip() or re.fullmatch(DECIMAL, name.strip()) for name in names):
        raise ReaderError(
            f"{path}, line 1: has an empty name or a number where names of columns are expected; "
            "add a header line, or pass the names"
        )
    if any("\n" in name or "\r" in name for name in names):
        raise ReaderError(
            f"{path}, line 1: has a line break in the name of a column; remove it, or the stray quotation mark"
        )
    return tuple(names)


def _lines(path: Path) -> Iterator[str]:
    """Yield lines as they are asked for, so that what follows a header need not even be text."""
    number = 0
    with open_bytes(path) as file:
        try:
            while block := file.readline(LONGEST_ROW):
                for line in block.splitlines(keepends=True):
                    number += 1
                    if len(line) == LONGEST_ROW:
                        raise ReaderError(f"{path}, line {number}: {TOO_LONG}")
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ReaderError(f"{path}, line {number}: {NOT_UTF8}") from None
        except DAMAGED:
            raise ReaderError(f"{path} is damaged or incomplete near line {number + 1}") from None


def _without_rows(path: Path) -> str:
    return f"{path} has no rows; the first line must have the names of the columns, rows follow"


@dataclass(frozen=True)
class _CsvFile:
    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_header: bool

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
        names = None if self.has_header else list(self.names)
        read = arrow_csv.ReadOptions(use_threads=False, block_size=LONGEST_ROW, column_names=names)
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note)
        try:
            quoting = QuotingCheck(self.path, self.delimiter, len(self.names))
            stream = pa.PythonFile(CheckedText(self.path, quoting), mode="r")
            with arrow_csv.open_csv(stream, read, parse, convert) as reader:
                yield reader
                yield from reader
        except ReaderError:
            raise
        except MemoryError:
            raise memory_exhausted(self.path) from None
        except (pa.ArrowException, ValueError) as error:  # whose messages could show a cell
            raise ReaderError(self._explained(str(error), ragged)) from None

    def _explained(self, message: str, ragged: Sequence[int]) -> str:
        if ragged:
            return f"{self.path}, {self._line_of(ragged[0])}: does not have as many cells as there are columns"
        if "Empty CSV" in message:
            return _without_rows(self.path)
        if "straddling" in message:
            return f"{self.path} {TOO_LONG}"
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
