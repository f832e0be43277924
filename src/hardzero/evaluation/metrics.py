"""From noisy counts to figures: everything here is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.bounded import FloatArray
from ..model.evaluation import CLIP, Figure, Reliability, Threshold
from .bins import Bins
from .intervals import Parabola, figure, pairs, share

_LARGEST_LOSS = -math.log(CLIP)
_SEEN = 3.0  # standard deviations of its noise by which the size of a class must exceed 0


@dataclass(frozen=True)
class Findings:
    """What noisy counts say: metrics by name, shares of rows by true class and prediction, and curves.

    Privacy
    -------
    Post-processing.
    """

    metrics: dict[str, Figure]
    confusion: tuple[tuple[Figure, ...], ...]
    roc: tuple[Threshold, ...] = ()
    calibration: tuple[Reliability, ...] = ()


def of_two_classes(counts: FloatArray, bins: Bins, noise: float, rows: int | None) -> Findings:
    """Return what counts by class and bin say.

    Parameters
    ----------
    counts : array
        Of the first class by bin, then of the second.
    bins : Bins
        Of the probability of the second class.
    noise : float
        Standard deviation of the noise of each count.
    rows : int or None
        How many rows were counted, if that is public.

    Privacy
    -------
    Post-processing.
    """
    negative, positive = counts[: bins.count], counts[bins.count :]
    upper, lower = bins.upper, 1 - bins.upper
    of_chances = {"log_loss": (_log_loss, _LARGEST_LOSS), "brier": (_square_loss, 1.0)}
    metrics = {
        "accuracy": share(np.concatenate([lower, upper]), counts, noise, rows),
        "balanced_accuracy": pairs((upper[:, None] + lower) / 2, positive, negative, noise),
        "auc": pairs(bins.orders, positive, negative, noise),
    }
    for name, (loss, most) in of_chances.items():
        of_first, of_second = bins.means(lambda p, loss=loss: loss(1 - p)), bins.means(loss)  # type: ignore[misc]
        metrics[name] = share(np.concatenate([of_first, of_second]), counts, noise, rows, most)
    nobody = np.zeros(bins.count)
    cells = [[(side, nobody) for side in (lower, upper)], [(nobody, side) for side in (lower, upper)]]
    confusion = tuple(tuple(share(np.concatenate(cell), counts, noise, rows) for cell in line) for line in cells)
    return Findings(
        metrics, confusion, _roc(negative, positive, bins, noise), _calibration(negative, positive, bins, noise)
    )


def of_more_classes(counts: FloatArray, n_classes: int, bins: Bins, noise: float, rows: int | None) -> Findings:
    """Return what counts by class and prediction, then by the probability of the true class, say.

    Privacy
    -------
    Post-processing.
    """
    confused, chances = counts[: n_classes**2], counts[n_classes**2 :]
    table = confused.reshape(n_classes, n_classes)
    metrics = {
        "accuracy": share(np.eye(n_classes).ravel(), confused, noise, rows),
        "balanced_accuracy": mean_recall(table, noise),
        "log_loss": share(bins.means(_log_loss), chances, noise, rows, _LARGEST_LOSS),
        "brier": share(bins.means(_square_loss), chances, noise, rows),
    }
    cells = np.eye(n_classes**2)
    shares = [share(cell, confused, noise, rows) for cell in cells]
    confusion = tuple(tuple(shares[k * n_classes : (k + 1) * n_classes]) for k in range(n_classes))
    return Findings(metrics, confusion)


def mean_recall(table: FloatArray, noise: float) -> Figure:
    """Return the mean over classes of the share of their rows that is recognised; all is possible where one is small.

    Privacy
    -------
    Post-processing.
    """
    sizes, right = table.sum(axis=1), np.diag(table)
    if np.any(sizes < _SEEN * noise * math.sqrt(len(table))):
        return Figure(None, 0.0, 1.0)
    recall = np.clip(right / sizes, 0.0, 1.0)
    of_rows = (1 - recall) ** 2 * right + recall**2 * (sizes - right)
    of_noise = noise**2 * ((1 - recall) ** 2 + (len(table) - 1) * recall**2)
    variance = float(np.sum((np.maximum(of_rows, 0) + of_noise) / sizes**2)) / len(table) ** 2
    return figure(float((right / sizes).mean()), 1.0, Parabola(variance), 1.0)


def _roc(negative: FloatArray, positive: FloatArray, bins: Bins, noise: float) -> tuple[Threshold, ...]:
    """Return shares of both classes above each edge, from the highest edge to the lowest."""
    above = [(np.arange(bins.count) > edge).astype(np.float64) for edge in range(bins.count - 1)]
    return tuple(
        Threshold(float(edge), share(rows, negative, noise, None), share(rows, positive, noise, None))
        for edge, rows in zip(bins.edges[::-1], above[::-1], strict=True)
    )


def _calibration(negative: FloatArray, positive: FloatArray, bins: Bins, noise: float) -> tuple[Reliability, ...]:
    """Return for each bin the share of its rows that are of the second class."""
    ends = [0.0, *bins.edges.tolist(), 1.0]
    second = np.array([0.0, 1.0])
    return tuple(
        Reliability(ends[i], ends[i + 1], float(bins.centres[i]), share(second, np.array(cell), noise, None))
        for i, cell in enumerate(zip(negative, positive, strict=True))
    )


def _log_loss(chance: FloatArray) -> FloatArray:
    """Return the loss of a probability that was given to the true class."""
    return np.asarray(-np.log(np.clip(chance, CLIP, 1 - CLIP)))


def _square_loss(chance: FloatArray) -> FloatArray:
    return np.asarray((1 - chance) ** 2)
