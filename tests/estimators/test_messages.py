"""Nothing that an estimator says about bad input shows a record."""

import decimal
import inspect
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import accuracy_score, r2_score

import hardzero

N, P = 24, 3
NUMBER = 73519.25
WORD = "canary"
SIGNS = ("73519", "7.35", WORD)
"""How the planted number and the planted word could show."""

EVERY = [getattr(hardzero, name) for name in hardzero.__all__ if name.endswith("Regression")]
REGRESSORS = [hardzero.PrivateLassoRegression, hardzero.SparsifierRegression]
CLASSIFIERS = [kind for kind in EVERY if kind not in REGRESSORS]


def good(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, P))
    return X, X[:, 0] if kind in REGRESSORS else np.arange(N) % 2


def make(kind, **parameters):
    """An estimator that fits in milliseconds; what does not apply to it is left out."""
    wanted = {"bounds": (-1, 1), "target_bounds": (-1, 1), "classes": [0, 1], "n_iter": 3, "n_blocks": 2}
    wanted |= {"random_state": 0} | parameters
    if kind is hardzero.PrivateADMMLogisticRegression:
        wanted |= {"coupling": 1.0, "penalty": 1e-4}
    return kind(**{name: value for name, value in wanted.items() if name in inspect.signature(kind).parameters})


def planted(X, value, dtype=None):
    """A copy with the value in the second row."""
    copy = np.array(X, dtype=dtype)
    copy[1, 1] = value
    return copy


def with_mask(X):
    return np.ma.masked_array(planted(X, NUMBER), mask=np.eye(N, P, dtype=bool))


def broken(X, **parts):
    """A sparse matrix whose parts were replaced after it was made."""
    stored = sparse.csr_array(planted(X, NUMBER))
    for name, part in parts.items():
        setattr(stored, name, part(getattr(stored, name)))
    return stored


def frame(X, cells, dtype=None):
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=pd.Series(cells, dtype=dtype))


class Hostile:
    """A container that shows its content when it is asked for an array."""

    shape = (N, P)

    def __array__(self, dtype=None, copy=None):
        raise ValueError(f"cannot read {WORD} {NUMBER}")


