"""Select, then refit: the method to use. Every number in it comes from public quantities (docs/select-refit.md).

1. Where there are far more features than the budget can tell apart, screen them by their gradient at the base rate.
2. Release how far features spread, so that they can be standardised.
3. Descend on all of them with noisy gradients, keep the largest weights, descend on those, and so on.
4. Drop what noise alone would explain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray
from ..optim.descent import DescentPlan, iterate_error, noisy_descent, prepare_descent
from ..optim.frank_wolfe import Problem, Weights, choose_several
from ..optim.losses import class_counts
from ..optim.standardise import Standard, private_standard, rates_of, typical_length
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated, Selection
from ..privacy.mechanisms import Candidates, Sensitive
from ..privacy.randomness import Source
from .plans import charged

# Shares of the budget (ρ). Screening and its base rate come off the top, and only where they are needed.
_SCREEN, _SCREEN_RATE = 0.25, 0.02
_LENGTH, _MOMENTS, _FINAL = 0.02, 0.08, 0.45
_ELIMINATIONS = 2
# Steps of a descent: proportional to (signal to noise)^⅔, as Corollary 3 has it for Frank-Wolfe.
_STEPS, _FEWEST_STEPS, _MOST_STEPS = 0.33, 8, 300
_STANDARD_ERRORS = 2.5
_LEAST_CURVATURE = 1e-6


@dataclass(frozen=True)
class Stage:
    """One descent: ``steps`` gradients with noise of ``noise`` sensitivities; ``kept`` weights survive it."""

    steps: int
    noise: float
    kept: int


@dataclass(frozen=True)
class Screen:
    """A first choice of ``kept`` features, one selection of bounded range ``eta`` each."""

    rate_noise: float
    eta: float
    kept: int


@dataclass(frozen=True)
class SelectRefitPlan:
    """How one fit will spend its budget, from public quantities alone.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    screen: Screen | None
    length_eta: float
    moments_noise: float
    stages: tuple[Stage, ...]
    events: tuple[Event, ...]
    spent: Budget
    prune: str = "none"


def plan_select_refit(
    budget: Budget,
    neighbours: Neighbours,
    n_rows: int,
    n_features: int,
    outputs: int,
    max_features: int | None = None,
    prune: str = "none",
) -> SelectRefitPlan:
    """Split the budget and decide on sizes and numbers of steps.

    Parameters
    ----------
    outputs : int
        1 for two classes, otherwise the number of classes.
    max_features : int or None
        Most nonzero weights, times the number of outputs; 2√p by default, fewer where the budget is small.
    prune : {"none", "reliable"}
        Whether weights that cannot be told from noise are dropped.

    Privacy
    -------
    Data-independent.
    """
    rho = accounting.rho_left(budget) * (1 - 1e-9)
    contributions = neighbours.contributions
    signal = n_rows * math.sqrt(2 * rho) / contributions  # standard deviations between a sum's extremes
    affordable = max(5, int(signal / 12))
    wished = int(2 * math.sqrt(n_features)) if max_features is None else max_features
    kept = max(1, min(n_features, wished, affordable))
    events: list[Event] = []
    screen = None
    if n_features > max(signal, kept):
        rate_noise = 1 / math.sqrt(2 * _SCREEN_RATE * rho)
        screened = min(n_features, max(kept, int(signal / 3)))
        screen = Screen(rate_noise, math.sqrt(8 * _SCREEN * rho / screened), screened)
        events += [
            GaussianRelease("class rates", rate_noise),
            Repeated(Selection(screen.eta, "one feature"), screened),
        ]
        rho *= 1 - _SCREEN - _SCREEN_RATE
        n_features = screened
    length_eta = math.sqrt(8 * _LENGTH * rho)
    moments_noise = 1 / math.sqrt(2 * _MOMENTS * rho)
    events += [
        Selection(length_eta, "a typical row length"),
        GaussianRelease("feature moments and class rates", moments_noise),
    ]
    stages = _stages(rho, n_features * outputs, kept * outputs, n_rows, contributions)
    events += [Repeated(GaussianRelease("clipped gradients", stage.noise), stage.steps) for stage in stages]
    spent = charged(budget, events)
    return SelectRefitPlan(budget, neighbours, screen, length_eta, moments_noise, stages, tuple(events), spent, prune)


def _stages(rho: float, weights: int, kept: int, n_rows: int, contributions: int) -> tuple[Stage, ...]:
    """Eliminations by equal factors, then the refit of what is left; a single descent if nothing needs to go."""
    left = 1 - _LENGTH - _MOMENTS
    if weights <= kept:
        shares = [(left, kept)]
    else:
        sizes = [round(weights * (kept / weights) ** ((i + 1) / _ELIMINATIONS)) for i in range(_ELIMINATIONS)]
        shares = [((left - _FINAL) / _ELIMINATIONS, size) for size in sizes] + [(_FINAL, kept)]
    stages = []
    for share, size in shares:
        signal = n_rows * math.sqrt(2 * share * rho) / contributions
        steps = min(max(round(_STEPS * math.pow(2 * signal, 2 / 3)), _FEWEST_STEPS), _MOST_STEPS)
        stages.append(Stage(steps, math.sqrt(steps / (2 * share * rho)), size))
    return tuple(stages)


