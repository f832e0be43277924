"""The released curvature: what a record adds to it, how far that can be, and with which noise it leaves."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data.bounded import MAX_ROWS, BoundedData, Bounds
from hardzero.data.stacked import StackedData
from hardzero.optim import curvature
from hardzero.optim.curvature import curvature_limit, curvature_sums, noisy_curvature, weighted_products
from hardzero.optim.descent import descent_unit
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic
from hardzero.optim.problem import Problem
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import dense_and_sparse, every_relation
from .neighbours import neighbours_of, problem_of, records, squared_distance, within
from .recorder import recording
from .test_descent import standard_of

ROW = 2**30
"""Most that one record adds to either matrix, in whole numbers, as a Frobenius norm."""
BOTH = math.ceil(ROW * math.sqrt(1.25))
"""Most that it adds to both, the second with half its weight."""
SLACK = 512
ROUNDED = 0.02
"""What rounding rows towards zero takes from sums over some 300 rows: each entry of u loses less than 2⁻¹⁵."""
LOSS = Logistic()


def released_at(data, p):
    """Anything that earlier releases may have led to: moments, a place, a clip."""
    of = lambda some, size: np.array(data.draw(st.lists(some, min_size=size, max_size=size)))  # noqa: E731
    centre = of(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1), p)
    scale = of(st.sampled_from([0.02, 0.02, 0.5, 20.0]) | st.floats(0.02, 2), p)
    spread = of(st.sampled_from([-3.0, 0.0, 1.0]) | st.floats(0, 1), p)
    coef = of(st.sampled_from([0.0, 30.0, -30.0]) | st.floats(-3, 3), p)[None]
    clip = data.draw(st.sampled_from([0.1, 0.5, 1e6]) | st.floats(0.1, 5))
    return standard_of(centre, scale, spread), Weights(coef, of(st.floats(-5, 5), 1)), clip


def handed_in(problem, standard, at, clip, contributions=1, noise=1.0):
    """The whole numbers that are released, and σ: at one sensitivity of noise that is the sensitivity."""
    with recording() as recorder:
        noisy_curvature(problem, standard, at, clip, noise, contributions, None)
    (sums,), (sigma,) = recorder.sums, recorder.sigmas
    return sums, sigma


def sums_of_both(relation, X, y, standard, at, clip, store=np.asarray, contributions=None):
    contributions = relation.contributions if contributions is None else contributions
    sides = [problem_of(LOSS, *side, store) for side in neighbours_of(relation, X, y)]
    (one, sensitivity), (other, same) = (handed_in(side, standard, at, clip, contributions) for side in sides)
    assert sensitivity == same
    return one, other, sensitivity


# --- On neighbours ------------------------------------------------------------------------------------------------


@dense_and_sparse
@every_relation
@settings(max_examples=60)
@given(st.data())
def test_curvatures_move_by_no_more_than_their_sensitivity(relation, store, data):
    X, y = data.draw(records(LOSS))
    one, other, sensitivity = sums_of_both(relation, X, y, *released_at(data, X.shape[1]), store)
    d = len(one)
    assert d == (X.shape[1] + 1) * (X.shape[1] + 2)
    assert sensitivity == relation.contributions * BOTH + SLACK * math.ceil(math.sqrt(d))
    # Two or three rows: what double precision does to so small sums is rounding to the nearest whole number, no more.
    assert within(one, other, relation.contributions * BOTH + math.ceil(math.sqrt(d)))
    for weight, *halves in zip((1.0, 0.5), np.split(one, 2), np.split(other, 2), strict=True):
        assert within(*halves, math.ceil(weight * relation.contributions * ROW) + math.ceil(math.sqrt(d)))


@dense_and_sparse
@settings(max_examples=100)
@given(st.data())
def test_one_row_adds_matrices_of_one_direction_no_longer_than_a_row_may_be(store, data):
    """The trace of u·uᵀ is ‖u‖²: in whole numbers, before √2 and the weight of the second matrix come in."""
    X, y = data.draw(records(LOSS))
    standard, at, clip = released_at(data, X.shape[1])
    limit, upper = curvature_limit(standard), np.triu_indices(X.shape[1] + 1)
    for row in range(len(X)):
        problem = problem_of(LOSS, X[row : row + 1], y[row : row + 1], store)
        both = weighted_products(problem, standard, at, clip, limit, descent_unit(1))
        for products in both:
            u = [math.isqrt(square) for square in np.diag(products).tolist()]
            assert sum(part**2 for part in u) == np.trace(products) <= ROW
            assert np.array_equal(np.abs(products), np.outer(u, u))
        handed = np.split(curvature_sums(problem, standard, at, clip, limit)._secret, 2)
        for weight, products, sums in zip((1, 0.5), both, handed, strict=True):
            factors = np.where(upper[0] == upper[1], weight, weight * math.sqrt(2))
            assert np.abs(sums - factors * products[upper]).max() <= 0.5 + 1e-6


def tight(relation):
    """A row at the bounds, which the model knows nothing about, and none; or another such row across it.

    Matrices of directions at right angles are √2 apart, as far as two matrices without negative directions can be.
    """
    X = np.array([[1.0, 1.0, 1.0, 1.0], [0.0] * 4, [1.0, -1.0, 1.0, -1.0]])
    standard = standard_of(np.zeros(4), np.full(4, 0.5))
    at = Weights(np.zeros((1, 4)), np.zeros(1))
    return relation, X, np.array([0, 1, 1]), standard, at, 1e6


@pytest.mark.parametrize(
    ("relation", "least"),
    [(Neighbours.ZERO_OUT, 0.95), (Neighbours.ADD_REMOVE, 0.95), (Neighbours.REPLACE_ONE, 0.95 / math.sqrt(2))],
    ids=lambda part: getattr(part, "value", part),
)
def test_the_sensitivity_of_the_curvature_is_nearly_reached(relation, least):
    one, other, sensitivity = sums_of_both(*tight(relation))
    reached = math.sqrt(squared_distance(one, other)) / sensitivity
    assert least < reached <= 1.0


def test_the_allowance_covers_the_largest_table():
    """2³⁰ rows at their limits, in rational arithmetic: what leaves, against √2 times whole numbers of any size.

    Sums on the diagonal stay below 2⁶⁰ and beside it below half of that, because 2|ab| ≤ a² + b².
    """
    rng = np.random.default_rng(1)
    size = 80
    n = MAX_ROWS * ROW
    sums = rng.integers(n // 2 - 2**40, n // 2, size=(size, size), endpoint=True)
    sums = np.triu(sums) + np.triu(sums, 1).T
    sums[np.diag_indices(size)] = rng.integers(n - 2**40, n, size=size, endpoint=True)

    class Sums:
        n_features = size - 1
        n_rows = 1

        def product_sums(self, factors, centre, scale):
            return sums

        def row_squares(self, centre, scale):
            return np.ones(1)

        def margins(self, coef):
            return np.zeros((1, 1))

    problem = Problem(Sums(), np.zeros((1, 1)), LOSS)
    at = Weights(np.zeros((1, size - 1)), np.zeros(1))
    standard = standard_of(np.zeros(size - 1), np.ones(size - 1))
    released = np.split(curvature_sums(problem, standard, at, 1.0, 1.0)._secret, 2)
    root = Fraction(math.sqrt(2))  # the double; its own error is one part in 2⁵³ of a sensitivity
    rows, columns = np.triu_indices(size)
    worst = [
        max(
            abs(int(value) - weight * int(sums[i, j]) * (1 if i == j else root))
            for value, i, j in zip(part, rows, columns, strict=True)
        )
        for weight, part in zip((Fraction(1), Fraction(1, 2)), released, strict=True)
    ]
    assert 2 * max(worst) <= SLACK / 2  # as much again is room
    assert 2 * max(worst) > SLACK / 4  # the allowance is no empty one
    assert curvature._SLACK == SLACK


# --- What is released ---------------------------------------------------------------------------------------------


def stacked(X):
    parts = [X[: len(X) // 2], sparse.csr_array(X[len(X) // 2 :])]
    return StackedData.from_batches(parts, Bounds.parse((-1, 1), X.shape[1]))


def table(n=300, p=4, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p)) * (rng.random((n, p)) < 0.8)
    y = rng.integers(0, 2, n)
    standard = standard_of(rng.uniform(-0.3, 0.3, p), rng.uniform(0.3, 0.7, p))
    return X, y, standard, Weights(rng.normal(size=(1, p)), np.array([0.3]))


def by_hand(X, standard, at, clip, limit):
    """In ordinary floating point: Σ ω·π(1-π)·z·zᵀ with rows that would add too much to the trace weighted down."""
    z = np.column_stack([(np.rint(X * 2**16) / 2**16 - standard.centre) / standard.scale, np.ones(len(X))])
    chance = 1 / (1 + np.exp(-z @ np.append(at.coef[0], at.intercept)))
    squares = (z**2).sum(axis=1)
    weight = np.minimum(1, clip / (np.maximum(chance, 1 - chance) * np.sqrt(squares)))
    return (z * np.minimum(weight * chance * (1 - chance), limit / squares)[:, None]).T @ z


@pytest.mark.parametrize("clip", [0.4, 2.0])
def test_without_noise_the_matrix_is_the_curvature_of_the_weighted_loss(clip):
    X, y, standard, at = table()
    limit = curvature_limit(standard)
    released = noisy_curvature(problem_of(LOSS, X, y), standard, at, clip, 1e-9, 1, SeededSource(3))
    assert released.matrix == pytest.approx(by_hand(X, standard, at, clip, limit), abs=ROUNDED)
    assert np.array_equal(released.matrix, released.matrix.T)
    assert released.matrix.shape == (5, 5)


def scores_by_hand(X, y, standard, at, clip, limit):
    """In ordinary floating point: Σ (ω·r)²·z·zᵀ with rows that would add too much to the trace weighted down."""
    z = np.column_stack([(np.rint(X * 2**16) / 2**16 - standard.centre) / standard.scale, np.ones(len(X))])
    chance = 1 / (1 + np.exp(-z @ np.append(at.coef[0], at.intercept)))
    squares = (z**2).sum(axis=1)
    weight = np.minimum(1, clip / (np.maximum(chance, 1 - chance) * np.sqrt(squares)))
    return (z * np.minimum((weight * (chance - y)) ** 2, limit / squares)[:, None]).T @ z


@pytest.mark.parametrize("clip", [0.4, 2.0])
def test_without_noise_the_scores_are_the_products_of_weighted_gradients(clip):
    X, y, standard, at = table()
    expected = scores_by_hand(X, y, standard, at, clip, curvature_limit(standard))
    released = noisy_curvature(problem_of(LOSS, X, y), standard, at, clip, 1e-9, 1, SeededSource(3))
    assert released.scores == pytest.approx(expected, abs=2 * ROUNDED)
    assert np.array_equal(released.scores, released.scores.T)
    assert not np.allclose(released.scores, released.matrix, rtol=0.1)


def test_a_row_that_would_add_too_much_is_weighted_down():
    """One far from the centre, so that its trace alone is above the limit; the others are as they were."""
    X, y, standard, at = table(n=30)
    X[-1] = 1.0
    at = Weights(np.zeros((1, 4)), np.zeros(1))
    limit = 1.0
    traces = [np.trace(by_hand(X[i : i + 1], standard, at, 1e6, np.inf)) for i in range(30)]
    assert min(traces) < limit < traces[-1]
    sums = curvature_sums(problem_of(LOSS, X, y), standard, at, 1e6, limit)._secret
    rows, columns = np.triu_indices(5)
    matrices = by_hand(X, standard, at, 1e6, limit), scores_by_hand(X, y, standard, at, 1e6, limit) / 2
    expected = np.array([part[rows, columns] for part in matrices]) * np.where(rows == columns, 1, math.sqrt(2))
    assert sums * limit / ROW == pytest.approx(expected.ravel(), abs=ROUNDED)


@pytest.mark.parametrize("limit", [0.3, 1.0, 100.0])
@pytest.mark.parametrize("clip", [0.4, 1e6])
def test_what_a_row_adds_does_not_depend_on_the_other_rows(clip, limit):
    """Sums over a table are those of its rows alone, up to half a unit of rounding for each."""
    X, y, standard, at = table(n=30)
    X[-1] = 1.0
    whole, *parts = (
        curvature_sums(problem_of(LOSS, X[rows], y[rows]), standard, at, clip, limit)._secret
        for rows in (slice(None), *(slice(i, i + 1) for i in range(30)))
    )
    assert np.abs(whole - np.sum(parts, axis=0)).max() <= (30 + 1) / 2


@pytest.mark.parametrize("clip", [0.4, 2.0])
def test_every_storage_and_order_hands_in_the_same_whole_numbers(clip):
    X, y, standard, at = table()
    order = np.random.default_rng(4).permutation(len(X))
    expected, _ = handed_in(problem_of(LOSS, X, y), standard, at, clip)
    targets = y.astype(float)[:, None]
    tables = [
        problem_of(LOSS, X, y, sparse.csr_array),
        problem_of(LOSS, X, y, sparse.csc_array),
        problem_of(LOSS, X[order], y[order]),
        problem_of(LOSS, X[order], y[order], sparse.csr_array),
        Problem(stacked(X), targets, LOSS),
    ]
    dense = BoundedData.from_matrix(X, Bounds.parse((-1, 1), X.shape[1]))
    tables.append(Problem(dense.packed(), targets, LOSS))
    for problem in tables:
        assert np.array_equal(handed_in(problem, standard, at, clip)[0], expected)


def test_labels_do_not_enter_the_curvature():
    X, y, standard, at = table()
    sides = (handed_in(problem_of(LOSS, X, labels), standard, at, 0.5)[0] for labels in (y, 1 - y))
    (one, scores), (other, other_scores) = (np.split(side, 2) for side in sides)
    assert np.array_equal(one, other)
    assert not np.array_equal(scores, other_scores)  # products of gradients are what labels make of them


@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize("noise", [0.5, 3.7])
def test_sigma_and_error_are_as_announced(contributions, noise):
    X, y, standard, at = table()
    sensitivity = contributions * BOTH + SLACK * math.ceil(math.sqrt(30))
    assert handed_in(problem_of(LOSS, X, y), standard, at, 0.5, contributions, noise)[1] == math.ceil(
        noise * sensitivity
    )
    released = noisy_curvature(problem_of(LOSS, X, y), standard, at, 0.5, noise, contributions, SeededSource(0))
    assert released.error == pytest.approx(noise * sensitivity * curvature_limit(standard) / ROW, rel=1e-9)
    assert released.error == pytest.approx(
        noise * contributions * math.sqrt(1.25) * curvature_limit(standard), rel=1e-5
    )
    assert released.scores_error == 2 * released.error


@pytest.mark.parametrize(("spread", "limit"), [(1.0, 0.25 * 5), (-3.0, 0.25 * 1.1), (0.5, 0.25 * 3)])
def test_the_limit_is_a_quarter_of_a_rows_expected_square(spread, limit):
    assert curvature_limit(standard_of(np.zeros(4), np.ones(4), spread)) == pytest.approx(limit)


def noise_of_curvatures(releases=400, weights=curvature._triangle_weights):
    """The noise of many released matrices of one table, in units of the announced error."""
    X, y, standard, at = table(n=20)
    problem = problem_of(LOSS, X, y)
    true = noisy_curvature(problem, standard, at, 0.5, 1e-9, 1, SeededSource(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curvature, "_triangle_weights", weights)
        released = [noisy_curvature(problem, standard, at, 0.5, 2.0, 1, SeededSource(i)) for i in range(releases)]
    curved = [(each.matrix - true.matrix) / each.error for each in released]
    return np.array(curved), np.array([(each.scores - true.scores) / each.scores_error for each in released])


def within_five_standard_errors(found, expected, count):
    return abs(found / expected - 1) < 5 / math.sqrt(2 * count)


def test_the_noise_is_one_on_the_diagonal_and_one_over_the_root_of_two_beside_it():
    """400 releases, 5 places and 10: five standard errors, wrong by chance for less than one seed in 100,000.

    Two thirds and three halves of the right noise are 14 standard errors away or more. Both matrices, and their
    noise is independent.
    """
    both = noise_of_curvatures()
    for noise in both:
        has_the_announced_noise(noise)
    across = np.corrcoef(*(noise[:, *np.triu_indices(5)].T.reshape(15, -1) for noise in both))[:15, 15:]
    assert np.abs(across).max() < 5 / math.sqrt(400)


def has_the_announced_noise(noise):
    rows, columns = np.triu_indices(5, 1)
    diagonal, beside = noise[:, range(5), range(5)], noise[:, rows, columns]
    assert within_five_standard_errors(diagonal.std(), 1.0, diagonal.size)
    assert within_five_standard_errors(beside.std(), 1 / math.sqrt(2), beside.size)
    for factor in (2 / 3, 3 / 2):
        assert not within_five_standard_errors(factor * diagonal.std(), 1.0, diagonal.size)
        assert not within_five_standard_errors(factor * beside.std(), 1 / math.sqrt(2), beside.size)
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    places = [*zip(range(5), range(5), strict=True), *zip(rows, columns, strict=True)]
    correlations = np.corrcoef([noise[:, i, j] for i, j in places])
    assert max(abs(correlations[i, j]) for i, j in itertools.combinations(range(15), 2)) < 5 / math.sqrt(400)


# --- Broken twins -------------------------------------------------------------------------------------------------


def holds(relation, contributions=None):
    return within(*sums_of_both(*tight(relation), contributions=contributions))


def far(relation):
    """A row much farther from the centre than rows are expected to be."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0]])
    at = Weights(np.zeros((1, 2)), np.zeros(1))
    return relation, X, np.array([0, 1, 1]), standard_of(np.zeros(2), np.full(2, 0.02), 0.1), at, 1e6


