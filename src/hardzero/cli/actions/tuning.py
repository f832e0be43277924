"""A search over candidates on a table with a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...checks import InputError
from ...evaluation.assess import margins_of
from ...evaluation.holdout import Split, coins, rows_of
from ...evaluation.tuning import Tuning
from ...evaluation.tuning_plan import TuningPlan
from ...evaluation.tuning_run import branched
from ...evaluation.tuning_scores import class_points, number_points
from ...model import FittedModel
from ...privacy.randomness import IntArray, Source, source_for
from ...readers import TableReader
from ...schema.columns import Schema
from ...schema.target import NumericTarget
from .evaluate import order_of
from .fit import RegressionRows, TrainingRows, fit_to, read_rows, released
from .holdout import SetAside
from .methods import build_estimator, parsed_grid


@dataclass(frozen=True)
class TuningRows:
    """Rows to fit candidates to, and others to choose by.

    Privacy
    -------
    Sensitive.
    """

    fitted: TrainingRows | RegressionRows
    X: Any
    target: Any
    counted: tuple[int, int]


@dataclass(frozen=True)
class Chosen:
    """What a search released, and which candidate that is.

    Privacy
    -------
    Post-processing.
    """

    model: FittedModel
    facts: dict[str, Any]


def estimators_of(methods: Sequence[str], schema: Schema, options: Sequence[str]) -> Any:
    """Return an estimator for each method by its name, without a budget of its own; the only one if there is one.

    Privacy
    -------
    Data-independent.
    """
    if len(set(methods)) < len(methods):
        raise InputError("--method: a method is listed twice; list each once")
    built = {method: build_estimator(method, schema, {}, options) for method in methods}
    return built if len(built) > 1 else next(iter(built.values()))


def grid_of(grids: Sequence[str], methods: Sequence[str]) -> dict[str, list[Any]] | None:
    """Return the grid, if there is one; without one there must be several methods to choose among.

    Privacy
    -------
    Data-independent.
    """
    grid = parsed_grid(grids)
    if len(methods) * math.prod(map(len, grid.values())) < 2:
        raise InputError(
            "a search needs two candidates or more: add --grid with a parameter and several values, or a second "
            "--method"
        )
    return grid or None


def tuning_rows(
    reader: TableReader, schema: Schema, tuning: Tuning, heard: Callable[[int], None], source: Source
) -> TuningRows:
    """Read a table; each row goes to one part, by its own coin.

    Privacy
    -------
    Sensitive. A row's part depends on nothing.
    """
    if isinstance(schema.target, NumericTarget):
        rows = read_rows(reader, schema, heard)
        assert isinstance(rows, RegressionRows)
        aside = coins(len(rows.y), tuning.holdout, source)
        inside = RegressionRows(rows_of(rows.X, ~aside), rows.y[~aside])
        return TuningRows(inside, rows_of(rows.X, aside), rows.y[aside], (int(np.sum(~aside)), int(np.sum(aside))))
    apart = SetAside(tuning.holdout, tuning.seed, source)
    fitted = read_rows(reader, schema, heard, apart.without)
    X = sparse.vstack([rows for rows, _, _ in apart.kept], format="csr")
    places = np.concatenate([found for _, found, _ in apart.kept])
    return TuningRows(fitted, X, places, (int(np.sum(~apart.coins)), len(places)))


def search_rows(
    rows: TuningRows, schema: Schema, tuning: Tuning, plan: TuningPlan, split: Split, source: Source
) -> Chosen:
    """Search on rows that were read.

    Privacy
    -------
    Releases a model, and which candidate it is, at the cost of the plan. Proof: docs/proofs/tuning.md.
    """
    with tuning.charged(plan) as receipt:
        number, best = tuning.carried_out(
            plan,
            split,
            lambda estimator: fit_to(rows.fitted, schema, estimator),
            lambda estimator: _points(estimator, schema, rows, tuning.scoring),
            source,
        )
    tuning.settle(best, plan, split, sum(rows.counted), receipt)
    candidate = tuning.candidates[number]
    facts = {
        "chosen": candidate.name,
        "chosen_params": dict(candidate.params),
        "candidates": len(tuning.candidates),
        "strategy": "all" if tuning.odds is None else "random-stopping",
        "mean_runs": tuning.odds,
        "scoring": tuning.scoring,
        "holdout": tuning.holdout,
    }
    return Chosen(released(schema, best), facts)


def sources_of(tuning: Tuning) -> tuple[Source, Source]:
    """Return what decides about coins, and what decides about candidates and their number.

    Privacy
    -------
    Data-independent.
    """
    source = source_for(tuning.seed)
    chooser = branched(source)
    return source, chooser


def _points(estimator: Any, schema: Schema, rows: TuningRows, scoring: str) -> IntArray:
    model = released(schema, estimator)
    margins = margins_of(model, rows.X)
    if isinstance(schema.target, NumericTarget):
        return number_points(margins[:, 0], rows.target, (schema.target.lower, schema.target.upper))
    return class_points(margins, order_of(model, schema)[rows.target], scoring)
