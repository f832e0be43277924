"""Variables as curves: levels say what the model predicts there, and bands are the algebra of covariances."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardzero.model import FittedModel
from hardzero.model.curves import count_variables, curves_of, has_variables
from hardzero.model.inference import VariableInference
from hardzero.model.source import bounds_of_schema
from hardzero.schema.columns import Boolean, Categorical, Feature, Numeric, Ordered, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from ..models import STEPS, made_up, made_up_with_schema, models, sure

COLUMNS = Schema(
    (
        Numeric("age", 18, 100, "years", (30, 50.5, 70, 100)),
        Numeric("gain", -5, 100, "$"),
        Boolean("smoker", "yes", "no"),
        Categorical("town", ("north", "south", "west")),
        Categorical("sex", ("f", "m"), other=False),
        Ordered("grade", ("low", "mid", "high", "top"), steps=True),
        Ordered("care", ("none", "some", "much")),
    ),
    Target("ill", ("no", "yes"), "yes"),
    missing="zero",
)
PLACES = {name: [j for j, f in enumerate(COLUMNS.features) if f.column == name] for name in COLUMNS.variables}
Z = 1.959963984540054


def covariances(draw, size):
    """A joint law of weights, none of them known exactly."""
    factor = np.array(draw(st.lists(st.floats(-1, 1), min_size=size * size, max_size=size * size)))
    factor = factor.reshape(size, size)
    return factor @ factor.T + 0.01 * np.eye(size)


@st.composite
def told_models(draw):
    """Models of one table with any weights, and what is known about their variables."""
    n_features = len(COLUMNS.features)
    weights = draw(st.lists(st.just(0.0) | st.floats(-3, 3), min_size=n_features, max_size=n_features))
    coef = np.where(np.abs(weights) < 1e-3, 0.0, weights)
    variables, errors = [], np.full(n_features, np.nan)
    for name, places in PLACES.items():
        if kept := [j for j in places if coef[j]]:
            covariance = covariances(draw, len(kept))
            errors[kept] = np.sqrt(np.diag(covariance))
            mean = np.array(draw(st.lists(st.floats(-0.1, 1.0), min_size=len(kept), max_size=len(kept))))
            released = draw(st.floats(0, 1)), draw(st.floats(0, 3))
            variables.append(VariableInference(name, *released, tuple(kept), mean, covariance))
    inference = replace(sure([errors], [np.full(n_features, 0.5)]), variables=tuple(variables))
    statement = made_up_with_schema().privacy
    return FittedModel(
        "Anything", {}, ("no", "yes"), COLUMNS.features, bounds_of_schema(COLUMNS), (tuple(coef.tolist()),), (0.3,),
        statement, COLUMNS, inference_scaled=inference,
    )  # fmt: skip


def cells(curve, level):
    """Cells of the variable's column that lie on a level, those that are missing among them where it says so."""
    missing = ["?"] if level.label.endswith("missing") else []
    if curve.shape == "line" and curve.name == "care":
        return {0.0: ["none"], 2.0: ["much"]}.get(level.start, []) + missing
    if curve.counted:
        return [level.start, *([] if curve.shape == "line" else [(level.start + level.end) / 2]), *missing]
    if curve.name == "grade":
        return [*COLUMNS.columns[5].values[int(level.start) : int(level.end)], *missing]
    if level.label == "all others":
        return []
    return [{"missing": "?", "other": "elsewhere"}.get(name, name) for name in level.label.split(" or ")]


def margin(model, name, cell):
    """The score of a record that has this cell, and everywhere else the same."""
    row = {"age": 40, "gain": 7, "smoker": "no", "town": "south", "sex": "f", "grade": "mid", "care": "some"}
    table = {column: [str(value)] for column, value in (row | {name: cell}).items()}
    return model.decision_function(SchemaEncoder(COLUMNS).transform(table)).item()


@settings(deadline=None)
@given(told_models())
def test_levels_differ_as_predictions_do(model):
    for curve in curves_of(model)[0]:
        shown = [(level.value, cell) for level in curve.levels for cell in cells(curve, level)]
        for value, cell in shown:
            difference = margin(model, curve.name, cell) - margin(model, curve.name, shown[0][1])
            assert difference == pytest.approx(value - shown[0][0], abs=1e-9)


