"""From dense noisy weights to hard zeros: the paper's Sparsifier (Algorithm 2)."""

from __future__ import annotations

import math

import numpy as np

from ..data.bounded import FloatArray
from ..optim.balls import L1Ball
from ..optim.frank_wolfe import Weights
from ..optim.optimum import NonPrivateSolver
from ..optim.problem import Problem
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import Source
from .private_lasso import Plan, private_lasso


def sparsifier(
    problem: Problem,
    radius: float,
    plan: Plan,
    source: Source,
    *,
    min_features: int,
    max_features: int,
    keep_ratio: float,
    count_solver: NonPrivateSolver,
) -> Weights:
    """Private LASSO, cut down to a private number of nonzero weights (Algorithm 2).

    When ``min_features`` equals ``max_features`` that number is public and nothing is counted.

    Privacy
    -------
    Releases sparse weights and, through their number, the count; costs all events of ``plan``.
    Proof: docs/proofs/sparsifier.md.
    """
    kept = max_features
    if plan.count_epsilon is not None:
        nonzeros = counted_nonzeros(problem, radius, count_solver, plan.intercept_noise is not None)
        kept = mechanisms.count(nonzeros, min_features, max_features, plan.count_epsilon, source)
    weights = private_lasso(problem, L1Ball(radius), plan, source)
    return Weights(keep_largest(weights.coef, scaled_count(kept, keep_ratio, weights.coef.size)), weights.intercept)


def counted_nonzeros(
    problem: Problem, radius: float, solver: NonPrivateSolver, fit_intercept: bool
) -> Sensitive[int]:
    """Count the nonzero weights of a model without privacy (Algorithm 2, lines 1 and 2).

    Privacy
    -------
    Sensitive. One record may move it by any amount; the count that is released is clipped to a public range.
    """
    unprotected = solver(problem, radius, fit_intercept=fit_intercept).weights.coef
    return Sensitive(int(np.count_nonzero(unprotected)))


def scaled_count(kept: int, keep_ratio: float, size: int) -> int:
    """Clip(c·ρ, 0, d) as a whole number (Algorithm 2, line 6).

    Privacy
    -------
    Post-processing.
    """
    return min(max(math.floor(kept * keep_ratio + 0.5), 0), size)


def keep_largest(coef: FloatArray, count: int) -> FloatArray:
    """Return a copy in which all but the ``count`` largest absolute weights are exactly zero.

    Privacy
    -------
    Post-processing.
    """
    order = np.argsort(-np.abs(coef), axis=None, kind="stable")
    sparse = np.zeros_like(coef)
    sparse.flat[order[:count]] = coef.flat[order[:count]]
    return sparse
