import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.privacy.budget import Budget, BudgetExceededError, Neighbours

budgets = st.builds(Budget, st.floats(0, 100), st.floats(0, 0.99))


@given(budgets, budgets, budgets)
def test_order_is_a_partial_order(a, b, c):
    assert a <= a
    assert (a <= b) == (b >= a)
    if a <= b <= a:
        assert a == b
    if a <= b and b <= c:
        assert a <= c


def test_order_is_not_total():
    assert not Budget(1.0, 1e-6) <= Budget(0.5, 1e-5)
    assert not Budget(1.0, 1e-6) >= Budget(0.5, 1e-5)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.nan, np.inf, -np.inf])
def test_epsilon_that_is_no_budget_is_refused_by_name(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        Budget.asked(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0, -0.1, 1, 1.5, np.nan, 1e-300, 5e-324])
def test_delta_outside_the_open_interval_is_refused_by_name(delta):
    with pytest.raises(ValueError, match="delta"):
        Budget.asked(1.0, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", 1e-5), (1.0, "small"), (True, 1e-5), (None, 1e-5)])
def test_what_is_no_number_is_a_type_error(epsilon, delta):
    with pytest.raises(TypeError, match="must be a number"):
        Budget.asked(epsilon, delta)


def test_numpy_numbers_are_numbers():
    assert Budget.asked(np.float32(0.5), np.float64(1e-5)) == Budget(0.5, 1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0.1), (float("nan"), 0.1), (1, 1.0), (1, -0.1)])
def test_impossible_budgets_cannot_be_made(epsilon, delta):
    with pytest.raises(ValueError, match="must"):
        Budget(epsilon, delta)


def test_relations_parse_and_count_contributions():
    assert Neighbours.parse("zero-out").contributions == 1
    assert Neighbours.parse("add-remove").contributions == 1
    assert Neighbours.parse("replace-one").contributions == 2
    assert Neighbours.parse(Neighbours.REPLACE_ONE) is Neighbours.REPLACE_ONE


@pytest.mark.parametrize("value", ["add/remove", "", None, 1])
def test_unknown_relation_lists_the_known_ones(value):
    with pytest.raises(ValueError, match="'zero-out' or 'replace-one' or 'add-remove'"):
        Neighbours.parse(value)


def test_exceeding_a_budget_is_an_error_of_its_own():
    assert issubclass(BudgetExceededError, RuntimeError)
