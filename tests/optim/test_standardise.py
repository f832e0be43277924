"""Private standardisation: what is released, how far one record can move it, and what is made of it."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.standardise import length_prices, private_standard, rates_of, typical_length
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import dense_and_sparse, every_loss, every_relation, on_drawn_neighbours
from .neighbours import neighbours_of, problem_of, records, squared_distance, within
from .recorder import recording

# --- Moments ------------------------------------------------------------------------------------------------------


def moment_sums(problem, length, contributions, noise=1.0):
    """The whole numbers that are handed in, and σ: at one sensitivity of noise that is the sensitivity."""
    with recording() as recorder:
        private_standard(problem, length, noise, contributions, None)
    assert len(recorder.sums) == 1
    return recorder.sums[0], recorder.sigmas[0]


def moments_of_both(loss, relation, X, y, length, store=np.asarray):
    sides = [problem_of(loss, *side, store) for side in neighbours_of(relation, X, y)]
    (one, sensitivity), (other, same) = (moment_sums(side, length, relation.contributions) for side in sides)
    assert sensitivity == same
    return one, other, sensitivity


@on_drawn_neighbours(max_examples=50)
def test_moments_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    X, y = data.draw(records(loss))
    length = data.draw(st.sampled_from([0.1, 0.5, 1.0, 2.0]) | st.floats(0.1, 2.0))
    assert within(*moments_of_both(loss, relation, X, y, length, store))


@pytest.mark.parametrize("length", [0.1, 1.0, 2.0])
@every_loss
def test_the_moments_sensitivity_is_nearly_reached(loss, length):
    """A row at the bounds of few enough features is not shrunk, and its squares are as long as itself."""
    features = max(round(length**2), 1)
    X = np.zeros((3, 4))
    X[-1, :features] = [1, -1, 1, -1][:features]
    one, other, sensitivity = moments_of_both(loss, Neighbours.ZERO_OUT, X, np.array([0, 1, 1]), length)
    reached = math.sqrt(squared_distance(one, other)) / sensitivity
    assert 0.98 < reached <= 1.0


def test_replacing_a_record_by_its_opposite_uses_most_of_two_contributions():
    X = np.array([[-1.0] * 4, [0.0] * 4, [1.0] * 4])
    one, other, sensitivity = moments_of_both(Logistic(), Neighbours.REPLACE_ONE, X, np.array([0, 0, 1]), 2.0)
    # Means move by two lengths, squares not at all, the class by one: √(4·4 + 1) of 2·√(2·4 + 1).
    assert math.sqrt(squared_distance(one, other)) / sensitivity == pytest.approx(math.sqrt(17) / 6, rel=1e-4)


@dense_and_sparse
def test_the_moments_are_what_they_say(store):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 3)) * [1.0, 0.5, 0.001] + [0.0, 0.25, 0.5]
    y = rng.integers(0, 3, size=4000)
    X = np.clip(X, -1, 1)
    standard = private_standard(problem_of(Softmax(3), X, y, store), 2.0, 1e-3, 1, SeededSource(1))
    assert standard.centre == pytest.approx(X.mean(axis=0), abs=1e-4)
    assert standard.scale == pytest.approx([X[:, 0].std(), X[:, 1].std(), 0.02], rel=1e-2)
    assert standard.spread[:2] == pytest.approx(1.0)
    assert abs(standard.spread[2]) < 0.1  # the scale stands at its floor
    assert standard.rates == pytest.approx(np.bincount(y) / 4000, abs=1e-4)
    part = standard.subset(np.array([2, 0]))
    assert part.scale.tolist() == standard.scale[[2, 0]].tolist()
    assert part.spread.tolist() == standard.spread[[2, 0]].tolist()
    assert part.variance.tolist() == standard.variance[[2, 0]].tolist()
    assert part.variance_error.tolist() == standard.variance_error[[2, 0]].tolist()
    assert standard.variance == pytest.approx(X.var(axis=0), abs=1e-4)
    assert (part.error, part.rates.tolist()) == (standard.error, standard.rates.tolist())


def test_the_told_errors_are_those_of_the_noise():
    """Of means, mean squares and variances, over 300 releases: five standard errors, 20 %."""
    rng = np.random.default_rng(30)
    X = np.clip(rng.uniform(-1, 1, size=(2000, 4)) * [1.0, 0.3, 0.1, 0.5] + [0.0, 0.6, -0.9, 0.2], -1, 1)
    problem = problem_of(Logistic(), X, rng.integers(0, 2, size=2000))
    exact = private_standard(problem, 2.0, 1e-9, 1, SeededSource(0))
    released = [private_standard(problem, 2.0, 3.0, 1, SeededSource(seed)) for seed in range(1, 301)]
    assert {standard.error for standard in released} == {released[0].error}
    assert released[0].error == pytest.approx(3.0 * math.sqrt(2 * 2.0**2 + 1) / 2000)
    centres = np.array([standard.centre for standard in released])
    assert (centres - exact.centre).std(axis=0) == pytest.approx(released[0].error, rel=0.2)
    apart = [(standard.variance - exact.variance) / standard.variance_error for standard in released]
    assert np.std(apart, axis=0) == pytest.approx(np.ones(4), rel=0.2)
    assert np.mean(apart, axis=0) == pytest.approx(np.zeros(4), abs=5 / math.sqrt(300) + 0.05)  # a mean is squared


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_a_variance_is_told_as_it_was_released_and_the_spread_by_the_scale(seed, spread):
    """Negative ones too: what is likelier noise is judged by how far below zero they are."""
    problem = problem_of(Logistic(), np.ones((20, 3)), np.arange(20) % 2)
    with recording(seed=seed, spread=spread):
        standard = private_standard(problem, 1.0, 2.0, 1, None)
    assert np.array_equal(standard.spread, standard.variance / standard.scale**2)
    floor = max(2 * standard.error, 0.02**2)
    assert np.array_equal(standard.scale, np.sqrt(np.maximum(standard.variance, floor)))
    assert standard.variance_error == pytest.approx(standard.error * np.sqrt(1 + 4 * standard.centre**2))


@given(st.integers(0, 10_000), st.floats(1e-3, 1e6))
def test_whatever_the_noise_scales_stay_above_their_floor_and_centres_within_bounds(seed, spread):
    """The proof of the descent's slack rests on this."""
    problem = problem_of(Logistic(), np.ones((20, 3)), np.arange(20) % 2)
    with recording(seed=seed, spread=spread):
        standard = private_standard(problem, 1.0, 2.0, 1, None)
    assert np.all(standard.scale >= 0.02 * (1 - 2**-50))
    assert np.all(np.abs(standard.centre) <= 1)
    assert np.all(standard.spread <= 1 + 1e-9)
    assert np.all(np.isfinite(standard.spread))
    assert np.all((standard.rates > 0) & (standard.rates < 1))


