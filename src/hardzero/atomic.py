"""Writing a result file so that it is there completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


def write_atomically(path: str | os.PathLike[str], content: str | bytes, *, overwrite: bool = False) -> None:
    """Write ``content`` to ``path`` in one step; after an interrupt or a full disk nothing half-written is left.

    Parameters
    ----------
    path : path
        The file; its folder must exist.
    content : str or bytes
        Text is written as UTF-8.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.

    Privacy
    -------
    Post-processing.
    """
    with atomic_file(path, overwrite=overwrite) as file:
        if isinstance(content, bytes):
            file.buffer.write(content)
        else:
            file.write(content)


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[TextIO]:
    """Open a file for writing that takes its name only when the block ends without an error.

    Privacy
    -------
    Post-processing.
    """
    refuse_to_write(path, overwrite=overwrite)
    target = Path(path)
    # In the same folder, because only within one file system is replacing a single step.
    temporary = target.parent / f".hardzero-{uuid.uuid4().hex}.tmp"
    try:
        with _readable_errors(target):
            file = open(temporary, "x", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed below, before renaming
        with file:
            yield file
            with _readable_errors(target):
                file.flush()
                os.fsync(file.fileno())
        with _readable_errors(target):
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def refuse_to_write(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise the error that writing would raise at its end, where that can be known beforehand.

    Privacy
    -------
    Data-independent.
    """
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; add a file name")
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {target}: there is no folder {folder}; create it first")
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already; choose another name, or allow it to be overwritten")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {target}: permission denied; choose a folder that you may write to")


@contextmanager
def _readable_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(f"cannot write {target}: {error.strerror}; choose a folder that you may write to") from error
