"""The command line. Everything slow is imported inside the commands: help must come at once."""

from __future__ import annotations

import typer

from ..version import __version__
from . import audit, bounds, demo, evaluate, ledger, model, planning, reproduce, schema, tuning
from .options import spelled_out

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


app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")
for command, example in (
    (planning.plan, "hardzero plan --rows 20000 --features 100 --epsilon 1"),
    (
        spelled_out(bounds.bounds),
        "hardzero bounds people.csv --schema unknown.toml --epsilon 0.5 --output bounded.toml",
    ),
    (
        spelled_out(model.fit),
        "hardzero fit people.csv --schema people.toml --epsilon 1 --output model.json --report report.html",
    ),
    (
        spelled_out(tuning.tune),
        'hardzero tune people.csv --schema people.toml --epsilon 1 --grid "max_features=5,10,20" --output model.json',
    ),
    (spelled_out(model.predict), "hardzero predict model.json new-people.csv --keep id --output predictions.csv"),
    (
        spelled_out(evaluate.evaluate),
        "hardzero evaluate model.json test.csv --epsilon 0.2 --output evaluation.json --report report.html",
    ),
    (model.report, "hardzero report model.json --output report.html"),
    (model.inspect, "hardzero inspect model.json"),
    (model.export, "hardzero export model.json --output model.onnx"),
    (demo.demo, "hardzero demo --output demo"),
    (audit.audit, "hardzero audit --quick"),
    (reproduce.reproduce, "hardzero reproduce table2 --trials 10 --jobs 2 --data splice --data phishing"),
):
    app.command(epilog=f"Example: {example}")(command)
