"""One presentation of a model: estimators, model files, the command line and reports say the same."""

import json
import math

import numpy as np
import pytest

from hardzero import PrivateLassoRegression, SparsePrivateLogisticRegression
from hardzero.cli.actions.inspect import describe, facts, to_json
from hardzero.model import FittedModel
from hardzero.model.prediction import linear_margins, probabilities
from hardzero.model.presentation import contrasts, outputs_of, summary
from hardzero.report import render_report
from hardzero.report.notebook import fragment
from hardzero.schema.columns import Categorical, Feature, Schema

from ..models import STEPS, made_up, made_up_with_schema, sure, told_by_column

CLASSES = {"number": None, "two": ["no", "yes"], "three": ["a", "b", "c"]}


@pytest.fixture(params=CLASSES)
def estimator(request):
    rng = np.random.default_rng(7)
    X, classes = rng.uniform(-1, 1, (300, 5)), CLASSES[request.param]
    bounds = (-np.arange(1.0, 6.0), np.arange(3.0, 8.0))
    if classes is None:
        return PrivateLassoRegression(50.0, bounds=bounds, target_bounds=(-2, 2)).fit(X, X[:, 0] - X[:, 1])
    y = np.array(classes)[np.digitize(X[:, 0] - X[:, 1], [0.0] if len(classes) == 2 else [-0.4, 0.4])]
    return SparsePrivateLogisticRegression(50.0, bounds=bounds, classes=classes).fit(X, y)


@pytest.mark.filterwarnings("ignore:a weak guarantee")
def test_an_estimator_and_its_file_have_one_summary(estimator):
    names = ["one", "two", "three", "four", "five"]
    file = FittedModel.from_estimator(estimator, feature_names=names)
    headline, _, text = describe(file).partition("\n\n")
    assert headline.startswith(type(estimator).__name__)
    assert text == summary(file) == estimator.summary(names)
    assert repr(estimator.privacy_) in text


@pytest.mark.filterwarnings("ignore:a weak guarantee")
def test_an_estimator_and_its_file_predict_alike(estimator):
    rows = np.random.default_rng(8).uniform(-3, 3, (50, 5))
    file = FittedModel.from_estimator(estimator)
    for name in ("decision_function", "predict_proba") if file.is_classifier else ("predict",):
        assert getattr(file, name)(rows) == pytest.approx(getattr(estimator, name)(rows), rel=1e-9, abs=1e-12)


def test_all_pages_list_features_in_one_order():
    """By the change over the bounds: the scaled weight of "b" is the smaller, but it runs over twice as much."""
    model = FittedModel(
        **{**vars(made_up(names=("a", "b"), coef=((1.0, -0.8),))), "bounds": ((0.0, 1.0), (-1.0, 1.0))}
    )
    (output,) = outputs_of(model)
    assert [effect.name for effect in output.effects] == ["b", "a"]
    assert [effect.change for effect in output.effects] == [-0.8, 0.5]  # scales are 2
    lines = summary(model).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["feature", "b", "a"]
    page = fragment(model)
    assert page.index("<bdi>b<") < page.index("<bdi>a<")


def test_a_unit_stands_beside_its_weight():
    features = (Feature("age", "age", scale=10.0, unit="years"), Feature("sex=f", "sex"))
    model = FittedModel(
        **{**vars(made_up(coef=((0.5, -2.0),))), "features": features, "bounds": ((0.0, 20.0), (0.0, 1.0))}
    )
    head, *rows = summary(model).splitlines()[1:4]
    assert head.split() == ["feature", "weight", "unit", "odds", "ratio", "over", "the", "bounds"]
    assert rows[0].split() == ["sex=f", "-2", "0.1353", "0.1353"]
    assert rows[1].split() == ["age", "+0.05", "per", "unit", "(years)", "1.051", "2.718"]
    assert len({len(line) for line in [head, *rows]}) == 1


def test_a_model_without_weights_is_its_intercept():
    lines = summary(made_up(coef=((0.0, 0.0),))).splitlines()
    assert lines[0] == "yes against no: 0 of 2 features kept"
    assert lines[1].startswith("intercept: ")


@pytest.mark.parametrize(
    ("classes", "labels"),
    [((), ["target"]), ((0, 1), ["1 against 0"]), (("a", "b", "c"), ["class a", "class b", "class c"])],
)
def test_what_a_row_of_weights_is_about(classes, labels):
    assert contrasts(classes) == labels


