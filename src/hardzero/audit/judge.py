"""From runs to a verdict. Some runs choose what to look at; the others, which nobody has looked at, are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..privacy import accounting
from ..privacy.randomness import FloatArray
from .bounds import Chances, chances, epsilon_shown, likely_counts, mu_shown
from .case import Case, Claim

CONFIDENCE = 0.999
"""That no bound of a case is wrong."""
PILOTS = 0.3
"""The share of runs that choose what to look at."""
_EVENTS = 2
_ERROR = (1 - CONFIDENCE) / (2 * _EVENTS)  # each event has two bounds
_RIDGE = 1e-2
"""Of the discriminant; more where there are many numbers for few runs."""
_WIDEST = 1e6
_LARGEST_FACTOR = 64.0


@dataclass(frozen=True)
class Rule:
    """A statistic and two thresholds, chosen from pilot runs: events fixed before any run is judged."""

    centre: FloatArray
    weights: FloatArray
    thresholds: FloatArray

    def statistics(self, released: FloatArray) -> FloatArray:
        """Return one number for each run."""
        return np.asarray((_tame(released) - self.centre) @ self.weights)


@dataclass(frozen=True)
class Outcome:
    """What an audit found about one case.

    Attributes
    ----------
    name, group, about : str
        Of the case.
    epsilon, delta : float
        What is claimed.
    mu : float or None
        What is claimed where the guarantee is exactly Gaussian.
    runs : int
        Runs on each input that were judged; pilots come on top.
    hits, alarms : tuple of int
        How often each event happened with the record, and without it.
    epsilon_shown, mu_shown : float
        Lower bounds at the confidence of the audit.
    epsilon_as_gaussian : float or None
        The lower bound on ε, at the claim's δ, that follows from ``mu_shown`` if the guarantee is exactly Gaussian;
        None for any other, of which it would not be true.
    excess : float
        By how much a lower bound on ε exceeds the claim at the δ where it does so most; above 0 is a refutation.
    catches : float
        Noise that is this many times too small would be caught with probability 0.9 by as many runs, if what a record
        shifts has a Gaussian shape; None if not even 64 times would.

    Privacy
    -------
    Data-independent.
    """

    name: str
    group: str
    about: str
    epsilon: float
    delta: float
    mu: float | None
    runs: int
    hits: tuple[int, ...]
    alarms: tuple[int, ...]
    epsilon_shown: float
    mu_shown: float
    epsilon_as_gaussian: float | None
    excess: float
    catches: float | None

    @property
    def passed(self) -> bool:
        """Whether no lower bound exceeds its claim."""
        return self.excess <= 0 and (self.mu is None or self.mu_shown <= self.mu)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"passed": self.passed, **asdict(self)}


def pilot_runs(runs: int) -> int:
    """Return how many of the runs on each input are pilots.

    Privacy
    -------
    Data-independent.
    """
    return max(int(PILOTS * runs), 20)


def chosen_rule(without: FloatArray, having: FloatArray, claim: Claim, judged: int) -> Rule:
    """Choose a statistic by a linear discriminant, and the thresholds that promise most.

    Parameters
    ----------
    without, having : array of shape (runs, numbers)
        What pilot runs released on either input.
    claim : Claim
        What is to be refuted.
    judged : int
        How many runs on each input will be judged.

    Privacy
    -------
    Data-independent.
    """
    without, having = _tame(without), _tame(having)
    both = np.concatenate([without, having])
    centre, spread = both.mean(axis=0), both.std(axis=0)
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0.0)
    rests = np.concatenate([without - without.mean(axis=0), having - having.mean(axis=0)]) * scale
    ridge = _RIDGE + len(scale) / len(rests)
    covariance = rests.T @ rests / len(rests) + ridge * np.eye(len(scale))
    shift = (having.mean(axis=0) - without.mean(axis=0)) * scale
    rule = Rule(centre, scale * np.linalg.solve(covariance, shift), np.zeros(0))
    return Rule(
        rule.centre, rule.weights, _thresholds(rule.statistics(without), rule.statistics(having), claim, judged)
    )


def _thresholds(without: FloatArray, having: FloatArray, claim: Claim, judged: int) -> FloatArray:
    """Return the threshold that would show the largest ε as stated, and the one most dangerous to the whole curve."""
    seen = np.unique(np.concatenate([without, having]))
    tried = (seen[:-1] + seen[1:]) / 2 if len(seen) > 1 else seen
    if len(tried) > 200:
        tried = np.quantile(tried, np.linspace(0, 1, 200))
    shares = [(np.count_nonzero(side[:, None] > tried, axis=0) + 0.5) / (len(side) + 1) for side in (having, without)]
    expected = chances(judged * shares[0], judged * shares[1], judged, _ERROR)
    best = [epsilon_shown(expected, claim.stated.delta), excesses(expected, claim).max(axis=0)]
    return np.array([tried[int(np.argmax(worth))] for worth in best])


def excesses(found: Chances, claim: Claim) -> FloatArray:
    """Return by how much each event's lower bound on ε exceeds the claim, for every δ of the claim."""
    return np.array([epsilon_shown(found, point.delta) - point.epsilon for point in claim.curve])


def judged(case: Case, rule: Rule, without: FloatArray, having: FloatArray) -> Outcome:
    """Count the events of a rule in runs that had no part in choosing it, and say what that proves.

    Parameters
    ----------
    case : Case
        What was run.
    rule : Rule
        Chosen from pilot runs.
    without, having : array of shape (runs, numbers)
        What the other runs released on either input.

    Privacy
    -------
    Data-independent.
    """
    runs = len(having)
    hits, alarms = (
        np.count_nonzero(rule.statistics(side)[:, None] > rule.thresholds, axis=0) for side in (having, without)
    )
    found = chances(hits, alarms, runs, _ERROR)
    stated, mu = case.claim.stated, float(mu_shown(found).max())
    rates = Chances((hits + 0.5) / (runs + 1), (alarms + 0.5) / (runs + 1))
    return Outcome(
        case.name,
        case.group,
        case.about,
        stated.epsilon,
        stated.delta,
        case.claim.mu,
        runs,
        tuple(map(int, hits)),
        tuple(map(int, alarms)),
        max(float(epsilon_shown(found, stated.delta).max()), 0.0),
        mu,
        accounting.epsilon_of_gaussian(mu**2, stated.delta) if case.claim.mu is not None else None,
        float(excesses(found, case.claim).max()),
        least_factor(case.claim, float(mu_shown(rates).max()), runs),
    )


def least_factor(claim: Claim, mu: float, runs: int) -> float | None:
    """Return how many times too small noise must be to be caught with probability 0.9, if it now hides a shift of μ.

    Privacy
    -------
    Data-independent.
    """

    def caught(factor: float) -> bool:
        hits, alarms = likely_counts(factor * mu, runs)
        found = chances(np.array([hits]), np.array([alarms]), runs, _ERROR)
        too_much = claim.mu is not None and float(mu_shown(found)[0]) > claim.mu
        return too_much or float(excesses(found, claim).max()) > 0

    return _least(caught, _LARGEST_FACTOR)


def _least(holds: Callable[[float], bool], most: float) -> float | None:
    """Return the least factor, from 1 and up to a hundredth, from which on a condition holds; None if none does."""
    if not holds(most):
        return None
    low, high = 0.0, float(np.log(most))
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))


def _tame(released: FloatArray) -> FloatArray:
    """Return numbers that can be averaged, whatever a fault may have released."""
    return np.clip(np.nan_to_num(released, nan=-_WIDEST, posinf=_WIDEST, neginf=-_WIDEST), -_WIDEST, _WIDEST)