def by_force(kind, variable, scale, offset):
    """Rows of zeros and ones on each level, and the share of records there, one by one."""
    mean, size = np.clip(variable.mean * scale + offset, 0, 1), len(variable.features)
    if kind == "steps":
        rows = [[float(j < reached) for j in range(size)] for reached in range(size + 1)]
        shares, left = [], 1.0
        for j in range(size):
            reached = min(left, mean[j])
            shares.append(left - reached)
            left = reached
        return np.array(rows), np.array([*shares, left])
    rows = [[0.0] * size, *([float(j == i) for j in range(size)] for i in range(size))]
    shares = np.array([max(1 - mean.sum(), 0), *mean])
    return np.array(rows), shares / shares.sum()


@settings(deadline=None)
@given(told_models())
def test_values_are_centred_and_bands_are_the_algebra_of_covariances(model):
    known = {variable.name: variable for variable in model.inference_scaled.variables}
    for curve in curves_of(model)[0]:
        variable = known[curve.name]
        places = list(variable.features)
        weights = np.array(model.coef_scaled[0])[places]
        if curve.shape == "line":
            feature = model.features[places[0]]
            rows = np.array([[(level.start - feature.offset) / feature.scale] for level in curve.levels])
            ends = (np.array(model.bounds[places[0]]) - feature.offset) / feature.scale
            mean = np.clip(variable.mean, *ends)
        else:
            rows, shares = by_force(curve.shape, variable, 1.0, 0.0)
            mean = shares @ rows
            assert shares @ rows @ weights == pytest.approx(mean @ weights)
        for level, row in zip(curve.levels[::-1], rows[::-1], strict=False):  # the first is not always there
            assert level.value == pytest.approx((row - mean) @ weights, abs=1e-9)
            spread = np.sqrt((row - mean) @ variable.covariance @ (row - mean))
            assert level.interval == pytest.approx((level.value - Z * spread, level.value + Z * spread), abs=1e-7)
        assert curve.centred
        assert curve.reliable is variable.reliable


@given(told_models())
def test_the_most_important_variable_comes_first(model):
    curves = curves_of(model)[0]
    known = [curve.importance for curve in curves if curve.importance is not None]
    assert known == sorted(known, reverse=True)
    assert {curve.name for curve in curves} == set(model.needed) - (set() if len(model.kept) else {"age"})


@settings(deadline=None)
@given(models())
def test_every_kept_weight_has_its_place_in_any_model(model):
    for row, curves in zip(model.coef_scaled, curves_of(model), strict=True):
        kept = {model.features[j].column for j in np.flatnonzero(row)}
        assert {curve.name for curve in curves} == kept
        assert len(curves) == len(kept)
        for curve in curves:
            assert np.all(np.isfinite([level.value for level in curve.levels]))
    assert has_variables(model) == (count_variables(model) < len(model.features))


def labels(curve):
    return [level.label for level in curve.levels]


def shown(coef, schema=COLUMNS, inference=None):
    return {curve.name: curve for curve in curves_of(made_up_with_schema(coef, schema, inference))[0]}


def test_levels_are_called_by_what_is_on_them():
    curves = shown((1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 2, 1, 0, 1, 1))
    assert labels(curves["age"]) == ["under 30 or missing", "30 to under 70", "70 to under 100", "100 or more"]
    assert labels(curves["gain"]) == ["-5", "100"]
    assert labels(curves["smoker"]) == ["no or missing", "yes"]
    assert labels(curves["town"]) == ["south or other", "north", "west"]
    assert labels(curves["sex"]) == ["f or missing", "m"]
    assert labels(curves["grade"]) == ["low or missing", "mid to high", "top"]
    assert labels(curves["care"]) == ["none or missing", "much"]
    assert curves["age"].unit == "years"


