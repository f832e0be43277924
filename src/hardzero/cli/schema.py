"""Commands about schemas: what is publicly known about a table."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Force, OneTable, TableOptions, clear_messages, say, spelled_out

app = typer.Typer(help="Write and check schemas: what is publicly known about a table.", no_args_is_help=True)


@app.command(
    cls=OneTable,
    epilog="Example: hardzero schema init --codebook people.names --codebook bounds.csv --target income -o out.toml",
)
@spelled_out
def init(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the schema goes.", show_default="the terminal")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column that is to be predicted.")] = None,
    codebook: Annotated[
        list[Path] | None,
        typer.Option(
            help="A code book: CSV, JSON or UCI's .names; a second one completes the first. Needs no table."
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="With a code book: the class that weights speak for, if there are two.")
    ] = None,
    *,
    table: TableOptions,
    holder: Annotated[
        bool,
        typer.Option("--holder", help="Guess the types of a text file from its first rows: for the holder only."),
    ] = False,
    n_features: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of features of a LIBSVM file, known without looking at it.", show_default=False
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a schema from code books, or a template with a table's column names and types to fill in.

    What is missing must come from what is known about the variables: read from records it would give them away.
    """
    with clear_messages() as results:
        from .actions.outputs import claimed_outputs
        from .actions.schema import drafted, what_is_left

        inputs = {**table.inputs, "the code book": codebook or []}
        with claimed_outputs(results, {"--output": output}, inputs, force) as outputs:
            draft = drafted(table, codebook or (), target, positive, guess_types=holder, n_features=n_features)
            if output is None:
                say(draft.text.removesuffix("\n"))
            else:
                outputs["--output"].write(draft.text)
        for line in what_is_left(draft):
            say(line, err=True)


@app.command(cls=OneTable, epilog="Example: hardzero schema check people.toml people.csv")
@spelled_out
def check(
    schema_path: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema.", show_default=False)],
    *,
    table: TableOptions,
    holder: Annotated[
        bool,
        typer.Option("--holder", help="Also count missing, clipped and unknown cells: for the holder only."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a schema, and whether a table's columns fit it; no record is read unless the data holder asks."""
    with clear_messages():
        from ..readers.check import check_table
        from ..schema.file import load_schema

        schema = load_schema(schema_path)
        if not table.is_given:
            private = [column.name for column in schema.unbounded]
            if as_json:
                typer.echo(json.dumps({"features": len(schema.at_limits().features), "private_ranges": private}))
            else:
                say("the schema is in order" + (f"; bounds to be released: {', '.join(private)}" if private else ""))
            return
        if not holder:
            table.advise(schema)
        found = check_table(schema.at_limits(), table.opened_for(schema.columns, schema.target.name), holder=holder)
        say(json.dumps(asdict(found)) if as_json else str(found))
        if not found.passed:
            raise typer.Exit(1)