BAD_X = {
    "one axis": lambda X: planted(X, NUMBER)[:, 1],
    "scalar": lambda X: NUMBER,
    "three axes": lambda X: planted(X, NUMBER)[None],
    "series": lambda X: pd.Series(planted(X, NUMBER)[:, 1]),
    "polars series": lambda X: pl.Series(planted(X, NUMBER)[:, 1]),
    "complex": lambda X: planted(X, NUMBER + 1j, complex),
    "complex objects": lambda X: planted(X, NUMBER + 1j, object),
    "complex frame": lambda X: pd.DataFrame(planted(X, NUMBER + 1j, complex)),
    "complex sparse": lambda X: sparse.csr_array(planted(X, NUMBER + 1j, complex)),
    "text": lambda X: planted(X.astype(str), WORD, "U20"),
    "bytes": lambda X: planted(X.astype("S20"), WORD.encode(), "S20"),
    "text among objects": lambda X: planted(X, WORD, object),
    "number as text among objects": lambda X: planted(X, str(NUMBER), object),
    "text in a list": lambda X: planted(X, WORD, object).tolist(),
    "text column": lambda X: frame(X, [WORD] * N),
    "categories": lambda X: frame(X, [WORD, "b"] * (N // 2), "category"),
    "polars text column": lambda X: pl.DataFrame({"a": [WORD] * N, "b": [NUMBER] * N}),
    "a dict among objects": lambda X: planted(X, {WORD: NUMBER}, object),
    "a date among objects": lambda X: planted(X, np.datetime64("7351-09-25"), object),
    "dates": lambda X: planted(X * 0, 73519, "datetime64[D]"),
    "durations": lambda X: planted(X * 0, 73519, "timedelta64[s]"),
    "date column": lambda X: frame(X, [pd.Timestamp("2021-07-03")] * N),
    "polars date column": lambda X: pl.DataFrame({"a": [pd.Timestamp("2021-07-03")] * N}),
    "lazy": lambda X: pl.DataFrame(planted(X, NUMBER)).lazy(),
    "masked": with_mask,
    "missing in nullable columns": lambda X: frame(X, [73519] + [pd.NA] * (N - 1), "Int64"),
    "missing in polars": lambda X: pl.DataFrame({"a": [NUMBER] + [None] * (N - 1)}),
    "none among objects": lambda X: planted(planted(X, NUMBER, object).T, None, object).T,
    "nan": lambda X: np.where(X > 0, np.nan, NUMBER),
    "infinity": lambda X: np.where(X > 0, np.inf, NUMBER),
    "sparse nan": lambda X: sparse.csc_array(np.where(X > 0, np.nan, NUMBER)),
    "huge whole number among objects": lambda X: planted(X, 73519 * 10**400, object),
    "structured": lambda X: np.zeros(N, dtype=[(WORD, float)]),
    "ragged": lambda X: [[NUMBER], [NUMBER, NUMBER]],
    "a dict": lambda X: {WORD: [NUMBER] * N},
    "a word": lambda X: WORD,
    "hostile": lambda X: Hostile(),
    "no features": lambda X: planted(X, NUMBER)[:, :0],
    "no rows": lambda X: planted(X, NUMBER)[:0],
    "sparse columns out of range": lambda X: broken(X, indices=lambda part: part + 2),
    "sparse columns below zero": lambda X: broken(X, indices=lambda part: part - 2),
    "sparse ends that fall": lambda X: broken(X, indptr=lambda part: part[::-1].copy()),
    "sparse objects": lambda X: broken(X, data=lambda part: np.array([WORD] * len(part), dtype=object)),
}
BAD_TARGET = {
    "none": lambda y: None,
    "scalar": lambda y: NUMBER,
    "two axes": lambda y: np.full((N, 2), NUMBER),
    "too short": lambda y: np.full(N - 1, NUMBER),
    "complex": lambda y: np.full(N, NUMBER + 1j),
    "nan": lambda y: np.where(y > 0, np.nan, NUMBER),
    "infinity": lambda y: np.where(y > 0, np.inf, NUMBER),
    "dates": lambda y: np.full(N, 73519, dtype="datetime64[D]"),
    "bytes": lambda y: np.full(N, WORD.encode()),
    "dicts": lambda y: np.array([{WORD: NUMBER}] * N, dtype=object),
    "none among objects": lambda y: np.array([None, WORD] * (N // 2), dtype=object),
    "mixed objects": lambda y: [WORD, NUMBER] * (N // 2),
    "nullable": lambda y: pd.Series([73519, pd.NA] * (N // 2), dtype="Int64"),
    "masked": lambda y: np.ma.masked_array(np.full(N, 73519), mask=np.arange(N) < 2),
    "sparse": lambda y: sparse.csr_array(np.full((N, 1), NUMBER)),
    "lazy": lambda y: pl.DataFrame({"y": [NUMBER] * N}).lazy(),
    "hostile": lambda y: Hostile(),
}
BAD_LABELS = BAD_TARGET | {
    "fractions": lambda y: np.where(y > 0, NUMBER, 0.0),
    "unknown number": lambda y: np.where(y > 0, 73519, 0),
    "unknown word": lambda y: np.where(y > 0, WORD, "0"),
    "unknown float": lambda y: np.where(y > 0, 73519.0, 0.0),
    "unknown float as stated": lambda y: y.astype(float),
    "booleans": lambda y: y > 0,
    "column vector": lambda y: np.where(y > 0, 73519, 0)[:, None],
}
BAD_TEXT_TARGET = {"text": lambda y: np.full(N, WORD), "text objects": lambda y: np.full(N, WORD, dtype=object)}


def everything_said(action):
    """The error of an action with its traceback, and every warning."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError)) as caught:
            action()
    said = [str(caught.value), *(str(warning.message) for warning in heard)]
    shown = "".join(traceback.format_exception(caught.value))
    # Lines of source are shown as well; those of this file name what is planted.
    messages = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith("    "))
    return "\n".join([*said, messages])


def assert_tells_nothing(action):
    said = everything_said(action)
    assert not [sign for sign in SIGNS if sign in said], said
    assert "mputer" not in said
    assert "sklearn.impute" not in said
    return said


@pytest.mark.parametrize("bad", BAD_X)
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_fit_shows_nothing_of_rows(kind, bad):
    X, y = good(kind)
    for checked in (True, False):
        with config_context(assume_finite=not checked):
            assert_tells_nothing(lambda: make(kind).fit(BAD_X[bad](X), y))


@pytest.mark.parametrize("bad", BAD_X)
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_predictions_show_nothing_of_rows(kind, bad):
    X, y = good(kind)
    model = make(kind).fit(X, y)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            assert_tells_nothing(lambda method=method: getattr(model, method)(BAD_X[bad](X)))


@pytest.mark.parametrize("bad", BAD_LABELS)
@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_fit_shows_nothing_of_labels(kind, bad):
    X, y = good(kind)
    assert_tells_nothing(lambda: make(kind).fit(X, BAD_LABELS[bad](y)))


@pytest.mark.parametrize("bad", BAD_TARGET | BAD_TEXT_TARGET)
@pytest.mark.parametrize("kind", REGRESSORS, ids=lambda kind: kind.__name__)
def test_fit_shows_nothing_of_targets(kind, bad):
    X, y = good(kind)
    assert_tells_nothing(lambda: make(kind).fit(X, (BAD_TARGET | BAD_TEXT_TARGET)[bad](y)))


@pytest.mark.parametrize("bad", BAD_TARGET | BAD_TEXT_TARGET)
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_scores_show_nothing_of_targets(kind, bad):
    X, y = good(kind)
    model = make(kind).fit(X, y)
    assert_tells_nothing(lambda: model.score(X, (BAD_TARGET | BAD_TEXT_TARGET)[bad](y)))


@pytest.mark.parametrize("classes", ["from-y", None])
@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_a_single_label_is_not_shown(kind, classes):
    X, _ = good(kind)
    for y in (np.full(N, WORD), np.full(N, 73519)):
        said = assert_tells_nothing(lambda y=y: make(kind, classes=classes).fit(X, y))
        assert "classes" in said


def test_a_column_vector_of_labels_is_taken_with_a_warning_that_shows_none():
    X, y = good(hardzero.SparsePrivateLogisticRegression)
    words = np.where(y > 0, WORD, "other")
    flat = make(hardzero.SparsePrivateLogisticRegression, classes=["other", WORD]).fit(X, words)
    with pytest.warns(UserWarning, match="A column-vector y was passed") as heard:
        column = make(hardzero.SparsePrivateLogisticRegression, classes=["other", WORD]).fit(X, words[:, None])
    assert np.array_equal(flat.coef_, column.coef_)
    assert not any(WORD in str(warning.message) for warning in heard)


def test_scores_are_those_of_scikit_learn():
    weight = np.arange(N) + 1.0
    for kind, metric in ((hardzero.LassoLogisticRegression, accuracy_score), (REGRESSORS[0], r2_score)):
        X, y = good(kind)
        model = make(kind).fit(X, y)
        assert model.score(X, y) == pytest.approx(metric(y, model.predict(X)))
        assert model.score(X, list(y), weight) == pytest.approx(metric(y, model.predict(X), sample_weight=weight))


def test_the_detector_sees_what_is_planted():
    """scikit-learn's own message, and a chained one, are found."""
    X = planted(good(EVERY[0])[0], NUMBER)

    def chained():
        try:
            raise KeyError(WORD)
        except KeyError as error:
            raise ValueError("clean") from error

    def as_elsewhere():
        raise ValueError(f"Expected 2D array, got 1D array instead:\narray={X[:, 1]}")

    assert WORD in everything_said(chained)
    assert any(sign in everything_said(as_elsewhere) for sign in SIGNS)


@pytest.mark.parametrize("value", [decimal.Decimal("0.5"), np.float16(0.5), 0.5, np.longdouble(0.5)], ids=type)
def test_numbers_among_objects_are_numbers(value):
    X, y = good(EVERY[0])
    one, other = (make(hardzero.LassoLogisticRegression).fit(planted(X, v, object), y) for v in (value, 0.5))
    assert np.array_equal(one.coef_, other.coef_)
