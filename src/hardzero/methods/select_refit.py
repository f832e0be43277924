"""Select, then refit: the method to use. Every number in it comes from public quantities (docs/select-refit.md).

1. Where there are far more features than the budget can tell apart, screen them by their gradient at the base rate.
2. Release how far features spread, so that they can be standardised.
3. Descend on all of them with noisy gradients, keep the largest weights that look real, descend on those, and so on.
4. Release the curvature of what is left: one Newton step with a known error (methods/inference.py).
5. Drop what is likelier noise; say of the rest how sure it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray
from ..optim.curvature import noisy_curvature
from ..optim.descent import Pace, noisy_descent, prepare_descent
from ..optim.frank_wolfe import Evidence, Problem, Weights, choose_several
from ..optim.losses import class_counts
from ..optim.standardise import Standard, private_standard, rates_of, typical_length
from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated, Selection
from ..privacy.mechanisms import Candidates, Sensitive
from ..privacy.randomness import Source
from .inference import Estimate, NullChances, Trace, estimate_weights, null_chances, q_values
from .plans import charged

# Shares of the budget (ρ). Screening and its base rate come off the top, and only where they are needed.
_SCREEN, _SCREEN_RATE = 0.25, 0.02
_LENGTH, _MOMENTS, _CURVATURE = 0.02, 0.08, 0.1
_FINAL = 0.5  # of what is left, for the refit
_ELIMINATIONS = 2
_TAIL, _FINAL_TAIL, _PLAIN_TAIL = 0.5, 0.8, 0.3
"""Shares of a descent's steps that count for where it lands: a refit starts near its end. The last is for several
classes, which have no Newton step to make up for the way there."""
_LEANING, _LEANING_SIGNAL = 1.0, 500.0
"""Where a weight is to be called real, the first plus the second over the signal more features count as noise."""
# Steps of a descent: proportional to (signal to noise)^⅔, as Corollary 3 has it for Frank-Wolfe.
_STEPS, _FEWEST_STEPS, _MOST_STEPS = 0.33, 8, 300
_CURVATURE_SIGNAL = 14.0
"""The curvature of k features is released where the signal exceeds this times k^1.5: below, it would be noise."""
_MOST_DOUBT, _LEAST_DOUBT = 0.95, 0.1
"""Weights likelier to be noise than the first are dropped; those of features that may be empty, than the second."""
_CLEAR_MOMENTS = 0.02
"""Moments with more noise than this cannot tell any feature from nothing."""
_COVERED = "the weights given the kept features{}; selection is not accounted for"
_COVERED_BY = {True: _COVERED.format(""), False: _COVERED.format(", which are taken for uncorrelated")}
"""What intervals cover, with a released curvature and without."""


class Stage(NamedTuple):
    """One descent, after which ``kept`` weights survive."""

    pace: Pace
    kept: int


@dataclass(frozen=True)
class Screen:
    """A first choice of ``kept`` features, one selection of bounded range ``eta`` each."""

    rate_noise: float
    eta: float
    kept: int


@dataclass(frozen=True)
class Releases:
    """All that a fit will release, and with how much noise; ``curvature_noise`` is None where there is none.

    Privacy
    -------
    Data-independent.
    """

    screen: Screen | None
    length_eta: float
    moments_noise: float
    stages: tuple[Stage, ...]
    curvature_noise: float | None

    @property
    def events(self) -> tuple[Event, ...]:
        """What accounting needs to know, in the order of time."""
        events: list[Event] = []
        if self.screen is not None:
            events += [
                GaussianRelease("class rates", self.screen.rate_noise),
                Repeated(Selection(self.screen.eta, "one feature"), self.screen.kept),
            ]
        events += [
            Selection(self.length_eta, "a typical row length"),
            GaussianRelease("feature moments and class rates", self.moments_noise),
        ]
        events += [Repeated(GaussianRelease("weighted gradients", pace.noise), pace.steps) for pace, _ in self.stages]
        if self.curvature_noise is not None:
            events.append(GaussianRelease("curvature of the kept features", self.curvature_noise))
        return tuple(events)


@dataclass(frozen=True)
class SelectRefitPlan:
    """How one fit will spend its budget, from public quantities alone.

    ``leaning`` is how many more features count as noise where weights are to be called real; ``false_discoveries``,
    if given, the false-discovery rate up to which they are kept.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    releases: Releases
    events: tuple[Event, ...]
    spent: Budget
    leaning: float
    false_discoveries: float | None = None


