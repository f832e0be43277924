"""Noisy descent: no row moves the released vector by more than it may, and the noise is as large as is said."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS
from hardzero.optim import descent
from hardzero.optim.descent import (
    Pace,
    descent_rows,
    descent_unit,
    noisy_descent,
    own_weights,
    prepare_descent,
    row_squares,
    weighted_codes,
    weighted_sums,
)
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.standardise import Standard
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from .cases import dense_and_sparse, every_loss, on_drawn_neighbours
from .neighbours import neighbours_of, problem_of, records, squared_distance, within
from .recorder import recording

STEPS = 4
ONCE = Pace(STEPS, 1.0, 0.5)


def standard_of(centre, scale, spread=1.0, rates=(0.5,), error=1e-3):
    """Released moments whose standardised features have the given expected squares."""
    centre, scale = np.asarray(centre, dtype=float), np.asarray(scale, dtype=float)
    return Standard(centre, scale, np.broadcast_to(spread, centre.shape) * scale**2, error, np.asarray(rates))


@st.composite
def released(draw, loss, p):
    """Anything that earlier releases may have led to: moments, a mask, and where the descent starts."""
    of = lambda some, size: np.array(draw(st.lists(some, min_size=size, max_size=size)))  # noqa: E731
    centre = of(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1), p)
    scale = of(st.sampled_from([0.02, 0.02, 0.5, 20.0]) | st.floats(0.02, 2), p)
    spread = of(st.sampled_from([-3.0, 0.0, 1.0]) | st.floats(0, 1), p)
    rates = of(st.floats(0.1, 0.9), loss.outputs)
    mask = of(st.booleans(), loss.outputs * p).reshape(loss.outputs, p)
    if draw(st.booleans()) or not mask.any():
        mask[:] = True
    coef = of(st.sampled_from([0.0, 30.0, -30.0]) | st.floats(-3, 3), loss.outputs * p).reshape(loss.outputs, p)
    intercept = of(st.floats(-5, 5), loss.outputs)
    return standard_of(centre, scale, spread, rates), mask, Weights(coef, intercept)


def released_sums(problem, standard, start, plan, seed=0):
    with recording(seed=seed) as recorder:
        noisy_descent(problem, standard, start, plan, None)
    assert len(recorder.sums) == plan.steps
    assert set(recorder.sigmas) == {plan.sigma}
    return recorder.sums


def gradients_of_both(loss, relation, X, y, standard, mask, start, store=np.asarray, contributions=None, seed=0):
    """Pairs of sums at the same released points, and the sensitivity that the noise is made for.

    Everything in a plan comes from the public number of rows. So do later points, which under add/remove are
    compared only where the number of rows that are there cannot have entered: at the first step.
    """
    contributions = relation.contributions if contributions is None else contributions
    plan = prepare_descent(loss, standard, mask, len(X), ONCE, contributions)
    one, other = (
        released_sums(problem_of(loss, *side, store), standard, start, plan, seed)
        for side in neighbours_of(relation, X, y)
    )
    steps = 1 if relation is not Neighbours.REPLACE_ONE else STEPS
    return list(zip(one, other, strict=True))[:steps], plan.sigma


@on_drawn_neighbours(max_examples=60)
def test_gradients_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    X, y = data.draw(records(loss))
    standard, mask, start = data.draw(released(loss, X.shape[1]))
    seed = data.draw(st.integers(0, 100))
    pairs, sensitivity = gradients_of_both(loss, relation, X, y, standard, mask, start, store, seed=seed)
    assert all(within(one, other, sensitivity) for one, other in pairs)


@on_drawn_neighbours(max_examples=60)
def test_sums_at_any_released_place_move_by_no_more_than_their_sensitivity(loss, relation, store, data):
    """By the sums alone, on tables of which one may have fewer rows than is public."""
    X, y = data.draw(records(loss))
    standard, mask, at = data.draw(released(loss, X.shape[1]))
    plan = prepare_descent(loss, standard, mask, len(X), ONCE, relation.contributions)
    at = Weights(at.coef * mask, at.intercept)
    one, other = (
        weighted_sums(problem.rows.then(descent_rows, standard, mask), standard, at, plan)._secret
        for problem in (problem_of(loss, *side, store) for side in neighbours_of(relation, X, y))
    )
    assert len(one) == mask.sum() + 2 * loss.outputs
    assert within(one, other, plan.sigma)


def worst_pair(loss, relation):
    """A row far from the centre, and none, or the same row with another label: opposite gradients, both at the limit.

    For either label a row's weight is the same, so under zero-out the label is the one that fits least.
    """
    p = 3
    standard = standard_of(np.zeros(p), np.full(p, 0.05), rates=np.full(loss.outputs, 0.5))
    X = np.array([[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    y = np.array([0, 1, 1])
    wrong = np.array([-12.0]) if loss.outputs == 1 else np.array([12.0, -12.0, -12.0])
    start = Weights(np.zeros((loss.outputs, p)), wrong * (relation is not Neighbours.REPLACE_ONE))
    return (loss, relation, X, y, standard, np.ones((loss.outputs, p), dtype=bool), start)


@pytest.mark.parametrize(
    ("loss", "relation", "least"),
    [  # curvatures are charged beside gradients, 1/128 at most of what is charged: here they are next to nothing
        (Logistic(), Neighbours.ZERO_OUT, 0.99),
        (Logistic(), Neighbours.ADD_REMOVE, 0.99),
        (Logistic(), Neighbours.REPLACE_ONE, 0.99),  # one label and the other are opposite, at the same weight
        (Softmax(3), Neighbours.ZERO_OUT, 0.96),
        (Softmax(3), Neighbours.REPLACE_ONE, 0.8),  # residuals of two classes of three cannot be opposite
    ],
    ids=lambda part: getattr(part, "value", getattr(type(part), "__name__", part)),
)
def test_the_gradient_sensitivity_is_nearly_reached(loss, relation, least):
    pairs, sensitivity = gradients_of_both(*worst_pair(loss, relation))
    reached = math.sqrt(squared_distance(*pairs[0])) / sensitivity
    assert least < reached <= 1.0


@every_loss
def test_the_part_of_the_curvatures_is_nearly_reached(loss):
    """Short rows that the model knows nothing about: a half of their curvatures."""
    standard = standard_of([0.0], [1.0], rates=np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, 1), dtype=bool)
    plan = prepare_descent(loss, standard, mask, 3, ONCE, 1)
    at = Weights(np.zeros((loss.outputs, 1)), np.zeros(loss.outputs))
    one, other = (
        weighted_sums(problem.rows.then(descent_rows, standard, mask), standard, at, plan)._secret
        for problem in (problem_of(loss, np.zeros((n, 1)), np.arange(n) % 2) for n in (3, 2))
    )
    bends = slice(-loss.outputs, None)
    reached = math.sqrt(squared_distance(one[bends], other[bends]))
    largest = descent._BEND_WEIGHT * loss.bend_norm * plan.one
    assert (0.999 if loss.outputs == 1 else 0.66) < reached / largest <= 1


@every_loss
def test_an_ordinary_row_reaches_the_whole_charge(loss):
    """Nothing is known about it: a gradient at the limit, and yet a weight of 1.

    With two classes it is as long as rows are expected to be, with three its square is half as long again.
    """
    standard = standard_of([0.0], [0.5], rates=np.full(loss.outputs, 0.5))
    size = 0.5 if loss.outputs == 1 else 0.7071
    pair = (loss, Neighbours.ZERO_OUT, np.array([[0.0], [0.0], [size]]), np.array([0, 1, 1]), standard)
    mask, start = np.ones((loss.outputs, 1), dtype=bool), Weights(np.zeros((loss.outputs, 1)), np.zeros(loss.outputs))
    pairs, sensitivity = gradients_of_both(*pair, mask, start)
    assert (0.999 if loss.outputs == 1 else 0.9) < math.sqrt(squared_distance(*pairs[0])) / sensitivity <= 1


def standardised(problem, standard):
    """Every row in rational arithmetic, at the doubles that are used, with a 1 for the intercept."""
    for row in (problem.data.columns() * FEATURE_ONE).astype(int):
        yield [
            (Fraction(int(x), FEATURE_ONE) - Fraction(c)) / Fraction(s)
            for x, c, s in zip(row, standard.centre, standard.scale, strict=True)
        ]


@every_loss
@settings(max_examples=60)
@given(st.data())
def test_each_row_alone_is_no_longer_than_the_clip_with_any_label(loss, data):
    """In rational arithmetic, at the doubles that are used: no rounding hides anything."""
    X, _ = data.draw(records(loss))
    standard, mask, start = data.draw(released(loss, X.shape[1]))
    plan = prepare_descent(loss, standard, mask, len(X), ONCE, 1)
    at = Weights(start.coef * mask, start.intercept)
    limit = (Fraction(plan.clip) * plan.one) ** 2
    most_bent = (Fraction(loss.bend_norm) * plan.one) ** 2
    bent = []
    for label in range(max(loss.outputs, 2)):
        problem = problem_of(loss, X, np.full(len(X), label))
        squares = row_squares(problem, standard, mask)
        codes, bends = weighted_codes(problem, standard, at, squares, plan.clip, plan.one)
        assert all(sum(int(bend) ** 2 for bend in row) <= most_bent for row in bends)
        for z, code in zip(standardised(problem, standard), codes, strict=True):
            squares = [1 + sum(z[j] ** 2 for j in np.flatnonzero(mask[k])) for k in range(loss.outputs)]
            assert sum(int(c) ** 2 * square for c, square in zip(code, squares, strict=True)) <= limit
        bent.append(bends)
    assert all(np.array_equal(bends, bent[0]) for bends in bent)


@dense_and_sparse
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Softmax(9)], ids=["2", "3", "9"])
def test_a_rows_codes_do_not_depend_on_the_other_rows(loss, store):
    """To the last bit, wherever the row stands and however many others there are (two rows or more)."""
    rng = np.random.default_rng(12)
    X, y = rng.uniform(-1, 1, size=(70, 5)), rng.integers(0, max(loss.outputs, 2), size=70)
    moments = standard_of(rng.uniform(-1, 1, 5), rng.uniform(0.1, 1, 5), rates=np.full(loss.outputs, 0.3))
    at = Weights(rng.standard_normal((loss.outputs, 5)), rng.standard_normal(loss.outputs))

    for mask in (np.ones((loss.outputs, 5), dtype=bool), rng.random((loss.outputs, 5)) < 0.6):

        def codes(rows, mask=mask):
            problem = problem_of(loss, X[rows], y[rows], store)
            return np.hstack(
                weighted_codes(problem, moments, at, row_squares(problem, moments, mask), 0.8, descent_unit(70))
            )

        whole = codes(np.arange(70))
        for size in range(2, 70):
            rows = rng.permutation(70)[:size]
            assert np.array_equal(codes(rows), whole[rows])


@every_loss
def test_the_sums_are_those_of_the_weighted_gradients_and_curvatures(loss):
    """Against ordinary floating point, with a mask that differs between outputs: places and units are as said."""
    rng = np.random.default_rng(13)
    X, y = rng.uniform(-1, 1, size=(40, 4)), rng.integers(0, max(loss.outputs, 2), size=40)
    standard = standard_of(rng.uniform(-0.5, 0.5, 4), rng.uniform(0.2, 1, 4), rates=np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, 4), dtype=bool)
    mask[0, 2] = False
    problem = problem_of(loss, X, y)
    at = Weights(rng.standard_normal((loss.outputs, 4)) * mask, rng.standard_normal(loss.outputs))
    plan = prepare_descent(loss, standard, mask, 40, ONCE, 1)
    sums = weighted_sums(problem.rows.then(descent_rows, standard, mask), standard, at, plan)._secret / plan.one
    z = (problem.data.columns() - standard.centre) / standard.scale
    margins = z @ at.coef.T + at.intercept
    classes = range(max(loss.outputs, 2))
    residuals = [loss.residual(margins, problem_of(loss, X, np.full(40, label)).targets) for label in classes]
    squares = 1 + (z**2) @ mask.T
    longest = np.max([np.sqrt((residual**2 * squares).sum(axis=1)) for residual in residuals], axis=0)
    weight = np.minimum(1, plan.clip / longest)[:, None]
    assert 0.2 < np.mean(weight < 1) <= 1
    residual = loss.residual(margins, problem.targets) * weight
    chance = residuals[0] if loss.outputs == 1 else residuals[0] + (np.arange(loss.outputs) == 0)
    bends = (chance * (1 - chance) * weight).sum(axis=0)
    expected = np.concatenate([(residual.T @ z)[mask], residual.sum(axis=0), bends / 2])
    assert sums == pytest.approx(expected, abs=1e-4)


def adversarial_map(rng, n_rows, p):
    """Sums near their limits, scales near their floor."""
    least, most = (rows * descent_unit(n_rows) for rows in (int(0.9 * n_rows), n_rows))
    gradient = rng.integers(least * FEATURE_ONE, most * FEATURE_ONE, size=p, endpoint=True)
    residual = -rng.integers(least, most, size=1, endpoint=True)
    centre = rng.uniform(0.9, 1.0, size=p)
    scale = np.where(rng.random(p) < 0.5, math.sqrt(0.02**2), rng.uniform(0.02, 0.0201, size=p))
    return gradient, residual, standard_of(centre, scale)


@pytest.mark.parametrize("n_rows", [10, 10**5, 2**26, 2**26 + 1, MAX_ROWS])
def test_the_slack_covers_the_linear_map_in_floating_point(n_rows):
    """Against rational arithmetic, within the proof's bound; twice that is within the slack of every coordinate."""
    p = 400
    gradient, residual, standard = adversarial_map(np.random.default_rng(6), n_rows, p)
    mask = np.ones((1, p), dtype=bool)
    bends = np.array([int(0.25 * n_rows) * descent_unit(n_rows) - 1])
    sums = descent._standardised_sums(np.concatenate([gradient, residual, bends]), standard, mask)
    assert len(sums) == p + 2
    bound = Fraction(1, 2) + Fraction(300 * n_rows * descent_unit(n_rows), 2**53) * (1 + Fraction(1, 2**40))
    worst = Fraction(0)
    for j in range(p):
        exact = Fraction(int(gradient[j]), FEATURE_ONE) - int(residual[0]) * Fraction(standard.centre[j])
        worst = max(worst, abs(int(sums[j]) - exact / Fraction(standard.scale[j])))
    assert sums[-2] == residual[0]
    assert abs(sums[-1] - Fraction(int(bends[0]), 2)) <= Fraction(1, 2)
    assert worst <= bound
    assert worst > bound / 5  # the bound is no empty one
    assert 2 * bound <= 6