def test_noise_of_the_moments_is_as_announced():
    """One release, σ in sensitivities, rounded up to a whole number; replace-one doubles it."""
    problem = problem_of(Logistic(), np.ones((5, 2)), np.ones(5))
    sensitivity = math.ceil(math.sqrt(2 * 0.7**2 + 1) * FEATURE_ONE * RESIDUAL_ONE)
    assert moment_sums(problem, 0.7, 1, 2.5)[1] == math.ceil(2.5 * sensitivity)
    assert moment_sums(problem, 0.7, 2, 2.5)[1] == math.ceil(2.5 * 2 * sensitivity)


# --- The clipping length ------------------------------------------------------------------------------------------


def length_scores(problem, noise=3.0):
    with recording() as recorder:
        typical_length(problem, 0.5, noise, None)
    assert len(recorder.scores) == 1
    return recorder.scores[0], recorder.sensitivities[0]


@pytest.mark.parametrize("noise", [0.01, 30.0, 1e300], ids=["little-noise", "much-noise", "nothing-but-noise"])
@pytest.mark.parametrize("fixed", [True, False], ids=["n-fixed", "n-counted"])
@dense_and_sparse
@every_relation
@settings(max_examples=40)
@given(st.data())
def test_counts_of_short_rows_move_by_no_more_than_their_sensitivity(relation, store, fixed, noise, data):
    """Whether n is a public constant, as is promised, or follows the data: scores do not read it."""
    X, y = data.draw(records(Logistic(), most_rows=6))
    sides = [problem_of(Logistic(), *side, store) for side in neighbours_of(relation, X, y)]
    if fixed:
        sides = [replace(side, stated_rows=len(X)) for side in sides]
    (one, sensitivity), (other, same) = (length_scores(side, noise) for side in sides)
    assert sensitivity == same == 10 * RESIDUAL_ONE
    assert np.abs(one - other).max() <= sensitivity


