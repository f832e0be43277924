"""Two-Stage, for comparison."""

from __future__ import annotations

import math
from typing import Any

from .. import checks
from ..methods.rows import ROW_NORMS
from ..methods.two_stage import TwoStagePlan, plan_two_stage, two_stage
from ..optim.frank_wolfe import Problem, Weights
from ._base import BinaryClassifier, PrivateFit, Shape


class TwoStageLogisticRegression(PrivateFit, BinaryClassifier):
    """Two-Stage (Kifer, Smith and Thakurta 2012): blocks vote for features, objective perturbation fits them.

    D. Kifer, A. Smith and A. Thakurta, Private convex empirical risk minimization and high-dimensional regression,
    COLT 2012. Here votes are chosen one by one by the exponential mechanism, and both stages are accounted for
    together. Two classes. Offered for comparison.

    Parameters
    ----------
    epsilon, delta, bounds, neighbours, n_rows, classes, random_state
        As in :class:`SparsePrivateLogisticRegression`.
    max_features : int, optional
        Features that are chosen; √p by default.
    n_blocks : int, optional
        Blocks that vote; √n by default.
    radius : float, default=10.0
        L1 norm of each block's own weights.
    l2_penalty : float, optional
        Strong convexity Δ of the second stage; at least 2·H/epsilon with H = row_norm²/4. By default five times that,
        and at least 1.
    row_norm : float, default=1.0
        Rows, scaled to [-1, 1] and cut down to the chosen features, are shrunk to this L2 length while fitting.
    selection_share : float, default=0.5
        Part of the budget for the choice of features. Together with a small ``l2_penalty`` it may leave nothing for
        the fit, which is an error.
    fit_intercept : bool, default=False
        Fit the weight of a constant feature as well. The published method has none.

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
    Proof: docs/proofs/two-stage.md and docs/proofs/objective-perturbation.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        max_features: int | None = None,
        n_blocks: int | None = None,
        radius: float = 10.0,
        l2_penalty: float | None = None,
        row_norm: float = 1.0,
        selection_share: float = 0.5,
        classes: Any = None,
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.max_features = max_features
        self.n_blocks = n_blocks
        self.radius = radius
        self.l2_penalty = l2_penalty
        self.row_norm = row_norm
        self.selection_share = selection_share
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _plan(self, shape: Shape) -> TwoStagePlan:
        checks.flag("fit_intercept", self.fit_intercept)
        kept = math.isqrt(shape.n_features) if self.max_features is None else self.max_features
        blocks = math.isqrt(shape.n_rows) if self.n_blocks is None else self.n_blocks
        return plan_two_stage(
            self._budget(shape.n_rows),
            self._relation(),
            min(checks.whole("max_features", kept, 1), shape.n_features),
            checks.whole("n_blocks", blocks, 1),
            checks.positive("radius", self.radius),
            checks.within("row_norm", self.row_norm, *ROW_NORMS),
            None if self.l2_penalty is None else checks.positive("l2_penalty", self.l2_penalty),
            checks.share("selection_share", self.selection_share),
        )

    def _run(self, problem: Problem, plan: TwoStagePlan) -> Weights:
        return two_stage(problem, plan, self.fit_intercept, self._source())
