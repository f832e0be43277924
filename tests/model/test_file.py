"""The model file: what is written can be read and predicts the same; what is broken is refused with its place."""

import contextlib
import json
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import hardzero
from hardzero import LassoLogisticRegression, PlainFrankWolfe, PrivateLassoLogisticRegression, SparsifierRegression
from hardzero.atomic import write_atomically
from hardzero.model import FittedModel, ModelFileError
from hardzero.privacy.events import NotPrivate, Selection
from hardzero.schema.columns import Schema, Target
from hardzero.schema.encoder import SchemaEncoder

from ..models import SCHEMA, fitted_on_table, made_up, made_up_with_schema, models, sure, table


@pytest.fixture(scope="module")
def binary(binary_task):
    X, y = binary_task
    return PrivateLassoLogisticRegression(epsilon=5.0, bounds=(-1, 2), n_iter=30, classes=[0, 1]).fit(X, y)


@pytest.fixture(scope="module")
def on_table():
    return fitted_on_table()


def document():
    return json.loads(made_up().to_json())


@given(models())
@settings(max_examples=40)
def test_a_model_survives_being_written_and_read(model):
    again = FittedModel.from_json(model.to_json())
    assert again == model
    assert [type(label) for label in again.classes] == [type(label) for label in model.classes]


def test_it_predicts_as_the_estimator_does(binary, binary_task, tmp_path):
    X, _ = binary_task
    FittedModel.from_estimator(binary).save(tmp_path / "model.json")
    model = FittedModel.load(tmp_path / "model.json")
    for rows in (X, X.astype(np.float32), sparse.csr_array(X), sparse.csc_matrix(X)):
        np.testing.assert_allclose(model.decision_function(rows), binary.decision_function(rows), rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(rows), binary.predict_proba(rows), atol=1e-12)
        np.testing.assert_array_equal(model.predict(rows), binary.predict(rows))
    assert model.positive == 1
    np.testing.assert_allclose(model.coef_original, binary.coef_)
    np.testing.assert_allclose(model.coef_scaled, 2 * binary.coef_)
    np.testing.assert_array_equal(model.kept, binary.support_)


def test_it_predicts_ten_thousand_rows_of_many_classes_to_one_in_a_million():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(10_000, 8))
    y = np.array(["red", "green", "blue"])[X[:, :3].argmax(axis=1)]
    estimator = PrivateLassoLogisticRegression(epsilon=5.0, bounds=(-3, 3), n_iter=40, classes="from-y").fit(X, y)
    model = FittedModel.from_json(FittedModel.from_estimator(estimator).to_json())
    assert model.positive is None
    assert model.decision_function(X).shape == (10_000, 3)
    np.testing.assert_allclose(model.predict_proba(X), estimator.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))


def test_a_regression_predicts_numbers(binary_task):
    X, _ = binary_task
    estimator = SparsifierRegression(epsilon=5.0, bounds=(-1, 1), target_bounds=(-4, 4)).fit(X, X[:, 0])
    model = FittedModel.from_estimator(estimator)
    assert not model.is_classifier
    np.testing.assert_allclose(model.predict(X), estimator.predict(X), rtol=1e-12)
    with pytest.raises(TypeError, match="no probabilities"):
        model.predict_proba(X)


def test_a_model_with_a_schema_takes_the_encoded_table_and_speaks_for_the_positive_class(on_table):
    X = SchemaEncoder(SCHEMA).transform(table(500, seed=1))
    model = FittedModel.from_json(FittedModel.from_estimator(on_table, SCHEMA).to_json())
    assert model.schema == SCHEMA
    assert model.classes == ("bad", "good")
    np.testing.assert_allclose(model.predict_proba(X), on_table.predict_proba(X), atol=1e-12)
    turned = Schema(SCHEMA.columns, Target("outcome", ("good", "bad"), "bad"))
    other = FittedModel.from_json(FittedModel.from_estimator(on_table, turned).to_json())
    assert other.positive == "bad"
    np.testing.assert_allclose(other.coef_original, -model.coef_original)
    np.testing.assert_allclose(other.predict_proba(X), on_table.predict_proba(X)[:, ::-1], atol=1e-12)
    np.testing.assert_array_equal(other.predict(X), on_table.predict(X))


def test_weights_in_original_units_give_the_same_scores_within_the_bounds(on_table):
    model = FittedModel.from_estimator(on_table, SCHEMA)
    ages = {**table(50), "age": np.linspace(18, 100, 50), "gain": np.linspace(0, 99_999, 50)}
    encoded = SchemaEncoder(SCHEMA).transform(ages).toarray()
    offset, scale = np.array([[f.offset, f.scale] for f in model.features]).T
    original = (encoded * scale + offset) @ model.coef_original.T + model.intercept_original
    np.testing.assert_allclose(original[:, 0], model.decision_function(encoded), rtol=1e-9, atol=1e-9)


