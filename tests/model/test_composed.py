"""Statements of fits whose schema has released bounds: what all costs together, and nothing left out."""

import dataclasses
import json

import numpy as np
import pytest

from hardzero import (
    Budget,
    FittedModel,
    LassoLogisticRegression,
    Neighbours,
    PrivateLassoLogisticRegression,
    PrivateSearch,
    SparsePrivateLogisticRegression,
)
from hardzero.bounds.grid import Grid
from hardzero.bounds.release import plan_bounds
from hardzero.evaluation.tuning_plan import plan_tuning
from hardzero.methods.private_lasso import plan_lasso
from hardzero.model import ModelFileError
from hardzero.model.composed import bounds_event, with_released_bounds
from hardzero.privacy import accounting
from hardzero.privacy.events import GaussianRelease, NotPrivate
from hardzero.report import render_report
from hardzero.schema import Numeric, Schema, SchemaError, Target
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.released import BoundsCharge

NOISE = 20.0
COST = accounting.spent((GaussianRelease("", NOISE),), 1e-6).epsilon
CHARGE = BoundsCharge(("age",), COST, 1e-6, "zero-out", NOISE, 500, False, ("people", 3, "ab" * 32))


def schema_with(*charges):
    return Schema((Numeric("age", 0, 100), Numeric("debt", 0, 10)), Target("y", ("no", "yes"), "yes"), bounds=charges)


def fitted(kind=SparsePrivateLogisticRegression, groups=None, **options):
    rng = np.random.default_rng(0)
    table = {"age": rng.uniform(0, 100, 500), "debt": rng.uniform(0, 10, 500)}
    encoder = SchemaEncoder(schema_with())
    X = encoder.transform(table)
    y = np.where(table["age"] > 50, "yes", "no")
    return kind(bounds=encoder.bounds, classes=["no", "yes"], **options).fit(
        X, y, **({} if groups is None else {"groups": groups})
    )


@pytest.fixture(scope="module")
def estimator():
    return fitted(epsilon=1.0, delta=1e-6)


