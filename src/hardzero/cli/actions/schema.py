"""Schemas to fill in, from code books and tables, and what is left to do about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...checks import InputError
from ...schema.codebook_files import read_codebooks
from ...schema.fields import printable
from ...schema.template import Draft, codebook_template, schema_template
from ..options import TableOptions

_MOST_SHOWN = 200


def drafted(
    table: TableOptions,
    codebooks: Sequence[Path],
    target: str | None,
    positive: str | None,
    *,
    guess_types: bool,
    n_features: int | None,
) -> Draft:
    """Return the schema that code books describe, matched with a table if there is one, or a table's template.

    Privacy
    -------
    As `schema_template` and `codebook_template`: the holder alone may have types guessed.
    """
    if not codebooks:
        if not table.is_given:
            raise InputError("name a table, or a code book with --codebook")
        if positive is not None:
            raise InputError("--positive goes with --codebook; a template is filled in by hand")
        return Draft(schema_template(table.opened(n_features), target, guess_types=guess_types), ())
    if guess_types:
        raise InputError("--holder guesses what a code book says; leave it out, or --codebook")
    book = read_codebooks(codebooks)
    target = target or book.target
    names = book.names if target is None or target in book.names else (*book.names, target)
    reader = table.opened(n_features, {"codebook": names}) if table.is_given else None
    return codebook_template(book, target, positive=positive, table=reader)


def what_is_left(draft: Draft) -> Iterator[str]:
    """Say what was not understood, and what is still to be filled in.

    Privacy
    -------
    Data-independent.
    """
    yield from (f"note: {note}" for note in draft.notes)
    if draft.gaps:
        shown = ", ".join(map(printable, draft.gaps[:_MOST_SHOWN]))
        more = f" and {len(draft.gaps) - _MOST_SHOWN:,} more" if len(draft.gaps) > _MOST_SHOWN else ""
        yield f"still to fill in: {shown}{more}"
