"""What one row can move, what noise is added, and faults that these tests notice."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from hardzero.bounds.grid import Grid
from hardzero.bounds.private import counted_cells
from hardzero.bounds.release import (
    CELL,
    cumulative,
    noisy_sums,
    plan_bounds,
    shares_of_a_cell,
    square_of_a_cell,
    summed_cells,
)
from hardzero.data.bounded import MAX_ROWS
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.mechanisms import Sensitive
from hardzero.privacy.randomness import SeededSource
from hardzero.schema import Schema, Target
from hardzero.schema.columns import Unbounded

RELATIONS = pytest.mark.parametrize("relation", list(Neighbours))
BUDGET = Budget(0.7, 1e-5)
GRIDS = (Grid(-1e9, 1e9), Grid(0, 100), Grid(1900, 2100))
SCHEMA = Schema(
    tuple(Unbounded(name, grid.lowest, grid.highest) for name, grid in zip("abc", GRIDS, strict=True)),
    Target("y", ("no", "yes"), "yes"),
    "zero",
)
CELLS = st.one_of(st.none(), st.sampled_from([-1e300, 0.0, 5e-324, 100.0, 1950.0, 1e300]), st.floats(-3e3, 3e3))
ROWS = st.tuples(CELLS, CELLS, CELLS)


def plan_for(relation=Neighbours.ZERO_OUT, grids=GRIDS, budget=BUDGET):
    return plan_bounds(300, grids, budget, relation)


def sums_of(rows, plan, summed=summed_cells):
    table = {name: [row[j] for row in rows] for j, name in enumerate("abc")}
    return summed(counted_cells(table, SCHEMA).counts, plan)._secret


def charged(plan):
    """How far apart neighbours' sums may be: the noise over what the event says."""
    return plan.sigma / plan.events[0].noise


def apart(rows, chosen, other, relation, summed=summed_cells):
    """How far sums of a table are from those of its neighbour, and what is charged for that."""
    plan = plan_for(relation)
    left = [row for i, row in enumerate(rows) if i != chosen]
    if relation is Neighbours.REPLACE_ONE:
        left.append(other)
    difference = sums_of(rows, plan, summed) - sums_of(left, plan, summed)
    return math.sqrt(sum(int(part) ** 2 for part in difference)), charged(plan)


@given(st.lists(ROWS, min_size=1, max_size=8), ROWS, st.data())
@settings(max_examples=100, deadline=None)
@RELATIONS
def test_neighbours_sums_are_no_further_apart_than_is_charged(relation, rows, other, data):
    distance, allowed = apart(rows, data.draw(st.integers(0, len(rows) - 1)), other, relation)
    assert distance <= allowed


def test_the_bound_is_reached():
    """A row in the lowest bins of all columns, beside one that comes in or is empty, moves all that is charged."""
    rows = [(-1e9, 0.0, 1900.0), (3.0, None, 1950.0)]
    for relation in (Neighbours.ZERO_OUT, Neighbours.ADD_REMOVE):
        distance, allowed = apart(rows, 0, None, relation)
        assert distance == pytest.approx(allowed, rel=1e-4)


def test_an_exchanged_row_moves_less_than_two_but_more_than_one():
    """The vectors of two cells are not at right angles, so that √2 is not reached; far-off bins come near to it."""
    distance, allowed = apart([(-1e9, 0.0, 1900.0)], 0, (1e8, 60.0, 2090.0), Neighbours.REPLACE_ONE)
    one = charged(plan_for())
    assert one < distance <= allowed == pytest.approx(math.sqrt(2) * one, rel=1e-4)


