"""Bytes of a file, decompressed on the way and checked to be UTF-8, without holding it in memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..schema.text_files import COMPRESSED, DAMAGED
from .quoting import QuotingCheck
from .table import ReaderError

NOT_UTF8 = "is not UTF-8; save the file with that encoding"


def open_bytes(path: Path) -> Any:
    """Open a file that may be compressed.

    Privacy
    -------
    Sensitive.
    """
    opened: Callable[[Path], Any] = COMPRESSED.get(path.suffix.lower(), lambda path: path.open("rb"))
    try:
        return opened(path)
    except OSError as error:
        raise ReaderError(f"{path} cannot be opened: {error.strerror}") from None


def memory_exhausted(path: Path) -> ReaderError:
    """Return the error that says so: a large table is no damaged one.

    Privacy
    -------
    Data-independent, but that it is raised depends on the records.
    """
    return ReaderError(
        f"there is not enough memory to read {path}; read fewer rows or columns at once, or use a machine with more "
        "memory. If the table is small, the file may be damaged"
    )


class CheckedText(io.RawIOBase):
    """A file's bytes, checked to be UTF-8 and, where ``quoting`` is given, by that.

    Privacy
    -------
    Sensitive. Errors name a line, never its content.
    """

    def __init__(self, path: Path, quoting: QuotingCheck | None = None) -> None:
        super().__init__()
        self._path, self._quoting = path, quoting
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = 1
        self._file = open_bytes(path)

    def readable(self) -> bool:
        """Return True: bytes can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes."""
        try:
            block: bytes = self._file.read(size)
        except DAMAGED:
            raise ReaderError(f"{self._path} is damaged or incomplete near line {self._line}") from None
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line = self._line + error.object[: error.start].count(b"\n")
            raise ReaderError(f"{self._path}, line {line}: {NOT_UTF8}") from None
        self._line += block.count(b"\n")
        if self._quoting is not None and size != 0:
            self._quoting.add(block)
        return block

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return how many bytes it took."""
        block = self.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the file underneath."""
        if not self.closed:
            self._file.close()
        super().close()
