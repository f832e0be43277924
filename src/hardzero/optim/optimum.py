"""The exact non-private optimum on an L1 ball, with a certificate.

A working set grows around the weights that matter; on it Newton's method solves small quadratic problems. Working
sets too wide for a dense Hessian go to accelerated projected gradients. Many rows are first thinned out, to start
close to the optimum. The Frank-Wolfe gap over **all** features and rows bounds the distance to the optimum and ends
the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import checks
from ..data.bounded import FloatArray
from .balls import L1Ball, project_l1
from .frank_wolfe import ExactIntercept, ExactSelector, Weights, frank_wolfe
from .losses import Loss
from .newton import INTERCEPT_REACH, Evaluation, Places, Reached, Slab, evaluate, gap_of, is_sparse, newton_descent
from .problem import Problem

_WIDEST = 1000
"""With more working weights than this, many gradients are cheaper than one Hessian."""

_FEWEST = 10
"""At least so many weights join those in use in a working set."""

_SMALLEST_SAMPLE = 2000
_THINNING = 16
"""One row in this many gives a first solution to start from, unless too few rows would be left."""

_ROUND = 0.01
"""A round ends when the gap within its working set is this share of the gap over all features."""


@dataclass(frozen=True)
class Optimum:
    """Weights and, where there is one, a certificate: the mean loss is within ``gap`` of the least possible."""

    weights: Weights
    gap: float | None
    converged: bool


class NonPrivateSolver(Protocol):
    """Finds non-private weights. It never prints or warns: inside a private fit that would be a leak."""

    def __call__(self, problem: Problem, radius: float, *, fit_intercept: bool) -> Optimum:
        """Solve one problem."""


@dataclass(frozen=True)
class ExactSolver:
    """Solve to a duality gap of at most ``tol``.

    Parameters
    ----------
    tol : float
        Certified distance of the mean loss to its minimum.
    max_iter : int
        Outer iterations before giving up.

    Privacy
    -------
    Not private.
    """

    tol: float = 1e-6
    max_iter: int = 200

    def __post_init__(self) -> None:
        checks.positive("tol", self.tol)
        checks.whole("max_iter", self.max_iter, 1)

    def __call__(self, problem: Problem, radius: float, *, fit_intercept: bool) -> Optimum:
        """Solve one problem."""
        return l1_optimum(problem, radius, fit_intercept, self.tol, self.max_iter)


@dataclass(frozen=True)
class PlainFrankWolfe:
    """The published way to count a support: many noise-free Frank-Wolfe steps, far slower and less exact.

    Parameters
    ----------
    n_iter : int, default=50_000
        The number of steps.

    Privacy
    -------
    Not private.
    """

    n_iter: int = 50_000

    def __post_init__(self) -> None:
        checks.whole("n_iter", self.n_iter, 1)

    def __call__(self, problem: Problem, radius: float, *, fit_intercept: bool) -> Optimum:
        """Run all steps on one problem."""
        rule = ExactIntercept(problem.n_rows) if fit_intercept else None
        weights = frank_wolfe(problem, L1Ball(radius), self.n_iter, ExactSelector(), rule)
        return Optimum(weights, gap=None, converged=True)


@dataclass(frozen=True)
class _Rows:
    """Rows, stored feature by feature, and what is to be fitted to them."""

    table: Any
    targets: Any
    loss: Loss
    radius: float
    fit_intercept: bool

    @property
    def n_constants(self) -> int:
        return self.loss.outputs if self.fit_intercept else 0

    def thinned(self) -> _Rows:
        """Every sixteenth row, in a copy."""
        table = self.table[:, ::_THINNING]
        if not is_sparse(table):
            table = np.ascontiguousarray(table)
        return _Rows(table, self.targets[::_THINNING], self.loss, self.radius, self.fit_intercept)

    def slab(self, places: Places) -> Slab:
        """The features at some places of the flattened weights, which are (outputs, features)."""
        outputs, features = np.divmod(places, self.table.shape[0])
        return Slab.of(self.table, features, outputs, self.n_constants, self.targets, self.loss)


@dataclass(frozen=True)
class _State:
    """Weights that are not zero, by their places in the flattened weights; intercepts; and what follows from them."""

    places: Places
    values: FloatArray
    intercept: FloatArray
    point: Evaluation
    gradient: FloatArray
    slope: FloatArray
    radius: float

    @classmethod
    def at(cls, rows: _Rows, places: Places, weights: FloatArray, point: Evaluation) -> _State:
        """Look at all features: the one pass over the whole table in a round."""
        values, intercept = weights[: len(places)], weights[len(places) :]
        used = values != 0
        residual = point.residual
        single = residual.shape[1] == 1  # a vector is multiplied faster than a matrix of one column
        gradient = np.asarray(rows.table @ (residual[:, 0] if single else residual)).T.ravel() / len(residual)
        slope = residual.mean(axis=0)[: len(intercept)]
        return cls(places[used], values[used], intercept, point, gradient, slope, rows.radius)

    @property
    def gap(self) -> float:
        """Frank-Wolfe gap: no point of the ball can be better by more."""
        steepest = max(float(self.gradient.max()), -float(self.gradient.min()))
        inside = float(self.gradient[self.places] @ self.values) + self.radius * steepest
        return inside + INTERCEPT_REACH * float(np.abs(self.slope).sum())


def l1_optimum(
    problem: Problem, radius: float, fit_intercept: bool, tol: float = 1e-6, max_iter: int = 200
) -> Optimum:
    """Minimise the mean loss over ‖w‖₁ ≤ radius, the intercept free.

    Privacy
    -------
    Not private.
    """
    outputs, n_features = problem.loss.outputs, problem.data.n_features
    rows = _Rows(problem.data.columns().T, problem.targets, problem.loss, radius, fit_intercept)
    state = _solved(rows, tol, max_iter)
    coef, intercept = np.zeros(outputs * n_features), np.zeros(outputs)
    coef[state.places] = state.values
    intercept[: len(state.intercept)] = state.intercept
    return Optimum(Weights(coef.reshape(outputs, n_features), intercept), state.gap, state.gap <= tol)


def _solved(rows: _Rows, tol: float, max_iter: int) -> _State:
    """Solve a sample of many rows first, then all of them from there."""
    samples = [rows]
    while len(samples[-1].targets) >= _THINNING * _SMALLEST_SAMPLE:
        samples.append(samples[-1].thinned())
    state = _without_features(samples[-1])
    featureless = state.point.value
    for part in reversed(samples):
        if part is not samples[-1]:
            state = _carried_over(part, state)
        if state.point.value > featureless:  # the sample misled, by a missing class for one
            state = _without_features(part)
        # A sample is no better than its size allows, so that it need not be solved any better.
        state = _improved(part, state, tol if part is rows else max(tol, 1 / len(part.targets)), max_iter)
    return state


def _without_features(rows: _Rows) -> _State:
    """The best intercepts alone."""
    nowhere = np.zeros(0, dtype=np.intp)
    slab = rows.slab(nowhere)
    intercept = np.zeros(rows.n_constants)
    point = evaluate(slab, intercept)
    if rows.fit_intercept:
        intercept = rows.loss.start_intercept(point.slopes, 1e-9)
        point = evaluate(slab, intercept)
    return _State.at(rows, nowhere, intercept, point)


def _carried_over(rows: _Rows, state: _State) -> _State:
    """The same weights on other rows."""
    weights = np.concatenate([state.values, state.intercept])
    return _State.at(rows, state.places, weights, evaluate(rows.slab(state.places), weights))


def _improved(rows: _Rows, state: _State, tol: float, max_iter: int) -> _State:
    """Rounds of choosing a working set, descending on it, and looking at all features again."""
    working = np.zeros(0, dtype=np.intp)
    slab, curved = rows.slab(working), None
    for _ in range(max_iter):
        if state.gap <= tol:
            break
        if int(np.argmax(np.abs(state.gradient))) not in working:
            working = _working_set(state)
            slab, curved = rows.slab(working), None
        weights = np.concatenate([np.zeros(len(working)), state.intercept])
        weights[np.searchsorted(working, state.places)] = state.values
        slopes = np.concatenate([state.gradient[working], state.slope])
        point = Evaluation(state.point.value, state.point.residual, state.point.curvature, slopes)
        target = max(_ROUND * state.gap, 0.5 * tol)
        if len(working) <= _WIDEST:
            reached = newton_descent(slab, weights, point, curved, rows.radius, target)
        else:
            reached = _gradient_descent(slab, weights, rows.radius, target)
        if reached.point is point:
            break
        state, curved = _State.at(rows, working, reached.weights, reached.point), reached.curved
    return state


def _working_set(state: _State) -> Places:
    """Places of weights in use, and of those whose gradient pulls hardest, as many again but not too few."""
    pull = np.abs(state.gradient)
    pull[state.places] = np.inf
    size = min(len(pull), len(state.places) + max(len(state.places), _FEWEST))
    return np.sort(np.argpartition(pull, -size)[-size:])


def _gradient_descent(slab: Slab, weights: FloatArray, radius: float, target: float) -> Reached:
    """Accelerated projected gradients along a slab until its own gap is at most ``target``.

    FISTA with O'Donoghue and Candès' gradient restart; at most 500 steps.
    """
    k = len(weights) - slab.n_constants
    rate = slab.loss.intercept_rate / _largest_square(slab)
    current = ahead = weights
    momentum = 1.0
    for step in range(1, 501):
        new = ahead - rate * evaluate(slab, ahead).slopes
        new[:k] = project_l1(new[:k], radius)
        moved = new - current
        if np.sum((ahead - new) * moved) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * moved
        current, momentum = new, following
        if step % 20 == 0 and gap_of(current, evaluate(slab, current).slopes, slab.n_constants, radius) <= target:
            break
    return Reached(current, evaluate(slab, current), None)


def _largest_square(slab: Slab) -> float:
    """Return an upper estimate of the largest eigenvalue of the mean of x·x', by the power method with a margin."""
    vector = np.ones(len(slab.outputs))
    size = 0.0
    for _ in range(30):
        vector = vector / max(float(np.linalg.norm(vector)), 1e-300)
        total = np.zeros(len(vector))
        for _, block in slab.blocks():
            total += slab.sums(block, slab.margins(vector, block))
        vector = total / len(slab.targets)
        size = float(np.linalg.norm(vector))
    return 1.1 * size + 1e-12