def test_a_file_holds_released_and_public_values_only(binary):
    content = json.loads(FittedModel.from_estimator(binary).to_json())
    assert set(content) == {
        "format", "version", "hardzero", "method", "parameters", "classes", "positive", "features", "coefficients",
        "inference", "schema", "privacy",
    }  # fmt: skip
    assert content["hardzero"] == hardzero.__version__
    assert content["parameters"]["epsilon"] == 5.0
    assert content["features"][0]["name"] == "x0"
    assert (content["features"][0]["lower"], content["features"][0]["upper"]) == (-1, 2)
    assert content["privacy"]["is_private"] is True
    assert content["privacy"]["events"][0]["cost"]["rho"] > 0


def test_the_seed_is_not_written_and_the_stamp_is(binary_task):
    X, y = binary_task
    estimator = PrivateLassoLogisticRegression(bounds=(-1, 1), n_iter=3, random_state=987654, classes="from-y").fit(
        X, y
    )
    text = FittedModel.from_estimator(estimator).to_json()
    assert "987654" not in text
    assert json.loads(text)["privacy"]["seeded"] is True
    assert json.loads(text)["privacy"]["is_private"] is False


def test_no_guarantee_is_written_as_null(binary_task):
    X, y = binary_task
    estimator = LassoLogisticRegression(bounds=(-1, 1), solver=PlainFrankWolfe(20)).fit(X, y)
    model = FittedModel.from_estimator(estimator)
    content = json.loads(model.to_json())
    assert content["privacy"]["epsilon"] is None
    assert content["parameters"]["solver"]["class"] == "PlainFrankWolfe"
    assert math.isinf(FittedModel.from_json(model.to_json()).privacy.epsilon)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"feature_names": ["a"]}, "1 names for 6"),
        ({"schema": SCHEMA}, "7 features, the model has 6"),
        ({"schema": SCHEMA, "feature_names": ["a"]}, "has the names already"),
        ({"feature_names": ["\ud800"] * 6}, "half a character"),
    ],
)
def test_what_does_not_fit_the_estimator_is_refused(binary, options, problem):
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_estimator(binary, **options)


def test_other_classes_than_the_schemas_are_refused(on_table):
    other = Schema(SCHEMA.columns, Target("outcome", ("yes", "no"), "yes"))
    with pytest.raises(ModelFileError, match="not those of the schema"):
        FittedModel.from_estimator(on_table, other)


def test_an_estimator_must_be_fitted():
    with pytest.raises(ModelFileError, match="call fit first"):
        FittedModel.from_estimator(PrivateLassoLogisticRegression())


@pytest.mark.parametrize(
    ("X", "error", "problem"),
    [
        (np.zeros((3, 5)), ValueError, "6 columns"),
        (np.zeros(6), ValueError, "6 columns"),
        (np.full((2, 6), np.nan), ValueError, "NaN"),
        (sparse.csr_array(np.full((2, 6), np.inf)), ValueError, "NaN or infinity"),
        ([["a"] * 6], TypeError, "numbers"),
    ],
)
def test_only_a_finite_matrix_of_the_right_width_is_predicted(binary, X, error, problem):
    with pytest.raises(error, match=problem):
        FittedModel.from_estimator(binary).predict(X)


def changed(path, value):
    content = document()
    *steps, last = path
    part = content
    for step in steps:
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["format"], "pickle", "format is not"),
        (["version"], 7, "version is 7; this hardzero reads versions 1 to 6"),
        (["version"], True, "version must be a whole number"),
        (["version"], ..., "no version"),
        (["method"], ..., "method is missing"),
        (["method"], "__import__('os')", "method must be a name"),
        (["extra"], 1, "extra is not a field"),
        (["parameters"], [], "parameters must be an object"),
        (["parameters", "a b"], 1, "'a b' must be a name"),
        (["classes"], ["no"], "classes must hold two"),
        (["classes"], ["no", "no"], "label twice"),
        (["classes"], ["no", 1], "one type"),
        (["classes"], ["no", None], r"classes\[1\] must be text"),
        (["positive"], "no", "positive must be"),
        (["features"], [], "features must not be empty"),
        (["features", 1, "scale"], 0, r"features\[1\]\.scale must be above 0"),
        (["features", 1, "name"], 3, r"features\[1\]\.name must be text"),
        (["features", 0, "lower"], 7, r"features\[0\]\.lower must not be above"),
        (["features", 0, "offset"], 10**400, "too large a number"),
        (["coefficients", "scaled", "weights"], [[1.0, 2.0]] * 2, "must have 1 rows"),
        (["coefficients", "scaled", "weights", 0], [1.0], r"weights\[0\] must have 2 weights"),
        (["coefficients", "scaled", "weights", 0, 1], "2", r"weights\[0\]\[1\] must be a number"),
        (["coefficients", "scaled", "intercepts"], [], "must have 1 entries"),
        (["coefficients", "original", "weights", 0, 1], 5, "has other weights"),
        (["coefficients", "original", "intercepts", 0], 5, "has other intercepts"),
        (["schema"], {}, "schema is not valid"),
        (["schema"], SCHEMA.to_dict(), "makes other features"),
        (["privacy", "epsilon"], -1, "privacy.epsilon must not be negative"),
        (["privacy", "delta"], 1, "privacy.delta must be"),
        (["privacy", "neighbours"], "friends", "privacy.neighbours is unknown"),
        (["privacy", "seeded"], 0, "privacy.seeded must be true or false"),
        (["privacy", "is_private"], False, "contradicts"),
        (["privacy", "events", 0, "kind"], "os.system", r"events\[0\]\.kind is unknown"),
        (["privacy", "events", 0, "kind"], ..., "has no kind"),
        (["privacy", "events", 0, "eta"], -1, "eta must be above 0"),
        (["privacy", "events", 0, "eta"], 1e200, "cost cannot be computed"),
        (["privacy", "events", 0, "eta"], 3.0, "cost is not what"),
        (["privacy", "assumed_public"], "all", "assumed_public must be a list"),
    ],
)
def test_an_error_names_the_field(path, value, problem):
    with pytest.raises(ModelFileError, match=problem):
        FittedModel.from_json(changed(path, value))


