"""What hardzero is compared with: private Frank-Wolfe as the paper lists it, and as plain NumPy and SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit


def listing(X: Any, y: Any, steps: int, radius: float, noise: float | None, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 1 as the paper's Appendix B goes about it: two full passes over the data a step.

    Without the product with a 2p x p matrix of corners that the appendix makes: the choice is the same without it.
    ``noise`` is the scale of the Laplace noise; None for the noise-free count of a support.
    """
    rows, features = X.shape
    w = np.zeros(features)
    for t in range(1, steps + 1):
        gradient = X.T @ (1 / (1 + np.exp(-(X @ w))) - y) / rows
        ahead, back = radius * gradient, -radius * gradient
        if noise is not None:
            ahead += rng.laplace(scale=noise, size=features)
            back += rng.laplace(scale=noise, size=features)
        w *= 1 - 2 / (t + 2)
        feature, sign = _smallest(ahead, back)
        w[feature] += 2 / (t + 2) * sign * radius
    return w


def incremental(
    columns: Any, y: Any, steps: int, radius: float, noise: float, rng: np.random.Generator
) -> np.ndarray:
    """Do the same with margins kept from step to step: one pass over the data, held by columns, and one column."""
    rows, features = columns.shape
    transposed = columns.T
    dense = isinstance(columns, np.ndarray)
    w, margins = np.zeros(features), np.zeros(rows)
    for t in range(1, steps + 1):
        gradient = transposed @ (expit(margins) - y)
        gradient *= radius / rows
        ahead = gradient + rng.laplace(scale=noise, size=features)
        back = rng.laplace(scale=noise, size=features) - gradient
        feature, sign = _smallest(ahead, back)
        mu = 2 / (t + 2)
        w *= 1 - mu
        margins *= 1 - mu
        w[feature] += mu * sign * radius
        if dense:
            margins += mu * sign * radius * columns[:, feature]
        else:
            part = slice(columns.indptr[feature], columns.indptr[feature + 1])
            margins[columns.indices[part]] += mu * sign * radius * columns.data[part]
    return w


def published_noise(rows: int, steps: int, radius: float, epsilon: float, delta: float) -> float:
    """Scale of the Laplace noise in Algorithm 1."""
    return radius * math.sqrt(8 * steps * math.log(1 / delta)) / (rows * epsilon)


def _smallest(ahead: np.ndarray, back: np.ndarray) -> tuple[int, int]:
    i, j = int(np.argmin(ahead)), int(np.argmin(back))
    return (i, 1) if ahead[i] <= back[j] else (j, -1)
