"""The command that tunes: one budget for all candidates and the choice among them."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..privacy.budget import Neighbours
from .model import Method, NoLedger, ParameterOption, PublicRows, Relation, Seed, echo, warn_of
from .options import (
    AsJson,
    DatasetOption,
    Epsilon,
    Force,
    LedgerOption,
    SchemaFile,
    Shape,
    ShapeOption,
    TableOptions,
    clear_messages,
    steps_shown,
)

if TYPE_CHECKING:
    from .actions.tuning import Chosen


class Strategy(StrEnum):
    """How candidates are tried."""

    AUTO = "auto"
    ALL = "all"
    RANDOM_STOPPING = "random-stopping"


class Scoring(StrEnum):
    """By what candidates are compared."""

    ACCURACY = "accuracy"
    BRIER = "brier"
    SQUARED_ERROR = "squared-error"


Grid = Annotated[
    list[str] | None,
    typer.Option(help="A parameter and its values, such as max_features=5,10,20; repeat it for every combination."),
]
Methods = Annotated[
    list[Method] | None,
    typer.Option("--method", help="A method to try; repeat it for more.", show_default="select-refit"),
]
ScoringOption = Annotated[
    Scoring | None,
    typer.Option("--scoring", help="What the choice goes by.", show_default="accuracy; squared-error for a number"),
]
StrategyOption = Annotated[
    Strategy, typer.Option(help="Fit all candidates, or a random number of them; auto fits all if they are few.")
]
MeanRuns = Annotated[
    int | None,
    typer.Option(min=2, help="For random-stopping: fits on average.", show_default="the number of candidates"),
]
Share = Annotated[float, typer.Option("--holdout", help="The probability with which a row is kept for the choice.")]


def tune(
    schema_path: SchemaFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the chosen model goes, as JSON.")],
    grid: Grid = None,
    method: Methods = None,
    epsilon: Epsilon = 1.0,
    delta: Annotated[float | None, typer.Option(help="The guarantee's δ.", show_default="n^-1.5")] = None,
    neighbours: Relation = Neighbours.ZERO_OUT,
    public_rows: PublicRows = None,
    scoring: ScoringOption = None,
    strategy: StrategyOption = Strategy.AUTO,
    mean_runs: MeanRuns = None,
    holdout: Share = 0.2,
    shape: ShapeOption = Shape.LINEAR,
    option: ParameterOption = None,
    *,
    table: TableOptions,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    no_ledger: NoLedger = False,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Choose among candidates privately, and write the chosen model: epsilon pays for all fits and for the choice.

    Rows for the choice are set aside by coins. No score is shown, and with random-stopping not how many were tried.
    Tuning costs noise: the command says how much before it spends anything.
    """
    with clear_messages() as results:
        from ..evaluation.search import PrivateSearch
        from ..evaluation.tuning import advice
        from ..interrupts import held
        from ..optim import progress
        from ..schema.file import load_schema
        from .actions import tuning as actions
        from .actions.bounds import refuse_bounds
        from .actions.fit import keep_model, refuse_dropping, refuse_public_rows
        from .actions.ledger import account_of_fit, ledger_inputs, refuse_beyond
        from .actions.methods import method_for
        from .actions.outputs import claimed_outputs

        schema = load_schema(schema_path)
        schema.refuse_persons("a search")
        asked = [None] if method is None else [name.value for name in method]
        chosen = [method_for(name, schema.target) for name in asked]
        refuse_bounds(None, schema, neighbours.value, None)
        account = None if no_ledger else account_of_fit(ledger, dataset, schema, *chosen[:1])
        schema = schema.with_steps() if shape is Shape.STEPS else schema
        refuse_dropping(schema, neighbours.value)
        refuse_public_rows(neighbours.value, public_rows)
        tuning = PrivateSearch(
            actions.estimators_of(chosen, schema, option or ()),
            actions.grid_of(grid or (), chosen),
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours.value,
            n_rows=public_rows,
            scoring=None if scoring is None else scoring.value,
            strategy=strategy.value,
            mean_runs=mean_runs,
            holdout=holdout,
            random_state=seed,
            ledger=account,
        ).terms()
        inputs = {**table.inputs, "the schema": [schema_path], **ledger_inputs(ledger, dataset, no_ledger)}
        with claimed_outputs(results, {"--output": output}, inputs, force) as outputs:
            table.advise(schema)
            reader = table.opened_for(schema.columns, schema.target.name)
            refuse_beyond(account, epsilon, delta, public_rows or reader.n_rows)
            source, chooser = actions.sources_of(tuning)
            with steps_shown("reading rows") as shown:
                rows = actions.tuning_rows(reader, schema, tuning, lambda seen: shown(seen, reader.n_rows), source)
            split = tuning.split(*rows.counted)
            plan = tuning.plan(split, len(schema.features))
            typer.echo(advice(plan, split, public_rows or sum(rows.counted)), err=True)
            with steps_shown("searching") as shown, progress.listening(shown):
                results.what, results.charging = "the search", account is not None
                found = actions.search_rows(rows, schema, tuning, plan, split, chooser)
                with held():  # whoever interrupts now has paid for the model and shall have it
                    results.fitted = found.model.privacy.is_private
                    keep_model(found.model, outputs["--output"])
        _show(found, output, as_json)


def _show(found: Chosen, output: Path, as_json: bool) -> None:
    from .actions.inspect import describe, facts, to_json

    warn_of(found.model)
    if as_json:
        typer.echo(to_json({"model": str(output), **found.facts, **facts(found.model)}))
        return
    echo(f"chosen: {found.facts['chosen']}, of {found.facts['candidates']} candidates\n\n{describe(found.model)}")
