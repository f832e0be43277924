"""Every private estimator with every loss, and tables to fit them on in every storage."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hardzero
from hardzero import kernels
from hardzero.data.bounded import Bounds
from hardzero.data.stacked import StackedData
from hardzero.data.variables import Variables

N_ROWS, N_FEATURES = 260, 14


@dataclass(frozen=True)
class Case:
    """An estimator's class, its parameters, and how many classes it is to tell apart (0 for a number)."""

    estimator: str
    n_classes: int = 2
    n_features: int = N_FEATURES
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        changed = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        wide = "-wide" if self.n_features != N_FEATURES else ""
        return f"{self.estimator}-{self.n_classes}{wide}-{changed}".rstrip("-")

    def build(self, **changes):
        target = {"classes": list(range(self.n_classes))} if self.n_classes else {"target_bounds": (-2, 2)}
        kind = getattr(hardzero, self.estimator)
        return kind(**{"epsilon": 1.0, "bounds": (-1, 1), **target, **self.parameters, **changes})


SELECT_REFIT, LASSO, SPARSIFIER = (
    "SparsePrivateLogisticRegression",
    "PrivateLassoLogisticRegression",
    "SparsifierLogisticRegression",
)
VARIABLES = Variables(  # of all kinds; the last but one can only rise, and few of its cut points take part
    ("number", "categories", "falling", "steps", "rest"),
    ("number", "categories", "number", "steps", "number"),
    (0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4),
    (0, 0, 0, 0, -1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    (0, 0, 0, 3, 0),
)
FREE = Variables(  # the same without curves and directions, so that a curvature may guide
    ("number", "categories", "other", "rest"),
    ("number", "categories", "number", "number"),
    (0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3),
    (0,) * 14,
)
DIRECTED = Variables(FREE.names, FREE.kinds, FREE.owners, (1, 0, 0, 0, -1, *(0,) * 9))
LABELS = tuple("aabbccddeeffgg")
CASES = [
    Case(SELECT_REFIT),
    Case(SELECT_REFIT, 2, parameters={"variables": VARIABLES, "max_variables": 3}),
    Case(SELECT_REFIT, 2, parameters={"variables": VARIABLES, "epsilon": 50.0, "prune": "reliable"}),
    Case(SELECT_REFIT, 2, parameters={"variables": FREE, "epsilon": 50.0}),
    Case(SELECT_REFIT, 2, parameters={"variables": DIRECTED, "epsilon": 50.0}),
    Case(SELECT_REFIT, 3, parameters={"variables": LABELS, "max_variables": 2}),
    Case(SELECT_REFIT, 3),
    Case(SELECT_REFIT, 2, 400),
    Case(SELECT_REFIT, 3, 400),
    Case(SELECT_REFIT, 2, parameters={"epsilon": 50.0}),  # which is enough for a curvature
    Case(SELECT_REFIT, 2, parameters={"epsilon": 50.0, "max_features": 3, "prune": "reliable"}),
    Case(LASSO, 2, parameters={"n_iter": 60}),
    Case(LASSO, 2, parameters={"n_iter": 60, "fit_intercept": True}),
    Case(LASSO, 2, parameters={"n_iter": 20, "calibration": "paper"}),
    Case(LASSO, 2, parameters={"n_iter": 4, "calibration": "recursion"}),
    Case(LASSO, 2, 400, parameters={"n_iter": 60, "epsilon": 20.0}),
    Case(LASSO, 3, parameters={"n_iter": 60, "fit_intercept": True}),
    Case(LASSO, 3, parameters={"n_iter": 20, "multinomial": "per-class"}),
    Case(SPARSIFIER, 2, parameters={"n_iter": 30}),
    Case(SPARSIFIER, 3, parameters={"n_iter": 30, "fit_intercept": True}),
    Case("PrivateLassoRegression", 0, parameters={"n_iter": 60, "fit_intercept": True}),
    Case("SparsifierRegression", 0, parameters={"n_iter": 30}),
    Case("TwoStageLogisticRegression", 2, parameters={"fit_intercept": True}),
    Case("PrivateADMMLogisticRegression", 2, parameters={"coupling": 0.1}),
    Case("PrivateADMMLogisticRegression", 2, parameters={"coupling": 0.1, "penalty_shape": "l1/2"}),
    Case("PrivateIGHTLogisticRegression", 2, parameters={"n_iter": 20, "fit_intercept": True}),
    Case("PrivateIGHTLogisticRegression", 3, parameters={"n_iter": 20}),
    Case("PrivateGreedyLogisticRegression", 2, parameters={"n_iter": 20, "fit_intercept": True}),
    Case("PrivateGreedyLogisticRegression", 3, parameters={"n_iter": 20, "penalty": 0.01}),
    Case("DensePrivateLogisticRegression", 2, parameters={"n_iter": 20, "fit_intercept": True}),
    Case("DensePrivateLogisticRegression", 3, parameters={"n_iter": 20}),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def stacked(X, bounds=(-1, 1), middle=sparse.csr_array):
    """Three blocks, the middle one sparse."""
    parts = [X[:90], middle(X[90:150]), X[150:]]
    return StackedData.from_batches((part for part in parts if part.shape[0]), Bounds.parse(bounds, X.shape[1]))


STORAGES = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "stacked": stacked,
    "dense blocks": partial(stacked, middle=np.asarray),
}
TABLES = ("stacked", "dense blocks")
every_storage = pytest.mark.parametrize("storage", STORAGES)


@pytest.fixture(params=["compiled", "reference"])
def loops(request, monkeypatch):
    """Both kinds of loops, where both are there."""
    if request.param == "reference":
        monkeypatch.setattr(kernels, "_fast", None)
        monkeypatch.setenv("HARDZERO_KERNELS", "reference")
    elif kernels.compiled() is None:
        pytest.skip("the compiled loops are not built here")


def records(case, seed, n_rows=N_ROWS):
    """Rows with zeros, ones, values in between and beyond the bounds, and what is to be predicted from them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.3, 1.3, size=(n_rows, case.n_features)) * (rng.random((n_rows, case.n_features)) < 0.4)
    X[:, :4] = np.sign(X[:, :4])
    X = X[:, rng.permutation(case.n_features)]  # so that other features are frequent in other tables
    score = X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(n_rows)
    if case.n_classes == 0:
        return X, score
    return X, np.digitize(score, [0.1] if case.n_classes == 2 else [-0.4, 0.5])


def monotonous(case, n_rows=N_ROWS):
    """Empty rows of one class."""
    return np.zeros((n_rows, case.n_features)), np.zeros(n_rows, dtype=float if case.n_classes == 0 else int)


def fitted(case, table, storage="dense", **changes):
    X, y = table
    model = case.build(**changes)
    if storage in TABLES:
        return model.fit_table(STORAGES[storage](X), y)
    return model.fit(STORAGES[storage](X), y)
