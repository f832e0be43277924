"""Evaluations are charged to the ledger that fits are charged to."""

import numpy as np
import pytest

from hardzero import Budget, BudgetExceededError, Ledger, SparsePrivateLogisticRegression
from hardzero.evaluation import evaluate, fit_and_evaluate


@pytest.fixture
def rows():
    X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    return X, (X[:, 0] > 0).astype(int)


def model(**options):
    return SparsePrivateLogisticRegression(bounds=(-1, 1), classes=[0, 1], random_state=0, **options)


def spend(times, fitted, rows, ledger):
    for _ in range(times):
        evaluate(fitted, *rows, epsilon=0.2, ledger=ledger, random_state=0)


def test_an_evaluation_is_reserved_and_committed_until_nothing_is_left(rows, tmp_path):
    pytest.importorskip("sqlalchemy")
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(0.25, 1e-3))
    fitted = model().fit(*rows)
    spend(1, fitted, rows, ledger)
    assert [entry.values["kind"] for entry in ledger.entries()] == ["created", "reserved", "committed"]
    assert ledger.entries()[1].values["what"] == "an evaluation"
    with pytest.raises(BudgetExceededError):
        spend(9, fitted, rows, ledger)  # together they cost less than one by one, but not nothing
    assert ledger.verify() == []


def test_rows_that_are_set_aside_do_not_go_with_a_ledger(rows, tmp_path):
    pytest.importorskip("sqlalchemy")
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(5.0, 1e-3))
    with pytest.raises(ValueError, match="does not go with rows that are set aside"):
        fit_and_evaluate(model(ledger=ledger), *rows)
