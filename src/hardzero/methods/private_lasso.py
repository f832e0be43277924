"""Private LASSO by private Frank-Wolfe (Algorithm 1): its plan, made before any data is read, and its run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from .. import checks
from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE
from ..optim.balls import Ball
from ..optim.frank_wolfe import (
    ExponentialSelector,
    InterceptRule,
    LaplaceSelector,
    NoisyIntercept,
    Selector,
    Weights,
    frank_wolfe,
)
from ..optim.losses import Logistic, Loss
from ..optim.problem import AnyProblem
from ..privacy import accounting
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, PureRelease, Repeated, Selection
from ..privacy.randomness import Source
from .plans import charged

Calibration = Literal["tight", "recursion", "paper"]

_ACCOUNTANTS: dict[Calibration, accounting.Accountant] = {
    "tight": "zcdp",
    "recursion": "recursion",
    "paper": "pure",
}
_INTERCEPT_SHARE = 0.1
_INTERCEPT_STEPS = 10
_LARGEST_SCALE = 2**56


@dataclass(frozen=True)
class Plan:
    """How one fit will spend its budget.

    Attributes
    ----------
    budget : Budget
        What was asked for.
    spent : Budget
        What the events cost under ``neighbours``; never more than ``budget`` unless the calibration is
        the paper's, whose claim does not hold for every relation.
    contributions : int
        How many contributions of single rows separate a sum over one data set from its neighbour's.
    eta, laplace : float or None
        Bounded range of each selection, or scale of the published Laplace noise in units of one record's
        largest contribution; one of the two is set.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    contributions: int
    calibration: Calibration
    n_iter: int
    eta: float | None
    laplace: float | None
    intercept_noise: float | None
    count_epsilon: float | None
    events: tuple[Event, ...]
    spent: Budget

    def selector(self, source: Source) -> Selector:
        """Build the mechanism that chooses a corner at each step."""
        if self.eta is not None:
            return ExponentialSelector(self.eta, self.contributions, source)
        assert self.laplace is not None
        return LaplaceSelector(math.ceil(self.laplace * RESIDUAL_ONE * FEATURE_ONE), source)

    def intercept_rule(self, n_rows: int, source: Source) -> InterceptRule | None:
        """Build the mechanism that moves the intercept, if there is one."""
        if self.intercept_noise is None:
            return None
        return NoisyIntercept(intercept_steps(self.n_iter), self.intercept_noise, self.contributions, n_rows, source)


def plan_lasso(
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    n_iter: int,
    *,
    per_class: int | None = None,
    fit_intercept: bool = False,
    count_epsilon: float | None = None,
    rows_per_person: int = 1,
) -> Plan:
    """Plan Private LASSO, with a private count beside it for Sparsifier.

    Parameters
    ----------
    per_class : int or None
        The number of classes when each gets a selection of its own at every step; None for one selection.
    count_epsilon : float or None
        What the count of nonzeros may cost; None for no count.
    rows_per_person : int, default=1
        How many rows a person has in the table, where the relation is between persons.

    Privacy
    -------
    Data-independent. Composition: docs/proofs/private-lasso.md and docs/proofs/sparsifier.md; persons:
    docs/proofs/persons.md.
    """
    contributions = rows_per_person * neighbours.contributions
    accountant = _ACCOUNTANTS[calibration]
    others: list[Event] = []
    if count_epsilon is not None:
        if not count_epsilon < budget.epsilon:
            raise ValueError(
                f"epsilon_count = {count_epsilon:g} must be smaller than epsilon = {budget.epsilon:g}, "
                "which it is a part of"
            )
        others.append(PureRelease("clipped count of nonzeros with double-geometric noise", count_epsilon))
    intercept_noise = None
    if fit_intercept:
        if calibration != "tight":
            raise ValueError(
                f"fit_intercept=True needs calibration='tight', got {calibration!r}: the published method has no "
                "intercept, and the recursion covers selections only"
            )
        steps = len(intercept_steps(n_iter))
        rho = _INTERCEPT_SHARE * accounting.rho_left(budget, others)
        intercept_noise = math.sqrt(steps / (2 * rho))
        others.append(Repeated(GaussianRelease("sum of residuals (intercept)", intercept_noise), steps))
    selections = n_iter * (per_class or 1)
    eta = laplace = None
    event: Event
    if calibration == "paper":
        laplace = _paper_noise(budget, count_epsilon, n_iter, per_class)
        event = PureRelease("choice of one vertex by Laplace noisy-min", 2 * contributions / laplace)
    else:
        eta = accounting.selection_eta(budget, selections, others, accountant)
        event = Selection(eta)
    events = (*others, Repeated(event, selections))
    if calibration == "paper":  # the published noise is not calibrated to what it guarantees
        spent = accounting.spent(events, budget.delta, accountant)
    else:
        spent = charged(budget, events, accountant)
    return Plan(
        budget,
        neighbours,
        contributions,
        calibration,
        n_iter,
        eta,
        laplace,
        intercept_noise,
        count_epsilon,
        events,
        spent,
    )


