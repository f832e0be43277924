"""Constants in the proofs of noisy descents, their row weights and the curvature, and of perturbed objectives."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, softmax

from hardzero import kernels
from hardzero.data.bounded import MAX_ROWS, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.methods.select_refit_plan import plan_select_refit
from hardzero.optim import curvature as released_curvature
from hardzero.optim import descent
from hardzero.optim.descent import Pace, descent_unit, noisy_descent, prepare_descent
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.problem import Problem
from hardzero.optim.standardise import Standard
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import PerturbedMinimum
from hardzero.privacy.randomness import SeededSource

from .drawn import SEEDS, SMALL

# --- Weighted rows and the curvature ------------------------------------------------------------------------------


either_unit = pytest.mark.parametrize("one", [descent_unit(1), descent_unit(MAX_ROWS)], ids=["fine", "coarse"])


def labels(count, outputs):
    """Every label, for ``count`` rows of each."""
    classes = np.arange(max(outputs, 2))
    return [np.full((count, 1), float(y)) if outputs == 1 else np.full(count, y) for y in classes]


@either_unit
@given(SEEDS, st.sampled_from([1, 3, 9]), st.floats(0.52, 6), st.floats(0, 12), st.booleans())
@SMALL
def test_no_weighted_gradient_is_too_long_for_any_label(one, seed, outputs, clip, size, apart):
    """Section 8 of select-refit.md, in whole numbers."""
    rng = np.random.default_rng(seed)
    margins, offset = rng.normal(0, size, (40, outputs)), rng.normal(0, 1, outputs)
    squares = 1 + rng.exponential(20, (40, outputs if apart else 1))
    bends_seen = []
    for targets in labels(40, outputs):
        codes, bends = kernels.weighted_codes(margins, offset, targets, squares, clip * (1 - 1e-9), one)
        for row, lengths in zip(codes, np.broadcast_to(squares, codes.shape), strict=True):
            total = sum(int(code) ** 2 * Fraction(length) for code, length in zip(row, lengths, strict=True))
            assert total <= (Fraction(clip) * one) ** 2
        bends_seen.append(bends)
    assert all(np.array_equal(bends, bends_seen[0]) for bends in bends_seen)
    bend_norm = (Logistic() if outputs == 1 else Softmax(outputs)).bend_norm
    assert np.all(np.square(bends_seen[0].astype(np.int64)).sum(axis=1) <= (bend_norm * one) ** 2)


@either_unit
def test_a_row_of_typical_length_reaches_the_bound(one):
    clip = 2.0
    codes, bends = kernels.weighted_codes(
        np.zeros((1, 1)), np.zeros(1), np.ones((1, 1)), np.full((1, 1), 4 * clip**2), clip * (1 - 1e-9), one
    )
    length = math.hypot(int(codes[0, 0]) * 2 * clip, int(bends[0, 0]) / 2)
    bound = math.hypot(clip, 1 / 8) * one
    assert bound - 2 * clip - 1 / 2 < length <= bound  # rounding towards zero takes less than one unit of either code


def test_how_much_larger_the_bound_of_a_descent_is_than_need_be():
    shortest = 0.5 * math.sqrt(1.1)
    assert shortest >= 0.52
    assert math.hypot(shortest, 1 / 8) / math.hypot(shortest, 1 / 16) <= 1.03
    assert math.hypot(shortest, 1 / 4) / shortest == pytest.approx(1.11, abs=0.005)
    assert math.hypot(shortest, math.sqrt(4 / 27) / 2) / shortest == pytest.approx(1.07, abs=0.006)


def one_row_matrices(seed, n=30, p=4):
    """The whole-number matrices that each row alone adds to the curvature and to the products of gradients."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0, 0.25, 0.0], (n, p)) * rng.uniform(0.5, 1, (n, p))
    scale = rng.uniform(0.02, 0.6, p)
    standard = Standard(rng.uniform(-0.5, 0.5, p), scale, scale**2, 0.0, np.array([0.5]))
    at = Weights(rng.normal(0, 0.3, (1, p)), rng.normal(0, 1, 1))
    limit = released_curvature.curvature_limit(standard)
    for row in X:
        data = BoundedData.from_matrix(row[None], Bounds.parse((-1, 1), p))
        problem = Problem(data, np.ones((1, 1)), Logistic())
        sums = released_curvature.curvature_sums(problem, standard, at, math.sqrt(limit), limit)
        yield np.split(sums._secret, 2)


