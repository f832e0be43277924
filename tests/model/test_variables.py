"""How sure whole variables are, in the model file: what contradicts the weights is refused by its place."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.variables import Variables
from hardzero.model import FittedModel, ModelFileError
from hardzero.model.inference import VariableInference
from hardzero.schema.columns import Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from ..models import STEPS, made_up, sure, table
from .changed import changed

AGE = VariableInference("age", 0.01, 1.5, (0, 2), np.array([0.75, 0.25]), np.array([[0.04, -0.01], [-0.01, 0.09]]))
SEX = VariableInference("sex", 0.5, 0.0, (3,), np.array([0.5]), np.array([[0.01]]))
COEF = ((1.0, 0.0, -0.5, 2.0),)
KNOWN = replace(sure([[0.2, None, 0.3, 0.1]], [[0.01, 1.0, 0.2, 0.5]]), variables=(AGE, SEX))
MODEL = made_up(names=("age>=20", "age>=40", "age>=60", "sex=f"), coef=COEF, inference=KNOWN)


def test_a_file_says_how_sure_it_is_of_each_variable():
    age, sex = json.loads(MODEL.to_json())["inference"]["variables"]
    assert age == {
        "name": "age",
        "q_value": 0.01,
        "importance": 1.5,
        "features": [0, 2],
        "means": [0.75, 0.25],
        "covariance": [[0.04, -0.01], [-0.01, 0.09]],
    }
    assert sex["features"] == [3]
    again = FittedModel.from_json(MODEL.to_json())
    assert again == MODEL
    assert [variable.reliable for variable in again.inference_scaled.variables] == [True, False]


def test_version_3_has_no_variables():
    content = json.loads(MODEL.to_json())
    content["version"] = 3
    del content["privacy"]["ledger"], content["privacy"]["unit"]
    for feature in content["features"]:
        del feature["cut"]
    with pytest.raises(ModelFileError, match=r"inference\.variables is not a field"):
        FittedModel.from_json(json.dumps(content))
    del content["inference"]["variables"]
    assert FittedModel.from_json(json.dumps(content)).inference_scaled == replace(KNOWN, variables=())


def test_version_4_says_that_there_are_none():
    content = json.loads(MODEL.to_json())
    del content["inference"]["variables"]
    with pytest.raises(ModelFileError, match=r"inference\.variables is missing"):
        FittedModel.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ([], {}, r"inference\.variables must be a list"),
        ([0], [], r"variables\[0\] must be an object"),
        ([0, "more"], 1, r"variables\[0\]\.more is not a field"),
        ([0, "name"], 1, r"variables\[0\]\.name must be text"),
        ([1, "name"], "age", r"inference\.variables holds a name twice"),
        ([0, "q_value"], 1.1, r"variables\[0\]\.q_value must lie between 0 and 1"),
        ([0, "q_value"], -0.1, r"variables\[0\]\.q_value must lie between 0 and 1"),
        ([0, "importance"], -1, r"variables\[0\]\.importance must not be negative"),
        ([0, "importance"], 10**400, r"variables\[0\]\.importance is too large"),
        ([0, "features"], [], r"variables\[0\]\.features must not be empty"),
        ([0, "features", 1], 1, r"variables\[0\]\.features\[1\] must be the place of a feature with a nonzero"),
        ([0, "features", 1], 0, r"variables\[0\]\.features\[1\] must be the place .* in no list twice"),
        ([1, "features", 0], 2, r"variables\[1\]\.features\[0\] must be the place .* in no list twice"),
        ([0, "features", 1], 4, r"variables\[0\]\.features\[1\] must be the place"),
        ([0, "features", 1], -1, r"variables\[0\]\.features\[1\] must be at least 0"),
        ([0, "features", 1], 2.0, r"variables\[0\]\.features\[1\] must be a whole number"),
        ([0, "means"], [0.75], r"variables\[0\]\.means must have 2 entries"),
        ([0, "means", 0], None, r"variables\[0\]\.means\[0\] must be a number"),
        ([0, "covariance"], [[0.04, -0.01]], r"variables\[0\]\.covariance must have 2 rows of 2 numbers"),
        ([0, "covariance", 1], [0.09], r"variables\[0\]\.covariance must have 2 rows of 2 numbers"),
        ([0, "covariance", 0, 1], "x", r"variables\[0\]\.covariance\[0\]\[1\] must be a number"),
        ([0, "covariance", 0, 1], 0.01, r"variables\[0\]\.covariance must be symmetric"),
        ([0, "covariance", 0, 0], 0.0401, r"variables\[0\]\.covariance must have the squares of the standard errors"),
        ([0, "covariance"], [[0.04, 0.07], [0.07, 0.09]], r"variables\[0\]\.covariance holds a correlation beyond"),
        ([1], None, r"variables\[1\] must be an object"),
    ],
)
def test_what_contradicts_the_weights_is_refused_by_its_place(path, value, problem):
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_json(changed(MODEL, ["inference", "variables", *path], value))


def test_every_kept_feature_belongs_to_a_variable():
    content = json.loads(MODEL.to_json())
    content["inference"]["variables"].pop()
    with pytest.raises(ModelFileError, match=r"variables must have every kept feature .*; feature 3 is in none"):
        FittedModel.from_json(json.dumps(content))


def test_several_rows_of_weights_have_no_covariance():
    model = made_up(
        coef=((1.0, 0.0),) * 3, classes=("a", "b", "c"), inference=sure([[0.1, None]] * 3, [[0.1, 1]] * 3)
    )
    content = json.loads(model.to_json())
    content["inference"]["variables"] = [json.loads(MODEL.to_json())["inference"]["variables"][1]]
    with pytest.raises(ModelFileError, match="variables must be empty: covariances are for one row"):
        FittedModel.from_json(json.dumps(content))


@given(st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4))
def test_units_change_covariances_as_they_change_weights(scale):
    turned = KNOWN.divided_by(np.array(scale))
    assert turned.variables_agree()
    age = turned.variables[0]
    np.testing.assert_allclose(age.covariance, AGE.covariance / np.outer(*[np.array(scale)[[0, 2]]] * 2))
    np.testing.assert_allclose(age.mean, AGE.mean * np.array(scale)[[0, 2]])


def two_columns(labels, bounds=(-1, 3)):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (5000, 4))
    estimator = SparsePrivateLogisticRegression(5.0, bounds=bounds, classes=[0, 1], variables=labels)
    return estimator.fit(X * np.max(bounds), (X[:, 0] > X[:, 1]).astype(int))


def test_labels_are_the_columns_of_a_model_without_a_schema():
    model = FittedModel.from_estimator(two_columns(["left", "left", 7, 8]), feature_names=list("abcd"))
    assert [feature.column for feature in model.features] == ["left", "left", "7", "8"]
    assert [feature.name for feature in model.features] == list("abcd")
    assert "variables" not in model.parameters
    assert model.inference_scaled.variables[0].name == "left"
    assert model.needed[:2] == ("a", "b")
    plain = FittedModel.from_estimator(two_columns(None), feature_names=list("abcd"))
    assert [feature.column for feature in plain.features] == list("abcd")
    assert plain.inference_scaled.variables == ()


def test_units_whose_squares_are_no_numbers_cost_variables_but_not_the_model():
    model = FittedModel.from_estimator(two_columns(["left", "left", "b", "c"], bounds=(-1e200, 1e200)))
    assert model.inference_scaled.variables == ()
    assert len(model.kept) >= 2


def test_two_variables_that_are_written_alike_are_refused_before_anything_is_spent():
    with pytest.raises(ValueError, match="names must differ"):
        two_columns([1, "1", "b", "c"])
    with pytest.raises(ValueError, match="names must differ"):
        Variables(("a", "a"), ("number", "number"), (0, 1), (0, 0))


def test_speaking_for_the_other_class_changes_no_covariance():
    encoder = SchemaEncoder(STEPS)
    encoded = encoder.encode(table(3000))
    estimator = SparsePrivateLogisticRegression(
        5.0, bounds=encoder.bounds, classes=STEPS.target.classes, variables=encoder.variables
    ).fit(encoded.X, encoded.y)
    one, other = (
        FittedModel.from_estimator(estimator, Schema(STEPS.columns, Target("outcome", ("good", "bad"), positive)))
        for positive in ("good", "bad")
    )
    np.testing.assert_allclose(one.coef_original, -other.coef_original)
    assert one.inference_scaled == other.inference_scaled == estimator.inference_
    assert one.inference_scaled.variables