def select_and_refit(problem: Problem, plan: SelectRefitPlan, source: Source) -> Weights:
    """Fit sparse weights as planned.

    Privacy
    -------
    Releases weights; costs the events of ``plan``. Proof: docs/proofs/select-refit.md.
    """
    loss, contributions = problem.loss, plan.neighbours.contributions
    if not loss.has_refit:
        raise TypeError(f"select-then-refit is for classes; {type(loss).__name__} has no refit, use Private LASSO")
    result = np.zeros((loss.outputs, problem.data.n_features))
    features = np.arange(problem.data.n_features)
    if plan.screen is not None:
        features = screen_features(problem, plan.screen, contributions, source)
        problem = problem.on(problem.data.subset(features))
    length = typical_length(problem, plan.length_eta, source)
    standard = private_standard(problem, length, plan.moments_noise, contributions, source)
    mask = np.ones((loss.outputs, len(features)), dtype=bool)
    at = Weights(np.zeros(mask.shape), start_intercept(standard.rates))
    for stage in plan.stages:
        used = np.flatnonzero(mask.any(axis=0))
        features, mask, standard = features[used], mask[:, used], standard.subset(used)
        problem = problem.on(problem.data.subset(used))
        descent = prepare_descent(loss, standard, mask, problem.n_rows, stage.steps, stage.noise, contributions)
        at = noisy_descent(problem, standard, Weights(at.coef[:, used], at.intercept), descent, source)
        mask = largest(at.coef, mask, stage.kept)
    mask = explained_by_more_than_noise(at, mask, descent, standard, problem.n_rows)
    coef = np.where(mask, at.coef / standard.scale, 0.0)  # a product would keep the sign of what is dropped
    result[:, features] = coef
    return Weights(result, at.intercept - coef @ standard.centre)


def screen_features(problem: Problem, screen: Screen, contributions: int, source: Source) -> NDArray[np.intp]:
    """Choose features by their largest absolute gradient at the base rate, one after the other.

    Privacy
    -------
    Releases the class rates with Gaussian noise, then ``screen.kept`` selections of bounded range ``screen.eta``. At
    weights zero a residual is the class rate or that minus 1, so it is at most max(rate, 1 - rate), and the score
    max_k |Σ r_k x_j| moves by no more than one contribution. Proof: docs/proofs/select-refit.md.
    """
    n = problem.n_rows
    sigma = math.ceil(screen.rate_noise * contributions * RESIDUAL_ONE)
    rates = rates_of(mechanisms.gaussian(class_sums(problem), sigma, source) / (n * RESIDUAL_ONE), n)
    cap = math.ceil(float(np.maximum(rates, 1 - rates).max()) * RESIDUAL_ONE)
    candidates = Candidates(screening_scores(problem, rates, cap))
    return choose_several(candidates, screen.kept, contributions * cap * FEATURE_ONE, screen.eta, source)


def class_sums(problem: Problem) -> Sensitive[IntArray]:
    """Count the rows of each class, in units of 1/RESIDUAL_ONE.

    Privacy
    -------
    Sensitive. A record adds RESIDUAL_ONE in one place, or nothing.
    """
    return Sensitive(class_counts(problem.loss, problem.targets) * RESIDUAL_ONE)


def screening_scores(problem: Problem, rates: FloatArray, cap: int) -> Sensitive[IntArray]:
    """Score every feature by its largest absolute gradient at released class rates, residuals clipped to ``cap``.

    Privacy
    -------
    Sensitive. A record moves each score by at most cap·FEATURE_ONE.
    """
    if problem.loss.outputs == 1:
        residual = rates - problem.targets
    else:
        rows = np.arange(problem.data.n_rows)
        residual = np.tile(rates, (len(rows), 1))
        residual[rows, problem.targets] -= 1.0
    codes = np.clip(np.rint(residual * RESIDUAL_ONE), -cap, cap).astype(np.int64)
    return Sensitive(np.abs(problem.data.gradient(codes)).max(axis=0))


def start_intercept(rates: FloatArray) -> FloatArray:
    """Log odds of two classes, or centred logarithms of several rates.

    Privacy
    -------
    Post-processing.
    """
    if len(rates) == 1:
        return np.asarray(np.log(rates / (1 - rates)))
    logs = np.log(rates)
    return np.asarray(logs - logs.mean())


def largest(coef: FloatArray, mask: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Keep the ``count`` largest absolute weights of those in ``mask``.

    Privacy
    -------
    Post-processing.
    """
    order = np.argsort(np.where(mask, -np.abs(coef), np.inf), axis=None, kind="stable")
    kept = np.zeros(mask.shape, dtype=bool)
    kept.flat[order[:count]] = True
    return kept & mask


def explained_by_more_than_noise(
    at: Weights, mask: NDArray[np.bool_], descent: DescentPlan, standard: Standard, n_rows: int
) -> NDArray[np.bool_]:
    """Drop weights below 2.5 standard errors, of privacy noise and sampling together; the largest always stays.

    Privacy
    -------
    Post-processing: noise levels and curvature follow from released values.
    """
    coef = at.coef * mask
    if len(at.intercept) == 1:
        margin_spread = math.sqrt(float(np.sum(coef**2 * np.clip(standard.spread, 0.0, 1.0))))
        curvature = np.array([mean_curvature(margin_spread, float(at.intercept[0]))])
    else:
        curvature = standard.rates * (1 - standard.rates)
    errors = [math.hypot(iterate_error(descent, h, n_rows), 1 / math.sqrt(n_rows * h)) for h in curvature]
    clear = np.abs(coef) > _STANDARD_ERRORS * np.array(errors)[:, None]
    return (clear | largest(coef, mask, 1)) & mask


def mean_curvature(spread: float, centre: float) -> float:
    """Return the mean of σ'(v) for margins v that are about normal.

    Privacy
    -------
    Post-processing.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    probability = expit(centre + spread * points)
    return max(float(np.sum(weights * probability * (1 - probability)) / np.sum(weights)), _LEAST_CURVATURE)