@every_loss
@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize("n_rows", [10**6, 10**9])
def test_sigma_is_noise_times_length_and_slack(loss, contributions, n_rows):
    standard = standard_of(np.zeros(3), np.ones(3), [1.0, 0.5, -2.0], np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, 3), dtype=bool)
    mask[0, 1] = False
    plan = prepare_descent(loss, standard, mask, n_rows, Pace(9, 3.7, 0.8), contributions)
    d = int(mask.sum()) + 2 * loss.outputs
    length = math.hypot(plan.clip, 0.5 * loss.bend_norm)
    sensitivity = contributions * math.ceil(length * descent_unit(n_rows)) + math.ceil(6 * math.sqrt(d))
    assert plan.sigma == math.ceil(3.7 * sensitivity)
    assert (plan.steps, plan.tail) == (9, 0.8)
    # Half of a row's expected length, the intercept counted; with several classes all of it.
    assert 0.5 < plan.clip / loss.residual_norm**2 < 1.0
    assert np.array_equal(plan.mask, mask)


def test_curvatures_cost_next_to_nothing_beside_the_shortest_gradient():
    """Which is half a row's expected length, with several classes all of it, with no feature at all."""
    standard = standard_of(np.zeros(1), np.ones(1), -2.0)
    for loss, dearer in ((Logistic(), 1.03), (Softmax(3), 1.03)):
        plan = prepare_descent(loss, standard, np.ones((loss.outputs, 1), dtype=bool), 100, ONCE, 1)
        assert plan.clip == pytest.approx(0.5 * loss.residual_norm**2 * math.sqrt(1.1))
        assert plan.sigma / plan.one / plan.clip < dearer


