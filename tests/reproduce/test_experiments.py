"""The paper's experiments: what is listed, chosen, shown and drawn, from small hand-made rows."""

import csv
import io

import numpy as np
import pytest

from hardzero import datasets
from hardzero.reproduce import curves, experiments, figures, published, splits, tables
from hardzero.reproduce.experiments import DATA_SETS, Effort, private, table1_trials, tuning_trials
from hardzero.reproduce.methods import (
    FIGURE_METHODS,
    LASSO,
    METHODS,
    OPTIMUM,
    PLAIN,
    RANDOM_START,
    SELECT_REFIT,
    SPARSIFIER,
    build,
    random_point,
)
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.summaries import csv_text, p_value, verdict


def rows_of(trials, **values):
    """One result for each trial: each metric its value plus a tenth of the seed."""
    return {trial: {name: value + trial.seed / 10 for name, value in values.items()} for trial in trials}


@pytest.fixture
def table2_rows():
    seeds = range(10)
    return {
        **rows_of(private("splice", SPARSIFIER, 1.0, seeds), nonzeros=10, accuracy=60, auc=70),
        **rows_of(private("splice", LASSO, 1.0, seeds, n_iter=11), nonzeros=10, accuracy=50, auc=70),
        **rows_of(private("splice", SELECT_REFIT, 1.0, seeds), nonzeros=14, accuracy=75, auc=65),
        **rows_of(private("splice", SELECT_REFIT, 1.0, seeds, max_features=10), nonzeros=9, accuracy=73, auc=90),
    }


def test_table_2_shows_published_beside_measured_and_what_is_significant(table2_rows):
    row = tables.table2({"splice": table2_rows}).splitlines()[2]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "splice", "10", "**71.34** / **86.84** (12)", "**60.45** / 70.45 (10.4)", "49.95 / 50.13 (14)",
        "50.45 / 70.45 (10.4)", "11", "**75.45** / 65.45▼ (14.4)", "**73.45** / **90.45** (9.4)",
    ]  # fmt: skip


def test_table_2_lists_where_hardzero_is_behind(table2_rows):
    assert tables.behind("splice", table2_rows) == []
    ours = {t: r | {"auc": 60.0} for t, r in table2_rows.items() if dict(t.parameters).get("max_features")}
    assert tables.behind("splice", table2_rows | ours) == [
        "- Behind on splice: AUC 60.00; Sparsifier, re-run 70.45, Sparsifier as printed 86.84."
    ]
    assert "- Behind on splice" in tables.table2({"splice": table2_rows | ours})


def test_table_1_has_ratios_to_the_plain_steps():
    effort = Effort(trials=5, plain_steps=7, plain_trials=2)
    nonzeros = {PLAIN: 50, OPTIMUM: 40, LASSO: 100, RANDOM_START: 200, SPARSIFIER: 25}
    rows = {trial: {"nonzeros": nonzeros[trial.method]} for trial in table1_trials("gisette", effort)}
    head, _, row, *_ = tables.table1({"gisette": rows}).splitlines()
    assert "7 plain steps" in head
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "gisette (test part)", "5", "77", "50.0 (2)", "40.0", "901.30 (11.67)", "100.00 (2.00)", "200.00 (4.00)",
        "102.50 (1.43)", "25.00 (0.50)",
    ]  # fmt: skip


def test_every_data_set_of_the_paper_is_in_both_tables():
    assert set(DATA_SETS) == set(published.TABLE1) == set(published.TABLE2)


def test_csv_holds_published_and_measured_numbers(table2_rows):
    lines = list(csv.DictReader(io.StringIO(csv_text(tables.table2_estimates({"splice": table2_rows})))))
    accuracy = [line for line in lines if line["metric"] == "accuracy"]
    assert [(line["method"], line["source"], line["mean"]) for line in accuracy[:3]] == [
        (SPARSIFIER, "published", "71.34"),
        (LASSO, "published", "49.95"),
        (SPARSIFIER, "measured", "60.45"),
    ]
    assert accuracy[2]["trials"] == "10"
    assert float(accuracy[2]["standard_error"]) == pytest.approx(np.std(np.arange(10) / 10, ddof=1) / 10**0.5, 1e-4)


