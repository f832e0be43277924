"""The planner: rehearsals are fits, sums over stand-ins are sums over records, limits are where they are said."""

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.evaluation import Forecast, Supposed, needed_epsilon, needed_rows, plan, planner, planner_worlds
from hardzero.evaluation.planner_picture import utility_page, utility_picture
from hardzero.evaluation.planner_probes import SHARES, Probing, wanted_size
from hardzero.evaluation.planner_rehearsal import Terms, rehearse
from hardzero.evaluation.planner_search import Effort, Outcomes, limits
from hardzero.evaluation.planner_stand_ins import Lot, StandIns, averaged, drawn_labels, stand_ins
from hardzero.evaluation.planner_tables import PlainTable, SchemaTable, columns_behind, with_probes
from hardzero.evaluation.planner_worlds import MOST_ROWS, Probe, World, rows_at_hand, spread_evenly
from hardzero.methods.select_refit import base_rate_gradient, rows_of_classes, select_and_refit
from hardzero.optim import progress
from hardzero.optim.curvature import weighted_products
from hardzero.optim.descent import code_sums, descent_rows
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic
from hardzero.optim.problem import Problem, ScatteredProblem, count_rows
from hardzero.optim.standardise import Standard, shrunk_moments
from hardzero.privacy.randomness import SeededSource
from hardzero.schema import Boolean, Categorical, Numeric, NumericTarget, Ordered, Schema, Target

SCHEMA = Schema(
    (
        Numeric("age", 20, 80),
        Categorical("town", ("a", "b", "c", "d")),
        Boolean("smokes"),
        Ordered("grade", ("low", "middle", "high")),
        *(Numeric(f"x{j}", -1, 1) for j in range(14)),
    ),
    Target("ill", ("no", "yes"), "yes"),
)


def problem_of(X, targets):
    return Problem(BoundedData.from_matrix(X, Bounds.parse((-1, 1), X.shape[1])), targets[:, None], Logistic())


# --- Rows that stand for records ---------------------------------------------------------------------------------


def test_rows_that_stand_for_themselves_are_fitted_like_any_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 12))
    y = (X[:, 0] + 0.5 * rng.standard_normal(1500) > 0).astype(float)
    terms = Terms(1500, 4.0)
    problem, fit_plan = problem_of(X, y), terms.plan(PlainTable(12))
    scattered = ScatteredProblem(StandIns.of(Lot(problem, 1.0, y.sum(), (y[:, None],))), Logistic(), 1500, 12)
    real, rehearsed = (select_and_refit(one, fit_plan, SeededSource(3)) for one in (problem, scattered))
    assert np.array_equal(real.coef, rehearsed.coef)
    assert np.array_equal(real.evidence.q_value, rehearsed.evidence.q_value)


