"""Text that people wrote, from files that may be compressed: read whole, up to a limit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .fields import SchemaError
from .places import line_and_column

COMPRESSED: Mapping[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How to open a compressed file, by the end of its name."""

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What the standard library raises when a compressed file is not what it should be."""


def read_bytes(path: Path, limit: int, where_from: str) -> bytes:
    """Return the content of a file, decompressed, up to one byte more than the limit.

    Raises
    ------
    SchemaError
        The file cannot be read; if there is none the message says ``where_from`` it comes.

    Privacy
    -------
    Data-independent: for what is public, not for records.
    """
    opened: Callable[[Path], Any] = COMPRESSED.get(path.suffix.lower(), lambda path: path.open("rb"))
    try:
        with opened(path) as file:
            content: bytes = file.read(limit + 1)
    except FileNotFoundError:
        raise SchemaError(f"there is no such file; {where_from}", source=str(path)) from None
    except IsADirectoryError:
        raise SchemaError("is a folder; name the file in it", source=str(path)) from None
    except (*DAMAGED, ValueError) as error:  # ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or "not a usable file name, or damaged"
        raise SchemaError(f"cannot be read: {reason}", source=str(path)) from None
    return content


def refuse_too_much(content: str | bytes, limit: int, source: str) -> None:
    """Refuse what is longer than people write.

    Privacy
    -------
    Data-independent.
    """
    if len(content) > limit:
        raise SchemaError(f"is larger than {limit:,} bytes, which is too much for a schema", source=source)


def decoded(content: bytes, source: str) -> str:
    """Return UTF-8 as text.

    Raises
    ------
    SchemaError
        The bytes are something else, from the place that is named on.

    Privacy
    -------
    Data-independent.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        place = line_and_column(before, len(before))
        raise SchemaError("is not UTF-8; save the file with that encoding", (), source, *place) from None