# --- What is told of the path -------------------------------------------------------------------------------------


class Heard:
    """The places that gradients were asked for at, and what was released there."""

    def __init__(self):
        self.places, self.slopes, self.bends = [], [], []


def heard_descent(problem, standard, start, plan, seed=0):
    heard, sums, gradient = Heard(), descent.weighted_sums, descent._noisy_gradient

    def listening(rows, standard, at, plan):
        heard.places.append(at)
        return sums(rows, standard, at, plan)

    def noted(*args):
        slope, bend = gradient(*args)
        heard.slopes.append(slope)
        heard.bends.append(bend)
        return slope, bend

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent, "weighted_sums", listening)
        patch.setattr(descent, "_noisy_gradient", noted)
        return noisy_descent(problem, standard, start, plan, SeededSource(seed)), heard


@every_loss
@pytest.mark.parametrize("tail", [0.3, 0.5, 0.8, 1.0])
def test_a_path_is_the_sums_of_what_was_released_and_where(loss, tail):
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-1, 1, size=(500, 4)), rng.integers(0, max(loss.outputs, 2), size=500)
    mask = rng.random((loss.outputs, 4)) < 0.7
    mask[:, 0] = True
    standard = standard_of(np.zeros(4), np.full(4, 0.6), rates=np.full(loss.outputs, 1 / 3))
    plan = prepare_descent(loss, standard, mask, 500, Pace(11, 1.0, tail), 1)
    start = Weights(np.ones((loss.outputs, 4)), np.full(loss.outputs, 0.2))
    path, heard = heard_descent(problem_of(loss, X, y), standard, start, plan)
    at, slope = (np.array([part.coef for part in parts]) for parts in (heard.places, heard.slopes))
    assert np.array_equal(at[0], start.coef * mask)
    assert path.steps == len(at) == 11
    assert path.noise == plan.sigma / plan.one
    if loss.outputs > 1:  # less the mean over three classes of a third each, by what is left of 1
        at = (at - at.mean(axis=1, keepdims=True)) / (2 / 3)
    for told, each in zip(
        (path.places, path.slopes, path.squares, path.products), (at, slope, at**2, at * slope), strict=True
    ):
        assert told == pytest.approx(each.sum(axis=0))
    error = path.noise / 0.5 / math.sqrt(11)
    assert path.bend == pytest.approx(np.maximum(np.mean(heard.bends, axis=0) - error, error / 2))
    count = path.landing.steps
    assert count == 11 - math.ceil(11 * (1 - tail))
    for told, parts in ((path.landing.at, heard.places), (path.landing.slope, heard.slopes)):
        assert told.coef == pytest.approx(np.mean([part.coef for part in parts[-count:]], axis=0))
        assert told.intercept == pytest.approx(np.mean([part.intercept for part in parts[-count:]], axis=0))


