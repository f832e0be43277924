"""What released values say about weights: right as often as stated, and wrong where a source of noise is forgotten.

Paths, moments and curvatures are drawn from the model that docs/proofs/inference.md assumes, with fixed seeds. Every
test states how often it would fail if the seeds were drawn anew, its bounds being as far out as that.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hardzero.data.variables import Variables
from hardzero.methods import evidence, inference
from hardzero.methods.evidence import Trace, likely_chances, null_chances, possible_spreads
from hardzero.methods.inference import Estimate, estimate_weights, guide, q_values
from hardzero.optim.curvature import Curvature
from hardzero.optim.descent import Landing, Path
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.standardise import Standard
from hardzero.optim.walks import Guided

LEANING = 5.0
CALLED = 0.05
CLEAR = 0.3
"""Weights from here on, in standard deviations of their features, can be told from noise at the usual noise below."""


# --- What a descent would release, by the stated model --------------------------------------------------------------


def standard_of(variance, error=1e-9, centre=0.0):
    """Moments as they are, on features that are already standardised."""
    variance = np.asarray(variance, dtype=float)
    return Standard(np.full(len(variance), centre), np.ones(len(variance)), variance, error, np.array([0.5]))


def released_moments(rng, variance, error):
    released = variance + error * rng.standard_normal(len(variance))
    scale = np.sqrt(np.maximum(released, max(2 * error, 0.0004)))
    return Standard(np.zeros(len(variance)), scale, released, error, np.array([0.5]))


def descended(rng, optimum, spread, curvature=2000.0, noise=500.0, steps=100):
    """Nesterov steps along κ·s·(w - w*) + noise, feature by feature."""
    at, speed, sums = np.zeros(len(optimum)), np.zeros(len(optimum)), np.zeros((4, len(optimum)))
    for _ in range(steps):
        ahead = at + 0.9 * speed
        slope = curvature * spread * (ahead - optimum) + noise * rng.standard_normal(len(optimum))
        sums += [ahead, slope, ahead**2, ahead * slope]
        moved = ahead - 0.004 / curvature * slope
        at, speed = moved, moved - at
    landing = Landing(1, Weights(at[None], np.zeros(1)), Weights(slope[None], np.zeros(1)))
    path = Path(steps, noise, *sums[:, None], np.array([curvature]), landing)
    return Trace(path, np.ones((1, len(optimum)), dtype=bool), np.arange(len(optimum)))


def both_views(traces, standard, leaning):
    return null_chances(traces, standard, leaning, likely_chances(traces, standard))


class Simulated:
    """2,000 features, one in ten with a weight drawn with standard deviation ½; the first ``empty`` of them empty."""

    def __init__(self, seed, empty=0, error=0.005, curvature=2000.0, **descent):
        rng = np.random.default_rng(seed)
        variance = np.where(np.arange(2000) < empty, 0.0, 0.25)
        self.standard = released_moments(rng, variance, error)
        spread = variance / self.standard.scale**2
        self.is_empty = variance == 0
        self.truth = np.where(rng.random(2000) < 0.1, 0.5 * rng.standard_normal(2000), 0.0) * ~self.is_empty
        sampling = 1 / np.sqrt(curvature * np.where(self.is_empty, 1.0, spread))
        optimum = self.truth + sampling * rng.standard_normal(2000)
        self.traces = [descended(rng, optimum, spread, curvature, **descent)]
        self.rng, self.optimum, self.spread, self.curvature = rng, optimum, spread, curvature

    def chances(self, leaning=LEANING):
        found = both_views(self.traces, self.standard, leaning)
        return found.likely[0], found.careful[0]

    def descend_again(self, noise):
        self.traces.append(descended(self.rng, self.optimum, self.spread, self.curvature, noise))


def share_of_noise(cases, forget=lambda traces: traces, believed=lambda standard: standard):
    """Of all that is called real, by the likelier of both views."""
    called, wrong = 0, 0
    for case in cases:
        chances = likely_chances(forget(case.traces), believed(case.standard))[0]
        called += np.sum(chances < CALLED)
        wrong += np.sum((chances < CALLED) & (case.truth == 0))
    assert called > 100
    return wrong / called


# --- Chances of being noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [500.0, 20.0])
@pytest.mark.parametrize("curvature", [2000.0, 200.0])
def test_what_is_called_real_is_noise_no_more_often_than_stated(noise, curvature):
    """Some 300 calls, of which 1 % and not 5 % are noise: beyond the bound once in 10,000 sets of seeds."""
    cases = [Simulated(seed, curvature=curvature, noise=noise * curvature / 2000) for seed in range(2)]
    assert share_of_noise(cases) <= CALLED


def test_clear_weights_are_called_real():
    """Their mean gradient is five standard errors and more away from zero: one in 100 may be missed, none is."""
    for case in map(Simulated, range(3)):
        for chances in case.chances():
            assert np.mean(chances[np.abs(case.truth) > CLEAR] < CALLED) >= 0.99


def test_most_features_without_a_weight_are_thought_noise():
    """Nine in ten are; of those at most one in 100 looks likelier real."""
    for case in map(Simulated, range(3)):
        likely, _ = case.chances()
        assert np.mean(likely[case.truth == 0] > 0.5) >= 0.98
        assert 0.75 <= likely.mean() <= 0.95  # small weights and none look alike


def test_the_careful_view_leans_to_noise():
    for case in map(Simulated, range(3)):
        likely, careful = case.chances()
        assert careful.mean() > likely.mean()
        assert case.chances(leaning=1000.0)[1].mean() > careful.mean() + 0.005


def test_the_careful_view_does_not_believe_what_the_intercept_may_have_caused():
    """Slopes that an intercept off its optimum by as much would put into features whose mean is off."""
    case = Simulated(0)
    trace = case.traces[0]
    off = trace.path.landing._replace(slope=Weights(trace.path.landing.slope.coef, np.array([trace.path.bend[0]])))
    case.standard = replace(case.standard, error=0.5)
    before = case.chances()
    case.traces = [replace(trace, path=replace(trace.path, landing=off))]
    after = case.chances()
    np.testing.assert_array_equal(before[0], after[0])
    real = np.abs(case.truth) > CLEAR
    assert np.median(after[1][real]) > 10 * np.median(before[1][real])


def test_steps_without_noise_sharpen_the_view():
    case = Simulated(0, noise=1500.0)
    before = case.chances()[0]
    case.descend_again(noise=1e-3)
    after = case.chances()[0]

    def doubt(chances):
        return np.mean(np.minimum(chances, 1 - chances))

    small = (np.abs(case.truth) > 0.1) & (np.abs(case.truth) < CLEAR)  # above four sampling errors
    assert np.mean(after[small] < CALLED) > np.mean(before[small] < CALLED) + 0.1
    assert doubt(after) < doubt(before)


@pytest.mark.parametrize("at_once", [300, 1999])
def test_features_are_judged_alike_however_many_at_a_time(monkeypatch, at_once):
    case = Simulated(0, empty=3)
    case.traces.append(descended(case.rng, case.optimum[::2], case.spread[::2]))
    case.traces[1] = replace(case.traces[1], features=np.arange(0, 2000, 2))
    whole = case.chances()
    monkeypatch.setattr(evidence, "_AT_ONCE", at_once)
    np.testing.assert_allclose(case.chances(), whole, rtol=1e-12, atol=1e-15)


def test_only_features_that_took_part_are_judged_by_a_descent():
    case = Simulated(0)
    before = case.chances()[0]
    some = np.flatnonzero(np.abs(case.truth) > CLEAR)[:20]
    case.traces.append(replace(descended(case.rng, case.optimum[some], case.spread[some]), features=some))
    after = both_views(case.traces, case.standard, LEANING)
    assert np.all(after.likely[0, some] < CALLED)
    others = np.setdiff1d(np.arange(2000), some)
    np.testing.assert_allclose(after.likely[0, others], before[others], atol=0.05)  # but for how often sizes occur
    np.testing.assert_array_equal(after.at(some).careful, after.careful[:, some])


def test_weights_outside_the_mask_are_not_judged_by_a_descent():
    case = Simulated(0)
    trace = case.traces[0]
    case.traces = [replace(trace, mask=np.arange(2000)[None] >= 100)]
    likely, _ = case.chances()
    assert np.ptp(likely[:100]) < 1e-9  # all alike, as nothing is known of them


def test_features_that_may_be_empty_are_thought_as_likely_noise_as_others():
    """Half of the features, released as they are by noise alone: 1 in 400 is called real, and more than 1 in 100 once
    in 10,000 sets of seeds.
    """
    for case in (Simulated(seed, empty=1000) for seed in range(3)):
        for chances in case.chances():
            empty = chances[case.is_empty]
            assert np.median(empty) > 0.5
            assert np.quantile(empty, 0.05) > 0.25
            assert np.mean(empty < CALLED) <= 0.01


def test_variances_are_drawn_from_a_normal_law_cut_off_at_zero():
    seen, error = np.array([-50.0, -2.0, 0.0, 1.0, 3.0, 40.0]), 0.01
    standard = standard_of(seen * error, error)
    spreads = possible_spreads(replace(standard, scale=np.full(6, 0.5))) * 0.25
    assert np.all(spreads > 0)
    assert np.all(np.diff(spreads, axis=0) > 0)
    for j, mean in enumerate(np.maximum(seen, -6.0)):
        law = stats.truncnorm(-mean, np.inf, loc=mean * error, scale=error)
        np.testing.assert_allclose(law.cdf(spreads[:, j]), (np.arange(15) + 0.5) / 15, atol=1e-6)


def test_the_error_of_a_variance_grows_with_the_mean():
    """A mean square less the square of a mean: 2·mean times the mean's error comes on top. 2.5 % are 5σ."""
    rng, mean, error = np.random.default_rng(0), 0.8, 0.01
    drawn = 1.0 + error * rng.standard_normal(20_000) - (mean + error * rng.standard_normal(20_000)) ** 2
    standard = standard_of([0.36], error, centre=mean)
    np.testing.assert_allclose(standard.variance_error, np.std(drawn), rtol=0.025)
    np.testing.assert_allclose(np.std(possible_spreads(standard)), np.std(drawn), rtol=0.1)


