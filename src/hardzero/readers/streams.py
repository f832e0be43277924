"""Bytes of a file, decompressed on the way and checked to be UTF-8, without holding it in memory."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .table import ReaderError

COMPRESSED: Mapping[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How to open a compressed file, by the end of its name."""

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What the standard library raises when a compressed file is not what it should be."""


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
    """A file's bytes, checked to be UTF-8; and, where ``quoted``, that every quotation mark has its partner.

    A mark without one would swallow all that follows it, rows and all, and Arrow would not mind.

    Privacy
    -------
    Sensitive. Errors name a line, never its content.
    """

    def __init__(self, path: Path, *, quoted: bool = False) -> None:
        super().__init__()
        self._path, self._quoted = path, quoted
        self._quotes = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line = 1
        opened: Callable[[Path], Any] = COMPRESSED.get(path.suffix.lower(), lambda path: path.open("rb"))
        try:
            self._file = opened(path)
        except OSError as error:
            raise ReaderError(f"{path} cannot be opened: {error.strerror}") from None

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
            raise ReaderError(f"{self._path}, line {line}: is not UTF-8; save the file with that encoding") from None
        self._line += block.count(b"\n")
        self._quotes += block.count(b'"') if self._quoted else 0
        if not block and size != 0 and self._quotes % 2:
            raise ReaderError(
                f"{self._path} has a quotation mark that is left open; within quoted cells they must be doubled"
            )
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