@given(SEEDS)
@SMALL
def test_one_row_adds_matrices_of_norm_two_to_the_thirty_the_second_with_half_its_weight(seed):
    size = 5
    rows, columns = np.triu_indices(size)
    for both in one_row_matrices(seed):
        norms = []
        for weight, sums in zip((1.0, 0.5), both, strict=True):
            vector = sums.tolist()
            trace = sum(value for value, i, j in zip(vector, rows, columns, strict=True) if i == j)
            assert trace <= weight * 2**30 + size / 2
            norms.append(math.sqrt(sum(value**2 for value in vector)))
            assert norms[-1] == pytest.approx(trace, abs=1 + math.sqrt(size * (size + 1)))  # rank one: ‖uuᵀ‖ = ‖u‖²
        slack = released_curvature._SLACK * math.ceil(math.sqrt(size * (size + 1)))
        assert math.hypot(*norms) <= released_curvature._LONGEST + slack
    assert math.ceil(math.sqrt(5) / 2 * 2**30) == released_curvature._LONGEST


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-3, 1e6), st.floats(0.01, 1e4), st.booleans())
def test_no_row_is_lowered_in_the_products_of_gradients(chance, square, expected, label):
    """Section 4 of unbiased-weights.md: a weighted gradient is no longer than the clip, whose square is the limit."""
    clip = 0.5 * math.sqrt(expected)
    weight = min(1.0, clip / (max(chance, 1 - chance) * math.sqrt(square)))
    assert (weight * (chance - label)) ** 2 * square <= 0.25 * expected * (1 + 1e-12)


def test_longer_rows_would_be_noticed(monkeypatch):
    """The broken twin: lengths that forget the centre."""
    monkeypatch.setattr(
        released_curvature, "row_squares", lambda problem, standard, mask: np.ones((problem.data.n_rows, 1))
    )
    longest = max(np.linalg.norm(sums.astype(float)) for seed in range(5) for sums, _ in one_row_matrices(seed))
    assert longest > 1.5 * 2**30


@pytest.mark.parametrize("beside", [False, True])
def test_rounding_of_the_largest_sums_of_a_curvature(beside):
    """Section 4 of curvature.md: the factor is one double for both tables; sums near the largest, exactly."""
    factor = math.sqrt(2) if beside else 1.0
    most = MAX_ROWS * 2**30 // (2 if beside else 1)
    rng = np.random.default_rng(0)
    sums = most - rng.integers(0, 2**24, 20_000)
    released = np.rint(sums * factor).astype(np.int64)
    errors = [abs(int(r) - Fraction(factor) * int(s)) for r, s in zip(released, sums, strict=True)]
    bound = (32 * factor + 64 if beside else 64) + 0.5
    assert 0.9 * (bound - 0.5) <= max(errors) <= bound
    assert 2 * bound <= (219.6 if beside else 129) < released_curvature._SLACK
    # Without the bound by the mean of two squares.
    assert 2 * (64 * math.sqrt(2) + 128 + 0.5) <= 438.1 < released_curvature._SLACK
    assert 2**14 * 2**30 < 2**53
    assert MAX_ROWS * 2**30 == 2**60
    assert abs(Fraction(math.sqrt(2)) ** 2 / 2 - 1) <= 1.4 * Fraction(1, 2**53)


def test_limits_of_clipping_and_of_weights_that_do_not_look_at_the_label():
    """unbiased-weights.md: one normal feature and an intercept, by quadrature over it."""
    z, mass = np.polynomial.hermite_e.hermegauss(200)
    length, longest = np.hypot(z, 1), 0.5 * math.sqrt(2)

    def mean_gradient(weight, true, label_free):
        chance, truth = expit(weight * z), expit(true * z)
        away = [np.maximum(chance, 1 - chance)] * 2 if label_free else [chance, 1 - chance]
        with np.errstate(divide="ignore"):
            zero, one = (np.minimum(1, longest / (far * length)) for far in away)
        return np.sum(mass * z * ((1 - truth) * zero * chance - truth * one * (1 - chance)))

    for true, factor in ((0.5, 1.72), (1.0, 1.44), (2.0, 1.26)):
        clipped, weighted = (brentq(mean_gradient, 1e-3, 20, args=(true, free)) for free in (False, True))
        assert clipped / true == pytest.approx(factor, abs=0.005)
        assert weighted / true == pytest.approx(1, abs=1e-9)


@either_unit
@pytest.mark.parametrize("rate", [0.5, 0.1, 0.01])
def test_what_rounding_towards_zero_takes_from_a_mean_residual(rate, one):
    """unbiased-weights.md, doubts: (p - ½) units for a share p of ones; five standard errors of 300,000 roundings."""
    n, rng = 300_000, np.random.default_rng(5)
    margins = math.log(rate / (1 - rate)) + rng.normal(0, 0.5, (n, 1))
    y = (rng.random((n, 1)) < expit(margins)).astype(float)
    codes, _ = kernels.weighted_codes(margins, np.zeros(1), y, np.ones((n, 1)), 10.0, one)
    lost = np.mean(codes / one - (expit(margins) - y)) * one
    assert lost == pytest.approx(y.mean() - 0.5, abs=5 / math.sqrt(12 * n))