def test_margins_beyond_all_numbers_still_give_probabilities():
    rows = np.full((2, 3), 1e306) * [[1.0], [-1.0]]
    margins = linear_margins(rows, np.full((1, 3), 1e10), np.zeros(1))
    assert margins.tolist() == [[1e30], [-1e30]]
    assert probabilities(margins).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert probabilities(np.array([[1e30, -1e30, 1e30]])).tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.filterwarnings("ignore:a weak guarantee")
def test_a_file_can_assume_more_than_its_estimator(estimator):
    before = estimator.privacy_
    file = FittedModel.from_estimator(estimator, assumed_public=["the schema"])
    assert file.privacy.assumed_public == (*before.assumed_public, "the schema")
    assert estimator.privacy_ is before
    assert "  - the schema" in summary(file)


# --- How sure weights are -------------------------------------------------------------------------------------------

NAMES = ("age", "country=x", "sex=f", "gain", "zip")
KNOWN = sure([[0.1, 4.0, 0.25, None, 1.0]], [[0.001, 0.3, 0.05, 0.01, 0.051]])
"""Reliable are the first and the third; the largest weight is not, and the fourth was dropped."""


def half_known(coef=((1.0, -8.0, -2.0, 0.0, 0.5),), inference=KNOWN, **more):
    return made_up(names=NAMES, coef=coef, inference=inference, **more)


def test_reliable_features_come_first_and_uncertain_ones_apart():
    (output,) = outputs_of(half_known())
    assert [effect.name for effect in output.effects] == ["sex=f", "age", "country=x", "zip"]
    assert [effect.name for effect in output.leading] == ["sex=f", "age"]
    assert [effect.name for effect in output.uncertain] == ["country=x", "zip"]


def test_an_effect_knows_its_intervals():
    (output,) = outputs_of(half_known())
    effect = output.effects[0]
    assert (effect.certainty.standard_error, effect.certainty.q_value) == (0.125, 0.05)  # the scale is 2
    assert effect.interval == pytest.approx((-1 - 1.959964 * 0.125, -1 + 1.959964 * 0.125))
    assert effect.change_interval == pytest.approx([4 * end for end in effect.interval])  # from -1 to 3
    assert effect.change == pytest.approx(sum(effect.change_interval) / 2)


def test_where_nothing_is_known_all_features_lead_by_their_size():
    (output,) = outputs_of(half_known(inference=None))
    assert [effect.name for effect in output.leading] == ["country=x", "sex=f", "age", "zip"]
    assert output.uncertain == ()
    assert all(effect.interval is effect.change_interval is None for effect in output.effects)
    assert "interval" not in summary(half_known(inference=None))
    assert "reliable" not in summary(half_known(inference=None))


def test_a_summary_lists_reliable_features_with_intervals_then_what_may_be_noise():
    lines = summary(half_known()).splitlines()
    assert lines[0] == "yes against no: 4 of 5 features kept, 2 of them reliable"
    assert lines[1].split("  ")[0] == "feature"
    assert lines[1].count("95 % interval") == 2
    assert lines[2].split() == [
        *("sex=f", "-1", "-1.24", "to", "-0.755", "per", "unit", "(years)"),
        *("0.3679", "0.288", "to", "0.47", "0.01832"),
    ]
    assert lines[3].startswith("age")
    assert lines[4].startswith("intercept")
    assert lines[5] == "cannot be told from noise: 2 of the kept features, with weights that may be chance"
    assert lines[6].split() == ["country=x", "-4", "-7.92", "to", "-0.0801"]
    assert lines[7].split() == ["zip", "+0.25", "-0.73", "to", "+1.23"]
    assert lines[9] == "95 % intervals cover the weights given the kept features; selection is not accounted for."
    assert "at most 5 % over all 5 candidates" in lines[10]
    assert lines[11].startswith(
        "Intervals do not count how many candidates were tried, this does: one that excludes 0 "
    )


def test_noise_alone_has_no_first_line():
    model = half_known(inference=sure([[0.1, 4.0, 0.25, None, 1.0]], [[1.0] * 5]))
    lines = summary(model).splitlines()
    assert lines[0].endswith("4 of 5 features kept, 0 of them reliable")
    assert lines[1].startswith("intercept")
    assert lines[2].startswith("cannot be told from noise: 4 of")


