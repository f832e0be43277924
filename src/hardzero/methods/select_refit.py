"""Select, then refit: the method to use. Every number in it comes from public quantities (docs/select-refit.md).

1. Where there are far more features than the budget can tell apart, screen them by their gradient at the base rate.
2. Release how far features spread, so that they can be standardised.
3. Descend on all of them with noisy gradients, keep the variables that matter and the largest of their weights that
   look real, descend on those, and so on.
4. In the last descent release the curvature of what is left: it guides the steps to come, and in the end one Newton
   step with a known error (methods/inference.py).
5. Drop what is likelier noise; say of the rest how sure it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FEATURE_ONE, RESIDUAL_ONE, FloatArray, IntArray
from ..data.variables import Variables
from ..optim.curvature import Curvature, noisy_curvature
from ..optim.descent import DescentPlan, Path, noisy_descent, prepare_descent
from ..optim.frank_wolfe import Evidence, VariableEvidence, Weights, choose_several
from ..optim.problem import AnyProblem, Problem
from ..optim.standardise import Standard, private_standard, rates_of, typical_length
from ..privacy import mechanisms
from ..privacy.mechanisms import Candidates, Sensitive
from ..privacy.randomness import Source
from .evidence import NullChances, Trace, likely_chances, null_chances
from .inference import Estimate, estimate_weights, guide, q_values, variable_q_values
from .select_refit_plan import Screen, SelectRefitPlan
from .support import clear_of_noise, largest, may_be_empty, mean_landing, most_important

_COVERED = "the weights given the kept features{}; selection is not accounted for"
_UNCORRELATED = ", which are taken for uncorrelated", ", which are taken for uncorrelated between variables"


def select_and_refit(problem: AnyProblem, plan: SelectRefitPlan, source: Source) -> Weights:
    """Fit sparse weights as planned.

    Privacy
    -------
    Releases weights; costs the events of ``plan``. Proof: docs/proofs/select-refit.md.
    """
    loss, contributions, releases = problem.loss, plan.neighbours.contributions, plan.releases
    if not loss.has_refit:
        raise TypeError(f"select-then-refit is for classes; {type(loss).__name__} has no refit, use Private LASSO")
    shape = (loss.outputs, problem.n_features)
    features = np.arange(shape[1]) if plan.features is None else np.array(plan.features, dtype=np.intp)
    problem = problem.subset(features)
    if releases.screen is not None:
        screened = np.sort(screen_features(problem, releases.screen, contributions, source))
        features, problem = features[screened], problem.subset(screened)
    length = typical_length(problem, releases.length_eta, releases.moments_noise * contributions, source)
    whole = private_standard(problem, length, releases.moments_noise, contributions, source)
    left = descended(problem, plan, whole, _among(plan.variables, features), source)
    if loss.outputs > 1:
        at = left.path.landing.at
        weights = Weights(np.where(left.kept, at.coef, 0.0), at.intercept)
    else:
        judges = judgement(plan, left)
        pointing = in_known_direction(judges, left.kept[0])
        weights = judged(judges, pointing, false_discovery_rates(judges, pointing), plan.false_discoveries)
    return in_public_units(weights, left.standard, features[left.places], shape)


class Descended(NamedTuple):
    """What the last descent, along ``path``, was about: features at ``places`` among those that there were.

    ``kept`` are the weights that are clear of noise, or else the largest one; ``curvature`` is None where none was
    released, ``variables`` where none were declared.
    """

    path: Path
    curvature: Curvature | None
    places: NDArray[np.intp]
    standard: Standard
    variables: Variables | None
    chances: NullChances
    kept: NDArray[np.bool_]


def descended(
    problem: AnyProblem, plan: SelectRefitPlan, whole: Standard, variables: Variables | None, source: Source
) -> Descended:
    """Descend on all features, then on those that survive, and so on; ``whole`` is the standard of all.

    Privacy
    -------
    Releases the gradients of all descents and the curvature, if one is planned.
    """
    loss, contributions, releases = problem.loss, plan.neighbours.contributions, plan.releases
    places, standard, everything = np.arange(problem.n_features), whole, variables
    mask = np.ones((loss.outputs, problem.n_features), dtype=bool)
    if everything is not None:
        mask &= everything.at_quantiles(whole.centre)
    at, traces, curvature = Weights(np.zeros(mask.shape), start_intercept(whole.rates)), list[Trace](), None
    for stage in releases.stages:
        used = np.flatnonzero(mask.any(axis=0))
        places, mask, standard = places[used], mask[:, used], standard.subset(used)
        problem, variables = problem.subset(used), _among(everything, places)
        signs = None if variables is None else variables.signs
        descent = prepare_descent(loss, standard, mask, problem.n_rows, stage.pace, contributions, signs)
        path = noisy_descent(problem, standard, Weights(at.coef[:, used], at.intercept), descent, source)
        if stage is releases.stages[-1] and releases.curvature_noise is not None:
            here, noise = path.landing.at, releases.curvature_noise
            curvature = noisy_curvature(problem, standard, here, descent.clip, noise, contributions, source)
            path = guided_on(problem, standard, path, descent, stage.guided, curvature, variables, source)
        at = path.landing.at
        traces.append(Trace(path, mask, places))
        likely = likely_chances(traces, whole)
        ranked = mean_landing(traces, places) * (1 - likely[:, places])
        if variables is not None:
            mask = most_important(ranked, mask, standard, variables, stage.variables)
        mask = largest(ranked, mask, stage.kept)
    chances = null_chances(traces, whole, plan.leaning, likely).at(places)
    kept = clear_of_noise(mask, standard, chances, variables)
    kept = kept if kept.any() else largest(ranked, mask, 1)
    return Descended(path, curvature, places, standard, variables, chances, kept)


def guided_on(
    problem: AnyProblem,
    standard: Standard,
    path: Path,
    descent: DescentPlan,
    steps: int,
    curvature: Curvature,
    variables: Variables | None,
    source: Source,
) -> Path:
    """Go on from where a descent has landed, guided by the curvature there, for so many steps, which may be none.

    Privacy
    -------
    Releases ``steps`` vectors as `noisy_descent` does.
    """
    if steps == 0:
        return path
    told = guide(path, curvature, standard, variables, steps)
    return path.then(noisy_descent(problem, standard, told, descent.onwards(steps), source))


def _among(variables: Variables | None, features: NDArray[np.intp]) -> Variables | None:
    """The variables of some of the features, if any were declared."""
    return None if variables is None else variables.subset(features)


def screen_features(problem: AnyProblem, screen: Screen, contributions: int, source: Source) -> NDArray[np.intp]:
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


def class_sums(problem: AnyProblem) -> Sensitive[IntArray]:
    """Count the rows of each class, in units of 1/RESIDUAL_ONE.

    Privacy
    -------
    Sensitive. A record adds RESIDUAL_ONE in one place, or nothing.
    """
    return Sensitive(problem.rows.total(rows_of_classes))


def rows_of_classes(problem: Problem) -> IntArray:
    """Count the rows of each class in one place, in units of 1/RESIDUAL_ONE.

    Privacy
    -------
    Sensitive. A record counts at most RESIDUAL_ONE over all classes together.
    """
    return problem.class_sums(RESIDUAL_ONE)


def screening_scores(problem: AnyProblem, rates: FloatArray, cap: int) -> Sensitive[IntArray]:
    """Score every feature by its largest absolute gradient at released class rates, residuals clipped to ``cap``.

    Privacy
    -------
    Sensitive. A record moves each score by at most cap·FEATURE_ONE.
    """
    return Sensitive(np.abs(problem.rows.total(base_rate_gradient, rates, cap)).max(axis=0))


def base_rate_gradient(problem: Problem, rates: FloatArray, cap: int) -> IntArray:
    """Sum residuals at class rates, clipped to ``cap``, times features over the rows in one place.

    Privacy
    -------
    Sensitive. A record adds at most cap·FEATURE_ONE to each sum.
    """
    if problem.loss.outputs == 1:
        residual = rates - problem.targets
    else:
        rows = np.arange(problem.data.n_rows)
        residual = np.tile(rates, (len(rows), 1))
        residual[rows, problem.targets] -= 1.0
    codes = np.clip(np.rint(residual * RESIDUAL_ONE), -cap, cap).astype(np.int64)
    return problem.data.gradient(problem.divided(codes))


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


class Judgement(NamedTuple):
    """What weights are judged by: their estimate, what their features are, their chances of being noise.

    ``candidates`` is the number of features that there were, ``sizes`` that of each variable, where variables were
    declared; ``covers`` says what intervals cover, ``tells`` whether there is signal enough to call any weight real.
    """

    estimate: Estimate
    standard: Standard
    chances: NullChances
    candidates: int
    covers: str
    tells: bool = True
    variables: Variables | None = None
    sizes: NDArray[np.intp] | None = None


def judgement(plan: SelectRefitPlan, left: Descended) -> Judgement:
    """Return what the weights of the last descent are judged by.

    Privacy
    -------
    Post-processing.
    """
    estimate = estimate_weights(left.path, left.curvature, left.standard, left.variables)
    if left.curvature is None and left.variables is not None:
        estimate = estimate.widened(len(set(left.variables.owners)))
    covers = _COVERED.format("" if left.curvature is not None else _UNCORRELATED[left.variables is not None])
    whole = None if plan.variables is None or plan.features is None else plan.variables.subset(plan.features)
    sizes = None if whole is None else whole.sizes
    return Judgement(
        estimate, left.standard, left.chances, plan.n_features, covers, plan.tells, left.variables, sizes
    )


def judged(known: Judgement, kept: NDArray[np.bool_], rates: FloatArray, false_discoveries: float | None) -> Weights:
    """Return the weights in ``kept``, all others being zero, with their evidence.

    Only those whose false-discovery rate, of ``rates``, is within ``false_discoveries``, if that is given.

    Privacy
    -------
    Post-processing.
    """
    if false_discoveries is not None:
        kept = in_known_direction(known, kept & (rates <= false_discoveries))
    law = known.estimate.keeping(kept)
    coef, errors = np.zeros(len(kept)), np.full(len(kept), np.nan)
    coef[kept], errors[kept] = law.mean[:-1], law.errors
    evidence = Evidence(errors[None], np.where(kept, rates, 1.0)[None], known.covers, variable_evidence(known, kept))
    return Weights(coef[None], law.mean[-1:], evidence)


def in_known_direction(known: Judgement, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Drop weights of the wrong sign until there are none: what they explained, others take over.

    Privacy
    -------
    Post-processing.
    """
    if known.variables is None:
        return kept
    signs = np.array(known.variables.signs)
    while True:
        wrong = np.zeros_like(kept)
        wrong[kept] = known.estimate.keeping(kept).mean[:-1] * signs[kept] < 0
        if not wrong.any():
            return kept
        kept = kept & ~wrong