def test_significance_is_paired_by_seed():
    ours = rows_of(private("a", "x", 1.0, range(10)), accuracy=1.0)
    theirs = {Trial("a", "y", 1.0, "zero-out", t.seed): {"accuracy": r["accuracy"] - 0.01} for t, r in ours.items()}
    assert verdict(ours, theirs, "accuracy") == 1
    assert verdict(theirs, ours, "accuracy") == -1
    assert p_value(ours, dict(reversed(theirs.items())), "accuracy") == p_value(ours, theirs, "accuracy") < 0.05
    assert (p_value(ours, ours, "accuracy"), verdict(ours, ours, "accuracy")) == (1.0, 0)


def test_pilots_have_their_own_seeds():
    effort = Effort(50)
    assert len(effort.seeds) == 50
    assert len(experiments.quick(1).seeds) == 1
    assert not set(effort.seeds) & set(effort.pilot_seeds)
    assert [t.method for t in table1_trials("covtype", effort)].count(PLAIN) == 1


def test_tuning_takes_the_best_average_and_leaves_select_then_refit_alone():
    trials = tuning_trials("synthetic", SPARSIFIER, 1.0, Effort(pilots=2))
    assert len(trials) == 5 * 2
    assert {t.parameters for t in trials} == {(("radius", value),) for value in (1.0, 2.659, 7.071, 18.8, 50.0)}
    rows = {t: {"accuracy": 90 - abs(dict(t.parameters)["radius"] - 7)} for t in trials}
    assert experiments.chosen_parameters(rows) == (("radius", 7.071),)
    assert tuning_trials("synthetic", SELECT_REFIT, 1.0, Effort()) == []
    assert {t.parameters[0][1] for t in tuning_trials("kdd99", "Two-Stage", 1.0, Effort(pilots=1))} == {
        1.0, 1.631, 2.659, 4.336, 7.071,
    }  # fmt: skip
    assert experiments.chosen_parameters({}) == ()


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].tuned])
def test_every_tuned_method_has_five_values_at_equal_ratios(method):
    grid = METHODS[method].grid
    assert len(grid) == 5
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[-1] / grid[0]) / 4, rtol=0.05)
    build(Trial("synthetic", method, 1.0, "zero-out", 0, ((METHODS[method].tuned, grid[0]),)), 1e-4)


def test_the_methods_follow_the_paper():
    model = build(Trial("a9a", SPARSIFIER, 2.0, "zero-out", 5), delta=0.01)
    assert (model.epsilon, model.delta, model.epsilon_count, model.radius) == (2.0, 0.01, 0.05, 10.0)
    assert (model.calibration, model.n_iter, model.random_state) == ("paper", 1000, 5)
    plain = build(Trial("a9a", PLAIN, 0.0, "none", 5, (("n_iter", 50_000),)), delta=0.01)
    assert (plain.solver.n_iter, plain.fit_intercept) == (50_000, False)


def test_a_random_start_leaves_no_zero_behind(binary_task):
    X, y = binary_task
    trials = [Trial("toy", name, 1.0, "zero-out", 0, (("n_iter", 3),)) for name in (LASSO, RANDOM_START)]
    zero, random = (build(trial, 0.01).fit(X, y).coef_ for trial in trials)
    assert np.count_nonzero(zero) <= 3
    assert np.count_nonzero(random) == X.shape[1]
    np.testing.assert_allclose(random - zero, 2 / (4 * 5) * random_point(X.shape[1], 10.0, 0)[None, :])


def test_random_points_fill_the_ball():
    norms = [np.abs(random_point(3, 2.0, seed)).sum() for seed in range(2000)]
    assert max(norms) < 2
    assert np.mean(np.array(norms) < 1) == pytest.approx(1 / 8, abs=0.03)  # volume grows with the third power


