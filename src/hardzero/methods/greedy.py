"""Private greedy coordinate descent: choose the coordinate with the largest gradient, then move along it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray
from ..optim.losses import residual_cap, residual_codes
from ..optim.problem import Problem
from ..optim.progress import counted
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated, Selection
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .plans import ChargedPlan, charged
from .rows import soft_threshold

_SMOOTHNESS = 0.25
"""Largest second derivative of the mean loss along one coordinate: features lie in [-1, 1], for softmax as well."""


@dataclass(frozen=True)
class GreedyPlan(ChargedPlan):
    """How many coordinates are moved, and what choosing and moving one costs."""

    steps: int
    step_size: float
    penalty: float
    eta: float
    noise: float


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

    def released(eta: float) -> tuple[Event, ...]:
        # In turns; the accountant takes all gradients to come first, which costs a little more.
        return (
            Repeated(GaussianRelease("gradient of the chosen coordinate", 2 / eta), steps),
            Repeated(Selection(eta, "one coordinate"), steps),
        )

    # Both cost the same in zCDP: η²/8 and 1/(2·noise²).
    eta = accounting.most_within(budget, released, math.sqrt(4 * accounting.rho_left(budget) / steps))
    noise, events = 2 / eta, released(eta)
    cost = budget, neighbours, events, charged(budget, events)
    return GreedyPlan(*cost, steps, step_size or longest, penalty, eta, noise)


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
