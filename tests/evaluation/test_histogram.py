"""What one row can move, what noise is added, and faults that these tests notice."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from hardzero.data.bounded import MAX_ROWS
from hardzero.evaluation.bins import Bins
from hardzero.evaluation.histogram import ROW, counted_rows, counts_of_a_row, noisy_counts, plan_evaluation, size_of
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.mechanisms import Sensitive
from hardzero.privacy.randomness import SeededSource

RELATIONS = pytest.mark.parametrize("relation", list(Neighbours))
BUDGET = Budget(0.7, 1e-5)


def plan_for(n_classes, relation=Neighbours.ZERO_OUT, n_rows=300, budget=BUDGET):
    return plan_evaluation(n_rows, n_classes, budget, relation)


@st.composite
def tables(draw):
    """Margins on and beside edges, and classes."""
    n_classes = draw(st.integers(2, 4))
    n_rows = draw(st.integers(1, 12))
    special = [*Bins(6).margins.tolist(), -1e30, 1e30, 5e-324]
    number = st.one_of(st.sampled_from(special), st.floats(-20, 20))
    outputs = 1 if n_classes == 2 else n_classes
    margins = draw(st.lists(st.lists(number, min_size=outputs, max_size=outputs), min_size=n_rows, max_size=n_rows))
    places = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    return n_classes, np.array(margins), np.array(places)


def counts(rows, places, plan, count=counted_rows):
    return count(rows, places, plan)._secret


def charged(plan):
    """How far apart neighbours' counts may be: the noise over what the event says."""
    return plan.sigma / plan.events[0].noise


def apart(count, table, other, chosen, relation):
    """How far counts of a table are from those of its neighbour, and what is charged for that."""
    n_classes, margins, places = table
    plan = plan_for(n_classes, relation)
    without = np.arange(len(places)) != chosen
    left, left_places = margins[without], places[without]
    if relation is Neighbours.REPLACE_ONE:
        left, left_places = np.vstack([left, other[0]]), np.append(left_places, other[1])
    difference = counts(margins, places, plan, count) - counts(left, left_places, plan, count)
    return math.dist(difference, np.zeros(len(difference))), charged(plan)


@given(tables(), st.data())
@settings(max_examples=150, deadline=None)
@RELATIONS
def test_neighbours_counts_are_no_further_apart_than_is_charged(relation, table, data):
    n_classes, margins, places = table
    chosen = data.draw(st.integers(0, len(places) - 1))
    other = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=margins.shape[1], max_size=margins.shape[1])))
    label = data.draw(st.integers(0, n_classes - 1))
    distance, allowed = apart(counted_rows, table, (other, label), chosen, relation)
    assert distance <= allowed


def test_the_bound_is_reached():
    """Nothing is charged for naught: a row that moves to another count moves by all that is charged."""
    margins, places = np.array([[-5.0], [3.0]]), np.array([0, 1])
    for relation in Neighbours:
        distance, allowed = apart(counted_rows, (2, margins, places), (np.array([5.0]), 0), 1, relation)
        assert distance == pytest.approx(allowed, rel=1e-4)


class TestTwins:
    """Plausible faults of the counting, each beyond what is charged for some neighbours."""

    @staticmethod
    def furthest(count, n_classes=2):
        rng = np.random.default_rng(4)
        worst = 0.0
        for _ in range(40):
            table = (n_classes, rng.normal(0, 2, (12, 1)), rng.integers(0, 2, 12))
            distance, allowed = apart(count, table, None, 3, Neighbours.ZERO_OUT)
            worst = max(worst, distance / allowed)
        return worst

    def test_the_counting_itself_keeps_within(self):
        assert self.furthest(counted_rows) <= 1

    def test_a_row_counted_twice(self):
        def twice(margins, places, plan):
            return Sensitive(2 * counted_rows(margins, places, plan)._secret)

        assert self.furthest(twice) > 1.9

    def test_bins_made_of_the_rows(self):
        def by_quantiles(margins, places, plan):
            edges = np.quantile(margins, np.arange(1, plan.bins.count) / plan.bins.count)
            cells = places * plan.bins.count + np.searchsorted(edges, margins[:, 0])
            return Sensitive(ROW * np.bincount(cells, minlength=size_of(plan)))

        assert self.furthest(by_quantiles) > 1.4

    def test_shares_in_place_of_counts(self):
        def shares(margins, places, plan):
            found = counted_rows(margins, places, plan)._secret
            return Sensitive(found * 12 // max(len(places), 1))

        assert self.furthest(shares) > 1.01


@pytest.mark.parametrize("n_classes", [2, 3])
@RELATIONS
def test_a_plan_keeps_within_its_budget_and_uses_it(n_classes, relation):
    plan = plan_for(n_classes, relation)
    assert plan.spent <= BUDGET
    assert plan.spent.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-8)
    assert accounting.spent(plan.events, BUDGET.delta).epsilon == plan.spent.epsilon
    contributions = math.sqrt(counts_of_a_row(n_classes) * relation.contributions)
    assert plan.noise >= plan.events[0].noise * contributions
    assert plan.noise == pytest.approx(plan.events[0].noise * contributions, rel=1e-5)


def noise_of(plan, repetitions=400):
    source, nobody = SeededSource(11), np.zeros((0, 1))
    draws = [noisy_counts(nobody, np.zeros(0, dtype=np.int64), plan, source) for _ in range(repetitions)]
    return np.concatenate(draws)


@pytest.mark.parametrize(("factor", "is_right"), [(1.0, True), (2 / 3, False), (3 / 2, False)])
def test_noise_has_the_planned_scale(factor, is_right):
    """Kolmogorov-Smirnov over 2,400 draws or more: a false alarm in a thousand; two thirds and three halves fail."""
    plan = plan_for(2)
    found = kstest(noise_of(plan) / (plan.noise * factor), norm.cdf).pvalue
    assert bool(found > 0.001) is is_right


def test_counts_are_whole_units_for_the_largest_tables():
    assert ROW * MAX_ROWS < 2**62


def test_every_count_has_noise_of_its_own():
    values = noise_of(plan_for(2), 3)
    assert len(np.unique(values)) == len(values)


def test_the_public_number_of_rows_alone_decides_bins_and_noise():
    """Plans are made before rows are there; more rows mean more bins, never other noise at the same budget."""
    small, large = plan_for(2, n_rows=500), plan_for(2, n_rows=50_000)
    assert (small.sigma, small.events) == (large.sigma, large.events)
    assert small.bins.count < large.bins.count
    assert small.rows == 500
    assert plan_for(2, Neighbours.ADD_REMOVE).rows is None
