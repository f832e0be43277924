"""Bounds for columns whose range is private, from a table to a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ...bounds.private import BoundsTerms, CountedCells, counted_cells, released_bounds
from ...checks import InputError
from ...ledger.ledger import Ledger
from ...model.composed import event_of, refuse_other_relation
from ...privacy.budget import Neighbours
from ...readers import TableReader
from ...schema.columns import Schema
from ...schema.file import dumps
from ..options import Results, steps_shown
from .fit import refuse_misfit


def counted(reader: TableReader, schema: Schema) -> CountedCells:
    """Read the columns without bounds of a table that fits the schema.

    Privacy
    -------
    Sensitive.
    """
    refuse_misfit(reader, schema.at_limits())
    with steps_shown("reading columns without bounds") as shown:
        return counted_cells(reader, schema, lambda seen: shown(seen, reader.n_rows))


def bounded_for_fit(
    reader: TableReader,
    schema: Schema,
    terms: tuple[float, float | None, Neighbours, int | None, int | None, Ledger | None],
    results: Results,
) -> Schema:
    """Return the schema with released bounds for all its columns, before a fit.

    Parameters
    ----------
    reader : TableReader
        The table, which the fit reads again.
    schema : Schema
        With private ranges.
    terms : tuple
        ε, δ, relation, stated number of rows, seed and ledger.
    results : Results
        What the command has to show for itself.

    Raises
    ------
    InputError
        Some could not be told. The others are named, because they are paid for.

    Privacy
    -------
    Releases noisy sums: (ε, δ)-differential privacy for each row. Proof: docs/proofs/bounds.md.
    """
    epsilon, delta, relation, stated_rows, seed, ledger = terms
    asked = BoundsTerms(epsilon, delta, relation, stated_rows, random_state=seed, ledger=ledger)
    cells = counted(reader, schema)
    results.charging = ledger is not None
    found = released_bounds(cells, schema, asked)
    results.what, results.fitted = "the release of bounds", found.privacy.is_private
    if found.untold:
        raise InputError(
            "some bounds could not be told, so that nothing was fitted, and what their release cost is spent. "
            f"{'; '.join(found.lines())}"
        )
    return found.schema


def refuse_bounds(epsilon: float | None, schema: Schema, neighbours: str, scheduler: str | None) -> None:
    """Refuse a budget for bounds that does not fit the schema, and bounds that no statement could include.

    Those were released under another relation, or cost more than the schema says: known before anything is spent.

    Privacy
    -------
    Data-independent.
    """
    refuse_other_relation(schema.bounds, neighbours)
    for charge in schema.bounds:
        event_of(charge)
    if epsilon is None:
        return
    if not schema.unbounded:
        raise InputError(
            '--bounds-epsilon is for columns with range = "private", and the schema has none; leave it out'
        )
    if scheduler is not None:
        raise InputError(
            "--bounds-epsilon does not go with --scheduler; release the bounds with `hardzero bounds` first"
        )


def written(schema: Schema, output: Path) -> str:
    """Return the text of a schema in the form that the file's name asks for.

    Privacy
    -------
    Post-processing.
    """
    form: Literal["json", "toml"] = "json" if output.suffix.lower() == ".json" else "toml"
    return dumps(schema, form=form)
