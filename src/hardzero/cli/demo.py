"""The whole walk on the bundled sample: a table, a schema, a model, a report, predictions."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Epsilon, Force, Shape, TableOptions, clear_messages


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the files.")] = Path(
        "hardzero-demo"
    ),
    epsilon: Epsilon = 1.0,
    force: Force = False,
) -> None:
    """Fit, report and predict on a sample of UCI Adult: who earns more than 50,000 dollars a year.

    Writes the table, its schema, the model, the report and predictions into a folder, and shows each command.
    """
    with clear_messages() as results:
        from .actions.demo import FILES, copy_sample
        from .model import fit, predict

        copy_sample(output, overwrite=force, heard=results.output)
        train, test, schema = (output / name for name in FILES)
        model, page, answers = (output / name for name in ("model.json", "report.html", "predictions.csv"))
        options = f"--schema {schema} --epsilon {epsilon:g} --shape steps"
        typer.echo(f"$ hardzero fit {train} {options} -o {model} --report {page}\n")
        fit(
            schema,
            model,
            epsilon=epsilon,
            shape=Shape.STEPS,
            report=page,
            table=TableOptions(str(train)),
            no_ledger=True,  # a public sample
            force=force,
        )
        typer.echo(f"\n$ hardzero predict {model} {test} --keep income -o {answers}\n")
        predict(model, answers, keep=["income"], table=TableOptions(str(test)), force=force)
        from .actions.demo import accuracy

        typer.echo(f"accuracy on new people: {accuracy(answers):.1%}")
        typer.echo(f"wrote {model}, {page} and {answers}")
