"""LASSO on an L1 ball without privacy."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import checks
from ..optim.frank_wolfe import Weights
from ..optim.optimum import ExactSolver, NonPrivateSolver
from ..optim.problem import Problem
from ._classifier import LinearClassifier
from ._linear import Shape
from ._parameters import parameters
from ._private import NonPrivateFit


@parameters
class LassoLogisticRegression(NonPrivateFit, LinearClassifier):
    """Logistic regression with ‖w‖₁ ≤ radius, without privacy.

    Parameters
    ----------
    radius : float, default=10.0
        Largest L1 norm of the weights on features scaled to [-1, 1]; over all classes together.
    bounds : pair
        (lower, upper): numbers, or arrays with one entry per feature. The same units of ``radius`` as in the
        private estimators, whose bounds must be public.
    classes : list of labels, optional
        All labels, of the same type as in ``y``; by default those in ``y``.
    fit_intercept : bool, default=True
        Fit an intercept outside the ball.
    solver : ExactSolver or PlainFrankWolfe
        The exact optimum with a certificate, or the paper's way: 50,000 plain iterations.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights in the features' own units, and intercepts.
    support_ : array of int
        Features with a nonzero weight.
    privacy_ : PrivacyStatement
        Says that nothing is guaranteed.

    Notes
    -----
    **Privacy.** Not private.
    """

    radius: float = field(default=10.0, kw_only=False)
    classes: Any = None
    fit_intercept: bool = True
    solver: NonPrivateSolver = ExactSolver()

    def _plan(self, shape: Shape) -> float:
        checks.flag("fit_intercept", self.fit_intercept)
        if not callable(self.solver):
            raise TypeError(f"solver must be ExactSolver(…) or PlainFrankWolfe(…), got {self.solver!r}")
        return checks.positive("radius", self.radius)

    def _run(self, problem: Problem, plan: float) -> Weights:
        optimum = self.solver(problem, plan, fit_intercept=self.fit_intercept)
        if not optimum.converged:
            warnings.warn(
                f"the solver stopped at a gap of {optimum.gap:.2g}, above its tolerance; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        return optimum.weights
