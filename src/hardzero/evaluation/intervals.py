"""Figures with intervals for chance among rows and for noise: all values that noisy counts do not contradict.

For a value θ there is a statistic numerator - θ·denominator that is 0 on average if θ is true. Its variance, a
parabola in θ, is estimated without bias from the same counts. The interval holds all θ whose statistic is within 1.96
standard deviations of 0, as Fieller did for ratios and Wilson for shares: it stays right where noise drowns the
denominator (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..data.bounded import FloatArray
from ..model.evaluation import Figure

_NORMAL = 1.959963984540054  # 95 % of a normal variable


class Parabola(NamedTuple):
    """constant + linear·θ + square·θ²."""

    constant: float
    linear: float = 0.0
    square: float = 0.0


def squares(values: FloatArray, slopes: FloatArray | float, weights: FloatArray | float) -> Parabola:
    """Return the sum of weight·(value - slope·θ)²."""
    values, slopes, weights = np.broadcast_arrays(values, slopes, weights)
    return Parabola(
        float(np.sum(weights * values**2)),
        float(-2 * np.sum(weights * values * slopes)),
        float(np.sum(weights * slopes**2)),
    )


def added(*parts: Parabola) -> Parabola:
    """Return the sum of parabolas."""
    return Parabola(*(math.fsum(terms) for terms in zip(*parts, strict=True)))


def figure(numerator: float, denominator: float, variance: Parabola, most: float) -> Figure:
    """Return the ratio, and the interval of all values between 0 and ``most`` that are not contradicted."""
    value = min(max(numerator / denominator, 0.0), most) if denominator > 0 else None
    # Positive where a value is contradicted.
    contradiction = np.array(
        [
            denominator**2 - _NORMAL**2 * variance.square,
            -2 * numerator * denominator - _NORMAL**2 * variance.linear,
            numerator**2 - _NORMAL**2 * variance.constant,
        ]
    )
    roots = np.roots(contradiction)
    changes = sorted(float(root.real) for root in roots if root.imag == 0 and 0 < root.real < most)
    ends = [0.0, *changes, most]
    held = [pair for pair in pairwise(ends) if np.polyval(contradiction, sum(pair) / 2) <= 0]
    if value is not None and not held:  # noise led beyond all possible values: those near the nearest one are left
        reach = _NORMAL * math.sqrt(max(float(np.polyval(variance[::-1], value)), 0.0)) / denominator or most
        held = [(max(value - reach, 0.0), min(value + reach, most))]
    low, high = (held[0][0], held[-1][1]) if held else (0.0, most)
    return Figure(None if value is None else min(max(value, low), high), low, high)


def share(weights: FloatArray, counts: FloatArray, noise: float, rows: int | None, most: float = 1.0) -> Figure:
    """Return the mean over rows of what ``weights`` says for each count, between 0 and ``most``.

    ``rows`` is their number, if it is public; else the sum of the counts stands for it.
    """
    if rows is None:
        return figure(float(weights @ counts), float(counts.sum()), squares(weights, 1.0, counts + noise**2), most)
    counts = counts + (rows - counts.sum()) / len(counts)  # as far as noise is in their sum, it is known
    of_noise = Parabola(noise**2 * float(np.sum((weights - weights.mean()) ** 2)))
    return figure(float(weights @ counts), rows, added(of_noise, squares(weights, 1.0, counts)), most)


def pairs(weights: FloatArray, first: FloatArray, second: FloatArray, noise: float) -> Figure:
    """Return the mean over pairs of a row of one class and a row of another of what ``weights`` says for their bins.

    With independent noise, products of counts of different classes have no bias.
    """
    by_first, by_second = weights @ second, first @ weights
    all_first, all_second = float(first.sum()), float(second.sum())
    # What noise adds to squares of the noisy sums is subtracted: sums of (weight - θ)² over rows and columns.
    whole = squares(weights, 1.0, -(noise**4))
    spread = squares(weights, 1.0, -(noise**2) * (first[:, None] + second[None, :]))
    variance = added(
        squares(by_first, all_second, first + noise**2),
        squares(by_second, all_first, second + noise**2),
        whole,
        spread,
    )
    return figure(float(first @ by_first), all_first * all_second, variance, 1.0)
