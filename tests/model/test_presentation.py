"""One presentation of a model: estimators, model files, the command line and reports say the same."""

import numpy as np
import pytest

from hardzero import PrivateLassoRegression, SparsePrivateLogisticRegression
from hardzero.cli.actions.inspect import describe
from hardzero.model import FittedModel
from hardzero.model.prediction import linear_margins, probabilities
from hardzero.model.presentation import contrasts, outputs_of, summary
from hardzero.report.notebook import fragment
from hardzero.schema.columns import Feature

from ..models import made_up

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
    assert rows[1].split() == ["age", "+0.05", "per", "years", "1.051", "2.718"]
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
