"""A search over candidates whose total budget is stated once: in the manner of scikit-learn's searches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from .. import checks
from ..backends.collections import is_collection
from ..estimators import _input
from ..estimators._labels import read_labels
from ..ledger.ledger import Ledger
from ..model.statement import warn_if_weak
from ..privacy.budget import Neighbours
from ..privacy.randomness import IntArray, source_for
from .assess import margins_of, places_of
from .holdout import coins, rows_of
from .tuning import Tuning, odds_of
from .tuning_candidates import candidates_of, scoring_of
from .tuning_run import branched
from .tuning_scores import class_points, number_points


class PrivateSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Tune a private estimator, or choose among several, within one budget that pays for everything.

    Rows are set aside by coins. Candidates are fitted to the others and scored on those set aside, so that a row pays
    for the fits or for the choice, never for both. With few candidates all are fitted and one is chosen by the
    exponential mechanism; with many a random number of candidates, drawn at random, is fitted, and the best by a
    noisy score is released. Scores are never shown.

    Tuning costs: every candidate has more noise than an untuned fit. ``advice_`` says how much, from public numbers
    alone; docs/tuning.md shows when that pays, which is seldom.

    Parameters
    ----------
    estimator : estimator, list or mapping
        A private estimator of hardzero, a list of them, or names and estimators. Budget, relation, seed and ledger
        are those of the search: none of them may set its own.
    param_grid : mapping or list of mappings, optional
        Lists of values by name of a parameter; every combination is a candidate.
    epsilon : float, default=1.0
        The whole budget of ``fit``: it pays for all fits and for the choice.
    delta : float, optional
        By default n^-1.5, where n is the public number of all rows.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        What the guarantee is about.
    n_rows : int, optional
        For add-remove: a public number of rows.
    scoring : {"accuracy", "brier", "squared-error"}, optional
        By what candidates are compared: right answers, the Brier score of all classes' probabilities, or for a number
        the squared error. By default accuracy, or squared-error for a number.
    strategy : {"auto", "all", "random-stopping"}, default="auto"
        Whether all candidates are fitted, or a random number of them; by default all if there are at most ten.
    mean_runs : int, optional
        For random stopping: how many fits there are on average; by default as many as candidates.
    holdout : float, default=0.2
        The probability with which a row is set aside for the choice.
    random_state : int, optional
        For tests only: a seeded search is stamped as not private.
    ledger : Ledger, optional
        Where the search is charged, as a whole and before a record is looked at.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen candidate, as it was fitted. Its ``privacy_`` is that of the whole search.
    best_params_ : dict
        What sets it apart from other candidates.
    best_name_ : str
        The same in words.
    best_index_ : int
        Its number among the candidates.
    n_candidates_ : int
        How many candidates there were; how many were tried is not told.
    privacy_ : PrivacyStatement
        What is guaranteed, for everything together; print it.
    advice_ : str
        What tuning cost in noise, from public numbers.

    Notes
    -----
    **Privacy.** Releases one fitted candidate and its number with (epsilon, delta)-DP under ``neighbours``. Standard
    errors and q-values of the chosen candidate do not know that it was chosen. In random stopping the running time
    tells about the number of runs. Proof: docs/proofs/tuning.md.

    Examples
    --------
    >>> import numpy as np
    >>> from hardzero import PrivateSearch, SparsePrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 30))
    >>> model = SparsePrivateLogisticRegression(bounds=(-1, 1), classes=[0, 1])
    >>> search = PrivateSearch(model, {"max_features": [1, 2]}, epsilon=2.0, random_state=0)
    >>> search.fit(X, (X[:, 2] > X[:, 5]).astype(int)).best_params_
    {'max_features': 2}
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        neighbours: str = "zero-out",
        n_rows: int | None = None,
        scoring: str | None = None,
        strategy: str = "auto",
        mean_runs: int | None = None,
        holdout: float = 0.2,
        random_state: int | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.n_rows = n_rows
        self.scoring = scoring
        self.strategy = strategy
        self.mean_runs = mean_runs
        self.holdout = holdout
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> Self:
        """Search, within the budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            All rows.
        y : array of shape (n_rows,)
            Labels, or numbers.

        Returns
        -------
        self : object
            The search, with ``best_estimator_``.

        Privacy
        -------
        Releases ``best_estimator_`` and which candidate it is; the guarantee is in ``privacy_``.
        """
        tuning = self.terms()
        if is_collection(X):
            raise TypeError("PrivateSearch needs all rows in one place, not in a Dask collection; give X.compute()")
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        if len(shape) != 2:
            raise ValueError(f"X must have rows and features, two axes, got {len(shape)}")
        source = source_for(self.random_state)
        chooser = branched(source)
        aside = coins(shape[0], tuning.holdout, source)
        split = tuning.split(int(np.sum(~aside)), int(np.sum(aside)))
        if tuning.ledger is not None:
            tuning.ledger.refuse_beyond(split.budget.epsilon, split.budget.delta)
        plan = tuning.plan(split, shape[1])
        target = self._read_target(tuning, y, shape[0])
        inside, outside = rows_of(X, ~aside), rows_of(X, aside)
        with tuning.charged(plan) as receipt:
            number, best = tuning.carried_out(
                plan,
                split,
                lambda estimator: estimator.fit(inside, target[~aside]),
                lambda estimator: _points(estimator, outside, target[aside], tuning.scoring),
                chooser,
            )
        self.privacy_ = tuning.settle(best, plan, split, shape[0], receipt)
        self.advice_ = self.privacy_.notes[-1]
        self.best_estimator_ = best
        self.best_index_ = number
        self.best_name_ = tuning.candidates[number].name
        self.best_params_ = dict(tuning.candidates[number].params)
        self.n_candidates_ = len(tuning.candidates)
        warn_if_weak(self.privacy_)
        return self

    def terms(self) -> Tuning:
        """Return what the search is about, checked: what others need to carry it out on rows of their own.

        Privacy
        -------
        Data-independent.
        """
        candidates = candidates_of(self.estimator, self.param_grid)
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise TypeError(f"ledger must be a Ledger(url, dataset), or None, got {self.ledger!r}")
        return Tuning(
            candidates,
            self.epsilon,
            self.delta,
            Neighbours.parse(self.neighbours),
            self.n_rows,
            scoring_of(candidates, self.scoring),
            odds_of(self.strategy, self.mean_runs, len(candidates)),
            checks.share("holdout", self.holdout),
            self.random_state,
            self.ledger,
        )

    @staticmethod
    def _read_target(tuning: Tuning, y: Any, n_rows: int) -> Any:
        if tuning.candidates[0].is_classifier:
            return read_labels(y, n_rows, "PrivateSearch")
        return _input.read_target(y, n_rows, "PrivateSearch")

    @property
    def classes_(self) -> Any:
        """The classes of the chosen candidate."""
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self._best().n_features_in_)

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: Any) -> Any:
        """Return what the chosen candidate predicts.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the chosen candidate's probabilities.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        return self._best().predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Return the chosen candidate's log odds.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        return self._best().decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Return how well the chosen candidate predicts other rows, by its own score.

        Privacy
        -------
        Not private: computed from the rows and targets given.
        """
        return float(self._best().score(X, y))

    def summary(self, feature_names: Any = None) -> str:
        """Return the chosen candidate's weights and the privacy statement of the whole, as text.

        Privacy
        -------
        Post-processing.
        """
        return str(self._best().summary(feature_names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        first = self.estimator
        if isinstance(first, list | tuple | dict) and len(first):
            first = next(iter(first.values() if isinstance(first, dict) else first))
        if hasattr(first, "__sklearn_tags__"):
            given = first.__sklearn_tags__()
            tags.estimator_type, tags.classifier_tags = given.estimator_type, given.classifier_tags
            tags.regressor_tags, tags.input_tags.sparse = given.regressor_tags, True
        return tags


def _points(estimator: Any, X: Any, target: Any, scoring: str) -> IntArray:
    model = estimator._released()
    margins = margins_of(model, X)
    if not model.is_classifier:
        return number_points(margins[:, 0], target, estimator.target_bounds)
    return class_points(margins, places_of(model, target, len(margins)), scoring)
