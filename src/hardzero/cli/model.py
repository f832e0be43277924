"""Commands about models: fit, predict, report, inspect, export."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..estimators import CHOICES, PRUNINGS
from ..privacy.budget import Neighbours
from .options import (
    AsJson,
    DatasetOption,
    Epsilon,
    Force,
    LedgerOption,
    ModelFile,
    SchemaFile,
    Shape,
    ShapeOption,
    TableOptions,
    clear_messages,
    steps_shown,
)

if TYPE_CHECKING:
    from ..model import FittedModel
    from ..model.evaluation import Evaluation
    from ..schema.columns import Schema
    from .actions.holdout import SetAside


ALARMS = {"NOT PRIVATE": typer.colors.RED, "WEAK": typer.colors.YELLOW}


Method = StrEnum("Method", {name.upper().replace("-", "_"): name for name in CHOICES})  # type: ignore[misc]
Pruning = StrEnum("Pruning", {name.upper(): name for name in PRUNINGS})  # type: ignore[misc]
_UNPRUNED = Pruning("none")
Prune = Annotated[
    Pruning, typer.Option(help="For select-refit: reliable keeps only features that can be told from noise.")
]
MaxVariables = Annotated[
    int | None,
    typer.Option(
        min=1, help="For select-refit: most columns with nonzero weights.", show_default="12, or 3√v of many columns"
    ),
]
Relation = Annotated[
    Neighbours,
    typer.Option(help="One person's record is there or empty, is exchanged for another, or is there or not."),
]
MethodOption = Annotated[
    Method | None,
    typer.Option(
        help="The estimator; select-refit needs no tuning, lasso is not private. For a target that is a number: "
        "sparsifier or private-lasso.",
        show_default="select-refit; sparsifier for a number",
    ),
]
ParameterOption = Annotated[
    list[str] | None, typer.Option(help="A parameter of the method as name=value; repeat it for more.")
]
PublicRows = Annotated[
    int | None,
    typer.Option(
        min=1, help="For add-remove: a public number of rows (or persons) in place of the true one, which is secret."
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Write text as it is, even where a spreadsheet would take it for a formula.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="The address of a Dask scheduler, such as tcp://host:8786; its workers read the files and keep rows. "
        "For select-refit and private-lasso.",
        show_default="fit here",
    ),
]
NoLedger = Annotated[
    bool, typer.Option("--no-ledger", help="Charge the fit to no ledger, whatever hardzero.toml says.")
]
Holdout = Annotated[
    float | None,
    typer.Option(
        help="Set rows aside with this probability and evaluate the model on them, at no cost on top.",
        show_default="fit to all rows",
    ),
]
EvaluationFile = Annotated[
    Path | None,
    typer.Option(help="Where the evaluation of --holdout goes, as JSON.", show_default="MODEL-evaluation.json"),
]
BoundsEpsilon = Annotated[
    float | None,
    typer.Option(
        help='For columns with range = "private": what releasing their bounds may cost, beside the fit; the model '
        "states both together.",
        show_default="all bounds are public",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="For tests only: a seeded fit is stamped as not private.")]


def fit(
    schema_path: SchemaFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes, as JSON.")],
    epsilon: Epsilon = 1.0,
    delta: Annotated[float | None, typer.Option(help="The guarantee's δ.", show_default="n^-1.5")] = None,
    neighbours: Relation = Neighbours.ZERO_OUT,
    public_rows: PublicRows = None,
    method: MethodOption = None,
    prune: Prune = _UNPRUNED,
    shape: ShapeOption = Shape.LINEAR,
    max_variables: MaxVariables = None,
    option: ParameterOption = None,
    report: Annotated[Path | None, typer.Option(help="Also write the report, as one HTML page.")] = None,
    holdout: Holdout = None,
    evaluation: EvaluationFile = None,
    bounds_epsilon: BoundsEpsilon = None,
    *,
    table: TableOptions,
    scheduler: Scheduler = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    no_ledger: NoLedger = False,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit a sparse private model to a table and write it as JSON.

    Bounds, categories and classes come from the schema, never from the table. The file holds released values only.
    """
    with clear_messages() as results:
        from ..interrupts import held
        from ..model.statement import FewRowsWarning, WeakGuaranteeWarning
        from ..optim import progress
        from ..report import ready, render_report
        from ..schema.file import load_schema
        from .actions.bounds import bounded_for_fit, refuse_bounds
        from .actions.fit import fit_rows, keep_model, refuse_dropping, refuse_public_rows
        from .actions.holdout import evaluation_path, set_aside
        from .actions.ledger import account_of_fit, ledger_inputs, refuse_beyond
        from .actions.methods import build_estimator, method_for
        from .actions.outputs import claimed_outputs

        schema = load_schema(schema_path)
        chosen = method_for(None if method is None else method.value, schema.target)
        refuse_bounds(bounds_epsilon, schema, neighbours.value, scheduler)
        account = None if no_ledger else account_of_fit(ledger, dataset, schema, chosen)
        refuse_dropping(schema, neighbours.value)
        refuse_public_rows(neighbours.value, public_rows)
        if report is not None:
            ready()
        privacy = {
            "epsilon": epsilon,
            "delta": delta,
            "neighbours": neighbours.value,
            "n_rows": public_rows,
            "random_state": seed,
            "ledger": account,
        }

        def ready_to_fit(schema: Schema) -> tuple[Schema, Any]:
            shaped = schema.with_steps() if shape is Shape.STEPS else schema
            return shaped, build_estimator(
                chosen, shaped, privacy, option or (), prune=prune.value, max_variables=max_variables
            )

        # Options are looked at before anything is spent, on bounds too.
        _, estimator = ready_to_fit(schema if bounds_epsilon is None else schema.at_limits())
        apart = set_aside(holdout, schema, estimator, scheduler, seed)
        evaluation = evaluation_path(apart, output, evaluation)
        inputs = {**table.inputs, "the schema": [schema_path], **ledger_inputs(ledger, dataset, no_ledger)}
        with claimed_outputs(
            results, {"--output": output, "--report": report, "--evaluation": evaluation}, inputs, force
        ) as outputs:

            def refuse_excess(n_rows: int | None, before: float = 0.0) -> None:
                refuse_beyond(account, before + epsilon, delta, public_rows or n_rows)

            if bounds_epsilon is not None:
                reader = table.opened_for(schema.columns, schema.target.name)
                refuse_excess(reader.n_rows, bounds_epsilon)
                terms = bounds_epsilon, delta, neighbours, public_rows, seed, account
                schema = bounded_for_fit(reader, schema, terms, results)
            schema, estimator = ready_to_fit(schema)
            with (
                _training_rows(table, schema, estimator, scheduler, apart, refuse_excess) as rows,
                steps_shown("fitting") as shown,
                progress.listening(shown),
                warnings.catch_warnings(),
            ):
                for category in (WeakGuaranteeWarning, FewRowsWarning):  # said below in our own way
                    warnings.simplefilter("ignore", category)
                results.charging = account is not None
                model = fit_rows(rows, schema, estimator)
                with held():  # whoever interrupts now has paid for the model and shall have it
                    results.fitted, results.what = model.privacy.is_private, "the fit"
                    keep_model(model, outputs["--output"])
                    found = None if apart is None else apart.evaluated(model, estimator, outputs["--evaluation"])
            if report is not None:
                outputs["--report"].write(render_report(model, evaluation=found))
        warn_of(model)
        files = {"model": output, "report": report, "evaluation": evaluation}
        _show(model, as_json, {name: None if path is None else str(path) for name, path in files.items()}, found)


