"""The one list of file formats. It imports nothing slow, because the help of the command line shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class FileFormat(StrEnum):
    """A format, the endings of its files' names, and whether such files may be compressed as a whole."""

    suffixes: tuple[str, ...]
    may_be_compressed: bool

    CSV = "csv", (".csv", ".tsv"), True
    PARQUET = "parquet", (".parquet", ".pq"), False
    ARROW = "arrow", (".arrow", ".arrows", ".ipc", ".feather"), False
    LIBSVM = "libsvm", (".libsvm", ".svmlight", ".svm"), True

    def __new__(cls, name: str, suffixes: tuple[str, ...], may_be_compressed: bool) -> Self:
        """Give the name its endings; the value of a member is the name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.suffixes, member.may_be_compressed = suffixes, may_be_compressed
        return member

    @classmethod
    def named(cls, suffix: str) -> FileFormat | None:
        """Return the format that the ending of a file's name tells, if it tells one.

        Privacy
        -------
        Data-independent.
        """
        return next((form for form in cls if suffix.lower() in form.suffixes), None)
