"""Select-then-refit from the plan to the model: what it may spend, what it releases, and what comes out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.data.variables import Variables
from hardzero.methods import select_refit
from hardzero.methods.evidence import NullChances, Trace
from hardzero.methods.inference import Estimate
from hardzero.methods.select_refit import (
    Judgement,
    false_discovery_rates,
    in_public_units,
    judged,
    screen_features,
    select_and_refit,
    start_intercept,
    variable_evidence,
)
from hardzero.methods.select_refit_plan import Screen, plan_select_refit
from hardzero.methods.support import clear_of_noise, largest, may_be_empty, mean_landing
from hardzero.optim.descent import Landing, Path
from hardzero.optim.frank_wolfe import Evidence, Weights
from hardzero.optim.losses import Logistic, Squared
from hardzero.optim.problem import Problem
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import GaussianRelease, PureRelease, Repeated, Selection
from hardzero.privacy.randomness import SeededSource

from ..guarantee.replay import taped
from ..optim.cases import dense_and_sparse, every_loss, every_relation, on_drawn_neighbours
from ..optim.neighbours import neighbours_of, problem_of, records, within
from ..optim.recorder import recording
from ..optim.test_descent import standard_of

# --- Plans --------------------------------------------------------------------------------------------------------

EPSILONS = [0.01, 0.1, 1.0, 10.0, 1000.0]
ROWS = [50, 1000, 30_000, 10**6]
FEATURES = [1, 2, 30, 1000, 10**5]


def noises(plan):
    """The noise of every Gaussian release, in their order."""
    releases = plan.releases
    rate = [] if releases.screen is None else [releases.screen.rate_noise]
    refit = releases.stages[-1]
    last = [] if releases.curvature_noise is None else [releases.curvature_noise, *[refit.pace.noise] * refit.guided]
    steps = [pace.noise for pace, *_ in releases.stages for _ in range(pace.steps)]
    return [*rate, releases.moments_noise, *steps, *last]


@every_relation
@pytest.mark.parametrize("outputs", [1, 3, 10])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_plans_are_sensible_and_within_the_budget(epsilon, outputs, relation):
    for n, p, delta in itertools.product(ROWS, FEATURES, [1e-9, 1e-3]):
        budget = Budget(epsilon, delta)
        plan = plan_select_refit(budget, relation, n, p, outputs)
        releases = plan.releases
        assert plan.spent <= budget
        assert plan.spent.epsilon > 0.99 * epsilon  # and next to nothing is wasted
        assert plan.spent == accounting.spent(plan.events, delta)
        assert plan.events == releases.events
        assert plan == plan_select_refit(budget, relation, n, p, outputs)
        assert len(releases.stages) in (1, 3)
        left = p if releases.screen is None else releases.screen.kept
        assert type(left) is int
        assert 1 <= left <= p
        sizes = [left * outputs, *(stage.kept for stage in releases.stages)]
        assert sizes == sorted(sizes, reverse=True)
        assert 1 <= sizes[-1] <= outputs * max(1, int(2 * math.sqrt(p)))
        for pace, kept, _, guided in releases.stages:
            assert type(pace.steps) is type(guided) is int
            assert type(kept) is int
            assert 8 <= pace.steps + guided <= 300
            assert 0 < pace.tail < 1
        assert not any(stage.guided for stage in releases.stages[:-1])
        assert (releases.stages[-1].guided > 0) == (releases.curvature_noise is not None)
        assert all(stage.pace.steps >= 2 for stage in releases.stages)
        assert min(noises(plan)) > 0
        assert plan.leaning >= 1


@every_relation
@pytest.mark.parametrize("limit", [1, 2, 7, 10**6])
def test_no_more_features_than_allowed_are_planned(limit, relation):
    for epsilon, n, p, outputs in itertools.product(EPSILONS, ROWS, FEATURES, [1, 4]):
        plan = plan_select_refit(Budget(epsilon, 1e-5), relation, n, p, outputs, limit)
        assert outputs <= plan.releases.stages[-1].kept <= outputs * min(limit, p)
        assert plan.spent <= plan.budget


def cost_of_descent(stage):
    return stage.steps / (2 * stage.pace.noise**2)


def cost_by_hand(releases):
    """Zero-concentrated privacy of what will be drawn, added up from the plan's numbers; and that of each part."""
    parts = {
        "length": releases.length_eta**2 / 8,
        "moments": 1 / (2 * releases.moments_noise**2),
        "descents": sum(cost_of_descent(stage) for stage in releases.stages),
    }
    if releases.screen is not None:
        parts["rates"] = 1 / (2 * releases.screen.rate_noise**2)
        parts["screen"] = releases.screen.kept * releases.screen.eta**2 / 8
    if releases.curvature_noise is not None:
        parts["curvature"] = 1 / (2 * releases.curvature_noise**2)
    return sum(parts.values()), parts


LAYOUTS = {  # ε, rows, features: without and with a screen and a curvature
    "plain": (1.0, 1000, 20),
    "screen": (1.0, 1000, 5000),
    "curvature": (1.0, 30_000, 20),
    "one descent": (1.0, 30_000, 2),
    "all": (30.0, 3000, 40_000),
}


