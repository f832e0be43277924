"""Every private estimator from rows to weights, and the evaluation of a model.

The record that is there or not has features far beyond their bounds and a class that the others speak against: it
moves sums as far as a record can, and shows whether it is clipped. Few other rows stand around it, because many
would hide it in a way on which no guarantee rests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..estimators import named
from ..evaluation import evaluate, fit_and_evaluate
from ..model import FittedModel
from ..privacy.budget import Budget
from ..privacy.randomness import FloatArray
from .case import Case, Claim

_EPSILON, _DELTA = 8.0, 1e-5
_FAR = 10.0
"""A feature of the record; the bounds are -1 and 1."""


class Table(NamedTuple):
    """Rows and what is to be predicted."""

    X: FloatArray
    y: FloatArray


@dataclass(frozen=True)
class Fit:
    """How an estimator is audited: its parameters, the rows around the record, and how many runs."""

    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    others: int = 5
    features: int = 1
    n_classes: int = 2
    neighbours: str = "add-remove"
    runs: int = 1500
    quick: int = 200
    note: str = ""

    @property
    def name(self) -> str:
        """The estimator, with what sets this case apart."""
        classes = f"-{self.n_classes}-classes" if self.n_classes > 2 else ""
        relation = "" if self.neighbours == "add-remove" else f"-{self.neighbours}"
        return f"{self.estimator}{classes}{relation}{self.note and f'-{self.note}'}"

    def tables(self) -> tuple[Table, Table]:
        """Return neighbouring tables: one row more, or under replace-one another row.

        Other rows all speak for one class, or, where there is only one, say nothing.
        """
        usual = 1 if self.others > 1 else 0
        X, y = np.full((self.others, self.features), float(usual)), np.full(self.others, usual)
        record = np.full((1, self.features), _FAR)
        having = Table(np.concatenate([X, record]), np.append(y, self._odd_target(usual)))
        if self.neighbours == "replace-one":
            return having._replace(X=np.concatenate([X, -record])), having
        return Table(X, y), having

    def _odd_target(self, usual: int) -> float:
        if self.n_classes:
            return 1 - usual
        return -_FAR if usual else _FAR

    def build(self, seed: int | None) -> Any:
        """Return the estimator, not yet fitted."""
        public = {"n_rows": self.others} if self.neighbours == "add-remove" else {}
        target: dict[str, Any] = {"classes": list(range(self.n_classes))}
        if self.n_classes == 0:
            target = {"target_bounds": (-1.0, 1.0)}
        return named(self.estimator)(
            epsilon=_EPSILON,
            delta=_DELTA,
            bounds=(-1.0, 1.0),
            neighbours=self.neighbours,
            random_state=seed,
            **public,
            **target,
            **self.parameters,
        )


_REFIT, _LASSO = "SparsePrivateLogisticRegression", "PrivateLassoLogisticRegression"
_SPARSIFIER = "SparsifierLogisticRegression"
FITS = (
    Fit(_REFIT),
    Fit(_REFIT, n_classes=3),
    Fit(_REFIT, neighbours="replace-one"),
    Fit(_REFIT, features=150, runs=800, quick=0, note="screened"),
    Fit(_LASSO, {"n_iter": 1}, others=1, features=2, runs=3000),
    Fit(_LASSO, {"n_iter": 3}, others=30, features=2, note="3-steps"),
    Fit(_LASSO, {"n_iter": 20}, note="20-steps"),
    Fit(_LASSO, {"n_iter": 3, "fit_intercept": True}, others=30, features=2, note="intercept"),
    Fit(_LASSO, {"n_iter": 1}, others=1, n_classes=3),
    Fit(_LASSO, {"n_iter": 3, "multinomial": "per-class"}, others=30, n_classes=3, note="per-class"),
    Fit(_LASSO, {"n_iter": 3}, others=30, neighbours="replace-one"),
    Fit(_LASSO, {"n_iter": 1, "calibration": "paper"}, others=1, note="published"),
    Fit(_SPARSIFIER, {"n_iter": 1}, others=1, features=2),
    Fit(_SPARSIFIER, {"n_iter": 1}, others=1, features=2, n_classes=3),
    Fit("PrivateLassoRegression", {"n_iter": 1}, others=1, n_classes=0, runs=3000),
    Fit("SparsifierRegression", {"n_iter": 1}, others=1, features=2, n_classes=0),
    Fit("TwoStageLogisticRegression", {"max_features": 1}, features=2, runs=1000, quick=100),
    Fit("PrivateADMMLogisticRegression", {"coupling": 1.0, "n_iter": 1}, others=1),
    Fit("PrivateIGHTLogisticRegression", {"n_iter": 3}, others=30),
    Fit("PrivateIGHTLogisticRegression", {"n_iter": 3}, others=30, n_classes=3),
    Fit("PrivateGreedyLogisticRegression", {"n_iter": 1}, others=1),
    Fit("PrivateGreedyLogisticRegression", {"n_iter": 5}, others=30, n_classes=3),
    Fit("DensePrivateLogisticRegression", {"n_iter": 3}, others=30),
    Fit("DensePrivateLogisticRegression", {"n_iter": 3}, others=30, n_classes=3),
    Fit("DensePrivateLogisticRegression", {"n_iter": 20}, others=30, runs=600, quick=0, note="20-steps"),
)
"""With parameters that let an audit see most: few features, and few steps where later ones hide the record."""


def estimator_cases() -> list[Case]:
    """Return a case for every private estimator, with two classes, several, or a number to predict.

    Privacy
    -------
    Data-independent.
    """
    return [fit_case(fit) for fit in FITS]


def fit_case(fit: Fit) -> Case:
    """Return the case of one fit; its claim is what the fitted estimator states.

    Privacy
    -------
    Data-independent.
    """
    tables = fit.tables()
    relation = "is replaced" if fit.neighbours == "replace-one" else "is there or not"
    about = f"weights from {len(tables[1].X)} rows, of which one beyond the bounds {relation}"
    statement = fit.build(0).fit(*tables[1]).privacy_
    claim = Claim(Budget(statement.epsilon, statement.delta), tuple(statement.events))
    return Case(fit.name, about, claim, tables, partial(_run_fit, fit=fit), fit.runs, fit.quick, "estimators")


def _run_fit(table: Table, seed: int | None, *, fit: Fit) -> FloatArray:
    return numbers_of(fit.build(seed).fit(*table))


def numbers_of(model: Any) -> FloatArray:
    """Return what a fitted estimator tells, as numbers.

    Privacy
    -------
    Post-processing.
    """
    told = getattr(model, "inference_", None)
    # Where a method tells how sure it is, it does so on either input or on none: that follows from its plan.
    return released_numbers(model.coef_, model.intercept_, () if told is None else told.standard_error)


def released_numbers(weights: Any, intercepts: Any, errors: Any = ()) -> FloatArray:
    """Return what a model tells, as numbers: weights, their signs and zeros, intercepts, standard errors.

    Privacy
    -------
    Post-processing.
    """
    flat = np.ravel(weights)
    signs = np.signbit(flat)  # of zeros too, which a comparison does not show
    sums = [np.count_nonzero(flat), flat.sum()]
    return np.concatenate([flat, signs, flat != 0, sums, np.ravel(intercepts), np.nan_to_num(np.ravel(errors))])


# --- How good a model is ------------------------------------------------------------------------------------------


def evaluation_cases() -> list[Case]:
    """Return cases for the evaluation of a model of two classes and of three, and for a fit with rows set aside.

    Privacy
    -------
    Data-independent.
    """
    return [_evaluation_case(2), _evaluation_case(3), _holdout_case()]


def _evaluation_case(n_classes: int) -> Case:
    fit = Fit("DensePrivateLogisticRegression", {"n_iter": 3}, n_classes=n_classes)
    tables = fit.tables()
    model = FittedModel.from_estimator(fit.build(0).fit(*tables[1]))
    run = partial(_run_evaluation, model=model, n_rows=fit.others)
    statement = evaluate(model, *tables[1], **_evaluation_terms(fit.others, 0)).privacy
    claim = Claim(Budget(statement.epsilon, statement.delta), tuple(statement.events))
    about = f"counts of {len(tables[1].X)} rows by class and probability, of which one is there or not"
    return Case(f"evaluate-{n_classes}-classes", about, claim, tables, run, 3000, 300, "evaluation")


def _evaluation_terms(n_rows: int, seed: int | None) -> dict[str, Any]:
    return {
        "epsilon": _EPSILON,
        "delta": _DELTA,
        "neighbours": "add-remove",
        "n_rows": n_rows,
        "random_state": seed,
    }


def _run_evaluation(table: Table, seed: int | None, *, model: FittedModel, n_rows: int) -> FloatArray:
    return _counts_of(evaluate(model, *table, **_evaluation_terms(n_rows, seed)))


def _counts_of(found: Any) -> FloatArray:
    return np.concatenate([np.ravel(counts) for counts in found.counts.values()])


def _holdout_case() -> Case:
    """Both parts together: a row is in one of them, and pays for that one alone."""
    fit = Fit("DensePrivateLogisticRegression", {"n_iter": 3}, others=30)
    about = "weights and counts with rows set aside, of which one is there or not"
    claim, run = Claim(Budget(_EPSILON, _DELTA), ()), partial(_run_holdout, fit=fit)
    return Case("fit-and-evaluate", about, claim, fit.tables(), run, 1000, 100, "evaluation")


def _run_holdout(table: Table, seed: int | None, *, fit: Fit) -> FloatArray:
    model, found = fit_and_evaluate(fit.build(seed), *table, holdout=0.5)
    return np.concatenate([numbers_of(model), _counts_of(found)])