# --- Twins: chances that forget a source of noise -------------------------------------------------------------------


def test_noise_of_the_moments_forgotten_is_noticed():
    """With three in four features empty: under 5 % of 200 calls are noise, and over 8 % for the twin."""
    cases = [Simulated(seed, empty=1500, steps=300) for seed in range(4)]
    assert share_of_noise(cases) <= CALLED
    assert share_of_noise(cases, believed=lambda standard: replace(standard, error=1e-9)) > 0.08


def test_features_that_are_empty_are_not_called_because_their_weights_drift(monkeypatch):
    """Three in four are, and nothing pulls back the weights that noise has moved. Hardly any is called, beside 200
    that are real; without the chance that there is no spread at all over 8 % of the calls are empty.
    """
    cases = [Simulated(seed, empty=1500, steps=300) for seed in range(4)]
    assert share_of_noise(cases) <= CALLED
    monkeypatch.setattr(evidence, "_log_odds_of_emptiness", lambda standard: np.full(2000, -np.inf))
    assert share_of_noise(cases) > 0.08


def test_sampling_error_forgotten_is_noticed():
    """By units in which it is a millionth of what it is and all else the same: then nearly everything is called."""

    def without_sampling(traces, unit=1e12):
        path = traces[0].path
        parts = ("bend", "slopes", "products", "noise")
        return [replace(traces[0], path=replace(path, **{part: unit * getattr(path, part) for part in parts}))]

    case = Simulated(0, curvature=200.0, noise=2.0)
    assert share_of_noise([case]) <= CALLED
    assert share_of_noise([case], without_sampling) > 0.5