def plan_select_refit(
    budget: Budget,
    neighbours: Neighbours,
    n_rows: int,
    n_features: int,
    outputs: int,
    max_features: int | None = None,
    false_discoveries: float | None = None,
) -> SelectRefitPlan:
    """Split the budget and decide on sizes and numbers of steps.

    Parameters
    ----------
    outputs : int
        1 for two classes, otherwise the number of classes.
    max_features : int or None
        Most nonzero weights, times the number of outputs; 2√p by default, fewer where the budget is small.
    false_discoveries : float or None
        Keep only weights that can be called real with this false-discovery rate; two classes only.

    Privacy
    -------
    Data-independent.
    """
    wished = int(2 * math.sqrt(n_features)) if max_features is None else max_features
    layout = _Layout(n_rows / neighbours.contributions, n_features, outputs, wished, accounting.rho_left(budget))
    rho = accounting.most_within(budget, lambda rho: layout.releases(rho).events, layout.rho)
    releases = layout.releases(rho)
    spent = charged(budget, releases.events)
    leaning = _LEANING + _LEANING_SIGNAL / layout.signal
    return SelectRefitPlan(budget, neighbours, releases, releases.events, spent, leaning, false_discoveries)


@dataclass(frozen=True)
class _Layout:
    """Sizes and shares, from what zCDP says the budget holds; the exact accountant then allows somewhat more."""

    records: float  # rows by contributions to a sum
    n_features: int
    outputs: int
    wished: int
    rho: float

    @property
    def signal(self) -> float:
        """Standard deviations of noise between the extremes of a sum that is released with the whole budget."""
        return self.records * math.sqrt(2 * self.rho)

    @property
    def kept(self) -> int:
        affordable = max(5, int(self.signal / 12))
        return max(1, min(self.n_features, self.wished, affordable))

    def releases(self, rho: float) -> Releases:
        """Noise for all releases if they may cost ρ together."""
        screen, screened, left = None, self.n_features, self.rho
        if self.n_features > max(self.signal, self.kept):
            screened = min(self.n_features, max(self.kept, int(self.signal / 3)))
            screen = Screen(_noise(_SCREEN_RATE * rho), math.sqrt(8 * _SCREEN * rho / screened), screened)
            left = (1 - _SCREEN - _SCREEN_RATE) * self.rho
        share = left / self.rho
        stages = []
        for part, size, tail in self._descents(screened):
            signal = self.records * math.sqrt(2 * part * left)
            steps = min(max(round(_STEPS * math.pow(2 * signal, 2 / 3)), _FEWEST_STEPS), _MOST_STEPS)
            stages.append(Stage(Pace(steps, _noise(part * share * rho / steps), tail), size))
        curvature = _noise(_CURVATURE * share * rho) if self._has_curvature else None
        length_eta = math.sqrt(8 * _LENGTH * share * rho)
        return Releases(screen, length_eta, _noise(_MOMENTS * share * rho), tuple(stages), curvature)

    @property
    def _has_curvature(self) -> bool:
        return self.outputs == 1 and self.signal >= _CURVATURE_SIGNAL * self.kept**1.5

    def _descents(self, features: int) -> list[tuple[float, int, float]]:
        """Eliminations by equal factors, then the refit of what is left; one descent if nothing needs to go.

        For each its share, the number of weights that survive it, and the tail that counts.
        """
        left = 1 - _LENGTH - _MOMENTS - (_CURVATURE if self._has_curvature else 0.0)
        weights, kept = features * self.outputs, self.kept * self.outputs
        tail, final_tail = (_TAIL, _FINAL_TAIL) if self.outputs == 1 else (_PLAIN_TAIL, _PLAIN_TAIL)
        if weights <= kept:
            return [(left, kept, tail)]
        sizes = [round(weights * (kept / weights) ** ((i + 1) / _ELIMINATIONS)) for i in range(_ELIMINATIONS)]
        share = (1 - _FINAL) * left / _ELIMINATIONS
        return [*((share, size, tail) for size in sizes), (_FINAL * left, kept, final_tail)]


def _noise(rho: float) -> float:
    """Noise, in sensitivities, of a Gaussian release that costs ρ."""
    return 1 / math.sqrt(2 * rho)


