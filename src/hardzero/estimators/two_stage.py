"""Two-Stage, for comparison."""

from __future__ import annotations

import math

from .. import checks
from ..methods.rows import ROW_NORMS
from ..methods.two_stage import TwoStagePlan, plan_two_stage, two_stage
from ..optim.frank_wolfe import Weights
from ..optim.problem import Problem
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateBinaryClassifier


@parameters
class TwoStageLogisticRegression(PrivateBinaryClassifier):
    """Two-Stage (Kifer, Smith and Thakurta 2012): blocks vote for features, objective perturbation fits them.

    D. Kifer, A. Smith and A. Thakurta, Private convex empirical risk minimization and high-dimensional regression,
    COLT 2012. Here votes are chosen one by one by the exponential mechanism, and both stages are accounted for
    together. Two classes. Offered for comparison.

    Parameters
    ----------
    {private_classifier}
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

    {classifier_released}
    Proof: docs/proofs/two-stage.md and docs/proofs/objective-perturbation.md.
    """

    max_features: int | None = None
    n_blocks: int | None = None
    radius: float = 10.0
    l2_penalty: float | None = None
    row_norm: float = 1.0
    selection_share: float = 0.5
    fit_intercept: bool = False

    def _plan(self, shape: Shape) -> TwoStagePlan:
        checks.flag("fit_intercept", self.fit_intercept)
        kept = math.isqrt(shape.n_features) if self.max_features is None else self.max_features
        blocks = math.isqrt(shape.n_rows) if self.n_blocks is None else self.n_blocks
        return plan_two_stage(
            *self._asked(shape),
            min(checks.whole("max_features", kept, 1), shape.n_features),
            checks.whole("n_blocks", blocks, 1),
            checks.positive("radius", self.radius),
            checks.within("row_norm", self.row_norm, *ROW_NORMS),
            None if self.l2_penalty is None else checks.positive("l2_penalty", self.l2_penalty),
            checks.share("selection_share", self.selection_share),
        )

    def _run(self, problem: Problem, plan: TwoStagePlan) -> Weights:
        return two_stage(problem, plan, self.fit_intercept, self._source())
