"""What all estimators share: reading tables with public bounds, and presenting released weights."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import checks, kernels
from ..backends.collections import Collection, is_collection, lazy_on_collections
from ..data.bounded import BoundedData, Bounds, FloatArray, Table
from ..data.persons import Persons
from ..data.stacked import StackedData
from ..ledger.units import Unit
from ..model.prediction import LinearPredictions, linear_margins
from ..model.statement import PrivacyStatement, warn_if_weak
from ..optim import progress
from ..optim.descent import descent_unit, refuse_more_rows
from ..optim.frank_wolfe import Weights
from ..optim.losses import Loss, Squared
from ..optim.problem import AnyProblem, Problem, ScatteredProblem
from . import MODULES, _input, _labels, named
from ._parameters import documented
from ._persons import counted_as, read_persons, refuse_unequal
from ._scattered import ClassReader, KeptRows, NumberReader, class_loss, class_targets, scattered_problem

if TYPE_CHECKING:
    from ..model import FittedModel


@dataclass(frozen=True)
class Shape:
    """The public facts that a plan may depend on; ``n_rows`` is the number of persons where these are the unit."""

    n_rows: int
    n_features: int
    loss: Loss
    unit: Unit = "row"


class _Linear(BaseEstimator, abc.ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """Prediction from ``coef_`` and ``intercept_``, and their presentation."""

    bounds: Any
    _takes_collections = False
    _takes_persons = False

    @abc.abstractmethod
    def _plan(self, shape: Shape) -> Any:
        """Check parameters and decide everything that does not need the data."""

    @abc.abstractmethod
    def _run(self, problem: Any, plan: Any) -> Weights:
        """Fit as planned."""

    @abc.abstractmethod
    def _public_rows(self, counted: int) -> int:
        """Return the number of rows that everything may depend on: the one counted, where it is public."""

    @abc.abstractmethod
    def _size_in_words(self, counted: int, features: int, unit: Unit = "row") -> str:
        """Say which numbers of rows, or of persons, and of features are taken for public."""

    @abc.abstractmethod
    def _statement(
        self, plan: Any, assumed_public: tuple[str, ...], n_rows: int, unit: Unit = "row"
    ) -> PrivacyStatement:
        """Say what was guaranteed."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _solve(self, X: Any, targets: Any, loss: Loss, persons: Persons | None = None) -> tuple[Weights, Any]:
        """Plan before the records are looked at, then run: weights by original units, and the plan."""
        rows_there, features = X.shape if hasattr(X, "shape") else (X.n_rows, X.n_features)
        counted, unit = counted_as(persons, rows_there)
        bounds = Bounds.parse(self.bounds, features)
        rows = self._public_rows(counted)
        refuse_more_rows(counted, descent_unit(rows))  # in all places together; one rule for all methods
        plan = self._plan(Shape(rows, features, loss, unit))
        kernels.say_what_is_missing()
        progress.begin(sum(getattr(event, "times", 1) for event in getattr(plan, "events", ())))
        with (
            kernels.using_threads(self._threads()),
            self._charged(plan, unit),
            self._problem(X, targets, loss, bounds, rows, persons) as problem,
        ):
            weights = self._run(problem, plan)
        return weights.divided_by(bounds.scale), plan

    def _threads(self) -> int | None:
        """Return how many threads a fit may use; None leaves that to the environment."""
        return None

    def _problem(
        self, X: Any, targets: Any, loss: Loss, bounds: Bounds, n_rows: int, persons: Persons | None = None
    ) -> AbstractContextManager[AnyProblem]:
        """Return what is to be learnt, its rows here or, as long as they are needed, on a cluster."""
        if isinstance(X, KeptRows):
            return nullcontext(ScatteredProblem(X.rows, loss, n_rows, X.n_features))
        if isinstance(X, Collection):
            return scattered_problem(X, targets, loss, bounds, n_rows)
        data = X if isinstance(X, (BoundedData, StackedData)) else BoundedData.from_matrix(X, bounds)
        return nullcontext(Problem(data, targets, loss, stated_rows=n_rows, persons=persons))

    def _note_scaled(self, n_features: int, feature_names: Sequence[str] | None) -> None:
        """Take note of rows that are scaled to their bounds already."""
        bounds = Bounds.parse(self.bounds, n_features)
        if not (np.all(bounds.lower == -1) and np.all(bounds.upper == 1)):
            raise ValueError(f"bounds must be (-1, 1) for a table that is scaled to them, got {self.bounds!r}")
        self.n_features_in_ = n_features
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)

    def _refuse_scattered(self) -> None:
        """Refuse rows in several places, unless the method needs no more than sums over them."""
        if not self._takes_collections:
            able = ", ".join(name for name in MODULES if named(name)._takes_collections)
            raise TypeError(
                f"{type(self).__name__} needs all rows in one place, not in a Dask collection; give X.compute() and "
                f"y.compute(), or use one of {able}"
            )

    def _persons(self, X: Any, groups: Any) -> Persons | None:
        """Return whose rows they are, if that was said."""
        if groups is None:
            return None
        if not self._takes_persons:
            able = " or ".join(name for name in MODULES if named(name)._takes_persons)
            raise TypeError(
                f"{type(self).__name__} protects single rows and takes no groups; for all rows of a person together "
                f"use {able}, or give one row of each person"
            )
        if is_collection(X) or is_collection(groups):
            raise TypeError(
                "groups need all rows in one place, not in a Dask collection, whose parts may each have rows of one "
                "person; give X.compute(), y.compute() and groups.compute()"
            )
        return read_persons(groups)

    def _collected(self, X: Any, y: Any) -> Collection:
        """Return the parts of Dask collections."""
        self._refuse_scattered()
        collection = Collection.of(X, y)
        self._checked(collection.empty, collection.empty, reset=True)
        return collection

    def _checked(self, X: Any, rows: Any, *, reset: bool) -> Any:
        """Let scikit-learn compare names and number of features; it sees a frame's columns or an array of numbers."""
        validate_data(self, X if hasattr(X, "columns") else rows, reset=reset, skip_check_array=True)
        return rows

    def _state(self, plan: Any, assumed_public: tuple[str, ...], counted: int, unit: Unit = "row") -> None:
        """Say what was guaranteed and spent, and warn where that is little or comes on top of other fits."""
        self.privacy_ = self._statement(plan, assumed_public, self._public_rows(counted), unit)
        warn_if_weak(self.privacy_)
        self._note_fit(self.privacy_.epsilon, self.privacy_.delta)

    def _look_ahead(self, X: Any, persons: Persons | None = None) -> None:
        """Refuse what no budget is left for, before a record is looked at; nothing, unless a class says otherwise."""

    def _charged(self, plan: Any, unit: Unit) -> AbstractContextManager[None]:
        """Charge a plan to a ledger while it is carried out; to none, unless a class says otherwise."""
        return nullcontext()

    def _note_fit(self, epsilon: float, delta: float) -> None:
        """Take note of what a fit has spent; nothing, unless a class says otherwise."""

    def _note_evidence(self, fitted: Weights) -> None:
        """Keep what is known about how sure the weights are; nothing, unless a class says otherwise."""

    def _margins(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = self._checked(X, _input.finite_rows(X), reset=False)
        return linear_margins(X, np.atleast_2d(self.coef_), self.intercept_)

    @property
    def _repr_html_(self) -> Any:
        """What notebooks show; not there when scikit-learn is told to display text."""
        shown = super()._repr_html_
        return self._html_of_fit if hasattr(self, "privacy_") else shown

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        if not hasattr(self, "privacy_") or not hasattr(self, "_repr_html_"):
            return super()._repr_mimebundle_(**options)  # type: ignore[no-any-return]
        return {"text/plain": repr(self), "text/html": self._html_of_fit()}

    def _html_of_fit(self) -> str:
        from ..report.notebook import fragment  # noqa: PLC0415 - only notebooks need it

        return fragment(self._released())

    def _released(self, feature_names: Sequence[str] | None = None) -> FittedModel:
        """What the model file would hold, not yet read back: a display does not need that."""
        from ..model.file import FittedModel  # noqa: PLC0415 - fits do not need it
        from ..model.source import parts_of  # noqa: PLC0415

        return FittedModel(**parts_of(self, feature_names=feature_names))

    def summary(self, feature_names: Any = None) -> str:
        """Return the nonzero weights, largest change first, and the privacy statement, as text.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names for columns that had none when fitting, such as those of a sparse matrix.

        Returns
        -------
        str
            For each kept feature its weight in the feature's own unit and, for classifiers, two odds ratios: the
            factor by which the odds change when the feature grows by one unit, and from its lower to its upper bound.
            For a regression, how much the prediction changes from the lower to the upper bound. Where the fit can
            tell how sure its weights are, reliable features come first, with 95 % intervals, and those that cannot be
            told from noise stand apart.

        Privacy
        -------
        Post-processing.
        """
        check_is_fitted(self)
        from ..model.presentation import summary  # noqa: PLC0415 - fits do not need it

        return summary(self._released(feature_names))


class LinearClassifier(ClassifierMixin, _Linear, LinearPredictions):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear classifier: binary with one row of weights, multinomial with one for each class."""

    classes: Any
    _most_classes = math.inf
    _states_classes = False

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


class LinearRegressor(RegressorMixin, _Linear):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear model of a bounded number."""

    target_bounds: Any
    radius: Any

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
