"""Select-then-refit: the estimator to use."""

from __future__ import annotations

from .. import checks
from ..methods.select_refit import SelectRefitPlan, plan_select_refit, select_and_refit
from ..model.inference import FALSE_DISCOVERY_RATE
from ..optim.frank_wolfe import Problem, Weights
from . import PRUNINGS
from ._inference import WeightInference
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateClassifier


@parameters
class SparsePrivateLogisticRegression(WeightInference, PrivateClassifier):
    """Sparse logistic regression under differential privacy: select features, then refit them. Nothing to tune.

    ``epsilon`` pays for everything inside ``fit``: screening, the features' spread, the intercept, selection and
    refit. How it is split, how many steps are taken and how rows are clipped follow from public quantities alone.

    Parameters
    ----------
    {private_classifier}
    max_features : int, optional
        Most nonzero weights with two classes, and K times as many over all K classes together with more: by default
        2√p, or fewer where the budget could not tell so many apart.
    prune : {"none", "reliable"}, default="none"
        "none" keeps what predicts, and marks in ``reliable_`` what can be told from noise; "reliable" keeps nothing
        else, and is for two classes.

    {inferring_classifier_released}
    Proof: docs/proofs/select-refit.md.

    Examples
    --------
    >>> import numpy as np
    >>> from hardzero import SparsePrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(5000, 30))
    >>> model = SparsePrivateLogisticRegression(epsilon=1.0, bounds=(-1, 1), classes=[0, 1], random_state=0)
    >>> model.fit(X, (X[:, 2] > X[:, 5]).astype(int)).support_
    array([2, 5])
    """

    max_features: int | None = None
    prune: str = "none"

    def _plan(self, shape: Shape) -> SelectRefitPlan:
        limit, prunes = self.max_features, checks.choice("prune", self.prune, PRUNINGS) == "reliable"
        if prunes and shape.loss.outputs > 1:
            raise ValueError(
                "prune='reliable' is for two classes: with more nothing tells yet which weights are reliable; "
                "use prune='none'"
            )
        return plan_select_refit(
            *self._asked(shape),
            shape.n_rows,
            shape.n_features,
            shape.loss.outputs,
            None if limit is None else checks.whole("max_features", limit, 1),
            FALSE_DISCOVERY_RATE if prunes else None,
        )

    def _run(self, problem: Problem, plan: SelectRefitPlan) -> Weights:
        return select_and_refit(problem, plan, self._source())
