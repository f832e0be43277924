"""Private ADMM, for comparison."""

from __future__ import annotations

from .. import checks
from ..data.bounded import FloatArray
from ..methods.admm import SHAPES, ADMMPlan, plan_admm, private_admm
from ..optim.problem import Problem
from ._constant import ConstantFeatureOfClippedRows
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateBinaryClassifier


@parameters
class PrivateADMMLogisticRegression(ConstantFeatureOfClippedRows, PrivateBinaryClassifier):
    """Private ADMM with an L1 or an L½ penalty (Wang and Zhang 2020): objective perturbation in every round.

    P. Wang and H. Zhang, Differential privacy for sparse classification learning, Neurocomputing 375, 2020. Here the
    noise is Gaussian, fresh in every round, and all rounds are accounted for together; the sparse weights are
    returned. Two classes. Offered for comparison.

    Parameters
    ----------
    {private_classifier}
    fit_intercept : bool, default=False
        Fit the weight of a constant feature as well, without a penalty. The published method has none.
    {row_norm}
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

    {classifier_released}
    Proof: docs/proofs/admm.md and docs/proofs/objective-perturbation.md.
    """

    penalty: float = 0.005
    penalty_shape: str = "l1"
    coupling: float = 0.02
    n_iter: int = 5

    def _plan(self, shape: Shape) -> ADMMPlan:
        return plan_admm(
            *self._asked(shape),
            shape.n_rows,
            checks.whole("n_iter", self.n_iter, 1),
            checks.positive("coupling", self.coupling),
            checks.not_negative("penalty", self.penalty),
            checks.choice("penalty_shape", self.penalty_shape, SHAPES),
            self._length(),
        )

    def _weights(self, problem: Problem, plan: ADMMPlan, features: int) -> FloatArray:
        return private_admm(problem, plan, features, self._source())[None, :]