def test_two_descents_one_after_the_other_are_one_path_that_lands_where_the_later_one_does():
    loss, rng = Logistic(), np.random.default_rng(8)
    X, y = rng.uniform(-1, 1, size=(500, 4)), rng.integers(0, 2, size=500)
    standard, start = standard_of(np.zeros(4), np.full(4, 0.6)), Weights(np.ones((1, 4)), np.zeros(1))
    plan = prepare_descent(loss, standard, np.ones((1, 4), dtype=bool), 500, Pace(11, 1.0, 0.5), 1)
    first = noisy_descent(problem_of(loss, X, y), standard, start, plan, SeededSource(0))
    later = noisy_descent(problem_of(loss, X, y), standard, first.landing.at, plan.onwards(7), SeededSource(1))
    both = first.then(later)
    assert (first.landing.steps, later.landing.steps, both.steps) == (5, 7, 18)
    assert both.landing is later.landing
    assert both.noise == first.noise == later.noise
    for sums in ("places", "slopes", "squares", "products"):
        assert getattr(both, sums) == pytest.approx(getattr(first, sums) + getattr(later, sums))
    assert both.bend == pytest.approx((11 * first.bend + 7 * later.bend) / 18)


@every_loss
@pytest.mark.parametrize("lost", ["coef", "intercept"])
def test_no_gradient_is_asked_for_where_weights_are_no_numbers(loss, lost):
    """A row's part is short at every place, but not at none: NaN as a whole number can be as large as any."""
    X, y = np.ones((20, 2)), np.arange(20) % 2
    standard = standard_of(np.zeros(2), np.ones(2), rates=np.full(loss.outputs, 1 / 3))
    at = {"coef": np.zeros((loss.outputs, 2)), "intercept": np.zeros(loss.outputs)}
    at[lost].flat[-1] = np.nan
    plan = prepare_descent(loss, standard, np.ones((loss.outputs, 2), dtype=bool), 20, ONCE, 1)
    with recording() as heard, pytest.raises(FloatingPointError, match="larger epsilon"):
        noisy_descent(problem_of(loss, X, y), standard, Weights(**at), plan, SeededSource(0))
    assert not heard.sums


