"""Files of data sets: where they are looked for, and whether they are the expected ones."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
from functools import cache
from pathlib import Path
from typing import NoReturn

from .origins import Origin

DECOMPRESS = {".bz2": bz2.decompress, ".gz": gzip.decompress, ".xz": lzma.decompress}


class DataNotFound(FileNotFoundError):  # noqa: N818 - says what happened, as StopIteration does
    """A data file is in none of the folders searched; the message says where to get it."""


def folders() -> tuple[Path | None, Path]:
    """Folders that are searched: the one that is named, where it is, and the cache."""
    named = os.environ.get("HARDZERO_DATA")
    cache_home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(named).expanduser() if named else None, Path(cache_home) / "hardzero"


def locate(file: str) -> Path | None:
    """Find a file by its name."""
    return next((folder / file for folder in folders() if folder and (folder / file).is_file()), None)


def missing(file: str, source: Origin) -> NoReturn:
    """Say what to get from where."""
    named, cached = folders()
    raise DataNotFound(
        f"the data file {file!r} is neither in the folder that HARDZERO_DATA names "
        f"({named or 'the variable is not set'}) nor in the cache folder ({cached}). "
        f"Get it from: {source.origin}. Put it into one of these folders, or set the environment variable "
        "HARDZERO_DATA to the folder that has it."
    )


@cache
def _sha256(path: Path, mtime_ns: int, size: int) -> str:
    """Hash a file, once; its time and size are in the cache's key, so that a replaced file is read again."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(path: Path, expected: str, source: Origin) -> None:
    """Insist on a checksum, where one is known."""
    stat = path.stat()
    if expected and (found := _sha256(path, stat.st_mtime_ns, stat.st_size)) != expected:
        raise ValueError(
            f"{path} is not the expected file: its SHA-256 is {found}, not {expected}. It may be incomplete; "
            f"get it again from: {source.origin}. If it is a copy that you trust, pass verify=False."
        )