def test_each_class_has_its_own_reliable_features():
    coef = ((1.0, 0.0), (0.0, 2.0), (3.0, 0.5))
    known = sure([[0.1, None], [None, 0.1], [0.1, 0.1]], [[0.9, 1.0], [1.0, 0.01], [0.9, 0.02]])
    model = made_up(names=("a", "b"), coef=coef, classes=("x", "y", "z"), inference=known)
    first, second, third = outputs_of(model)
    assert (first.leading, [effect.name for effect in first.uncertain]) == ((), ["a"])
    assert [effect.name for effect in second.effects] == ["b"]
    assert [effect.name for effect in third.effects] == ["b", "a"]
    text = summary(model)
    assert text.count("cannot be told from noise: 1 of") == 2
    assert text.count("95 % intervals cover") == 1
    assert "over all 6 candidates" in text


def test_an_odds_ratio_near_one_can_be_told_from_it():
    model = made_up(names=("gain",), coef=((4e-4,),), inference=sure([[2e-5]], [[0.0]]))
    assert "1.0002  1.00018 to 1.00022" in summary(model)


def test_a_regression_has_intervals_of_its_change():
    model = made_up(names=("age",), coef=((2.0,),), classes=(), inference=sure([[0.5]], [[0.01]]))
    head, row = summary(model).splitlines()[1:3]
    assert head.endswith("95 % interval")
    assert row.split() == [
        *("age", "+1", "+0.51", "to", "+1.49", "per", "unit", "(years)", "+4", "+2.04", "to", "+5.96"),
    ]


def test_machines_are_told_the_same():
    told = json.loads(to_json(facts(half_known())))
    assert told["reliable"] == ["age", "sex=f"]
    assert told["standard_errors"] == [[0.05, 2.0, 0.125, None, 0.5]]
    assert told["q_values"] == KNOWN.q_value.tolist()
    assert told["covers"] == KNOWN.covers
    unknown = facts(half_known(inference=None))
    assert [unknown[name] for name in ("reliable", "standard_errors", "q_values", "covers")] == [None] * 4


def test_what_a_file_says_about_coverage_moves_no_cursor():
    text = summary(half_known(inference=sure(KNOWN.standard_error, KNOWN.q_value, "\x1b[2Jeverything")))
    assert "\x1b" not in text
    assert "cover \\x1b[2Jeverything" in text


def test_intervals_beyond_all_numbers_are_written():
    model = made_up(names=("a",), coef=((1e300,),), inference=sure([[1e306]], [[0.01]]))
    (output,) = outputs_of(model)
    assert all(map(math.isfinite, output.effects[0].interval))
    assert "a " in summary(model)


@pytest.mark.parametrize(("error", "said"), [(0.5, False), (5.0, True)])
def test_a_reliable_feature_whose_interval_contains_zero_is_explained(error, said):
    model = made_up(names=("age",), coef=((2.0,),), inference=sure([[error]], [[0.01]]))
    assert ("shares what it says with features correlated with it" in summary(model)) == said


# --- Variables ------------------------------------------------------------------------------------------------------

COEF = (-0.5, 1.0, 2.0, 0.3, -1.0, 0.0, 0.2, 0.0, 0.7)
SURE = told_by_column(STEPS, COEF, {"age": 0.001, "smoker": 0.02, "activity": 0.01, "gain": 0.9, "admission": 0.6})
GROUPED = made_up_with_schema(COEF, STEPS, SURE)


def test_a_summary_has_a_line_for_each_variable_and_one_for_each_level():
    lines = summary(GROUPED).splitlines()
    assert lines[0] == "good against bad: 5 of 5 variables kept, 3 of them reliable"
    assert lines[1].split() == ["odds", "ratio", "95", "%", "interval"]
    assert lines[2] == "age (years): importance 1, reliable, 4 levels"
    assert lines[3].split() == ["under", "30", "or", "missing", "0.6065", "0.377", "to", "0.975"]
    assert lines[4].split()[:4] == ["30", "to", "under", "50.5"]
    assert lines[6].split()[:3] == ["70", "or", "more"]
    assert lines[7] == "smoker: importance 0.5, reliable, 2 levels"
    assert [line.split()[0] for line in lines[8:10]] == ["no", "yes"]
    assert lines[10] == "activity: importance 0.33, reliable, 2 levels"
    assert lines[13].startswith("intercept: +0.25")
    assert lines[14] == "cannot be told from noise: 2 of the kept variables, which may be chance"
    assert lines[16] == "  gain ($): importance 0.25, a line"
    assert lines[19].split()[:3] == ["per", "unit", "($)"]
    assert "odds ratios compare with the average record" in lines
    assert "over all 5 variables" in summary(GROUPED)
    assert "one that excludes 1 can belong to what cannot be told from noise" in summary(GROUPED)


