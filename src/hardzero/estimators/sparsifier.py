"""The paper's Sparsifier (Algorithm 2), for classes and for bounded numbers."""

from __future__ import annotations

import math

from .. import checks
from ..methods.private_lasso import Plan, plan_lasso
from ..methods.sparsifier import sparsifier
from ..optim.frank_wolfe import Weights
from ..optim.optimum import ExactSolver, NonPrivateSolver
from ..optim.problem import Problem
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateClassifier, PrivateFit, PrivateRegressor
from .private_lasso import CALIBRATIONS


@parameters
class _Sparsifier(PrivateFit):
    """Count, clip, noise, clip, keep the largest."""

    radius: float = 10.0
    n_iter: int = 1000
    calibration: str = "tight"
    epsilon_count: float | None = None
    min_features: int | None = None
    max_features: int | None = None
    keep_ratio: float = 1.0
    count_solver: NonPrivateSolver = ExactSolver()
    fit_intercept: bool = False

    def _limits(self, size: int) -> tuple[int, int]:
        """Least and largest number of nonzero weights: by default √d and 2√d of d weights."""
        root = math.sqrt(size)
        low = None if self.min_features is None else checks.whole("min_features", self.min_features, 0)
        high = None if self.max_features is None else checks.whole("max_features", self.max_features, 0)
        if low is None:
            low = max(1, math.floor(root)) if high is None else min(math.floor(root), high)
        if high is None:
            high = max(low, math.floor(2 * root))
        if low > high:
            raise ValueError(f"min_features = {low} is above max_features = {high}; swap them or change one")
        return min(low, size), min(high, size)

    def _plan(self, shape: Shape) -> Plan:
        low, high = self._limits(shape.loss.outputs * shape.n_features)
        checks.positive("radius", self.radius)
        checks.positive("keep_ratio", self.keep_ratio)
        if not callable(self.count_solver):
            raise TypeError(f"count_solver must be ExactSolver(…) or PlainFrankWolfe(…), got {self.count_solver!r}")
        budget = self._budget(shape.n_rows)
        count = 0.05 * budget.epsilon if self.epsilon_count is None else self.epsilon_count
        return plan_lasso(
            budget,
            self._relation(),
            checks.choice("calibration", self.calibration, CALIBRATIONS),  # type: ignore[arg-type]
            checks.whole("n_iter", self.n_iter, 1),
            fit_intercept=checks.flag("fit_intercept", self.fit_intercept),
            count_epsilon=checks.positive("epsilon_count", count) if low < high else None,
        )

    def _run(self, problem: Problem, plan: Plan) -> Weights:
        low, high = self._limits(problem.loss.outputs * problem.data.n_features)
        return sparsifier(
            problem,
            self.radius,
            plan,
            self._source(),
            min_features=low,
            max_features=high,
            keep_ratio=self.keep_ratio,
            count_solver=self.count_solver,
        )


@parameters
class SparsifierLogisticRegression(_Sparsifier, PrivateClassifier):
    """Private LASSO cut down to a privately counted number of nonzero weights (Algorithm 2).

    Offered to reproduce the paper; the count is close to a coin flip at usual budgets (docs/proofs/count.md).

    Parameters
    ----------
    {private_classifier}
    {lasso}
    {counting}
    {lasso_intercept}

    {classifier_released}
    Proof: docs/proofs/sparsifier.md.
    """


@parameters
class SparsifierRegression(_Sparsifier, PrivateRegressor):
    """Sparsifier with squared loss, for a bounded number.

    Parameters
    ----------
    {private_regressor}
    {squared_lasso}
    {counting}
    {squared_intercept}

    {regressor_released}
    Proof: docs/proofs/sparsifier.md.
    """

    radius: float = 1.0
