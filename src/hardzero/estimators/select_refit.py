"""Select-then-refit: the estimator to use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import checks
from ..data.variables import Variables
from ..methods.select_refit import select_and_refit
from ..methods.select_refit_plan import SelectRefitPlan, plan_select_refit
from ..model.inference import FALSE_DISCOVERY_RATE
from ..optim.frank_wolfe import Weights
from ..optim.problem import AnyProblem
from . import PRUNINGS
from ._inference import WeightInference
from ._linear import Shape
from ._parameters import parameters
from ._private import PrivateClassifier


@parameters
class SparsePrivateLogisticRegression(WeightInference, PrivateClassifier):
    """Sparse logistic regression under differential privacy: select features, then refit them. Nothing to tune.

    ``epsilon`` pays for everything inside ``fit``: screening, the features' spread, the intercept, selection, refit
    and what standard errors rest on. How it is split, how many steps are taken and how rows are clipped follow from
    public quantities alone.

    Parameters
    ----------
    {private_classifier}
    max_features : int, optional
        Most nonzero weights with two classes, and K times as many over all K classes together with more: by default
        2√p, 5√p where ``variables`` are given, or fewer where the budget could not tell so many apart.
    variables : sequence or Variables, optional
        Which features belong together: one label for each feature, or what `SchemaEncoder.variables` says of a
        schema's. Whole variables are then selected, and within them weights.
    max_variables : int, optional
        Most variables with nonzero weights; by default 12, or 3√v of v variables where that is more.
    prune : {"none", "reliable"}, default="none"
        "none" keeps what predicts, and marks in ``reliable_`` what can be told from noise; "reliable" keeps nothing
        else, and is for two classes.
    n_jobs : int, optional
        Threads for passes over many rows, -1 for one a processor; they change no bit of the result. By default as the
        environment says: HARDZERO_THREADS, OMP_NUM_THREADS, or one a processor. Dask workers use their own.

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

    _takes_collections = True
    _takes_persons = True

    max_features: int | None = None
    variables: Any = None
    max_variables: int | None = None
    prune: str = "none"
    n_jobs: int | None = None

    def _plan(self, shape: Shape) -> SelectRefitPlan:
        prunes = checks.choice("prune", self.prune, PRUNINGS) == "reliable"
        if prunes and shape.loss.outputs > 1:
            raise ValueError(
                "prune='reliable' is for two classes: with more nothing tells yet which weights are reliable; "
                "use prune='none'"
            )
        variables = self._variables(shape.n_features)
        if variables is None and self.max_variables is not None:
            raise ValueError("max_variables needs variables=…, one label for each feature; or use max_features")
        if variables is not None and any(variables.signs) and shape.loss.outputs > 1:
            raise ValueError(
                "variables say in which direction they act, which is for two classes; there are "
                f"{shape.loss.outputs}: set signs to 0, or leave monotone out of the schema"
            )
        return plan_select_refit(
            *self._asked(shape),
            shape.n_rows,
            shape.n_features,
            shape.loss.outputs,
            _limit("max_features", self.max_features),
            FALSE_DISCOVERY_RATE if prunes else None,
            variables,
            _limit("max_variables", self.max_variables),
        )

    def _run(self, problem: AnyProblem, plan: SelectRefitPlan) -> Weights:
        return select_and_refit(problem, plan, self._source())

    def _threads(self) -> int | None:
        if self.n_jobs is None:
            return None
        if self.n_jobs == -1:
            return os.cpu_count() or 1
        return checks.whole("n_jobs", self.n_jobs, 1)

    def _variables(self, n_features: int) -> Variables | None:
        if self.variables is None or isinstance(self.variables, Variables):
            variables = self.variables
        elif isinstance(self.variables, str) or not isinstance(self.variables, Sequence | np.ndarray):
            raise TypeError(
                f"variables must be a sequence with one label for each feature, got {type(self.variables).__name__}"
            )
        else:
            labels = self.variables.tolist() if isinstance(self.variables, np.ndarray) else self.variables
            variables = Variables.of_labels(labels)
        if variables is not None and variables.n_features != n_features:
            raise ValueError(
                f"variables has {variables.n_features} labels for {n_features} features; give one for each feature"
            )
        return variables


def _limit(name: str, value: int | None) -> int | None:
    return None if value is None else checks.whole(name, value, 1)