def test_own_weights_are_what_slopes_of_several_classes_rise_with():
    """κ·s·(own weight) is the slope at small weights: hardly any noise, and classes without any signal."""
    loss, rng, n = Softmax(3), np.random.default_rng(0), 200_000
    rates = np.array([0.5, 0.3, 0.2])
    X, y = rng.uniform(-1, 1, size=(n, 1)), rng.choice(3, size=n, p=rates)
    standard = standard_of([0.0], [math.sqrt(1 / 3)], 1.0, rates=rates)
    mask, at = np.ones((3, 1), dtype=bool), np.array([[0.1], [-0.3], [0.2]])
    plan = prepare_descent(loss, standard, mask, n, Pace(1, 1e-9, 1.0), 1)
    path, _ = heard_descent(problem_of(loss, X, y), standard, Weights(at, np.log(rates)), plan)
    np.testing.assert_allclose(path.slopes, path.bend[:, None] * own_weights(at, rates[:, None]), rtol=0.2)
    assert path.slopes[0, 0] / path.bend[0] > 1.5 * at[0, 0]  # more than with no other classes


@every_loss
def test_steps_are_nesterovs_along_the_released_gradients(loss):
    rng = np.random.default_rng(8)
    X, y = rng.uniform(-1, 1, size=(300, 3)), rng.integers(0, max(loss.outputs, 2), size=300)
    standard = standard_of(np.zeros(3), np.full(3, 0.6), rates=np.full(loss.outputs, 0.5))
    plan = prepare_descent(loss, standard, np.ones((loss.outputs, 3), dtype=bool), 300, Pace(12, 0.5, 0.5), 1)
    start = Weights(np.zeros((loss.outputs, 3)), np.zeros(loss.outputs))
    _, heard = heard_descent(problem_of(loss, X, y), standard, start, plan)
    for part in ("coef", "intercept"):
        at, slope = (np.array([getattr(w, part) for w in parts]) for parts in (heard.places, heard.slopes))
        moved = at - plan.rate * slope
        before = np.concatenate([at[:1], moved[:-1]])
        assert at[1:] == pytest.approx((moved + 0.9 * (moved - before))[:-1])


