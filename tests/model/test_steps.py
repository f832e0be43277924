"""Models with steps: what their files hold, which columns they need, and what is said of them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hardzero.model import FittedModel, ModelFileError
from hardzero.model.presentation import outputs_of, summary
from hardzero.model.source import bounds_of_schema
from hardzero.schema.cells import EncodingError
from hardzero.schema.encoder import SchemaEncoder

from ..models import SCHEMA, STEPS, fitted_on_table, made_up, made_up_with_schema, table

# from 30, 50.5, 70; gain; smoker; elective, emergency; from some, from regular
COEF = (0.0, 1.5, -0.5, 0.0, 0.0, 0.0, 0.25, 0.0, -0.75)


@pytest.fixture
def model():
    return made_up_with_schema(COEF, STEPS)


def test_a_file_holds_the_cut_of_each_step(model):
    features = json.loads(model.to_json())["features"]
    assert [feature["cut"] for feature in features] == [30, 50.5, 70, None, None, None, None, 1, 2]
    assert [feature["category"] for feature in features[-2:]] == ["some", "regular"]
    again = FittedModel.from_json(model.to_json())
    assert again == model
    assert again.schema == STEPS
    assert again.features == STEPS.features


def test_steps_run_from_0_to_1_and_numbers_between_their_bounds():
    assert bounds_of_schema(STEPS) == ((0, 1), (0, 1), (0, 1), (0, 99_999), *[(0, 1)] * 5)


def test_a_fit_on_steps_can_be_written_and_read():
    estimator = fitted_on_table(STEPS)
    model = FittedModel.from_estimator(estimator, STEPS)
    rows = table(500, seed=1)
    expected = estimator.predict_proba(SchemaEncoder(STEPS).transform(rows))
    np.testing.assert_allclose(model.predict_proba(model.encode(rows)), expected, atol=1e-12)
    assert np.any(model.kept < 3)  # age matters, as a curve


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda content: content["features"][0].update(cut=31), "schema makes other features"),
        (lambda content: content["features"][0].update(cut=None), "schema makes other features"),
        (lambda content: content["features"][0].update(cut="30"), r"features\[0\]\.cut must be a number"),
        (lambda content: content["features"][0].pop("cut"), r"features\[0\]\.cut is missing"),
        (lambda content: content.update(version=3), r"features\[0\]\.cut is not a field"),
        (
            lambda content: content["schema"]["columns"]["age"].update(cuts=[50, 30]),
            "lists 50 before 30; put them in ascending order",
        ),
    ],
)
def test_what_contradicts_is_refused(model, change, problem):
    content = json.loads(model.to_json())
    change(content)
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_json(json.dumps(content))


# --- Only what has a weight is needed ----------------------------------------------------------------------------


def test_a_table_needs_only_the_columns_with_a_weight(model):
    assert model.needed == ("age", "admission", "activity")
    rows = table(300, seed=2)
    few = {name: rows[name] for name in model.needed}
    np.testing.assert_array_equal(
        model.predict_proba(model.encode(few)), model.predict_proba(SchemaEncoder(STEPS).transform(rows))
    )
    assert model.encode(few).shape == (300, 9)
    with pytest.raises(EncodingError, match="no column 'activity'"):
        model.encode({name: rows[name] for name in ("age", "admission")})


def test_gaps_in_columns_without_a_weight_do_not_matter():
    rows = {"age": [40.0], "smoker": ["?"], "admission": ["emergency"], "activity": ["some"], "gain": ["much"]}
    for policy in ("error", "drop"):
        model = made_up_with_schema(COEF, replace(STEPS, missing=policy))
        assert model.encode(rows).shape == (1, 9)
        with pytest.raises(EncodingError, match="missing"):
            model.encode({**rows, "activity": ["?"]})


def test_a_model_without_any_weight_still_needs_a_column_to_count_rows_by():
    model = made_up_with_schema((0.0,) * 9, STEPS)
    assert model.needed == ("age",)
    assert model.predict_proba(model.encode({"age": [1, 2, 3]})).shape == (3, 2)
    assert made_up(names=("a", "b"), coef=((0.0, 2.0),)).needed == ("b",)


# --- Words -------------------------------------------------------------------------------------------------------


def test_a_step_is_shown_as_the_odds_from_its_cut_on_against_below(model):
    (output,) = outputs_of(model)
    effects = {effect.name: effect for effect in output.effects}
    assert set(effects) == {"age>=50.5", "age>=70", "admission=emergency", "activity>=regular"}
    step = effects["age>=50.5"]
    assert (step.unit, step.weight, step.change) == (None, 1.5, 1.5)
    assert f"{math.exp(1.5):.4g}" in summary(model)
    assert "per unit" not in summary(model)  # the weight is for the step, not for a year


def test_a_report_of_steps(model):
    pytest.importorskip("jinja2")
    from hardzero.report import render_report

    page = render_report(model)
    assert "age&gt;=50.5" in page
    assert "from below the cut to at or above it" in page


def test_the_straight_line_is_as_it_was():
    assert made_up_with_schema().needed == ("age", "smoker", "admission", "activity")
    assert all(feature.cut is None for feature in SCHEMA.features)
