"""What a model file claims must follow from what it says was released."""

import json
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardzero import PrivateLassoLogisticRegression, SparsifierLogisticRegression
from hardzero.methods.private_lasso import _ACCOUNTANTS
from hardzero.model import FittedModel, ModelFileError
from hardzero.model.statement_json import _MOST_TIMES
from hardzero.privacy.accounting import spent
from hardzero.privacy.events import Event, GaussianRelease, PureRelease, Repeated, Selection

from ..models import EVENTS, made_up


def read(model, **parameters):
    content = json.loads(model.to_json())
    content["parameters"].update(parameters)
    return FittedModel.from_json(json.dumps(content))


@given(st.lists(EVENTS, min_size=1, max_size=3), st.floats(1e-9, 0.1))
@settings(max_examples=50)
def test_epsilon_may_not_be_less_than_the_events_cost(events, delta):
    cost = spent(events, delta).epsilon
    assume(cost > 0)  # so much noise may be hidden by delta alone, and nothing is less than 0
    for epsilon in (cost, 2 * cost):
        assert read(made_up(events=tuple(events), epsilon=epsilon, delta=delta)).privacy.epsilon == epsilon
    for epsilon in (1e-6 * cost, cost * (1 - 1e-6)):
        with pytest.raises(ModelFileError, match=r"privacy\.epsilon is less than the events cost"):
            read(made_up(events=tuple(events), epsilon=epsilon, delta=delta))


@pytest.mark.parametrize("order", [1, -1])
def test_files_whose_epsilon_was_found_by_zcdp_are_read(order):
    """As earlier versions wrote them, whatever the order of their events."""
    events = (Repeated(GaussianRelease("sums", 20.0), 30), Repeated(Selection(0.1), 30))[::order]
    epsilon = spent(events, 1e-6, "zcdp").epsilon
    assert spent(events, 1e-6).epsilon < 0.97 * epsilon
    assert read(made_up(events=events, epsilon=epsilon, delta=1e-6)).privacy.epsilon == epsilon


def test_a_smaller_delta_costs_more():
    events = (Repeated(GaussianRelease("sums", 10.0), 10),)
    epsilon = spent(events, 1e-6).epsilon
    read(made_up(events=events, epsilon=epsilon, delta=1e-6))
    with pytest.raises(ModelFileError, match="less than the events cost"):
        read(made_up(events=events, epsilon=epsilon, delta=1e-9))
    with pytest.raises(ModelFileError, match="less than the events cost"):
        read(made_up(events=events, epsilon=epsilon, delta=0.0))


def test_pure_releases_need_no_delta():
    read(made_up(events=(PureRelease("count", 0.5), Selection(0.5)), epsilon=1.0, delta=0.0))
    with pytest.raises(ModelFileError, match="less than the events cost"):
        read(made_up(events=(PureRelease("count", 0.5), Selection(0.6)), epsilon=1.0, delta=0.0))


def test_something_must_have_been_released():
    content = json.loads(made_up().to_json())
    content["privacy"]["events"] = []
    with pytest.raises(ModelFileError, match=r"privacy\.events must not be empty"):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize("estimator", [PrivateLassoLogisticRegression, SparsifierLogisticRegression])
@pytest.mark.parametrize("calibration", list(_ACCOUNTANTS))
def test_every_calibration_can_be_written_and_read(binary_task, estimator, calibration):
    X, y = binary_task
    fitted = estimator(epsilon=1.0, bounds=(-1, 1), classes=[0, 1], n_iter=20, calibration=calibration).fit(X, y)
    model = FittedModel.from_estimator(fitted)
    assert FittedModel.from_json(model.to_json()).privacy.epsilon == fitted.privacy_.epsilon
    for share in (0.5, 0.999):
        content = json.loads(model.to_json())
        content["privacy"]["epsilon"] *= share
        with pytest.raises(ModelFileError, match="less than the events cost"):
            FittedModel.from_json(json.dumps(content))


def test_every_calibration_with_its_own_accountant_is_known():
    assert set(_MOST_TIMES) == {name for name, accountant in _ACCOUNTANTS.items() if accountant != "zcdp"}


