"""A linear classifier built from one release of OpenDP, for experiments/others.py: least squares on noisy moments.

OpenDP 0.16 ships no classifier. It ships the noise and the accounting; what is summed and what is made of it is ours.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from others_serve import Answer, Task, serve

PACKAGES = ("opendp==0.16.0", "numpy==2.4.6")
GRID = tuple((("row_norm", norm), ("ridge", ridge)) for norm in (1.5, 5.7) for ridge in (1.5, 3.0, 6.0))


def fit(task: Task) -> Answer:
    """All products of two columns, summed over the rows, with noise; then ridge regression of the label."""
    rows = np.column_stack([task.X, np.ones(len(task.X)), 2.0 * task.y - 1])
    longest = np.sqrt(max(abs(task.lower), abs(task.upper)) ** 2 * task.X.shape[1] + 2)
    bound = float(task.settings.get("row_norm", longest))
    rows *= np.minimum(1, bound / np.linalg.norm(rows, axis=1, keepdims=True))
    upper = np.triu_indices(rows.shape[1])
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))  # so that a row adds a vector of length ‖row‖²
    sums = (rows.T @ rows)[upper] * twice / (bound**2 * (1 + 1e-9))  # a little less, for the sums' own rounding
    scale = _scale(task.epsilon, task.delta)
    noisy = np.array(_measurement(scale, task.delta)(sums.tolist())) / twice
    moments = np.zeros((rows.shape[1], rows.shape[1]))
    moments[upper] = noisy
    moments += np.triu(moments, 1).T
    # Noise alone has eigenvalues up to 1.4 · scale · √columns.
    ridge = task.settings.get("ridge", 2.0) * scale * np.sqrt(rows.shape[1])
    weights = np.linalg.solve(moments[:-1, :-1] + ridge * np.eye(len(moments) - 1), moments[:-1, -1])
    return Answer(task.X_test @ weights[:-1] + weights[-1], np.count_nonzero(weights[:-1]))


@cache  # seconds, the same for all fits with this budget
def _scale(epsilon: float, delta: float) -> float:
    """The least noise for which the library confirms (ε, δ) where a record adds a vector of length 1."""
    import opendp.prelude as dp  # noqa: PLC0415 - in an environment of its own

    return float(
        dp.binary_search(lambda scale: _measurement(scale, delta).check(1.0, (epsilon, delta)), bounds=(0.2, 1e3))
    )


def _measurement(scale: float, delta: float):  # type: ignore[no-untyped-def]
    import opendp.prelude as dp  # noqa: PLC0415 - in an environment of its own

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale)), delta)


if __name__ == "__main__":
    serve(fit, "opendp.prelude")
