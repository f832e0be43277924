"""What reaches an estimator is read rightly or refused with a message that names the parameter and the fix."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from hardzero import (
    LassoLogisticRegression,
    PrivateLassoLogisticRegression,
    PrivateLassoRegression,
    SparsePrivateLogisticRegression,
)
from hardzero.data.bounded import FEATURE_ONE, BoundedData, Bounds
from hardzero.data.canonical import canonical_sparse


def lasso(**parameters):
    settings = {"bounds": (-4, 4), "classes": [0, 1], "n_iter": 20, "random_state": 0}
    return PrivateLassoLogisticRegression(**(settings | parameters))


@pytest.fixture
def task():
    """Whole numbers from 0 to 3, which every type holds exactly."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(60, 5))
    return X, (X[:, 0] > X[:, 1]).astype(int)


# Types of numbers


TYPES = {
    **{
        name: lambda X, name=name: X.astype(name)
        for name in ("u1", "<u2", "<u4", "<u8", ">u8", "i1", "i8", ">f8", "f2")
    },
    "longdouble": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "matrix": np.asmatrix,
    "unmasked": lambda X: np.ma.masked_array(X, mask=False),
    "nullable": lambda X: pd.DataFrame(X).astype("Int64"),
    "mixed columns": lambda X: pd.DataFrame(X).astype({0: "float32", 1: "uint8", 2: "Float64"}),
    "sparse columns": lambda X: pd.DataFrame(X).astype(pd.SparseDtype("int64", 0)),
    "sparse columns around 1": lambda X: pd.DataFrame(X).astype(pd.SparseDtype("int64", 1)),
    "polars whole numbers": pl.DataFrame,
    "polars decimals": lambda X: pl.DataFrame(X).cast(pl.Decimal(10, 2)),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
}


@pytest.mark.parametrize("container", TYPES)
def test_numbers_of_every_type_give_the_same_model(task, container):
    X, y = task
    expected = lasso().fit(X.astype(float), y)
    model = lasso().fit(TYPES[container](X), y)
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(model.predict(TYPES[container](X)), expected.predict(X.astype(float)))


def test_booleans_beside_numbers_are_numbers(task):
    X, y = task
    flags = X > 1
    columns = {"a": flags[:, 0], "b": X[:, 1].astype(float), "c": flags[:, 2]}
    expected = lasso().fit(np.column_stack(list(columns.values())).astype(float), y)
    for frame in (pd.DataFrame, pl.DataFrame):
        assert np.array_equal(lasso().fit(frame(columns), y).coef_, expected.coef_)
    assert np.array_equal(lasso().fit(flags, y).coef_, lasso().fit(flags.astype(float), y).coef_)