def test_an_unprotected_event_allows_no_epsilon():
    with pytest.raises(ModelFileError, match="must be null"):
        FittedModel.from_json(made_up(events=(Selection(0.1), NotPrivate("all"))).to_json())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": 1, "format": 2}',
        '{"format": NaN}',
        '{"format": -Infinity}',
        "[" * 100_000,
        "1" * 5000,
        '{"format": "hardzero-model", "version": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_no_model_file_is_refused(text):
    with pytest.raises(ModelFileError):
        FittedModel.from_json(text)


def test_events_may_not_be_nested_without_end():
    event = '{"kind": "Repeated", "times": 1, "cost": {"rho": 1, "epsilon": 1, "shift": 0}, "event": '
    nested = json.dumps(document()).replace('"events": [', '"events": [' + event * 400 + "1" + "}" * 400 + ",")
    with pytest.raises(ModelFileError, match=r"deep|must be an object"):
        FittedModel.from_json(nested)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def places(part, path=()):
    yield path
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


KNOWN = sure([[0.5, None, 0.25, None, 1.0, None, 0.125]], [[0.0, 1.0, 0.03, 1.0, 0.4, 0.9, 0.2]])
WITH_SCHEMA = made_up_with_schema(inference=KNOWN).to_json()
PLACES = [path for path in places(json.loads(WITH_SCHEMA)) if path]


@given(st.sampled_from(PLACES), JSON)
@settings(max_examples=200)
def test_any_change_is_read_or_refused_and_never_worse(path, value):
    content = part = json.loads(WITH_SCHEMA)
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with contextlib.suppress(ModelFileError):
        model = FittedModel.from_json(json.dumps(content))
        assert FittedModel.from_json(model.to_json()) == model


@given(st.integers(0, 1500), st.binary(min_size=1, max_size=3))
@settings(max_examples=100)
def test_damaged_bytes_are_read_or_refused_and_never_worse(tmp_path_factory, place, damage):
    content = made_up().to_json().encode()
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    file.write_bytes(content[:place] + damage + content[place + len(damage) :])
    with contextlib.suppress(ModelFileError):
        model = FittedModel.load(file)
        assert FittedModel.from_json(model.to_json()) == model


def test_an_error_names_the_file(tmp_path):
    (tmp_path / "damaged.json").write_bytes(b"\xff")
    (tmp_path / "other.json").write_text("{}")
    for name in ("damaged.json", "other.json"):
        with pytest.raises(ModelFileError, match=name):
            FittedModel.load(tmp_path / name)


def test_numbers_that_json_cannot_hold_are_not_written():
    with pytest.raises(ModelFileError, match="not finite"):
        made_up(coef=((math.nan, 1.0),)).to_json()


def test_a_file_is_replaced_only_when_allowed(tmp_path):
    file = tmp_path / "model.json"
    made_up().save(file)
    with pytest.raises(FileExistsError, match="exists already"):
        made_up().save(file)
    made_up(names=("a", "b")).save(file, overwrite=True)
    assert FittedModel.load(file).features[0].name == "a"
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_missing_folder_or_a_folder_for_a_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        made_up().save(tmp_path / "missing" / "model.json")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        made_up().save(tmp_path)


@pytest.mark.parametrize(
    "failure", [PermissionError(13, "Permission denied"), OSError(28, "No space left on device")]
)
def test_nothing_half_written_is_left(tmp_path, monkeypatch, failure):
    def fail(*arguments):
        raise failure

    (tmp_path / "model.json").write_text("old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=failure.strerror):
        made_up().save(tmp_path / "model.json", overwrite=True)
    assert os.listdir(tmp_path) == ["model.json"]
    assert (tmp_path / "model.json").read_text() == "old"


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "model.json", "text")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="choose a folder"):
        made_up().save(tmp_path / "model.json")