def test_the_length_sensitivity_is_reached():
    """A row of length 1 in place of one of length √2: within lengths between them there is one row more."""
    X = np.ones((6, 2))
    sides = [problem_of(Logistic(), rows, np.zeros(6)) for rows in (X, np.vstack([X[:5], [[1.0, 0.0]]]))]
    (one, sensitivity), (other, _) = map(length_scores, sides)
    assert np.abs(one - other).max() == sensitivity


@dense_and_sparse
def test_nine_in_ten_of_the_rows_that_are_not_empty_are_shorter_than_the_typical_length(store):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(6000, 25)) * rng.uniform(0.2, 1.0, size=(6000, 1))
    X[3000:] = 0.0
    length = typical_length(problem_of(Logistic(), X, np.zeros(6000), store), 1.0, 3.0, SeededSource(3))
    assert 0.85 < np.mean(np.linalg.norm(X[:3000], axis=1) <= length) < 0.95


def test_rows_of_one_length_are_neither_cut_nor_given_room():
    """All longer lengths do as well, but for noise: a length by a quarter longer costs 39 rows of noise."""
    X = np.zeros((5000, 49))
    X[:, ::5] = 1.0
    problem = problem_of(Logistic(), X, np.zeros(5000))
    lengths = [typical_length(problem, 1.0, 20.0, SeededSource(seed)) for seed in range(20)]
    assert all(math.sqrt(10) <= length <= 1.4 * math.sqrt(10) for length in lengths)


def test_prices_are_a_quarter_of_the_noise_and_stay_where_whole_numbers_can_hold_them():
    grid = np.array([0.1, 1.0, 5.0])
    assert length_prices(grid, 8, 20.0) == pytest.approx([2.0, 20.0, 100.0])
    assert length_prices(grid, 8, 1e300).tolist() == [2**30] * 3


@pytest.mark.parametrize("p", [1, 2, 7])
def test_the_grid_of_lengths_ends_where_no_row_is_longer(p):
    problem = problem_of(Logistic(), np.ones((400, p)), np.zeros(400))
    lengths = {typical_length(problem, 50.0, 3.0, SeededSource(seed)) for seed in range(5)}
    assert all(0.1 <= length <= math.sqrt(p) + 1e-12 for length in lengths)


def test_a_length_is_found_for_a_single_row_of_zeros():
    assert 0.1 <= typical_length(problem_of(Logistic(), np.zeros((1, 1)), [0]), 1.0, 3.0, SeededSource(0)) <= 1.0


# --- Class rates --------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=5), st.integers(1, 10**6))
def test_rates_keep_away_from_certainty(means, n_rows):
    rates = rates_of(np.array(means), n_rows)
    least = 1 / math.sqrt(max(n_rows, 4))
    assert np.all((rates >= least) & (rates <= 1 - least))
    inner = (np.array(means) >= least) & (np.array(means) <= 1 - least)
    assert np.array_equal(rates[inner], np.array(means)[inner])


