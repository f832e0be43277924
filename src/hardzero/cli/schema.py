"""Commands about schemas: what is publicly known about a table."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Force, TableOptions, clear_messages, say, spelled_out

app = typer.Typer(help="Write and check schemas: what is publicly known about a table.", no_args_is_help=True)


@app.command(epilog="Example: hardzero schema init people.csv --target income --output people.toml")
@spelled_out
def init(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the template goes.", show_default="the terminal")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column that is to be predicted.")] = None,
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
    """Write a template with a table's column names, and its types if it has any; the rest is for you to fill in.

    It must come from what is known about the variables: read from the records it would give records away.
    """
    with clear_messages() as results:
        from ..atomic import claimed
        from ..schema.file import schema_template

        text = schema_template(table.opened(n_features), target, guess_types=holder)
        if output is None:
            say(text.removesuffix("\n"))
        else:
            with claimed(output, overwrite=force) as claim:
                results.output(claim).write(text)


@app.command(epilog="Example: hardzero schema check people.toml people.csv")
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
        if table.source is None and table.query is None:
            typer.echo(json.dumps({"features": len(schema.features)}) if as_json else "the schema is in order")
            return
        found = check_table(schema, table.opened_for(schema.columns), holder=holder)
        say(json.dumps(asdict(found)) if as_json else str(found))
        if not found.passed:
            raise typer.Exit(1)