@every_relation
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_release_of_a_plan_is_charged(layout, relation):
    """The cost of what will be drawn, added up by hand, and the shares of the parts."""
    epsilon, n, p = LAYOUTS[layout]
    limit = 2 if layout == "all" else None
    plan = plan_select_refit(Budget(epsilon, 1e-6), relation, n, p, 1, limit)
    rho, parts = cost_by_hand(plan.releases)
    assert ("screen" in parts) == (layout in ("screen", "all"))
    assert ("curvature" in parts) == (layout in ("curvature", "one descent", "all"))
    assert sum(event.cost.rho for event in plan.events) == pytest.approx(rho, rel=1e-12)
    # Exactly accounted for, the same budget holds more than by zero-concentrated privacy, and never less.
    assert rho >= accounting.rho_of_budget(plan.budget) * (1 - 1e-3)
    left = 1 - (0.27 if "screen" in parts else 0)
    shares = {"length": 0.02, "moments": 0.08, "curvature": 0.1, "rates": 0.02 / left, "screen": 0.25 / left}
    shares["descents"] = 0.9 - ("curvature" in parts) * 0.1
    for name, part in parts.items():
        assert part / rho == pytest.approx(shares[name] * left, rel=1e-9), name
    stages = [cost_of_descent(stage) / parts["descents"] for stage in plan.releases.stages]
    assert stages == pytest.approx([1.0] if layout == "one descent" else [0.25, 0.25, 0.5])


@every_relation
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_events_of_a_plan_are_all_its_releases_in_the_order_of_time(layout, relation):
    epsilon, n, p = LAYOUTS[layout]
    plan = plan_select_refit(Budget(epsilon, 1e-6), relation, n, p, 1, 2 if layout == "all" else None)
    releases, expected = plan.releases, []
    if releases.screen is not None:
        expected += [("gaussian", releases.screen.rate_noise)] + [
            ("select", releases.screen.eta)
        ] * releases.screen.kept
    expected += [("select", releases.length_eta), ("gaussian", releases.moments_noise)]
    expected += [("gaussian", pace.noise) for pace, *_ in releases.stages for _ in range(pace.steps)]
    if releases.curvature_noise is not None:
        refit = releases.stages[-1]
        expected += [("gaussian", releases.curvature_noise), *[("gaussian", refit.pace.noise)] * refit.guided]
    assert charged_for(plan) == expected


@pytest.mark.parametrize(("layout", "share"), [("curvature", 0.2), ("one descent", 0.5)])
def test_the_curvature_guides_the_steps_that_count_for_the_landing(layout, share):
    epsilon, n, p = LAYOUTS[layout]
    refit = plan_select_refit(Budget(epsilon, 1e-6), Neighbours.ZERO_OUT, n, p, 1).releases.stages[-1]
    plain = refit.pace.steps
    assert plain / (plain + refit.guided) == pytest.approx(share, abs=0.01)


def charged_for(plan):
    """Every single release that is charged for, its kind and its noise or range, in the order of the events."""
    single = []
    for event in plan.events:
        times, one = (event.times, event.event) if isinstance(event, Repeated) else (1, event)
        assert isinstance(one, GaussianRelease | Selection)
        what = ("gaussian", one.noise) if isinstance(one, GaussianRelease) else ("select", one.eta)
        single += [what] * times
    return single


def has_curvature(*args):
    return plan_select_refit(*args).releases.curvature_noise is not None


def test_the_curvature_is_released_for_two_classes_and_where_the_signal_allows_it():
    budget, relation = Budget(1.0, 1e-6), Neighbours.ZERO_OUT
    for p, limit in itertools.product([1, 2, 30, 1000], [None, 1, 3, 50]):
        known = [has_curvature(budget, relation, n, p, 1, limit) for n in np.geomspace(50, 10**7, 60).astype(int)]
        assert known == sorted(known)  # from some number of rows on, and not below
        assert known[-1]
        assert not known[0]
        signal = math.sqrt(2 * accounting.rho_left(budget))
        first = np.geomspace(50, 10**7, 60).astype(int)[known.index(True)]
        kept = plan_select_refit(budget, relation, int(first), p, 1, limit).releases.stages[-1].kept
        assert first * signal >= 14 * kept**1.5
    for outputs in (3, 10):
        assert not any(has_curvature(budget, relation, n, 5, outputs) for n in (1000, 10**6, 10**7))


def test_where_there_is_no_curvature_its_share_is_not_held_back():
    budget = Budget(1.0, 1e-6)
    few, many = (cost_by_hand(plan_select_refit(budget, Neighbours.ZERO_OUT, n, 5, 1).releases) for n in (100, 10**6))
    assert "curvature" not in few[1]
    assert few[1]["descents"] / few[0] == pytest.approx(0.9)
    assert many[1]["descents"] / many[0] == pytest.approx(0.8)


