"""What a search over candidates costs, and what that leaves for each of them; from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ledger.filters import cost_of
from ..methods.plans import ChargedPlan, charged
from ..privacy import accounting
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, RandomStopping, Selection

Releases = Callable[[float], Sequence[Event]]
"""What a candidate releases if it is told this ε, at the δ of the whole."""

STRATEGIES = ("auto", "all", "random-stopping")
FEW = 10
"""Up to so many candidates all are fitted, if nothing else is asked for: measured in docs/tuning.md."""

_SLOPE = math.sqrt(2 * math.pi) / 4
"""A choice of bounded range η tells no more than a Gaussian release of η times this (docs/proofs/ledger.md)."""
_ROOM = 1 - 1e-9
_HALVINGS, _BISECTIONS = 60, 12


@dataclass(frozen=True)
class TuningPlan(ChargedPlan):
    """What each candidate is told, and how one of them is chosen.

    Attributes
    ----------
    told : tuple of float
        The ε of each candidate's own fit, at the δ of the whole.
    choice : Selection or RandomStopping
        One choice among all candidates, or the best of a random number of runs.
    untuned : float
        How many times less noise the first candidate would have, fitted alone with the whole budget.

    Privacy
    -------
    Data-independent.
    """

    told: tuple[float, ...]
    choice: Selection | RandomStopping
    untuned: float


def plan_tuning(
    budget: Budget, neighbours: Neighbours, candidates: Sequence[Releases], odds: int | None
) -> TuningPlan:
    """Divide a budget over candidates.

    Parameters
    ----------
    budget : Budget
        What the whole search may cost.
    neighbours : Neighbours
        Under which relation.
    candidates : sequence of callable
        What each releases, by the ε that it is told.
    odds : int or None
        The mean number of runs in random stopping; None fits all candidates, once each.

    Privacy
    -------
    Data-independent.
    """
    if odds is None:
        return _plan_all(budget, neighbours, candidates)
    return _plan_stopping(budget, neighbours, candidates, odds)


def _plan_all(budget: Budget, neighbours: Neighbours, candidates: Sequence[Releases]) -> TuningPlan:
    def events(epsilon: float) -> tuple[Event, ...]:
        return tuple(event for releases in candidates for event in releases(epsilon))

    told = _largest(lambda epsilon: accounting.spent(events(epsilon), budget.delta) <= budget, budget.epsilon)
    released = events(told)
    spent = charged(budget, released)
    choice = choice_within(released, budget)
    untuned = _less_noise(candidates[0], budget.epsilon, told)
    return TuningPlan(budget, neighbours, released, spent, (told,) * len(candidates), choice, untuned)


def choice_within(events: Sequence[Event], budget: Budget) -> Selection:
    """Return a choice that costs no more than the events do, by whichever measure they are added up.

    Privacy
    -------
    Data-independent.
    """
    fits = cost_of(events)
    eta = min(math.sqrt(8 * fits.rho), math.sqrt(fits.square) / _SLOPE, fits.epsilon, budget.epsilon) * _ROOM
    choice = Selection(eta, "a candidate")
    charged(budget, (choice,))
    return choice


def _plan_stopping(budget: Budget, neighbours: Neighbours, candidates: Sequence[Releases], odds: int) -> TuningPlan:
    def stopping(noise: float) -> RandomStopping:
        return RandomStopping("fits, each with a noisy score on other rows", noise, odds)

    def allows(releases: Releases, epsilon: float) -> bool:
        return accounting.spent((stopping(noise_of(releases(epsilon))),), budget.delta) <= budget

    told = tuple(
        _largest(lambda epsilon, releases=releases: allows(releases, epsilon), budget.epsilon)  # type: ignore[misc]
        for releases in candidates
    )
    choice = stopping(min(noise_of(releases(epsilon)) for releases, epsilon in zip(candidates, told, strict=True)))
    untuned = _less_noise(candidates[0], budget.epsilon, told[0])
    return TuningPlan(budget, neighbours, (choice,), charged(budget, (choice,)), told, choice, untuned)


def noise_of(events: Sequence[Event]) -> float:
    """Return the noise of a Gaussian release that costs as much in zCDP.

    Raises
    ------
    ValueError
        A release has no bound in plain zCDP.

    Privacy
    -------
    Data-independent.
    """
    if any(event.cost.shift or event.cost.tail for event in events):
        raise ValueError(
            "strategy='random-stopping' needs candidates that are bounded in zCDP, and one of them minimises a "
            "perturbed objective; use strategy='all'"
        )
    return 1 / math.sqrt(2 * sum(event.cost.rho for event in events)) * _ROOM


def _less_noise(releases: Releases, whole: float, told: float) -> float:
    rho = [sum(event.cost.rho for event in releases(epsilon)) for epsilon in (whole, told)]
    return math.sqrt(rho[0] / rho[1])


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """Largest ε up to ``most``, within 0.1 %, for which a condition holds."""
    good, bad = most, most
    for _ in range(_HALVINGS):
        if holds(good):
            break
        good, bad = good / 2, good
    else:
        raise ValueError("epsilon is too small for this search; use fewer candidates, or a larger epsilon")
    for _ in range(_BISECTIONS if good < bad else 0):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
