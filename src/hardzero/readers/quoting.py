"""Quotation marks in CSV by RFC 4180 to the letter: a stray one must not swallow rows.

A quotation mark opens at the beginning of a cell, closes before a delimiter or the end of a line, and is doubled
within. Two stray marks can obey that and take the rows between them for one cell; then the lines of that cell, by
themselves, are rows with as many cells as there are columns, and that is refused as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .table import ReaderError

LONGEST_ROW = 4 * 2**20
"""Bytes in a row of a CSV file, at most."""

TOO_LONG = f"has a row of more than {LONGEST_ROW:,} bytes; is a quotation mark left open?"

_QUOTE, _LF, _CR = b'"\n\r'
_Positions = NDArray[np.intp]


@dataclass(frozen=True)
class _QuotedCells:
    """Where quoted cells open and close; an unfinished one closes after the end."""

    opens: _Positions
    closes: _Positions

    def around(self, positions: _Positions) -> tuple[_Positions, NDArray[np.bool_]]:
        """Return the cell that opens last before each position, and whether the position is within it."""
        cell = np.searchsorted(self.opens, positions) - 1
        return cell, (cell >= 0) & (positions < np.append(self.closes, 0)[cell])


class QuotingCheck:
    """Checks the bytes of a CSV file as they come, block by block, at no cost where there is no quotation mark.

    Privacy
    -------
    Sensitive. Errors name a line, never its content.
    """

    def __init__(self, path: Path, delimiter: str, n_columns: int) -> None:
        self._path, self._delimiter, self._n_columns = path, ord(delimiter), n_columns
        self._begun = b""  # the row that the last block left unfinished
        self._line = 1  # where that row begins

    def add(self, block: bytes) -> None:
        """Check the next bytes; none of them mean the end of the file."""
        if b'"' not in block and b'"' not in self._begun:
            self._leave(block, max(block.rfind(b"\n"), block.rfind(b"\r")) + 1)
            return
        data, self._begun = self._begun + block, b""
        values = np.frombuffer(data, np.uint8)
        cells = self._quoted_cells(data, values, is_end=not block)
        breaks = np.flatnonzero((values == _LF) | (values == _CR))
        cell, within = cells.around(breaks)
        row_ends = breaks[~within]
        several_lines = np.unique(cell[within])
        if block:  # what the next block may continue comes again with it
            several_lines = several_lines[cells.closes[several_lines] < len(data) - 1]
        if len(several_lines):
            chosen = _QuotedCells(cells.opens[several_lines], cells.closes[several_lines])
            delimiters = np.flatnonzero(values == self._delimiter)
            columns = _columns(chosen.opens, row_ends, delimiters[~cells.around(delimiters)[1]])
            self._refuse_rows_within(data, chosen, columns, breaks, delimiters)
        self._leave(data, int(row_ends[-1]) + 1 if len(row_ends) else 0)

    def _leave(self, data: bytes, start: int) -> None:
        """Keep the row that starts there for the next block."""
        self._begun = data[start:] if start else self._begun + data
        self._line += data.count(b"\n", 0, start)
        if len(self._begun) > LONGEST_ROW:
            raise self._error(b"", 0, TOO_LONG)

    def _quoted_cells(self, data: bytes, values: NDArray[np.uint8], is_end: bool) -> _QuotedCells:
        """Return the quoted cells: marks alternate between opening and closing, a doubled one closes and opens."""
        marks = np.flatnonzero(values == _QUOTE)
        opens, closes = marks[::2], marks[1::2]
        separates = np.zeros(256, np.bool_)
        separates[[self._delimiter, _LF, _CR]] = True
        doubled = opens[1:] == closes[: len(opens) - 1] + 1
        before = values[np.maximum(opens - 1, 0)]
        opens_well = separates[before] | (opens == 0) | (opens == self._after_order_mark(data))
        opens_well[1:] |= doubled
        after = values[np.minimum(closes + 1, len(values) - 1)]
        closes_well = separates[after] | (closes == len(values) - 1)
        closes_well[: len(doubled)] |= doubled
        is_first, is_last = np.append(True, ~doubled), np.append(~doubled, True)[: len(closes)]
        if not (opens_well.all() and closes_well.all()):
            raise self._misplaced(data, opens[~opens_well], closes[~closes_well], opens[is_first])
        unfinished = len(opens) - len(closes)
        if unfinished and is_end:
            raise self._error(
                data,
                int(opens[is_first][-1]),
                "has a quotation mark that is left open; within quoted cells they must be doubled",
            )
        return _QuotedCells(opens[is_first], np.append(closes[is_last], np.full(unfinished, len(data))))

    def _misplaced(self, data: bytes, opens: _Positions, closes: _Positions, cells: _Positions) -> ReaderError:
        """Return the error about the first mark that opens or closes where it must not, of cells that open there."""
        advice = "quote the whole cell and double the marks within it"
        if len(opens) and (not len(closes) or opens[0] < closes[0]):
            return self._error(data, int(opens[0]), f"has a quotation mark in the middle of a cell; {advice}")
        start = int(cells[np.searchsorted(cells, closes[0]) - 1])
        breaks = data.count(b"\n", start, int(closes[0]))
        where = f" {breaks} lines below" if breaks else ""
        return self._error(data, start, f"has a quoted cell that ends{where} in the middle of a cell; {advice}")

    def _after_order_mark(self, data: bytes) -> int:
        return 3 if self._line == 1 and data.startswith(b"\xef\xbb\xbf") else 0

    def _refuse_rows_within(
        self, data: bytes, cells: _QuotedCells, columns: _Positions, breaks: _Positions, delimiters: _Positions
    ) -> None:
        """Refuse a cell whose lines would make rows of the right length, were its quotation marks not there."""
        first_break = breaks[np.searchsorted(breaks, cells.opens)]
        last_break = breaks[np.searchsorted(breaks, cells.closes) - 1]
        on_first_line = np.searchsorted(delimiters, first_break) - np.searchsorted(delimiters, cells.opens)
        on_last_line = np.searchsorted(delimiters, cells.closes) - np.searchsorted(delimiters, last_break)
        in_a_row = self._n_columns - 1
        for index in np.flatnonzero((on_first_line == in_a_row - columns) & (on_last_line == columns)):
            inner = [
                line.count(self._delimiter)
                for line in data[first_break[index] : last_break[index]].splitlines()
                if line
            ]
            if not inner or in_a_row in inner:
                raise self._error(
                    data,
                    int(cells.opens[index]),
                    "has a quoted cell that holds what looks like whole rows; remove the stray quotation marks, or "
                    "the line breaks within the cell",
                )

    def _error(self, data: bytes, position: int, problem: str) -> ReaderError:
        line = self._line + data.count(b"\n", 0, position)
        return ReaderError(f"{self._path}, line {line}: {problem}")


def _columns(opens: _Positions, row_ends: _Positions, delimiters: _Positions) -> _Positions:
    """Return the column of each cell: how many delimiters that separate cells stand before it in its row."""
    rows = np.searchsorted(row_ends, opens)
    row_starts = np.append(row_ends, 0)[rows - 1] * (rows > 0)
    return np.searchsorted(delimiters, opens) - np.searchsorted(delimiters, row_starts)
