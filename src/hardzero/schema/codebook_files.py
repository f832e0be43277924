"""Code books from files, in whatever form they have."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .codebook import CodeBook
from .codebook_names import parse_names
from .codebook_tables import find_header, parse_json, parse_table
from .fields import SchemaError
from .text_files import COMPRESSED, decoded, read_bytes, refuse_too_much

LARGEST_BOOK = 32 * 2**20
"""Bytes of a code book at most, decompressed."""

_PARSERS = {".json": parse_json, ".csv": parse_table, ".tsv": parse_table, ".names": parse_names}


def read_codebooks(paths: Iterable[str | os.PathLike[str]]) -> CodeBook:
    """Read code books of which each completes those before it.

    Parameters
    ----------
    paths : iterable of paths
        Files in UTF-8, possibly compressed (.gz, .bz2, .xz): ``.csv`` and ``.tsv``, ``.json``, ``.names``. The
        form of others is told by their text.

    Returns
    -------
    CodeBook
        What they say together.

    Raises
    ------
    SchemaError
        A file cannot be read, or describes no variable at all.

    Privacy
    -------
    Data-independent, as long as the code books were not made from the records.
    """
    book: CodeBook | None = None
    for path in paths:
        later = read_codebook(path)
        book = later if book is None else book.completed_by(later)
    if book is None:
        raise SchemaError("there is no code book to read")
    return book


def read_codebook(path: str | os.PathLike[str]) -> CodeBook:
    """Read one code book; see `read_codebooks`.

    Privacy
    -------
    Data-independent, as long as the code book was not made from the records.
    """
    file = Path(path)
    content = read_bytes(file, LARGEST_BOOK, "name a file that describes the variables")
    refuse_too_much(content, LARGEST_BOOK, str(file))
    text = decoded(content, str(file)).replace("\r\n", "\n").replace("\r", "\n")
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    parse = _PARSERS.get(plain.suffix.lower())
    if parse is None:
        if text.lstrip()[:1] in ("{", "["):
            parse = parse_json
        else:
            parse = parse_names if find_header(text) is None else parse_table
    book = parse(text, str(file))
    if not book.variables:
        what = book.notes[0] if book.notes else "it is empty"
        raise SchemaError(
            f"describes no variable ({what}); docs/schema.md has the forms of code books", source=str(file)
        )
    return book