@pytest.mark.parametrize("rate", [None, 0.05, 0.2])
def test_a_false_discovery_rate_is_passed_on_and_costs_nothing(rate):
    plain, wished = (
        plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, 5000, 30, 1, None, asked) for asked in (None, rate)
    )
    assert wished.false_discoveries == rate
    assert (wished.releases, wished.spent) == (plain.releases, plain.spent)


def test_leaning_to_noise_fades_with_the_signal():
    plans = [plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, n, 30, 1) for n in (100, 10**4, 10**7)]
    leanings = [plan.leaning for plan in plans]
    assert leanings == sorted(leanings, reverse=True)
    assert leanings[-1] == pytest.approx(1, abs=0.01)


def test_replace_one_buys_fewer_steps_than_the_others():
    zero_out, replace_one, add_remove = (
        sum(pace.steps for pace, *_ in plan_select_refit(Budget(1.0, 1e-6), relation, 10_000, 50, 1).releases.stages)
        for relation in Neighbours
    )
    assert replace_one < zero_out == add_remove


@given(st.floats(1e-3, 50))
def test_pure_costs_bound_every_renyi_divergence(eta):
    """Of randomised response at ε, and of a two-point law of range η: D_α ≤ α·ρ at every order."""
    orders = np.array([1.001, 1.5, 2.0, 5.0, 50.0, 1e4])

    def divergence(p, q):
        logs = np.logaddexp(
            orders * np.log(p) + (1 - orders) * np.log(q), orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
        )
        return logs / (orders - 1)

    high, low = expit(min(eta, 30)), expit(-min(eta, 30))
    assert np.all(divergence(high, low) <= orders * PureRelease("", min(eta, 30)).cost.rho * (1 + 1e-6) + 1e-9)
    high, low = expit(min(eta, 30) / 2), expit(-min(eta, 30) / 2)
    assert np.all(divergence(high, low) <= orders * Selection(min(eta, 30)).cost.rho * (1 + 1e-6) + 1e-9)


# --- Screening on neighbours --------------------------------------------------------------------------------------


def screened(problem, screen, contributions, rates, seed=0):
    """What is handed in, with the released rates given: they come from the public number of rows."""
    with recording(seed=seed) as recorder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(select_refit, "rates_of", lambda means, n_rows: rates)
        chosen = screen_features(problem, screen, contributions, None)
    return recorder, chosen


def screens_of_both(loss, relation, X, y, rates, store=np.asarray, contributions=None, seed=0):
    contributions = relation.contributions if contributions is None else contributions
    screen = Screen(1.0, 0.5, X.shape[1])
    (one, chosen), (other, same) = (
        screened(problem_of(loss, *side, store), screen, contributions, rates, seed)
        for side in neighbours_of(relation, X, y)
    )
    assert np.array_equal(chosen, same)
    return one, other


def scores_within(one, other):
    """Whether every score of every selection moved by no more than what the selection was told."""
    assert one.sensitivities == other.sensitivities
    triples = zip(one.scores, other.scores, one.sensitivities, strict=True)
    return all(np.abs(a - b).max() <= sensitivity for a, b, sensitivity in triples)


@on_drawn_neighbours(max_examples=60)
def test_screening_moves_by_no_more_than_its_sensitivities(loss, relation, store, data):
    X, y = data.draw(records(loss))
    some = st.floats(0.05, 0.95)
    rates = np.array(data.draw(st.lists(some, min_size=loss.outputs, max_size=loss.outputs)))
    one, other = screens_of_both(loss, relation, X, y, rates, store, seed=data.draw(st.integers(0, 50)))
    assert within(one.sums[0], other.sums[0], one.sigmas[0])
    assert len(one.scores) == X.shape[1]
    assert scores_within(one, other)


@every_loss
def test_the_screening_sensitivity_is_reached(loss):
    X, y = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, -1.0]]), np.array([0, 0, 1])
    one, other = screens_of_both(loss, Neighbours.ZERO_OUT, X, y, np.full(loss.outputs, 0.2))
    moved = np.abs(one.scores[0] - other.scores[0]).max()
    assert one.sensitivities[0] == math.ceil(0.8 * RESIDUAL_ONE) * FEATURE_ONE
    assert 0.99 * one.sensitivities[0] <= moved <= one.sensitivities[0]


def test_screening_finds_the_features_that_matter():
    rng = np.random.default_rng(12)
    X = rng.uniform(-1, 1, size=(4000, 200))
    y = X[:, 17] - X[:, 99] > 0
    chosen = screen_features(problem_of(Logistic(), X, y), Screen(1.0, 0.5, 10), 1, SeededSource(13))
    assert {17, 99} <= set(chosen.tolist())
    assert len(set(chosen.tolist())) == 10
    assert chosen.tolist() == sorted(chosen.tolist())


# --- Whole fits on neighbours -------------------------------------------------------------------------------------