@every_relation
def test_rows_that_are_not_bounded_are_caught(relation, monkeypatch):
    """Weighted as in the gradient alone: no gradient is long, but a product of two features may be."""
    assert within(*sums_of_both(*far(relation)))
    original = BoundedData.product_sums

    def unbounded(self, factors, centre, scale):
        bends = curvature.weighted_codes(
            Problem(self, np.zeros((self.n_rows, 1)), LOSS),
            *far(relation)[3:5],
            unbounded.squares,
            1e6,
            descent_unit(self.n_rows),
        )[1]
        standard = far(relation)[3]
        weights = bends[:, 0] / descent_unit(self.n_rows)
        return original(self, np.sqrt(weights / curvature_limit(standard)) * 2.0**15, centre, scale)

    def noted(problem, standard, mask, real=curvature.row_squares):
        unbounded.squares = real(problem, standard, mask)
        return unbounded.squares

    monkeypatch.setattr(curvature, "row_squares", noted)
    monkeypatch.setattr(BoundedData, "product_sums", unbounded)
    assert not within(*sums_of_both(*far(relation)))


def test_entries_off_the_diagonal_with_twice_their_share_are_caught(monkeypatch):
    """Both halves of a symmetric matrix in one number: √2 is what the norm of the triangle allows."""
    assert holds(Neighbours.ZERO_OUT)
    original = curvature._triangle_weights
    monkeypatch.setattr(curvature, "_triangle_weights", lambda size: original(size) ** 2)
    assert not holds(Neighbours.ZERO_OUT)


