"""The command that tells how good a model is."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..privacy.budget import Neighbours
from .model import ALARMS, NoLedger, PublicRows, Relation, Seed, echo
from .options import AsJson, DatasetOption, Force, LedgerOption, ModelFile, TableOptions, clear_messages, steps_shown

if TYPE_CHECKING:
    from ..model.evaluation import Evaluation


def evaluate(
    model_path: ModelFile,
    epsilon: Annotated[float, typer.Option(help="What the evaluation may cost.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="The guarantee's δ.", show_default="n^-1.5")] = None,
    neighbours: Relation = Neighbours.ZERO_OUT,
    public_rows: PublicRows = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where the evaluation goes, as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report with it, as one HTML page.")] = None,
    *,
    table: TableOptions,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    no_ledger: NoLedger = False,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Tell how good a model is on a table that it was not fitted to, under a guarantee for the table's rows.

    Accuracy, AUC, log loss, Brier score, ROC, calibration and the confusion matrix come from one noisy histogram,
    each with a 95 % interval. Only columns with a nonzero weight and the target are read.
    """
    with clear_messages() as results:
        from ..interrupts import held
        from ..model import FittedModel
        from ..readers.check import never_met
        from ..report import ready, render_report
        from .actions.evaluate import evaluated, judged_rows, schema_of
        from .actions.fit import keep_text, refuse_dropping, refuse_public_rows
        from .actions.ledger import account_of_evaluation, ledger_inputs, refuse_beyond
        from .actions.outputs import claimed_outputs

        model = FittedModel.load(model_path)
        schema = schema_of(model)
        refuse_dropping(schema, neighbours.value)
        refuse_public_rows(neighbours.value, public_rows)
        if report is not None:
            ready()
        account = None if no_ledger else account_of_evaluation(ledger, dataset)
        paths = {"--output": output, "--report": report}
        inputs = {**table.inputs, "the model": [model_path], **ledger_inputs(ledger, dataset, no_ledger)}
        with claimed_outputs(results, paths, inputs, force) as outputs:
            table.advise(schema)
            reader = table.opened_for(schema.columns, schema.target.name)
            for name, words in never_met(schema, reader).items():
                if name in (*model.needed, schema.target.name):
                    typer.secho(f"warning: {words}", fg=ALARMS["WEAK"], err=True)
            counted = reader.n_rows if schema.person is None else None  # how many persons, reading will tell
            refuse_beyond(account, epsilon, delta, public_rows or counted)
            with steps_shown("reading rows") as shown:
                rows = judged_rows(model, reader, lambda seen: shown(seen, reader.n_rows))
            with held():  # whoever interrupts now has paid for the evaluation and shall have it
                found = evaluated(model, rows, epsilon, delta, neighbours, public_rows, seed, account)
                results.what, results.fitted = "the evaluation", found.privacy.is_private
                if output is not None:
                    keep_text(found.to_json(), outputs["--output"], "evaluation")
                show(found, as_json, {"model": str(model_path), "evaluation": _name(output), "report": _name(report)})
            if report is not None:
                outputs["--report"].write(render_report(model, evaluation=found))


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def show(found: Evaluation, as_json: bool, files: dict[str, Any]) -> None:
    """Print an evaluation."""
    from .actions.inspect import to_json

    for reason in found.privacy.weaknesses:
        typer.secho(f"warning: a weak guarantee: {reason}", fg=ALARMS["WEAK"], err=True)
    if as_json:
        typer.echo(to_json({**files, **found.to_dict()}))
    else:
        echo(repr(found))
