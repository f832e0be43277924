"""An evaluation from beginning to end: rows and labels in, figures with intervals out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from .. import checks
from ..data.bounded import MAX_ROWS, FloatArray
from ..data.canonical import canonical_sparse
from ..data.persons import Persons
from ..estimators._labels import encode_labels, read_labels
from ..estimators._persons import counted_as, read_persons, refuse_unequal
from ..ledger.ledger import Ledger
from ..ledger.receipt import Receipt
from ..ledger.units import Unit
from ..methods.plans import default_delta
from ..model import FittedModel
from ..model.evaluation import Evaluation, EvaluationStatement, fingerprint_of
from ..model.matrix import matrix_of
from ..model.prediction import within_reach
from ..privacy.budget import Budget, Neighbours
from ..privacy.randomness import IntArray, source_for
from .histogram import EvaluationPlan, noisy_counts, plan_evaluation
from .metrics import of_more_classes, of_two_classes

_ABOUT: dict[Unit, str] = {
    "row": "It is about the rows of the table that was evaluated, one row being one record.",
    "person": "It is about the persons in the table that was evaluated, all rows of one being one record.",
}


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    neighbours: str = "zero-out",
    n_rows: int | None = None,
    random_state: int | None = None,
    ledger: Ledger | None = None,
    groups: Any = None,
) -> Evaluation:
    """Tell how good a model is on rows of a table, under a guarantee for these rows.

    One histogram of predicted probability and class is released with Gaussian noise; everything else is computed
    from it. The bins depend on public numbers alone.

    Parameters
    ----------
    model : FittedModel or fitted classifier of hardzero
        What to evaluate. It must be released or public already.
    X : array, data frame or sparse matrix of shape (n_rows, n_features)
        Rows that the model was not fitted to, in the features' own units; for a model with a schema what its
        ``encode`` makes of a table.
    y : array of shape (n_rows,)
        The true class of each row.
    epsilon : float
        What the evaluation may cost each row.
    delta : float, optional
        By default n_rows^-1.5.
    neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
        Which tables are to be hard to tell apart.
    n_rows : int, optional
        For "add-remove": a public number of rows, or of persons, in place of the true one.
    random_state : int, optional
        For tests only: a seeded evaluation is not private.
    ledger : Ledger, optional
        Where the evaluation is charged: its cost is reserved before a row is counted, or refused.
    groups : array of shape (n_rows,), optional
        Whose row each row is, where persons have several: the guarantee is then about all rows of a person together,
        and every person counts as one row. Needed for a model whose schema says which column knows.

    Returns
    -------
    Evaluation
        Metrics, curves and the privacy statement.

    Privacy
    -------
    Releases noisy counts: (ε, δ)-differential privacy for each row, or each person, under the relation. On rows
    that the model was fitted to, the costs of both add up. Proof: docs/proofs/evaluation.md.
    """
    file = model if isinstance(model, FittedModel) else FittedModel.from_estimator(model)
    refuse_regression(file)
    relation = Neighbours.parse(neighbours)
    persons = persons_of(file, groups)
    margins = margins_of(file, X)
    refuse_unequal(persons, len(margins), y)
    counted, unit = counted_as(persons, len(margins))
    plan = planned(file, public_rows(relation, n_rows, counted), epsilon, delta, relation)
    with charged(plan, ledger, random_state, unit):
        return assessed(file, margins, places_of(file, y, len(margins)), plan, random_state, persons)


def persons_of(model: FittedModel, groups: Any) -> Persons | None:
    """Return whose rows they are, if that was said, or refuse that it was not where the model's schema knows.

    Privacy
    -------
    Sensitive. Messages show no identifier.
    """
    if groups is None and model.schema is not None and model.schema.person is not None:
        raise ValueError(
            f"the model's schema says whose row each row is, by the column {model.schema.person!r}; give that column "
            "as groups=…, so that all rows of a person are protected together"
        )
    return None if groups is None else read_persons(groups)


def charged(
    plan: EvaluationPlan, ledger: Ledger | None, random_state: int | None, unit: Unit = "row"
) -> AbstractContextManager[Receipt | None]:
    """Charge a planned evaluation to a ledger while it is carried out, if there is one.

    Privacy
    -------
    Data-independent.
    """
    if ledger is None:
        return nullcontext()
    seeded = random_state is not None
    return ledger.charged(plan.events, plan.spent, plan.neighbours, what="an evaluation", seeded=seeded, unit=unit)


def planned(
    model: FittedModel, n_rows: int, epsilon: float, delta: float | None, relation: Neighbours
) -> EvaluationPlan:
    """Plan the evaluation of a model: what it costs is known before a row is counted.

    Privacy
    -------
    Data-independent: ``n_rows`` is the public number.
    """
    budget = Budget.asked(epsilon, default_delta(n_rows) if delta is None else delta)
    return plan_evaluation(n_rows, len(model.classes), budget, relation)


def refuse_regression(model: FittedModel) -> None:
    """Refuse a model of a number.

    Privacy
    -------
    Data-independent.
    """
    if not model.is_classifier:
        raise no_evaluation_of(model.method)


def no_evaluation_of(method: str) -> TypeError:
    """Return the error that says that what a method fits cannot be evaluated.

    Privacy
    -------
    Data-independent.
    """
    return TypeError(f"{method} predicts a number; only models that tell classes apart can be evaluated")


def public_rows(relation: Neighbours, stated: int | None, counted: int) -> int:
    """Return the number of rows that the plan may know.

    Privacy
    -------
    Under add-remove the stated number, else the counted one, which is published.
    """
    if counted == 0:
        raise ValueError("there are no rows to evaluate on")
    if relation is not Neighbours.ADD_REMOVE:
        if stated is not None:
            raise ValueError(f"n_rows goes with neighbours='add-remove'; with {relation.value!r} leave it out")
        return checks.whole_within("the number of rows", counted, 1, MAX_ROWS)
    if stated is None:
        raise ValueError("neighbours='add-remove' needs n_rows=…, a number known without counting the table")
    checks.whole_within("the number of rows", counted, 1, MAX_ROWS)
    return checks.whole_within("n_rows", stated, 1, MAX_ROWS)


def margins_of(model: FittedModel, X: Any) -> FloatArray:
    """Return each row's margins, one for each row of weights, to the same bits whatever rows stand around it.

    A product of matrices would not do: how it rounds may depend on where in the table a row is, and a record could
    move the bins of others.

    Privacy
    -------
    Sensitive: each row's margins depend on that row and the model alone.
    """
    encoded = model.schema is not None
    rows = matrix_of(X, [feature.name for feature in model.features], encoded=encoded)
    weights = np.array(model.coef_scaled) if encoded else model.coef_original
    margins = np.tile(np.array(model.intercept_scaled) if encoded else model.intercept_original, (rows.shape[0], 1))
    is_sparse = sparse.issparse(rows)
    columns = canonical_sparse(rows).tocsc() if is_sparse else rows
    with np.errstate(over="ignore", invalid="ignore"):
        for j in np.flatnonzero(np.any(weights != 0, axis=0)):
            if is_sparse:
                part = slice(*columns.indptr[j : j + 2])
                margins[columns.indices[part]] += columns.data[part, None].astype(np.float64) * weights[:, j]
            else:
                margins += columns[:, j, None].astype(np.float64) * weights[:, j]
    return within_reach(margins)


def places_of(model: FittedModel, y: Any, n_rows: int) -> IntArray:
    """Return each label's place among the model's classes.

    Privacy
    -------
    Sensitive. Messages show no label.
    """
    encoded = encode_labels(read_labels(y, n_rows, "evaluate"), list(model.classes), required=True)
    return np.argsort(model.classes)[encoded.places].astype(np.int64)


def assessed(
    model: FittedModel,
    margins: FloatArray,
    places: IntArray,
    plan: EvaluationPlan,
    random_state: int | None,
    persons: Persons | None = None,
) -> Evaluation:
    """Release the counts of a plan that is paid for, and say what they mean.

    Parameters
    ----------
    model : FittedModel
        What is evaluated.
    margins, places : array
        From `margins_of` and `places_of`.
    plan : EvaluationPlan
        Made from public numbers; what it costs is known before a row is counted.
    random_state : int or None
        The seed of a test run.
    persons : Persons or None
        Whose rows they are; each is a person's only one by default.

    Privacy
    -------
    Releases noisy counts at the cost of the plan.
    """
    source = source_for(random_state)
    counts = noisy_counts(margins, places, plan, source, persons)
    n_classes, bins = plan.n_classes, plan.bins
    if n_classes == 2:
        found = of_two_classes(counts, bins, plan.noise, plan.rows)
        released = {"by_class": counts.reshape(2, -1).tolist()}
    else:
        found = of_more_classes(counts, n_classes, bins, plan.noise, plan.rows)
        released = {
            "confusion": counts[: n_classes**2].reshape(n_classes, n_classes).tolist(),
            "true_class": counts[n_classes**2 :].tolist(),
        }
    return Evaluation(
        fingerprint_of(model),
        model.classes,
        found.metrics,
        found.confusion,
        found.roc,
        found.calibration,
        released,
        tuple(bins.edges.tolist()),
        plan.noise,
        statement_of(model, plan, seeded=not source.is_private, unit="row" if persons is None else "person"),
    )


def statement_of(
    model: FittedModel, plan: EvaluationPlan, *, seeded: bool, unit: Unit = "row"
) -> EvaluationStatement:
    """Return what an evaluation guarantees.

    Privacy
    -------
    Data-independent.
    """
    if plan.rows is None:
        size = f"the stated number of {unit}s ({plan.n_rows}); the true number is protected"
    else:
        size = f"the number of {unit}s ({plan.n_rows})"
        if model.schema is not None and model.schema.missing == "drop":
            size += ", which are those left after rows with missing values were dropped"
    return EvaluationStatement(
        plan.spent.epsilon,
        plan.spent.delta,
        plan.neighbours,
        plan.events,
        ("the model, its classes, and how a row becomes its features", size),
        seeded=seeded,
        notes=(_ABOUT[unit],),
        n_rows=plan.n_rows,
        unit=unit,
    )
