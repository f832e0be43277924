"""Private ADMM: dense weights fitted by objective perturbation in every round, sparse ones that follow them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray
from ..optim.problem import Problem
from ..optim.progress import counted
from ..privacy.budget import Budget, Neighbours
from ..privacy.randomness import Source
from .objective import Perturbation, curvature, perturbed_logistic, plan_perturbation
from .plans import ChargedPlan, charged
from .rows import ClippedRows, soft_threshold

SHAPES = ("l1", "l1/2")


@dataclass(frozen=True)
class ADMMPlan(ChargedPlan):
    """How many rounds, how closely the two sets of weights are coupled, and the noise of each round."""

    rounds: int
    coupling: float
    penalty: float
    reweighted: bool
    row_norm: float
    fit: Perturbation


def plan_admm(
    budget: Budget,
    neighbours: Neighbours,
    n_rows: int,
    rounds: int,
    coupling: float,
    penalty: float,
    penalty_shape: str,
    row_norm: float,
) -> ADMMPlan:
    """Spread the budget evenly over all rounds.

    Privacy
    -------
    Data-independent.
    """
    convexity = n_rows * coupling
    fixed = rounds * math.log1p(curvature(row_norm) / convexity)
    if fixed > budget.epsilon / 2:
        least = curvature(row_norm) / (n_rows * math.expm1(budget.epsilon / (2 * rounds)))
        raise ValueError(
            f"coupling = {coupling:g} violates n_iter·log(1 + row_norm²/(4·n·coupling)) ≤ epsilon/2: the left side "
            f"is {fixed:.3g}; use a coupling of at least {1.01 * least:.3g}, fewer iterations or a larger epsilon"
        )
    fit = plan_perturbation("dense weights", budget, [], row_norm, convexity, rounds)
    reweighted = penalty_shape == "l1/2"
    cost = budget, neighbours, fit.events, charged(budget, fit.events)
    return ADMMPlan(*cost, rounds, coupling, penalty, reweighted, row_norm, fit)


def private_admm(problem: Problem, plan: ADMMPlan, penalised: int, source: Source) -> FloatArray:
    """Alternate: fit dense weights near the sparse ones, threshold them, add up the difference.

    The first ``penalised`` features are thresholded, later ones (a constant) are not. Returns the sparse weights.

    Privacy
    -------
    Releases the dense weights of every round, each with noise of its own; the sparse weights and the multipliers are
    made from them alone. Proof: docs/proofs/admm.md.
    """
    rows = ClippedRows.of(problem, plan.row_norm)
    size = problem.data.n_features
    level = np.where(np.arange(size) < penalised, plan.penalty / plan.coupling, 0.0)
    sparse, multipliers = np.zeros(size), np.zeros(size)
    for _ in counted(range(plan.rounds)):
        centre = sparse + multipliers / plan.coupling
        dense = perturbed_logistic(rows, centre, plan.fit, plan.neighbours.contributions, source)
        multipliers = multipliers + plan.coupling * (sparse - dense)
        # The square root's slope at the present weights takes the place of the L1 norm's.
        weight = 1 / np.sqrt(np.abs(sparse) + 1) if plan.reweighted else 1.0
        sparse = soft_threshold(dense - multipliers / plan.coupling, level * weight)
    return sparse
