"""From events to (ε, δ) and back. Everything here is independent of data.

Four accountants, all rigorous upper bounds (docs/proofs/accounting.md):

``exact``      Gaussian releases by their exact curve, selections among them by the recursion; anything else by zCDP.
               The default.
``zcdp``       sums ρ and converts once, optimally; handles every event, in any order.
``recursion``  the exact adaptive worst case of T bounded-range selections, others added; 7 % less noise, slower.
``pure``       optimal composition of T equal pure-DP releases (Kairouz, Oh, Viswanath 2015); the
               honest figure for the noise that the paper adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erfcx, gammaln, ndtr

from .budget import Budget
from .events import Event, GaussianRelease, NotPrivate, Repeated, Selection
from .randomness import FloatArray

Accountant = Literal["exact", "zcdp", "recursion", "pure"]

_BISECTIONS = 100
_MARGIN = 1e-12
"""Calibration gives up this share so that rounding in accounting can never exceed what was asked."""
_ROUNDING = 1e-9
"""By this share δ is rounded up for all errors of floating point in the recursion."""
_MOST_WORK, _MOST_SPREAD = 2500, 60.0
"""Beyond these the default accountant does not start a recursion, which could take minutes, or none is possible."""
_COARSE, _FINE = 1e-4, 1e-11
"""How much of ε calibration may leave, with a recursion in every step and without."""


class Stretch(NamedTuple):
    """``times`` selections of range ``eta``, then Gaussian releases whose 1/noise² add up to ``square``."""

    eta: float
    times: int
    square: float


def spent(events: Sequence[Event], delta: float, accountant: Accountant = "exact") -> Budget:
    """What the events cost together at this δ.

    Events stand in the order of time. A Gaussian release that may come before or after a selection stands before it,
    where it costs more: what is chosen may depend on it.
    """
    if any(isinstance(event, NotPrivate) for event in events):
        return Budget(math.inf, 0.0)
    sequence = stretches(events) if accountant == "exact" else None
    if sequence is not None and len(sequence) == 1:
        return Budget(epsilon_of_gaussian(sequence[0].square, delta), delta)
    rho, pure, shift, tail = (sum(event.cost[part] for event in events) for part in range(4))
    bounds = [pure, shift + epsilon_of_rho(rho, delta * math.exp(-tail))]
    if sequence is not None and math.isinf(bounds[0]) and sum(part.times + 50 for part in sequence) <= _MOST_WORK:
        bounds.append(epsilon_of_sequence(sequence, delta))
    for i, event in enumerate(events):
        # One repeated event by a sharper theorem, all others added by basic composition.
        others = sum(other.cost.epsilon for j, other in enumerate(events) if j != i)
        if isinstance(event, Repeated) and math.isfinite(event.cost.epsilon + others):
            if accountant == "pure":
                bounds.append(others + epsilon_of_pure(event.event.cost.epsilon, event.times, delta))
            elif accountant == "recursion" and isinstance(event.event, Selection):
                bounds.append(others + epsilon_of_sequence((Stretch(event.event.eta, event.times, 0.0),), delta))
    return Budget(min(bounds), delta)


def selection_eta(budget: Budget, times: int, others: Sequence[Event] = (), accountant: Accountant = "zcdp") -> float:
    """Largest bounded range that ``times`` selections may have when ``others`` are released as well."""
    start = math.sqrt(8 * rho_left(budget, others) / times) * (1 - _MARGIN)
    if accountant != "recursion":
        return start
    left = budget.epsilon - sum(other.cost.epsilon for other in others)
    if not left > 0:
        raise ValueError(
            f"nothing of epsilon = {budget.epsilon:g} is left for selections, or a release beside them "
            "has no pure-DP cost; use accountant 'zcdp'"
        )
    return _most(lambda eta: epsilon_of_sequence((Stretch(eta, times, 0.0),), budget.delta), left, start, _COARSE)


def most_within(budget: Budget, events: Callable[[float], Sequence[Event]], guess: float) -> float:
    """Return the largest x for which ``events(x)``, whose cost grows with x, keep within the budget; 0 if none does.

    To full precision, or within 0.01 % of ε where a recursion is needed. ``guess`` is where the search begins; the
    nearer, the faster.
    """
    sequence = stretches(events(guess))
    tolerance = _COARSE if sequence is not None and len(sequence) > 1 else _FINE
    return _most(lambda x: spent(events(x), budget.delta).epsilon, budget.epsilon, guess, tolerance)


def rho_left(budget: Budget, others: Sequence[Event] = ()) -> float:
    """How much zCDP the budget holds beyond the cost of ``others``."""
    total = rho_of_budget(budget)
    left = total - sum(other.cost.rho for other in others)
    if not left > 0:
        raise ValueError(
            f"the other releases cost {total - left:.3g} of the {total:.3g} zCDP that epsilon = "
            f"{budget.epsilon:g}, delta = {budget.delta:g} allow; give them less or ask for a larger epsilon"
        )
    return left


@lru_cache(maxsize=1024)
def rho_of_budget(budget: Budget) -> float:
    """Largest ρ for which ρ-zCDP implies (ε, δ)-DP."""
    log_delta = math.log(budget.delta)
    return _largest(lambda rho: _log_delta_of_rho(rho, budget.epsilon) <= log_delta, budget.epsilon)


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """Smallest ε for which ρ-zCDP implies (ε, δ)-DP; infinite for a δ that is too small to be told from 0."""
    if rho == 0 or math.isinf(rho):
        return rho
    if delta == 0:
        return math.inf
    # Bun and Steinke's simple conversion is an upper bound to start from.
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return _bisect(lambda epsilon: _log_delta_of_rho(rho, epsilon) <= math.log(delta), simple, 0.0)


def _log_delta_of_rho(rho: float, epsilon: float) -> float:
    """Canonne, Kamath, Steinke 2020, Corollary 13: log of min over α > 1 of δ(α).

    log δ(α) = (α-1)(αρ - ε + log(1-1/α)) - log α is convex in α, so the zero of its derivative
    (2α-1)ρ - ε + log(1-1/α) is found by bisection over log(α-1). Any α gives a valid bound.
    """

    def falling(log_gap: float) -> bool:
        gap = math.exp(log_gap)
        return (2 * gap + 1) * rho - epsilon - math.log1p(1 / gap) < 0

    gap = math.exp(_bisect(falling, -60.0, 60.0))
    return gap * ((1 + gap) * rho - epsilon - math.log1p(1 / gap)) - math.log1p(gap)


@lru_cache(maxsize=256)
def epsilon_of_pure(epsilon: float, times: int, delta: float) -> float:
    """ε after ``times`` adaptive ε₀-DP releases, at this δ: the worst case is randomised response."""
    heads = np.arange(times + 1)
    log_binomial = gammaln(times + 1) - gammaln(heads + 1) - gammaln(times - heads + 1)
    log_total = times * np.logaddexp(0, epsilon)
    log_p = log_binomial + (times - heads) * epsilon - log_total
    loss = (times - 2 * heads) * epsilon  # log of P over Q

    def within(total: float) -> bool:
        gain = np.maximum(loss - total, 0)
        return float(np.sum(np.exp(log_p) * -np.expm1(-gain))) <= delta

    return _bisect(within, times * epsilon, 0.0)


@lru_cache(maxsize=1024)
def epsilon_of_gaussian(square: float, delta: float) -> float:
    """Smallest ε of Gaussian releases whose 1/noise² add up to ``square``, never too small, at this δ."""
    if square == 0 or math.isinf(square):
        return square
    low, high = 0.0, square / 2 + math.sqrt(2 * square * math.log(1 / delta))  # high by Bun and Steinke
    for _ in range(9):
        tried = np.linspace(low, high, 65)
        first = int(np.argmax(np.append(delta_of_gaussian(square, tried[:-1]) <= delta, True)))
        low, high = float(tried[max(first - 1, 0)]), float(tried[first])
    return high


def delta_of_gaussian(square: float, epsilon: FloatArray) -> FloatArray:
    """δ(ε) = Φ(-a) - e^ε·Φ(-b) with a, b = ε/μ ∓ μ/2, rounded up: Mills' ratios subtracted, as e^ε·φ(b) = φ(a)."""
    mu = math.sqrt(square)
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    low, slack = np.minimum(epsilon, 0), 2.0**-47 * (1 + (1 + np.abs(a)) * np.abs(b))
    near, far = (erfcx(np.maximum(z, -10) / math.sqrt(2)) for z in (a, b))
    middle = np.exp(-a * a / 2) * (near * (1 + slack) - far * (1 - slack)) / 2
    # Far to the left Φ(-a) is 1, up to 1e-23.
    return np.minimum(np.where(a < -10, np.exp(low) * ndtr(b) - np.expm1(low), middle), 1.0)


