"""Evaluations from beginning to end: right without noise, the same for other records with the same answers."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, confusion_matrix, log_loss, roc_auc_score

from hardzero import FittedModel, SparsePrivateLogisticRegression, SparsifierRegression
from hardzero.evaluation import Evaluation, evaluate
from hardzero.evaluation import assess as assessing
from hardzero.evaluation.assess import margins_of, places_of
from hardzero.model import ModelFileError
from hardzero.model.evaluation import CLIP, Figure, fingerprint_of
from hardzero.privacy.budget import Neighbours

from ..guarantee.replay import taped
from ..models import made_up_with_schema

FREE = 1e6  # ε of next to no noise


def rows(n_rows, seed, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 5))
    margins = (
        X[:, :n_classes] * 4 if n_classes > 2 else np.column_stack([np.zeros(n_rows), 4 * X[:, 0] - 2 * X[:, 1]])
    )
    chances = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    places = (rng.random((n_rows, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    return X, np.array(["no", "yes", "perhaps"])[places.clip(max=n_classes - 1)]


def fitted(n_classes=2):
    X, y = rows(3_000, 0, n_classes)
    classes = ["no", "yes", "perhaps"][:n_classes]
    model = SparsePrivateLogisticRegression(5.0, bounds=(-1, 1), classes=classes, random_state=1)
    return model.fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def model_of_three():
    return fitted(3)


def test_without_noise_figures_are_those_of_scikit_learn(model):
    X, y = rows(20_000, 1)
    found = evaluate(model, X, y, epsilon=FREE, random_state=0)
    chances, truth = model.predict_proba(X)[:, 1], y == model.classes_[1]
    expected = {
        "accuracy": model.score(X, y),
        "balanced_accuracy": balanced_accuracy_score(y, model.predict(X)),
        "auc": roc_auc_score(truth, chances),
        "log_loss": log_loss(truth, np.clip(chances, CLIP, 1 - CLIP)),
        "brier": brier_score_loss(truth, chances),
    }
    assert {name: figure.value for name, figure in found.metrics.items()} == pytest.approx(expected, abs=2e-4)
    shares = confusion_matrix(y, model.predict(X), labels=model.classes_) / len(y)
    np.testing.assert_allclose([[cell.value for cell in line] for line in found.confusion], shares, atol=1e-6)


def test_more_than_two_classes(model_of_three):
    X, y = rows(20_000, 1, 3)
    found = evaluate(model_of_three, X, y, epsilon=FREE, random_state=0)
    chances, order = model_of_three.predict_proba(X), list(model_of_three.classes_)
    true = chances[np.arange(len(y)), [order.index(label) for label in y]]
    expected = {
        "accuracy": model_of_three.score(X, y),
        "balanced_accuracy": balanced_accuracy_score(y, model_of_three.predict(X)),
        "log_loss": -np.log(np.clip(true, CLIP, 1 - CLIP)).mean(),
        "brier": np.mean((1 - true) ** 2),
    }
    assert {name: figure.value for name, figure in found.metrics.items()} == pytest.approx(expected, abs=5e-4)
    shares = confusion_matrix(y, model_of_three.predict(X), labels=order) / len(y)
    np.testing.assert_allclose([[cell.value for cell in line] for line in found.confusion], shares, atol=1e-6)
    assert found.roc == found.calibration == ()


def test_curves_without_noise(model):
    X, y = rows(20_000, 1)
    found = evaluate(model, X, y, epsilon=FREE, random_state=0)
    chances, truth = model.predict_proba(X)[:, 1], y == model.classes_[1]
    for point in found.roc:
        above = chances > point.probability
        assert point.true_positives.value == pytest.approx(above[truth].mean(), abs=1e-3)
        assert point.false_positives.value == pytest.approx(above[~truth].mean(), abs=1e-3)
    for part in found.calibration:
        inside = (chances > part.low) & (chances <= part.high)
        if inside.sum() > 100:
            assert part.observed.value == pytest.approx(truth[inside].mean(), abs=1e-3)


def replayed(evaluation, recorded, others):
    with taped() as tape:
        expected = evaluation(recorded)
    assert [call.mechanism for call in tape.calls] == ["gaussian"]
    for other in others:
        with taped(tape):
            assert evaluation(other).to_json() == expected.to_json()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_other_records_with_the_same_answers_give_the_same_output(request, n_classes, relation):
    model = request.getfixturevalue("model" if n_classes == 2 else "model_of_three")
    others = [rows(400, 3, n_classes), (np.zeros((400, 5)), np.full(400, "no"))]

    def evaluation(table):
        return evaluate(model, *table, epsilon=1.0, neighbours=relation)

    replayed(evaluation, rows(400, 2, n_classes), others)


def test_under_add_remove_the_number_of_rows_leaves_by_no_way(model):
    def evaluation(table):
        return evaluate(model, *table, epsilon=1.0, neighbours="add-remove", n_rows=300)

    replayed(evaluation, rows(400, 2), [rows(399, 3), rows(20, 4)])


class TestTwins:
    """Faults that the replay notices."""

    def caught(self, model):
        with pytest.raises(AssertionError):
            replayed(lambda table: evaluate(model, *table, epsilon=1.0), rows(400, 2), [rows(400, 3)])

    def test_counts_without_noise(self, model, monkeypatch):
        monkeypatch.setattr(
            assessing,
            "noisy_counts",
            lambda margins, places, plan, source, persons: assessing_counts(margins, places, plan),
        )
        self.caught(model)

    def test_the_true_share_of_a_class_beside_noisy_counts(self, model, monkeypatch):
        original = assessing.assessed

        def with_share(file, margins, places, plan, random_state, persons):
            found = original(file, margins, places, plan, random_state, persons)
            return dataclasses.replace(found, noise=found.noise + places.mean())

        monkeypatch.setattr(assessing, "assessed", with_share)
        self.caught(model)


def assessing_counts(margins, places, plan):
    from hardzero.evaluation.histogram import ROW, counted_rows

    return counted_rows(margins, places, plan)._secret / ROW


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_array, lambda X: X.astype(np.float32)])
def test_a_rows_margin_does_not_depend_on_the_rows_around_it(model, make):
    """To the last bit: else one record could move the bins of others."""
    file = FittedModel.from_estimator(model)
    X = np.round(rows(257, 5)[0], 2)
    together = margins_of(file, make(X))
    alone = np.vstack([margins_of(file, make(X[i : i + 1])) for i in range(len(X))])
    assert together.tobytes() == alone.tobytes()
    np.testing.assert_allclose(together[:, 0], file.decision_function(make(X)), rtol=1e-12, atol=1e-12)


def test_entries_stored_twice_are_added_up(model):
    file = FittedModel.from_estimator(model)
    twice = sparse.csr_array((np.array([0.25, 0.5]), np.array([0, 0]), np.array([0, 2])), shape=(1, 5))
    np.testing.assert_array_equal(margins_of(file, twice), margins_of(file, np.array([[0.75, 0, 0, 0, 0]])))


def test_labels_find_their_places_in_the_order_of_the_model():
    file = made_up_with_schema()
    assert file.classes == ("bad", "good")
    assert places_of(file, ["good", "bad"], 2).tolist() == [1, 0]
    turned = dataclasses.replace(file, classes=("good", "bad"))
    assert places_of(turned, ["good", "bad"], 2).tolist() == [0, 1]


def test_the_true_class_is_printed_to_the_left_of_its_line(model):
    found = evaluate(model, *rows(500, 6), epsilon=0.3)
    lines = repr(found).splitlines()
    top = next(place for place, line in enumerate(lines) if line.startswith("share of rows")) + 1
    head, *table = lines[top : top + 3]
    assert head.split() == [line.split()[0] for line in table] == [str(label) for label in found.classes]
    assert len({len(line) for line in (head, *table)}) == 1


def test_the_statement_says_what_it_cost_and_about_whom(model):
    X, y = rows(500, 6)
    found = evaluate(model, X, y, epsilon=0.3, delta=1e-6)
    statement = found.privacy
    assert statement.is_private
    assert statement.epsilon == pytest.approx(0.3)
    assert statement.epsilon <= 0.3
    assert (statement.delta, statement.neighbours, statement.n_rows) == (1e-6, Neighbours.ZERO_OUT, 500)
    assert "concluded from this evaluation" in repr(found)
    assert "one row being one record" in repr(found)
    seeded = evaluate(model, X, y, epsilon=0.3, random_state=1)
    assert "NOT PRIVATE: the noise came from a seed. Without random_state this evaluation" in repr(seeded)
    assert evaluate(model, X, y, epsilon=0.3, random_state=1) == seeded
    assert found != evaluate(model, X, y, epsilon=0.3, delta=1e-6)


@pytest.mark.parametrize(("relation", "is_said"), [("zero-out", True), ("add-remove", False)])
def test_dropped_rows_are_mentioned_where_their_number_shows(relation, is_said):
    file = made_up_with_schema()
    file = dataclasses.replace(file, schema=dataclasses.replace(file.schema, missing="drop"))
    stated = {"n_rows": 9} if relation == "add-remove" else {}
    found = evaluate(file, np.zeros((3, 7)), ["good"] * 3, epsilon=1.0, neighbours=relation, **stated)
    assert ("were dropped" in repr(found)) is is_said


def test_the_file_of_an_evaluation_is_read_back(model, tmp_path):
    X, y = rows(500, 6)
    found = evaluate(model, X, y, epsilon=0.3)
    found.save(tmp_path / "evaluation.json")
    assert Evaluation.load(tmp_path / "evaluation.json") == found
    assert found.fingerprint == fingerprint_of(FittedModel.from_estimator(model))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "hardzero-model", "its format is not 'hardzero-evaluation'"),
        (("version",), 3, "another version than 1"),
        (("metrics", "auc", "low"), 0.99, "metrics.auc must have its value between low and high"),
        (("metrics", "lift"), {"value": 1.0, "low": 0.0, "high": 2.0}, "'lift', which is no metric"),
        (("classes",), ["no"], "two labels or more"),
        (("confusion",), [], "a line and a column for each class"),
        (("privacy", "epsilon"), 0.01, "less than the events cost"),
        (("noise",), "much", "noise must be a number"),
        (("more",), 1, "not a field"),
    ],
)
def test_a_damaged_file_is_refused(model, path, value, message):
    X, y = rows(500, 6)
    content = json.loads(evaluate(model, X, y, epsilon=1.0, random_state=3).to_json())
    part = content
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(ModelFileError, match=message):
        Evaluation.from_json(json.dumps(content))
    with pytest.raises(ModelFileError, match="not an evaluation file"):
        Evaluation.from_json("{")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be a finite number above 0"),
        ({"delta": 1.0}, "delta must lie strictly"),
        ({"neighbours": "friends"}, "neighbours must be"),
        ({"n_rows": 10}, "n_rows goes with"),
        ({"neighbours": "add-remove"}, "needs n_rows"),
        ({"random_state": -1}, "random_state must not be negative"),
        ({"y": ["no"] * 10 + ["never"] * 10}, "labels that are not in classes"),
        ({"X": np.zeros((20, 4))}, "5 columns"),
        ({"X": np.zeros((0, 5)), "y": []}, "no rows to evaluate on"),
    ],
)
def test_bad_input_is_refused(model, changes, message):
    X, y = rows(20, 6)
    given = {"X": X, "y": y, "epsilon": 1.0, **changes}
    with pytest.raises((ValueError, TypeError), match=message):
        evaluate(model, given.pop("X"), given.pop("y"), **given)


def test_a_model_of_a_number_is_refused():
    X, _ = rows(100, 1)
    model = SparsifierRegression(1.0, bounds=(-1, 1), target_bounds=(-1, 1), n_iter=5, random_state=0).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="predicts a number"):
        evaluate(model, X, X[:, 0], epsilon=1.0)


def test_a_figure_in_words():
    assert str(Figure(0.5, 0.25, 0.75)) == "0.500 (0.250 to 0.750)"
    assert str(Figure(None, 0.0, 1.0)) == "? (0.000 to 1.000)"
