"""The command that releases bounds of columns whose range nobody knows."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..model.plain_text import shown
from ..privacy.budget import Neighbours
from .model import ALARMS, NoLedger, PublicRows, Relation, Seed, echo
from .options import AsJson, DatasetOption, Force, LedgerOption, SchemaFile, TableOptions, clear_messages


def bounds(
    schema_path: SchemaFile,
    epsilon: Annotated[float, typer.Option(help="What the bounds may cost.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the schema with bounds goes.")],
    delta: Annotated[float | None, typer.Option(help="The guarantee's δ.", show_default="n^-1.5")] = None,
    neighbours: Relation = Neighbours.ZERO_OUT,
    public_rows: PublicRows = None,
    tail: Annotated[float, typer.Option(help="Share of values that may lie beyond each bound.")] = 0.01,
    *,
    table: TableOptions,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    no_ledger: NoLedger = False,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Release bounds for the columns whose schema says range = "private", under a guarantee for the table's rows.

    Quantiles on a public grid, for all such columns at one price, are written into a copy of the schema, with what
    they cost: models that are fitted with it state that as well.
    """
    with clear_messages() as results:
        from ..bounds.private import UNTOLD, BoundsTerms, released_bounds
        from ..interrupts import held
        from ..schema.file import load_schema
        from .actions.bounds import counted, written
        from .actions.fit import keep_text, refuse_public_rows
        from .actions.inspect import to_json
        from .actions.ledger import account_of_bounds, ledger_inputs, refuse_beyond
        from .actions.outputs import claimed_outputs

        schema = load_schema(schema_path)
        refuse_public_rows(neighbours.value, public_rows)
        account = None if no_ledger else account_of_bounds(ledger, dataset, schema)
        terms = BoundsTerms(epsilon, delta, neighbours, public_rows, tail, seed, account)
        inputs = {**table.inputs, "the schema": [schema_path], **ledger_inputs(ledger, dataset, no_ledger)}
        with claimed_outputs(results, {"--output": output}, inputs, force) as outputs:
            table.advise(schema)
            reader = table.opened_for(schema.columns, schema.target.name)
            refuse_beyond(account, epsilon, delta, public_rows or reader.n_rows)
            cells = counted(reader, schema)
            with held():  # whoever interrupts now has paid for the bounds and shall have them
                found = released_bounds(cells, schema, terms)
                results.what, results.fitted = "the release of bounds", found.privacy.is_private
                keep_text(written(found.schema, output), outputs["--output"], "schema", output.suffix)
        for reason in found.privacy.weaknesses:
            typer.secho(f"warning: a weak guarantee: {reason}", fg=ALARMS["WEAK"], err=True)
        for name in found.untold:
            typer.secho(f"warning: the range of {shown(name)} stays private: {UNTOLD}", fg=ALARMS["WEAK"], err=True)
        if as_json:
            typer.echo(to_json({"schema": str(output), **found.to_dict()}))
        else:
            echo(repr(found))
