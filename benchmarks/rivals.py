"""Other packages' L1 solvers, all asked for the same: least mean loss + penalty · ‖w‖₁, no intercept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from common import RADIUS
from lookalikes import csr
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from hardzero.optim.losses import Logistic
from hardzero.optim.optimum import l1_optimum
from hardzero.optim.problem import Problem

_L1: dict[str, Any] = (
    {"penalty": "l1"} if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8) else {"l1_ratio": 1.0}
)
Solve = Callable[[float], Any]


def l1_logistic(solver: str, C: float, **options: Any) -> LogisticRegression:
    """Return scikit-learn's L1 logistic regression, in every version's spelling."""
    return LogisticRegression(C=C, solver=solver, random_state=0, **_L1, **options)


@dataclass(frozen=True, eq=False)
class Goal:
    """The penalised problem whose solution is the optimum on the ball, and how far weights are from solving it."""

    X: Any  # by rows
    columns: Any  # by columns
    y: Any
    penalty: float  # on the mean loss
    largest: float  # at this penalty and above, all weights are zero
    least: float  # the least penalised loss
    norm: float  # the norm of the best weights
    gap: float  # certified for the solution that ``least`` comes from

    @classmethod
    def of(cls, problem: Problem) -> Goal:
        """Solve far more exactly than asked of anyone; the multiplier of the constraint is the penalty."""
        exact = l1_optimum(problem, RADIUS, False, 1e-9)
        w = exact.weights.coef[0]
        columns = problem.data.columns()
        X = csr(*_parts(columns.tocsr())) if sparse.issparse(columns) else np.ascontiguousarray(columns)
        columns = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
        margins = X @ w
        y = problem.targets[:, 0]
        slope = X.T @ Logistic().residual(margins, y) / len(y)
        start = X.T @ (0.5 - y) / len(y)
        penalty, norm = float(np.abs(slope).max()), float(np.abs(w).sum())
        least = Logistic().value(margins, y) + penalty * norm
        return cls(X, columns, y, penalty, float(np.abs(start).max()), least, norm, float(exact.gap or 0.0))

    def distance(self, w: Any) -> float:
        """How far the penalised loss is above the least."""
        value = Logistic().value(self.X @ w, self.y) + self.penalty * float(np.abs(w).sum())
        return value - self.least


def _parts(rows: Any) -> tuple[Any, Any, Any, Any]:
    return rows.data, rows.indices, rows.indptr, rows.shape


def _scikit_learn(solver: str) -> Callable[[Goal, float], Solve]:
    def prepare(goal: Goal, tol: float) -> Solve:
        model = l1_logistic(solver, 1.0, tol=tol, fit_intercept=False, max_iter=100_000, warm_start=solver == "saga")

        def solve(penalty: float) -> Any:
            model.set_params(C=1 / (penalty * len(goal.y)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.fit(goal.X, goal.y).coef_[0]

        return solve

    return prepare


def _skglm(goal: Goal, tol: float) -> Solve:
    from skglm import SparseLogisticRegression  # noqa: PLC0415 - may be missing

    model = SparseLogisticRegression(1.0, tol=tol, fit_intercept=False, max_iter=1000, warm_start=True)

    def solve(penalty: float) -> Any:
        model.set_params(alpha=penalty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(goal.columns, goal.y).coef_.ravel()

    return solve


PREPARE: dict[str, Callable[[Goal, float], Solve]] = {
    "liblinear": _scikit_learn("liblinear"),
    "saga": _scikit_learn("saga"),
    "skglm": _skglm,
}
TOLERANCES = {
    "liblinear": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    "saga": (1e-2, 1e-3, 1e-4, 1e-5),
    "skglm": (1e-4, 1e-5, 1e-6, 1e-7),
}


def missing() -> dict[str, str]:
    """Give the rivals that cannot run here, with the reason."""
    try:
        import skglm  # noqa: F401, PLC0415 - may be missing
    except ImportError as error:
        return {"skglm": f"it cannot be imported ({error}); pip install 'hardzero[bench]'"}
    return {}


def search(solve: Solve, goal: Goal, accuracy: float) -> tuple[int, Any]:
    """Find the penalty whose solution has norm ``RADIUS``, as a user would: halve it, then bisect by secants.

    Ends when the error in the norm, weighed with the penalty, is worth at most ``accuracy`` of the loss.
    """
    solves = 0

    def excess(penalty: float) -> tuple[float, Any]:
        nonlocal solves
        solves += 1
        w = solve(penalty)
        return float(np.abs(w).sum()) - RADIUS, w

    high, above = goal.largest, -RADIUS
    low, (below, w) = high / 2, excess(high / 2)
    while below < 0:
        high, above = low, below
        low = low / 2
        below, w = excess(low)
    while solves < 60 and abs(below if abs(below) < abs(above) else above) * high > accuracy:
        share = np.clip(above / (above - below), 0.05, 0.95)
        middle = float(np.exp(np.log(high) + share * (np.log(low) - np.log(high))))
        found, w = excess(middle)
        if abs(found) * middle <= accuracy:
            break
        if found < 0:
            high, above = middle, found
        else:
            low, below = middle, found
    return solves, w


def timed_solve(solve: Solve, goal: Goal) -> tuple[float, dict[str, float]]:
    """One solve at the right penalty, and how near it comes."""
    start = time.perf_counter()
    w = solve(goal.penalty)
    taken = time.perf_counter() - start
    return taken, {"distance": goal.distance(w), "norm": float(np.abs(w).sum())}


def timed_search(prepare: Callable[[Goal, float], Solve], goal: Goal, tol: float) -> tuple[float, dict[str, float]]:
    """Time the search for the penalty from nothing but the radius."""
    start = time.perf_counter()
    solves, w = search(prepare(goal, tol), goal, 1e-6)
    taken = time.perf_counter() - start
    return taken, {"solves": solves, "norm": float(np.abs(w).sum()), "distance": goal.distance(w)}