@pytest.mark.parametrize(
    ("rows", "rate"), [(10**6, 9.1e-7), (2**26, 2**-14), (2**26 + 1, 0.015), (10**8, 0.022), (MAX_ROWS, 0.15)]
)
def test_how_rare_a_class_is_for_which_that_is_more_than_the_sampling_error(rows, rate):
    """The same page: rows have a weight of a half, as those of expected length have where one class is rare."""

    def ratio(rate):
        return (0.5 - rate) / descent_unit(rows) / (0.5 * math.sqrt(rate * (1 - rate) / rows))

    assert brentq(lambda rate: ratio(rate) - 1, 1e-9, 0.4999) == pytest.approx(rate, rel=0.03)
    assert 1 / (2 * math.sqrt(10**9)) > 1 / RESIDUAL_ONE


@given(st.floats(0, 1), st.floats(1, 100), st.floats(1.1, 100))
@SMALL
def test_sampling_is_at_most_the_released_curvature(chance, square, expected):
    limit, far = expected / 4, max(chance, 1 - chance)
    weight = min(1, math.sqrt(limit / square) / far)
    bend = chance * (1 - chance)
    assert weight**2 * bend <= min(weight * bend, limit / square) * (1 + 1e-12)
    assert descent._CLIP**2 == released_curvature._LARGEST


@pytest.mark.parametrize(
    ("rows", "features", "has_screen", "has_curvature"),
    [
        (50_000, 30, False, True),
        (50_000, 10**5, True, True),
        (400, 30, False, False),
        (400, 5000, True, False),
    ],
)
def test_shares_of_a_plan_add_up(rows, features, has_screen, has_curvature):
    plan = plan_select_refit(Budget(1.0, rows**-1.5), Neighbours.ZERO_OUT, rows, features, 1, max_features=20)
    releases = plan.releases
    assert (releases.screen is not None, releases.curvature_noise is not None) == (has_screen, has_curvature)
    rho = [event.cost.rho for event in plan.events]
    total = sum(rho)
    if has_curvature:  # the refit goes on after it
        *before, refit, curvature, guided = rho
        assert guided / (refit + guided) == pytest.approx(0.8, abs=0.01)
        rho = [*before, refit + guided, curvature]
    expected = [0.02, 0.25] if has_screen else []
    left = 1 - sum(expected)
    expected += [
        left * share
        for share in ([0.02, 0.08, 0.2, 0.2, 0.4, 0.1] if has_curvature else [0.02, 0.08, 0.225, 0.225, 0.45])
    ]
    assert np.array(rho) / total == pytest.approx(expected)
    assert total >= accounting.rho_of_budget(plan.budget) * (1 - 1e-3)  # exact accounting leaves more


# --- Objective perturbation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bend", "ratio"), [(1e-12, 0.475), (0.1, 0.521)])
def test_objective_perturbation_needs_half_the_published_noise(bend, ratio):
    """Kifer, Smith and Thakurta's variance is (8·log(2/δ) + 4ε)/ε² gradients squared."""
    published = math.sqrt(8 * math.log(2 / 1e-5) + 4)
    inverse = accounting.most_within(
        Budget(1.0, 1e-5), lambda inverse: [PerturbedMinimum("weights", 1 / inverse, bend)], 1.0
    )
    assert 1 / inverse / published == pytest.approx(ratio, abs=5e-4)


def test_rounding_of_the_perturbed_minimum_stays_within_three_gaps():
    """Rounded to units of γ/2^12 in each of 8·10^6 coordinates, from within γ of the minimiser, on either side."""
    within = 1 + math.sqrt(8e6) * 0.5 / 2**12
    assert within <= 1.35
    assert 2 * within <= 2.7


# --- Relations, and the noisy descent -----------------------------------------------------------------------------


def test_slack_of_the_descent_covers_the_largest_table():
    """Section 9 of select-refit.md, for the least scale: the code allows 2 + 2^46·2^-44 units a coordinate."""
    u, scale = Fraction(1, 2**53), Fraction(2, 100)

    def apart(largest):
        one_side = (2 * largest * u + 2 * largest * (1 + u) * u) / scale * (1 + u) + 2 * largest * u / scale
        return 1 + 2 * one_side

    for rows in (2**26, MAX_ROWS):
        most = rows * descent_unit(rows)
        assert apart(most) == pytest.approx(5.69, abs=0.005)
        assert apart(most) <= 2 + most * Fraction(1, 2**44) == 6
        assert math.log2(100 * most) < 52.7
    assert (apart(2**44) - 1) == pytest.approx(1.1719, abs=5e-5)
    assert apart(1.145e9 * 2**16) < 6 < apart(1.146e9 * 2**16)