@dense_and_sparse
@every_loss
@pytest.mark.parametrize(
    "budget", [Budget(1.0, 1e-3), Budget(300.0, 1e-3), Budget(2000.0, 1e-3)], ids=["screen", "no-screen", "curvature"]
)
@settings(max_examples=15)
@given(st.data())
def test_no_release_of_a_fit_moves_too_far_when_a_record_is_replaced(budget, loss, store, data):
    """From the class rates to the last gradient and the curvature, all along one released path."""
    X, y = data.draw(records(loss, most_rows=6, most_features=6))
    relation = Neighbours.REPLACE_ONE
    sides = neighbours_of(relation, X, y)
    limit = 1 if budget.epsilon == 2000.0 else None
    plan = plan_select_refit(budget, relation, len(sides[0][0]), X.shape[1], loss.outputs, limit)
    runs = []
    for side in sides:
        with recording(seed=14, spread=0.1) as recorder:
            select_and_refit(problem_of(loss, *side, store), plan, None)
        runs.append(recorder)
    one, other = runs
    assert one.sigmas == other.sigmas
    assert limit is None or loss.outputs > 1 or plan.releases.curvature_noise is not None
    for a, b, sigma, noise in zip(one.sums, other.sums, one.sigmas, noises(plan), strict=True):
        assert within(a, b, sigma / noise)
    screen = plan.releases.screen
    assert one.etas == [*([] if screen is None else [screen.eta] * screen.kept), plan.releases.length_eta]
    assert scores_within(one, other)


@every_loss
@pytest.mark.parametrize("epsilon", [1.0, 100.0], ids=["screen", "curvature"])
def test_a_fit_makes_the_releases_of_its_plan_and_no_others(loss, epsilon):
    rng = np.random.default_rng(15)
    p = 300 if epsilon == 1.0 else 12
    X, y = rng.uniform(-1, 1, size=(200, p)), rng.integers(0, max(loss.outputs, 2), size=200)
    plan = plan_select_refit(Budget(epsilon, 1e-4), Neighbours.ZERO_OUT, 200, p, loss.outputs)
    screen, stages = plan.releases.screen, plan.releases.stages
    assert (screen is None) == (epsilon == 100.0)
    with recording(spread=0.1) as recorder:
        weights = select_and_refit(problem_of(loss, X, y), plan, None)
    lengths = [len(sums) for sums in recorder.sums]
    left = p if screen is None else screen.kept
    assert len(recorder.scores) == 1 + (0 if screen is None else screen.kept)
    expected = [] if screen is None else [loss.outputs]
    expected.append(2 * left + loss.outputs)
    # The first descent moves every weight, later ones those that the one before kept.
    sizes = [left * loss.outputs, *(stage.kept for stage in stages[:-1])]
    expected += [
        size + 2 * loss.outputs for size, (pace, *_) in zip(sizes, stages, strict=True) for _ in range(pace.steps)
    ]
    if plan.releases.curvature_noise is not None:
        expected.append((sizes[-1] + 1) * (sizes[-1] + 2))  # two triangles
        expected += [sizes[-1] + 2] * stages[-1].guided
    assert lengths == expected
    assert (plan.releases.curvature_noise is not None) == (epsilon == 100.0 and loss.outputs == 1)
    assert 1 <= np.count_nonzero(weights.coef) <= stages[-1].kept


@pytest.mark.parametrize("layout", ["plain", "curvature", "one descent"])
def test_what_is_judged_is_where_guided_steps_landed_or_else_the_last_ones(layout, monkeypatch):
    epsilon, n, p = LAYOUTS[layout]
    plan = plan_select_refit(Budget(epsilon, 1e-6), Neighbours.ZERO_OUT, n, p, 1)
    X, y = np.random.default_rng(18).uniform(-1, 1, size=(n, p)), np.arange(n) % 2
    judged, judge = [], select_refit.judgement
    monkeypatch.setattr(select_refit, "judgement", lambda plan, left: judged.append(left) or judge(plan, left))
    select_and_refit(problem_of(Logistic(), X, y), plan, SeededSource(19))
    (path,), refit = [left.path for left in judged], plan.releases.stages[-1]
    assert (refit.guided > 0) == (layout != "plain")
    assert (path.steps, path.landing.steps) == (refit.steps, refit.landing_steps)
    assert refit.landing_steps == (refit.guided or math.floor(refit.pace.steps * refit.pace.tail))


def calls_of(problem, plan):
    """Every use of a mechanism in a fit, its kind and its noise or range, in the order of time."""
    with taped() as tape:
        select_and_refit(problem, plan, SeededSource(43))
    return [(call.mechanism, call.public["sigma" if call.mechanism == "gaussian" else "eta"]) for call in tape.calls]


def is_charged_in_order(problem, plan):
    """Whether a fit uses the mechanisms as its events say, one after the other, selections with the same ranges.

    That σ is the noise of the event times the sensitivity, tests on neighbours say.
    """
    called, charged = calls_of(problem, plan), charged_for(plan)
    return [kind for kind, _ in called] == [kind for kind, _ in charged] and all(
        one == other for (kind, one), (_, other) in zip(called, charged, strict=True) if kind == "select"
    )


