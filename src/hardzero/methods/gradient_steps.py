"""Noisy gradient steps on all features: with hard thresholding (Private IGHT) or without (the dense reference)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray
from ..optim.losses import Loss
from ..optim.problem import Problem
from ..optim.progress import counted
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated
from ..privacy.randomness import Source
from .plans import ChargedPlan, charged
from .rows import ClippedRows, gradient_length


@dataclass(frozen=True)
class GradientStepsPlan(ChargedPlan):
    """How many gradients are released, how far each leads, and with how much noise."""

    steps: int
    step_size: float
    row_norm: float
    noise: float


def plan_gradient_steps(
    budget: Budget, neighbours: Neighbours, loss: Loss, steps: int, step_size: float | None, row_norm: float
) -> GradientStepsPlan:
    """Spread the budget evenly over all steps.

    Privacy
    -------
    Data-independent.
    """
    longest = loss.intercept_rate / row_norm**2
    if step_size is not None and step_size > longest * (1 + 1e-12):
        raise ValueError(
            f"step_size = {step_size:g} violates step_size·L ≤ 1, where L = row_norm²/{loss.intercept_rate:g} bounds "
            f"the curvature of the loss; use at most {longest:g}, or None for that"
        )

    def released(noise: float) -> tuple[Event, ...]:
        return (Repeated(GaussianRelease("sum of clipped gradients", noise), steps),)

    guess = math.sqrt(2 * accounting.rho_left(budget) / steps)
    noise = 1 / accounting.most_within(budget, lambda inverse: released(1 / inverse), guess)
    events = released(noise)
    cost = budget, neighbours, events, charged(budget, events)
    return GradientStepsPlan(*cost, steps, step_size or longest, row_norm, noise)


def noisy_steps(
    problem: Problem, plan: GradientStepsPlan, sparse: Callable[[FloatArray], FloatArray], source: Source
) -> FloatArray:
    """Repeat w ← sparse(w - step·(gradient + noise)), from zero.

    Privacy
    -------
    Releases ``plan.steps`` gradients with rounded Gaussian noise of ``plan.noise`` sensitivities.
    Proof: docs/proofs/gradient-steps.md.
    """
    rows = ClippedRows.of(problem, plan.row_norm)
    loss = problem.loss
    sigma = math.ceil(plan.noise * plan.neighbours.contributions * gradient_length(loss, plan.row_norm))
    unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.n_rows)
    coef = np.zeros((loss.outputs, problem.data.n_features))
    for _ in counted(range(plan.steps)):
        slope = mechanisms.gaussian(rows.gradient(coef), sigma, source).reshape(coef.shape) * unit
        coef = sparse(coef - plan.step_size * slope)
    return coef
