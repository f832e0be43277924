"""What methods for comparison share: the intercept as the weight of a constant feature, and clipped rows."""

from __future__ import annotations

import abc
from typing import Any

from .. import checks
from ..data.bounded import FloatArray
from ..methods.rows import ROW_NORMS, split_intercept, with_constant
from ..optim.frank_wolfe import Weights
from ..optim.problem import Problem
from ..privacy.budget import Budget, Neighbours
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateFit


@parameters
class ConstantFeature(PrivateFit):
    """Appends a feature that is 1 in every row where an intercept is asked for, and takes its weight off again."""

    fit_intercept: bool = False

    def _asked(self, shape: Shape) -> tuple[Budget, Neighbours]:
        checks.flag("fit_intercept", self.fit_intercept)
        return super()._asked(shape)

    def _run(self, problem: Problem, plan: Any) -> Weights:
        coef = self._weights(with_constant(problem, self.fit_intercept), plan, problem.data.n_features)
        return split_intercept(coef, self.fit_intercept)

    @abc.abstractmethod
    def _weights(self, problem: Problem, plan: Any, features: int) -> FloatArray:
        """Fit as planned, (outputs, features) or with one more for a constant, which comes last."""


@parameters
class ConstantFeatureOfClippedRows(ConstantFeature):
    """The same for methods that clip rows, the constant included."""

    row_norm: float = 1.0

    def _length(self) -> float:
        return checks.within("row_norm", self.row_norm, *ROW_NORMS)
