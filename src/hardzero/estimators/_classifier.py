"""Estimators of classes: two of them with one row of weights, several with one for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..backends.collections import Collection, is_collection, lazy_on_collections
from ..data.bounded import Table
from ..data.persons import Persons
from ..model.prediction import LinearPredictions
from . import _input, _labels
from ._linear import _Linear
from ._parameters import documented
from ._persons import counted_as, refuse_unequal
from ._scattered import ClassReader, KeptRows, class_loss, class_targets


class LinearClassifier(ClassifierMixin, _Linear, LinearPredictions):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear classifier: binary with one row of weights, multinomial with one for each class."""

    classes: Any
    _most_classes = math.inf
    _states_classes = False

    @_input.without_weights
    @documented
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the model.

        {rows}
        y : array of shape (n_rows,)
            Labels.
        {groups}

        {fitted_self}
        """
        persons = self._persons(X, groups)
        self._look_ahead(X, persons)
        if is_collection(X):
            return self._fit_collection(self._collected(X, y))
        rows = self._checked(X, _input.read_rows(X), reset=True)
        return self._fit_rows(rows, rows.shape, y, persons)

    @documented
    def fit_table(
        self,
        data: Table,
        y: Any,
        feature_names: Sequence[str] | None = None,
        *,
        coded: bool = False,
        groups: Any = None,
    ) -> Self:
        """Fit rows that are within their bounds already, such as a stacked table too large for one array.

        Parameters
        ----------
        data : BoundedData or StackedData
            Rows scaled to [-1, 1]; ``bounds`` must be (-1, 1), because weights are given in these units.
        y : array of shape (n_rows,)
            Labels, or their places in ``classes``.
        feature_names : sequence of str, optional
            Names of the features.
        coded : bool, default=False
            Whether y holds, in place of each label, its place in ``classes`` as they are listed, counted from 0: long
            tables need not hold their labels as text. ``classes_`` then has the order of ``classes``.
        {groups}

        {fitted_self}
        """
        persons = self._persons(data, groups)
        self._look_ahead(data, persons)
        self._note_scaled(data.n_features, feature_names)
        return self._fit_rows(data, (data.n_rows, data.n_features), y, persons, coded=coded)

    @documented
    def fit_kept(self, rows: KeptRows, feature_names: Sequence[str] | None = None) -> Self:
        """Fit rows that workers of a Dask cluster keep already, within their bounds, with places in ``classes``.

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
        classes = _labels.listed_classes(self.classes)
        return self._fit_targets(rows, (rows.n_rows, rows.n_features), None, classes, _labels.GIVEN)

    def _fit_rows(
        self, X: Any, shape: tuple[int, int], y: Any, persons: Persons | None = None, *, coded: bool = False
    ) -> Self:
        """Fit checked rows, an array or a table, and present the result."""
        refuse_unequal(persons, shape[0], y)
        labels = _labels.read_labels(y, shape[0], type(self).__name__)
        if coded:
            encoded = _labels.coded_labels(labels, self.classes)
        else:
            encoded = _labels.encode_labels(labels, self.classes, required=self._states_classes)
        targets = class_targets(encoded.places, len(encoded.classes))
        return self._fit_targets(X, shape, targets, encoded.classes, encoded.source, persons)

    def _fit_collection(self, rows: Collection) -> Self:
        """Fit parts of a table where they are: labels are read there, so that classes have to be stated."""
        classes = _labels.stated_classes(self.classes)
        reader = ClassReader(self.classes, type(self).__name__)
        return self._fit_targets(rows, (rows.n_rows, rows.n_features), reader, classes, _labels.GIVEN)

    def _fit_targets(
        self,
        X: Any,
        shape: tuple[int, int],
        targets: Any,
        classes: Any,
        source: str,
        persons: Persons | None = None,
    ) -> Self:
        """Fit checked rows and targets, and present the result."""
        if len(classes) > self._most_classes:
            raise ValueError(
                f"Only binary classification is supported. The target has {len(classes)} classes; "
                "use SparsePrivateLogisticRegression, or fit one class against the rest"
            )
        fitted, plan = self._solve(X, targets, class_loss(len(classes)), persons)
        counted, unit = counted_as(persons, shape[0])
        public = (self._size_in_words(counted, shape[1], unit), "the bounds of the features", source)
        self.classes_ = classes
        self.coef_ = fitted.coef
        self.intercept_ = fitted.intercept
        self.support_ = np.flatnonzero(np.any(fitted.coef != 0, axis=0))
        self._note_evidence(fitted)
        self._state(plan, public, counted, unit)
        return self

    decision_function = lazy_on_collections(LinearPredictions.decision_function)
    predict_proba = lazy_on_collections(LinearPredictions.predict_proba)

    @lazy_on_collections
    @documented
    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each row.

        {predicted}
        """
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    @documented
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        {scored}
        """
        predicted = np.asarray(self.predict(X))
        labels = _labels.read_labels(y, len(predicted), type(self).__name__)
        _labels.refuse_other_labels(labels, self.classes_)
        return float(np.average(labels == predicted, weights=sample_weight))


class BinaryClassifier(LinearClassifier):
    """A linear classifier for two classes only."""

    _most_classes = 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