def test_sums_over_stand_ins_have_the_mean_and_the_variance_of_sums_over_all_records():
    """Of 8,192 records and 512 stand-ins: labels drawn 400 times; wrong once in some thousand seeds."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (512, 1))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    each, sums = 16.0, []
    for _ in range(400):
        targets = chance + math.sqrt(1 / each) * ((rng.random(512) < chance) - chance)
        rows = Lot(problem_of(X, targets), each, each * targets.sum(), ())
        sums.append(rows.total(base_rate_gradient, np.array([0.5]), 2**16)[0, 0] / 2.0**32)
    mean, variance = each * np.sum((0.5 - chance) * X[:, 0]), each * np.sum(chance * (1 - chance) * X[:, 0] ** 2)
    assert abs(np.mean(sums) - mean) < 3.5 * math.sqrt(variance / 400)
    assert 0.79 < np.var(sums, ddof=1) / variance < 1.25  # 3.3 standard errors


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_products_of_gradients_over_stand_ins_have_the_mean_of_those_over_all_records(share):
    """40,000 records and 1,000 stand-ins, at weights that are right and at half of them: within three hundredths.

    Labels that were drawn 40 times leave an error of 0.6 %; targets between 0 and 1 would give a fortieth.
    """
    rng = np.random.default_rng(2)
    X = np.tile(rng.uniform(-1, 1, (1000, 1)), (40, 1))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    labels = (rng.random(40_000) < chance).astype(float)
    standard = Standard(np.zeros(1), np.full(1, 0.6), np.full(1, 0.36), 1e-3, np.array([0.5]))
    known = standard, Weights(np.array([[2 * share * 0.6]]), np.zeros(1)), 0.7, 0.5, 2**20
    every = weighted_products(problem_of(X, labels), *known)
    few, draws = slice(1000), tuple(labels.reshape(40, 1000, 1))
    targets = chance[few] + math.sqrt(1 / 40) * (labels[few] - chance[few])
    rows = Lot(problem_of(X[few], targets), 40.0, 40 * targets.sum(), draws)
    np.testing.assert_allclose(rows.total(weighted_products, *known), every, rtol=0.03, atol=0.03 * every.max())


def test_classes_of_stand_ins_are_counted_though_their_targets_are_no_whole_numbers():
    X, targets = np.ones((4, 1)), np.array([0.2, 0.9, 1.1, 0.8])
    rows = Lot(problem_of(X, targets), 10.0, 30.0, ())
    assert rows.total(rows_of_classes).tolist() == [30 * 2**16]
    assert rows.total(shrunk_moments, 2.0).tolist() == [40 * 2**32, 40 * 2**32, 30 * 2**32]


def test_steps_of_a_descent_take_turns_with_lots_and_all_else_is_their_mean():
    rng = np.random.default_rng(4)
    X, labels = rng.uniform(-1, 1, (2 * MOST_ROWS, 3)), rng.integers(0, 2, (4, 2 * MOST_ROWS)).astype(float)
    rows = stand_ins(X, averaged(labels[0], np.full(len(X), 0.5), 10 * len(X)), labels, 10 * len(X))
    first, second = rows.lots
    assert count_rows(first) == count_rows(second) == count_rows(rows) == 10 * len(X)
    moments = [lot.total(shrunk_moments, 2.0) for lot in rows.lots]
    assert not np.array_equal(*moments)
    np.testing.assert_allclose(rows.total(shrunk_moments, 2.0), np.mean(moments, axis=0), atol=0.5)

    standard = Standard(np.zeros(3), np.full(3, 0.6), np.full(3, 0.36), 1e-3, np.array([0.5]))
    prepared = rows.then(descent_rows, standard, np.ones((1, 3), dtype=bool))
    asked = code_sums, Weights(np.ones((1, 3)), np.zeros(1)), 0.7, 2**20
    steps = [prepared.total(*asked).tolist() for _ in range(4)]
    own = [lot.total(*asked).tolist() for lot in prepared.lots]
    assert steps == own + own
    assert own[0] != own[1]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "lots"),
    [(100_000, 20, 1), (100_000, 199, 1), (100_000, 200, 2), (100_000, 5000, 1), (100_000, 1000, 4), (5_000, 400, 1)],
)
def test_wide_tables_have_several_lots_as_far_as_rows_and_memory_go(n_rows, n_features, lots):
    rows = rows_at_hand(n_rows, n_features)
    assert rows * n_features <= 2**25
    assert lots * MOST_ROWS <= rows < (lots + 1) * MOST_ROWS
    X = np.zeros((rows, 1))
    assert len(stand_ins(X, X[:, 0], np.zeros((4, rows)), n_rows).lots) == lots


def test_lots_together_have_as_much_chance_of_labels_as_all_records():
    """300 columns tell the variance within 8 %; the limits are four such errors, single lots have four times as much.

    Were targets those of single lots, all lots together would have a quarter of it.
    """
    rng = np.random.default_rng(5)
    rows, n_rows = 4 * MOST_ROWS, 100_000
    X, chance = rng.uniform(-1, 1, (rows, 300)), rng.uniform(0.2, 0.8, rows)
    labels = drawn_labels(chance, rng)
    lots = stand_ins(X, averaged(labels[0], chance, n_rows), labels, n_rows).lots
    sums = [lot.total(base_rate_gradient, np.array([0.5]), 2**16)[0] / 2.0**32 for lot in lots]
    by_labels = sums - n_rows / MOST_ROWS * ((0.5 - chance)[:, None] * X).reshape(-1, 4, 300).sum(axis=0)
    variance = n_rows * np.mean(chance * (1 - chance)) / 3
    assert 0.67 < np.var(by_labels.mean(axis=0)) / variance < 1.33
    assert 2.7 < np.var(by_labels) / variance < 5.3


def test_more_records_than_rows_make_smaller_errors():
    world = World(PlainTable(20), Supposed())
    errors = [
        rehearse(world, Terms(n_rows, 4.0), 0.5, [Probe(None, 0.5)], [0]).errors[0] for n_rows in (5_000, 80_000)
    ]
    assert 3 < errors[0] / errors[1] < 6  # sampling makes 4 of it; privacy's noise falls faster


# --- Made-up tables ----------------------------------------------------------------------------------------------


def test_a_world_is_as_easy_to_predict_as_was_supposed():
    world = World(PlainTable(30, nonzero=0.3), Supposed(0.85, 0.3, 5))
    X, chance = world.draw(20_000, 20_000, world.strength(), (), np.random.default_rng(2))
    assert X.mean() == pytest.approx(0.3, abs=0.01)
    assert chance.mean() == pytest.approx(0.3, abs=1e-6)
    assert np.maximum(chance, 1 - chance).mean() == pytest.approx(0.85, abs=0.01)


def test_columns_of_a_schema_are_made_up_within_it():
    table = SchemaTable(SCHEMA, skew=1.0)
    X = table.made_of(np.random.default_rng(3).random((5_000, table.n_columns)))
    names = [feature.name for feature in SCHEMA.features]
    assert X.shape == (5_000, len(names))
    assert np.abs(X).max() <= 1
    towns = X[:, [names.index(f"town={town}") for town in "abcd"]].mean(axis=0)
    assert towns == pytest.approx(np.array([12, 6, 4, 3]) / 25, abs=0.03)  # 4 standard errors
    assert X[:, names.index("town=other")].max() == 0
    assert table.spreads == pytest.approx(X.std(axis=0), abs=0.02)
    assert table.owners[[names.index("age"), names.index("town=c"), names.index("x13")]].tolist() == [0, 1, 17]


@pytest.mark.parametrize("nonzero", [None, 0.3])
def test_features_spread_as_their_table_says(nonzero):
    table = PlainTable(12, nonzero)
    X = table.made_of(np.random.default_rng(4).random((20_000, 12)))
    assert table.spreads == pytest.approx(X.std(axis=0), abs=0.012)  # 3.5 standard errors


def test_neighbouring_columns_correlate_as_was_supposed_and_stay_uniform():
    X = PlainTable(6, correlation=0.6).made_of(np.random.default_rng(5).random((50_000, 6)))
    uniform = 6 / math.pi * np.arcsin(np.array([0.6, 0.36, 0.216]) / 2)  # what normal correlations become
    assert np.corrcoef(X.T)[0, 1:4] == pytest.approx(uniform, abs=0.016)  # 3.5 standard errors
    assert np.quantile(X, [0.1, 0.5, 0.9], axis=0).mean(axis=1) == pytest.approx([-0.8, 0, 0.8], abs=0.01)


def test_columns_that_correlate_share_what_the_earlier_ones_are_made_from():
    features = np.array([2, 4])
    assert columns_behind(PlainTable(6), features).tolist() == [2, 4]
    assert columns_behind(PlainTable(6, correlation=0.5), features).tolist() == [0, 1, 2, 3, 4]
    assert columns_behind(SchemaTable(SCHEMA), np.array([1, 2])).tolist() == [1]


def test_effects_of_correlated_columns_are_on_neighbours_and_of_one_sign():
    apart, together = (World(PlainTable(20, correlation=r), Supposed(effects=3, correlation=r)) for r in (0.0, 0.5))
    assert np.flatnonzero(together.weights(1.0)).tolist() == [0, 1, 2]
    assert (together.weights(1.0) >= 0).all()
    assert np.sign(apart.weights(1.0)[np.flatnonzero(apart.weights(1.0))]).tolist() == [1, -1, 1]
    assert np.diff(np.flatnonzero(apart.weights(1.0))).min() > 1


# --- Rows of similar scores --------------------------------------------------------------------------------------


def test_numbers_that_are_spread_evenly_have_one_in_every_part_of_every_run():
    numbers = spread_evenly(512, 3, 0.0, np.random.default_rng(6))
    for run in numbers.reshape(4, 128, 3):
        assert np.array_equal(np.sort(np.floor(128 * run), axis=0), np.tile(np.arange(128.0)[:, None], (1, 3)))
    assert np.array_equal(np.sort(np.floor(512 * numbers), axis=0), np.tile(np.arange(512.0)[:, None], (1, 3)))
    assert spread_evenly(200, 2, 0.5, np.random.default_rng(7)).shape == (200, 2)
    assert spread_evenly(200, 0, 0.5, np.random.default_rng(7)).shape == (200, 0)


def test_numbers_that_are_spread_evenly_are_neither_0_nor_1():
    """In single precision some would be: one in 17 million that are drawn is 0, and others round up to 1."""

    class Extremes:
        def random(self, shape, dtype):
            return np.resize(np.array([0, np.nextafter(np.float32(1), np.float32(0))], dtype), shape)

    numbers = spread_evenly(256, 4, 0.5, Extremes())
    assert 0 < numbers.min() < 1e-6
    assert 1 - 1e-6 < numbers.max() < 1
    X = PlainTable(4, correlation=0.5).made_of(numbers.astype(float))
    assert np.isfinite(X).all()


def test_many_columns_are_spread_some_at_a_time(monkeypatch):
    monkeypatch.setattr(planner_worlds, "_AT_ONCE", 256)
    numbers = spread_evenly(128, 5, 0.0, np.random.default_rng(6))
    assert np.array_equal(np.sort(np.floor(128 * numbers), axis=0), np.tile(np.arange(128.0)[:, None], (1, 5)))
    assert len(np.unique(numbers)) == numbers.size


def test_a_table_of_real_effects_alone_can_be_planned():
    assert 0.7 < plan(10_000, 2, epsilon=4.0, repeats=2).accuracy.private < 0.82


@pytest.mark.parametrize(("n_rows", "n_features", "guided"), [(300, 20, False), (300, 4, True), (30_000, 20, True)])
def test_rehearsals_take_the_steps_that_were_announced(n_rows, n_features, guided):
    """Three descents without guided steps; one, half of it guided; and three, the last of them guided."""
    table, terms, heard = PlainTable(n_features), Terms(n_rows, 2.0), []
    stages = terms.plan(table).releases.stages
    assert (len(stages), stages[-1].guided > 0) == (1 if n_features == 4 else 3, guided)
    with progress.listening(lambda *step: heard.append(step)):
        plan(n_rows, n_features, repeats=1, epsilon=2.0)
        announced = heard[-1][1]
        heard.clear()
        rehearse(World(table, Supposed()), terms, 0.5, (), [0])
    assert len(heard) == sum(stage.steps for stage in stages)
    assert announced == len(heard) * (1 + planner.ACCURACY_REPEATS)


@pytest.mark.parametrize("loose", [0.04, 0.3, 1.0])
def test_sums_of_evenly_spread_numbers_vary_as_much_as_those_of_all_records(loose):
    """Sums weighted by something that rises from row to row; 2,000 of them have a standard error of 3.2 %.

    Independent numbers would have a share of 1. A little is left of eight runs, in which weights are not all alike:
    the square of an eighth.
    """
    weights, share = np.linspace(-1, 1, 1024), loose + (1 - loose) / 64
    numbers = spread_evenly(1024, 2000, loose, np.random.default_rng(8))
    assert np.var(weights @ numbers) == pytest.approx(share * np.sum(weights**2) / 12, rel=0.12)


def test_stand_ins_do_not_correlate_with_scores_more_than_records_would():
    """The gradient of features without effect at weights of 0, over 100,000 records for which 4,096 rows stand.

    Its variance is that of sums over all records; rows that were drawn alone would give 24 times as much. Over 16
    draws of 94 features each one standard error is 3.6 %.
    """
    world, rng = World(PlainTable(100), Supposed()), np.random.default_rng(9)
    null = world.weights(1.0) == 0
    sums = []
    for _ in range(16):
        X, chance = world.draw(4096, 100_000, 1.0, (), rng)
        sums.append(100_000 / 4096 * (0.5 - chance) @ X[:, null])
    records = 100_000 * np.mean((0.5 - chance) ** 2) / 3
    assert np.var(sums) == pytest.approx(records, rel=0.2)


def test_features_beside_a_schema_are_variables_of_their_own():
    variables = with_probes(SchemaTable(SCHEMA).variables, 2)
    assert variables.n_features == len(SCHEMA.features) + 2
    assert variables.sizes[-2:].tolist() == [1, 1]


@pytest.mark.parametrize("target", [NumericTarget("cost", 0, 1), Target("stage", ("1", "2", "3"))])
def test_a_schema_without_two_classes_is_refused(target):
    with pytest.raises(ValueError, match="target of two classes"):
        plan(1000, schema=Schema(SCHEMA.columns, target))


# --- Where a chance reaches 0.9 ----------------------------------------------------------------------------------


def test_the_search_finds_where_a_known_chance_reaches_09():
    """Two kinds whose limits are known; searches of 180 outcomes have a standard error of 0.025, 20 of them 0.006."""
    true, rng = np.array([-1.0, 0.4]), np.random.default_rng(4)

    def attempt(at, away, number):
        kinds = np.array([0, 1, 0, 1, 0, 1])
        places = at[kinds] + rng.uniform(*away, 6)
        return Outcomes(kinds, places, 1.2816 + 7 * (places - true[kinds]) + rng.standard_normal(6))

    found = [limits(attempt, np.array([0.0, 0.0]), np.array([2.0, 2.0]), Effort(180, 240), 6.0) for _ in range(20)]
    assert np.abs(np.mean(found, axis=0) - true).max() < 0.03
    assert np.abs(np.array(found) - true).max() < 0.2


def test_the_search_says_where_nothing_is_found():
    def attempt(at, away, number):
        return Outcomes(np.zeros(3, dtype=np.intp), np.full(3, at[0]), np.full(3, -2.0))

    assert limits(attempt, np.zeros(1), np.ones(1), Effort(60, 80), 6.0) == [math.inf]


# --- Forecasts ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forecast():
    return plan(4_000, 20, epsilon=4.0, repeats=20)


def test_a_forecast_is_the_same_for_the_same_seed_only():
    first, again, other = (plan(500, 8, repeats=5, random_state=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_forecast_says_what_the_fit_then_spends(forecast):
    X = np.random.default_rng(0).uniform(-1, 1, (4_000, 20))
    model = SparsePrivateLogisticRegression(epsilon=4.0, bounds=(-1, 1), classes=[0, 1], random_state=0)
    model.fit(X, (X[:, 0] > 0).astype(int))
    assert model.privacy_.events == forecast.events
    assert model.privacy_.delta == forecast.delta
    assert np.count_nonzero(model.coef_) <= forecast.most_kept


def test_what_is_planned_is_found(forecast):
    """60 fits with all rows drawn: 0.9 of the effects, by the planner's own error of 0.04 and that of counting.

    The bounds are 3.5 standard errors of both together away: a right planner fails once in 2,000 seeds.
    """
    sizes = np.array([effect.standardised or wanted_size(30, effect.share) for effect in forecast.effects])
    probing = Probing.of(World(PlainTable(20), Supposed()), Terms(4_000, 4.0), 0)
    found, tried = 0, 0
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        kinds = probing.kinds(sizes, seed)
        probes = [Probe(SHARES[kind], sizes[kind]) for kind in kinds]
        X, chance = probing.world.draw(4_000, 4_000, probing.strength, probes, rng)
        model = SparsePrivateLogisticRegression(epsilon=4.0, bounds=(-1, 1), classes=[0, 1], random_state=seed)
        reliable = model.fit(X, (rng.random(4_000) < chance).astype(int)).reliable_[0, -len(probes) :]
        counted = np.isin(kinds, [0, 1])
        found, tried = found + int(reliable[counted].sum()), tried + int(counted.sum())
    assert tried > 100
    assert abs(found / tried - 0.9) < 3.5 * math.hypot(0.03, math.sqrt(0.09 / tried))


def test_a_larger_budget_finds_smaller_effects_more_exactly(forecast):
    weaker = plan(4_000, 20, epsilon=0.5, repeats=10)
    for less, more in list(zip(weaker.effects, forecast.effects, strict=True))[:2]:
        assert less.standardised is None or less.standardised > 1.3 * more.standardised
        assert less.interval > more.interval
    assert weaker.accuracy.private < forecast.accuracy.private + 0.002


def test_a_forecast_can_be_read_by_people_and_machines(forecast):
    values = json.loads(json.dumps(forecast.to_dict(), allow_nan=False))
    assert values["neighbours"] == "zero-out"
    assert len(values["effects"]) == 4
    text = str(forecast)
    for words in ("4,000 rows, 20 features, epsilon = 4", "weighted gradients", "probability 0.9", "suppose"):
        assert words in text
    assert isinstance(forecast, Forecast)
    assert forecast.accuracy.guessing < forecast.accuracy.private <= forecast.accuracy.best + 0.005
    assert forecast.accuracy.plain == pytest.approx(forecast.accuracy.best, abs=0.01)


def test_effects_as_odds_ratios_are_those_by_standard_deviation(forecast):
    for effect in forecast.effects:
        if effect.standardised is not None:
            assert wanted_size(effect.odds_ratio, effect.share) == pytest.approx(effect.standardised)


def test_a_schema_is_rehearsed_with_its_columns():
    forecast = plan(3_000, schema=SCHEMA, epsilon=4.0, repeats=5)
    assert forecast.n_features == len(SCHEMA.features)
    assert "independent columns" in forecast.assumptions[0]


def test_a_forecast_says_that_columns_were_supposed_to_correlate():
    supposed = Supposed(correlation=0.5)
    for asked in ({"n_features": 8}, {"schema": SCHEMA}):
        forecast = plan(500, **asked, supposed=supposed, repeats=2)
        assert "neighbours correlate by 0.5" in forecast.assumptions[0]
        assert "on neighbours, of the same sign" in forecast.assumptions[-1]


def of_columns(*columns):
    return Schema(columns, Target("ill", ("no", "yes"), "yes"))


@pytest.mark.parametrize(
    ("schema", "effects", "kinds", "cells"),
    [
        (of_columns(Numeric("age", 20, 80)), "1 real effect of", ["number"], "numbers uniform between their bounds"),
        (
            of_columns(Categorical("town", ("a", "b"))),  # and others, which the made-up rows do not have
            "2 real effects of equal strength, on features that spread more than others; 1 of them where",
            ["category"],
            "categories equally frequent",
        ),
        (
            of_columns(Boolean("smokes"), Numeric("age", 20, 80)),
            "2 real effects of equal strength",
            ["number", "category"],
            "numbers uniform between their bounds, categories equally frequent",
        ),
        (
            of_columns(Numeric("age", 20, 80, cuts=(30, 40, 50, 60, 65, 70, 75))),
            "6 real effects of equal strength",
            ["category"],
            "numbers uniform between their bounds",
        ),
    ],
)
def test_effects_that_cannot_be_are_not_told_of(schema, effects, kinds, cells):
    forecast = plan(500, schema=schema, epsilon=4.0, repeats=2)
    assert forecast.assumptions[0] == f"independent columns; {cells}"
    assert forecast.assumptions[-1].startswith(effects)
    assert list(dict.fromkeys(effect.kind.split()[1] for effect in forecast.effects)) == kinds


def test_more_effects_than_features_are_refused_and_not_made_up():
    assert plan(500, 3, epsilon=4.0, repeats=2).assumptions[-1].startswith("3 real effects")
    assert np.count_nonzero(World(PlainTable(3), Supposed()).weights(1.0)) == 3
    assert np.count_nonzero(World(PlainTable(30), Supposed()).weights(1.0)) == 6
    for asked in ({"n_features": 3}, {"schema": of_columns(Categorical("town", ("a", "b", "c")))}):
        assert plan(500, **asked, supposed=Supposed(effects=3), repeats=2).n_rows == 500
        for needs in (lambda **terms: plan(500, **terms), lambda **terms: needed_rows(odds_ratio=2, **terms)):
            with pytest.raises(ValueError, match=r"effects must be at most 3.* got 4; state fewer effects, or more"):
                needs(**asked, supposed=Supposed(effects=4), repeats=2)


def test_what_an_effect_needs_agrees_with_the_plan(forecast):
    """The effect that is found at ε = 4 with 4,000 rows needs about so much, up to the error of short searches."""
    wanted = {"odds_ratio": forecast.effects[0].odds_ratio, "repeats": 10}
    assert 2 < needed_epsilon(4_000, 20, **wanted) < 8
    assert 2_600 < needed_rows(20, epsilon=4.0, **wanted) < 6_000


def test_an_effect_that_no_budget_finds_is_said_to_be_one():
    assert needed_epsilon(500, 20, odds_ratio=1.01, repeats=2) is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_rows": 50, "n_features": 20}, "n_rows must be at least 100"),
        ({"n_rows": 1000}, "give n_features, or a schema"),
        ({"n_rows": 1000, "n_features": 20, "schema": SCHEMA}, "not both"),
        ({"n_rows": 1000, "n_features": 20, "epsilon": 0.0}, "epsilon must be"),
        ({"n_rows": 1000, "n_features": 20, "repeats": 0}, "repeats must be at least 1"),
        ({"n_rows": 1000, "n_features": 20, "neighbours": "none"}, "neighbours must be"),
        ({"n_rows": 1000, "schema": SCHEMA, "supposed": Supposed(nonzero=0.5)}, "nonzero is for tables without"),
        ({"n_rows": 1000, "n_features": 9, "supposed": Supposed(0.99, nonzero=0.01)}, "cannot be reached"),
    ],
)
def test_what_cannot_be_planned_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        plan(**asked)


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        ({"accuracy": 0.7, "rate": 0.2}, "accuracy must be above 0.8"),
        ({"rate": 1.0}, "rate must lie strictly between 0 and 1"),
        ({"effects": 0}, "effects must be at least 1"),
        ({"skew": -1}, "skew must be"),
        ({"nonzero": 2.0}, "nonzero must lie"),
        ({"correlation": 1.0}, "correlation must lie"),
        ({"correlation": -0.5}, "correlation must lie"),
    ],
)
def test_what_cannot_be_supposed_is_refused(beliefs, message):
    with pytest.raises(ValueError, match=message):
        Supposed(**beliefs)


def test_no_effect_cannot_be_looked_for():
    with pytest.raises(ValueError, match="odds_ratio must not be 1"):
        needed_epsilon(1000, 20, odds_ratio=1.0)


# --- Pictures ----------------------------------------------------------------------------------------------------


def test_a_picture_shows_every_epsilon(forecast):
    svg = ET.fromstring(utility_picture([forecast, forecast]))
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("4") >= 2
    assert "a category of 5 % of the rows" in texts
    assert utility_page([forecast]).count("<svg") == 1
