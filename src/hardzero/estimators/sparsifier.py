"""The paper's Sparsifier (Algorithm 2), for classes and for bounded numbers."""

from __future__ import annotations

import math
from typing import Any

from .. import checks
from ..methods.private_lasso import Plan, plan_lasso
from ..methods.sparsifier import sparsifier
from ..optim.frank_wolfe import Problem, Weights
from ..optim.optimum import ExactSolver, NonPrivateSolver
from ._base import LinearClassifier, LinearRegressor, PrivateFit, Shape
from .private_lasso import CALIBRATIONS


class _Sparsifier(PrivateFit):
    """Count, clip, noise, clip, keep the largest."""

    radius: Any
    n_iter: Any
    calibration: Any
    epsilon_count: Any
    min_features: Any
    max_features: Any
    keep_ratio: Any
    count_solver: Any
    fit_intercept: Any

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


class SparsifierLogisticRegression(_Sparsifier, LinearClassifier):
    """Private LASSO cut down to a privately counted number of nonzero weights (Algorithm 2).

    Offered to reproduce the paper; the count is close to a coin flip at usual budgets (docs/proofs/count.md).

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, radius, n_iter, calibration, classes, fit_intercept, random_state
        As in :class:`PrivateLassoLogisticRegression`; ``epsilon`` covers the count and the fit together.
    epsilon_count : float, optional
        The part of ``epsilon`` for the count; 5 % by default.
    min_features, max_features : int, optional
        Least and largest number of nonzero weights, over all classes together: √d and 2√d of d weights by default.
        More than d means d. When they are equal nothing is counted and the whole budget goes to the fit.
    keep_ratio : float, default=1.0
        The count is multiplied by this; below 1 for precision, above 1 for recall.
    count_solver : ExactSolver or PlainFrankWolfe
        Finds the non-private weights that are counted: ``PlainFrankWolfe(50_000)`` is the published way.

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
    Proof: docs/proofs/sparsifier.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        radius: float = 10.0,
        n_iter: int = 1000,
        calibration: str = "tight",
        epsilon_count: float | None = None,
        min_features: int | None = None,
        max_features: int | None = None,
        keep_ratio: float = 1.0,
        count_solver: NonPrivateSolver = ExactSolver(),  # noqa: B008  # frozen
        classes: Any = None,
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.radius = radius
        self.n_iter = n_iter
        self.calibration = calibration
        self.epsilon_count = epsilon_count
        self.min_features = min_features
        self.max_features = max_features
        self.keep_ratio = keep_ratio
        self.count_solver = count_solver
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state


class SparsePrivateRegression(_Sparsifier, LinearRegressor):
    """Sparsifier with squared loss, for a bounded number.

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, n_iter, calibration, fit_intercept, random_state
        As in :class:`PrivateLassoLogisticRegression`; ``epsilon`` covers the count and the fit together.
    target_bounds, radius
        As in :class:`PrivateLassoRegression`.
    epsilon_count, min_features, max_features, keep_ratio, count_solver
        As in :class:`SparsifierLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), float
        Weights in original units, and the intercept.
    support_ : array of int
        Features with a nonzero weight.
    privacy_ : PrivacyStatement
        The guarantee; print it.

    Privacy
    -------
    Releases ``coef_`` and ``intercept_`` with (epsilon, delta)-DP under ``neighbours``.
    Proof: docs/proofs/sparsifier.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        target_bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        radius: float = 1.0,
        n_iter: int = 1000,
        calibration: str = "tight",
        epsilon_count: float | None = None,
        min_features: int | None = None,
        max_features: int | None = None,
        keep_ratio: float = 1.0,
        count_solver: NonPrivateSolver = ExactSolver(),  # noqa: B008  # frozen
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.radius = radius
        self.n_iter = n_iter
        self.calibration = calibration
        self.epsilon_count = epsilon_count
        self.min_features = min_features
        self.max_features = max_features
        self.keep_ratio = keep_ratio
        self.count_solver = count_solver
        self.fit_intercept = fit_intercept
        self.random_state = random_state