# --- Weights given that others are zero -----------------------------------------------------------------------------


@pytest.fixture
def law():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((7, 9))
    return Estimate(rng.standard_normal(7), root @ root.T)


def test_keeping_is_the_conditional_normal_law(law):
    """By the textbook, with inverses: its precision is the block of the precision, its mean moved by regression."""
    kept = np.array([True, False, True, True, False, True])
    given = law.keeping(kept)
    inside = np.append(kept, True)
    precision = np.linalg.inv(law.covariance)
    np.testing.assert_allclose(np.linalg.inv(given.covariance), precision[np.ix_(inside, inside)], rtol=1e-9)
    across = law.covariance[np.ix_(inside, ~inside)] @ np.linalg.inv(law.covariance[np.ix_(~inside, ~inside)])
    np.testing.assert_allclose(given.mean, law.mean[inside] + across @ (0.0 - law.mean[~inside]), rtol=1e-9)
    np.testing.assert_array_equal(given.covariance, given.covariance.T)
    np.testing.assert_allclose(given.errors, np.sqrt(np.diag(given.covariance)[:-1]))


def test_keeping_is_what_draws_near_zero_show(law):
    """Of the intercept and the weight that are left; half a million draws, of which some 1,000 are near: 5 standard
    errors of a mean.
    """
    rng = np.random.default_rng(4)
    drawn = rng.multivariate_normal(law.mean[[0, 1, 6]], law.covariance[np.ix_([0, 1, 6], [0, 1, 6])], 500_000)
    near = drawn[np.abs(drawn[:, 1]) < 0.01][:, [0, 2]]
    given = Estimate(law.mean[[0, 1, 6]], law.covariance[np.ix_([0, 1, 6], [0, 1, 6])]).keeping(
        np.array([True, False])
    )
    error = 5 * np.sqrt(np.diag(given.covariance) / len(near))
    assert len(near) > 500
    assert np.all(np.abs(near.mean(axis=0) - given.mean) < error)
    np.testing.assert_allclose(np.cov(near.T), given.covariance, atol=0.2 * given.covariance.max())


