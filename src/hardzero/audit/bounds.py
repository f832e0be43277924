"""What frequencies of an event prove about (ε, δ) and μ: Clopper and Pearson's bounds, and what follows from them.

If an event has probability at least p₁ on one input and at most p₀ on its neighbour, any (ε, δ) guarantee needs
ε ≥ log((p₁ - δ)/p₀), also for the complement with the inputs exchanged, and μ-GDP needs μ ≥ Φ⁻¹(p₁) - Φ⁻¹(p₀).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrik, betaincinv, ndtr, ndtri

from ..privacy.randomness import FloatArray


class Chances(NamedTuple):
    """An event's probability: at least ``likely`` with the record, at most ``rare`` without it."""

    likely: FloatArray
    rare: FloatArray


def chances(hits: FloatArray, alarms: FloatArray, runs: int, error: float) -> Chances:
    """Bound the probabilities of events that happened so often, each bound being wrong with probability ``error``.

    Parameters
    ----------
    hits, alarms : array
        How often each event happened with the record, and without it.
    runs : int
        How many runs there were of either kind.
    error : float
        The probability with which one bound may be wrong.

    Privacy
    -------
    Data-independent: an audit reads no user's data.
    """
    hits, alarms = np.asarray(hits, dtype=np.float64), np.asarray(alarms, dtype=np.float64)
    likely = np.where(hits > 0, betaincinv(np.maximum(hits, 0.5), runs - hits + 1, error), 0.0)
    missed = np.maximum(runs - alarms, 0.5)
    rare = np.where(alarms < runs, betaincinv(alarms + 1, missed, 1 - error), 1.0)
    return Chances(likely, rare)


def epsilon_shown(found: Chances, delta: float) -> FloatArray:
    """Return the largest ε that events rule out at this δ, in whichever direction shows more; below 0 for none.

    Privacy
    -------
    Data-independent.
    """
    return np.maximum(
        _log_ratio(found.likely, found.rare, delta), _log_ratio(1 - found.rare, 1 - found.likely, delta)
    )


def _log_ratio(more: FloatArray, less: FloatArray, delta: float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(more > delta, np.log(np.maximum(more - delta, 0.0) / less), -np.inf)


def mu_shown(found: Chances) -> FloatArray:
    """Return the largest μ for which events rule out μ-GDP, not below 0.

    Privacy
    -------
    Data-independent.
    """
    return np.asarray(np.maximum(ndtri(found.likely) - ndtri(found.rare), 0.0))


def likely_counts(mu: float, runs: int, doubt: float = 0.05) -> tuple[float, float]:
    """Return how often the best event happens with and without the record if the truth is μ-GDP, with bad luck.

    Each count is as unfavourable as it is with probability ``doubt``.

    Privacy
    -------
    Data-independent.
    """
    often = min(float(ndtr(mu / 2)), 1 - 2.0**-40)
    hits = max(math.floor(bdtrik(doubt, runs, often)), 0)
    return float(hits), float(runs - hits)
