"""Every mechanism by itself, and several of them one after another, handed what one record can move furthest."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..privacy import accounting, mechanisms
from ..privacy.budget import Budget
from ..privacy.events import Event, GaussianRelease, PerturbedMinimum, PureRelease, Repeated, Selection
from ..privacy.mechanisms import Candidates, Sensitive, SignedScores, block_maxima
from ..privacy.randomness import FloatArray, IntArray, source_for
from .case import Case, Claim

_MOVE = 1000
"""How far one record moves a score or a sum."""
_DELTA = 1e-5
_OTHERS = 15
_STEPS = 40


def mechanism_cases() -> list[Case]:
    """Return a case for every mechanism of `hardzero.privacy.mechanisms`, and for their composition.

    Privacy
    -------
    Data-independent.
    """
    return [
        _select(),
        _select_signed(),
        _choose(),
        _noisy_min(),
        _count(),
        _gaussian(),
        _perturbed_minimum(),
        _selections(),
        _mixture(),
    ]


def _pure(epsilon: float, *events: Event) -> Claim:
    return Claim(Budget(epsilon, 0.0), events)


def _charged(events: tuple[Event, ...], delta: float = _DELTA) -> Claim:
    return Claim(accounting.spent(events, delta), events)


# --- Choices ------------------------------------------------------------------------------------------------------


def _select() -> Case:
    """One score rises by all that a record can add while the others fall by it."""
    eta = 4.0
    inputs = np.zeros(1 + _OTHERS, dtype=np.int64), np.array([_MOVE, *(-_MOVE for _ in range(_OTHERS))])
    about = f"one of {1 + _OTHERS} candidates; a record raises its score and lowers all others"
    return Case("select", about, _pure(eta, Selection(eta)), inputs, partial(_run_select, eta=eta), 20_000, 2000)


def _run_select(scores: IntArray, seed: int | None, *, eta: float) -> FloatArray:
    return _is_first(mechanisms.select(Sensitive(scores), _MOVE, eta, source_for(seed)))


def _is_first(*chosen: int) -> FloatArray:
    return np.array([float(place == 0) for place in chosen])


def _signed(slopes: IntArray) -> SignedScores:
    tops = Sensitive(block_maxima(np.abs(slopes)))
    return SignedScores(Sensitive(slopes), tops, Sensitive(np.arange(len(slopes))))


def _select_signed() -> Case:
    eta = 4.0
    inputs = np.array([-_MOVE // 2]), np.array([_MOVE // 2])
    about = "the sign of one slope, which a record turns from slightly negative to slightly positive"
    claim = _pure(eta, Selection(eta))
    return Case("select-signed", about, claim, inputs, partial(_run_select_signed, eta=eta, times=1), 20_000, 2000)


def _run_select_signed(slopes: IntArray, seed: int | None, *, eta: float, times: int) -> FloatArray:
    source, scores = source_for(seed), _signed(slopes)
    signs = [mechanisms.select_signed(scores, _MOVE, eta, source)[1] for _ in range(times)]
    return np.array([float(np.sum(signs))])


def _choose() -> Case:
    eta = 3.0
    scores = np.zeros(8, dtype=np.int64)
    inputs = scores, np.where(np.arange(8) < 2, _MOVE, -_MOVE)
    about = "two of eight candidates, one after the other; a record raises two scores and lowers the others"
    claim = _pure(2 * eta, Repeated(Selection(eta), 2))
    return Case("choose-without-replacement", about, claim, inputs, partial(_run_choose, eta=eta), 20_000, 2000)


def _run_choose(scores: IntArray, seed: int | None, *, eta: float) -> FloatArray:
    source, left = source_for(seed), Candidates(Sensitive(scores))
    chosen = [left.choose(_MOVE, eta, source) for _ in range(2)]
    return np.array([float(sum(place < 2 for place in chosen)), float(chosen[0] < 2)])


def _noisy_min() -> Case:
    epsilon = 3.0
    inputs = np.array([0]), np.array([-_MOVE])
    about = "the smaller of two noisy scores, which a record moves apart"
    claim = _pure(epsilon, PureRelease("choice by noisy minimum", epsilon))
    run = partial(_run_noisy_min, scale=math.ceil(2 * _MOVE / epsilon))
    return Case("noisy-min", about, claim, inputs, run, 20_000, 2000)


def _run_noisy_min(slopes: IntArray, seed: int | None, *, scale: int) -> FloatArray:
    return np.array([float(mechanisms.noisy_min_signed(_signed(slopes), scale, source_for(seed))[1])])


# --- Counts and sums ----------------------------------------------------------------------------------------------


def _count() -> Case:
    epsilon = 2.0
    about = "a clipped count, which a record moves from one end of its range to the other"
    claim = _pure(epsilon, PureRelease("a count", epsilon))
    return Case("count", about, claim, (10, 25), partial(_run_count, epsilon=epsilon), 20_000, 2000)


def _run_count(value: int, seed: int | None, *, epsilon: float) -> FloatArray:
    released = mechanisms.count(Sensitive(value), 10, 20, epsilon, source_for(seed))
    return np.array([float(released), float(released == 20)])


def _gaussian() -> Case:
    noise = 0.5
    # Some rise and some fall: sums that shared their noise would give the record away.
    inputs = np.zeros(4, dtype=np.int64), np.array([1, -1, 1, -1]) * (_MOVE // 2)
    claim = _charged((GaussianRelease("four sums", noise),))
    run = partial(_run_gaussian, sigma=math.ceil(noise * _MOVE))
    return Case(
        "gaussian", "four sums, of which a record raises two and lowers two", claim, inputs, run, 20_000, 2000
    )


def _run_gaussian(sums: IntArray, seed: int | None, *, sigma: int) -> FloatArray:
    return np.asarray(mechanisms.gaussian(Sensitive(sums), sigma, source_for(seed)), dtype=np.float64)


_GAP, _GAP_NOISE, _LINEAR_NOISE = 1e-9, 20.0, 0.6


def _perturbed_minimum() -> Case:
    """½|w|² and one linear loss: the objective whose minimiser one record moves exactly by its gradient."""
    events = (PerturbedMinimum("a minimiser", _LINEAR_NOISE, 0.0), GaussianRelease("its gap", _GAP_NOISE))
    inputs = np.zeros(2), np.array([0.6, -0.8])
    about = "the minimiser of a perturbed objective; a record adds a gradient of length 1"
    return Case("perturbed-minimum", about, _charged(events), inputs, _run_perturbed_minimum, 20_000, 2000)


def _run_perturbed_minimum(gradient: FloatArray, seed: int | None) -> FloatArray:
    def minimise(linear: FloatArray) -> Sensitive[FloatArray]:
        return Sensitive(-(gradient + linear))

    return mechanisms.perturbed_minimum(minimise, 2, _LINEAR_NOISE, _GAP, _GAP_NOISE, source_for(seed))


# --- One after another --------------------------------------------------------------------------------------------


def _selections() -> Case:
    budget = Budget(8.0, _DELTA)
    eta = accounting.selection_eta(budget, _STEPS)
    events = (Repeated(Selection(eta), _STEPS),)
    inputs = np.array([-_MOVE // 2]), np.array([_MOVE // 2])
    run = partial(_run_select_signed, eta=eta, times=_STEPS)
    about = f"{_STEPS} signs of one slope, which a record turns from slightly negative to slightly positive"
    return Case("composed-selections", about, Claim(budget, events), inputs, run, 5_000, 500)


def _mixture() -> Case:
    """Choices between two Gaussian releases, as in select-then-refit, each with its share of the record's weight."""
    budget = Budget(6.0, _DELTA)

    def events(scale: float) -> tuple[Event, ...]:
        before, after = GaussianRelease("sums", 4 / scale), GaussianRelease("gradients", 4 / scale)
        return (before, Repeated(Selection(scale / 4), 8), Repeated(after, 4))

    scale = accounting.most_within(budget, events, 1.0)
    about = "a sum, 8 choices and 4 further sums, all of which a record moves"
    run = partial(_run_mixture, scale=scale)
    return Case("composed-mixture", about, Claim(budget, events(scale)), (False, True), run, 5_000, 500)


def _run_mixture(there: bool, seed: int | None, *, scale: float) -> FloatArray:
    source, sigma = source_for(seed), math.ceil(4 / scale * _MOVE)
    raised, lowered = (Sensitive(np.array([sign * _MOVE * int(there)])) for sign in (1, -1))
    slopes = _signed(np.array([_MOVE // 2 if there else -_MOVE // 2]))
    before = mechanisms.gaussian(raised, sigma, source)
    signs = [mechanisms.select_signed(slopes, _MOVE, scale / 4, source)[1] for _ in range(8)]
    after = [mechanisms.gaussian(sums, sigma, source) for sums in (lowered, raised, lowered, raised)]
    return np.concatenate([before, [np.sum(signs)], *after])
