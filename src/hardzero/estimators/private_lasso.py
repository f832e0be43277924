"""LASSO on an L1 ball: without privacy, and private by Algorithm 1."""

from __future__ import annotations

from typing import Any

from .. import checks
from ..methods.private_lasso import Plan, plan_lasso, private_lasso
from ..optim.balls import Ball, L1Ball, L1BallPerOutput
from ..optim.frank_wolfe import Problem, Weights
from ._base import LinearClassifier, LinearRegressor, PrivateFit, Shape

CALIBRATIONS = ("tight", "recursion", "paper")
MULTINOMIAL = ("joint", "per-class")


class PrivateLassoLogisticRegression(PrivateFit, LinearClassifier):
    """Private LASSO: logistic regression by private Frank-Wolfe (Algorithm 1).

    Parameters
    ----------
    epsilon : float, default=1.0
        The whole budget of ``fit``.
    delta : float, optional
        By default n^-1.5.
    bounds : pair
        Public (lower, upper): numbers, or arrays with one entry a feature. Never read them from the data.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        What the guarantee is about. Zero-out: one record is there or is empty, and the number of rows is published.
        Replace-one: one record is exchanged for any other, which needs about twice the noise. Add-remove: one record
        is there or is not, in a table of any size; needs ``n_rows``.
    n_rows : int, optional
        For add-remove: a public number of rows, such as a round figure near the expected one. It takes the place of
        the true number wherever that would be used; the model is best where the two are close.
    radius : float, default=10.0
        Largest L1 norm of the weights on features scaled to [-1, 1].
    n_iter : int, default=1000
        Steps, hence selections; ``paper_iterations`` gives the paper's rule.
    calibration : {"tight", "recursion", "paper"}, default="tight"
        zCDP with bounded range; the exact recursion (6 % less noise, takes seconds to minutes); or the published
        Laplace noise, whose honest ε is then reported in ``privacy_``.
    multinomial : {"joint", "per-class"}, default="joint"
        With three classes or more: one selection a step over all classes' weights, or one for each class, as the
        paper's proof has it. Algorithm 3 as printed is not private and not offered (docs/proofs/multinomial.md).
    classes : list of labels or "from-y"
        Every label that can occur, of the same type as in ``y``, whether it does or not; needed, because a rare label
        read from the data could give a person away. "from-y" takes those in ``y`` and declares them public.
    fit_intercept : bool, default=False
        Spend a tenth of the budget on an intercept outside the ball; the published method has none.
    random_state : int, optional
        For tests only: a seeded fit is stamped as not private.

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
        multinomial: str = "joint",
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
        self.multinomial = multinomial
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _ball(self, outputs: int) -> Ball:
        radius = checks.positive("radius", self.radius)
        multinomial = checks.choice("multinomial", self.multinomial, MULTINOMIAL)
        return L1BallPerOutput(radius) if multinomial == "per-class" and outputs > 1 else L1Ball(radius)

    def _plan(self, shape: Shape) -> Plan:
        ball = self._ball(shape.loss.outputs)
        return plan_lasso(
            self._budget(shape.n_rows),
            self._relation(),
            checks.choice("calibration", self.calibration, CALIBRATIONS),  # type: ignore[arg-type]
            checks.whole("n_iter", self.n_iter, 1),
            per_class=shape.loss.outputs if isinstance(ball, L1BallPerOutput) else None,
            fit_intercept=checks.flag("fit_intercept", self.fit_intercept),
        )

    def _run(self, problem: Problem, plan: Plan) -> Weights:
        return private_lasso(problem, self._ball(problem.loss.outputs), plan, self._source())


class PrivateLassoRegression(PrivateFit, LinearRegressor):
    """Private LASSO for a bounded number: squared loss, Talwar et al.'s original setting.

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, n_iter, calibration, random_state
        As in :class:`PrivateLassoLogisticRegression`.
    target_bounds : pair
        Public (lower, upper) of the target; it is clipped to them and divided by the larger absolute one.
    radius : float, default=1.0
        Largest L1 norm of the weights, features and target scaled to [-1, 1]. The noise grows with it twice.
    fit_intercept : bool, default=False
        Spend a tenth of the budget on an intercept outside the ball.

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
    Proof: docs/proofs/private-lasso.md.
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
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _plan(self, shape: Shape) -> Plan:
        return plan_lasso(
            self._budget(shape.n_rows),
            self._relation(),
            checks.choice("calibration", self.calibration, CALIBRATIONS),  # type: ignore[arg-type]
            checks.whole("n_iter", self.n_iter, 1),
            fit_intercept=checks.flag("fit_intercept", self.fit_intercept),
        )

    def _run(self, problem: Problem, plan: Plan) -> Weights:
        return private_lasso(problem, L1Ball(self.radius), plan, self._source())