def select_and_refit(problem: Problem, plan: SelectRefitPlan, source: Source) -> Weights:
    """Fit sparse weights as planned.

    Privacy
    -------
    Releases weights; costs the events of ``plan``. Proof: docs/proofs/select-refit.md.
    """
    loss, contributions, releases = problem.loss, plan.neighbours.contributions, plan.releases
    if not loss.has_refit:
        raise TypeError(f"select-then-refit is for classes; {type(loss).__name__} has no refit, use Private LASSO")
    shape = (loss.outputs, problem.data.n_features)
    features = np.arange(problem.data.n_features)
    if releases.screen is not None:
        features = screen_features(problem, releases.screen, contributions, source)
        problem = problem.on(problem.data.subset(features))
    length = typical_length(problem, releases.length_eta, source)
    whole = private_standard(problem, length, releases.moments_noise, contributions, source)
    places, mask, standard = np.arange(len(features)), np.ones((loss.outputs, len(features)), dtype=bool), whole
    at, traces = Weights(np.zeros(mask.shape), start_intercept(whole.rates)), list[Trace]()
    for stage in releases.stages:
        used = np.flatnonzero(mask.any(axis=0))
        places, mask, standard = places[used], mask[:, used], standard.subset(used)
        problem = problem.on(problem.data.subset(used))
        descent = prepare_descent(loss, standard, mask, problem.n_rows, stage.pace, contributions)
        path = noisy_descent(problem, standard, Weights(at.coef[:, used], at.intercept), descent, source)
        at = path.landing.at
        traces.append(Trace(path, mask, places))
        chances = null_chances(traces, whole, plan.leaning).at(places)
        ranked = mean_landing(traces, places) * (1 - chances.likely)
        mask = largest(ranked, mask, stage.kept)
    kept = clear_of_noise(mask, standard, chances) | largest(ranked, mask, 1)
    if loss.outputs > 1:
        weights = Weights(np.where(kept, at.coef, 0.0), at.intercept)
    else:
        curvature = None
        if releases.curvature_noise is not None:
            curvature = noisy_curvature(
                problem, standard, at, descent.clip, releases.curvature_noise, contributions, source
            )
        estimate = estimate_weights(path, curvature, standard)
        rates = false_discovery_rates(estimate, kept[0], standard, chances, shape[1])
        covers = _COVERED_BY[curvature is not None]
        weights = judged(estimate, kept[0], rates, covers, plan.false_discoveries)
    return in_public_units(weights, standard, features[places], shape)


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


def mean_landing(traces: Sequence[Trace], features: NDArray[np.intp]) -> FloatArray:
    """Return where descents have landed so far, on average, the less noisy ones counting for more.

    Privacy
    -------
    Post-processing.
    """
    shares = np.array([trace.path.landing.steps / trace.path.noise**2 for trace in traces])
    landings = [trace.path.landing.at.coef[:, np.searchsorted(trace.features, features)] for trace in traces]
    return np.asarray(np.tensordot(shares / shares.sum(), landings, axes=1))


def may_be_empty(standard: Standard) -> NDArray[np.bool_]:
    """Say which features may be the same in all rows, as far as their released variance tells.

    Where moments are so noisy that this could be said of any feature, it is said of none.

    Privacy
    -------
    Post-processing.
    """
    return (standard.variance <= 2 * standard.variance_error) & (standard.error <= _CLEAR_MOMENTS)


def clear_of_noise(mask: NDArray[np.bool_], standard: Standard, chances: NullChances) -> NDArray[np.bool_]:
    """Drop weights that are likelier noise.

    Privacy
    -------
    Post-processing.
    """
    return mask & (chances.likely < np.where(may_be_empty(standard), _LEAST_DOUBT, _MOST_DOUBT))


def false_discovery_rates(
    estimate: Estimate, kept: NDArray[np.bool_], standard: Standard, chances: NullChances, candidates: int
) -> FloatArray:
    """Return the false-discovery rate of calling each kept weight real; 1 for the others.

    Privacy
    -------
    Post-processing.
    """
    rates = np.ones(len(kept))
    law, careful = estimate.keeping(kept), chances.careful[0, kept]
    rates[kept] = q_values(law, careful, candidates, must_tell=may_be_empty(standard)[kept])
    return rates


def judged(
    estimate: Estimate, kept: NDArray[np.bool_], rates: FloatArray, covers: str, false_discoveries: float | None
) -> Weights:
    """Return the weights in ``kept``, all others being zero, with their evidence; ``covers`` is what intervals cover.

    Only those within the rate of ``false_discoveries``, if that is given.

    Privacy
    -------
    Post-processing.
    """
    if false_discoveries is not None:
        kept = kept & (rates <= false_discoveries)
    law = estimate.keeping(kept)
    coef, errors = np.zeros(len(kept)), np.full(len(kept), np.nan)
    coef[kept], errors[kept] = law.mean[:-1], law.errors
    evidence = Evidence(errors[None], np.where(kept, rates, 1.0)[None], covers)
    return Weights(coef[None], law.mean[-1:], evidence)


def in_public_units(
    weights: Weights, standard: Standard, features: NDArray[np.intp], shape: tuple[int, int]
) -> Weights:
    """Return weights of standardised features as weights of all features as they are.

    Privacy
    -------
    Post-processing.
    """

    def spread_out(values: FloatArray, others: float) -> FloatArray:
        whole = np.full(shape, others)
        whole[:, features] = values
        return whole

    coef = weights.coef / standard.scale
    evidence = weights.evidence and Evidence(
        spread_out(weights.evidence.standard_error / standard.scale, np.nan),
        spread_out(weights.evidence.q_value, 1.0),
        weights.evidence.covers,
    )
    return Weights(spread_out(coef, 0.0), weights.intercept - coef @ standard.centre, evidence)