def is_the_curvature():
    X, y, standard, at = table()
    released = noisy_curvature(problem_of(LOSS, X, y), standard, at, 0.4, 1e-9, 1, SeededSource(3)).matrix
    return np.allclose(released, by_hand(X, standard, at, 0.4, curvature_limit(standard)), rtol=0, atol=ROUNDED)


def test_the_root_of_two_forgotten_in_the_sums_is_caught(monkeypatch):
    """It costs no privacy, but what is read off is then no curvature, and the charge is not used up."""
    assert is_the_curvature()
    original, all_ones = curvature.curvature_sums, lambda size: np.ones(size * (size + 1) // 2)

    def forgotten(*args):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(curvature, "_triangle_weights", all_ones)
            return original(*args)

    monkeypatch.setattr(curvature, "curvature_sums", forgotten)
    assert not is_the_curvature()
    one, other, sensitivity = sums_of_both(*tight(Neighbours.ZERO_OUT))
    assert math.sqrt(squared_distance(one, other)) / sensitivity < 0.9


def test_the_root_of_two_forgotten_altogether_is_caught_by_the_noise():
    """400 releases of 10 places: the noise beside the diagonal is 1, and not that over √2, as is said."""
    noise, _ = noise_of_curvatures(weights=lambda size: np.ones(size * (size + 1) // 2))
    rows, columns = np.triu_indices(5, 1)
    beside = noise[:, rows, columns]
    assert not within_five_standard_errors(beside.std(), 1 / math.sqrt(2), beside.size)


def test_a_curvature_charged_for_the_wrong_relation_is_caught():
    assert holds(Neighbours.REPLACE_ONE)
    assert not holds(Neighbours.REPLACE_ONE, contributions=1)


def trace_of_one_row(p):
    standard = standard_of(np.full(p, 0.37), np.full(p, 0.02), 1.0)
    at = Weights(np.zeros((1, p)), np.zeros(1))
    problem = problem_of(LOSS, np.full((1, p), -0.9), [0])
    sums, _ = np.split(curvature_sums(problem, standard, at, 1e6, curvature_limit(standard))._secret, 2)
    rows, columns = np.triu_indices(p + 1)
    return int(sums[rows == columns].sum())


def test_rows_rounded_away_from_zero_are_caught(monkeypatch):
    """A row at its limit is then longer than is charged for."""
    assert all(trace_of_one_row(p) <= ROW for p in (1, 8, 60))
    monkeypatch.setattr(np, "trunc", lambda z, out: np.copyto(out, np.copysign(np.ceil(np.abs(z)), z)))
    with pytest.MonkeyPatch.context() as patch:
        codes = np.zeros((1, 1)), np.full((1, 1), descent_unit(1) // 4)
        patch.setattr(curvature, "weighted_codes", lambda *args: codes)
        assert any(trace_of_one_row(p) > ROW for p in (1, 8, 60))
