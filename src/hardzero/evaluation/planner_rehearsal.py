"""Rehearsals: the real method, fitted to made-up records of which the truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data.bounded import FloatArray
from ..data.variables import Variables
from ..methods.plans import default_delta
from ..methods.select_refit import select_and_refit
from ..methods.select_refit_plan import SelectRefitPlan, plan_select_refit
from ..model.inference import FALSE_DISCOVERY_RATE
from ..optim.frank_wolfe import Weights
from ..optim.losses import Logistic
from ..optim.problem import ScatteredProblem
from ..privacy.budget import Budget, Neighbours
from ..privacy.randomness import SeededSource
from .planner_stand_ins import averaged, drawn_labels, stand_ins
from .planner_tables import MadeUpTable, with_probes
from .planner_worlds import Probe, World, rows_at_hand

_SMALLEST = 1e-300
_RIDGE, _NEWTON_STEPS = 1.0, 8
_MOST_WITHOUT_PRIVACY = 1000
"""With more features than this no fit without privacy is shown: it would take longer than all others together."""


@dataclass(frozen=True)
class Terms:
    """How many rows there will be, and under which guarantee; δ is n^-1.5 unless stated.

    Privacy
    -------
    Data-independent.
    """

    n_rows: int
    epsilon: float
    delta: float | None = None
    neighbours: Neighbours = Neighbours.ZERO_OUT

    @property
    def budget(self) -> Budget:
        """The whole budget of the fit."""
        return Budget.asked(self.epsilon, default_delta(self.n_rows) if self.delta is None else self.delta)

    def plan(self, table: MadeUpTable, probes: int = 0) -> SelectRefitPlan:
        """Return what a fit of the table will do, with so many features put beside it."""
        return _planned(self, table.beside(probes).n_features + probes, with_probes(table.variables, probes))


@lru_cache(maxsize=256)
def _planned(terms: Terms, features: int, variables: Variables | None) -> SelectRefitPlan:
    return plan_select_refit(terms.budget, terms.neighbours, terms.n_rows, features, outputs=1, variables=variables)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What became of one fit.

    Attributes
    ----------
    clearness : array
        How clearly each probe was found, in standard deviations of its false-discovery rate from what is called
        reliable; below 0 it was not.
    errors : array
        Standard errors of the probes' weights, by one standard deviation of each; NaN where one was dropped.
    accuracy : float
        Expected accuracy on new rows.
    plain_accuracy : float
        The same of a model fitted to the same rows without privacy; NaN unless it was asked for.
    """

    clearness: FloatArray
    errors: FloatArray
    accuracy: float
    plain_accuracy: float

    @property
    def found(self) -> NDArray[np.bool_]:
        """Which probes were kept and called reliable."""
        return self.clearness >= 0


def rehearse(
    world: World, terms: Terms, strength: float, probes: Sequence[Probe], seed: Sequence[int], *, plain: bool = False
) -> Rehearsal:
    """Fit made-up records once, as `SparsePrivateLogisticRegression` would.

    Privacy
    -------
    Data-independent.
    """
    rng = np.random.default_rng(list(seed))
    n_rows, plan = terms.n_rows, terms.plan(world.table, len(probes))
    rows = rows_at_hand(n_rows, world.table.n_features)
    X, chance = world.draw(rows, n_rows, strength, probes, rng)
    labels = drawn_labels(chance, rng)
    targets = averaged(labels[0], chance, n_rows)
    problem = ScatteredProblem(stand_ins(X, targets, labels, n_rows), Logistic(), n_rows, X.shape[1])
    fitted = select_and_refit(problem, plan, SeededSource(int(rng.integers(2**63))))
    return _judged(fitted, probes, X, chance, _refitted(X, targets, n_rows / rows) if plain else None)


def mean_accuracy(world: World, terms: Terms, repeats: int, seed: int) -> tuple[float, float, float]:
    """Return the expected accuracy with its standard error, and that of a fit without privacy.

    Privacy
    -------
    Data-independent.
    """
    strength = world.strength()
    plain = 3 if world.table.n_features <= _MOST_WITHOUT_PRIVACY else 0
    seen = [
        rehearse(world, terms, strength, (), [seed, number, 0], plain=number < plain) for number in range(repeats)
    ]
    reached = np.array([one.accuracy for one in seen])
    error = float(reached.std(ddof=1)) / math.sqrt(repeats) if repeats > 1 else math.nan
    without = float(np.mean([one.plain_accuracy for one in seen[:plain]])) if plain else math.nan
    return float(reached.mean()), error, without


def _judged(
    fitted: Weights, probes: Sequence[Probe], X: FloatArray, chance: FloatArray, plain: FloatArray | None
) -> Rehearsal:
    count, spreads = len(probes), np.array([probe.spread for probe in probes])
    last = slice(X.shape[1] - count, None)
    kept = fitted.coef[0, last] != 0
    rates, errors = np.ones(count), np.full(count, np.nan)
    if fitted.evidence is not None:
        rates = np.where(kept, fitted.evidence.q_value[0, last], 1.0)
        errors = np.where(kept, fitted.evidence.standard_error[0, last] * spreads, np.nan)
    accuracy = _accuracy(X @ fitted.coef[0] + fitted.intercept[0], chance)
    plain_accuracy = math.nan if plain is None else _accuracy(X @ plain[:-1] + plain[-1], chance)
    return Rehearsal(_deviations(rates) - _deviations(FALSE_DISCOVERY_RATE), errors, accuracy, plain_accuracy)


def _deviations(rate: Any) -> Any:
    """How many standard deviations from 0 a normal tail is about as small."""
    return np.sqrt(-2 * np.log(np.maximum(rate, _SMALLEST)))


def _accuracy(margin: FloatArray, chance: FloatArray) -> float:
    return float(np.where(margin > 0, chance, 1 - chance).mean())


def _refitted(X: FloatArray, targets: FloatArray, each: float) -> FloatArray:
    """Weights and intercept of logistic regression without privacy, all weights a little smaller."""
    rows = np.column_stack([X, np.ones(len(X))])
    weights = np.zeros(rows.shape[1])
    ridge = np.append(np.full(X.shape[1], _RIDGE / each), 1e-9)
    for _ in range(_NEWTON_STEPS):
        chance = expit(rows @ weights)
        slope = rows.T @ (chance - targets) + ridge * weights
        bend = (rows.T * (chance * (1 - chance))) @ rows + np.diag(ridge)
        weights = weights - np.linalg.solve(bend, slope)
    return weights
