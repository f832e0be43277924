"""One cell as text and as a number, by a rule that looks at that cell and at nothing else.

Whatever holds a table, each of its cells has one text, and its number is what that text denotes. Columns of a
declared type are converted at once elsewhere, by loops that give the same answers.
"""

from __future__ import annotations

import math
import re
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""A regular expression for a number in decimal notation."""

NUMBER = rf"({DECIMAL}|[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN]))"
"""A regular expression for every text that is a number. Case is spelled out: engines differ in what they fold."""

WORDS = ("false", "true")
"""Texts that are the numbers 0 and 1, because they are what truth values are called as text."""

_NUMBER = re.compile(NUMBER)
_MOST_DIGITS = 400
"""Powers of ten beyond double precision; numbers outside them are not written out."""


class UnknownCellError(TypeError):
    """A cell is of a type that has no text. The message does not show it."""


def text_of(cell: Any) -> str | None:
    """Return the text of a cell, None if it is missing.

    Text stays as it is. Numbers are written in plain decimal notation without zeros at the end, so that 1, 1.0 and
    ``Decimal("1.00")`` are all "1". A number in double precision that is not whole has the fewest digits that give it
    back; one in lower precision is that number in double precision. Truth values are "true" and "false", dates and
    times ISO 8601 with a space in between, in UTC and with a Z where the time zone is known. Bytes are UTF-8; what
    is none becomes U+FFFD. NaN is missing.

    Raises
    ------
    UnknownCellError
        The cell is of another type.

    Privacy
    -------
    Sensitive. Depends on this one cell alone.
    """
    text: str | None
    match cell:
        case str():
            text = cell if cell.isascii() else cell.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case None:
            text = None
        case float() | np.floating():
            text = _float_text(float(cell))
        case bool() | np.bool_():
            text = WORDS[bool(cell)]
        case int() | np.integer() if not isinstance(cell, np.timedelta64):  # an integer, to NumPy
            text = _whole_text(int(cell))
        case Decimal():
            text = _decimal_text(cell)
        case bytes() | bytearray() | memoryview():
            text = bytes(cell).decode("utf-8", "replace")
        case _ if _is_pandas_na(cell):
            text = None
        case date() | time():
            text = _time_text(cell)
        case UUID():
            text = str(cell)
        case _:
            raise UnknownCellError("a cell is neither text, number, truth value, date, time nor bytes")
    return text


def number_of(text: str) -> float | None:
    """Return the number that a text without spaces around it denotes, None if it is no number.

    Privacy
    -------
    Sensitive. Depends on this one text alone.
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    return float(WORDS.index(text)) if text in WORDS else None


def without_trailing_zeros(text: str) -> str:
    """Shorten a decimal fraction: "1.50" to "1.5", "1.00" to "1"; other texts stay as they are.

    Privacy
    -------
    Sensitive. Depends on this one text alone.
    """
    return text.rstrip("0").rstrip(".") if "." in text else text


def _is_pandas_na(cell: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and (cell is pandas.NA or cell is pandas.NaT)


def _whole_text(cell: int) -> str:
    try:
        return str(cell)
    except ValueError:  # Python does not write numbers of more than some thousand digits
        raise UnknownCellError("a whole number has too many digits") from None


def _float_text(cell: float) -> str | None:
    if math.isnan(cell):
        return None
    if math.isinf(cell):
        return str(cell)
    if cell.is_integer():
        return str(int(cell))
    digits = repr(cell)
    return f"{Decimal(digits):f}" if "e" in digits else digits


def _decimal_text(cell: Decimal) -> str | None:
    if cell.is_nan():
        return None
    if cell.is_infinite():
        return "-inf" if cell < 0 else "inf"
    if not cell:
        return "0"
    if abs(cell.adjusted()) <= _MOST_DIGITS:
        return without_trailing_zeros(f"{cell:f}")
    sign, digits, exponent = cell.as_tuple()
    written = "".join(map(str, digits))
    shortened = written.rstrip("0")
    return f"{'-' if sign else ''}{shortened}e{int(exponent) + len(written) - len(shortened)}"


def _time_text(cell: date | time) -> str:
    if isinstance(cell, datetime):
        if cell.tzinfo is None:
            return without_trailing_zeros(cell.isoformat(" "))
        try:
            moment = cell.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise UnknownCellError("a time is not within the years 1 to 9999 in UTC") from None
        return without_trailing_zeros(moment.isoformat(" ")) + "Z"
    if isinstance(cell, time) and cell.tzinfo is None:
        return without_trailing_zeros(cell.isoformat())
    return cell.isoformat()
