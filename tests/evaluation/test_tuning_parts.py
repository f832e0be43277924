"""What a search is made of: scores that a row moves little, plans within their budget; and an audit of both ways."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import beta

from hardzero.evaluation import tuning_run
from hardzero.evaluation.tuning_plan import plan_tuning
from hardzero.evaluation.tuning_scores import POINTS, class_points, number_points, total_points
from hardzero.ledger.filters import cost_of
from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import GaussianRelease, PureRelease, RandomStopping, Repeated, Selection
from hardzero.privacy.mechanisms import Sensitive
from hardzero.privacy.randomness import SeededSource

MARGINS = st.floats(-1e30, 1e30) | st.floats(-5, 5)


def table(outputs):
    return st.integers(2, 6).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.float64, (n, outputs), elements=MARGINS),
            hnp.arrays(np.int64, n, elements=st.integers(0, max(outputs - 1, 1))),
        )
    )


@pytest.mark.parametrize("scoring", ["accuracy", "brier"])
@pytest.mark.parametrize("outputs", [1, 3])
@given(data=st.data())
def test_one_row_moves_a_total_by_no_more_than_its_points(scoring, outputs, data):
    """There or not, or exchanged for another; each candidate has margins of its own."""
    both = [data.draw(table(outputs)) for _ in range(2)]
    points = [class_points(*one, scoring) for one in both]
    assert all(np.all((each >= 0) & (each <= POINTS)) for each in points)
    whole = total_points(points)._secret
    for at in range(len(points[0])):
        without = total_points([np.delete(points[0], at), points[1]])._secret
        assert np.all(np.abs(whole - without) <= POINTS)
        for other in points[1]:
            exchanged = points[0].copy()
            exchanged[at] = other
            assert np.all(np.abs(whole - total_points([exchanged, points[1]])._secret) <= POINTS)


@pytest.mark.parametrize("scoring", ["accuracy", "brier"])
@pytest.mark.parametrize("outputs", [1, 3])
@given(data=st.data())
def test_a_rows_points_do_not_depend_on_the_rows_around_it(scoring, outputs, data):
    margins, places = data.draw(table(outputs))
    together = class_points(margins, places, scoring)
    alone = [class_points(margins[[i]], places[[i]], scoring)[0] for i in range(len(places))]
    assert together.tolist() == alone


@given(
    predicted=hnp.arrays(np.float64, 5, elements=MARGINS),
    target=hnp.arrays(np.float64, 5, elements=st.floats(-100, 100)),
)
def test_points_of_numbers_are_within_their_range(predicted, target):
    points = number_points(predicted, target, (-3.0, 7.0))
    assert np.all((points >= 0) & (points <= POINTS))
    assert number_points(np.clip(target, -3, 7), target, (-3.0, 7.0)).tolist() == [POINTS] * 5
    assert number_points(np.array([-1e9]), np.array([1e9]), (-3.0, 7.0)).tolist() == [0]


def test_points_are_what_they_are_called():
    margins, places = np.array([[2.0], [-2.0], [0.0], [0.0]]), np.array([1, 1, 0, 1])
    assert class_points(margins, places, "accuracy").tolist() == [POINTS, 0, POINTS, 0]  # a tie is the first class
    p = 1 / (1 + math.exp(-2))
    expected = [round(POINTS * (1 - (1 - chance) ** 2)) for chance in (p, 1 - p, 0.5, 0.5)]
    assert class_points(margins, places, "brier").tolist() == expected


def gaussian(epsilon):
    """A candidate whose fit is one Gaussian release."""
    square = accounting.most_within(
        Budget(epsilon, 1e-5), lambda square: [GaussianRelease("x", square**-0.5)], epsilon**2 / 20
    )
    return (GaussianRelease("a sum", square**-0.5),)


def choosing(epsilon):
    """One that selects many times."""
    return (Repeated(Selection(accounting.selection_eta(Budget(epsilon, 1e-5), 50)), 50), *gaussian(epsilon / 4))


def counting(epsilon):
    return (PureRelease("a count", epsilon),)


BUDGET = Budget(1.0, 1e-5)
CANDIDATES = pytest.mark.parametrize(
    "candidates", [(gaussian,) * 2, (gaussian,) * 9, (choosing, gaussian), (counting, counting, choosing)]
)


@CANDIDATES
@pytest.mark.parametrize("odds", [None, 2, 20])
def test_a_plan_keeps_within_its_budget_and_uses_it(candidates, odds):
    plan = plan_tuning(BUDGET, Neighbours.ZERO_OUT, candidates, odds)
    assert plan.spent <= BUDGET
    assert plan.spent.epsilon > 0.99
    assert accounting.spent(plan.events, BUDGET.delta) <= BUDGET
    assert len(plan.told) == len(candidates)
    assert plan.untuned > 1
    if odds is None:
        released = [event for candidate, told in zip(candidates, plan.told, strict=True) for event in candidate(told)]
        assert list(plan.events) == released
        return
    assert plan.events == (plan.choice,)
    for candidate, told in zip(candidates, plan.told, strict=True):
        assert sum(event.cost.rho for event in candidate(told)) <= 1 / (2 * plan.choice.noise**2)
    assert tuning_run.score_noise(plan.choice) >= plan.choice.noise * POINTS


@CANDIDATES
def test_the_choice_costs_no_more_than_the_fits_by_any_measure(candidates):
    plan = plan_tuning(BUDGET, Neighbours.ZERO_OUT, candidates, None)
    assert all(one <= other for one, other in zip(cost_of([plan.choice]), cost_of(plan.events), strict=True))
    assert accounting.spent([plan.choice], BUDGET.delta) <= BUDGET


class TestAudit:
    """What 500 searches on each of two neighbouring tables say about ε, with 99.9 % confidence.

    The record chooses: two candidates do equally well without it, and it is right with the second alone. Or it is
    fitted to: the first candidate's fit is a noisy sum in which it counts, and scores are the better the larger the
    sum is.
    """

    SEARCHES = 500

    def plan(self, odds):
        return plan_tuning(Budget(1.0, 1e-3), Neighbours.ZERO_OUT, (gaussian, gaussian), odds)

    def outcomes(self, plan, present, fitted_to):
        """For each search whether a tell-tale event happens."""
        source = SeededSource(int(present) + 7)
        noise = gaussian(plan.told[0])[0].noise

        def fit(number, seed):
            if not fitted_to:
                return number, 0.0
            total = Sensitive(np.array([POINTS * (present and number == 0)]))
            return number, mechanisms.gaussian(total, math.ceil(noise * POINTS), SeededSource(seed))[0] / POINTS

        def score(found):
            number, total = found
            if fitted_to:
                return np.full(100, POINTS if total > noise / 2 else 0)
            right = [*range(20), 20] if present and number == 1 else range(20)
            return np.full(len(right), POINTS)

        found = [tuning_run.searched(plan, fit, score, source)[1] for _ in range(self.SEARCHES)]
        return np.array([total > noise / 2 if fitted_to else number == 1 for number, total in found])

    def epsilon_at_least(self, plan, fitted_to):
        """The largest ε, by Clopper and Pearson, that some event and direction refute; δ is taken off."""
        counts = [int(self.outcomes(plan, present, fitted_to).sum()) for present in (False, True)]
        found, n, error = 0.0, self.SEARCHES, 0.001 / 4
        for one, two in (counts, counts[::-1], [n - c for c in counts], [n - c for c in counts[::-1]]):
            low = beta.ppf(error / 2, one, n - one + 1) if one else 0.0
            high = beta.isf(error / 2, two + 1, n - two) if two < n else 1.0
            if low > plan.budget.delta:
                found = max(found, math.log((low - plan.budget.delta) / high))
        return found

    @pytest.mark.parametrize("odds", [None, 4])
    @pytest.mark.parametrize("fitted_to", [False, True])
    def test_no_event_refutes_the_guarantee(self, odds, fitted_to):
        assert self.epsilon_at_least(self.plan(odds), fitted_to) <= 1.0

    @pytest.mark.parametrize(("odds", "mechanism"), [(None, "select"), (12, "gaussian")])
    def test_scores_without_noise_are_caught(self, odds, mechanism, monkeypatch):
        twins = {
            "select": lambda scores, *_: int(np.argmax(scores._secret)),
            "gaussian": lambda values, *_: values._secret,
        }
        monkeypatch.setattr(mechanisms, mechanism, twins[mechanism])
        assert self.epsilon_at_least(self.plan(odds), fitted_to=False) > 1.0


def test_random_stopping_is_an_event_that_says_what_it_is():
    told = RandomStopping("fits", 7.0, 12).describe()
    assert "12 on average" in told
    assert "7 sensitivities" in told