def test_an_importance_that_noise_has_swallowed_is_called_unknown():
    importances = dict.fromkeys(STEPS.variables, 1.0) | {"age": 0.0}
    told = told_by_column(STEPS, COEF, dict.fromkeys(STEPS.variables, 0.01), importances)
    model = made_up_with_schema(COEF, STEPS, told)
    assert "age (years): importance unknown, reliable, 4 levels" in summary(model).splitlines()
    assert "Importance unknown" in render_report(model)
    (variables,) = facts(model)["variables"]
    assert {variable["name"]: variable["importance"] for variable in variables} == importances | {"age": None}


def test_without_released_means_levels_compare_with_the_lowest():
    text = summary(made_up_with_schema(COEF, STEPS))
    assert "interval" not in text
    assert "reliable" not in text
    assert "odds ratios compare with the lowest level of a variable" in text
    assert text.splitlines()[2] == "age (years): 4 levels"
    assert text.splitlines()[3].split() == ["under", "30", "or", "missing", "1"]


def test_levels_are_what_the_model_predicts():
    """Factors of neighbouring steps are the exponents of their weights."""
    rows = [line.split() for line in summary(made_up_with_schema(COEF, STEPS)).splitlines()[3:7]]
    ratios = [float(row[-1]) for row in rows]
    assert np.log(ratios) == pytest.approx(np.cumsum([0.0, *COEF[:3]]), abs=1e-3)


def test_notebooks_show_variables_with_their_levels():
    page = fragment(GROUPED)
    assert "5 of 5 variables kept, 3 of them reliable" in page
    assert (
        page.index("<bdi>age</bdi>") < page.index("<bdi>under 30 or missing</bdi>") < page.index("<bdi>smoker</bdi>")
    )
    assert "<summary>2 kept variables cannot be told from noise</summary><p>gain, admission</p>" in page
    nothing = fragment(
        made_up_with_schema(COEF, STEPS, told_by_column(STEPS, COEF, dict.fromkeys(STEPS.variables, 0.9)))
    )
    assert "no variable is reliable" in nothing
    assert "no variable was kept" in fragment(made_up_with_schema((0.0,) * 9, STEPS))


def test_names_of_variables_and_levels_are_text_everywhere():
    schema = Schema((Categorical("<b>\x1b[2J", ("<i>", "b")),), STEPS.target)
    model = made_up_with_schema((1.0, 0.0, 0.0), schema)
    for text in (summary(model), fragment(model)):
        assert "\x1b" not in text
    assert "<b>" not in fragment(model).replace("&lt;b&gt;", "")
    assert "&lt;i&gt;" in fragment(model)


def test_machines_are_told_of_variables():
    (told,) = json.loads(to_json(facts(GROUPED)))["variables"]
    assert [variable["name"] for variable in told] == ["age", "smoker", "activity", "gain", "admission"]
    age = told[0]
    assert (age["shape"], age["unit"], age["importance"], age["reliable"]) == ("steps", "years", 1.0, True)
    assert age["levels"][0]["label"] == "under 30 or missing"
    assert sum(level["value"] * level["share"] for level in age["levels"]) == pytest.approx(0, abs=1e-9)
    assert facts(half_known())["variables"] is None


def test_a_regression_has_changes_of_its_variables():
    features = (Feature("a", "both"), Feature("b", "both"))
    model = FittedModel(**{**vars(made_up(("a", "b"), ((1.0, -2.0),), ())), "features": features})
    lines = summary(model).splitlines()
    assert lines[1].split() == ["change"]
    assert lines[2] == "both: 2 features, over their bounds"
    assert [line.split() for line in lines[3:5]] == [["a", "+4"], ["b", "-8"]]
    assert "changes compare with" in summary(model)