def test_a_column_may_have_the_name_of_a_method(task):
    X, y = task
    names = ["collect", "sparse", "dtype", "shape", "columns"]
    model = lasso().fit(pd.DataFrame(X.astype(float), columns=names), y)
    assert model.feature_names_in_.tolist() == names


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda X: X.astype("M8[s]"), TypeError, "X must hold numbers, got dates.*convert them to numbers"),
        (lambda X: X.astype("m8[s]"), TypeError, "X must hold numbers, got dates or durations"),
        (lambda X: pl.DataFrame(X).lazy(), TypeError, r"X is lazy.*give X.collect\(\)"),
        (lambda X: np.ma.masked_array(X, mask=X > 2), ValueError, "X is a masked array with masked entries; fill"),
        (lambda X: X[:0], ValueError, r"X has 0 sample\(s\)"),
        (lambda X: X[:, :0], ValueError, r"X has 0 feature\(s\)"),
        (lambda X: sparse.csr_array(X[:, :0]), ValueError, r"X has 0 feature\(s\)"),
        (
            lambda X: sparse.coo_array(X[:, 0]),
            ValueError,
            "Expected 2D array, got 1D array instead. Reshape your data",
        ),
        (
            lambda X: np.full(X.shape, np.nan),
            ValueError,
            "X contains NaN or infinity; replace them or leave those rows",
        ),
    ],
)
def test_what_is_not_rows_of_numbers_is_refused(task, make, error, words):
    X, y = task
    model = lasso().fit(X, y)
    with pytest.raises(error, match=words):
        lasso().fit(make(X), y)
    with pytest.raises(error, match=words):
        model.predict(make(X))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda X: pd.DataFrame(X).astype(object),
            "column 0 of X .* got objects, whose .*encode text, or make .*astype",
        ),
        (lambda X: pd.DataFrame(X).map(Decimal), "got objects, whose type does not tell numbers from text"),
        (
            lambda X: pl.DataFrame({"a": pl.Series(list(X[:, 0]), dtype=pl.Object)}),
            "column 'a' of X must hold numbers, got objects",
        ),
        (lambda X: pl.DataFrame({"a": [[1]] * len(X)}), "got objects"),
        (lambda X: pd.DataFrame(X).astype("category"), r"got categories, which may have numbers .* astype\(float\)"),
        (lambda X: pl.DataFrame(X.astype(str)).cast(pl.Categorical), "got categories"),
        (lambda X: pl.DataFrame(X.astype(str)).cast(pl.Enum(list("0123"))), "got categories"),
        (lambda X: pl.DataFrame({"a": [None] * len(X)}), "column 'a' of X .* empty by its type; leave it out"),
        (lambda X: pd.DataFrame(X).astype("string"), "got text; encode categories"),
        (lambda X: pd.DataFrame(X.astype(str)).astype("str"), "got text|got objects, .* encode text"),
        (lambda X: pl.DataFrame(X.astype(str)), "got text; encode categories"),
    ],
)
def test_columns_of_numbers_that_their_type_does_not_tell_are_called_what_they_are(task, make, words):
    X, y = task
    with pytest.raises(TypeError, match=words):
        lasso().fit(make(X), y)
    if "astype" in words:  # which is the mend that the message names
        expected = lasso().fit(X.astype(float), y)
        assert np.array_equal(lasso().fit(make(X).astype(float), y).coef_, expected.coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_regression_without_a_single_number_is_refused(task, value):
    model = PrivateLassoRegression(bounds=(0, 3), target_bounds=(0, 1), n_iter=2)
    with pytest.raises(ValueError, match=r"Input y contains NaN or infinity; replace them or leave those rows out$"):
        model.fit(task[0], np.full(60, value))


@pytest.mark.parametrize("container", [pd.Series, pl.Series, list, lambda y: y.astype(object), lambda y: y > 0])
def test_a_regression_takes_its_target_from_every_container(task, container):
    X, y = task
    one, other = (
        PrivateLassoRegression(bounds=(0, 3), target_bounds=(0, 1), n_iter=9, random_state=0).fit(X, target).coef_
        for target in (y.astype(float), container(y))
    )
    assert np.array_equal(one, other)


# Bounds


@pytest.mark.parametrize("name", ["bounds", "target_bounds"])
@pytest.mark.parametrize(
    "wrong", [{0: 1, 2: 3}, {0.0, 1.0}, frozenset({0, 1}), "01", b"01", {"lower": 0, "upper": 1}]
)
def test_bounds_without_an_order_are_refused(name, wrong):
    with pytest.raises(TypeError, match=rf"^{name} must be a pair \(lower, upper\), not a {type(wrong).__name__}"):
        Bounds.parse(wrong, 2, name)


def test_ragged_and_masked_bounds_are_refused():
    with pytest.raises(TypeError, match="the lower bound must hold numbers"):
        Bounds.parse(([0, [1, 2]], 1), 2)
    with pytest.raises(TypeError, match="the upper bound must hold numbers"):
        Bounds.parse((0, np.ma.masked_array([1.0, 2.0], mask=[True, False])), 2)


# Sparse matrices


def columns_of(X):
    """What a table holds, by rows and columns, in units of the bounds."""
    stored = BoundedData.from_matrix(X, Bounds.parse((-4, 4), X.shape[1]))
    return stored.codes.toarray() * (4 / FEATURE_ONE)


FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]


