"""The exported graph gives Python's probabilities, from raw values."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from hardzero import PrivateLassoLogisticRegression, SparsifierRegression
from hardzero.checks import MissingPackageError
from hardzero.model import FittedModel
from hardzero.model.onnx import to_onnx
from hardzero.schema.columns import Numeric, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from ..models import SCHEMA, STEPS, fitted_on_table, made_up, made_up_with_schema, table

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(model):
    proto = to_onnx(model)
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


NUMBERS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


def run_table(model, rows):
    running = session(model)
    given = {column.name: column.type for column in running.get_inputs()}
    feeds = {name: np.asarray(rows[name]).astype(NUMBERS.get(kind, object))[:, None] for name, kind in given.items()}
    return running.run(["label", "probabilities"], feeds)


def test_ten_thousand_raw_rows_get_pythons_probabilities():
    estimator = fitted_on_table()
    model = FittedModel.from_estimator(estimator, SCHEMA)
    rows = table(10_000, seed=2)
    rows["age"] = rows["age"].astype(np.float32)  # what the graph is given
    rows["gain"] = rows["gain"].astype(np.float32)
    expected = estimator.predict_proba(SchemaEncoder(SCHEMA).transform(rows))
    label, probabilities = run_table(model, rows)
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    np.testing.assert_array_equal(label, model.predict(SchemaEncoder(SCHEMA).transform(rows)))


def test_every_kind_of_column_is_encoded_as_the_encoder_does():
    model = made_up_with_schema(coef=(1.5, -4.0, -1.0, 0.3, 0.5, 0.7, -0.75))
    rows = table(2000, seed=3)
    expected = model.predict_proba(SchemaEncoder(SCHEMA).transform(rows))
    _, probabilities = run_table(model, rows)
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)


def test_steps_are_compared_as_the_encoder_does():
    columns = (replace(STEPS.columns[0], cuts=(30, 50.7, 70)), *STEPS.columns[1:])
    model = made_up_with_schema((0.5, 1.5, -0.5, -4.0, -1.0, 0.3, 0.5, 0.7, -0.75), replace(STEPS, columns=columns))
    rows = table(2000, seed=5)
    rows["age"][:6] = [30, 50.7, 70, np.nextafter(30, 0), np.nextafter(50.7, 0), np.inf]
    again = FittedModel.from_json(model.to_json())
    expected = model.predict_proba(SchemaEncoder(model.schema).transform(rows))
    np.testing.assert_array_equal(again.predict_proba(again.encode(rows)), expected)
    label, probabilities = run_table(model, rows)
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    np.testing.assert_array_equal(label, model.predict(model.encode(rows)))


def test_steps_of_several_classes():
    target = Target("outcome", ("good", "bad", "worse"), "good")
    schema = replace(STEPS, target=target)
    coef = np.random.default_rng(0).normal(size=(3, 9)) * (np.arange(9) % 2)
    model = replace(
        made_up_with_schema((1.0,) * 9, STEPS),
        schema=schema,
        classes=target.classes,
        coef_scaled=tuple(map(tuple, coef.tolist())),
        intercept_scaled=(0.1, 0.2, 0.3),
    )
    rows = table(500, seed=6)
    _, probabilities = run_table(model, rows)
    np.testing.assert_allclose(probabilities, model.predict_proba(model.encode(rows)), atol=1e-6)


def test_missing_steps_and_unlisted_values_that_the_policy_does_not_encode():
    model = made_up_with_schema((0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0), replace(STEPS, missing="error"))
    rows = {
        "age": [40.0, np.nan, 40.0, 40.0, 40.0],
        "admission": ["elective", "elective", "unheard of", "NA", "emergency"],
        "activity": ["none", "none", "none", "none", "daily"],
    }
    _, probabilities = run_table(model, rows)
    np.testing.assert_array_equal(np.isnan(probabilities[:, 0]), [False, True, True, True, True])


def test_truth_values_may_be_spelled_as_words():
    model = made_up_with_schema(coef=(1.5, -4.0, -1.0, 0.3, 0.5, 0.7, -0.75))
    rows = table(50, seed=4)
    rows["smoker"] = np.resize(["yes", "no", "true", "false", "True"], 50)
    _, probabilities = run_table(model, rows)
    expected = model.predict_proba(SchemaEncoder(SCHEMA).transform(rows))
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)


def test_a_column_may_not_be_called_like_an_output():
    columns = (Numeric("label", 18, 100), *SCHEMA.columns[1:])
    with pytest.raises(ValueError, match="rename it"):
        to_onnx(made_up_with_schema(schema=Schema(columns, SCHEMA.target)))


def test_only_columns_with_a_weight_are_asked_for():
    names = [column.name for column in session(made_up_with_schema()).get_inputs()]
    assert names == ["age", "smoker", "admission", "activity"]
    assert len(session(made_up_with_schema(coef=(0.0,) * 7)).get_inputs()) == 1


def test_a_missing_value_that_the_policy_does_not_encode_has_no_probability():
    model = made_up_with_schema(schema=Schema(SCHEMA.columns, SCHEMA.target, missing="error"))
    rows = {
        "age": [40.0, np.nan, 40.0, 40.0, 40.0],
        "smoker": ["no", "no", "?", "no", "no"],
        "admission": ["elective", "elective", "elective", "NA", "unheard of"],
        "activity": ["none"] * 5,
    }
    _, probabilities = run_table(model, rows)
    np.testing.assert_array_equal(np.isnan(probabilities[:, 0]), [False, True, True, True, False])


@pytest.mark.parametrize("labels", [["red", "green", "blue"], [3, 1, 2]])
def test_a_matrix_of_floats_and_many_classes(labels):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(10_000, 8)).astype(np.float32)
    y = np.array(labels)[X[:, :3].argmax(axis=1)]
    estimator = PrivateLassoLogisticRegression(epsilon=5.0, bounds=(-3, 3), n_iter=40, classes="from-y").fit(X, y)
    label, probabilities = session(FittedModel.from_estimator(estimator)).run(None, {"X": X})
    np.testing.assert_allclose(probabilities, estimator.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(label, estimator.predict(X))


@pytest.mark.parametrize("labels", [(False, True), (0.5, 1.5), (0, 1), ("no", "ü")])
def test_labels_keep_their_type(labels):
    label, probabilities = session(made_up(classes=labels)).run(None, {"X": np.array([[9, 0], [0, 9]], np.float32)})
    assert label.tolist() == [labels[1], labels[0]]
    assert probabilities.shape == (2, 2)


def test_a_regression_has_one_output(binary_task):
    X, _ = binary_task
    estimator = SparsifierRegression(epsilon=5.0, bounds=(-1, 1), target_bounds=(-4, 4)).fit(X, X[:, 0])
    (prediction,) = session(FittedModel.from_estimator(estimator)).run(None, {"X": X.astype(np.float32)})
    np.testing.assert_allclose(prediction[:, 0], estimator.predict(X), atol=1e-6)


def test_the_graph_carries_the_privacy_statement():
    metadata = session(made_up(seeded=True)).get_modelmeta()
    assert json.loads(metadata.custom_metadata_map["hardzero.privacy"])["is_private"] is False
    assert "NOT PRIVATE" in metadata.description


def test_without_onnx_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(MissingPackageError, match=r"hardzero\[onnx\]"):
        to_onnx(made_up())