def stretches(events: Sequence[Event]) -> tuple[Stretch, ...] | None:
    """Return events, in the order of time, as stretches; None if there are other kinds among them."""
    parts = [Stretch(0.0, 0, 0.0)]
    for event in events:
        single, times = (event.event, event.times) if isinstance(event, Repeated) else (event, 1)
        if isinstance(single, GaussianRelease):
            parts[-1] = parts[-1]._replace(square=parts[-1].square + times / single.noise**2)
        elif isinstance(single, Selection):
            same = parts[-1].times if parts[-1].eta == single.eta and parts[-1].square == 0 else 0
            parts[len(parts) - bool(same) :] = [Stretch(single.eta, times + same, 0.0)]
        else:
            return None
    return tuple(parts)


@lru_cache(maxsize=256)
def epsilon_of_sequence(sequence: tuple[Stretch, ...], delta: float) -> float:
    """ε after selections and Gaussian releases in the order of time, by the recursion; infinite beyond its grids."""
    if sum(part.times * part.eta**2 / 4 + part.square for part in sequence) > _MOST_SPREAD**2:
        return math.inf
    x, curve = curve_of_sequence(sequence, delta)
    curve[-1] = min(curve[-1], delta)  # by zCDP: the grid ends there
    i = int(np.argmax(curve <= delta))
    # δ is convex in e^ε, so between two points it is below the chord.
    share = (curve[i - 1] - delta) / (curve[i - 1] - curve[i]) if i else 1.0
    step = math.expm1(x[1] - x[0])
    return max(float(x[i] - math.log1p(step)) + math.log1p(share * step), 0.0)


