"""How well a candidate does, in whole points: what a row adds depends on that row and the candidate alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import kernels
from ..data.bounded import FloatArray
from ..privacy.mechanisms import Sensitive
from ..privacy.randomness import IntArray

POINTS = 2**16
"""The most that one row can add to a score; the least is nothing."""

OF_CLASSES = ("accuracy", "brier")
"""Scores of models that tell classes apart; the first is used if none is asked for."""
OF_NUMBERS = ("squared-error",)
"""Scores of models of a number."""


def class_points(margins: FloatArray, places: IntArray, scoring: str) -> IntArray:
    """Return each row's points, from 0 to `POINTS`.

    Parameters
    ----------
    margins : array of shape (rows, outputs)
        Log odds of the second class of two, or a margin for each class.
    places : array of int
        Each row's true class.
    scoring : {"accuracy", "brier"}
        All points for a right answer; or for probabilities, by half the sum of their squared errors.

    Privacy
    -------
    Sensitive: a row's points depend on that row and the model alone, to the last bit.
    """
    both = margins if margins.shape[1] > 1 else np.column_stack([np.zeros(len(margins)), margins[:, 0]])
    if scoring == "accuracy":
        return np.where(both.argmax(axis=1) == places, POINTS, 0)
    chances = kernels.softmaxes(both)
    error = np.zeros(len(places))
    for k in range(both.shape[1]):  # one rounded sum after the other, whatever rows stand around
        error += (chances[:, k] - (places == k)) ** 2
    return _points(error / 2)


def number_points(predicted: FloatArray, target: FloatArray, bounds: tuple[float, float]) -> IntArray:
    """Return each row's points: all, less the squared error in units of the target's range; never below 0.

    Privacy
    -------
    Sensitive: a row's points depend on that row, the model and the public bounds alone.
    """
    low, high = bounds
    return _points(((predicted - np.clip(target, low, high)) / (high - low)) ** 2)


def _points(error: FloatArray) -> IntArray:
    return np.rint(POINTS * (1 - np.clip(error, 0, 1))).astype(np.int64)


def total_points(candidates: Sequence[IntArray]) -> Sensitive[IntArray]:
    """Return the points of all rows together, for each candidate.

    Privacy
    -------
    Sensitive: one row, there or not or exchanged for another, moves each total by `POINTS` at most.
    """
    return Sensitive(np.array([points.sum() for points in candidates], dtype=np.int64))