@contextmanager
def _training_rows(
    table: TableOptions,
    schema: Schema,
    estimator: Any,
    scheduler: str | None,
    apart: SetAside | None,
    refuse_excess: Callable[[int | None], None],
) -> Iterator[Any]:
    """Read a table here, without rows set aside, or let workers read it; unless too little budget is left."""
    from .actions.fit import read_rows

    table.advise(schema)
    if scheduler is None:
        reader = table.opened_for(schema.columns, schema.target.name)
        refuse_excess(reader.n_rows if schema.person is None else None)  # how many persons, reading will tell
        with steps_shown("reading rows") as shown:
            rows = read_rows(
                reader, schema, lambda seen: shown(seen, reader.n_rows), None if apart is None else apart.without
            )
        if apart is not None:
            apart.settle(estimator)
        yield rows
        return
    from .actions.cluster import rows_on_cluster

    refuse_excess(None)  # how many rows there are, the workers will tell
    with rows_on_cluster(table.parts_for(schema.columns, schema.target.name), schema, estimator, scheduler) as kept:
        yield kept


def predict(
    model_path: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where predictions go, as CSV.")],
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to copy, such as an identifier; repeat it for more.")
    ] = None,
    *,
    table: TableOptions,
    raw: Raw = False,
    force: Force = False,
) -> None:
    """Predict the rows of a table: class and probabilities, one CSV line for each row.

    Needs the model file and the new table only, not the training data, and of the table only columns with a nonzero
    weight. Text that begins like a formula is written with an apostrophe before it.
    """
    with clear_messages() as results:
        from ..model import FittedModel
        from .actions.outputs import claimed_outputs
        from .actions.predict import write_predictions

        inputs = {**table.inputs, "the model": [model_path]}
        with claimed_outputs(results, {"--output": output}, inputs, force) as outputs:
            model = FittedModel.load(model_path)
            described = (
                (model.features,) if model.schema is None else (model.schema.columns, model.schema.target.name)
            )
            reader = table.opened_for(*described)
            with steps_shown("predicting rows") as shown, outputs["--output"].opened() as out:
                unread = write_predictions(
                    model, reader, keep or (), out, lambda seen: shown(seen, reader.n_rows), raw=raw
                )
        for line in unread:
            typer.secho(f"warning: {line}", fg=ALARMS["WEAK"], err=True)


