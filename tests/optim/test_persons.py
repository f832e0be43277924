"""All rows of one person, 1 to 1,000 of them, move every release by no more than one row may.

The newcomer has the last rows. Under add/remove they are dropped; under replace-one another person's rows, of another
number, take their place. Persons around them have one to three rows.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.data.persons import Persons
from hardzero.data.stacked import StackedData
from hardzero.methods.select_refit import class_sums, screening_scores
from hardzero.optim import standardise
from hardzero.optim.curvature import curvature_limit, curvature_sums, noisy_curvature
from hardzero.optim.descent import Pace, descent_rows, prepare_descent, weighted_sums
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.problem import Problem, count_rows
from hardzero.optim.standardise import length_scores, private_standard
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import on_drawn_neighbours
from .neighbours import squared_distance, within
from .recorder import recording
from .test_descent import released

N_FEATURES = 3
AROUND = np.array([0, 1, 1, 2, 2, 2])
"""Whose rows those of the others are."""
NUMBERS_OF_ROWS = st.sampled_from([1, 2, 3, 7, 20, 999, 1000]) | st.integers(1, 1000)
CORNERS = np.array([-1e9, -1.0, -1.0, 0.0, 0.3, 1.0, 1.0, 7.0])


def some_rows(data, loss, count):
    """Rows and classes: all alike, which is worst, or drawn one by one."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    alike = data.draw(st.booleans())
    X = rng.choice(CORNERS, size=(1 if alike else count, N_FEATURES))
    y = rng.integers(0, max(loss.outputs, 2), 1 if alike else count)
    return np.resize(X, (count, N_FEATURES)), np.resize(y, count)


def problem_of(loss, rows, persons, store=np.asarray, n_rows=None):
    X, y = rows
    data = BoundedData.from_matrix(store(np.asarray(X, dtype=float)), Bounds.parse((-1, 1), N_FEATURES))
    targets = y.astype(float)[:, None] if loss.outputs == 1 else y
    return Problem(data, targets, loss, stated_rows=n_rows, persons=persons)


def neighbours_of(data, loss, relation, store):
    """Two problems that differ in one person's rows, with the same public number of persons."""
    around, persons = some_rows(data, loss, len(AROUND)), AROUND.max() + 2
    sides = []
    for count in (data.draw(NUMBERS_OF_ROWS), data.draw(NUMBERS_OF_ROWS)):
        own = some_rows(data, loss, count)
        order = np.random.default_rng(count).permutation(len(AROUND) + count)  # rows of a person need not be together
        owners = np.append(AROUND, np.full(count, AROUND.max() + 1))[order]
        joined = [np.concatenate(pair)[order] for pair in zip(around, own, strict=True)]
        sides.append(problem_of(loss, joined, Persons.of_numbers(owners), store, persons))
    if relation is not Neighbours.REPLACE_ONE:
        sides[1] = problem_of(loss, around, Persons.of_numbers(AROUND), store, persons)
    return sides


@on_drawn_neighbours(max_examples=15)
def test_lengths(loss, relation, store, data):
    grid = np.geomspace(0.1, np.sqrt(N_FEATURES), 10)
    one, other = (length_scores(side, grid, 3 * grid)._secret for side in neighbours_of(data, loss, relation, store))
    assert np.abs(one - other).max() <= 10 * RESIDUAL_ONE


@on_drawn_neighbours(max_examples=15)
def test_moments_and_rates(loss, relation, store, data):
    length = data.draw(st.sampled_from([0.1, 0.5, 1.0, 2.0]))
    sums = []
    for side in neighbours_of(data, loss, relation, store):
        with recording() as recorder:
            private_standard(side, length, 1.0, relation.contributions, None)
        sums += recorder.sums
    assert within(*sums, recorder.sigmas[0])


@on_drawn_neighbours(max_examples=15)
def test_screening(loss, relation, store, data):
    sides = neighbours_of(data, loss, relation, store)
    one, other = (class_sums(side)._secret for side in sides)
    assert within(one, other, relation.contributions * RESIDUAL_ONE)
    rates = np.array(data.draw(st.lists(st.floats(0.1, 0.9), min_size=loss.outputs, max_size=loss.outputs)))
    cap = data.draw(st.sampled_from([1, 1000, RESIDUAL_ONE]))
    one, other = (screening_scores(side, rates, cap)._secret for side in sides)
    assert np.abs(one - other).max() <= relation.contributions * cap * FEATURE_ONE


