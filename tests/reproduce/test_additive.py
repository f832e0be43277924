"""The study of private additive models: its tables, its simulations and what is measured, on small examples."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.reproduce.rows import Row, Trial, line_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

import additive  # noqa: E402
import additive_data as data  # noqa: E402
import additive_models as models  # noqa: E402
import additive_report  # noqa: E402
import result_page  # noqa: E402

sys.path.remove(str(EXPERIMENTS))

AGE = data.numeric("age", 0, 100, [18, 65])
COLOUR = data.Variable("colour", 3)


def toy_table(rows=400):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 100, rows), rng.integers(0, 4, rows)])
    y = (rng.random(rows) < np.where(X[:, 0] >= 65, 0.9, 0.1)).astype(int)
    half = rows // 2
    return data.Table((AGE, COLOUR), X[:half], y[:half], X[half:], y[half:])


def test_numbers_become_cumulative_steps_and_categories_indicators():
    X, labels = data.design((AGE, COLOUR), np.array([[17.9, 0], [18, 2], [90, 3]]))
    assert labels == ["age", "age", "colour", "colour", "colour"]
    assert X.tolist() == [[0, 0, 1, 0, 0], [1, 0, 0, 0, 1], [1, 1, 0, 0, 0]]


@given(st.integers(0, 2**32 - 1))
def test_places_undo_indicators(seed):
    rng = np.random.default_rng(seed)
    groups = [[0, 3], [1, 2, 4]]
    expected = np.column_stack([rng.integers(0, 3, 20), rng.integers(0, 4, 20)])
    X = np.zeros((20, 5))
    for column, group in enumerate(groups):
        known = expected[:, column] < len(group)
        X[np.flatnonzero(known), np.array(group)[expected[known, column]]] = 1
    assert np.array_equal(data.places(X, groups), expected)


@pytest.mark.parametrize(("name", "features"), [("a9a", 123), ("mushrooms", 112), ("phishing", 68)])
def test_groups_of_indicators_cover_every_feature_once(name, features):
    assert sorted(column for group in data.GROUPS[name] for column in group) == list(range(features))


def test_cut_points_lie_within_bounds_and_ascend():
    for variable in data.shape_variables():
        assert bool(variable.levels) != bool(variable.cuts)
        assert list(variable.cuts) == sorted(set(variable.cuts))
        assert all(variable.lower < cut < variable.upper for cut in variable.cuts)


def test_simulated_labels_follow_the_true_margin():
    table = data.simulate(5_000, seed=1)
    chance = 1 / (1 + np.exp(-data.true_margin(table.X_test)))
    order = np.argsort(chance)
    for part in np.array_split(order, 5):
        error = np.sqrt(np.mean(chance[part] * (1 - chance[part])) / len(part))
        assert abs(table.y_test[part].mean() - chance[part].mean()) < 4 * error  # one failure in 3,000 seeds
    assert not np.array_equal(table.X, data.simulate(5_000, seed=2).X)
    tail = table.X_test[:, list(data.SHAPES).index("tail")]
    assert np.mean(tail >= 80) == pytest.approx(0.02, abs=0.005)


def test_the_grid_has_the_distribution_of_the_rows():
    points, rows = data.grid(), data.simulate(1_000, seed=0).X_test
    np.testing.assert_allclose(points.mean(axis=0), rows.mean(axis=0), rtol=0.05)
    np.testing.assert_allclose(points.std(axis=0), rows.std(axis=0), rtol=0.05)


def truth_plus(extra):
    def parts(X):
        return np.column_stack([data.true_curve(j, X[:, j]) for j in range(X.shape[1])]) + extra(X)

    return models.Additive(lambda X: parts(X).sum(axis=1), parts)


def test_the_truth_has_no_error_wherever_its_curves_are_centred():
    row = additive.against_truth(truth_plus(lambda _: 5.0))
    assert row["error"] == pytest.approx(0, abs=1e-9)
    assert (row["kept_true"], row["kept_noise"], row["first_true"]) == (data.TRUE, 0, data.TRUE)


def test_a_curve_of_noise_is_an_error_and_counted():
    noise = len(data.SHAPES)

    def wrong(X):
        extra = np.zeros(X.shape)
        extra[:, noise] = np.where(X[:, noise] >= np.median(X[:, noise]), 3.0, -3.0)
        return extra

    row = additive.against_truth(truth_plus(wrong))
    assert row["error"] == pytest.approx(0, abs=1e-9)
    assert row["error_noise"] == pytest.approx(3 / np.sqrt(additive_report.NOISE))
    assert (row["found_noise"], row["first_true"]) == (1, data.TRUE - 1)


@pytest.mark.parametrize("name", models.FORMS)
def test_forms_have_a_type_bounds_and_a_variable_for_each_column(name):
    form = models.form_of(name, (AGE, COLOUR))
    columns = form.columns(np.array([[-5.0, 0], [18, 2], [120, 3]]))
    assert columns.shape[1] == len(form.types) == len(form.bounds) == len(form.owner)
    assert sorted(set(form.owner)) == [0, 1]
    assert (columns >= form.bounds[:, 0]).all()
    assert (columns <= form.bounds[:, 1]).all()
    assert columns[:, 0].tolist() == ([0, 18, 100] if name in ("raw", "indicators") else [0, 1, 2])


def test_parts_of_a_linear_model_add_up_to_its_margin():
    table = toy_table()
    model = models.fit(Trial("toy", models.LOGISTIC, 0.0, "none", 0), table)
    constant = model.margin(table.X_test) - model.parts(table.X_test).sum(axis=1)
    np.testing.assert_allclose(constant, constant[0], atol=1e-5)
    assert np.mean((model.margin(table.X_test) > 0) == table.y_test) > 0.8


def test_parts_of_dp_ebm_add_up_to_its_margin():
    pytest.importorskip("interpret")
    table = toy_table()
    setting = (("form", "indicators"), ("max_rounds", 5))
    model = models.fit(Trial("toy", models.DEFAULT, 50.0, "zero-out", 0, setting), table)
    constant = model.margin(table.X_test) - model.parts(table.X_test).sum(axis=1)
    np.testing.assert_allclose(constant, constant[0], atol=1e-6)


def test_tuning_takes_the_best_mean_of_accuracy_and_auc():
    scores = {"raw": [(80, 90), (60, 70)], "cuts": [(75, 85), (74, 84)]}
    rows = {
        Trial("toy", "tried", 1.0, "zero-out", seed, (("form", form),)): {"accuracy": accuracy, "auc": auc}
        for form, pairs in scores.items()
        for seed, (accuracy, auc) in enumerate(pairs)
    }
    assert additive.best(rows) == (("form", "cuts"),)


def test_models_without_privacy_run_on_fewer_seeds():
    assert len(additive.trials(models.EBM, "a9a", 1.0, 10)) == 3
    assert [t.epsilon for t in additive.trials(models.LOGISTIC, "covtype", 1.0, 10)] == [0.0]
    assert additive.trials(models.EBM, "covtype", 1.0, 10) == []
    private = additive.trials(models.TUNED, "a9a", 1.0, 10, (("form", "raw"),))
    assert {t.seed for t in private} == set(range(10))
    assert {t.neighbours for t in private} == {"zero-out"}


def test_the_page_has_every_table_and_keeps_what_is_written_by_hand(tmp_path):
    page = additive_report.PAGE.read_text()
    result = {"accuracy": 81.0, "auc": 87.5, "used": 3, "variables": 14, "seconds": 1.0}
    trials = [Trial("a9a", models.DEFAULT, 1.0, "zero-out", seed, (("form", "cuts"),)) for seed in range(2)]
    (tmp_path / "additive-real.jsonl").write_text("".join(line_of(trial, Row(result)) for trial in trials))
    text = result_page.filled(page, additive_report.TABLES, tmp_path)
    assert "| a9a | DP-EBM | 2 | 81.00 ± 0.00 | 87.50 ± 0.00 | 3.0 ± 0.0 of 14 | 1.0 |" in text
    assert "| a9a | 1 | DP-EBM | cuts | default | default | default | default |" in text
    assert text.count("Not run yet.") == 3
    assert text.splitlines()[0] == page.splitlines()[0]
    with pytest.raises(SystemExit, match="markers of real"):
        result_page.filled("# no markers", additive_report.TABLES, tmp_path)