def curve_of_sequence(sequence: tuple[Stretch, ...], delta: float) -> tuple[FloatArray, FloatArray]:
    """δ(ε) of the worst adaptive sequence, an upper bound on a grid of ε that is best where it crosses ``delta``.

    What is released last is the innermost operator: a choice may depend on all that came before it.
    """
    squares = [part.times * part.eta**2 / 4 for part in sequence]  # variances of the losses
    before = sum(squares) + sum(part.square for part in sequence[:-1])  # of all but the Gaussians that come last
    total, times = before + sequence[-1].square, sum(part.times for part in sequence)
    high = total / 2 + math.sqrt(2 * total * math.log(1 / delta))  # Bun and Steinke's ε
    low = min(0.5 * high - math.sqrt(2 * before * math.log(1e4 / delta)), 0.0) - max(part.eta for part in sequence)
    # The finer the better, up to what that costs; the range with the largest share becomes a multiple of the width.
    main = sequence[int(np.argmax(squares))].eta
    width = min(main / min(max(220 / math.sqrt(times), 12), 64), math.sqrt(total) / 100)
    width = max(width, math.sqrt(total) / max(400, 9 * math.sqrt(times)))
    width = main / math.ceil(main / width) if width < main else width
    x = width * np.arange(math.floor(low / width), math.ceil(high / width) + 1, dtype=np.float64)
    *first, last = sequence
    curve = delta_of_gaussian(last.square, x) if last.square else -np.expm1(np.minimum(x, 0.0))
    for part in (last._replace(square=0.0), *reversed(first)):
        if part.square:
            curve = _before_gaussian(curve, width, math.sqrt(part.square), math.sqrt(2 * math.log(1e9 / delta)))
        if part.times:
            curve = _before_selections(curve, width, math.ceil(part.eta / width * (1 - _MARGIN)), part.times)
    return x, curve * (1 + _ROUNDING)