def test_keeping_all_changes_nothing(law):
    assert law.keeping(np.ones(6, dtype=bool)) is law


def test_keeping_none_leaves_the_intercept(law):
    left = law.keeping(np.zeros(6, dtype=bool))
    assert left.mean.shape == (1,)
    assert left.errors.shape == (0,)
    assert left.covariance[0, 0] == pytest.approx(1 / np.linalg.inv(law.covariance)[-1, -1])


def test_the_order_of_dropping_does_not_matter(law):
    at_once = law.keeping(np.array([False, True, False, True, False, True]))
    for order in itertools.permutations([0, 2, 4]):
        step, places = law, list(range(6))
        for feature in order:
            step = step.keeping(np.array([place != feature for place in places]))
            places.remove(feature)
        np.testing.assert_allclose(step.mean, at_once.mean, rtol=1e-9)
        np.testing.assert_allclose(step.covariance, at_once.covariance, rtol=1e-9)


# --- One Newton step ------------------------------------------------------------------------------------------------

SIZE = 8


def landing_path(at, slope, noise, count=40, bend=1.0):
    """A path of which nothing but the landing is looked at, and the mean curvature where none was released."""
    landing = Landing(count, Weights(at[None, :-1], at[-1:]), Weights(slope[None, :-1], slope[-1:]))
    empty = np.zeros((1, len(at) - 1))
    return Path(count, noise, empty, empty, empty, empty, np.array([bend]), landing)


def curved(height, correlation=0.5):
    """Features of variance 1 that are alike, and an intercept that has nothing to do with them."""
    matrix = np.full((SIZE + 1, SIZE + 1), correlation) + (1 - correlation) * np.eye(SIZE + 1)
    matrix[-1, :-1] = matrix[:-1, -1] = 0.0
    return height * matrix


def symmetric_noise(rng, size, error):
    drawn = np.triu(rng.standard_normal((size, size)) * error / math.sqrt(2), 1)
    return drawn + drawn.T + np.diag(error * rng.standard_normal(size))


def with_noise(rng, matrix, error, scores=None):
    """Both matrices as they are released; where all rows count alike the scores' covariance is the curvature."""
    released = Curvature(
        matrix + symmetric_noise(rng, len(matrix), error), error, matrix if scores is None else scores
    )
    return replace(released, scores=released.scores + symmetric_noise(rng, len(matrix), released.scores_error))


def test_with_exact_curvature_the_estimate_is_the_optimum():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((SIZE + 1, 30))
    matrix = 1e9 * root @ root.T
    optimum = rng.standard_normal(SIZE + 1)
    at = optimum + 0.3 * rng.standard_normal(SIZE + 1)
    path = landing_path(at, matrix @ (at - optimum), noise=1e-3)
    estimate = estimate_weights(path, Curvature(matrix, 1e-3, matrix), standard_of(np.ones(SIZE)))
    np.testing.assert_allclose(estimate.mean, optimum, atol=1e-6)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(matrix), rtol=1e-5, atol=1e-14)  # sampling alone


def test_without_curvature_features_count_as_uncorrelated():
    """Those that are: by the mean curvature, with the spread of each feature and 1 for the intercept."""
    variance = np.linspace(0.5, 1.0, SIZE)
    diagonal = 1e9 * np.append(variance, 1.0)
    optimum, at = np.linspace(-1, 1, SIZE + 1), np.linspace(-1, 1, SIZE + 1) + 1e-3
    path = landing_path(at, diagonal * (at - optimum), noise=1e-3, bend=1e9)
    estimate = estimate_weights(path, None, standard_of(variance))
    np.testing.assert_allclose(estimate.mean, optimum, atol=1e-4)


