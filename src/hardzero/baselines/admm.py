"""Private ADMM: dense weights fitted by objective perturbation in every round, sparse ones that follow them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks
from ..data import FloatArray
from ..estimators._base import BinaryClassifier, PrivateFit, Shape
from ..plan import charged
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event
from ..privacy.randomness import Source
from ..progress import counted
from ..solvers import Problem, Weights
from .objective import Perturbation, curvature, perturbed_logistic, plan_perturbation
from .rows import ROW_NORMS, ClippedRows, soft_threshold, split_intercept, with_constant

SHAPES = ("l1", "l1/2")


@dataclass(frozen=True)
class ADMMPlan:
    """How many rounds, how closely the two sets of weights are coupled, and the noise of each round.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    rounds: int
    coupling: float
    penalty: float
    reweighted: bool
    row_norm: float
    fit: Perturbation
    events: tuple[Event, ...]
    spent: Budget


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
    return ADMMPlan(
        budget,
        neighbours,
        rounds,
        coupling,
        penalty,
        reweighted,
        row_norm,
        fit,
        fit.events,
        charged(budget, fit.events),
    )


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


class PrivateADMMLogisticRegression(PrivateFit, BinaryClassifier):
    """Private ADMM with an L1 or an L½ penalty (Wang and Zhang 2020): objective perturbation in every round.

    P. Wang and H. Zhang, Differential privacy for sparse classification learning, Neurocomputing 375, 2020. Here the
    noise is Gaussian, fresh in every round, and all rounds are accounted for together; the sparse weights are
    returned. Two classes. Offered for comparison.

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, classes, random_state
        As in :class:`SparsePrivateLogisticRegression`.
    penalty : float, default=0.005
        Weight λ of the penalty, beside the mean loss.
    penalty_shape : {"l1", "l1/2"}, default="l1"
        Sum of absolute values; or a penalty that grows like the square root, so that large weights are shrunk less:
        thresholds are divided by √(|weight| + 1) in every round.
    coupling : float, default=0.02
        How strongly dense and sparse weights are drawn together. n_iter·log(1 + row_norm²/(4·n·coupling)) must not
        exceed epsilon/2.
    n_iter : int, default=5
        Rounds. More of them mean more noise in each.
    row_norm : float, default=1.0
        Rows, scaled to [-1, 1], are shrunk to this L2 length while fitting.
    fit_intercept : bool, default=False
        Fit the weight of a constant feature as well, without a penalty. The published method has none.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights in the features' own units, and the intercept.
    support_ : array of int
        Features with a nonzero weight.
    privacy_ : PrivacyStatement
        The guarantee; print it.

    Privacy
    -------
    Releases ``coef_`` and ``intercept_`` with (epsilon, delta)-DP under ``neighbours``.
    Proof: docs/proofs/admm.md and docs/proofs/objective-perturbation.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        penalty: float = 0.005,
        penalty_shape: str = "l1",
        coupling: float = 0.02,
        n_iter: int = 5,
        row_norm: float = 1.0,
        classes: Any = None,
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.penalty = penalty
        self.penalty_shape = penalty_shape
        self.coupling = coupling
        self.n_iter = n_iter
        self.row_norm = row_norm
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _plan(self, shape: Shape) -> ADMMPlan:
        checks.flag("fit_intercept", self.fit_intercept)
        return plan_admm(
            self._budget(shape.n_rows),
            self._relation(),
            shape.n_rows,
            checks.whole("n_iter", self.n_iter, 1),
            checks.positive("coupling", self.coupling),
            checks.not_negative("penalty", self.penalty),
            checks.choice("penalty_shape", self.penalty_shape, SHAPES),
            checks.within("row_norm", self.row_norm, *ROW_NORMS),
        )

    def _run(self, problem: Problem, plan: ADMMPlan) -> Weights:
        features = problem.data.n_features
        sparse = private_admm(with_constant(problem, self.fit_intercept), plan, features, self._source())
        return split_intercept(sparse[None, :], self.fit_intercept)
