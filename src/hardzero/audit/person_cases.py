"""All rows of one person, there or not; and a search over candidates, of which the chosen one is released."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..evaluation.search import PrivateSearch
from ..privacy.budget import Budget
from ..privacy.randomness import FloatArray
from .case import Case, Claim
from .estimator_cases import Fit, Table, numbers_of

_ROWS = 20
"""Of the person who is there or not; the others have one each."""
_SEARCHES = {"all": None, "random-stopping": 2}


def person_cases() -> list[Case]:
    """Return cases for the estimators that protect persons with many rows.

    Privacy
    -------
    Data-independent.
    """
    fits = (
        Fit("SparsePrivateLogisticRegression", note="persons"),
        Fit("SparsePrivateLogisticRegression", n_classes=3, note="persons"),
        Fit("PrivateLassoLogisticRegression", {"n_iter": 1, "max_rows_per_person": 3}, others=1, note="persons"),
    )
    return [_person_case(fit) for fit in fits]


def _person_case(fit: Fit) -> Case:
    without, having = fit.tables()
    rows = np.append(np.arange(fit.others), np.full(_ROWS, fit.others))  # the record, once for each row of its person
    inputs = (without, np.arange(fit.others)), (Table(having.X[rows], having.y[rows]), rows)
    statement = _fitted(inputs[1], fit, 0).privacy_
    claim = Claim(Budget(statement.epsilon, statement.delta), tuple(statement.events))
    about = f"weights from the rows of {fit.others + 1} persons, of whom one with {_ROWS} rows is there or not"
    return Case(fit.name, about, claim, inputs, partial(_run_persons, fit=fit), fit.runs, fit.quick, "persons")


def _fitted(people: tuple[Table, Any], fit: Fit, seed: int | None) -> Any:
    table, groups = people
    return fit.build(seed).fit(*table, groups=groups)


def _run_persons(people: tuple[Table, Any], seed: int | None, *, fit: Fit) -> FloatArray:
    return numbers_of(_fitted(people, fit, seed))


def search_cases() -> list[Case]:
    """Return cases for searches that fit all candidates, and a random number of them.

    Privacy
    -------
    Data-independent.
    """
    return [_search_case(strategy) for strategy in _SEARCHES]


def _search_case(strategy: str) -> Case:
    """Two candidates, of one step and of three."""
    fit = Fit("DensePrivateLogisticRegression", others=40)  # so that neither part is empty
    tables = fit.tables()
    statement = _search(fit, strategy, 0).fit(*tables[1]).privacy_
    claim = Claim(Budget(statement.epsilon, statement.delta), ())  # of rows for the fits and rows for the choice
    about = f"weights of the chosen candidate from {len(tables[1].X)} rows, of which one is there or not"
    run = partial(_run_search, fit=fit, strategy=strategy)
    return Case(f"PrivateSearch-{strategy}", about, claim, tables, run, 1000, 100, "tuning")


def _search(fit: Fit, strategy: str, seed: int | None) -> PrivateSearch:
    built = fit.build(None)
    free = {name: built.get_params()[name] for name in ("bounds", "classes")}
    return PrivateSearch(
        type(built)(**free),
        {"n_iter": [1, 3]},
        epsilon=built.epsilon,
        delta=built.delta,
        neighbours=fit.neighbours,
        n_rows=fit.others,
        strategy=strategy,
        mean_runs=_SEARCHES[strategy],
        holdout=0.5,
        random_state=seed,
    )


def _run_search(table: Table, seed: int | None, *, fit: Fit, strategy: str) -> FloatArray:
    found = _search(fit, strategy, seed).fit(*table)
    return np.append(numbers_of(found.best_estimator_), found.best_index_)
