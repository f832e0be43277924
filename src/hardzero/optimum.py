"""The exact non-private optimum on an L1 ball, with a certificate.

A working set grows around the features that matter; on it a projected Newton method solves small quadratic
problems. Losses with several outputs, and working sets too wide for a dense Hessian, go to accelerated projected
gradients. The Frank-Wolfe gap over **all** features bounds the distance to the optimum and ends the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from . import checks
from .data import FloatArray
from .geometry import L1Ball, project_l1
from .losses import Logistic
from .solvers import ExactIntercept, ExactSelector, Problem, Weights, frank_wolfe

_WIDEST = 1000
_INTERCEPT_REACH = 10.0
"""The certificate takes the best intercept to lie within this distance; its gradient is driven to about zero."""


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

    Privacy
    -------
    Not private.
    """

    n_iter: int = 50_000

    def __post_init__(self) -> None:
        checks.whole("n_iter", self.n_iter, 1)

    def __call__(self, problem: Problem, radius: float, *, fit_intercept: bool) -> Optimum:
        """Run all steps on one problem."""
        rule = ExactIntercept() if fit_intercept else None
        weights = frank_wolfe(problem, L1Ball(radius), self.n_iter, ExactSelector(), rule)
        return Optimum(weights, gap=None, converged=True)


@dataclass
class _State:
    """Weights together with what follows from them."""

    problem: Problem
    X: Any
    radius: float
    fit_intercept: bool
    coef: FloatArray
    intercept: FloatArray
    residual: FloatArray = field(init=False)
    gradient: FloatArray = field(init=False)
    slope: FloatArray = field(init=False)
    value: float = field(init=False)

    def __post_init__(self) -> None:
        loss = self.problem.loss
        margins = self.X @ self.coef.T + self.intercept
        self.value = loss.value(margins, self.problem.targets)
        self.residual = loss.residual(margins, self.problem.targets)
        self.gradient = (self.X.T @ self.residual).T / len(margins)
        self.slope = self.residual.mean(axis=0) * self.fit_intercept

    def at(self, coef: FloatArray, intercept: FloatArray) -> _State:
        return _State(self.problem, self.X, self.radius, self.fit_intercept, coef, intercept)

    @property
    def gap(self) -> float:
        """Frank-Wolfe gap: no point of the ball can be better by more."""
        inside = float(np.sum(self.gradient * self.coef)) + self.radius * float(np.abs(self.gradient).max())
        return inside + _INTERCEPT_REACH * float(np.abs(self.slope).sum())


def l1_optimum(
    problem: Problem, radius: float, fit_intercept: bool, tol: float = 1e-6, max_iter: int = 200
) -> Optimum:
    """Minimise the mean loss over ‖w‖₁ ≤ radius, the intercept free.

    Privacy
    -------
    Not private.
    """
    loss = problem.loss
    X = problem.data.columns()
    zero = np.zeros((loss.outputs, problem.data.n_features))
    state = _State(problem, X, radius, fit_intercept, zero, np.zeros(loss.outputs))
    if fit_intercept:
        state = state.at(zero, loss.start_intercept(state.slope, 1e-9))
    newton = loss.outputs == 1
    for _ in range(max_iter):
        if state.gap <= tol:
            break
        working = _working_set(state)
        newton = newton and len(working) <= _WIDEST
        step = _newton_round if newton else _gradient_round
        state = step(state, working, 0.1 * tol)
    return Optimum(Weights(state.coef, state.intercept), state.gap, state.gap <= tol)


def _working_set(state: _State) -> Any:
    """Features in use, and those whose gradient pulls hardest, as many again and at least 50."""
    used = np.abs(state.coef).max(axis=0) > 0
    pull = np.abs(state.gradient).max(axis=0)
    pull[used] = np.inf
    size = min(len(pull), int(used.sum()) + max(50, int(used.sum())))
    return np.sort(np.argpartition(-pull, size - 1)[:size])


