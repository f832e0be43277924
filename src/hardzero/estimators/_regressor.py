"""Estimators of a bounded number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from .. import checks
from ..backends.collections import is_collection, lazy_on_collections
from ..data.bounded import Bounds, FloatArray
from ..data.persons import Persons
from ..optim.losses import Squared
from . import _input
from ._linear import _Linear
from ._parameters import documented
from ._persons import counted_as, refuse_unequal
from ._scattered import KeptRows, NumberReader


class LinearRegressor(RegressorMixin, _Linear):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear model of a bounded number."""

    target_bounds: Any
    radius: Any

    @_input.without_weights
    @documented
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the model.

        {rows}
        y : array of shape (n_rows,)
            Numbers; clipped to ``target_bounds`` in the same way.
        {groups}

        {fitted_self}
        """
        persons = self._persons(X, groups)
        self._look_ahead(X, persons)
        if is_collection(X):
            parts = self._collected(X, y)
            return self._fit_targets(parts, (parts.n_rows, parts.n_features), self._reader())
        rows = self._checked(X, _input.read_rows(X), reset=True)
        refuse_unequal(persons, rows.shape[0], y)
        return self._fit_targets(rows, rows.shape, self._reader()(y, rows.shape[0]), persons)

    @documented
    def fit_kept(self, rows: KeptRows, feature_names: Sequence[str] | None = None) -> Self:
        """Fit rows that workers of a Dask cluster keep already, within their bounds, as targets are within theirs.

        Parameters
        ----------
        rows : KeptRows
            Rows scaled to [-1, 1]; ``bounds`` must be (-1, 1), because weights are given in these units.
        feature_names : sequence of str, optional
            Names of the features.

        {fitted_self}
        """
        self._look_ahead(rows)
        self._refuse_scattered()
        self._note_scaled(rows.n_features, feature_names)
        return self._fit_targets(rows, (rows.n_rows, rows.n_features), None)

    def _fit_targets(self, rows: Any, shape: tuple[int, int], targets: Any, persons: Persons | None = None) -> Self:
        """Fit checked rows and targets, and present the result."""
        fitted, plan = self._solve(rows, targets, Squared(checks.positive("radius", self.radius)), persons)
        counted, whom = counted_as(persons, shape[0])
        unit = self._reader().unit
        self.coef_ = fitted.coef[0] * unit
        self.intercept_ = float(fitted.intercept[0]) * unit
        self.support_ = np.flatnonzero(self.coef_)
        public = (self._size_in_words(counted, shape[1], whom), "the bounds of the features and of the target")
        self._state(plan, public, counted, whom)
        return self

    def _reader(self) -> NumberReader:
        return NumberReader(Bounds.parse(self.target_bounds, 1, "target_bounds"), type(self).__name__)

    @lazy_on_collections
    @documented
    def predict(self, X: Any) -> FloatArray:
        """Return w·x + b for each row.

        {predicted}
        """
        return self._margins(X)[:, 0]

    @documented
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the target's variance that is predicted.

        {scored}
        """
        from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to load, and fits do not need it

        predicted = np.asarray(self.predict(X))
        target = _input.read_target(y, len(predicted), type(self).__name__)
        return float(r2_score(target, predicted, sample_weight=sample_weight))
