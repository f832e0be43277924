"""Two-Stage: blocks of the data vote for features, then the chosen ones are fitted by objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import RESIDUAL_ONE, IntArray
from ..optim.frank_wolfe import Weights, choose_several
from ..optim.optimum import l1_optimum
from ..optim.problem import Problem
from ..privacy import accounting
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import PerturbedMinimum, Repeated, Selection
from ..privacy.mechanisms import Candidates, Sensitive
from ..privacy.randomness import Source
from .objective import Perturbation, curvature, perturbed_logistic, plan_perturbation
from .plans import ChargedPlan, charged
from .rows import ClippedRows, split_intercept, with_constant
from .sparsifier import keep_largest

_BLOCK_GAP = 1e-3
_BLOCK_ROUNDS = 50
_LEAST_LEFT = 0.02
"""The gap's noise takes up to half of this share of ε, the linear term's needs some of the rest."""


@dataclass(frozen=True)
class TwoStagePlan(ChargedPlan):
    """How features are voted for and fitted."""

    kept: int
    blocks: int
    radius: float
    row_norm: float
    eta: float
    fit: Perturbation


def plan_two_stage(
    budget: Budget,
    neighbours: Neighbours,
    kept: int,
    blocks: int,
    radius: float,
    row_norm: float,
    l2_penalty: float | None,
    selection_share: float,
) -> TwoStagePlan:
    """Spend ``selection_share`` of the budget's ρ on the choice of features, the rest on their weights.

    Privacy
    -------
    Data-independent.
    """
    bend = curvature(row_norm)
    least = 2 * bend / budget.epsilon
    if l2_penalty is None:
        # Five times what the theory asks for costs little accuracy and leaves the budget to the noise.
        l2_penalty = max(5 * least, 1.0)
    elif l2_penalty < least:
        raise ValueError(
            f"l2_penalty = {l2_penalty:g} violates l2_penalty ≥ 2·H/epsilon, where H = row_norm²/4 bounds a row's "
            f"curvature; use at least {1.01 * least:.3g}, or None"
        )
    eta = math.sqrt(8 * selection_share * accounting.rho_left(budget) / kept)
    votes = Repeated(Selection(eta, "one feature by the blocks' votes"), kept)
    # What is spent however large the noise of the fit; a pure-DP cost of the votes is of no use beside it.
    fixed = accounting.spent([votes, PerturbedMinimum("", math.inf, bend / l2_penalty)], budget.delta)
    if fixed.epsilon > (1 - _LEAST_LEFT) * budget.epsilon:
        raise ValueError(
            f"selection_share = {selection_share:g} leaves nothing for the fit: votes, and log(1 + H/l2_penalty) = "
            f"{math.log1p(bend / l2_penalty):.3g}, together must stay below {1 - _LEAST_LEFT:.0%} of epsilon = "
            f"{budget.epsilon:g}; use a smaller selection_share or a larger l2_penalty"
        )
    fit = plan_perturbation("weights of the chosen features", budget, [votes], row_norm, l2_penalty)
    cost = budget, neighbours, fit.events, charged(budget, fit.events)
    return TwoStagePlan(*cost, kept, blocks, radius, row_norm, eta, fit)


def voted_features(problem: Problem, plan: TwoStagePlan, source: Source) -> NDArray[np.intp]:
    """Let every block vote for the largest weights of its own LASSO, and choose features by their votes.

    Each row is sent to a block of its own by chance, so that a row more or less changes one block and no other.

    Privacy
    -------
    Releases ``plan.kept`` selections of bounded range ``plan.eta``: under either relation one record changes one
    block's votes, and a feature's count by at most one. Proof: docs/proofs/two-stage.md.
    """
    owners = source.integers_below(plan.blocks, problem.data.n_rows)
    candidates = Candidates(block_votes(problem, plan, owners))
    return choose_several(candidates, plan.kept, RESIDUAL_ONE, plan.eta, source)


def block_votes(problem: Problem, plan: TwoStagePlan, owners: IntArray) -> Sensitive[IntArray]:
    """Count for every feature the blocks whose own LASSO gives it one of the largest weights.

    In units so small that dividing one vote into levels loses nothing.

    Privacy
    -------
    Sensitive. A record is in one block, and moves each count by at most RESIDUAL_ONE.
    """
    votes = np.zeros(problem.data.n_features, dtype=np.int64)
    for block, data in enumerate(problem.data.blocks(owners, plan.blocks)):
        if data.n_rows:
            part = Problem(data, problem.targets[owners == block], problem.loss)
            coef = l1_optimum(part, plan.radius, False, _BLOCK_GAP, _BLOCK_ROUNDS).weights.coef
            votes += keep_largest(coef, plan.kept)[0] != 0
    return Sensitive(votes * RESIDUAL_ONE)


def two_stage(problem: Problem, plan: TwoStagePlan, fit_intercept: bool, source: Source) -> Weights:
    """Choose features, then fit them.

    Privacy
    -------
    Releases weights; costs the events of ``plan``. Proof: docs/proofs/two-stage.md.
    """
    chosen = voted_features(problem, plan, source)
    small = with_constant(problem.on(problem.data.subset(chosen)), fit_intercept)
    rows = ClippedRows.of(small, plan.row_norm)
    centre = np.zeros(small.data.n_features)
    fitted = split_intercept(
        perturbed_logistic(rows, centre, plan.fit, plan.neighbours.contributions, source)[None, :], fit_intercept
    )
    coef = np.zeros((1, problem.data.n_features))
    coef[:, chosen] = fitted.coef
    return Weights(coef, fitted.intercept)
