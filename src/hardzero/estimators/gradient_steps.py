"""Noisy gradient steps, with hard thresholding and without, for comparison."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable

from .. import checks
from ..data.bounded import FloatArray
from ..methods.gradient_steps import GradientStepsPlan, noisy_steps, plan_gradient_steps
from ..methods.sparsifier import keep_largest
from ..optim.problem import Problem
from ._constant import ConstantFeatureOfClippedRows
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateClassifier


@parameters
class _GradientSteps(ConstantFeatureOfClippedRows, PrivateClassifier):
    """Parameters that both methods have."""

    n_iter: int = 100
    step_size: float | None = None

    def _plan(self, shape: Shape) -> GradientStepsPlan:
        return plan_gradient_steps(
            *self._asked(shape),
            shape.loss,
            checks.whole("n_iter", self.n_iter, 1),
            None if self.step_size is None else checks.positive("step_size", self.step_size),
            self._length(),
        )

    def _weights(self, problem: Problem, plan: GradientStepsPlan, features: int) -> FloatArray:
        return noisy_steps(problem, plan, self._sparse(problem.loss.outputs, features), self._source())

    @abc.abstractmethod
    def _sparse(self, outputs: int, features: int) -> Callable[[FloatArray], FloatArray]:
        """What is done to the weights after every step."""


@parameters
class PrivateIGHTLogisticRegression(_GradientSteps):
    """Private iterative gradient hard thresholding (Wang and Gu 2019): keep the largest weights after every step.

    L. Wang and Q. Gu, Differentially private iterative gradient hard thresholding for sparse learning, IJCAI 2019.
    Here all rows enter every gradient, and the whole path is accounted for exactly. Offered for comparison.

    Parameters
    ----------
    {private_classifier}
    fit_intercept : bool, default=False
        Add a constant feature whose weight is always kept. The published method has none.
    {row_norm}
    n_iter : int, default=300
        Steps. More of them mean more noise in each.
    {gradient_step}
    max_features : int, optional
        Nonzero weights that survive a step, times the number of classes where there are more than two; √p by default.

    {classifier_released}
    Proof: docs/proofs/gradient-steps.md.
    """

    n_iter: int = 300
    max_features: int | None = None

    def _plan(self, shape: Shape) -> GradientStepsPlan:
        if self.max_features is not None:
            checks.whole("max_features", self.max_features, 1)
        return super()._plan(shape)

    def _sparse(self, outputs: int, features: int) -> Callable[[FloatArray], FloatArray]:
        kept = outputs * (self.max_features or max(1, math.isqrt(features)))

        def threshold(coef: FloatArray) -> FloatArray:
            coef[:, :features] = keep_largest(coef[:, :features], kept)
            return coef

        return threshold


@parameters
class DensePrivateLogisticRegression(_GradientSteps):
    """Private gradient descent, every weight nonzero: shows what sparsity costs or gains.

    What a user of a dense method would run: full gradients of clipped rows, Gaussian noise, exact accounting.

    Parameters
    ----------
    {private_classifier}
    fit_intercept : bool, default=False
        Add a constant feature, whose weight is the intercept.
    {row_norm}
    n_iter : int, default=100
        Steps. More of them mean more noise in each.
    {gradient_step}

    {classifier_released}
    Proof: docs/proofs/gradient-steps.md.
    """

    def _sparse(self, outputs: int, features: int) -> Callable[[FloatArray], FloatArray]:
        return lambda coef: coef
