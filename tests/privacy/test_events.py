"""A contract that every event keeps."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.privacy import events
from hardzero.privacy.events import (
    GaussianRelease,
    NotPrivate,
    PerturbedMinimum,
    PureRelease,
    RandomStopping,
    Repeated,
    Selection,
)

EVENTS = [
    Selection(0.1),
    Selection(40.0),
    PureRelease("count", 0.05),
    PureRelease("count", 9.0),
    GaussianRelease("sum", 3.0),
    PerturbedMinimum("weights", 5.0, 0.1),
    RandomStopping("fits", 5.0, 10),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
@given(times=st.integers(1, 10_000))
def test_repetition_multiplies_every_cost(event, times):
    repeated = Repeated(event, times)
    assert repeated.cost.rho == times * event.cost.rho
    assert repeated.cost.shift == times * event.cost.shift
    assert repeated.cost.epsilon == times * event.cost.epsilon
    assert repeated.cost.tail == times * event.cost.tail
    assert str(times) in repeated.describe()


@pytest.mark.parametrize("event", [*EVENTS, NotPrivate("x"), Repeated(Selection(0.1), 3)])
def test_events_are_frozen_and_describe_themselves(event):
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.anything = 1
    assert event.describe()
    assert event.cost.rho > 0


def test_every_kind_of_event_is_under_contract():
    kinds = {type(event) for event in [*EVENTS, NotPrivate("x"), Repeated(Selection(0.1), 3)]}
    assert kinds == set(events.Event.__subclasses__())


def test_costs_are_the_theorems_constants():
    assert Selection(0.4).cost.rho == pytest.approx(0.4**2 / 8)
    assert PureRelease("x", 0.4).cost.rho == pytest.approx(0.4**2 / 2)
    assert GaussianRelease("x", 5.0).cost.rho == pytest.approx(1 / 50)
    assert math.isinf(GaussianRelease("x", 5.0).cost.epsilon)
    assert PerturbedMinimum("x", 5.0, 0.2).cost.rho == pytest.approx(1 / 50)
    assert PerturbedMinimum("x", 5.0, 0.2).cost.shift == pytest.approx(math.log(1.2) + math.sqrt(2 / math.pi) / 5)
    assert math.isinf(PerturbedMinimum("x", 5.0, 0.2).cost.epsilon)
    stopping = RandomStopping("x", 5.0, 10).cost
    assert (stopping.rho, stopping.tail) == pytest.approx((1 / 50, math.log(10)))
    assert stopping.shift == pytest.approx(4 * math.sqrt(math.log(10) / 50) - 2 / 50)
    assert math.isinf(stopping.epsilon)
    assert math.isinf(NotPrivate("x").cost.rho)
    assert math.isinf(NotPrivate("x").cost.epsilon)


def test_a_large_pure_cost_is_never_worse_than_itself():
    # D_α ≤ ε for all α, hence ε-DP is ε-zCDP too.
    assert Selection(40.0).cost.rho == 40.0
    assert PureRelease("x", 9.0).cost.rho == 9.0
