"""Every method of the experiments by name: how its model is built, and what is tuned for it.

A new method for the figures is one line in `COMPARISONS` and, if the paper has a curve for it, in `published`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ..estimators.admm import PrivateADMMLogisticRegression
from ..estimators.gradient_steps import DensePrivateLogisticRegression, PrivateIGHTLogisticRegression
from ..estimators.greedy import PrivateGreedyLogisticRegression
from ..estimators.lasso import LassoLogisticRegression
from ..estimators.private_lasso import PrivateLassoLogisticRegression
from ..estimators.select_refit import SparsePrivateLogisticRegression
from ..estimators.sparsifier import SparsifierLogisticRegression
from ..estimators.two_stage import TwoStageLogisticRegression
from ..methods.private_lasso import Plan
from ..optim.frank_wolfe import Weights, open_loop_step
from ..optim.optimum import ExactSolver, PlainFrankWolfe
from ..optim.problem import AnyProblem
from .rows import Trial

BOUNDS = (-1, 1)
PLAIN = "non-private, plain steps"
OPTIMUM = "non-private optimum"
LASSO = "Private LASSO"
RANDOM_START = "Private LASSO, random start"
SPARSIFIER = "Sparsifier"
SELECT_REFIT = "select-then-refit"

Arguments: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """How to build a model, and the values among which its one tuned parameter is chosen.

    Attributes
    ----------
    build : callable
        Takes the arguments that follow from a trial's budget and seed, and the trial's parameters.
    private : bool
        Whether a budget is spent at all.
    tuned : str
        The parameter that is tuned for the figures; "" for none.
    grid : tuple of float
        Its values.
    grid_on : mapping
        Other values for single data sets.
    """

    build: Callable[[Arguments, Arguments], Any]
    private: bool = True
    tuned: str = ""
    grid: tuple[float, ...] = ()
    grid_on: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def values(self, data: str) -> tuple[float, ...]:
        """The values to try on a data set."""
        return self.grid_on.get(data, self.grid)


class RandomStartLasso(PrivateLassoLogisticRegression):
    """Private LASSO from a random point of the ball, as Talwar et al. start, instead of from zero.

    Of the start w₁ the weights keep w₁·∏(1 - μ_t) after the last step, which is added here; its pull on the path,
    which fades at the same rate, is left out. For counting nonzeros the first part is all that matters.

    Privacy
    -------
    As `PrivateLassoLogisticRegression`: the start does not depend on the data.
    """

    def _run(self, problem: AnyProblem, plan: Plan) -> Weights:
        weights = super()._run(problem, plan)
        left = np.prod([1 - open_loop_step(t) for t in range(1, plan.n_iter + 1)])
        assert self.random_state is not None  # trials are seeded
        start = random_point(weights.coef.size, self.radius, self.random_state).reshape(weights.coef.shape)
        return Weights(weights.coef + left * start, weights.intercept)


def random_point(size: int, radius: float, seed: int) -> Any:
    """A point drawn uniformly from the L1 ball.

    Privacy
    -------
    Data-independent.
    """
    rng = np.random.default_rng(seed)
    spacings = rng.exponential(size=size + 1)  # size + 1 exponentials over their sum are uniform on the simplex
    return radius * rng.choice([-1.0, 1.0], size) * spacings[:-1] / spacings.sum()


def log_spaced(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Values at equal ratios, to four digits: short in the result files.

    Privacy
    -------
    Data-independent.
    """
    return tuple(float(f"{value:.4g}") for value in np.geomspace(low, high, count))


def whole_log_spaced(low: float, high: float, count: int = 5) -> tuple[int, ...]:
    """Whole numbers at about equal ratios.

    Privacy
    -------
    Data-independent.
    """
    return tuple(round(value) for value in np.geomspace(low, high, count))


def _private(estimator: Callable[..., Any], **fixed: Any) -> Callable[[Arguments, Arguments], Any]:
    return lambda budget, parameters: estimator(**budget, **fixed, **parameters)


def _plain(_: Arguments, parameters: Arguments) -> Any:
    solver = PlainFrankWolfe(parameters["n_iter"])
    return LassoLogisticRegression(10.0, bounds=BOUNDS, fit_intercept=False, solver=solver)


def _optimum(_: Arguments, __: Arguments) -> Any:
    return LassoLogisticRegression(10.0, bounds=BOUNDS, fit_intercept=False, solver=ExactSolver())


LASSO_GRID = log_spaced(1, 50)
ADMM_GRID = log_spaced(0.0005, 0.05)
STEPS_GRID = whole_log_spaced(10, 1000)

# The count of Sparsifier comes from the exact optimum: the published 50,000 plain steps serve only to count,
# take minutes, and the count is drowned in noise anyway. ε₁ = 0.05 whatever ε is, as published.
PAPER = {
    PLAIN: Method(_plain, private=False),
    OPTIMUM: Method(_optimum, private=False),
    LASSO: Method(_private(PrivateLassoLogisticRegression, calibration="paper")),
    RANDOM_START: Method(_private(RandomStartLasso, calibration="paper")),
    SPARSIFIER: Method(
        _private(SparsifierLogisticRegression, calibration="paper", epsilon_count=0.05), True, "radius", LASSO_GRID
    ),
}
COMPARISONS = {
    # Its blocks of KDD'99 are separable: with more weight one fit takes minutes.
    "Two-Stage": Method(
        _private(TwoStageLogisticRegression), True, "radius", LASSO_GRID, {"kdd99": log_spaced(1, LASSO_GRID[2])}
    ),
    "Private ADMM": Method(_private(PrivateADMMLogisticRegression), True, "penalty", ADMM_GRID),
    "Private IGHT": Method(_private(PrivateIGHTLogisticRegression), True, "n_iter", STEPS_GRID),
    "Private ADMM, L½": Method(
        _private(PrivateADMMLogisticRegression, penalty_shape="l1/2"), True, "penalty", ADMM_GRID
    ),
    "private greedy": Method(_private(PrivateGreedyLogisticRegression), True, "n_iter", STEPS_GRID),
    "private, dense": Method(_private(DensePrivateLogisticRegression), True, "n_iter", STEPS_GRID),
}
METHODS = {**PAPER, **COMPARISONS, SELECT_REFIT: Method(_private(SparsePrivateLogisticRegression))}
FIGURE_METHODS = (SPARSIFIER, *COMPARISONS, SELECT_REFIT)


def build(trial: Trial, delta: float) -> Any:
    """The unfitted model of a trial.

    Privacy
    -------
    Data-independent.
    """
    budget = {
        "epsilon": trial.epsilon,
        "delta": delta,
        "bounds": BOUNDS,
        "classes": "from-y",  # those of public data sets
        "neighbours": trial.neighbours,
        "random_state": trial.seed,
    }
    return METHODS[trial.method].build(budget, dict(trial.parameters))