def test_correlations_that_were_not_released_widen_intervals():
    """Of 0.2 either way, where a landing is far from the optimum: by the other weights' steps times that."""
    at = np.append(np.full(SIZE, 0.5), 0.0)
    near, far = (
        estimate_weights(
            landing_path(at, np.append(np.full(SIZE, slope), 0.0), 1.0, bend=2000.0), None, standard_of(np.ones(SIZE))
        )
        for slope in (0.0, 1000.0)
    )
    np.testing.assert_allclose(near.errors, 1 / math.sqrt(2000), rtol=0.01)  # sampling error alone
    step = np.abs(far.mean - at)[0]
    assert step == pytest.approx(0.5, rel=0.2)
    np.testing.assert_allclose(far.errors, 0.2 * step * math.sqrt(SIZE), rtol=0.15)


def test_directions_that_noise_hides_stay_at_the_landing_with_the_width_of_the_prior():
    at = np.append(np.linspace(-1, 1, SIZE), 0.5)
    path = landing_path(at, np.full(SIZE + 1, 1e8), noise=1e10)
    estimate = estimate_weights(path, Curvature(curved(2000.0), 1.0, curved(2000.0)), standard_of(np.ones(SIZE)))
    np.testing.assert_allclose(estimate.mean[:-1], at[:-1], atol=1e-3)
    width = math.sqrt(2 * np.mean(at[:-1] ** 2))
    np.testing.assert_allclose(estimate.errors, width, rtol=1e-3)
    assert estimate.covariance[-1, -1] > 1e6  # nothing is known beforehand about the intercept


def test_one_hidden_feature_does_not_spoil_the_others():
    """Its curvature is zero but for noise: it stays near the landing, the others find the optimum."""
    rng = np.random.default_rng(1)
    matrix = curved(2e6, 0.0)
    matrix[0, 0] = 0.0
    optimum = np.linspace(0.5, 1.0, SIZE + 1)
    at = optimum + 0.05 * rng.standard_normal(SIZE + 1)
    path = landing_path(at, matrix @ (at - optimum), noise=1e5)
    estimate = estimate_weights(path, with_noise(rng, matrix, 100.0), standard_of(np.ones(SIZE)))
    assert estimate.mean[0] == pytest.approx(at[0], abs=0.01)
    assert estimate.errors[0] > 0.5
    assert np.all(estimate.errors[1:] < 0.02)
    assert np.all(np.abs(estimate.mean - optimum)[1:-1] < 4 * estimate.errors[1:])


def coverage(
    believed=lambda curvature: curvature,
    *,
    error,
    away,
    height=2000.0,
    noise=300.0,
    count=40,
    sampling=1.0,
    further=0.0,
):
    """How often 95 % intervals cover, over 600 landings away from the optimum with noisy slopes and curvatures.

    ``sampling`` is how much sampling moves gradients, by what the curvature would let it at most; ``further`` how far
    landings are away beside that, the more so in directions of little curvature, as those of descents are.
    """
    rng, matrix, covered = np.random.default_rng(7), curved(height), 0
    root = np.linalg.cholesky(matrix / sampling)
    truth = np.append(np.linspace(-1, 1, SIZE), 0.2)
    for _ in range(600):
        optimum = truth + np.linalg.solve(root.T, rng.standard_normal(SIZE + 1))
        at = optimum + away * rng.standard_normal(SIZE + 1)
        if further:
            at += further * math.sqrt(height) * np.linalg.solve(root.T, rng.standard_normal(SIZE + 1))
        slope = matrix @ (at - optimum) + noise / math.sqrt(count) * rng.standard_normal(SIZE + 1)
        curvature = believed(with_noise(rng, matrix, error, sampling * matrix))
        estimate = estimate_weights(landing_path(at, slope, noise, count), curvature, standard_of(np.ones(SIZE)))
        covered += np.mean(np.abs(estimate.mean - truth)[:-1] < stats.norm.ppf(0.975) * estimate.errors)
    return covered / 600


@pytest.mark.parametrize(("error", "away"), [(1.0, 0.0), (1.0, 0.3), (50.0, 0.3), (100.0, 0.2), (100.0, 0.3)])
def test_intervals_cover_as_often_as_stated(error, away):
    """4,800 weights, eight to a landing: a standard error of at most 0.9 %, or 0.3 % where they are independent."""
    assert 0.93 <= coverage(error=error, away=away) <= 0.97