def report(
    model_path: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")],
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    evaluation: Annotated[Path | None, typer.Option(help="What hardzero evaluate wrote, to be shown too.")] = None,
    force: Force = False,
) -> None:
    """Write a report about a model: one HTML page with chart, coefficients and the privacy statement."""
    with clear_messages() as results:
        from ..model import FittedModel
        from ..model.evaluation import Evaluation
        from ..report import render_report
        from .actions.outputs import claimed_outputs

        evaluations = [] if evaluation is None else [evaluation]
        inputs = {"the model": [model_path], "the evaluation": evaluations}
        with claimed_outputs(results, {"--output": output}, inputs, force) as outputs:
            found = None if evaluation is None else Evaluation.load(evaluation)
            page = render_report(FittedModel.load(model_path), title=title, evaluation=found)
            outputs["--output"].write(page)


def inspect(model_path: ModelFile, as_json: AsJson = False) -> None:
    """Show a model: its features, weights in their own units, and the privacy statement."""
    with clear_messages():
        from ..model import FittedModel

        _show(FittedModel.load(model_path), as_json, {"model": str(model_path)})


def export(
    model_path: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the ONNX model goes.")],
    force: Force = False,
) -> None:
    """Export a model with its preprocessing as ONNX, for programs in other languages."""
    with clear_messages() as results:
        from ..model import FittedModel
        from ..model.onnx import to_onnx
        from .actions.outputs import claimed_outputs

        with claimed_outputs(results, {"--output": output}, {"the model": [model_path]}, force) as outputs:
            outputs["--output"].write(to_onnx(FittedModel.load(model_path)).SerializeToString())


def warn_of(model: FittedModel) -> None:
    """Warn of a promise that says little, and of rows that are too few."""
    few, weak = model.privacy.too_few_rows, model.privacy.weaknesses
    for warning in (*([f"too few rows: {few}"] if few else []), *(f"a weak guarantee: {reason}" for reason in weak)):
        typer.secho(f"warning: {warning}", fg=ALARMS["WEAK"], err=True)


def _show(model: FittedModel, as_json: bool, files: dict[str, Any], found: Evaluation | None = None) -> None:
    from .actions.inspect import describe, facts, to_json

    if as_json:
        evaluated = {} if found is None else {"evaluated": found.to_dict()}
        typer.echo(to_json({**files, **facts(model), **evaluated}))
        return
    echo(describe(model))
    if found is not None:
        echo(f"\nOn the rows that were set aside:\n\n{found!r}")


def echo(text: str) -> None:
    """Print lines, in colour where they alarm."""
    for line in text.split("\n"):
        colour = next((colour for start, colour in ALARMS.items() if line.startswith(start)), None)
        typer.echo(line if colour is None else typer.style(line, fg=colour, bold=True))
