"""Additive models for experiments/additive.py, ours and others, seen alike: sums of one part for each variable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from additive_data import FloatArray, Table, Variable, design, indicators
from sklearn.linear_model import LogisticRegression

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.variables import Variables
from hardzero.reproduce.rows import Trial
from hardzero.schema.columns import Categorical, Numeric, Schema, Target

OURS, LINES, DEFAULT, TUNED = "hardzero", "hardzero, lines", "DP-EBM", "DP-EBM, tuned"
EBM, LOGISTIC = "EBM, not private", "logistic regression, not private"

FORMS = ("raw", "cuts", "nominal", "indicators")
"""In what form DP-EBM can get a table: numbers as they are, with their bounds, and categories as such; numbers as how
many of our public cut points they reach; the same as categories; categories as a column of 0 and 1 for each."""


@dataclass(frozen=True)
class Additive:
    """A fitted model: ``margin`` gives the log-odds of rows, ``parts`` what each variable adds to them.

    ``bands`` gives, where the model can tell, the centred curve at rows and its standard error, for each variable
    that it calls reliable, by its place.
    """

    margin: Callable[[FloatArray], FloatArray]
    parts: Callable[[FloatArray], FloatArray]
    bands: Callable[[FloatArray], dict[int, tuple[FloatArray, FloatArray]]] | None = None


def fit(trial: Trial, table: Table) -> Additive:
    """Fit the method that the trial names."""
    if trial.method in (OURS, LINES):
        return fit_ours(trial, table)
    if trial.method == LOGISTIC:
        return fit_logistic(table)
    return fit_boosting(trial, table)


def fit_ours(trial: Trial, table: Table) -> Additive:
    """Fit the main method, defaults: a column for each category; for numbers steps as schemas give them, or lines."""
    stepped = with_steps(table.variables) if trial.method == OURS else as_lines(table.variables)
    X, variables = our_design(stepped, table.X)
    model = SparsePrivateLogisticRegression(
        trial.epsilon, 1 / len(table.y), bounds=(-1, 1), classes=[0, 1], variables=variables,
        neighbours=trial.neighbours, random_state=trial.seed,
    ).fit(X, table.y)  # fmt: skip
    weights = np.split(np.ravel(model.coef_), np.cumsum([len(places) for places in variables.places])[:-1])

    def parts(X: FloatArray) -> FloatArray:
        return np.column_stack(
            [our_columns(v, X[:, j]) @ w for j, (v, w) in enumerate(zip(stepped, weights, strict=True))]
        )

    def bands(X: FloatArray) -> dict[int, tuple[FloatArray, FloatArray]]:
        told = {}
        for known in model.kept_variables_:
            j, features = variables.names.index(known.name), list(known.features)
            inside = np.array(features) - variables.places[j][0]
            away = our_columns(stepped[j], X[:, j])[:, inside] - known.mean
            if known.reliable:
                error = np.sqrt(np.einsum("ij,jk,ik->i", away, known.covariance, away))
                told[j] = away @ model.coef_[0, features], error
        return told

    return Additive(lambda X: parts(X).sum(axis=1) + float(model.intercept_[0]), parts, bands)


def with_steps(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Give numbers the cut points of `Schema.with_steps`, from their public bounds; yes and no need none."""
    numbers = [v for v in variables if not v.levels and not _is_flag(v)]
    columns = tuple(Numeric(v.name, v.lower, v.upper) for v in numbers) or (Categorical("none", ("a",)),)
    schema = Schema(columns, Target("y", ("0", "1"), "1")).with_steps()
    cuts = {column.name: column.cuts for column in schema.columns if isinstance(column, Numeric)}
    return tuple(replace(v, cuts=cuts.get(v.name, ())) for v in variables)


def as_lines(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Leave numbers as they are."""
    return tuple(replace(v, cuts=()) for v in variables)


def our_design(variables: Sequence[Variable], X: FloatArray) -> tuple[FloatArray, Variables]:
    """Put the columns of all variables side by side, and say which belong together."""
    columns = [our_columns(v, X[:, j]) for j, v in enumerate(variables)]
    owners = tuple(j for j, part in enumerate(columns) for _ in range(part.shape[1]))
    kinds = tuple("categories" if v.levels else "steps" if v.cuts else "number" for v in variables)
    return np.hstack(columns), Variables(tuple(v.name for v in variables), kinds, owners, (0,) * len(owners))


def our_columns(variable: Variable, column: FloatArray) -> FloatArray:
    """One column for each category or cut point; a number within its bounds, scaled, if it has none."""
    if variable.levels or variable.cuts:
        return indicators(variable, column)
    scale = max(abs(variable.lower), abs(variable.upper))
    return np.clip(column, variable.lower, variable.upper)[:, None] / scale


def _is_flag(variable: Variable) -> bool:
    return len(variable.cuts) == 1


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