@SMALL
@given(SEEDS, st.integers(2, 30), st.floats(0, 20))
def test_second_derivatives_of_a_row_stay_within_their_norm(seed, classes, size):
    """π(1 - π) is at most ¼ for two classes; for more, the squares of all of them add up to at most 4/27."""
    chance = softmax(np.random.default_rng(seed).normal(0, size, (50, classes)), axis=1)
    bends = chance * (1 - chance)
    assert bends.max() <= Logistic().bend_norm
    assert np.linalg.norm(bends, axis=1).max() <= math.sqrt(4 / 27) * (1 + 1e-9) < Softmax(classes).bend_norm


def test_the_longest_gradient_over_all_labels_is_what_the_weight_is_made_from():
    """Σ π²q + max (1 - 2π_y) q_y is the largest of the squared lengths with a label each."""
    rng = np.random.default_rng(12)
    for classes in (2, 3, 9):
        chance, squares = softmax(rng.normal(0, 3, (200, classes)), axis=1), rng.uniform(0, 9, (200, classes))
        lengths = [((chance - (np.arange(classes) == y)) ** 2 * squares).sum(axis=1) for y in range(classes)]
        longest = (chance**2 * squares).sum(axis=1) + ((1 - 2 * chance) * squares).max(axis=1)
        assert np.max(lengths, axis=0) == pytest.approx(longest)


def test_slack_of_the_curvature_covers_the_largest_table():
    """Sums below 2⁶⁰ on the diagonal, 2⁵⁹ beside it: rounded to a double, times √2, rounded to an integer."""
    largest, u, root = MAX_ROWS * 2**30, Fraction(1, 2**53), Fraction(142, 100)
    diagonal = largest * u + Fraction(1, 2)
    beside = largest // 2 * u * root + largest // 2 * (1 + u) * root * u + Fraction(1, 2)
    assert (2 * diagonal, 2 * beside) == (257, pytest.approx(364.52))
    assert 2 * max(diagonal, beside) <= released_curvature._SLACK == 512
    assert largest * root < 2**62


def test_lengths_have_room_for_the_rounding_of_eight_million_columns():
    assert 8e6 * 2.0**-53 < 0.89e-9
    assert (8e6 + 80) * 2.0**-53 * (1 + 2e-8) < 0.999e-9


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=["two", "three"])
@pytest.mark.parametrize("public", [1, 50, 10**6])
def test_a_descent_stays_within_its_bound_however_far_the_public_number_is_off(loss, public):
    """relations.md: no weight or intercept moves by more than 10·T·(2N/n + rate·noise); noise of one unit here."""
    rng = np.random.default_rng(8)
    n, p, steps = 3000, 6, 40
    X = rng.uniform(-1, 1, (n, p))
    targets = (X[:, :1] > 0.2).astype(float) if loss.outputs == 1 else rng.integers(0, 3, n)
    problem = Problem(BoundedData.from_matrix(X, Bounds.parse((-1, 1), p)), targets, loss)
    scale = np.full(p, 0.02)
    standard = Standard(np.zeros(p), scale, scale**2, 1e-3, np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, p), dtype=bool)
    planned = prepare_descent(loss, standard, mask, public, Pace(steps, 1.0, 0.5), 1)
    rate, clip = planned.rate, planned.clip
    expected = loss.intercept_rate / (public * (p + 1.0)), 0.5 * loss.residual_norm**2 * math.sqrt(p + 1.0)
    assert (rate, clip) == pytest.approx(expected)
    assert rate * clip <= 2 / public
    start = Weights(np.zeros((loss.outputs, p)), np.zeros(loss.outputs))
    end = noisy_descent(problem, standard, start, replace(planned, sigma=1), SeededSource(9)).landing.at
    moved = max(np.abs(end.coef).max(), np.abs(end.intercept).max())
    noise = 20 / planned.one  # ten standard deviations, twice for an intercept
    assert 0 < moved <= 10 * steps * (2 * n / public + rate * noise)


def test_what_curvatures_add_to_the_bound_on_a_row_of_several_classes():
    """The third remark of select-refit.md, for the shortest clip that there can be."""
    none = Standard(np.zeros(1), np.ones(1), np.zeros(1), 1e-3, np.full(3, 0.5))
    clips = {
        loss.outputs: prepare_descent(
            loss, none, np.ones((loss.outputs, 1), dtype=bool), 100, Pace(8, 1.0, 0.5), 1
        ).clip
        for loss in (Logistic(), Softmax(3))
    }
    assert (math.floor(100 * clips[1]), math.floor(100 * clips[3])) == (52, 104)
    shares = [math.hypot(clips[3], bend / 2) / clips[3] - 1 for bend in (Softmax(3).bend_norm, 0.385)]
    assert [round(100 * share) for share in shares] == [3, 2]
