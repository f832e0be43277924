"""Private greedy coordinate descent: choose the coordinate with the largest gradient, then move along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks
from ..data import FEATURE_ONE, RESIDUAL_ONE, FloatArray
from ..estimators._base import LinearClassifier, PrivateFit, Shape
from ..losses import residual_cap, residual_codes
from ..plan import charged
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated, Selection
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from ..progress import counted
from ..solvers import Problem, Weights
from .rows import soft_threshold, split_intercept, with_constant

_SMOOTHNESS = 0.25
"""Largest second derivative of the mean loss along one coordinate: features lie in [-1, 1], for softmax as well."""


@dataclass(frozen=True)
class GreedyPlan:
    """How many coordinates are moved, and what choosing and moving one costs.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    steps: int
    step_size: float
    penalty: float
    eta: float
    noise: float
    events: tuple[Event, ...]
    spent: Budget


def plan_greedy(
    budget: Budget, neighbours: Neighbours, steps: int, step_size: float | None, penalty: float
) -> GreedyPlan:
    """Half of every step's budget chooses the coordinate, half measures its gradient.

    Privacy
    -------
    Data-independent.
    """
    longest = 1 / _SMOOTHNESS
    if step_size is not None and step_size > longest:
        raise ValueError(
            f"step_size = {step_size:g} violates step_size·M ≤ 1, where M = {_SMOOTHNESS:g} bounds the curvature "
            f"along a coordinate; use at most {longest:g}, or None for that"
        )
    half = accounting.rho_left(budget) / (2 * steps) * (1 - 1e-12)
    eta, noise = math.sqrt(8 * half), 1 / math.sqrt(2 * half)
    events = (
        Repeated(Selection(eta, "one coordinate"), steps),
        Repeated(GaussianRelease("gradient of the chosen coordinate", noise), steps),
    )
    return GreedyPlan(
        budget, neighbours, steps, step_size or longest, penalty, eta, noise, events, charged(budget, events)
    )


def greedy_descent(problem: Problem, plan: GreedyPlan, penalised: int, source: Source) -> FloatArray:
    """Repeat: choose a coordinate by its absolute gradient, release that gradient, take a proximal step.

    The first ``penalised`` features are drawn towards zero by the penalty, later ones (a constant) are not.

    Privacy
    -------
    Releases a selection and one noisy number at every step. Proof: docs/proofs/greedy.md.
    """
    data, loss = problem.data, problem.loss
    coef = np.zeros((loss.outputs, data.n_features))
    margins = np.zeros((data.n_rows, loss.outputs))  # by rows: a row's softmax is the same however many there are
    unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.n_rows)
    for _ in counted(range(plan.steps)):
        cap = residual_cap(loss, np.abs(coef).sum(axis=1), np.zeros(loss.outputs))
        gradient = data.gradient(residual_codes(loss, margins, problem.targets, cap)).ravel()
        sensitivity = plan.neighbours.contributions * cap * FEATURE_ONE
        chosen = mechanisms.select(Sensitive(np.abs(gradient)), sensitivity, plan.eta, source)
        sigma = math.ceil(plan.noise * sensitivity)
        slope = float(mechanisms.gaussian(Sensitive(gradient[chosen : chosen + 1]), sigma, source)[0]) * unit
        output, feature = divmod(chosen, data.n_features)
        level = plan.step_size * plan.penalty if feature < penalised else 0.0
        moved = float(soft_threshold(coef[output, feature] - plan.step_size * np.array(slope), level))
        data.add_column(margins[:, output], feature, moved - coef[output, feature])
        coef[output, feature] = moved
    return coef


class PrivateGreedyLogisticRegression(PrivateFit, LinearClassifier):
    """Private greedy coordinate descent (Mangold et al. 2023): at most one more nonzero weight with every step.

    P. Mangold, A. Bellet, J. Salmon and M. Tommasi, High-dimensional private empirical risk minimization by greedy
    coordinate descent, AISTATS 2023. Here the coordinate is chosen by the exponential mechanism and its gradient
    released with Gaussian noise, both in zCDP, in place of Laplace noise for both. Offered for comparison.

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, classes, random_state
        As in :class:`SparsePrivateLogisticRegression`.
    n_iter : int, default=100
        Steps, hence the largest number of nonzero weights.
    step_size : float, optional
        At most, and by default, 1/M = 4, where M bounds the curvature along one coordinate of features in [-1, 1].
        Tighter curvatures would have to be public, or paid for.
    penalty : float, default=0.0
        Weight of the L1 norm; every step moves its weight towards zero by step_size times this.
    fit_intercept : bool, default=False
        Add a constant feature, chosen like any other and never penalised. The published method has none.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights in the features' own units, and intercepts.
    support_ : array of int
        Features with a nonzero weight.
    privacy_ : PrivacyStatement
        The guarantee; print it.

    Privacy
    -------
    Releases ``coef_`` and ``intercept_`` with (epsilon, delta)-DP under ``neighbours``.
    Proof: docs/proofs/greedy.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        n_iter: int = 100,
        step_size: float | None = None,
        penalty: float = 0.0,
        classes: Any = None,
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.n_iter = n_iter
        self.step_size = step_size
        self.penalty = penalty
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _plan(self, shape: Shape) -> GreedyPlan:
        checks.flag("fit_intercept", self.fit_intercept)
        return plan_greedy(
            self._budget(shape.n_rows),
            self._relation(),
            checks.whole("n_iter", self.n_iter, 1),
            None if self.step_size is None else checks.positive("step_size", self.step_size),
            checks.not_negative("penalty", self.penalty),
        )

    def _run(self, problem: Problem, plan: GreedyPlan) -> Weights:
        features = problem.data.n_features
        coef = greedy_descent(with_constant(problem, self.fit_intercept), plan, features, self._source())
        return split_intercept(coef, self.fit_intercept)