def test_a_file_cannot_ask_for_work_without_end():
    events = (Repeated(Selection(1e-9), 10**15),)
    cost = spent(events, 1e-6).epsilon
    assert math.isfinite(cost)
    for calibration in ("recursion", "paper", ["recursion"], None):
        with pytest.raises(ModelFileError, match="less than the events cost"):
            read(made_up(events=events, epsilon=0.9 * cost), calibration=calibration)


@pytest.mark.parametrize("n_rows", [None, 1, 20_000])
def test_the_number_of_rows_survives(n_rows):
    assert read(made_up(n_rows=n_rows)).privacy.n_rows == n_rows


@pytest.mark.parametrize("n_rows", [0, -1, 2.5, True, "many"])
def test_a_number_of_rows_that_is_none_is_refused(n_rows):
    content = json.loads(made_up().to_json())
    content["privacy"]["n_rows"] = n_rows
    with pytest.raises(ModelFileError, match=r"privacy\.n_rows must be"):
        FittedModel.from_json(json.dumps(content))


def test_files_of_version_1_are_read_as_strictly():
    content = json.loads(made_up(n_rows=500).to_json())
    content["version"] = 1
    del content["inference"], content["privacy"]["ledger"], content["privacy"]["unit"]
    for feature in content["features"]:
        del feature["cut"]
    with pytest.raises(ModelFileError, match=r"privacy\.n_rows is not a field"):
        FittedModel.from_json(json.dumps(content))
    del content["privacy"]["n_rows"]
    assert FittedModel.from_json(json.dumps(content)) == made_up()
    content["version"] = 2
    with pytest.raises(ModelFileError, match=r"privacy\.n_rows is missing"):
        FittedModel.from_json(json.dumps(content))


def test_files_of_version_5_know_of_no_persons_and_of_version_4_of_no_ledger():
    content = json.loads(made_up().to_json())
    content["version"] = 5
    with pytest.raises(ModelFileError, match=r"privacy\.unit is not a field"):
        FittedModel.from_json(json.dumps(content))
    del content["privacy"]["unit"]
    assert FittedModel.from_json(json.dumps(content)) == made_up()
    content["version"] = 4
    with pytest.raises(ModelFileError, match=r"privacy\.ledger is not a field"):
        FittedModel.from_json(json.dumps(content))
    del content["privacy"]["ledger"]
    assert FittedModel.from_json(json.dumps(content)) == made_up()


@pytest.mark.parametrize("unit", ["people", None, 1, ["row"]])
def test_a_unit_is_a_row_or_a_person(unit):
    content = json.loads(made_up().to_json())
    content["privacy"]["unit"] = unit
    with pytest.raises(ModelFileError, match=r"privacy\.unit must be row or person"):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("receipt", "problem"),
    [
        ({}, r"privacy\.ledger\.dataset is missing"),
        ({"dataset": "people", "number": 0, "hash": "a" * 64}, r"privacy\.ledger\.number must be at least 1"),
        ({"dataset": "people", "number": 2, "hash": "a" * 63}, r"privacy\.ledger\.hash must have 64 digits"),
        ({"dataset": 3, "number": 2, "hash": "a" * 64}, r"privacy\.ledger\.dataset must be text"),
        ({"dataset": "people", "number": 2, "hash": "a" * 64, "url": ""}, r"privacy\.ledger\.url is not a field"),
    ],
)
def test_an_entry_of_a_ledger_is_read_strictly(receipt, problem):
    content = json.loads(made_up().to_json())
    content["privacy"]["ledger"] = receipt
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize("kind", ["Event", "Cost", "Unheard"])
def test_a_file_may_name_every_event_of_the_core_and_nothing_else(kind):
    content = json.loads(made_up().to_json())
    content["privacy"]["events"][0]["kind"] = kind
    with pytest.raises(ModelFileError) as refusal:
        FittedModel.from_json(json.dumps(content))
    known = sorted(event.__name__ for event in Event.__subclasses__())
    assert str(refusal.value) == f"privacy.events[0].kind is unknown; known are {', '.join(known)}"