def test_masked_weights_stay_zero_and_others_move():
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-1, 1, size=(500, 4)), rng.integers(0, 3, size=500)
    mask = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]], dtype=bool)
    loss = Softmax(3)
    standard = standard_of(np.zeros(4), np.full(4, 0.6), rates=np.full(3, 1 / 3))
    plan = prepare_descent(loss, standard, mask, 500, Pace(10, 1.0, 0.5), 1)
    path = noisy_descent(
        problem_of(loss, X, y), standard, Weights(np.ones((3, 4)), np.zeros(3)), plan, SeededSource(8)
    )
    assert np.array_equal(path.landing.at.coef != 0, mask)
    assert np.all(np.isfinite(path.landing.at.intercept))
    for told in (path.slopes, path.products, path.landing.slope.coef):
        assert np.array_equal(told != 0, mask)


@dense_and_sparse
def test_without_much_noise_the_optimum_is_found(store):
    """A weight that does not see the label does not move the optimum of a model that is right.

    Standard errors of weights and intercept are 0.08, 0.07 and 0.04: within three of them.
    """
    rng = np.random.default_rng(9)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = rng.random(4000) < 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] + 0.5)))
    standard = standard_of(X.mean(axis=0), X.std(axis=0), rates=[y.mean()])
    plan = prepare_descent(Logistic(), standard, np.ones((1, 2), dtype=bool), 4000, Pace(200, 1e-3, 0.3), 1)
    start = Weights(np.zeros((1, 2)), np.zeros(1))
    path = noisy_descent(problem_of(Logistic(), X, y, store), standard, start, plan, SeededSource(10))
    end = path.landing.at
    coef = end.coef / standard.scale
    assert coef[0] == pytest.approx([2.0, -1.0], abs=0.24)
    assert end.intercept - coef @ standard.centre == pytest.approx(0.5, abs=0.12)
    assert np.abs(path.landing.slope.coef).max() < 1.0  # of 4,000 rows: at rest
    assert 0.1 * 4000 < path.bend[0] < 0.25 * 4000