@pytest.mark.parametrize(
    ("missing", "sex"), [("zero", ["missing", "f", "m"]), ("error", ["f", "m"]), ("drop", ["f", "m"])]
)
def test_what_cannot_occur_is_no_level(missing, sex):
    curves = shown((0,) * 6 + (1, 1, 1, 1, 2, 3, 0, 0, 0, 0), replace(COLUMNS, missing=missing))
    assert labels(curves["town"]) == ["north", "south", "west", "other"]
    assert labels(curves["sex"]) == sex


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_where_no_missing_value_takes_part_none_is_named(missing):
    curves = shown((1,) * 16, replace(COLUMNS, missing=missing))
    assert not [label for curve in curves.values() for label in labels(curve) if "missing" in label]


@pytest.mark.parametrize(
    ("lower", "upper", "named"),
    [(0, 9, ["0 or missing", "9"]), (-9, 0, ["-9", "0 or missing"]), (-9, 9, ["-9", "9"]), (1, 9, ["1", "9"])],
)
def test_a_line_names_missing_values_where_they_are_coded_as_its_end(lower, upper, named):
    schema = replace(COLUMNS, columns=(Numeric("n", lower, upper),))
    (curve,) = shown((1,), schema).values()
    assert labels(curve) == named
    model = made_up_with_schema((1,), schema)
    scores = model.decision_function(SchemaEncoder(schema).transform({"n": ["?", str(lower), str(upper)]}))
    assert [level.label for level, score in zip(curve.levels, scores[1:], strict=True) if score == scores[0]] == [
        label for label in named if "missing" in label
    ]


def test_many_categories_without_a_weight_are_all_others():
    schema = replace(COLUMNS, columns=(Categorical("town", tuple("abcd")),))
    assert labels(shown((0, 1, 0, 0, 0), schema)["town"]) == ["all others", "b"]


def test_a_cut_at_the_upper_bound_has_room():
    last = shown((0, 0, 0, 1) + (0,) * 12)["age"].levels[-1]
    assert (last.start, last.end) == (100, 119.5)
    schema = replace(COLUMNS, columns=(Numeric("children", 0, 3, cuts=(1, 2, 3)),))
    (curve,) = shown((1, 1, 1), schema).values()
    assert [(level.start, level.end) for level in curve.levels] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_without_released_means_values_compare_with_the_lowest_level():
    curves = shown((1, 0, -0.5, 0, 2) + (0,) * 11)
    assert [level.value for level in curves["age"].levels] == [0, 1, 0.5]
    assert [level.value for level in curves["gain"].levels] == pytest.approx([0, 2 * 1.05])
    assert not any(curve.centred or curve.levels[0].interval for curve in curves.values())
    assert [curve.extent for curve in curves.values()] == pytest.approx([2.1, 1.0])
    assert curves["age"].reliable is None


def test_errors_of_single_weights_are_used_where_they_suffice():
    known = sure(
        [[0.1, 0.2] + [None] * 4 + [0.3, 0.4] + [None] * 8], [[0.01, 0.2] + [1.0] * 4 + [0.2, 0.3] + [1.0] * 8]
    )
    curves = shown((1, 1, 0, 0, 0, 0, 1, 1) + (0,) * 8, COLUMNS, known)
    assert all(level.interval is None for level in curves["age"].levels)  # sums of weights need their covariance
    assert curves["age"].reliable
    assert curves["town"].is_uncertain
    low, high = curves["town"].levels[1].interval
    assert (low, high) == pytest.approx((1 - Z * 0.3, 1 + Z * 0.3))


def test_steps_are_put_in_the_order_of_their_cuts():
    features = tuple(Feature(f"age>={cut}", "age", cut=cut) for cut in (50.0, 20.0))
    told = VariableInference("age", 0.0, 1.0, (0, 1), np.array([0.25, 0.5]), np.array([[0.04, 0.01], [0.01, 0.09]]))
    inference = replace(sure([[0.2, 0.3]], [[0.0, 0.0]]), variables=(told,))
    model = replace(made_up(coef=((3.0, 1.0),), inference=inference), features=features)
    (curve,) = curves_of(model)[0]
    assert labels(curve) == ["under 20", "20 to under 50", "50 or more"]
    assert np.diff([level.value for level in curve.levels]) == pytest.approx([1, 3])
    assert curve.levels[0].value == pytest.approx(-(0.5 * 1 + 0.25 * 3))
    below = np.array([-0.5, -0.25])
    law = np.array([[0.09, 0.01], [0.01, 0.04]])
    assert np.diff(curve.levels[0].interval) == pytest.approx(2 * Z * np.sqrt(below @ law @ below))


