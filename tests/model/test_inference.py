"""How sure each weight is, in the model file: old files are read, and what contradicts the weights is refused."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hardzero import LassoLogisticRegression, PlainFrankWolfe, SparsePrivateLogisticRegression
from hardzero.model import FittedModel, ModelFileError
from hardzero.model.inference import Inference
from hardzero.schema.columns import Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from ..models import SCHEMA, made_up, made_up_with_schema, sure, table
from .changed import changed

COEF = ((0.5, -2.0, 0.0),)
KNOWN = sure([[0.1, 0.25, None]], [[0.2, 0.01, 1.0]])
MODEL = made_up(names=("age", "sex=f", "gain"), coef=COEF, inference=KNOWN)


def test_a_file_says_how_sure_it_is_of_each_weight():
    content = json.loads(MODEL.to_json())["inference"]
    assert content["standard_errors"] == {"scaled": [[0.1, 0.25, None]], "original": [[0.05, 0.125, None]]}
    assert content["q_values"] == [[0.2, 0.01, 1.0]]
    assert content["covers"] == "the weights given the kept features; selection is not accounted for"
    again = FittedModel.from_json(MODEL.to_json())
    assert again == MODEL
    assert again.inference_original == KNOWN.divided_by(np.array([2.0]))
    assert again.reliable.tolist() == [1]


def test_a_method_that_cannot_tell_is_written_as_null(binary_task):
    X, y = binary_task
    estimator = LassoLogisticRegression(bounds=(-1, 1), solver=PlainFrankWolfe(9)).fit(X, y)
    text = FittedModel.from_estimator(estimator).to_json()
    assert json.loads(text)["inference"] is None
    assert FittedModel.from_json(text).inference_original is None
    assert FittedModel.from_json(text).reliable is None


def test_a_file_that_version_2_wrote_is_read():
    model = FittedModel.load(Path(__file__).with_name("version-2.json"))
    assert model == made_up_with_schema()
    assert model.inference_scaled is None


def test_a_file_that_version_3_wrote_is_read():
    model = FittedModel.load(Path(__file__).with_name("version-3.json"))
    known = sure([[0.2, None, 0.3, None, 0.4, None, 0.5]], [[0.01, 0.9, 0.02, 0.8, 0.3, 0.7, 0.04]])
    assert model == made_up_with_schema(inference=known)
    assert not any(feature.is_step for feature in model.features)


@pytest.mark.parametrize("version", [1, 2])
def test_older_files_may_not_hold_what_they_could_not(version):
    content = json.loads(MODEL.to_json())
    content["version"] = version
    with pytest.raises(ModelFileError, match="inference is not a field"):
        FittedModel.from_json(json.dumps(content))


def test_files_of_version_3_say_that_nothing_is_known():
    content = json.loads(MODEL.to_json())
    del content["inference"]
    with pytest.raises(ModelFileError, match="inference is missing"):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ([], [], r"inference must be an object"),
        (["covers"], None, r"inference\.covers must be text"),
        (["more"], 1, r"inference\.more is not a field"),
        (["standard_errors"], None, r"standard_errors must be an object"),
        (["standard_errors", "scaled", 0, 2], 0.1, r"scaled\[0\]\[2\] must be null, because the weight is 0"),
        (["standard_errors", "original", 0, 2], 0.1, r"original\[0\]\[2\] must be null, because the weight is 0"),
        (["standard_errors", "scaled", 0, 1], None, r"scaled\[0\]\[1\] is missing: its weight is not 0"),
        (["standard_errors", "scaled", 0, 1], 0, r"scaled\[0\]\[1\] must be above 0"),
        (["standard_errors", "scaled", 0, 1], -0.25, r"scaled\[0\]\[1\] must be above 0"),
        (["standard_errors", "scaled", 0, 1], "0.25", r"scaled\[0\]\[1\] must be a number"),
        (["standard_errors", "scaled", 0, 1], 10**400, r"scaled\[0\]\[1\] is too large"),
        (["standard_errors", "scaled", 0], [0.1, 0.25], r"scaled\[0\] must have 3 entries"),
        (["standard_errors", "scaled"], [], r"scaled must have 1 rows"),
        (["standard_errors", "original", 0, 1], 0.126, r"original has other standard errors"),
        (["q_values", 0, 2], None, r"q_values\[0\]\[2\] must be a number"),
        (["q_values", 0, 2], 1.01, r"q_values\[0\]\[2\] must lie between 0 and 1"),
        (["q_values", 0, 2], -0.01, r"q_values\[0\]\[2\] must lie between 0 and 1"),
        (["q_values", 0, 2], True, r"q_values\[0\]\[2\] must be a number"),
        (["q_values"], [[0.2, 0.01, 1.0]] * 2, r"q_values must have 1 rows"),
    ],
)
def test_what_contradicts_the_weights_is_refused_by_its_place(path, value, problem):
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_json(changed(MODEL, ["inference", *path], value))


def told(estimator):
    """What a fit may say about its weights."""
    errors = np.where(estimator.coef_ != 0, 0.1 + np.arange(estimator.coef_.shape[1]), np.nan)
    estimator.inference_ = Inference(errors, np.full(errors.shape, 0.02), "the weights")
    return estimator


def test_speaking_for_the_other_class_changes_no_standard_error():
    encoder = SchemaEncoder(SCHEMA)
    encoded = encoder.encode(table(2000))
    estimator = SparsePrivateLogisticRegression(5.0, bounds=encoder.bounds, classes=SCHEMA.target.classes)
    told(estimator.fit(encoded.X, encoded.y))
    one, other = (
        FittedModel.from_estimator(estimator, Schema(SCHEMA.columns, Target("outcome", ("good", "bad"), positive)))
        for positive in ("good", "bad")
    )
    np.testing.assert_allclose(one.coef_original, -other.coef_original)
    assert one.inference_scaled == other.inference_scaled == estimator.inference_
    lower, upper = one.inference_original.intervals(one.coef_original)
    turned_lower, turned_upper = other.inference_original.intervals(other.coef_original)
    np.testing.assert_allclose((lower, upper), (-turned_upper, -turned_lower))


@pytest.mark.parametrize("classes", [[0, 1], ["a", "b", "c"]])
def test_a_file_has_the_intervals_of_its_estimator(classes):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 3, (2000, 4))
    y = np.array(classes)[np.digitize(X[:, 0] - X[:, 1], [0.0] if len(classes) == 2 else [-0.8, 0.8])]
    estimator = SparsePrivateLogisticRegression(5.0, bounds=(-1, [3, 1, 7, 2]), classes=classes)
    told(estimator.fit(X, y))
    model = FittedModel.from_estimator(estimator)
    np.testing.assert_allclose(model.inference_original.intervals(model.coef_original), estimator.conf_int())
    np.testing.assert_array_equal(model.reliable, np.flatnonzero(estimator.reliable_.any(axis=0)))


def test_what_is_known_is_equal_only_as_a_whole():
    assert sure([[0.1, None]], [[0.2, 1.0]]) == sure([[0.1, None]], [[0.2, 1.0]])
    for other in (
        sure([[0.1, 0.1]], [[0.2, 1.0]]),
        sure([[0.1, None]], [[0.3, 1.0]]),
        sure([[0.1, None]], [[0.2, 1.0]], "something else"),
        None,
    ):
        assert sure([[0.1, None]], [[0.2, 1.0]]) != other


def test_a_negative_scale_leaves_standard_errors_positive():
    assert KNOWN.divided_by(np.array([-2.0, 2.0, 1.0])).standard_error[0, :2].tolist() == [0.05, 0.125]
    assert math.isnan(KNOWN.divided_by(np.array([-2.0, 2.0, 1.0])).standard_error[0, 2])