@every_loss
def test_the_told_curvature_is_less_than_the_true_one_and_never_nothing(loss):
    """By one standard error; where noise is all there is, by half of one at least. 40 seeds, five standard errors."""
    rng = np.random.default_rng(11)
    X, y = rng.uniform(-0.1, 0.1, size=(400, 2)), rng.integers(0, max(loss.outputs, 2), size=400)
    standard = standard_of(np.zeros(2), np.ones(2), rates=np.full(loss.outputs, 0.5))
    mask = np.ones((loss.outputs, 2), dtype=bool)
    start = Weights(np.zeros(mask.shape), np.zeros(loss.outputs))
    chance = 1 / max(loss.outputs, 2)
    for noise in (1e-6, 30.0):
        plan = prepare_descent(loss, standard, mask, 10**9, Pace(20, noise, 0.5), 1)  # so short steps that it stays
        paths = [
            noisy_descent(problem_of(loss, X, y), standard, start, plan, SeededSource(seed)) for seed in range(40)
        ]
        told = np.array([path.bend for path in paths])
        error = plan.sigma / plan.one / 0.5 / math.sqrt(20)
        true = 400 * chance * (1 - chance) * np.minimum(1, plan.clip / math.sqrt(0.5 + 0.25 * (loss.outputs == 1)))
        assert np.all(told >= error / 2)
        if noise < 1:
            assert told == pytest.approx(np.full(told.shape, true), rel=0.02)
        else:
            assert np.mean(told) == pytest.approx(true - error, abs=5 * error / math.sqrt(told.size))


def test_what_is_released_beside_the_gradient_has_its_own_noise():
    """Slopes, intercepts and curvatures of all steps: σ each, curvatures σ over their weight.

    2,400, 600 and 600 values: five standard errors of their standard deviations.
    """
    rng = np.random.default_rng(14)
    X, y = rng.uniform(-1, 1, size=(30, 4)), rng.integers(0, 3, size=30)
    loss = Softmax(3)
    standard = standard_of(np.zeros(4), np.ones(4), rates=np.full(3, 1 / 3))
    plan = prepare_descent(loss, standard, np.ones((3, 4), dtype=bool), 10**9, Pace(200, 100.0, 0.5), 1)
    start = Weights(np.zeros((3, 4)), np.zeros(3))
    path, heard = heard_descent(problem_of(loss, X, y), standard, start, plan)
    parts = [[s.coef for s in heard.slopes], [s.intercept for s in heard.slopes], np.array(heard.bends) * 0.5]
    for part in parts:
        values = np.array(part).ravel() / path.noise
        assert values.std() == pytest.approx(1.0, abs=5 / math.sqrt(2 * len(values)))
        assert values.mean() == pytest.approx(0.0, abs=5 / math.sqrt(len(values)) + 0.05)
    whole = np.hstack([np.array(part).reshape(200, -1) for part in parts])
    correlations = np.corrcoef(whole.T)
    assert max(abs(correlations[i, j]) for i, j in itertools.combinations(range(18), 2)) < 5 / math.sqrt(200)