@pytest.mark.parametrize(("sampling", "noise", "most"), [(0.2, 50.0, 0.975), (0.2, 300.0, 0.98), (2.0, 50.0, 0.97)])
def test_intervals_follow_what_sampling_really_does(sampling, noise, most):
    """Less than the curvature allows where rows count less, more where the model does not hold."""
    assert 0.93 <= coverage(error=20.0, away=0.05, noise=noise, sampling=sampling) <= most


def test_sampling_error_taken_from_the_curvature_is_noticed():
    """An upper bound five times too high makes intervals that cover nearly always, and one of a half too few."""
    as_before = {"error": 20.0, "away": 0.05, "noise": 50.0}
    bound = lambda curvature: replace(curvature, scores=curvature.matrix)  # noqa: E731
    assert coverage(bound, **as_before, sampling=0.2) > 0.995
    assert coverage(bound, **as_before, sampling=2.0) < 0.88


def believed_scores(curvature):
    return inference._believed_scores(curvature, curved(2000.0))


def test_scores_lean_up_by_their_noise_but_not_beyond_the_curvature(monkeypatch):
    """5,400 entries, of which 69 % are meant to be too large; a standard error of 0.6 %."""
    monkeypatch.setattr(inference, "_positive", lambda matrix: matrix)  # which may lift more than that
    rng, scores = np.random.default_rng(3), 0.2 * curved(2000.0)
    drawn = [with_noise(rng, curved(2000.0), 50.0, scores) for _ in range(600)]
    diagonals = np.array([np.diag(believed_scores(each)) for each in drawn])
    assert 0.66 < np.mean(diagonals > np.diag(scores)) < 0.72
    for each in (with_noise(rng, curved(2000.0), 5000.0, scores) for _ in range(50)):
        allowed = np.maximum(2000.0, np.diag(each.scores))
        assert np.all(np.diag(believed_scores(each)) <= allowed * (1 + 1e-9))


def test_correlations_of_scores_are_those_seen_or_where_noise_hides_them_those_of_the_curvature():
    rng, scores = np.random.default_rng(4), 0.2 * curved(2000.0, 0.0)  # the curvature's are ½
    clear, hidden = (believed_scores(with_noise(rng, curved(2000.0), error, scores)) for error in (0.5, 2000.0))
    beside = ~np.eye(SIZE + 1, dtype=bool)[:-1, :-1]
    correlations = [
        (each / np.sqrt(np.outer(np.diag(each), np.diag(each))))[:-1, :-1][beside] for each in (clear, hidden)
    ]
    assert np.abs(correlations[0]).max() < 0.02
    assert np.mean(correlations[1]) > 0.3


@pytest.mark.parametrize(("error", "away"), [(200.0, 0.2), (300.0, 0.3)])
def test_where_the_curvature_is_mostly_noise_intervals_are_not_too_short(error, away):
    """Its noise moves the smallest eigenvalues, here of 1,000, by as much as they are, which widens intervals."""
    assert coverage(error=error, away=away) >= 0.94


def test_a_way_that_noise_hides_is_counted(monkeypatch):
    """Where it shortens the step it hides how far there is to go, by which it is multiplied."""
    hidden = {"error": 300.0, "away": 0.0, "further": 0.5}
    assert coverage(**hidden) >= 0.94
    monkeypatch.setattr(inference, "_STILL_AWAY", 0.0)
    assert coverage(**hidden) < 0.92


def test_noise_of_the_curvature_forgotten_is_noticed():
    assert coverage(lambda curvature: replace(curvature, error=1e-6), error=100.0, away=0.3) < 0.9


def test_noise_of_the_slopes_forgotten_is_noticed():
    """The same landings, with slopes whose noise is twice what the path says."""
    rng, matrix, truth = np.random.default_rng(8), curved(2000.0), np.append(np.linspace(-1, 1, SIZE), 0.2)
    covered = 0.0
    for _ in range(200):
        slope = matrix @ (0.1 * np.ones(SIZE + 1)) + 600 * rng.standard_normal(SIZE + 1)
        path = landing_path(truth + 0.1, slope, 300.0, count=1)
        estimate = estimate_weights(path, Curvature(matrix, 1.0, matrix), standard_of(np.ones(SIZE)))
        covered += np.mean(np.abs(estimate.mean - truth)[:-1] < 1.96 * estimate.errors)
    assert covered / 200 < 0.85