@on_drawn_neighbours(max_examples=20)
def test_gradients_and_curvatures_of_the_descent(loss, relation, store, data):
    sides = neighbours_of(data, loss, relation, store)
    standard, mask, at = data.draw(released(loss, N_FEATURES))
    plan = prepare_descent(loss, standard, mask, sides[0].n_rows, Pace(1, 1.0, 0.5), relation.contributions)
    at = Weights(at.coef * mask, at.intercept)
    one, other = (
        weighted_sums(side.rows.then(descent_rows, standard, mask), standard, at, plan)._secret for side in sides
    )
    assert within(one, other, plan.sigma)


@on_drawn_neighbours(max_examples=20)
def test_the_curvature(loss, relation, store, data):
    loss = Logistic()
    standard, _, at = data.draw(released(loss, N_FEATURES))
    clip = data.draw(st.sampled_from([0.1, 0.5, 1e6]))
    sums = []
    for side in neighbours_of(data, loss, relation, store):
        with recording() as recorder:
            noisy_curvature(side, standard, at, clip, 1.0, relation.contributions, None)
        sums += recorder.sums
    assert within(*sums, recorder.sigmas[0])


@pytest.mark.parametrize("count", [1, 2, 20, 1000])
def test_a_person_with_equal_rows_is_felt_as_one_row_is(count):
    """So that nothing is charged for naught: one in a thousand is lost by rounding at most, seven at 1,000 rows."""
    X, y = np.ones((count, N_FEATURES)), np.ones(count, dtype=int)
    persons = Persons.of_numbers(np.zeros(count, dtype=np.int64))
    many, single = (problem_of(Logistic(), (X[:k], y[:k]), who, n_rows=5) for k, who in ((count, persons), (1, None)))
    felt = np.array(standardise.shrunk_moments(many, 2.0), dtype=float)
    expected = np.array(standardise.shrunk_moments(single, 2.0), dtype=float)
    assert felt == pytest.approx(expected, rel=1e-3 if count < 1000 else 9e-3)
    assert felt[-1] == expected[-1]
    assert class_sums(many)._secret.tolist() == class_sums(single)._secret.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=40), st.sampled_from([2, 2**32])
)
@settings(max_examples=60)
def test_a_person_counts_once_however_its_rows_are_spread(rows, whole):
    numbers, cells = (np.array(column) for column in zip(*rows, strict=True))
    expected = np.zeros(3, dtype=np.int64)
    for who in set(numbers.tolist()):
        own = np.bincount(cells[numbers == who], minlength=3)
        alone = Persons.of_numbers(np.zeros(own.sum(), dtype=np.int64)).tally(cells[numbers == who], 3, whole)
        assert whole - 3 < alone.sum() <= whole
        assert alone.tolist() == [whole * int(count) // int(own.sum()) for count in own]
        expected += alone
    assert Persons.of_numbers(numbers).tally(cells, 3, whole).tolist() == expected.tolist()
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    assert Persons.of_numbers(numbers[order]).tally(cells[order], 3, whole).tolist() == expected.tolist()


@given(st.lists(st.integers(-3, 4), min_size=1, max_size=40), st.integers(1, 9))
@settings(max_examples=60)
def test_so_many_rows_stand_for_every_person_the_first_ones_first(numbers, each):
    rows = Persons.of_numbers(np.array(numbers)).standing_in(each)
    assert np.all(np.diff(rows) >= 0)
    for who in set(numbers):
        own = [row for row, number in enumerate(numbers) if number == who]
        expected = sorted((own * each)[:each] if len(own) < each else own[:each])
        assert [row for row in rows.tolist() if numbers[row] == who] == expected


@given(st.lists(st.tuples(st.integers(-(2**20), 2**20), st.integers(0, 3)), min_size=1, max_size=30))
@settings(max_examples=100)
def test_quotients_are_rounded_towards_zero(rows):
    codes, numbers = (np.array(column) for column in zip(*rows, strict=True))
    persons = Persons.of_numbers(numbers)
    quotients = persons.divided(codes)
    assert np.all(np.abs(quotients) * persons.sizes <= np.abs(codes))
    assert np.all((np.abs(quotients) + 1) * persons.sizes > np.abs(codes))
    assert np.all(quotients * codes >= 0)
    two = np.column_stack([codes, -codes]).astype(np.int32)
    assert np.array_equal(persons.divided(two), np.column_stack([quotients, -quotients]))


def test_one_row_each_changes_no_sum():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (50, N_FEATURES)), rng.integers(0, 3, 50)
    persons = Persons.of_numbers(rng.permutation(50))
    for loss in (Logistic(), Softmax(3)):
        rows = (X, np.minimum(y, loss.outputs))
        alone, told = (problem_of(loss, rows, who) for who in (None, persons))
        assert alone.n_rows == told.n_rows == count_rows(told.rows) == 50
        at = Weights(rng.normal(size=(loss.outputs, N_FEATURES)), np.zeros(loss.outputs))
        standard = private_standard(alone, 1.0, 1e-9, 1, SeededSource(0))
        mask = np.ones((loss.outputs, N_FEATURES), dtype=bool)
        plan = prepare_descent(loss, standard, mask, 50, Pace(1, 1.0, 0.5), 1)
        places = standard, mask, at, plan
        for one, other in zip(*(all_sums(problem, *places) for problem in (alone, told)), strict=True):
            assert np.array_equal(one, other)