@every_relation
@every_loss
@pytest.mark.parametrize("layout", ["screen", "plain", "curvature"])
def test_mechanisms_are_used_in_the_order_of_the_events(layout, loss, relation):
    """The accountant believes that order."""
    rng = np.random.default_rng(45)
    p = 300 if layout == "screen" else 12
    X, y = rng.uniform(-1, 1, size=(200, p)), rng.integers(0, max(loss.outputs, 2), size=200)
    epsilon = {"screen": 1.0, "plain": 2.0, "curvature": 100.0}[layout]
    plan = plan_select_refit(Budget(epsilon, 1e-4), relation, 200, p, loss.outputs)
    assert (plan.releases.curvature_noise is not None) == (layout == "curvature" and loss.outputs == 1)
    assert is_charged_in_order(problem_of(loss, X, y), plan)


# --- Post-processing ----------------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 30), st.integers(0, 1000))
def test_largest_keeps_the_largest_inside_the_mask(outputs, features, count, seed):
    rng = np.random.default_rng(seed)
    coef, mask = rng.standard_normal((outputs, features)), rng.random((outputs, features)) < 0.6
    kept = largest(coef, mask, count)
    assert kept.sum() == min(count, mask.sum())
    assert np.all(mask[kept])
    dropped = mask & ~kept
    if dropped.any() and kept.any():
        assert np.abs(coef[kept]).min() >= np.abs(coef[dropped]).max()


def test_largest_breaks_ties_in_order_and_leaves_the_mask_alone():
    mask = np.array([[True, True, False, True]])
    assert largest(np.zeros((1, 4)), mask, 2).tolist() == [[True, True, False, False]]
    assert mask.tolist() == [[True, True, False, True]]


def chances_of(likely, gain=0.0):
    likely = np.atleast_2d(np.asarray(likely, dtype=float))
    return NullChances(likely, likely, np.broadcast_to(np.asarray(gain, dtype=float), likely.shape))


def test_weights_that_are_very_likely_noise_are_dropped():
    standard = standard_of(np.zeros(4), np.ones(4))
    mask = np.array([[True, True, True, False]])
    assert clear_of_noise(mask, standard, chances_of([0.1, 0.94, 0.96, 0.0])).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("error", [1e-3, 0.019])
def test_features_that_may_be_empty_are_kept_only_where_they_are_clear(error):
    """Whose released variance is not beyond two standard errors."""
    standard = standard_of(np.zeros(3), np.ones(3), [1.9 * error, 2.1 * error, -1.0], error=error)
    assert may_be_empty(standard).tolist() == [True, False, True]
    mask = np.ones((1, 3), dtype=bool)
    assert clear_of_noise(mask, standard, chances_of([0.3, 0.3, 0.3])).tolist() == [[False, True, False]]
    assert clear_of_noise(mask, standard, chances_of([0.09, 0.9, 0.11])).tolist() == [[True, True, False]]


def test_a_mean_off_zero_makes_a_variance_less_sure():
    standard = standard_of([0.0, 1.0], np.ones(2), [0.003, 0.003], error=1e-3)
    assert may_be_empty(standard).tolist() == [False, True]


def test_moments_that_are_all_noise_say_nothing_of_any_feature():
    standard = standard_of(np.zeros(3), np.ones(3), [-1.0, 0.0, 0.01], error=0.021)
    assert not may_be_empty(standard).any()


def landed(coef, noise, features, count=10):
    """A descent of two classes that has landed, as far as ranking needs it."""
    coef = np.atleast_2d(np.asarray(coef, dtype=float))
    landing = Landing(count, Weights(coef, np.zeros(1)), Weights(np.zeros_like(coef), np.zeros(1)))
    sums = np.zeros((4, *coef.shape))
    return Trace(Path(count, noise, *sums, np.ones(1), landing), np.ones(coef.shape, dtype=bool), np.array(features))


def test_landings_count_by_how_little_noise_they_had():
    traces = [landed([1.0, 9.0, 2.0, 4.0], 2.0, [0, 1, 2, 3]), landed([3.0, 0.0], 1.0, [0, 3])]
    np.testing.assert_allclose(mean_landing(traces, np.array([0, 3])), [[(1 + 4 * 3) / 5, 4 / 5]])
    np.testing.assert_allclose(mean_landing(traces[:1], np.arange(4)), [[1.0, 9.0, 2.0, 4.0]])


def estimate_of(coef, errors, correlation=0.0):
    """A law of weights that share one correlation, and an intercept apart from them."""
    errors = np.append(errors, 0.1)
    matrix = np.full((len(errors), len(errors)), correlation)
    matrix[-1] = matrix[:, -1] = 0.0
    np.fill_diagonal(matrix, 1.0)
    return Estimate(np.append(coef, 0.3), matrix * np.outer(errors, errors))


COVERS = "the weights of this test"


def known(estimate, standard=None, chances=None, variables=None, tells=True):
    """What weights are judged by, with nothing said of their features unless given."""
    count = len(estimate.mean) - 1
    standard = standard_of(np.zeros(count), np.ones(count)) if standard is None else standard
    chances = chances_of([0.0] * count) if chances is None else chances
    sizes = None if variables is None else variables.sizes
    return Judgement(estimate, standard, chances, count, COVERS, tells, variables, sizes)


