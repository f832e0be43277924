"""What stays: the most important variables, and of their features the weights that are clear of noise.

Everything here is post-processing of released values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.bounded import FloatArray
from ..data.variables import Variables
from ..optim.standardise import Standard
from .evidence import NullChances, Trace

_MOST_DOUBT, _LEAST_DOUBT = 0.95, 0.1
"""Weights likelier to be noise than the first are dropped; those of features that may be empty, than the second."""
_CLEAR_MOMENTS = 0.02
"""Moments with more noise than this cannot tell any feature from nothing."""
_SOME_SPREAD, _CLEAR_SPREAD = 2.0, 4.0
"""Standard errors of a variance above zero from which on a feature need not be empty, and cannot be."""
_BEYOND_LUCK = 19.0
"""Slopes of noise around zero are explained so much better by lines once in a million descents."""


def mean_landing(traces: Sequence[Trace], features: NDArray[np.intp]) -> FloatArray:
    """Return where descents have landed so far, on average, the less noisy ones counting for more.

    Privacy
    -------
    Post-processing.
    """
    shares = np.array([trace.path.landing.steps / trace.path.noise**2 for trace in traces])
    landings = [trace.path.landing.at.coef[:, np.searchsorted(trace.features, features)] for trace in traces]
    return np.asarray(np.tensordot(shares / shares.sum(), landings, axes=1))


def most_important(
    coef: FloatArray, mask: NDArray[np.bool_], standard: Standard, variables: Variables, count: int
) -> NDArray[np.bool_]:
    """Keep the weights in ``mask`` that belong to the ``count`` variables that move the score most.

    Privacy
    -------
    Post-processing.
    """
    if count >= len(variables.names):
        return mask
    weights = np.where(mask, coef, 0.0) / standard.scale
    importances = variables.importances(weights, standard.centre, standard.variance)
    chosen = np.argsort(-importances, kind="stable")[:count]
    return np.asarray(mask & np.isin(variables.owners, chosen))


def largest(coef: FloatArray, mask: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Keep the ``count`` largest absolute weights of those in ``mask``.

    Privacy
    -------
    Post-processing.
    """
    order = np.argsort(np.where(mask, -np.abs(coef), np.inf), axis=None, kind="stable")
    kept = np.zeros(mask.shape, dtype=bool)
    kept.flat[order[:count]] = True
    return kept & mask


def may_be_empty(standard: Standard, errors: float = _SOME_SPREAD) -> NDArray[np.bool_]:
    """Say which features may be the same in all rows: their released variance is within so many errors of nothing.

    Where moments are so noisy that this could be said of any feature, it is said of none.

    Privacy
    -------
    Post-processing.
    """
    return (standard.variance <= errors * standard.variance_error) & (standard.error <= _CLEAR_MOMENTS)


def clear_of_noise(
    mask: NDArray[np.bool_], standard: Standard, chances: NullChances, declared: Variables | None = None
) -> NDArray[np.bool_]:
    """Drop weights that are likelier noise.

    A variable that was ``declared`` may list categories that nobody has: those are dropped whose spread and slopes
    do not show that they are not empty. So are steps of which that can be said of none.

    Privacy
    -------
    Post-processing.
    """
    kept = mask & (chances.likely < np.where(may_be_empty(standard), _LEAST_DOUBT, _MOST_DOUBT))
    if declared is None:
        return kept
    empty = may_be_empty(standard, _CLEAR_SPREAD) & (chances.gain < _BEYOND_LUCK)
    for kind, places in zip(declared.kinds, declared.places, strict=True):
        if kind != "categories":
            empty[:, places] = kind == "steps" and empty[:, places].all()
    return kept & ~empty