# --- Spreads that are not known ------------------------------------------------------------------------------------


def without_curvature(spread, variance_error, noise=300.0):
    """Standard errors where no curvature was released, of features that spread so much, as far as is known."""
    at = np.append(np.full(SIZE, 0.3), 0.0)
    standard = standard_of(np.full(SIZE, spread), error=variance_error)
    path = landing_path(at, np.zeros(SIZE + 1), noise, bend=2000.0)
    return estimate_weights(path, None, standard).errors


def test_a_spread_that_is_known_widens_nothing():
    noise, prior = 300.0**2 / 40, 1 / (2 * 0.3**2)
    expected = 1 / np.sqrt(2000.0**2 / (noise + 2000.0) + prior)
    assert without_curvature(1.0, 1e-4) == pytest.approx(expected, rel=0.01)


def test_where_a_feature_may_be_the_same_in_all_rows_its_weight_is_hardly_known():
    """By the mean of the spreads that it may have the slope would tell a weight twice as well."""
    sure, unsure = without_curvature(0.4, 1e-4), without_curvature(0.0, 0.5)
    heights = 2000.0 * possible_spreads(standard_of(np.zeros(SIZE), error=0.5))
    assert heights.mean() == pytest.approx(800.0, rel=0.05)  # that of the features that are known to spread by 0.4
    assert np.all(unsure > 2 * sure)
    assert np.all(unsure < math.sqrt(2) * 0.3)  # no more than the prior


# --- Guided steps ---------------------------------------------------------------------------------------------------


def guided_from(at, matrix, optimum, *, error=1e-3, noise=1e-3, steps=60):
    """Where guided steps lead, without noise in what they see, and what they were told."""
    told = guide(
        landing_path(at, matrix @ (at - optimum), noise),
        Curvature(matrix, error, matrix),
        standard_of(np.ones(SIZE)),
        None,
        steps,
    )
    walk = Guided(told, steps)
    for _ in range(steps):
        place = np.append(walk.place().coef[0], walk.place().intercept)
        slope = matrix @ (place - optimum)
        walk.follow(Weights(slope[None, :-1], slope[-1:]))
    return np.append(walk.place().coef[0], walk.place().intercept), told


def test_guided_steps_begin_at_the_estimate_and_lead_to_the_optimum():
    optimum, at = np.linspace(-1, 1, SIZE + 1), np.linspace(-0.6, 0.9, SIZE + 1)
    end, told = guided_from(at, curved(2000.0, 0.9), optimum)
    estimate = estimate_weights(
        landing_path(at, curved(2000.0, 0.9) @ (at - optimum), 1e-3),
        Curvature(curved(2000.0, 0.9), 1e-3, curved(2000.0, 0.9)),
        standard_of(np.ones(SIZE)),
    )
    np.testing.assert_allclose(told.start, estimate.mean)
    np.testing.assert_array_equal(told.home, at)
    np.testing.assert_allclose(end, optimum, atol=1e-4)