def test_a_guarantee_for_persons_never_counts_bounds_that_single_rows_were_charged_for():
    persons = fitted(epsilon=1.0, delta=1e-6, groups=np.arange(500) // 20)
    assert persons.privacy_.unit == "person"
    with pytest.raises(SchemaError, match="guarantee for persons"):
        FittedModel.from_estimator(persons, schema_with(CHARGE))
    alone = FittedModel.from_estimator(persons, schema_with())
    claimed = json.loads(alone.to_json())
    claimed["schema"] = schema_with(CHARGE).to_dict()
    with pytest.raises(ModelFileError, match="bounds"):
        FittedModel.from_json(json.dumps(claimed))


@pytest.mark.parametrize("steps", [3, 10])
def test_with_bounds_rows_that_chose_in_a_search_are_promised_what_they_pay(steps):
    """By itself a choice costs less than the fits. Beside bounds, and to the last digit, it may cost more."""
    noise = 1 / accounting.most_within(Budget(5.0, 1e-6), lambda x: (GaussianRelease("", 1 / x),), 1.0)
    charge = dataclasses.replace(CHARGE, noise=noise, epsilon=5.0)
    encoder, rng = SchemaEncoder(schema_with()), np.random.default_rng(0)
    table = {"age": rng.uniform(0, 100, 500), "debt": rng.uniform(0, 10, 500)}
    lasso = PrivateLassoLogisticRegression(n_iter=steps, bounds=encoder.bounds, classes=["no", "yes"])
    search = PrivateSearch(lasso, {"radius": [1.0, 2.0]}, epsilon=1.0, delta=1e-6)
    search.fit(encoder.transform(table), np.where(table["age"] > 50, "yes", "no"))
    budget, relation = Budget(1.0, 1e-6), Neighbours.ZERO_OUT
    fits = [lambda epsilon: plan_lasso(Budget(epsilon, 1e-6), relation, "tight", steps).events] * 2
    choice = plan_tuning(budget, relation, fits, None).choice
    bounds = bounds_event(1, noise)
    model = FittedModel.from_estimator(search.best_estimator_, schema_with(charge))
    pays = [accounting.spent((bounds, *part), 1e-6).epsilon for part in (search.privacy_.events, (choice,))]
    assert pays[0] < pays[1] == model.privacy.epsilon
    assert FittedModel.from_json(model.to_json()).privacy == model.privacy


def test_the_statement_is_that_of_both_together(estimator):
    alone = FittedModel.from_estimator(estimator, schema_with()).privacy
    model = FittedModel.from_estimator(estimator, schema_with(CHARGE))
    both = model.privacy
    assert both.events == (bounds_event(1, NOISE), *alone.events)
    assert both.epsilon == accounting.spent(both.events, alone.delta).epsilon
    assert alone.epsilon < both.epsilon < alone.epsilon + CHARGE.epsilon
    assert both.delta == alone.delta
    words = repr(both)
    assert "Bounds of 'age' are not public: they were released from 500 rows with" in words
    assert "entry 3 of the data set 'people'" in words
    assert f"This fit alone costs ({alone.epsilon:.4g}, 1e-06)" in words
    assert "if the same people are in both tables" in words
    assert FittedModel.from_json(model.to_json()) == model
    assert "Bounds of &#39;age&#39; are not public" in render_report(model)


def test_without_released_bounds_nothing_changes(estimator):
    statement = estimator.privacy_
    assert with_released_bounds(statement, None) is statement
    assert with_released_bounds(statement, schema_with()) is statement


def test_every_release_is_added(estimator):
    once, twice = (
        with_released_bounds(estimator.privacy_, schema_with(*charges)) for charges in ([CHARGE], [CHARGE, CHARGE])
    )
    assert once.epsilon < twice.epsilon


def test_bounds_from_a_seed_spoil_the_guarantee(estimator):
    seeded = dataclasses.replace(CHARGE, seeded=True)
    assert not FittedModel.from_estimator(estimator, schema_with(seeded)).privacy.is_private


def test_a_fit_without_privacy_stays_without(estimator):
    model = FittedModel.from_estimator(fitted(LassoLogisticRegression), schema_with(CHARGE))
    assert not model.privacy.is_private
    assert isinstance(model.privacy.events[-1], NotPrivate)


def test_guarantees_of_two_relations_are_not_added(estimator):
    other = dataclasses.replace(CHARGE, neighbours="replace-one")
    with pytest.raises(SchemaError, match="two relations do not add up; use replace-one neighbours here as well"):
        FittedModel.from_estimator(estimator, schema_with(other))


def test_a_charge_that_states_less_than_it_cost_is_refused(estimator):
    with pytest.raises(SchemaError, match="less than the release cost"):
        FittedModel.from_estimator(estimator, schema_with(dataclasses.replace(CHARGE, epsilon=COST / 2)))


@pytest.mark.parametrize("hidden", ["events", "seeded"])
def test_a_file_that_leaves_out_what_bounds_cost_is_refused(estimator, hidden):
    charge = dataclasses.replace(CHARGE, seeded=hidden == "seeded")
    content = json.loads(FittedModel.from_estimator(estimator, schema_with(charge)).to_json())
    if hidden == "events":
        del content["privacy"]["events"][0]
    else:
        content["privacy"] |= {"seeded": False, "is_private": True}
    with pytest.raises(ModelFileError, match="leaves out what the schema says that its bounds cost"):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize(("epsilon", "total"), [(0.1, 1.007), (0.5, 1.14)])
def test_the_documented_totals(epsilon, total):
    """What docs/bounds.md says of bounds beside a fit at ε = 1."""
    X = np.random.default_rng(0).uniform(-1, 1, (10_000, 20))
    model = SparsePrivateLogisticRegression(1.0, bounds=(-1, 1), classes=[False, True]).fit(X, X[:, 0] > 0)
    plan = plan_bounds(10_000, [Grid(0, 1)], Budget(epsilon, model.privacy_.delta), Neighbours.ZERO_OUT)
    charge = BoundsCharge(("age",), plan.spent.epsilon, plan.spent.delta, "zero-out", plan.multiple, 10_000)
    assert with_released_bounds(model.privacy_, schema_with(charge)).epsilon == pytest.approx(total, rel=1e-3)
