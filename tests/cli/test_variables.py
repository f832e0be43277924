"""Columns of a table are variables: the command line selects whole ones, and keeps to what is known of them."""

import itertools
import json

import numpy as np
import pytest

from hardzero import SparsePrivateLogisticRegression
from hardzero.cli.actions.demo import copy_sample
from hardzero.model import FittedModel
from hardzero.schema.columns import Boolean, Categorical, Ignored, Numeric, Ordered, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from .test_model import call

COLUMNS = (
    Numeric("age", 0, 100, cuts=(20, 40, 60, 80), monotone="up"),
    Ignored("id"),
    Categorical("town", ("north", "south")),
    Boolean("owner"),
    Ordered("grade", ("low", "mid", "high"), steps=True, monotone="down"),
    Numeric("income", 0, 9),
    Ordered("care", ("none", "some")),
)
ORDERS = list(itertools.product([("no", "yes"), ("yes", "no")], ["no", "yes"]))


def schema_of(classes=("no", "yes"), positive="yes", columns=COLUMNS):
    return Schema(columns, Target("ill", classes, positive))


def test_the_columns_of_a_schema_are_variables():
    variables = SchemaEncoder(schema_of()).variables
    assert dict(zip(variables.names, variables.kinds, strict=True)) == {
        "age": "steps",
        "town": "categories",
        "owner": "number",
        "grade": "steps",
        "income": "number",
        "care": "number",
    }
    assert variables.owners == (0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 5)
    assert variables.signs == (1, 1, 1, 1, 0, 0, 0, 0, -1, -1, 0, 0)


@pytest.mark.parametrize(("classes", "positive"), ORDERS)
def test_directions_are_those_of_the_class_that_an_estimator_speaks_for(classes, positive):
    """`fit` sorts labels and speaks for "yes"; a fit of places in the classes speaks for the second one listed."""
    encoder = SchemaEncoder(schema_of(classes, positive))
    assert encoder.variables.signs[0] == (1 if positive == "yes" else -1)
    assert encoder.variables_for(classes).signs[0] == (1 if positive == classes[1] else -1)


def risen(model, name):
    """How far the score goes at the cut points of a column, for the schema's positive class."""
    weights = [w for w, f in zip(model.coef_original[0], model.features, strict=True) if f.column == name]
    assert str(model.positive) == model.schema.target.positive
    return np.array(weights)


def people(n_rows, positive):
    """Those whose odds of the positive class rise with age, as far as 60, and fall after it."""
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 100, n_rows)
    chance = 1 / (1 + np.exp(2 - 4 * (ages >= 20) + 1.5 * (ages >= 80)))
    other = {"yes": "no", "no": "yes"}[positive]
    return {"age": ages, "ill": np.where(rng.random(n_rows) < chance, positive, other)}


AGE = """
[target]
name = "ill"
classes = {classes}
positive = "{positive}"
[columns.age]
type = "numeric"
lower = 0
upper = 100
cuts = [20, 40, 60, 80]
{monotone}
"""


@pytest.mark.parametrize(("classes", "positive"), ORDERS)
def test_a_curve_that_is_known_to_rise_does_so_whatever_the_order_of_classes(classes, positive, tmp_path):
    table = people(4000, positive)
    lines = [f"{age},{ill}" for age, ill in zip(table["age"], table["ill"], strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    fitted = {}
    for monotone in ("", 'monotone = "up"'):
        text = AGE.format(classes=json.dumps(classes), positive=positive, monotone=monotone)
        (tmp_path / "people.toml").write_text(text)
        result = call(
            *("fit", tmp_path / "people.csv", "--schema", tmp_path / "people.toml", "--epsilon", 8),
            *("--force", "--output", tmp_path / "model.json"),
        )
        assert result.exit_code == 0, result.output
        fitted[monotone] = risen(FittedModel.load(tmp_path / "model.json"), "age")
    assert fitted[""][-1] < -0.5  # what the rows say
    assert fitted['monotone = "up"'].min() >= 0  # what is known
    assert fitted['monotone = "up"'][0] > 1


@pytest.mark.parametrize(("classes", "positive"), ORDERS)
def test_the_same_in_python(classes, positive):
    schema = schema_of(classes, positive, COLUMNS[:1])
    encoder = SchemaEncoder(schema)
    encoded = encoder.encode(people(4000, positive))
    estimator = SparsePrivateLogisticRegression(
        8.0, bounds=encoder.bounds, classes=classes, variables=encoder.variables
    )
    weights = risen(FittedModel.from_estimator(estimator.fit(encoded.X, encoded.y), schema), "age")
    assert weights.min() >= 0
    assert weights[0] > 1


def sample_fit(folder, *more):
    copy_sample(folder)
    return call(
        *("fit", folder / "adult.csv", "--schema", folder / "adult.toml", "--output", folder / "few.json"), *more
    )


def test_the_number_of_variables_can_be_limited(tmp_path):
    result = sample_fit(tmp_path, "--max-variables", 2)
    assert result.exit_code == 0, result.output
    model = FittedModel.load(tmp_path / "few.json")
    assert model.parameters["max_variables"] == 2
    assert 1 <= len(model.needed) <= 2
    assert {variable.name for variable in model.inference_scaled.variables} == set(model.needed)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--method", "private-lasso", "--max-variables", 2), "--max-variables 2: private-lasso does not select"),
        (("--max-variables", 0), "--max-variables"),
        (("--option", "max_variables=3"), "--option max_variables=3: select-refit takes"),
        (("--option", "variables=3"), "--option variables=3: select-refit takes"),
    ],
)
def test_what_cannot_be_limited_is_said(options, problem, tmp_path):
    result = sample_fit(tmp_path, *options)
    assert result.exit_code != 0
    assert problem in result.output
    assert not (tmp_path / "few.json").exists()


def test_a_direction_among_several_classes_is_refused():
    schema = schema_of(("a", "b", "c"), "c")
    encoder = SchemaEncoder(schema)
    estimator = SparsePrivateLogisticRegression(
        bounds=encoder.bounds, classes=schema.target.classes, variables=encoder.variables
    )
    X, y = np.zeros((30, len(schema.features))), np.array(["a", "b", "c"] * 10)
    with pytest.raises(ValueError, match="for two classes; there are 3: set signs to 0, or leave monotone out"):
        estimator.fit(X, y)
