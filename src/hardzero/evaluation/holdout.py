"""Some rows set aside before a fit, and the model evaluated on them: both together cost what the dearer one costs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..data.persons import Persons
from ..estimators._persons import names_of, read_persons, refuse_unequal
from ..methods.plans import default_delta
from ..model import FittedModel
from ..model.evaluation import Evaluation
from ..model.statement import PrivacyStatement
from ..privacy.budget import Budget, Neighbours
from ..privacy.randomness import Source, source_for
from .assess import assessed, margins_of, no_evaluation_of, places_of, planned, public_rows

_COIN = 2**64


@dataclasses.dataclass(frozen=True)
class Split:
    """How rows and budget are divided: each row by its own coin, the budget not at all.

    Attributes
    ----------
    share : float
        The probability with which a row is set aside for the evaluation.
    budget : Budget
        What the fit and the evaluation may cost, each.
    fitted, evaluated : int
        Public numbers of rows of both parts.

    Privacy
    -------
    Data-independent.
    """

    share: float
    budget: Budget
    fitted: int
    evaluated: int

    @classmethod
    def between(cls, share: float, epsilon: float, delta: float | None, n_rows: tuple[int, int] | int) -> Split:
        """Divide rows; a stated number of all rows is divided by the share, and counted parts are as they are.

        Parameters
        ----------
        share : float
            The probability of being set aside.
        epsilon, delta : float
            The budget; δ is by default the number of all rows to the power of -1.5.
        n_rows : int or pair of int
            A stated number of all rows; or how many rows the coins gave to each part, which no record has to do with.

        Privacy
        -------
        Data-independent.
        """
        if isinstance(n_rows, tuple):
            parts = n_rows
        else:
            parts = max(round(n_rows * (1 - share)), 1), max(round(n_rows * share), 1)
        if min(parts) == 0:
            raise ValueError("holdout leaves no rows to fit to, or none to evaluate on; use more rows")
        return cls(share, Budget.asked(epsilon, default_delta(sum(parts)) if delta is None else delta), *parts)


def coins(n_rows: int, share: float, source: Source) -> NDArray[np.bool_]:
    """Return for each row whether it is set aside, with probability ``share``, whatever the rows hold.

    Privacy
    -------
    Data-independent.
    """
    return source.words(n_rows) < np.uint64(int(share * _COIN))


def tossed(
    persons: Persons | None, n_rows: int, share: float, source: Source
) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """Return for each row whether it is set aside, one coin for all rows of a person, and how many each part has.

    Privacy
    -------
    The numbers, of rows or of persons, are public as far as their sum is: coins depend on nothing.
    """
    if persons is None:
        aside = coins(n_rows, share, source)
        return aside, (int(np.sum(~aside)), int(np.sum(aside)))
    coin = coins(persons.count, share, source)
    return coin[persons.numbers], (int(np.sum(~coin)), int(np.sum(coin)))


def with_note(found: Evaluation, fit: PrivacyStatement, share: float) -> Evaluation:
    """Return an evaluation whose statement says what it and the fit cost together.

    Privacy
    -------
    Post-processing.
    """
    unit = found.privacy.unit
    note = (
        f"The model was fitted to other {unit}s of the same table: each {unit} was in one part only, by a coin of "
        f"probability {share:g}. Fit and evaluation together cost a {unit} what the dearer one costs: "
        f"({max(fit.epsilon, found.privacy.epsilon):.4g}, {max(fit.delta, found.privacy.delta):.3g})."
    )
    return dataclasses.replace(found, privacy=dataclasses.replace(found.privacy, notes=(*found.privacy.notes, note)))


NO_LEDGER = (
    "does not go with rows that are set aside: it adds up what it is told, and would charge them twice; fit with it, "
    "and evaluate with it on other rows"
)


def fit_and_evaluate(
    estimator: Any, X: Any, y: Any, *, holdout: float = 0.2, groups: Any = None
) -> tuple[Any, Evaluation]:
    """Set rows aside, fit to the others, and evaluate on those set aside.

    Each row is in one part only, so that the evaluation costs nothing on top: a row pays for the fit or for the
    evaluation, at most ``estimator.epsilon`` and δ either way.

    Parameters
    ----------
    estimator : private classifier of hardzero
        Its budget, relation, public number of rows and seed hold for both parts. It is left as it is.
    X : array, data frame or sparse matrix of shape (n_rows, n_features)
        All rows.
    y : array of shape (n_rows,)
        Their classes.
    holdout : float, default=0.2
        The probability with which a row is set aside.
    groups : array of shape (n_rows,), optional
        Whose row each row is, where persons have several: all rows of a person are then in the same part.

    Returns
    -------
    estimator
        A new one, fitted to the rows that were not set aside.
    Evaluation
        How good it is on those that were.

    Privacy
    -------
    Releases a model and noisy counts, with (ε, δ)-differential privacy for each row, or each person, for both
    together. Proof: docs/proofs/evaluation.md.
    """
    checks.share("holdout", holdout)
    parameters = estimator.get_params(deep=False)
    if "epsilon" not in parameters:
        raise TypeError(f"{type(estimator).__name__} is not private; fit it and use evaluate on other rows")
    if "classes" not in parameters:
        raise no_evaluation_of(type(estimator).__name__)
    if parameters["ledger"] is not None:
        raise ValueError(f"ledger {NO_LEDGER}")
    relation = Neighbours.parse(parameters["neighbours"])
    seed = parameters["random_state"]
    labels, names = np.asarray(y), None if groups is None else names_of(groups)
    persons = None if groups is None else read_persons(groups)
    refuse_unequal(persons, len(labels), labels)
    aside, counted = tossed(persons, len(labels), holdout, source_for(seed))
    stated = parameters["n_rows"]
    public_rows(relation, stated, sum(counted))
    split = Split.between(holdout, parameters["epsilon"], parameters["delta"], stated or counted)
    changed = {"delta": split.budget.delta, "n_rows": None if stated is None else split.fitted}
    fitted = type(estimator)(**{**parameters, **changed})
    fitted.fit(rows_of(X, ~aside), labels[~aside], groups=None if names is None else names[~aside])
    model = FittedModel.from_estimator(fitted)
    margins = margins_of(model, rows_of(X, aside))
    plan = planned(model, split.evaluated, split.budget.epsilon, split.budget.delta, relation)
    tested = None if names is None else read_persons(names[aside])
    found = assessed(model, margins, places_of(model, labels[aside], len(margins)), plan, seed, tested)
    return fitted, with_note(found, model.privacy, holdout)


def rows_of(X: Any, chosen: NDArray[np.bool_]) -> Any:
    """Return some rows of a matrix or a frame.

    Privacy
    -------
    Sensitive: raw rows.
    """
    places = np.flatnonzero(chosen)
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "tocsr"):
        return X.tocsr()[places]
    return X[places] if hasattr(X, "shape") else np.asarray(X)[places]
