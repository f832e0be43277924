"""The command that plans: what a fit will be worth, before any record is read."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..privacy.budget import Neighbours
from .model import Relation
from .options import AsJson, Force, Shape, ShapeOption, clear_messages, say, steps_shown

Rows = Annotated[int, typer.Option("--rows", min=100, help="How many rows there will be.", show_default=False)]
Features = Annotated[int | None, typer.Option("--features", min=2, help="How many features, without a schema.")]
Known = Annotated[Path | None, typer.Option("--schema", help="The schema: records are made up of its columns.")]
Accuracy = Annotated[
    float, typer.Option(help="What a model that knows the truth would reach: state what models of such tables reach.")
]
Rate = Annotated[float, typer.Option(help="The share of rows of class 1.")]
Effects = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many features have real effects.", show_default="6, or all features if they are fewer"
    ),
]
Nonzero = Annotated[
    float | None, typer.Option(help="The share of cells that are not zero: features are indicators, not numbers.")
]
Skew = Annotated[float, typer.Option(help="With a schema: 0 for equally frequent categories, 1 for shares of 1/k.")]
Correlation = Annotated[
    float,
    typer.Option(
        help="How strongly neighbouring columns correlate; effects are on neighbours then, of the same sign."
    ),
]
FindEffect = Annotated[
    float | None, typer.Option(help="An odds ratio: tell the ε, and the number of rows, that are needed to find it.")
]
Share = Annotated[
    float | None,
    typer.Option(help="For --find-effect: the share of rows that have the category.", show_default=False),
]
Repeats = Annotated[
    int | None,
    typer.Option(min=5, help="Rehearsals: the more, the more exact.", show_default="320, for --find-effect 40"),
]
Picture = Annotated[
    Path | None, typer.Option(help="Also rehearse other ε, and draw utility against ε: an .svg or .html file.")
]


def plan(
    rows: Rows,
    features: Features = None,
    epsilon: Annotated[float, typer.Option(help="The whole budget of the fit.")] = 1.0,
    delta: Annotated[float | None, typer.Option(help="The guarantee's δ.", show_default="n^-1.5")] = None,
    neighbours: Relation = Neighbours.ZERO_OUT,
    schema_path: Known = None,
    shape: ShapeOption = Shape.LINEAR,
    accuracy: Accuracy = 0.8,
    rate: Rate = 0.5,
    effects: Effects = None,
    nonzero: Nonzero = None,
    skew: Skew = 0.0,
    correlation: Correlation = 0.0,
    find_effect: FindEffect = None,
    share: Share = None,
    repeats: Repeats = None,
    picture: Picture = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Tell what a fit of select-refit will be worth, before any record is read.

    Its noise and steps follow from public numbers; smallest effects that will be found, widths of intervals and the
    expected accuracy come from rehearsals with made-up records.
    """
    with clear_messages() as results:
        from ..evaluation.planner_tables import Supposed
        from ..optim import progress
        from .actions import planning
        from .actions.outputs import claimed_outputs

        supposed = Supposed(accuracy, rate, effects, nonzero, skew, correlation)
        terms = {"delta": delta, "neighbours": neighbours.value, "supposed": supposed}
        table = planning.stated_table(features, schema_path, steps=shape is Shape.STEPS)
        request = planning.Request(rows, epsilon, table | terms, repeats)
        planning.refuse_misuse(rows, find_effect, share, picture)
        with steps_shown("rehearsing") as shown, progress.listening(shown):
            if find_effect is not None:
                answer = planning.needs(request, find_effect, share)
                say(planning.needs_in_words(answer) if not as_json else planning.as_json(answer))
                return
            schemas = [] if schema_path is None else [schema_path]
            with claimed_outputs(results, {"--picture": picture}, {"the schema": schemas}, force) as outputs:
                if picture is None:
                    forecast = planning.forecast(request)
                else:
                    forecast, drawn = planning.pictured(request, picture)
                    outputs["--picture"].write(drawn)
        say(planning.as_json(forecast.to_dict()) if as_json else str(forecast))
