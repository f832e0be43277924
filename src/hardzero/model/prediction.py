"""From rows and weights to margins and probabilities, for estimators and model files alike."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ..data.bounded import FloatArray

_LARGEST_MARGIN = 1e30


def linear_margins(rows: Any, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    """Return w·x + b, one row for each of ``rows`` and one column for each row of ``coef``.

    Sums beyond all numbers end at ±1e30, so that differences of margins, and hence probabilities, are finite.

    Privacy
    -------
    Post-processing, as far as the training data are concerned.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        margins = np.asarray(rows @ coef.T + intercept)
    return within_reach(margins)


def within_reach(margins: FloatArray) -> FloatArray:
    """Return finite margins: what is beyond all numbers ends at ±1e30.

    Privacy
    -------
    Depends on each margin alone.
    """
    return np.asarray(np.clip(np.nan_to_num(margins), -_LARGEST_MARGIN, _LARGEST_MARGIN))


def decisions(margins: FloatArray) -> FloatArray:
    """Return margins without the second axis where there is one column: two classes, or a number.

    Privacy
    -------
    Post-processing, as far as the training data are concerned.
    """
    return margins[:, 0] if margins.shape[1] == 1 else margins


def probabilities(margins: FloatArray) -> FloatArray:
    """Return the probability of each class; one column of margins is that of the second of two classes.

    Privacy
    -------
    Post-processing, as far as the training data are concerned.
    """
    if margins.shape[1] == 1:
        margins = np.column_stack([np.zeros(len(margins)), margins[:, 0]])
    odds = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


class LinearPredictions(abc.ABC):
    """Decisions and probabilities of whatever can turn rows into margins."""

    @abc.abstractmethod
    def _margins(self, X: Any) -> FloatArray:
        """Check rows and return their margins, (rows, outputs)."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return w·x + b: shape (n_rows,) for two classes or a number, (n_rows, n_classes) for more classes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows like those of the fit; columns of a data frame are found by their names.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        return decisions(self._margins(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of the classes.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        return probabilities(self._margins(X))
