"""What a private fit will be worth, before any record is read: plans, rehearsed with made-up records.

How noise and steps follow from public numbers is known exactly (methods/select_refit_plan.py). What they do to
effects and predictions is rehearsed: the real method is fitted to made-up records of the same size, many times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from .. import checks
from ..data.bounded import MAX_ROWS
from ..methods.select_refit_plan import SelectRefitPlan
from ..optim import progress
from ..privacy.budget import Neighbours
from ..schema.columns import Schema
from .planner_forecast import Accuracy, Forecast, SmallestEffect
from .planner_probes import SHARES, Probing, wanted_size
from .planner_rehearsal import Terms, mean_accuracy
from .planner_tables import MadeUpTable, PlainTable, SchemaTable, Supposed
from .planner_worlds import MOST_FEATURES, World

REPEATS, NEEDED_REPEATS, ACCURACY_REPEATS = 320, 40, 36
_HIGHEST_EPSILON = 50.0
_FEWEST_ROWS = 100
_USUAL = Supposed()


def plan(
    n_rows: int,
    n_features: int | None = None,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    neighbours: str = "zero-out",
    schema: Schema | None = None,
    supposed: Supposed = _USUAL,
    repeats: int = REPEATS,
    random_state: int = 0,
) -> Forecast:
    """Tell what a fit of `SparsePrivateLogisticRegression` will be worth, before any record is read.

    Parameters
    ----------
    n_rows : int
        How many rows there will be.
    n_features : int, optional
        How many features there are; needed unless there is a schema.
    epsilon : float, default=1.0
        The budget.
    delta : float, optional
        The guarantee's δ, n^-1.5 by default.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        The relation that the guarantee is about.
    schema : Schema, optional
        What is publicly known about the table, with a target of two classes: records are made up of its columns.
    supposed : Supposed, optional
        What sizes alone do not tell: how well classes can be told at all, how frequent they are, how many effects
        there are.
    repeats : int, default=320
        Rehearsals; more of them make the answer more exact.
    random_state : int, default=0
        Seed of the rehearsals; it protects nobody, as nobody is in them.

    Returns
    -------
    Forecast
        Noise, steps, smallest effects that will be found, widths of intervals, expected accuracy.

    Privacy
    -------
    Data-independent: no record is read.
    """
    world, terms = _world(n_features, schema, supposed), _terms(n_rows, epsilon, delta, neighbours)
    repeats = checks.whole("repeats", repeats, 1)
    planned, probing = terms.plan(world.table), Probing.of(world, terms, random_state)
    progress.begin(_steps(planned) * (repeats + ACCURACY_REPEATS))
    return Forecast(
        n_rows=terms.n_rows,
        n_features=world.table.n_features,
        epsilon=terms.epsilon,
        delta=terms.budget.delta,
        neighbours=terms.neighbours,
        events=planned.events,
        most_kept=planned.releases.stages[-1].kept,
        effects=_smallest_effects(probing, terms, repeats),
        accuracy=_expected_accuracy(world, terms, random_state),
        assumptions=(*world.table.words, *supposed.words(world.effects, probing.world.effects)),
        repeats=repeats,
    )


def needed_epsilon(
    n_rows: int,
    n_features: int | None = None,
    *,
    odds_ratio: float,
    share: float | None = None,
    delta: float | None = None,
    neighbours: str = "zero-out",
    schema: Schema | None = None,
    supposed: Supposed = _USUAL,
    repeats: int = NEEDED_REPEATS,
    random_state: int = 0,
) -> float | None:
    """Tell the ε at which an effect is found with probability 0.9, before any record is read.

    Parameters
    ----------
    n_rows : int
        How many rows there will be.
    n_features : int, optional
        How many features there are; needed unless there is a schema.
    odds_ratio : float
        The effect: the factor on the odds of having a category, or from a number's lower to its upper bound.
    share : float, optional
        The share of rows that have the category; a number if not given.
    delta : float, optional
        As in `plan`.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        As in `plan`.
    schema : Schema, optional
        As in `plan`.
    supposed : Supposed, optional
        As in `plan`.
    repeats : int, default=40
        As in `plan`.
    random_state : int, default=0
        As in `plan`.

    Returns
    -------
    float or None
        The ε that is needed; None where even ε = 50 would not do.

    Privacy
    -------
    Data-independent: no record is read.
    """
    world, terms = _world(n_features, schema, supposed), _terms(n_rows, 1.0, delta, neighbours)
    probing = Probing.of(world, terms, random_state)
    return _needed(probing, lambda at: replace(terms, epsilon=at), odds_ratio, share, 0.01, _HIGHEST_EPSILON, repeats)


def needed_rows(
    n_features: int | None = None,
    *,
    odds_ratio: float,
    share: float | None = None,
    epsilon: float = 1.0,
    delta: float | None = None,
    neighbours: str = "zero-out",
    schema: Schema | None = None,
    supposed: Supposed = _USUAL,
    repeats: int = NEEDED_REPEATS,
    random_state: int = 0,
) -> int | None:
    """Tell the number of rows at which an effect is found with probability 0.9, before any record is read.

    Parameters
    ----------
    n_features : int, optional
        How many features there are; needed unless there is a schema.
    odds_ratio : float
        The effect, as in `needed_epsilon`.
    share : float, optional
        The share of rows that have the category; a number if not given.
    epsilon : float, default=1.0
        The budget.
    delta : float, optional
        As in `plan`.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        As in `plan`.
    schema : Schema, optional
        As in `plan`.
    supposed : Supposed, optional
        As in `plan`.
    repeats : int, default=40
        As in `plan`.
    random_state : int, default=0
        As in `plan`.

    Returns
    -------
    int or None
        The number of rows that is needed; None where no table that can be fitted has enough.

    Privacy
    -------
    Data-independent: no record is read.
    """
    world, terms = _world(n_features, schema, supposed), _terms(10_000, epsilon, delta, neighbours)
    probing = Probing.of(world, terms, random_state)
    found = _needed(
        probing, lambda at: replace(terms, n_rows=round(at)), odds_ratio, share, _FEWEST_ROWS, MAX_ROWS, repeats
    )
    return None if found is None else math.ceil(found)


def _needed(
    probing: Probing,
    at: Callable[[float], Terms],
    odds_ratio: float,
    share: float | None,
    lowest: float,
    highest: float,
    repeats: int,
) -> float | None:
    """Return where an effect is found, among terms between a lowest and a highest."""
    if share is not None:
        checks.share("share", share)
    size = wanted_size(checks.positive("odds_ratio", odds_ratio), share)
    repeats = checks.whole("repeats", repeats, 1)
    guess = probing.guessed(at, size, lowest, highest)
    progress.begin(_steps(at(guess).plan(probing.world.table)) * repeats)
    return probing.needed(at, share, size, (lowest, guess, highest), repeats)


def _smallest_effects(probing: Probing, terms: Terms, repeats: int) -> tuple[SmallestEffect, ...]:
    return tuple(
        SmallestEffect(share, *found)
        for share, found in zip(SHARES, probing.smallest(terms, repeats), strict=True)
        if probing.world.table.holds(share)
    )


def _expected_accuracy(world: World, terms: Terms, seed: int) -> Accuracy:
    private, error, plain = mean_accuracy(world, terms, ACCURACY_REPEATS, seed)
    return Accuracy(private, error, plain, world.supposed.accuracy, max(world.supposed.rate, 1 - world.supposed.rate))


def _steps(planned: SelectRefitPlan) -> int:
    """How many steps one rehearsal takes."""
    return sum(stage.steps for stage in planned.releases.stages)


def _terms(n_rows: int, epsilon: float, delta: float | None, neighbours: str) -> Terms:
    rows = checks.whole_within("n_rows", n_rows, _FEWEST_ROWS, MAX_ROWS)
    terms = Terms(rows, epsilon, delta, Neighbours.parse(neighbours))
    terms.budget  # noqa: B018 - refuses what is no budget
    return terms


def _world(n_features: int | None, schema: Schema | None, supposed: Supposed) -> World:
    if (n_features is None) == (schema is None):
        raise ValueError("give n_features, or a schema that says which there are, and not both")
    if schema is not None:
        if supposed.nonzero is not None:
            raise ValueError("nonzero is for tables without a schema, which says what its columns hold; leave it out")
        table: MadeUpTable = SchemaTable(schema, supposed.skew, supposed.correlation)
        checks.whole_within("the number of the schema's features", table.n_features, 1, MOST_FEATURES)
    else:
        features = checks.whole_within("n_features", n_features, 2, MOST_FEATURES)
        table = PlainTable(features, supposed.nonzero, supposed.correlation)
    world = World(table, supposed)
    if world.effects > world.able:
        raise ValueError(
            f"effects must be at most {world.able}, the number of features that can have one, got {world.effects}; "
            "state fewer effects, or more features"
        )
    return world
