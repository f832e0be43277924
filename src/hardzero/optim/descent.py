"""Noisy full-batch gradient descent on standardised features, every row weighted so that its gradient is short.

Standardising is implicit: sums over the raw whole numbers are exact, and the linear map to standardised coordinates
is applied to sums, so sparse rows stay sparse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE, CodeArray, FloatArray, IntArray
from ..data.passes import WeighedRows
from ..privacy import mechanisms
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import GaussiansAhead, Source
from .frank_wolfe import Weights
from .losses import Loss
from .problem import AnyProblem, Problem, Rows, count_rows
from .progress import counted
from .standardise import Standard
from .walks import Guide, Guided, Momentum, Walk

_CLIP = 0.5
"""The longest gradient of a row is this times the expected length of a standardised row: residuals are about ½.

Times 2 for several classes, where a row's residuals, and those it would have with another label, are √2 as long.
"""
_BEND_WEIGHT = 0.5
"""Curvatures enter the released vector with this weight, so that they cost next to nothing."""
_ROUNDING = 1e-9
_FINE_ONE = 2**20
_LARGEST_TOTAL = MAX_ROWS * RESIDUAL_ONE
"""Residuals that add up to no more than this leave room for features in 64 bits."""


class Pace(NamedTuple):
    """A number of steps, their noise in sensitivities, and the share of them, the last, that makes the landing."""

    steps: int
    noise: float
    tail: float


@dataclass(frozen=True)
class DescentPlan:
    """What a descent will do, from released values alone; it lands where its last steps are on average.

    ``one`` is the whole number that stands for a residual of 1, see `descent_unit`; ``sigma`` is in these units.
    ``tail`` is the share of the steps that count for the landing; ``signs`` are 1 and -1 for features whose weights
    stay at or above zero, or below.

    Privacy
    -------
    Post-processing.
    """

    steps: int
    rate: float
    clip: float
    one: int
    sigma: int
    mask: NDArray[np.bool_]
    tail: float
    signs: NDArray[np.signedinteger]

    def allowed(self, coef: FloatArray) -> FloatArray:
        """Return weights with zeros in place of those of the wrong sign."""
        return np.where(coef * self.signs < 0, 0.0, coef)

    def onwards(self, steps: int) -> DescentPlan:
        """Return the plan of so many more steps, all of which count for the landing."""
        return replace(self, steps=steps, tail=1.0)


class Landing(NamedTuple):
    """Where a descent came to rest: mean places and slopes of its last ``steps``."""

    steps: int
    at: Weights
    slope: Weights


@dataclass(frozen=True)
class Path:
    """What the steps of a descent released about each weight, as sums over all of them.

    Privacy
    -------
    Post-processing of the releases of :func:`noisy_descent`.

    Attributes
    ----------
    steps : int
        How many there were.
    noise : float
        Standard deviation of the noise of every slope.
    places, slopes, squares, products : array of shape (outputs, features)
        Sums of the places at which slopes were released, of the slopes, of places² and of places times slopes. With
        several classes places are those of `own_weights`.
    bend : array of shape (outputs,)
        Mean curvature by the margin, summed over all rows: less its standard error, and at least half that.
    landing : Landing
        The last steps.
    """

    steps: int
    noise: float
    places: FloatArray
    slopes: FloatArray
    squares: FloatArray
    products: FloatArray
    bend: FloatArray
    landing: Landing

    def then(self, later: Path) -> Path:
        """Return both paths as one, which lands where the later one does; their noise is the same."""
        steps = self.steps + later.steps
        return Path(
            steps,
            later.noise,
            self.places + later.places,
            self.slopes + later.slopes,
            self.squares + later.squares,
            self.products + later.products,
            (self.bend * self.steps + later.bend * later.steps) / steps,
            later.landing,
        )


def descent_unit(n_rows: int) -> int:
    """Return the whole number that stands for a residual of 1 in descents, by the public number of rows.

    Descents round residuals towards zero, which takes the more off a rare class the coarser the unit is. 64-bit sums
    leave room for one sixteen times as fine as ``RESIDUAL_ONE`` where there are at most 2²⁶ rows.

    Privacy
    -------
    Data-independent.
    """
    return _FINE_ONE if n_rows * _FINE_ONE <= _LARGEST_TOTAL else RESIDUAL_ONE


def refuse_more_rows(counted: int, one: int) -> None:
    """Raise an error if sums over so many rows could leave 64-bit integers, ``one`` standing for a residual of 1.

    Where the public number of rows is a stated one, the unit that goes with it may be too fine for the true number.

    Privacy
    -------
    Sensitive: that there is an error depends on the true number of rows.
    """
    most = _LARGEST_TOTAL // one
    if counted > most:
        cure = "" if most == MAX_ROWS else f" beside so small an n_rows; state one above {most}"
        raise ValueError(f"there are more than {most} rows, which cannot be summed exactly{cure}")


def prepare_descent(
    loss: Loss,
    standard: Standard,
    mask: NDArray[np.bool_],
    n_rows: int,
    pace: Pace,
    contributions: int,
    signs: Sequence[int] | None = None,
) -> DescentPlan:
    """Choose the longest gradient, step size and noise for the features in ``mask``.

    Privacy
    -------
    Post-processing.
    """
    squares = np.maximum((standard.spread * mask).sum(axis=1), 0.1) + 1.0  # of a row's length; 1 for the intercept
    clip = _CLIP * loss.residual_norm**2 * math.sqrt(float(squares.mean()))
    rate = loss.intercept_rate / (n_rows * float(squares.max()))
    one = descent_unit(n_rows)
    # For every coordinate: rounding to whole numbers on either side, and the linear map in double precision, whose
    # error grows with the true number of rows; that may be secret, so the largest table is allowed for.
    slack = math.ceil((2 + _LARGEST_TOTAL * 2.0**-44) * math.sqrt(int(mask.sum()) + 2 * loss.outputs))
    length = math.hypot(clip, _BEND_WEIGHT * loss.bend_norm)
    sigma = math.ceil(pace.noise * (contributions * math.ceil(length * one) + slack))
    known = np.zeros(mask.shape[1], dtype=np.int8) if signs is None else np.array(signs, dtype=np.int8)
    return DescentPlan(pace.steps, rate, clip, one, sigma, mask, pace.tail, known)


def noisy_descent(
    problem: AnyProblem, standard: Standard, start: Weights | Guide, plan: DescentPlan, source: Source
) -> Path:
    """Steps along noisy gradients: with momentum from some weights, or from where a guide says and as it says.

    Privacy
    -------
    Releases ``plan.steps`` vectors, each with Gaussian noise of ``plan.sigma``; a record contributes at most
    ``plan.clip`` in L2 to the part of weights and intercepts, and half its curvature to the rest, wherever it is
    asked for. Proof: docs/proofs/select-refit.md.
    """
    refuse_more_rows(count_rows(problem.rows), plan.one)
    rows = problem.rows.then(descent_rows, standard, plan.mask)
    record = _Record(plan, standard.rates)
    noise = GaussiansAhead(source, plan.sigma, plan.steps * (int(plan.mask.sum()) + 2 * len(plan.mask)))
    walk = _walk_from(start, plan)
    for _ in counted(range(plan.steps)):
        at = walk.place()
        refuse_no_numbers(at)
        slope, bend = _noisy_gradient(weighted_sums(rows, standard, at, plan), plan, noise)
        record.add(at, slope, bend)
        walk.follow(slope)
    return record.path()


def _walk_from(start: Weights | Guide, plan: DescentPlan) -> Walk:
    if isinstance(start, Guide):
        return Guided(start, plan.steps)
    return Momentum(Weights(start.coef * plan.mask, start.intercept), plan.rate, plan.allowed)


def refuse_no_numbers(at: Weights) -> None:
    """Raise an error where weights are no numbers: a row's part is short at every place, but not at none.

    Privacy
    -------
    Post-processing: places are made from released values.
    """
    if not (np.isfinite(at.coef).all() and np.isfinite(at.intercept).all()):
        raise FloatingPointError(
            "the noise has driven the weights beyond all numbers; a larger epsilon has less of it"
        )


class _Record:
    """Sums over the steps of a descent, kept while it runs: its releases themselves could fill the memory."""

    def __init__(self, plan: DescentPlan, rates: FloatArray) -> None:
        self._plan, self._rates = plan, rates[:, None]
        self._first = math.ceil(plan.steps * (1 - plan.tail))
        self._step = 0
        # places, slopes, places², places·slopes; then places and slopes of the last steps, intercepts beside weights
        self._sums = np.zeros((4, *plan.mask.shape))
        self._last = np.zeros((2, len(plan.mask), plan.mask.shape[1] + 1))
        self._bend = np.zeros(len(plan.mask))

    def add(self, at: Weights, slope: Weights, bend: FloatArray) -> None:
        places = own_weights(at.coef, self._rates)
        self._sums[0] += places
        self._sums[1] += slope.coef
        self._sums[2] += places**2
        self._sums[3] += places * slope.coef
        self._bend += bend
        if self._step >= self._first:
            for total, place in zip(self._last, (at, slope), strict=True):
                total[:, :-1] += place.coef
                total[:, -1] += place.intercept
        self._step += 1

    def path(self) -> Path:
        noise = self._plan.sigma / self._plan.one
        error = noise / _BEND_WEIGHT / math.sqrt(self._step)
        bend = np.maximum(self._bend / self._step - error, error / 2)
        count = self._step - self._first
        at, slope = (Weights(mean[:, :-1], mean[:, -1]) for mean in self._last / count)
        places, slopes, squares, products = self._sums
        return Path(self._step, noise, places, slopes, squares, products, bend, Landing(count, at, slope))


def own_weights(coef: FloatArray, rates: FloatArray) -> FloatArray:
    """Return of every weight what its own slope rises with, so that the slope is curvature times spread times that.

    With several classes a slope depends on the weights of all: it rises with w_k - Σ_l π_l·w_l, the faster the rarer
    the class, π_k·(1 - π_k) being its curvature by the margin.

    Privacy
    -------
    Post-processing.
    """
    return coef if len(coef) == 1 else (coef - (rates * coef).sum(axis=0)) / (1 - rates)


def row_squares(problem: Problem, standard: Standard, mask: NDArray[np.bool_]) -> FloatArray:
    """Squared length of each output's part of a row's gradient per unit residual, (rows, outputs or 1).

    Privacy
    -------
    Sensitive. Each row's depends on that row and on released values only.
    """
    if mask.all():
        return 1.0 + problem.data.row_squares(standard.centre, standard.scale)[:, None]
    parts = []
    for row in mask:
        features = np.flatnonzero(row)
        part = standard.subset(features)
        parts.append(problem.data.subset(features).row_squares(part.centre, part.scale))
    return 1.0 + np.column_stack(parts)  # 1 for the intercept


def weighted_codes(
    problem: Problem, standard: Standard, at: Weights, squares: FloatArray, clip: float, one: int
) -> tuple[CodeArray, CodeArray]:
    """Residuals and curvatures as whole numbers, of rows weighted so that no gradient is longer than ``clip``.

    ``one`` stands for 1.

    Privacy
    -------
    Sensitive. A row's codes depend on that row and on released values only, its weight not on its label.
    """
    coef, weighed = _weighed(problem, standard, at, squares, clip, one)
    return kernels.weighted_codes(problem.data.margins(coef), *weighed)


def _weighed(
    problem: Problem, standard: Standard, at: Weights, squares: FloatArray, clip: float, one: int
) -> tuple[FloatArray, WeighedRows]:
    """Weights of the features as they are, and what decides on codes beside the margins by these weights."""
    coef = at.coef / standard.scale
    offset, limit = at.intercept - coef @ standard.centre, clip * (1 - _ROUNDING)
    return coef, WeighedRows(offset, problem.targets, squares, limit, one)


class DescentRows(NamedTuple):
    """Rows in one place, prepared for the steps of a descent.

    Privacy
    -------
    Sensitive.
    """

    problem: Problem
    standard: Standard
    squares: FloatArray


def descent_rows(problem: Problem, standard: Standard, mask: NDArray[np.bool_]) -> DescentRows:
    """Prepare the rows in one place: what every step needs of them is worked out once.

    Privacy
    -------
    Sensitive.
    """
    return DescentRows(problem.on(problem.data.packed()), standard, row_squares(problem, standard, mask))


def code_sums(rows: DescentRows, at: Weights, clip: float, one: int) -> IntArray:
    """Sum the weighted codes of the rows in one place: residuals times features, residuals, curvatures.

    Privacy
    -------
    Sensitive. What a record adds depends on that record and on released values only.
    """
    problem, standard, squares = rows
    coef, weighed = _weighed(problem, standard, at, squares, clip, one)
    if problem.persons is None:
        gradient, *totals = problem.data.weighted_sums(coef, weighed)
        return np.concatenate([gradient.ravel(), *totals])
    codes, bends = (problem.divided(part) for part in kernels.weighted_codes(problem.data.margins(coef), *weighed))
    sums = problem.data.gradient(codes).ravel(), kernels.code_totals(codes), kernels.code_totals(bends)
    return np.concatenate(sums)


def weighted_sums(rows: Rows, standard: Standard, at: Weights, plan: DescentPlan) -> Sensitive[IntArray]:
    """Sum the rows' weighted gradients in standardised coordinates, those in the mask, and their halved curvatures.

    ``rows`` are `descent_rows`.

    Privacy
    -------
    Sensitive. A record moves the vector by at most ``plan.clip`` in the part of weights and intercepts, and by half
    its curvatures in the rest, in units of 1/``plan.one``. Proof: docs/proofs/select-refit.md.
    """
    return Sensitive(_standardised_sums(rows.total(code_sums, at, plan.clip, plan.one), standard, plan.mask))


def _standardised_sums(sums: IntArray, standard: Standard, mask: NDArray[np.bool_]) -> IntArray:
    """Sums of residuals times standardised features, from exact sums over the features as they are; of both codes."""
    totals, bends = sums[mask.size :].reshape(2, -1)
    weighted = sums[: mask.size].reshape(mask.shape) * (1.0 / FEATURE_ONE)
    slopes = (weighted - totals[:, None] * standard.centre) / standard.scale
    whole: IntArray = np.rint(np.concatenate([slopes[mask], totals, _BEND_WEIGHT * bends])).astype(np.int64)
    return whole


def _noisy_gradient(
    sums: Sensitive[IntArray], plan: DescentPlan, noise: GaussiansAhead
) -> tuple[Weights, FloatArray]:
    """Release the sums, and put them back into the places of weights, intercepts and curvatures."""
    released = mechanisms.gaussian(sums, plan.sigma, noise) / plan.one
    inside, outputs = int(plan.mask.sum()), len(plan.mask)
    coef = np.zeros(plan.mask.shape)
    coef[plan.mask] = released[:inside]
    return Weights(coef, released[inside : inside + outputs]), released[inside + outputs :] / _BEND_WEIGHT