def test_features_of_one_label_stand_side_by_side():
    features = (Feature("a", "both", scale=2.0), Feature("b", "both"), Feature("c", "c"))
    model = replace(
        made_up("abc", ((1.0, -2.0, 0.5),), inference=sure([[0.1, 0.2, 0.3]], [[0.0, 0.9, 0.9]])), features=features
    )
    both, other = curves_of(model)[0]
    assert (both.shape, labels(both), both.reliable) == ("parts", ["a", "b"], True)
    assert [level.value for level in both.levels] == [2.0, -8.0]  # from -1 to 3
    assert both.extent == 10
    assert both.levels[0].interval == pytest.approx((2 - Z * 0.2, 2 + Z * 0.2))
    assert (other.shape, other.slope.value, other.is_uncertain) == ("line", 0.5, True)


def test_each_class_has_its_own_curves():
    schema = replace(STEPS, target=Target("outcome", ("a", "b", "c"), "c"))
    coef = ((1.0, 0, 0, 0, 0, 0, 0, 0, 0), (0.0,) * 9, (0.0, 0, 0, 0, 2.0, 0, 0, 0, 1.0))
    model = replace(
        made_up_with_schema(schema=STEPS),
        classes=("a", "b", "c"),
        coef_scaled=coef,
        intercept_scaled=(0.0,) * 3,
        schema=schema,
    )
    assert [[curve.name for curve in curves] for curves in curves_of(model)] == [["age"], [], ["smoker", "activity"]]
    assert all(level.interval is None for curves in curves_of(model) for c in curves for level in c.levels)


def test_weights_beyond_all_counting_are_shown():
    (curve,) = curves_of(replace(made_up(["a"], ((1e308,),)), bounds=((-1e300, 1e300),)))[0]
    assert all(np.isfinite(level.value) for level in curve.levels)


def told_line(mean, importance, weight=1.0):
    """A number from 0 to 9 with a released mean by its own unit and a released importance."""
    schema = replace(COLUMNS, columns=(Numeric("n", 0, 9), Numeric("m", 0, 9)))
    variables = tuple(
        VariableInference(name, 0.0, told, (j,), np.array([at / 9]), np.array([[0.01]]))
        for j, (name, told, at) in enumerate((("n", importance, mean), ("m", 0.5, 4.5)))
    )
    inference = replace(sure([[0.1, 0.1]], [[0.0, 0.0]]), variables=variables)
    return curves_of(made_up_with_schema((weight, 1.0), schema, inference))[0]


@pytest.mark.parametrize(
    ("mean", "values"), [(-500.0, [0, 1]), (900.0, [-1, 0]), (0.0, [0, 1]), (4.5, [-0.5, 0, 0.5])]
)
def test_nothing_is_compared_with_a_record_outside_the_bounds(mean, values):
    """A mean is released with noise, which can be large against narrow bounds."""
    curve = next(curve for curve in told_line(mean, 1.0) if curve.name == "n")
    assert [level.value for level in curve.levels] == pytest.approx(values)
    assert [level.interval for level in curve.levels] == [
        pytest.approx((value - Z * abs(value) / 10, value + Z * abs(value) / 10)) if value else (0, 0)
        for value in values
    ]


def test_an_importance_that_noise_has_swallowed_is_unknown_and_stands_where_it_may_belong():
    """Half of the range is the most that a standard deviation can be."""
    for weight, order in ((1.0 + 1e-9, ["n", "m"]), (1.0 - 1e-9, ["m", "n"])):
        curves = told_line(4.5, 0.0, weight)
        assert [curve.name for curve in curves] == order
        assert {curve.name: (curve.importance, curve.told) for curve in curves} == {
            "n": (None, True),
            "m": (0.5, True),
        }
    (curve,) = shown((1.0,), replace(COLUMNS, columns=(Numeric("n", 0, 9),))).values()
    assert (curve.importance, curve.told) == (None, False)