def _before_gaussian(curve: FloatArray, width: float, mu: float, far: float) -> FloatArray:
    """E[δ(x - L)]: a Gaussian release with loss L ~ N(μ²/2, μ²), then all that the curve speaks of.

    A loss between two points of the grid is split among them so that both data sets keep their mass in the cell,
    which lowers nothing because δ is convex. Losses beyond ``far`` standard deviations count as δ = 1.
    """
    most = math.ceil((far * mu + mu**2 / 2) / width)
    loss = width * np.arange(-most, most + 1, dtype=np.float64)
    z = loss / mu - mu / 2
    mass, other = _cells(z), _cells(z + mu)  # on one data set and on its neighbour
    with np.errstate(over="ignore", invalid="ignore"):  # what cannot be split goes up as a whole
        above = (mass - np.exp(loss[:-1]) * other + 2.0**-36 * mass) / -math.expm1(-width)
    above = np.fmax(np.fmin(above, mass), 0)
    weights = np.append(mass - above, 0) + np.append(ndtr(z[0]), above)
    padded = np.concatenate([np.ones(most), curve, np.full(most, curve[-1])])
    return np.asarray(np.minimum(np.convolve(padded, weights, "valid") + ndtr(-z[-1]), 1.0))


def _cells(z: FloatArray) -> FloatArray:
    """Mass of a standard normal variable between neighbours of z, from the tail that is small."""
    low, high = z[:-1], z[1:]
    return np.asarray(ndtr(np.where(low > 0, -low, high)) - ndtr(np.where(low > 0, -high, low)))


def _before_selections(curve: FloatArray, width: float, span: int, times: int) -> FloatArray:
    """Return the largest p·δ(x-t) + (1-p)·δ(x-t+η) over t in [0, η], η = span·width, ``times`` times over.

    For t on the grid this is a value; between two such t it exceeds both by at most a quarter of the product of two
    differences (docs/proofs/accounting.md). Left of the grid δ is at most 1, right of it at most the last value.
    """
    eta, size = span * width, len(curve)
    t = width * np.arange(span + 1.0)[:, None]
    chance = np.expm1(t - eta) / math.expm1(-eta)
    lean = chance * np.exp(-t)
    quarter = (lean[:-1] - lean[1:]) / 4
    after, before = quarter * np.exp(t[1:]), quarter * np.exp(t[:-1])
    worst, excess, larger = np.empty((span + 1, size)), np.empty((span, size)), np.empty((span, size))
    for _ in range(times):
        padded = np.concatenate([np.ones(span), curve, np.full(span, curve[-1])])
        low, high = padded[:-span], padded[span:]
        np.multiply(chance, sliding_window_view(low - high, size)[::-1], out=worst)
        worst += sliding_window_view(high, size)[::-1]
        tilted = sliding_window_view(low - math.exp(-eta) * high, size)[::-1]
        np.multiply(after, tilted[1:], out=excess)
        excess -= np.multiply(before, tilted[:-1], out=larger)
        np.maximum(excess, 0, out=excess)
        excess += np.maximum(worst[1:], worst[:-1], out=larger)
        curve = np.minimum(excess.max(axis=0), 1.0)
    return curve


def _most(cost: Callable[[float], float], allowed: float, guess: float, tolerance: float) -> float:
    """Largest x with cost(x), which grows, at most what is allowed; 0 if there is none. By secants in logarithms."""
    allowed *= 1 - _MARGIN
    good, bad, x = 0.0, math.inf, guess
    slope, last = 1.0, None
    for _ in range(_BISECTIONS):
        value = cost(x)
        good, bad = (x, bad) if value <= allowed else (good, x)
        if allowed * (1 - tolerance) <= value <= allowed or bad <= good * (1 + _MARGIN):
            break
        point = math.log(x), math.log(min(max(value, 1e-300), 1e300))
        if last is not None and point[0] != last[0]:
            slope = max((point[1] - last[1]) / (point[0] - last[0]), 0.01)
        last = point
        aim = (math.log(allowed) + math.log1p(-tolerance / 2) - point[1]) / slope
        x *= math.exp(min(max(aim, -1.0), 1.0))
        if not good < x < bad:
            x = (good + bad) / 2 if bad < math.inf else 2 * good
    return good


def _largest(holds: Callable[[float], bool], guess: float, bisections: int = _BISECTIONS) -> float:
    """Largest value, up to bisection, for which a condition that holds at 0 still holds."""
    good, bad = 0.0, guess
    while holds(bad):
        good, bad = bad, 2 * bad
    return _bisect(holds, good, bad, bisections)


def _bisect(holds: Callable[[float], bool], good: float, bad: float, bisections: int = _BISECTIONS) -> float:
    """Move from a value at which a condition holds towards one at which it may not, staying where it does."""
    for _ in range(bisections):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