class TestTwins:
    """Plausible faults of the summing, each beyond what is charged for some neighbours."""

    @staticmethod
    def furthest(summed):
        rows = [(-1e9, 0.0, 1900.0), (5.0, 2.0, 1950.0), (7.0, 9.0, 1999.0), (9.0, 50.0, 2001.0)]
        worst = 0.0
        for chosen in range(len(rows)):
            distance, allowed = apart(rows, chosen, None, Neighbours.ZERO_OUT, summed)
            worst = max(worst, distance / allowed)
        return worst

    def test_the_summing_itself_keeps_within(self):
        assert self.furthest(summed_cells) <= 1

    def test_a_cell_counted_twice(self):
        def twice(counts, plan):
            return summed_cells([2 * count for count in counts], plan)

        assert self.furthest(twice) > 1.9

    def test_cumulative_counts_themselves(self):
        def cumulated(counts, plan):
            return Sensitive(np.concatenate([CELL * np.cumsum(count) for count in counts]))

        assert self.furthest(cumulated) > 2

    def test_shares_of_the_rows_in_place_of_counts(self):
        def shares(counts, plan):
            total = max(sum(int(count.sum()) for count in counts), 1)
            return Sensitive(summed_cells(counts, plan)._secret * 12 // total)

        assert self.furthest(shares) > 1.01


def test_one_column_for_the_price_of_three_is_noticed():
    """What a plan for one column charges does not cover three."""
    distance, _ = apart([(-1e9, 0.0, 1900.0)], 0, None, Neighbours.ZERO_OUT)
    assert distance > 1.5 * charged(plan_for(grids=GRIDS[:1]))


@RELATIONS
def test_a_plan_keeps_within_its_budget_and_uses_it(relation):
    plan = plan_for(relation)
    assert plan.spent <= BUDGET
    assert plan.spent.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-8)
    assert accounting.spent(plan.events, BUDGET.delta).epsilon == plan.spent.epsilon
    sensitivity = math.sqrt(relation.contributions * sum(square_of_a_cell(grid.bins) for grid in GRIDS))
    assert plan.sigma >= plan.events[0].noise * sensitivity
    assert plan.sigma == pytest.approx(plan.events[0].noise * sensitivity, rel=1e-5)


def noise_of(plan, repetitions=20):
    source = SeededSource(11)
    nobody = [np.zeros(grid.bins, dtype=np.int64) for grid in plan.grids]
    return np.concatenate([part for _ in range(repetitions) for part in noisy_sums(nobody, plan, source)])


@pytest.mark.parametrize(("factor", "is_right"), [(1.0, True), (2 / 3, False), (3 / 2, False)])
def test_noise_has_the_planned_scale(factor, is_right):
    """Kolmogorov-Smirnov over some 10,000 draws: a false alarm in a thousand; two thirds and three halves fail."""
    plan = plan_for()
    found = kstest(noise_of(plan) / (plan.noise * factor), norm.cdf).pvalue
    assert bool(found > 0.001) is is_right


def test_every_sum_has_noise_of_its_own():
    values = noise_of(plan_for(), 2)
    assert len(np.unique(values)) == len(values)


def test_shares_are_whole_falling_and_never_negative():
    shares = shares_of_a_cell(242)
    assert shares.dtype == np.int64
    assert shares[:4].tolist() == [CELL, CELL // 2, 3 * CELL // 8, 5 * CELL // 16]
    assert np.all(np.diff(shares) < 0)
    assert shares[-1] > 0
    assert CELL * MAX_ROWS < 2**62


def test_sums_without_noise_give_back_what_lies_below_every_edge():
    rng = np.random.default_rng(0)
    counts = [rng.integers(0, 1000, grid.bins) for grid in GRIDS]
    plan = plan_for()
    ends = np.cumsum([grid.bins for grid in GRIDS])[:-1]
    for count, part in zip(counts, np.split(summed_cells(counts, plan)._secret / CELL, ends), strict=True):
        below = cumulative(len(count)) @ part
        np.testing.assert_allclose(below, np.concatenate([[0], np.cumsum(count)]), rtol=1e-9, atol=1e-6)


def test_noise_below_edges_is_a_fifth_of_that_of_plain_counts():
    bins = 242
    ours = np.linalg.norm(cumulative(bins), axis=1).max() * math.sqrt(square_of_a_cell(bins)) / CELL
    assert ours < 2.9
    assert math.sqrt(bins) / ours > 5