def test_matching_steps_are_the_fewest_that_reach_the_nonzeros(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 30))
    split = splits.Split(X, (X[:, 0] > 0).astype(int), X, (X[:, 0] > 0).astype(int))
    monkeypatch.setattr(experiments, "load_split", lambda *_: split)
    (trial,) = private("toy", experiments.MATCHING, 1.0, [0], nonzeros=12)
    steps = experiments.matching_steps(trial)["n_iter"]

    def nonzeros(n):
        (fit,) = private("toy", LASSO, 1.0, [0], n_iter=int(n))
        return np.count_nonzero(build(fit, split.delta).fit(split.X_train, split.y_train).coef_)

    assert 12 <= steps < 40
    assert nonzeros(steps) >= 12 > nonzeros(steps - 1)


def test_the_synthetic_split_and_what_is_measured_on_it():
    split = splits.load_split("synthetic", 3)
    assert (split.X_train.shape, split.X_test.shape, split.delta) == ((8000, 100), (2000, 100), 1 / 8000)

    class Model:
        classes_ = (0, 1)
        coef_ = np.array([[1.0] * 6 + [0.0] * 2 + [1.0] * 3 + [0.0] * 89])

        def decision_function(self, X):
            return X @ datasets.make_synthetic(50, seed=0)[1]

        def score(self, X, y):
            return np.mean((self.decision_function(X) > 0) == y)

    assert splits.measure(Model(), split, "synthetic") == {
        "accuracy": 100.0, "nonzeros": 9, "auc": 100.0, "f1": 12 / 17, "incorrect_zeros": 2, "correct_zeros": 89,
    }  # fmt: skip


def test_published_scores_follow_from_the_published_zeros():
    """F1 from Figures 1 and 2 must be what Figure 3 prints: a check of all three transcripts."""
    for method, curve in published.FIGURES["figure3"].items():
        for epsilon, f1 in curve.items():
            missed = published.FIGURES["figure2"][method][epsilon]
            wrong = 92 - published.FIGURES["figure1"][method][epsilon]
            assert f1 == pytest.approx(2 * (8 - missed) / (2 * (8 - missed) + wrong + missed), abs=0.02)


@pytest.fixture
def curve_rows():
    values = {"correct_zeros": 80, "incorrect_zeros": 1, "f1": 0.5, "accuracy": 97.0}
    trials = [t for m in FIGURE_METHODS for e in (1.0, 2.0) for t in private("synthetic", m, e, range(4))]
    return rows_of(trials, **values)


def test_curves_as_a_table(curve_rows):
    text = curves.curve_table("figure4", curve_rows)
    assert "4 trials" in text
    assert "| 1 | 2.85 ± 0.065 (4.04) | 2.85 ± 0.065 (39.3) |" in text
    assert "- At ε = 2 hardzero has 2.85; Sparsifier as printed 2.2." in text
    assert "At ε = 1 hardzero" not in text
    assert "Two-Stage is tuned between" in curves.curve_table("figure5", curve_rows)


@pytest.mark.parametrize("name", list(curves.CHARTS))
def test_figures_show_every_method_solid_and_the_paper_dashed(name, curve_rows):
    figure = figures.draw(name, curve_rows)
    lines = [line for axis in figure.axes for line in axis.lines if line.get_label() != "all there are"]
    solid = {line.get_label(): line for line in lines if line.get_linestyle() == "-"}
    dashed = {line.get_label(): line for line in lines if line.get_linestyle() == "--"}
    assert set(solid) == {curves.shown(method) for method in FIGURE_METHODS}
    assert set(dashed) == {f"{method}, published" for method in published.FIGURES[name]}
    assert len({line.get_marker() for line in solid.values()}) == len(solid)
    assert len({line.get_color() for line in solid.values()}) == len(solid)
    printed = published.FIGURES[name]["Sparsifier"]
    np.testing.assert_allclose(dashed["Sparsifier, published"].get_ydata(), list(printed.values()))
    metric = curves.CHARTS[name].metric
    expected = {"correct_zeros": 80.15, "incorrect_zeros": 1.15, "f1": 0.65, "error": 2.85}[metric]
    np.testing.assert_allclose(solid["Sparsifier"].get_ydata(), expected)


def test_the_same_rows_give_the_same_pictures(curve_rows, tmp_path):
    first = [path.read_bytes() for path in figures.save("figure4", curve_rows, tmp_path)]
    assert [path.read_bytes() for path in figures.save("figure4", curve_rows, tmp_path)] == first
