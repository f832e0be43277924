"""Additive models for experiments/additive.py, ours and others, seen alike: sums of one part for each variable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from additive_data import FloatArray, Table, Variable, design, indicators
from sklearn.linear_model import LogisticRegression

from hardzero import SparsePrivateLogisticRegression
from hardzero.reproduce.trials import Trial

OURS, DEFAULT, TUNED = "hardzero", "DP-EBM", "DP-EBM, tuned"
EBM, LOGISTIC = "EBM, not private", "logistic regression, not private"

FORMS = ("raw", "cuts", "nominal", "indicators")
"""In what form DP-EBM can get a table: numbers as they are, with their bounds, and categories as such; numbers as how
many of our public cut points they reach; the same as categories; categories as a column of 0 and 1 for each."""


@dataclass(frozen=True)
class Additive:
    """A fitted model: ``margin`` gives the log-odds of rows, ``parts`` what each variable adds to them."""

    margin: Callable[[FloatArray], FloatArray]
    parts: Callable[[FloatArray], FloatArray]


def fit(trial: Trial, table: Table) -> Additive:
    """Fit the method that the trial names."""
    if trial.method == OURS:
        return fit_ours(trial, table)
    if trial.method == LOGISTIC:
        return fit_logistic(table)
    return fit_boosting(trial, table)


def fit_ours(trial: Trial, table: Table) -> Additive:
    """Fit the main method, defaults, on cumulative steps at public cut points and one column for each category."""
    X, labels = design(table.variables, table.X)
    model = SparsePrivateLogisticRegression(
        trial.epsilon, 1 / len(table.y), bounds=(0, 1), classes=[0, 1], variables=labels,
        neighbours=trial.neighbours, random_state=trial.seed,
    )  # fmt: skip
    return _linear(table.variables, model.fit(X, table.y))


def fit_logistic(table: Table) -> Additive:
    """Fit logistic regression on the same columns, with scikit-learn's default ridge."""
    X, _ = design(table.variables, table.X)
    return _linear(table.variables, LogisticRegression(max_iter=1_000).fit(X, table.y))


def _linear(variables: Sequence[Variable], model: Any) -> Additive:
    coef = np.ravel(model.coef_)
    ends = np.cumsum([variable.levels or len(variable.cuts) for variable in variables])
    weights = np.split(coef, ends[:-1])

    def parts(X: FloatArray) -> FloatArray:
        return np.column_stack(
            [indicators(v, X[:, j]) @ w for j, (v, w) in enumerate(zip(variables, weights, strict=True))]
        )

    return Additive(lambda X: parts(X).sum(axis=1) + float(np.ravel(model.intercept_)[0]), parts)


@dataclass(frozen=True)
class Form:
    """A table as boosting gets it: columns, their types and bounds, and the variable of each column."""

    types: list[str]
    bounds: FloatArray
    owner: list[int]
    columns: Callable[[FloatArray], FloatArray]


def form_of(name: str, variables: Sequence[Variable]) -> Form:
    """Turn variables into the columns of one of the FORMS; only what is public about them is looked at."""
    types: list[str] = []
    bounds: list[tuple[float, float]] = []
    owner: list[int] = []
    makers: list[Callable[[FloatArray], FloatArray]] = []
    for place, variable in enumerate(variables):
        if variable.levels and name == "indicators":
            makers.append(lambda column, v=variable: indicators(v, column).astype(np.float64))
            kinds, limits = ["continuous"] * variable.levels, (0.0, 1.0)
        elif variable.levels:
            makers.append(lambda column: column[:, None])
            kinds, limits = ["nominal"], (0.0, float(variable.levels))
        elif name in ("cuts", "nominal"):
            makers.append(lambda column, v=variable: np.searchsorted(v.cuts, column, side="right")[:, None] + 0.0)
            kinds, limits = ["nominal" if name == "nominal" else "continuous"], (0.0, float(len(variable.cuts)))
        else:
            makers.append(lambda column, v=variable: np.clip(column, v.lower, v.upper)[:, None])
            kinds, limits = ["continuous"], (variable.lower, variable.upper)
        types += kinds
        bounds += [limits] * len(kinds)
        owner += [place] * len(kinds)
    return Form(types, np.array(bounds), owner, lambda X: np.hstack([make(X[:, j]) for j, make in enumerate(makers)]))


def fit_boosting(trial: Trial, table: Table) -> Additive:
    """Fit DP-EBM, with everything public given to it, or an EBM of main effects without privacy."""
    # Here, because all else, the report too, does without the package interpret.
    from interpret.glassbox import ExplainableBoostingClassifier  # noqa: PLC0415
    from interpret.privacy import DPExplainableBoostingClassifier  # noqa: PLC0415

    settings: dict[str, Any] = dict(trial.parameters)
    form = form_of(settings.pop("form", "raw"), table.variables)
    common: Mapping[str, Any] = {"feature_types": form.types, "n_jobs": 1, "random_state": trial.seed}
    if trial.method == EBM:
        model = ExplainableBoostingClassifier(**common, interactions=0)
    else:
        model = DPExplainableBoostingClassifier(
            **common, **settings, epsilon=trial.epsilon, delta=1 / len(table.y), privacy_bounds=form.bounds
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fixed seed, which two runs alike need
        model.fit(form.columns(table.X), table.y)

    def parts(X: FloatArray) -> FloatArray:
        terms = model.eval_terms(form.columns(X))
        result = np.zeros((len(X), len(table.variables)))
        for (column,), part in zip(model.term_features_, terms.T, strict=True):
            result[:, form.owner[column]] += part
        return result

    return Additive(lambda X: np.ravel(model.decision_function(form.columns(X))), parts)
