"""Private greedy coordinate descent, for comparison."""

from __future__ import annotations

from .. import checks
from ..data.bounded import FloatArray
from ..methods.greedy import GreedyPlan, greedy_descent, plan_greedy
from ..optim.problem import Problem
from ._constant import ConstantFeature
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateClassifier


@parameters
class PrivateGreedyLogisticRegression(ConstantFeature, PrivateClassifier):
    """Private greedy coordinate descent (Mangold et al. 2023): at most one more nonzero weight with every step.

    P. Mangold, A. Bellet, J. Salmon and M. Tommasi, High-dimensional private empirical risk minimization by greedy
    coordinate descent, AISTATS 2023. Here the coordinate is chosen by the exponential mechanism and its gradient
    released with Gaussian noise, in place of Laplace noise for both. Offered for comparison.

    Parameters
    ----------
    {private_classifier}
    fit_intercept : bool, default=False
        Add a constant feature, chosen like any other and never penalised. The published method has none.
    n_iter : int, default=100
        Steps, hence the largest number of nonzero weights.
    step_size : float, optional
        At most, and by default, 1/M = 4, where M bounds the curvature along one coordinate of features in [-1, 1].
        Tighter curvatures would have to be public, or paid for.
    penalty : float, default=0.0
        Weight of the L1 norm; every step moves its weight towards zero by step_size times this.

    {classifier_released}
    Proof: docs/proofs/greedy.md.
    """

    n_iter: int = 100
    step_size: float | None = None
    penalty: float = 0.0

    def _plan(self, shape: Shape) -> GreedyPlan:
        return plan_greedy(
            *self._asked(shape),
            checks.whole("n_iter", self.n_iter, 1),
            None if self.step_size is None else checks.positive("step_size", self.step_size),
            checks.not_negative("penalty", self.penalty),
        )

    def _weights(self, problem: Problem, plan: GreedyPlan, features: int) -> FloatArray:
        return greedy_descent(problem, plan, features, self._source())
