"""The command line. Everything slow is imported inside the commands: help must come at once."""

from __future__ import annotations

from typing import Annotated

import typer

from ..version import __version__
from . import audit, bounds, demo, evaluate, ledger, model, planning, reproduce, schema, tuning
from .options import OneTable, spelled_out

app = typer.Typer(
    help="Sparse linear models under differential privacy, with zeros that stay zero.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.command(epilog="Example: hardzero version")
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def _told(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def before(
    _: Annotated[
        bool, typer.Option("--version", callback=_told, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What comes before the name of a command."""


app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")
app.command(epilog="Example: hardzero plan --rows 20000 --features 100 --epsilon 1")(planning.plan)
for of_table, example in (
    (bounds.bounds, "hardzero bounds people.csv --schema unknown.toml --epsilon 0.5 --output bounded.toml"),
    (
        model.fit,
        "hardzero fit people.csv --schema people.toml --epsilon 1 --output model.json --report report.html",
    ),
    (
        tuning.tune,
        'hardzero tune people.csv --schema people.toml --epsilon 1 --grid "max_features=5,10,20" --output model.json',
    ),
    (model.predict, "hardzero predict model.json new-people.csv --keep id --output predictions.csv"),
    (
        evaluate.evaluate,
        "hardzero evaluate model.json test.csv --epsilon 0.2 --output evaluation.json --report report.html",
    ),
):
    app.command(cls=OneTable, epilog=f"Example: {example}")(spelled_out(of_table))
for command, example in (
    (model.report, "hardzero report model.json --output report.html"),
    (model.inspect, "hardzero inspect model.json"),
    (model.export, "hardzero export model.json --output model.onnx"),
    (demo.demo, "hardzero demo --output demo"),
    (audit.audit, "hardzero audit --quick"),
    (reproduce.reproduce, "hardzero reproduce table2 --trials 10 --jobs 2 --data splice --data phishing"),
):
    app.command(epilog=f"Example: {example}")(command)