def test_judged_weights_have_evidence_where_they_are_kept_and_nowhere_else():
    estimate = estimate_of([2.0, -1.0, 0.1], [0.1, 0.1, 0.1])
    kept = np.array([True, False, True])
    weights = judged(known(estimate), kept, np.array([0.001, 0.002, 0.5]), None)
    assert weights.coef.tolist() == [[2.0, 0.0, 0.1]]
    assert weights.intercept.tolist() == [0.3]
    assert np.isnan(weights.evidence.standard_error).tolist() == [[False, True, False]]
    assert weights.evidence.standard_error[0, [0, 2]] == pytest.approx([0.1, 0.1])
    assert weights.evidence.q_value.tolist() == [[0.001, 1.0, 0.5]]
    assert weights.evidence.covers == COVERS


def test_features_that_may_be_empty_are_called_real_by_their_own_estimate_only():
    """Both are clear by the path; their errors are too large to tell, which one of them has to."""
    estimate, kept = estimate_of([1.0, 1.0, 0.2], [0.9, 0.9, 0.01]), np.array([True, True, True])
    standard = standard_of(np.zeros(3), np.ones(3), [1e-4, 1.0, 1.0], error=1e-3)
    rates = false_discovery_rates(known(estimate, standard, chances_of([0.01, 0.01, 0.01])), kept)
    assert rates[0] > 0.2
    assert rates[1:] == pytest.approx([0.01, 0.01])


@pytest.mark.parametrize(("tells", "called"), [(True, True), (False, False)])
def test_where_there_is_too_little_signal_nothing_is_called_real(tells, called):
    estimate, kept = estimate_of([1.0, -1.0], [0.01, 0.01]), np.array([True, True])
    judgement = known(estimate, variables=Variables(("a", "b"), ("number",) * 2, (0, 1), (0, 0)), tells=tells)
    assert (false_discovery_rates(judgement, kept) <= 0.05).tolist() == [called, called]
    assert (variable_evidence(judgement, kept).q_value <= 0.05).tolist() == [called, called]


def test_too_little_signal_is_less_than_two_hundred_rows_told_apart_and_public():
    """Rows times √(2ρ): at epsilon 1 some 540 rows; an exchanged record needs twice as many."""
    tells = [
        [plan_select_refit(Budget(1.0, 1e-3), relation, n, 20, 1).tells for n in (400, 700, 1600)]
        for relation in (Neighbours.ZERO_OUT, Neighbours.REPLACE_ONE)
    ]
    assert tells == [[False, True, True], [False, False, True]]


@pytest.mark.parametrize(("epsilon", "said"), [(1.0, 740), (0.5, 1480), (4.0, 190)])
def test_the_pages_name_the_sizes_below_which_nothing_is_called_real(epsilon, said):
    """docs/select-refit.md, docs/questions.md and others: to two digits, or three; with the default δ."""
    few, enough = round(0.985 * said), round(1.025 * said)
    tells = [plan_select_refit(Budget(epsilon, n**-1.5), Neighbours.ZERO_OUT, n, 20, 1).tells for n in (few, enough)]
    assert tells == [False, True]


def test_what_is_dropped_is_taken_for_zero_by_those_that_are_left():
    """Correlated estimates: the law of the rest, given that the others are zero."""
    estimate = estimate_of([1.0, 1.0], [0.5, 0.5], correlation=0.8)
    weights = judged(known(estimate), np.array([True, False]), np.zeros(2), None)
    assert weights.coef[0, 0] == pytest.approx(1.0 - 0.8 * 1.0)
    assert weights.evidence.standard_error[0, 0] == pytest.approx(0.5 * math.sqrt(1 - 0.8**2))


@pytest.mark.parametrize(("rate", "left"), [(None, 3), (0.6, 3), (0.3, 2), (1e-3, 1), (1e-300, 0)])
def test_only_weights_within_a_wished_false_discovery_rate_are_kept(rate, left):
    estimate = estimate_of([5.0, 5.0, 5.0], [0.1, 0.1, 0.1])
    weights = judged(known(estimate), np.ones(3, dtype=bool), np.array([1e-4, 0.2, 0.5]), rate)
    assert np.count_nonzero(weights.coef) == left
    assert np.array_equal(weights.coef[0] != 0, np.arange(3) < left)
    assert np.array_equal(np.isfinite(weights.evidence.standard_error[0]), np.arange(3) < left)
    assert np.all(weights.evidence.q_value[0, left:] == 1.0)


def test_weights_and_evidence_go_to_the_places_and_units_of_their_features():
    standard = standard_of([0.5, -0.25], [0.1, 2.0])
    weights = Weights(
        np.array([[3.0, 0.0]]), np.array([1.0]), Evidence(np.array([[0.3, 7.0]]), np.array([[0.01, 1.0]]), COVERS)
    )
    public = in_public_units(weights, standard, np.array([4, 1]), (1, 6))
    assert public.coef == pytest.approx(np.array([[0, 0, 0, 0, 30.0, 0]]))
    assert public.intercept == pytest.approx([1.0 - 30.0 * 0.5])
    assert public.evidence.standard_error == pytest.approx(
        np.array([[np.nan, 3.5, np.nan, np.nan, 3.0, np.nan]]), nan_ok=True
    )
    assert public.evidence.q_value.tolist() == [[1, 1, 1, 1, 0.01, 1]]
    assert public.evidence.covers == COVERS
    assert (
        in_public_units(Weights(weights.coef, weights.intercept), standard, np.array([4, 1]), (1, 6)).evidence is None
    )


