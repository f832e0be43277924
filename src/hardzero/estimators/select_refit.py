"""The flagship: select, then refit."""

from __future__ import annotations

from typing import Any

from .. import checks
from ..methods.select_refit import SelectRefitPlan, plan_select_refit, select_and_refit
from ..optim.frank_wolfe import Problem, Weights
from ._base import LinearClassifier, PrivateFit, Shape


class SparsePrivateLogisticRegression(PrivateFit, LinearClassifier):
    """Sparse logistic regression under differential privacy: select features, then refit them. Nothing to tune.

    ``epsilon`` pays for everything inside ``fit``: screening, the features' spread, the intercept, selection and
    refit. How it is split, how many steps are taken and how rows are clipped follow from public quantities alone.

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
    max_features : int, optional
        Most nonzero weights with two classes, and K times as many over all K classes together with more: by default
        2√p, or fewer where the budget could not tell so many apart.
    classes : list of labels or "from-y"
        Every label that can occur, of the same type as in ``y``, whether it does or not; needed, because a rare label
        read from the data could give a person away. "from-y" takes those in ``y`` and declares them public.
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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        max_features: int | None = None,
        classes: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.max_features = max_features
        self.classes = classes
        self.random_state = random_state

    def _plan(self, shape: Shape) -> SelectRefitPlan:
        limit = self.max_features
        return plan_select_refit(
            self._budget(shape.n_rows),
            self._relation(),
            shape.n_rows,
            shape.n_features,
            shape.loss.outputs,
            None if limit is None else checks.whole("max_features", limit, 1),
        )

    def _run(self, problem: Problem, plan: SelectRefitPlan) -> Weights:
        return select_and_refit(problem, plan, self._source())