def all_sums(problem, standard, mask, at, plan):
    """What every release is made of."""
    yield length_scores(problem, np.array([0.5, 1.0]), np.array([1.0, 2.0]))._secret
    yield standardise.moment_sums(problem, 0.7)._secret
    yield class_sums(problem)._secret
    yield screening_scores(problem, np.full(problem.loss.outputs, 0.4), RESIDUAL_ONE)._secret
    yield weighted_sums(problem.rows.then(descent_rows, standard, mask), standard, at, plan)._secret
    if problem.loss.outputs == 1:
        yield curvature_sums(problem, standard, at, 0.5, curvature_limit(standard))._secret


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_are_taken_alike_from_every_storage(store):
    rng = np.random.default_rng(3)
    X = rng.choice([0.0, 0.0, 0.5, -1.0], size=(40, N_FEATURES))
    rows = np.array([0, 0, 3, 17, 17, 17, 39])
    bounds = Bounds.parse((-1, 1), N_FEATURES)
    whole = BoundedData.from_matrix(store(X), bounds).taken(rows)
    parts = StackedData.from_batches([store(X[:10]), store(X[10:18]), store(X[18:])], bounds).taken(rows)
    for table in (whole, parts):
        columns = table.columns()
        assert np.array_equal(columns.toarray() if sparse.issparse(columns) else columns, X[rows])


def test_numbers_of_rows_are_not_shown():
    persons = Persons.of_numbers(np.array([0, 0, 0, 1]))
    problem = problem_of(Logistic(), (np.ones((4, N_FEATURES)), np.ones(4)), persons)
    assert "4" not in repr(persons) + repr(problem)


class TestTwins:
    """Plausible faults, each of which a person with many rows brings beyond what is charged."""

    @staticmethod
    def furthest(many=1000):
        """Moments, as a share of what is charged, of a person whose rows are alike."""
        rows = np.eye(1, N_FEATURES).repeat(many + 1, axis=0), np.ones(many + 1, dtype=int)
        persons = Persons.of_numbers(np.append(np.zeros(many, dtype=np.int64), 1))
        sums = []
        for chosen in (slice(None), slice(many, None)):
            who = Persons.of_numbers(persons.numbers[chosen])
            with recording() as recorder:
                private_standard(
                    problem_of(Logistic(), [part[chosen] for part in rows], who, n_rows=2), 1.0, 1.0, 1, 0
                )
            sums += recorder.sums
        return math.sqrt(squared_distance(*sums)) / recorder.sigmas[0]

    def test_the_method_itself_keeps_within(self):
        assert self.furthest() <= 1

    def test_rows_clipped_and_persons_not(self, monkeypatch):
        monkeypatch.setattr(Persons, "divided", lambda self, codes: codes)
        assert self.furthest() > 500

    def test_a_count_for_every_row(self, monkeypatch):
        monkeypatch.setattr(Persons, "tally", lambda self, cells, size, whole: whole * np.bincount(cells, None, size))
        assert self.furthest() > 500

    def test_quotients_rounded_to_the_nearest(self, monkeypatch):
        """Of 999 rows, 65.6 becomes 66 in each."""
        monkeypatch.setattr(
            Persons,
            "divided",
            lambda self, codes: np.rint(codes / self.sizes.reshape(-1, *[1] * (codes.ndim - 1))).astype(codes.dtype),
        )
        assert self.furthest(999) > 1.003