@given(st.integers(1, 3), st.integers(0, 1000))
def test_margins_are_the_same_in_public_units(outputs, seed):
    rng = np.random.default_rng(seed)
    standard = standard_of(rng.uniform(-1, 1, 3), rng.uniform(0.02, 2, 3))
    weights = Weights(rng.normal(size=(outputs, 3)), rng.normal(size=outputs))
    public = in_public_units(weights, standard, np.array([5, 0, 2]), (outputs, 7))
    X = rng.uniform(-1, 1, size=(20, 7))
    z = (X[:, [5, 0, 2]] - standard.centre) / standard.scale
    assert X @ public.coef.T + public.intercept == pytest.approx(z @ weights.coef.T + weights.intercept, abs=1e-8)


def test_start_intercepts_are_those_of_the_base_rates():
    assert expit(start_intercept(np.array([0.2]))) == pytest.approx([0.2])
    odds = np.exp(start_intercept(np.array([0.2, 0.5, 0.3])))
    assert odds / odds.sum() == pytest.approx([0.2, 0.5, 0.3])


@pytest.mark.parametrize("classes", [2, 3])
def test_on_pure_noise_little_is_kept_but_never_nothing(classes):
    """Out of 12 weights for each output that are allowed."""
    rng = np.random.default_rng(16)
    X, y = rng.uniform(-1, 1, size=(3000, 40)), rng.integers(0, classes, size=3000)
    kept = [
        np.count_nonzero(
            SparsePrivateLogisticRegression(bounds=(-1, 1), random_state=seed, classes="from-y").fit(X, y).coef_
        )
        for seed in range(6)
    ]
    assert min(kept) >= 1
    assert np.mean(kept) <= (4 if classes == 2 else 18)


# --- The same model from every storage ----------------------------------------------------------------------------


def shuffled_entries(X):
    """A CSR matrix with entries out of order, one of them stored in two parts, and a stored zero."""
    rows, columns = np.nonzero(X)
    order = np.random.default_rng(17).permutation(len(rows))
    rows, columns = rows[order], columns[order]
    entries = X[rows, columns]
    entries[0] /= 2
    return sparse.csr_array(
        (np.append(entries, [entries[0], 0.0]), (np.append(rows, [rows[0], 0]), np.append(columns, [columns[0], 0]))),
        shape=X.shape,
    )


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("p", [12, 400], ids=["no-screen", "screen"])
def test_the_same_seed_gives_the_same_model_from_every_storage(classes, p):
    rng = np.random.default_rng(18)
    X = rng.integers(-8, 9, size=(300, p)) / 8 * (rng.random((300, p)) < 0.3)
    y = (np.round(2 * X[:, 0] + X[:, 1] + rng.random(300)) % classes).astype(int)
    order = rng.permutation(300)
    tables = [
        (X, y),
        (np.asfortranarray(X), y),
        (sparse.csr_array(X), y),
        (sparse.csc_array(X), y),
        (sparse.csr_matrix(X), y),
        (shuffled_entries(X), y),
        (X[order], y[order]),
        (sparse.csr_array(X[order]), y[order]),
    ]
    models = [
        SparsePrivateLogisticRegression(5.0, bounds=(-1, 1), classes=range(classes), random_state=19).fit(*table)
        for table in tables
    ]
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.intercept_, models[0].intercept_)
    assert len(models[0].support_) >= 1


# --- Behaviour ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_support_is_found_at_epsilon_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(10_000, 60))
    y = rng.random(10_000) < expit(3 * X[:, 4] - 3 * X[:, 20] + 2 * X[:, 33])
    model = SparsePrivateLogisticRegression(1.0, bounds=(-1, 1), random_state=seed, classes="from-y").fit(X, y)
    assert {4, 20, 33} <= set(model.support_.tolist())
    assert len(model.support_) <= 6
    assert np.sign(model.coef_[0, [4, 20, 33]]).tolist() == [1, -1, 1]
    assert model.score(X, y) > 0.72


@pytest.mark.parametrize("rate", [0.03, 0.1, 0.5, 0.9])
def test_without_signal_the_base_rate_is_found(rate):
    rng = np.random.default_rng(20)
    X = rng.uniform(0, 1, size=(20_000, 20))
    y = rng.random(20_000) < rate
    model = SparsePrivateLogisticRegression(1.0, bounds=(0, 1), random_state=21, classes="from-y").fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.015)


