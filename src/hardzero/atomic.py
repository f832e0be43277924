"""Writing a result file so that it is there completely or not at all, and by one process at a time."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .interrupts import held

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where an open file cannot be removed by another process
    fcntl = None  # type: ignore[assignment]

_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)


class Claim:
    """A file name that belongs to this process until the claim ends; `claimed` makes it.

    Attributes
    ----------
    path : Path
        The file, as it was named.
    complete : bool
        Whether the file is there.

    Privacy
    -------
    Post-processing.
    """

    def __init__(self, path: Path, target: Path, temporary: Path, descriptor: int, *, overwrite: bool) -> None:
        self.path = path
        self.complete = False
        self._target = target
        self._temporary = temporary
        self._descriptor = descriptor
        self._overwrite = overwrite
        self._is_open = True

    def write(self, content: str | bytes) -> None:
        """Write the whole file.

        Privacy
        -------
        Post-processing.
        """
        with self.opened() as file, _readable_errors(self.path):
            if isinstance(content, bytes):
                file.buffer.write(content)
            else:
                file.write(content)
            file.flush()

    @contextmanager
    def opened(self) -> Iterator[TextIO]:
        """Open the file for writing; it takes its name when the block ends without an error.

        Privacy
        -------
        Post-processing.
        """
        with _readable_errors(self.path):
            file = open(os.dup(self._descriptor), "w", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed below
        with file:
            yield file
            with _readable_errors(self.path):
                file.flush()
                os.fsync(file.fileno())
        with _readable_errors(self.path), held():
            self._take_name()
            self.complete = True

    def _take_name(self) -> None:
        if self._overwrite:
            _refuse_what_is_no_file(self.path, self._target)
            _keep_permissions(self._target, self._descriptor)
        if fcntl is None:  # pragma: no cover - Windows does not rename open files
            self._close()
        if self._overwrite:
            os.replace(self._temporary, self._target)
            return
        try:
            os.link(self._temporary, self._target)  # unlike a replacement, fails if the name was taken meanwhile
        except FileExistsError:
            raise FileExistsError(_taken(self.path)) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self._target.exists():
                raise FileExistsError(_taken(self.path)) from None
            os.replace(self._temporary, self._target)

    def release(self) -> None:
        """Give the name up; what was not completed is removed.

        Privacy
        -------
        Data-independent.
        """
        with held(), suppress(OSError):  # the folder may be gone
            if fcntl is None:  # pragma: no cover - Windows does not remove open files
                self._close()
                self._temporary.unlink(missing_ok=True)
            elif _is_at(self._temporary, self._descriptor):
                self._temporary.unlink()  # as long as the lock is held: later it could be another's
        self._close()

    def _close(self) -> None:
        if self._is_open:
            os.close(self._descriptor)
            self._is_open = False


@contextmanager
def claimed(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Claim]:
    """Claim a file name before the work for it begins: another process that asks for it is refused meanwhile.

    The claim is a lock on a temporary file in the same folder, ``.hardzero-….tmp``, which later becomes the file. The
    kernel ends the lock with the process, so that what a killed process left behind is taken over.

    Parameters
    ----------
    path : path
        The file; its folder must exist. Of a symbolic link, what it points to is written.
    overwrite : bool, default=False
        Whether a regular file that is there already may be replaced; its permissions are kept.

    Privacy
    -------
    Data-independent.
    """
    refuse_to_write(path, overwrite=overwrite)
    target = _behind_links(Path(path))
    # In the same folder, because only within one file system is taking a name a single step.
    temporary = target.parent / f".hardzero-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}.tmp"
    claim = None
    try:
        with held(), _readable_errors(Path(path)):
            descriptor = _locked(Path(path), temporary, private=target.exists())
            claim = Claim(Path(path), target, temporary, descriptor, overwrite=overwrite)
        yield claim
    finally:
        if claim is not None:
            claim.release()


def write_atomically(path: str | os.PathLike[str], content: str | bytes, *, overwrite: bool = False) -> None:
    """Write ``content`` to ``path`` in one step; after an interrupt or a full disk nothing half-written is left.

    Parameters
    ----------
    path : path
        The file; its folder must exist. Of a symbolic link, what it points to is written.
    content : str or bytes
        Text is written as UTF-8.
    overwrite : bool, default=False
        Whether a regular file that is there already may be replaced; its permissions are kept.

    Privacy
    -------
    Post-processing.
    """
    with claimed(path, overwrite=overwrite) as claim:
        claim.write(content)


def refuse_to_write(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise the error that writing would raise at its end, where that can be known beforehand.

    Privacy
    -------
    Data-independent.
    """
    named = Path(path)
    target = _behind_links(named)
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {named}: it is a folder; add a file name")
    _refuse_what_is_no_file(named, target)
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {named}: there is no folder {folder}; create it first")
    if target.exists() and not overwrite:
        raise FileExistsError(_taken(named))
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {named}: permission denied; choose a folder that you may write to")


def _taken(path: Path) -> str:
    return (
        f"{path} exists already; choose another name, or have it replaced: by --force on the command line, by "
        "overwrite=True in Python"
    )


def _behind_links(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _refuse_what_is_no_file(named: Path, target: Path) -> None:
    # Of a pipe that has a name in /dev, what the name points to is no path: it is known by its name alone.
    if any(path.exists() and not path.is_file() for path in (named, target)):
        raise OSError(f"cannot write {named}: it is a device, a pipe or a socket; choose the name of a regular file")


def _locked(named: Path, temporary: Path, *, private: bool) -> int:
    """Create the temporary file and lock it, or take over one whose process is dead.

    Whoever holds the lock on the file that has the temporary name has the claim: each lock is followed by a look at
    whether the name still belongs to it.
    """
    while True:
        left_behind = False
        try:
            # What replaces a file becomes readable for others when it gets the permissions of that file, not before.
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        except FileExistsError:
            left_behind = True
            try:
                descriptor = os.open(temporary, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            except FileNotFoundError:
                continue
        try:
            _lock(named, descriptor)
            if _is_at(temporary, descriptor):
                if not left_behind:
                    return descriptor
                temporary.unlink()
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(named: Path, descriptor: int) -> None:
    if fcntl is None:  # pragma: no cover - Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileExistsError(
            f"cannot write {named}: another process is about to write it; wait for it to end, or choose another name"
        ) from None


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _keep_permissions(target: Path, descriptor: int) -> None:
    """Give a file the permissions of the one that it replaces, and its owner where that is allowed."""
    if fcntl is None:  # pragma: no cover - Windows knows no such permissions
        return
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode)
    with suppress(OSError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    if os.fstat(descriptor).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # what one group may do is not for another
    os.fchmod(descriptor, mode)


@contextmanager
def _readable_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is None:  # in our own words already
            raise
        raise OSError(f"cannot write {target}: {error.strerror}; choose a folder that you may write to") from error
