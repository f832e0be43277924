"""Names for the columns of a file that has no header line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..checks import InputError


def column_names(given: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names that an option gives: a list with commas, a file with a name on each line, or a known word.

    Parameters
    ----------
    given : str
        What was written behind ``--names``.
    known : mapping
        Names that a word stands for, such as those of the code book or the schema.

    Raises
    ------
    InputError
        It is none of them, or a name is empty.

    Privacy
    -------
    Data-independent: names of columns count as public.
    """
    if given in known:
        return list(known[given])
    if "," in given:
        names = [name.strip() for name in given.split(",")]
    else:
        try:
            lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, ValueError):
            words = "".join(f", or {word}" for word in known)
            raise InputError(
                f"--names {given}: there is no such file that can be read; give names separated by commas, or a file "
                f"with one name on each line{words}"
            ) from None
        names = [line.strip() for line in lines if line.strip()]
    if not names or not all(names):
        raise InputError(f"--names {given}: has an empty name; give one for each column")
    return names