def test_several_classes_are_told_apart():
    rng = np.random.default_rng(22)
    X = rng.uniform(-1, 1, size=(8000, 30))
    y = np.argmax(X[:, [3, 7, 11]] + 0.2 * rng.standard_normal((8000, 3)), axis=1)
    model = SparsePrivateLogisticRegression(1.0, bounds=(-1, 1), random_state=23, classes="from-y").fit(X, y)
    assert {3, 7, 11} <= set(model.support_.tolist())
    assert model.score(X, y) > 0.75
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


EXTREMES = {
    "one class only": (np.random.default_rng(24).uniform(-1, 1, size=(60, 4)), np.zeros(60, dtype=int)),
    "constant features": (np.full((80, 3), 0.7), np.arange(80) % 2),
    "all zeros": (np.zeros((80, 3)), np.arange(80) % 2),
    "one feature": (np.linspace(-1, 1, 200)[:, None], (np.linspace(-1, 1, 200) > 0).astype(int)),
    "ten rows": (np.random.default_rng(25).uniform(-1, 1, size=(10, 5)), np.arange(10) % 2),
    "far outside the bounds": (1e12 * np.random.default_rng(26).standard_normal((100, 4)), np.arange(100) % 2),
    "many features": (np.random.default_rng(27).uniform(-1, 1, size=(30, 500)), np.arange(30) % 2),
}


STATED = [("zero-out", None), ("replace-one", None), ("add-remove", 3), ("add-remove", 100_000)]


@pytest.mark.parametrize(("relation", "n_rows"), STATED, ids=["zero-out", "replace-one", "too-few", "too-many"])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]], ids=["two", "three"])
@pytest.mark.parametrize("case", EXTREMES)
def test_extreme_data_give_finite_probabilities(case, classes, relation, n_rows):
    """However far a stated number of rows is from the true one."""
    X, y = EXTREMES[case]
    for epsilon in (0.5, 100.0):
        for table in (X, sparse.csr_array(X)):
            model = SparsePrivateLogisticRegression(
                epsilon, bounds=(-1, 1), classes=classes, neighbours=relation, n_rows=n_rows, random_state=28
            ).fit(table, y)
            probabilities = model.predict_proba(np.clip(X, -1, 1))
            assert np.all(np.isfinite(probabilities))
            assert np.all(np.isfinite(model.coef_))
            assert probabilities.shape == (len(X), len(classes))


def test_one_feature_is_as_many_as_asked_for():
    rng = np.random.default_rng(29)
    X = rng.uniform(-1, 1, size=(3000, 10))
    y = X[:, 2] + X[:, 6] > 0
    model = SparsePrivateLogisticRegression(
        2.0, bounds=(-1, 1), max_features=1, random_state=30, classes="from-y"
    ).fit(X, y)
    assert len(model.support_) == 1
    assert model.support_[0] in (2, 6)


def test_the_limit_counts_weights_over_all_classes():
    """Only the first class has to do with the features, so that its weights are the largest."""
    rng = np.random.default_rng(32)
    X = rng.uniform(-1, 1, size=(4000, 6))
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 0.3, 0, 1 + rng.integers(0, 2, size=4000))
    model = SparsePrivateLogisticRegression(
        5.0, bounds=(-1, 1), max_features=1, random_state=33, classes="from-y"
    ).fit(X, y)
    assert 1 <= np.count_nonzero(model.coef_) <= 3


def test_noise_that_drowns_everything_still_gives_a_model():
    """So large an intercept that every computed probability is 0 or 1."""
    X, y = EXTREMES["ten rows"]
    for seed in range(20):
        model = SparsePrivateLogisticRegression(0.01, bounds=(-1, 1), random_state=seed, classes="from-y").fit(
            X[:, :1], y
        )
        assert np.all(np.isfinite(model.coef_))


def test_without_a_seed_a_fit_is_private_and_with_one_it_says_that_it_is_not():
    X, y = EXTREMES["one feature"]
    private = [SparsePrivateLogisticRegression(bounds=(-1, 1), classes="from-y").fit(X, y) for _ in range(2)]
    assert all(model.privacy_.is_private for model in private)
    assert "NOT PRIVATE" not in repr(private[0].privacy_)
    assert private[0].privacy_.epsilon <= 1.0
    assert not np.array_equal(private[0].intercept_, private[1].intercept_)
    seeded = [
        SparsePrivateLogisticRegression(bounds=(-1, 1), random_state=31, classes="from-y").fit(X, y) for _ in range(2)
    ]
    assert not seeded[0].privacy_.is_private
    assert "NOT PRIVATE" in repr(seeded[0].privacy_)
    assert np.array_equal(seeded[0].coef_, seeded[1].coef_)


def test_a_loss_without_a_refit_is_refused_before_anything_is_released():
    """Its residuals are not those of cross-entropy, which the descent's loops compute."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(50, 3))
    data = BoundedData.from_matrix(X, Bounds.parse((-1, 1), 3))
    plan = plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, 50, 3, 1)
    with recording() as recorder, pytest.raises(TypeError, match="Squared has no refit"):
        select_and_refit(Problem(data, X[:, :1], Squared(1.0)), plan, SeededSource(0))
    assert not recorder.sums
    assert not recorder.scores
