"""LASSO on an L1 ball: without privacy, and private by Algorithm 1."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .. import checks
from ..data.bounded import RESIDUAL_ONE, BoundedData, Bounds
from ..data.persons import Persons
from ..data.stacked import StackedData
from ..ledger.units import Unit
from ..methods.private_lasso import Plan, plan_lasso, private_lasso
from ..optim.balls import Ball, L1Ball, L1BallPerOutput
from ..optim.descent import refuse_more_rows
from ..optim.frank_wolfe import Weights
from ..optim.losses import Loss
from ..optim.problem import AnyProblem
from ._linear import Shape, _Linear
from ._parameters import parameters
from ._private import PrivateClassifier, PrivateRegressor

CALIBRATIONS = ("tight", "recursion", "paper")
MULTINOMIAL = ("joint", "per-class")


@parameters
class FirstRows(_Linear):
    """Lets the same public number of rows stand for every person: what a person adds is what so many rows add.

    Privacy
    -------
    Which rows stand for a person depends on that person's rows alone. Proof: docs/proofs/persons.md.
    """

    max_rows_per_person: int = 1

    def _rows_per_person(self, unit: Unit) -> int:
        rows = checks.whole("max_rows_per_person", self.max_rows_per_person, 1)
        if unit == "row" and rows > 1:
            raise ValueError(
                f"max_rows_per_person = {rows} goes with groups=…, which says whose rows they are; leave it at 1"
            )
        return rows

    def _problem(
        self, X: Any, targets: Any, loss: Loss, bounds: Bounds, n_rows: int, persons: Persons | None = None
    ) -> AbstractContextManager[AnyProblem]:
        if persons is None:
            return super()._problem(X, targets, loss, bounds, n_rows)
        each = self._rows_per_person("person")
        refuse_more_rows(each * persons.count, RESIDUAL_ONE)
        data = X if isinstance(X, (BoundedData, StackedData)) else BoundedData.from_matrix(X, bounds)
        rows = persons.standing_in(each)
        return super()._problem(data.taken(rows), targets[rows], loss, bounds, each * n_rows)


@parameters
class PrivateLassoLogisticRegression(FirstRows, PrivateClassifier):
    """Private LASSO: logistic regression by private Frank-Wolfe (Algorithm 1).

    Parameters
    ----------
    {private_classifier}
    {rows_per_person}
    {lasso}
    multinomial : {"joint", "per-class"}, default="joint"
        With three classes or more: one selection per step over all classes' weights, or one for each class, as the
        paper's proof has it. Algorithm 3 as printed is not private and not offered (docs/proofs/multinomial.md).
    {lasso_intercept}

    {classifier_released}
    Proof: docs/proofs/private-lasso.md.

    Examples
    --------
    >>> import numpy as np
    >>> from hardzero import PrivateLassoLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 5))
    >>> model = PrivateLassoLogisticRegression(epsilon=1.0, bounds=(-1, 1), classes=[0, 1], n_iter=50, random_state=0)
    >>> y = (X[:, 2] > 0).astype(int)
    >>> int(np.argmax(np.abs(model.fit(X, y).coef_)))
    2
    """

    _takes_collections = True
    _takes_persons = True

    radius: float = 10.0
    n_iter: int = 1000
    calibration: str = "tight"
    multinomial: str = "joint"
    fit_intercept: bool = False

    def _ball(self, outputs: int) -> Ball:
        radius = checks.positive("radius", self.radius)
        multinomial = checks.choice("multinomial", self.multinomial, MULTINOMIAL)
        return L1BallPerOutput(radius) if multinomial == "per-class" and outputs > 1 else L1Ball(radius)

    def _plan(self, shape: Shape) -> Plan:
        ball = self._ball(shape.loss.outputs)
        return plan_lasso(
            *self._asked(shape),
            checks.choice("calibration", self.calibration, CALIBRATIONS),  # type: ignore[arg-type]
            checks.whole("n_iter", self.n_iter, 1),
            per_class=shape.loss.outputs if isinstance(ball, L1BallPerOutput) else None,
            fit_intercept=checks.flag("fit_intercept", self.fit_intercept),
            rows_per_person=self._rows_per_person(shape.unit),
        )

    def _run(self, problem: AnyProblem, plan: Plan) -> Weights:
        return private_lasso(problem, self._ball(problem.loss.outputs), plan, self._source())


@parameters
class PrivateLassoRegression(FirstRows, PrivateRegressor):
    """Private LASSO for a bounded number: squared loss, Talwar et al.'s original setting.

    Parameters
    ----------
    {private_regressor}
    {rows_per_person}
    {squared_lasso}
    {squared_intercept}

    {regressor_released}
    Proof: docs/proofs/private-lasso.md.
    """

    _takes_collections = True
    _takes_persons = True

    radius: float = 1.0
    n_iter: int = 1000
    calibration: str = "tight"
    fit_intercept: bool = False

    def _plan(self, shape: Shape) -> Plan:
        return plan_lasso(
            *self._asked(shape),
            checks.choice("calibration", self.calibration, CALIBRATIONS),  # type: ignore[arg-type]
            checks.whole("n_iter", self.n_iter, 1),
            fit_intercept=checks.flag("fit_intercept", self.fit_intercept),
            rows_per_person=self._rows_per_person(shape.unit),
        )

    def _run(self, problem: AnyProblem, plan: Plan) -> Weights:
        return private_lasso(problem, L1Ball(self.radius), plan, self._source())