@pytest.mark.parametrize("family", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("kind", FORMATS)
def test_every_sparse_format_gives_the_same_model(task, kind, dtype, family):
    X, y = task
    X = X.astype(dtype)
    stored = getattr(sparse, f"{kind}_{family}")(X)
    model = lasso().fit(stored, y)
    dense = X.astype(float)
    assert np.array_equal(model.coef_, lasso().fit(dense, y).coef_)
    assert np.array_equal(model.decision_function(stored), model.decision_function(sparse.csr_array(dense)))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_indices_of_64_bits_are_read(task, kind):
    X, y = task
    stored = getattr(sparse, f"{kind}_array")(X)
    for name in ("indices", "indptr") if kind != "coo" else ("row", "col"):
        setattr(stored, name, getattr(stored, name).astype(np.int64))
    assert np.array_equal(lasso().fit(stored, y).coef_, lasso().fit(X.astype(float), y).coef_)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_a_stale_flag_does_not_hide_duplicates_or_disorder(kind):
    """SciPy keeps the flag that it computed before the arrays were changed."""
    make = getattr(sparse, f"{kind}_array")
    stored = make(np.array([[1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [2.0, 2.0, 2.0]]))
    assert stored.has_canonical_format
    stored.indices[:3] = [2, 0, 2]
    assert stored.has_canonical_format  # stale
    expected = stored.toarray()
    before = stored.data.copy(), stored.indices.copy(), stored.indptr.copy()
    assert np.array_equal(columns_of(stored), np.clip(expected, -4, 4))
    for kept, part in zip(before, (stored.data, stored.indices, stored.indptr), strict=True):
        assert np.array_equal(kept, part)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_duplicates_are_summed_without_overflow_and_before_clipping(kind):
    values = np.array([100, 100, -120, -77], dtype=np.int8)  # 200 and -197 leave 8 bits
    coo = sparse.coo_array((values, ([0, 0, 0, 1], [1, 1, 0, 1])), shape=(2, 2))
    if kind == "coo":
        stored = coo
    else:
        ends = {"csr": [0, 3, 4], "csc": [0, 1, 4]}[kind]
        indices, order = {"csr": ([1, 1, 0, 1], [0, 1, 2, 3]), "csc": ([0, 0, 0, 1], [2, 0, 1, 3])}[kind]
        stored = getattr(sparse, f"{kind}_array")((values[order], indices, ends), shape=(2, 2))
    summed = canonical_sparse(stored)
    assert np.array_equal(summed.toarray(), [[-120, 200], [0, -77]])
    assert summed.nnz == 3


def test_a_sum_of_duplicates_that_is_not_finite_is_refused():
    stored = sparse.csr_array((np.array([1.7e308, 1.7e308]), [0, 0], [0, 2]), shape=(1, 1))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        columns_of(stored)


BREAKS = {
    "index too large": ("indices", lambda part, places: np.where(part == part.max(), places, part)),
    "index far too large": ("indices", lambda part, places: part + 10**8),
    "index below zero": ("indices", lambda part, places: part - 1),
    "fewer indices": ("indices", lambda part, places: part[:-1]),
    "more indices": ("indices", lambda part, places: np.append(part, 0)),
    "indices are floats": ("indices", lambda part, places: part.astype(float)),
    "fewer values": ("data", lambda part, places: part[:-1]),
    "values in two axes": ("data", lambda part, places: part[:, None]),
    "ends fall": ("indptr", lambda part, places: np.concatenate([part[:1], part[2:0:-1], part[3:]])),
    "last end too large": ("indptr", lambda part, places: np.append(part[:-1], part[-1] + 5)),
    "last end too small": ("indptr", lambda part, places: np.append(part[:-1], part[-1] - 1)),
    "first end not zero": ("indptr", lambda part, places: np.append([1], part[1:])),
    "fewer ends": ("indptr", lambda part, places: part[:-1]),
    "more ends": ("indptr", lambda part, places: np.append(part, part[-1])),
    "end far below zero": ("indptr", lambda part, places: np.append([0, -(10**8)], part[2:])),
}


@pytest.mark.parametrize("family", ["array", "matrix"])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("fault", BREAKS)
def test_broken_index_arrays_are_refused(task, fault, kind, family):
    X, y = task
    name, change = BREAKS[fault]
    model = lasso().fit(X, y)
    stored = getattr(sparse, f"{kind}_{family}")(X.astype(float), **({"blocksize": (1, 1)} if kind == "bsr" else {}))
    if kind == "bsr" and fault == "values in two axes":
        pytest.skip("its values have three axes")
    setattr(stored, name, change(getattr(stored, name), X.shape[kind != "csc"]).astype(getattr(stored, name).dtype))
    if fault == "indices are floats":
        stored.indices = stored.indices.astype(float)
    with pytest.raises(ValueError, match=r"index arrays of the sparse matrix X do not fit .*build it anew"):
        lasso().fit(stored, y)
    with pytest.raises(ValueError, match=r"index arrays of the sparse matrix X do not fit .*build it anew"):
        model.predict(stored)


@pytest.mark.parametrize("value", [-1, 5, 10**6])
def test_broken_coordinates_lists_and_diagonals_are_refused(task, value):
    X, y = task
    coo = sparse.coo_array(X.astype(float))
    coo.col[3] = value
    lil = sparse.lil_array(X.astype(float))
    lil.rows[2] = [value]
    lil.data[2] = [1.0]
    uneven = sparse.lil_array(X.astype(float))
    uneven.rows[2] = [0, 1, 2]
    uneven.data[2] = [1.0]
    dia = sparse.dia_array(X.astype(float))
    dia.offsets = np.append(dia.offsets, 1)
    for stored in (coo, lil, uneven, dia):
        with pytest.raises(ValueError, match="index arrays of the sparse matrix X do not fit"):
            lasso().fit(stored, y)


def test_a_broken_matrix_does_not_end_the_process():
    """In a process of its own: the fault was a crash."""
    code = """
import numpy as np
from scipy import sparse
from hardzero import SparsePrivateLogisticRegression
X = sparse.csc_array(np.random.default_rng(0).integers(0, 2, size=(500, 40)) * 0.5)
X.indices[:50] = 2**30
try:
    SparsePrivateLogisticRegression(bounds=(0, 1), classes=[0, 1]).fit(X, np.arange(500) % 2)
except ValueError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n")


# Classes


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([], "classes must name at least two classes, got 0; list every label"),
        ([1], "classes must name at least two classes, got 1"),
        ([[0, 1]], "classes must be a list of labels"),
        ([[0], [1]], "classes must be a list of labels"),
        (np.array([[0, 1]]), "classes must be a list of labels"),
        ({0, 1}, "classes must be a list of labels"),
        ({0: "no", 1: "yes"}, "classes must be a list of labels"),
        (3, "classes must be a list of labels"),
        ([0, 1, np.nan], "Input classes contains NaN"),
        ([0.0, 1.0, np.nan], "Input classes contains NaN"),
        ([0, 1, None], "Input classes contains NaN"),
        ([0, "1"], "classes must hold text, whole numbers or booleans, all of one type"),
        ([0, True], "classes must hold text, whole numbers or booleans, all of one type"),
        ([0, 1.0], "classes must hold text, whole numbers or booleans, all of one type"),
        ([0.5, 1.5], "classes holds fractions"),
        ([b"a", b"b"], "classes must hold text"),
        (np.array([0, 1], dtype="M8[D]"), "classes must hold text"),
        ("from_y", "classes must be a list of labels or 'from-y'"),
        ("ab", "classes must be a list of labels or 'from-y'"),
        ([0, 1, 1], "classes holds a label twice"),
    ],
)
@pytest.mark.parametrize("kind", [LassoLogisticRegression, SparsePrivateLogisticRegression])
def test_classes_that_make_no_sense_are_refused(task, kind, classes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        kind(bounds=(0, 3), classes=classes).fit(*task)


LABELS = {
    "whole": [0, 1],
    "floating": [0.0, 1.0],
    "boolean": [False, True],
    "text": ["0", "1"],
}


@pytest.mark.parametrize("given", LABELS)
@pytest.mark.parametrize("held", LABELS)
@pytest.mark.parametrize("container", [np.array, list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_labels_are_compared_with_classes_of_their_own_type_only(task, given, held, container):
    X, places = task
    y = container([LABELS[held][place] for place in places])
    model = lasso(classes=LABELS[given])
    if given == held:
        assert model.fit(X, y).classes_.tolist() == LABELS[given]
        assert set(model.predict(X).tolist()) <= set(LABELS[given])
    else:
        with pytest.raises(ValueError, match=r"y holds .*, but classes holds .*; write both alike"):
            model.fit(X, y)


@pytest.mark.parametrize(
    "classes", [range(2), (0, 1), np.array([1, 0], dtype=np.uint8), pd.Index([0, 1]), pl.Series([0, 1])]
)
def test_classes_may_be_any_sequence(task, classes):
    X, y = task
    model = lasso(classes=classes).fit(X, y.astype(np.int16))
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.coef_, lasso().fit(X, y).coef_)


def test_private_classifiers_want_classes_and_say_what_to_do(task):
    with pytest.raises(ValueError, match=r"^classes is missing: list every label that can occur.*classes='from-y'"):
        lasso(classes=None).fit(*task)


def test_without_privacy_the_labels_are_read_from_y(task):
    X, y = task
    model = LassoLogisticRegression(bounds=(0, 3)).fit(X, np.where(y, "yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert "the classes (read from y)" in repr(model.privacy_)


def test_taking_the_classes_from_y_is_declared_and_changes_nothing_else(task):
    X, y = task
    stated, taken = lasso().fit(X, y), lasso(classes="from-y").fit(X, y)
    assert np.array_equal(stated.coef_, taken.coef_)
    assert taken.classes_.tolist() == [0, 1]
    line = "the classes, taken from y because classes='from-y' declares them public"
    assert line in taken.privacy_.assumed_public
    assert line not in stated.privacy_.assumed_public
    assert "the classes (given)" in stated.privacy_.assumed_public


# Weights of rows


@pytest.mark.parametrize("kind", [SparsePrivateLogisticRegression, LassoLogisticRegression, PrivateLassoRegression])
def test_weights_of_rows_are_refused_with_the_reason(task, kind):
    X, y = task
    with pytest.raises(TypeError, match=r"^sample_weight is not supported: a weight .* heaviest row; leave it out"):
        kind(bounds=(0, 3)).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        kind(bounds=(0, 3)).fit(X, y, weight=np.ones(len(y)))
    assert not has_fit_parameter(kind(), "sample_weight")  # else ensembles of scikit-learn would hand some over