# --- Lengths of rows ----------------------------------------------------------------------------------------------


def exact_square(codes, centre, scale):
    """Square the length of one row in rational arithmetic, at the very doubles that are used."""
    parts = zip(codes, centre, scale, strict=True)
    return sum(((Fraction(int(x), FEATURE_ONE) - Fraction(c)) / Fraction(s)) ** 2 for x, c, s in parts)


@settings(max_examples=50)
@given(st.data())
def test_row_squares_are_never_too_small_and_the_same_however_rows_are_stored(data):
    X, _ = data.draw(records(Logistic(), most_features=6))
    p = X.shape[1]
    of = lambda some: np.array(data.draw(st.lists(some, min_size=p, max_size=p)))  # noqa: E731
    centre = of(st.sampled_from([-1.0, 0.0, 1.0, 0.3]) | st.floats(-1, 1))
    scale = of(st.sampled_from([0.02, 1.0, 30.0]) | st.floats(0.02, 2))
    dense = problem_of(Logistic(), X, np.zeros(len(X))).data
    squares = dense.row_squares(centre, scale)
    for store in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert np.array_equal(
            squares, problem_of(Logistic(), X, np.zeros(len(X)), store).data.row_squares(centre, scale)
        )
    constant = exact_square(np.zeros(p), centre, scale)
    for row, square in zip(dense.columns() * FEATURE_ONE, squares, strict=True):
        exact = exact_square(row, centre, scale)
        assert exact - Fraction(1, 10**300) <= Fraction(square) <= exact + Fraction(3, 10**9) * (exact + constant)


def test_row_squares_are_never_too_small_where_terms_cancel():
    """Rows at the centre: every column takes back what was counted for it beforehand."""
    rng = np.random.default_rng(4)
    codes = rng.integers(-FEATURE_ONE, FEATURE_ONE + 1, size=(4, 300))
    data = BoundedData(codes.astype(np.int32))
    centre, scale = codes[0] / FEATURE_ONE, rng.uniform(0.02, 0.1, size=300)
    squares = data.row_squares(centre, scale)
    exact = [exact_square(row, centre, scale) for row in codes]
    assert exact[0] == 0
    assert all(Fraction(square) >= value for square, value in zip(squares, exact, strict=True))
    assert squares[0] < 1e-6 * squares[1]


# --- Margins ------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.data())
def test_margins_are_the_same_to_the_last_bit_however_rows_are_stored_or_ordered(data):
    X, _ = data.draw(records(Logistic(), most_rows=8, most_features=6))
    size = data.draw(st.sampled_from([1e-9, 1.0, 1e4, 1e30]))
    outputs = data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    coef = size * rng.standard_normal((outputs, X.shape[1]))
    dense = problem_of(Logistic(), X, np.zeros(len(X))).data
    margins = dense.margins(coef)
    order = rng.permutation(len(X))
    for rows in (np.arange(len(X)), order, order[:1]):
        for store in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array):
            again = problem_of(Logistic(), X[rows], np.zeros(len(rows)), store).data.margins(coef)
            assert np.array_equal(margins[rows], again)
    assert margins == pytest.approx(dense.columns() @ coef.T, abs=1e-5 + 1e-9 * size)


def test_margins_of_one_large_table_are_exact():
    """Wide enough for a matrix product to add in another order for other shapes."""
    rng = np.random.default_rng(5)
    codes = rng.integers(-FEATURE_ONE, FEATURE_ONE + 1, size=(1500, 700)).astype(np.int32)
    coef = rng.standard_normal((4, 700)) * 10
    whole = BoundedData(codes).margins(coef)
    for rows in (slice(0, 1), slice(3, 10), slice(1, 1500), slice(None, None, -1)):
        assert np.array_equal(whole[rows], BoundedData(codes[rows]).margins(coef))