def false_discovery_rates(known: Judgement, kept: NDArray[np.bool_]) -> FloatArray:
    """Return the false-discovery rate of calling each kept weight real; 1 for the others.

    Privacy
    -------
    Post-processing.
    """
    rates = np.ones(len(kept))
    if not known.tells:
        return rates
    law, careful = known.estimate.keeping(kept), known.chances.careful[0, kept]
    rates[kept] = q_values(law, careful, known.candidates, must_tell=may_be_empty(known.standard)[kept])
    return rates


def variable_evidence(known: Judgement, kept: NDArray[np.bool_]) -> VariableEvidence | None:
    """Return how much each variable moves the score and how sure that is, and the joint law of the kept weights.

    None where no variables were declared.

    Privacy
    -------
    Post-processing.
    """
    if known.variables is None or known.sizes is None:
        return None
    law, standard = known.estimate.keeping(kept), known.standard
    left = known.variables.subset(np.flatnonzero(kept))
    coef = np.zeros((1, len(kept)))
    coef[0, kept] = law.mean[:-1] / standard.scale[kept]
    rates = variable_q_values(law, known.chances.careful[0, kept], left, known.sizes)
    return VariableEvidence(
        rates if known.tells else np.ones_like(rates),
        known.variables.importances(coef, standard.centre, standard.variance),
        standard.centre[kept] / standard.scale[kept],
        law.covariance[:-1, :-1],
    )


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

    coef, told = weights.coef / standard.scale, weights.evidence and weights.evidence.divided_by(standard.scale)
    evidence = told and told._replace(
        standard_error=spread_out(told.standard_error, np.nan), q_value=spread_out(told.q_value, 1.0)
    )
    return Weights(spread_out(coef, 0.0), weights.intercept - coef @ standard.centre, evidence)