def test_a_guide_is_what_the_proof_says():
    """Features correlate, the way is not short, and nothing is negligible: gradients' noise, doubt, prior."""
    rng, steps, noise = np.random.default_rng(12), 40, 3_000.0
    at = np.append(rng.normal(size=SIZE), 0.4)
    matrix = curved(2000.0, 0.6)
    curvature = with_noise(rng, matrix, 200.0)
    path, standard = landing_path(at, matrix @ rng.normal(size=SIZE + 1), noise, count=8), standard_of(np.ones(SIZE))
    known = Variables(("a",), ("categories",), (0,) * SIZE, (0,) * SIZE)
    told = guide(path, curvature, standard, known, steps)
    start = estimate_weights(path, curvature, standard, known).mean
    correlations = np.eye(SIZE + 1)
    correlations[:-1, :-1] = known.correlations(standard.centre)
    H, D = inference._believed_curvature(path, curvature, standard, correlations)
    P = np.diag(np.append(np.full(SIZE, 1 / max(0.5 * np.mean(at[:-1] ** 2), 0.01)), 0.0))
    inverse = np.diag(1 / (noise**2 / steps + D @ (start - at) ** 2))
    C = np.linalg.inv(H @ inverse @ H + P)
    np.testing.assert_allclose(told.start, start)
    np.testing.assert_allclose(told.gain, C @ H @ inverse, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(told.pull, C @ P, rtol=1e-6, atol=1e-12)


def test_in_directions_that_noise_hides_guided_steps_stay_at_home():
    """But for the intercept, of which nothing is known beforehand."""
    at = np.linspace(-1, 1, SIZE + 1)
    end, _ = guided_from(at, curved(2000.0, 0.0), at + 1.0, noise=1e9)
    np.testing.assert_allclose(end[:-1], at[:-1], atol=0.01)


def test_noise_of_the_curvature_shortens_what_guides_by_it():
    """The further the way, the more."""
    at, away = np.linspace(-1, 1, SIZE + 1), np.linspace(-1, 1, SIZE + 1) + 0.5
    clear, hidden = (guided_from(at, curved(2000.0), away, error=error)[1] for error in (1.0, 500.0))
    assert np.all(np.diag(hidden.gain)[:-1] < 0.8 * np.diag(clear.gain)[:-1])


# --- False-discovery rates ------------------------------------------------------------------------------------------


def independent(coef, errors):
    """A normal law of uncorrelated weights, and an intercept."""
    return Estimate(np.append(coef, 0.0), np.diag(np.append(np.square(errors), 1.0)))


@pytest.mark.parametrize("candidates", [20, 21, 100, 5000])
def test_rates_by_the_estimate_are_those_of_benjamini_and_hochberg(candidates):
    """Over all candidates, those that were dropped having p-values of 1."""
    rng = np.random.default_rng(candidates)
    coef, errors = rng.normal(0, 3, 20), rng.uniform(0.3, 0.6, 20)  # each could tell: below a third of the typical
    padded = np.append(2 * stats.norm.sf(np.abs(coef / errors)), np.ones(candidates - 20))
    expected = stats.false_discovery_control(padded)[:20]
    np.testing.assert_allclose(q_values(independent(coef, errors), np.zeros(20), candidates), expected, rtol=1e-9)


def test_rates_are_monotone():
    """The more convincing an estimate, the smaller its rate; and more candidates make no rate smaller."""
    coef, errors = np.linspace(0.1, 5, 20), np.full(20, 0.9)
    rates = q_values(independent(coef, errors), np.zeros(20), 50)
    assert np.all(np.diff(rates) <= 0)
    assert np.all(q_values(independent(coef, errors), np.zeros(20), 51) >= rates)
    assert np.all((rates >= 0) & (rates <= 1))


def test_the_worse_of_both_views_counts():
    coef, errors = np.array([5.0, 5.0, 0.5]), np.full(3, 0.9)
    alone = q_values(independent(coef, errors), np.zeros(3), 3)
    careful = np.array([0.0, 0.4, 0.01])
    np.testing.assert_array_equal(q_values(independent(coef, errors), careful, 3), np.maximum(alone, careful))
    assert alone[2] > 0.4


def test_estimates_that_could_not_tell_a_typical_weight_leave_it_to_the_path():
    """A standard error above a third of the median weight, of those that are clear, could not."""
    coef = np.array([3.0, -3.0, 3.0, 3.0])
    errors = np.array([0.99, 1.01, 30.0, 0.1])
    careful = np.array([0.0, 0.0, 0.02, 0.3])
    rates = q_values(independent(coef, errors), careful, 1000)
    assert rates[0] > 0.5
    np.testing.assert_array_equal(rates[1:], careful[1:])


def test_most_called_by_rates_are_real():
    """1,000 candidates, 40 of them real; the 60 largest estimates are kept, and 5 % of what is called may be noise.

    Over 200 draws of some 42 calls the mean share is known to 0.3 %, and is 5 % times 960/1,000. Without the dropped
    candidates it would be 0.3 or more.
    """
    rng, shares, twins = np.random.default_rng(0), [], []
    for _ in range(200):
        estimates = np.where(np.arange(1000) < 40, 8.0, 0.0) + rng.standard_normal(1000)
        kept = np.argsort(-np.abs(estimates))[:60]
        for found, candidates in ((shares, 1000), (twins, 60)):
            called = q_values(independent(estimates[kept], np.ones(60)), np.zeros(60), candidates) <= CALLED
            found.append(np.mean(kept[called] >= 40))
    assert 0.04 <= np.mean(shares) <= 0.058
    assert np.mean(twins) > 0.3
