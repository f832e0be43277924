"""What all estimators share: reading tables with public bounds, and presenting released weights."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernels
from ..backends.collections import Collection, is_collection
from ..data.bounded import BoundedData, Bounds, FloatArray
from ..data.persons import Persons
from ..data.stacked import StackedData
from ..ledger.units import Unit
from ..model.prediction import linear_margins
from ..model.statement import PrivacyStatement, warn_if_weak
from ..optim import progress
from ..optim.descent import descent_unit, refuse_more_rows
from ..optim.frank_wolfe import Weights
from ..optim.losses import Loss
from ..optim.problem import AnyProblem, Problem, ScatteredProblem
from . import MODULES, _input, named
from ._persons import counted_as, read_persons
from ._scattered import KeptRows, scattered_problem

if TYPE_CHECKING:
    from ..model import FittedModel


@dataclass(frozen=True)
class Shape:
    """The public facts that a plan may depend on; ``n_rows`` is the number of persons where these are the unit."""

    n_rows: int
    n_features: int
    loss: Loss
    unit: Unit = "row"


def _refuse_constants(bounds: Bounds) -> None:
    """Refuse bounds between which there is nothing to learn from."""
    if np.all(bounds.lower == bounds.upper):
        raise ValueError(
            "bounds have no width for any feature, lower being upper: all rows look alike between them; give pairs "
            "(lower, upper) known without looking at the data, such as (0, 1)"
        )


def _without_constants(weights: Weights, bounds: Bounds) -> Weights:
    """Count what features of one possible value add for a part of the intercept: their own weights are noise."""
    constant = bounds.lower == bounds.upper
    added = weights.coef[:, constant] @ bounds.lower[constant]
    return replace(weights, coef=np.where(constant, 0.0, weights.coef), intercept=weights.intercept + added)


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
        _refuse_constants(bounds)
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
        return _without_constants(weights.divided_by(bounds.scale), bounds), plan

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
