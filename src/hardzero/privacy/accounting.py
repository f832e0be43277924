"""From events to (ε, δ) and back. Everything here is independent of data.

Three accountants, all rigorous upper bounds (docs/proofs/accounting.md):

``zcdp``       sums ρ and converts once, optimally; handles every event. The default.
``recursion``  the exact adaptive worst case of T bounded-range selections; 5-7 % less noise, slow.
``pure``       optimal composition of T equal pure-DP releases (Kairouz, Oh, Viswanath 2015); the
               honest figure for the noise that the paper adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import gammaln

from .budget import Budget
from .events import Event, NotPrivate, Repeated, Selection

Accountant = Literal["zcdp", "recursion", "pure"]

_BISECTIONS = 100
_MARGIN = 1e-12
"""Calibration gives up this share so that rounding in accounting can never exceed what was asked."""
_CELLS = 56


def spent(events: Sequence[Event], delta: float, accountant: Accountant = "zcdp") -> Budget:
    """What the events cost together at this δ."""
    if any(isinstance(event, NotPrivate) for event in events):
        return Budget(math.inf, 0.0)
    rho, shift = sum(event.cost.rho for event in events), sum(event.cost.shift for event in events)
    bounds = [sum(event.cost.epsilon for event in events), shift + epsilon_of_rho(rho, delta)]
    for i, event in enumerate(events):
        # One repeated event by a sharper theorem, all others added by basic composition.
        others = sum(other.cost.epsilon for j, other in enumerate(events) if j != i)
        if isinstance(event, Repeated) and math.isfinite(event.cost.epsilon + others):
            if accountant == "pure":
                bounds.append(others + epsilon_of_pure(event.event.cost.epsilon, event.times, delta))
            elif accountant == "recursion" and isinstance(event.event, Selection):
                bounds.append(others + epsilon_of_selections(event.event.eta, event.times, delta))
    return Budget(min(bounds), delta)


def selection_eta(budget: Budget, times: int, others: Sequence[Event] = (), accountant: Accountant = "zcdp") -> float:
    """Largest bounded range that ``times`` selections may have when ``others`` are released as well."""
    if accountant != "recursion":
        return math.sqrt(8 * rho_left(budget, others) / times) * (1 - _MARGIN)
    left = budget.epsilon - sum(other.cost.epsilon for other in others)
    if not left > 0:
        raise ValueError(
            f"nothing of epsilon = {budget.epsilon:g} is left for selections, or a release beside them "
            "has no pure-DP cost; use accountant 'zcdp'"
        )
    return _recursion_eta(left, budget.delta, times)


def most_within(budget: Budget, events: Callable[[float], Sequence[Event]], guess: float) -> float:
    """Return the largest x for which ``events(x)``, whose cost grows with x, keep within the budget."""
    allowed = budget.epsilon * (1 - _MARGIN)
    return _largest(lambda x: x == 0 or spent(events(x), budget.delta).epsilon <= allowed, guess, 60)


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
    """Smallest ε for which ρ-zCDP implies (ε, δ)-DP."""
    if rho == 0 or math.isinf(rho):
        return rho
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


@lru_cache(maxsize=64)
def epsilon_of_selections(eta: float, times: int, delta: float) -> float:
    """ε after ``times`` adaptive selections of bounded range ``eta``, by the recursion."""
    simple = epsilon_of_rho(times * eta**2 / 8, delta)
    return _bisect(lambda epsilon: delta_of_selections(eta, times, epsilon) <= delta, simple, 0.0, 10)


@lru_cache(maxsize=256)
def delta_of_selections(eta: float, times: int, epsilon: float) -> float:
    """δ(ε) of the worst adaptive sequence of ``times`` selections of bounded range ``eta``.

    The adversary's privacy loss in one step is t or t-η for a t of its choice (Dong, Durfee, Rogers 2020).
    On a grid of width h = η/cells every such step is dominated by one of range η + h that starts on the grid,
    so the result is an upper bound; beyond the grid δ is rounded up (docs/proofs/accounting.md).
    """
    width = eta / _CELLS
    span = _CELLS + 1  # cells in the widened range
    wide = span * width
    reach = min(times * wide, 4 * math.sqrt(times) * eta + 4 * wide)
    steps = math.ceil(reach / width)
    x = epsilon + width * np.arange(-steps, steps + 1)
    delta = np.maximum(-np.expm1(x), 0.0)
    t = width * np.arange(span + 1)
    chance = np.expm1(t - wide) / math.expm1(-wide)
    size = len(x)
    for _ in range(times):
        # Left of the grid at most 1, right of it at most the last value.
        padded = np.concatenate([np.ones(span), delta, np.full(span, delta[-1])])
        delta = chance[0] * padded[span : span + size] + (1 - chance[0]) * padded[2 * span :]
        for j in range(1, span + 1):
            low = padded[span - j : span - j + size]
            high = padded[2 * span - j : 2 * span - j + size]
            np.maximum(delta, high + chance[j] * (low - high), out=delta)
    return float(delta[steps])


@lru_cache(maxsize=64)
def _recursion_eta(epsilon: float, delta: float, times: int) -> float:
    """Invert ``delta_of_selections``, starting from what zCDP allows, which is never too much.

    Aims 0.2 % low, twice the resolution at which ``epsilon_of_selections`` will account for it.
    """
    start = math.sqrt(8 * rho_of_budget(Budget(epsilon, delta)) / times)
    epsilon *= 0.998
    gain = _largest(lambda gain: delta_of_selections(start * (1 + gain), times, epsilon) <= delta, 1 / 16, 6)
    return start * (1 + gain)


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