def _newton_round(state: _State, working: Any, tol: float) -> _State:
    """Projected Newton on the working set until its own gap is small against the whole one."""
    X = state.X[:, working]
    n = X.shape[0]
    target = max(0.1 * state.gap, tol)
    for _ in range(20):
        coef = state.coef[0, working]
        gradient = state.gradient[0, working]
        inner_gap = float(gradient @ coef) + state.radius * float(np.abs(gradient).max())
        if inner_gap + _INTERCEPT_REACH * float(np.abs(state.slope[0])) <= target:
            break
        curvature = _curvature(state)
        weighted = X.multiply(curvature[:, None]).tocsc() if hasattr(X, "multiply") else X * curvature[:, None]
        hessian = np.asarray((X.T @ weighted).todense() if hasattr(X, "multiply") else X.T @ weighted) / n
        linear = gradient - hessian @ coef
        if state.fit_intercept:  # eliminate the intercept: Schur complement
            cross = np.asarray(weighted.sum(axis=0)).ravel() / n
            own = float(curvature.mean()) + 1e-12
            hessian = hessian - np.outer(cross, cross) / own
            linear = gradient - state.slope[0] * cross / own - hessian @ coef
        goal = _quadratic_on_ball(hessian, linear, coef, state.radius)
        direction = np.zeros_like(state.coef)
        direction[0, working] = goal - coef
        shift = np.zeros(1)
        if state.fit_intercept:
            shift[0] = -(state.slope[0] + cross @ (goal - coef)) / own
        state = _line_search(state, direction, shift)
    return state


def _curvature(state: _State) -> FloatArray:
    """Second derivative of each row's loss, kept above zero so that the quadratic model has a minimum."""
    if isinstance(state.problem.loss, Logistic):
        probability = state.residual[:, 0] + state.problem.targets[:, 0]
        return np.asarray(np.maximum(probability * (1 - probability), 1e-10))
    return np.full(len(state.residual), state.problem.loss.smoothness)


def _line_search(state: _State, direction: FloatArray, shift: FloatArray) -> _State:
    """Halve the step until the loss falls by a fair share of what its slope promises."""
    slope = float(np.sum(state.gradient * direction) + np.sum(state.slope * shift))
    size = 1.0
    while True:
        trial = state.at(state.coef + size * direction, state.intercept + size * shift)
        if trial.value <= state.value + 1e-4 * size * slope or size < 1e-10:
            return trial if trial.value <= state.value else state
        size /= 2


def _quadratic_on_ball(hessian: FloatArray, linear: FloatArray, start: FloatArray, radius: float) -> FloatArray:
    """Minimise ½u'Hu + c'u over the ball: accelerated projected gradients with restart."""
    largest = float(np.linalg.norm(hessian, 2)) + 1e-12
    return _accelerated(
        lambda u: hessian @ u + linear,
        lambda u: project_l1(u, radius),
        start,
        1 / largest,
        1e-10 * radius,
        5000,
    )


def _accelerated(
    gradient: Callable[[FloatArray], FloatArray],
    project: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    rate: float,
    tol: float,
    max_iter: int,
) -> FloatArray:
    """FISTA with O'Donoghue and Candès' gradient restart."""
    current = ahead = start
    momentum = 1.0
    for _ in range(max_iter):
        new = project(ahead - rate * gradient(ahead))
        moved = new - current
        if np.sum((ahead - new) * moved) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * moved
        current, momentum = new, following
        if np.abs(moved).max() <= tol:
            break
    return current


def _gradient_round(state: _State, working: Any, tol: float) -> _State:
    """Accelerated projected gradients on weights and intercepts of the working set together."""
    X = state.X[:, working]
    loss, targets, n = state.problem.loss, state.problem.targets, X.shape[0]
    shape = (loss.outputs, len(working))

    def split(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        return point[: -loss.outputs].reshape(shape), point[-loss.outputs :]

    def gradient(point: FloatArray) -> FloatArray:
        coef, intercept = split(point)
        residual = loss.residual(X @ coef.T + intercept, targets)
        slope = residual.mean(axis=0) * state.fit_intercept
        return np.concatenate([((X.T @ residual).T / n).ravel(), slope])

    def project(point: FloatArray) -> FloatArray:
        return np.concatenate([project_l1(point[: -loss.outputs], state.radius), point[-loss.outputs :]])

    start = np.concatenate([state.coef[:, working].ravel(), state.intercept])
    rate = 1 / (_largest_square(X) / n + 1) / (1 / loss.intercept_rate)
    coef, intercept = split(_accelerated(gradient, project, start, rate, 1e-9 * state.radius, 500))
    full = np.zeros_like(state.coef)
    full[:, working] = coef
    return state.at(full, intercept)


def _largest_square(X: Any) -> float:
    """Return an upper estimate of the largest eigenvalue of X'X, by the power method with a margin."""
    vector = np.ones(X.shape[1]) / np.sqrt(X.shape[1])
    size = 0.0
    for _ in range(30):
        vector = X.T @ (X @ vector)
        size = float(np.linalg.norm(vector))
        vector = vector / max(size, 1e-300)
    return 1.1 * size