def paper_noise(budget: Budget, times: int) -> float:
    """Return the Laplace scale that Algorithm 1 adds, in units of one record's largest contribution.

    What this noise really guarantees is reported by ``accounting.spent(…, accountant="pure")``.

    Privacy
    -------
    Data-independent.
    """
    return math.sqrt(8 * times * -math.log(budget.delta)) / budget.epsilon


def _paper_noise(budget: Budget, count_epsilon: float | None, n_iter: int, per_class: int | None) -> float:
    """Laplace scale of Algorithm 1, or of Algorithm 3 with its Lipschitz constant 2 and ε/K, δ/K a class."""
    epsilon = budget.epsilon - (count_epsilon or 0.0)
    if per_class is None:
        noise = paper_noise(Budget(epsilon, budget.delta), n_iter)
    else:
        noise = 2 * paper_noise(Budget(epsilon / per_class, budget.delta / per_class), n_iter)
    if noise * RESIDUAL_ONE * FEATURE_ONE > _LARGEST_SCALE:
        raise ValueError(f"epsilon = {budget.epsilon:g} is too small: noise of {noise:.3g} records cannot be drawn")
    return noise


def intercept_steps(n_iter: int) -> frozenset[int]:
    """Return the steps that move the intercept: the first, the last, and up to eight evenly between.

    Privacy
    -------
    Data-independent.
    """
    count = min(_INTERCEPT_STEPS, n_iter)
    return frozenset(1 + round(i * (n_iter - 1) / max(count - 1, 1)) for i in range(count))


def paper_iterations(n_rows: int, epsilon: float, radius: float, loss: Loss | None = None) -> int:
    """Return T = (Γ·n·ε/(L·λ))^⅔ of Corollary 3, with the paper's Γ = smoothness·λ².

    The paper's Γ is a quarter of a valid bound (docs/proofs/losses.md); this is its rule as printed.

    Parameters
    ----------
    n_rows, epsilon, radius : number
        The public number of rows, ε and λ.
    loss : Loss, optional
        Gives the smoothness and the Lipschitz constant; the logistic loss by default.

    Returns
    -------
    int
        The number of steps.

    Privacy
    -------
    Data-independent.
    """
    loss = Logistic() if loss is None else loss
    checks.whole("n_rows", n_rows, 1)
    checks.positive("epsilon", epsilon)
    curvature = loss.smoothness * checks.positive("radius", radius) ** 2
    return max(1, round(math.pow(curvature * n_rows * epsilon / (loss.residual_unit * radius), 2 / 3)))


def private_lasso(problem: AnyProblem, ball: Ball, plan: Plan, source: Source) -> Weights:
    """Private LASSO as planned (Algorithm 1).

    Privacy
    -------
    Releases weights; costs the selections and intercept steps of ``plan``. Proof: docs/proofs/private-lasso.md.
    """
    rule = plan.intercept_rule(problem.n_rows, source)
    return frank_wolfe(problem, ball, plan.n_iter, plan.selector(source), rule)
