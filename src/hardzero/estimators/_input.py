"""Records as they reach an estimator: read, checked, and refused in words of our own.

What other libraries say about bad input often shows the input. So everything is looked at here first, and messages
are made of public facts alone: names of parameters and columns, data types, numbers of axes, rows and features.
"""

from __future__ import annotations

import decimal
import numbers
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from ..data.canonical import canonical_sparse

_RESHAPE = (
    "Reshape your data: X.reshape(-1, 1) makes one feature of an array, X.reshape(1, -1) makes one row, and a data "
    "frame is two-dimensional already"
)
_TEXT = "must hold numbers, got text; encode categories and convert numbers first"
_DATES = "must hold numbers, got dates or durations; convert them to numbers, such as days since a fixed day"
_CATEGORIES = (
    "must hold numbers, got categories, which may have numbers for names; give each an indicator column, or make "
    "them numbers first, by astype(float) in pandas or cast(pl.Float64) in polars"
)
_UNTYPED = (
    "must hold numbers, got objects, whose type does not tell numbers from text; encode text, or make them numbers "
    "first, by astype(float) in pandas or cast(pl.Float64) in polars"
)
_EMPTY = "must hold numbers, got a column that is empty by its type; leave it out, or fill it with a public number"
_OBJECTS = (
    "must hold numbers, got other objects; "
    "such an argument must be converted from its string or object form to a number first"
)
_REFUSED = dict.fromkeys("SUT", _TEXT) | dict.fromkeys("mM", _DATES)
_REFUSED |= {"categories": _CATEGORIES, "untyped": _UNTYPED, "empty": _EMPTY}
"""What is said of columns by their kinds, NumPy's letters or a word for what it has no letter for."""
_COLUMNS = {"str": "U", "large_str": "U", "categor": "categories", "dictionary": "categories", "enum": "categories"}
_COLUMNS |= {"null": "empty"}
"""Kinds by how the names of types begin, in pandas and polars."""
MISSING = "contains NaN or infinity; replace them or leave those rows out"
COMPLEX = "Complex data not supported: {} must hold real numbers; convert it first"
_MASKED = "{} is a masked array with masked entries; fill them with public values or leave those rows out"
_CANNOT = "{} cannot be read as an array; give a NumPy array or a data frame, its rows of equal length"
_NO_WEIGHTS = (
    "sample_weight is not supported: a weight multiplies what its row adds, so that its bounds would have to be "
    "public and the noise proved to cover the heaviest row; leave it out, and the model describes the people in the "
    "sample, not the population that they stand for"
)

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


def without_weights(fit: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Say why rows have no weights where others would take them; scikit-learn still sees that none are taken."""

    @wraps(fit)
    def refusing(estimator: S, /, *args: P.args, **named: P.kwargs) -> R:
        if "sample_weight" in named:
            raise TypeError(_NO_WEIGHTS)
        return fit(estimator, *args, **named)

    return refusing


def read_rows(X: Any) -> Any:
    """Return X as a finite or not yet checked array of float64 or float32, or as the sparse matrix that it is.

    Raises
    ------
    TypeError
        If X holds something other than numbers.
    ValueError
        If X is complex, does not have two axes, or has no rows or no features.

    Privacy
    -------
    Sensitive. Messages show no value.
    """
    X = _sparse_frame(X)
    rows: Any = X if sparse.issparse(X) else _numbers("X", X)
    if rows.dtype.kind == "c":
        raise ValueError(COMPLEX.format("X"))
    if rows.ndim != 2:
        raise ValueError(f"Expected 2D array, got {rows.ndim}D array instead. {_RESHAPE}")
    for axis, what in enumerate(("sample", "feature")):
        if rows.shape[axis] == 0:
            raise ValueError(f"X has 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required.")
    return rows


def finite_rows(X: Any) -> Any:
    """Return rows to predict for: as `read_rows`, every value finite, sparse ones in canonical form.

    Privacy
    -------
    Sensitive. Messages show no value.
    """
    rows = read_rows(X)
    if sparse.issparse(rows):
        return canonical_sparse(rows)
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"X {MISSING}")
    return rows


def read_target(y: Any, n_rows: int, owner: str) -> NDArray[np.float64]:
    """Return the numbers that a regression is about, finite, one for each row.

    Privacy
    -------
    Sensitive. Messages show no value.
    """
    refuse_no_target(y, owner)
    target = one_axis(_numbers("y", y), n_rows).astype(np.float64)
    if not np.all(np.isfinite(target)):
        raise ValueError(f"Input y {MISSING}")
    return target


def _numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array of float64 or float32; NaN stands for what is missing."""
    refuse_unread(name, values)
    for column, kind in _column_kinds(name, values):
        _refuse_kind(column, kind)
    array = as_array(name, values)
    if array.dtype.kind == "O":
        return _from_objects(name, array)
    _refuse_kind(name, array.dtype.kind)
    if array.dtype in (np.float64, np.float32):
        return array
    with np.errstate(over="ignore"):  # longer numbers than we use become infinite, and are refused as such
        return array.astype(np.float64)


def refuse_unread(name: str, values: Any) -> None:
    """Refuse what is lazy, sparse or masked.

    Privacy
    -------
    Messages show no value.
    """
    if hasattr(type(values), "collect"):
        raise TypeError(f"{name} is lazy, its rows have not been read yet; give {name}.collect() instead")
    if sparse.issparse(values):
        raise TypeError(f"{name} is a sparse matrix; give a one-dimensional array, such as {name}.toarray().ravel()")
    if np.ma.is_masked(values):
        raise ValueError(_MASKED.format(name))


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Let NumPy read, and repeat nothing of what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning of a conversion may show what is converted
        try:
            return _from_pandas(values) if _is_pandas_frame(values) else np.asarray(values)
        except Exception:  # a container may raise anything, with a record in it
            raise TypeError(_CANNOT.format(name)) from None


def _is_pandas_frame(values: Any) -> bool:
    return all(hasattr(values, name) for name in ("iloc", "columns", "to_numpy"))


def _from_pandas(frame: Any) -> NDArray[Any]:
    """Read columns as numbers if all are: side by side, columns of several types would become objects."""
    if any(_kind(dtype) not in "biuf" for dtype in frame.dtypes) or all(
        dtype == np.float32 for dtype in frame.dtypes
    ):
        return np.asarray(frame)
    plain = all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    return np.asarray(frame.to_numpy(dtype=np.float64, **({} if plain else {"na_value": np.nan})))


def _sparse_frame(X: Any) -> Any:
    """Return a pandas frame whose columns are all sparse as a sparse matrix, anything else as it is."""
    if not _is_pandas_frame(X) or not hasattr(X, "sparse"):
        return X
    try:
        return X.sparse.to_coo()
    except ValueError:  # the entries left out are not zeros
        return X


def _column_kinds(name: str, values: Any) -> list[tuple[str, str]]:
    """Name and kind of each column of a data frame, by its schema alone."""
    columns, dtypes = getattr(values, "columns", None), getattr(values, "dtypes", None)
    if columns is None or dtypes is None:
        return []
    return [(f"column {c!r} of {name}", _kind(dtype)) for c, dtype in zip(columns, dtypes, strict=True)]


def _kind(dtype: Any) -> str:
    """Return NumPy's letter for the kind of a column, or a word for what NumPy has no letter for."""
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str) and kind != "O":
        return kind
    name = str(dtype).lower()
    if getattr(dtype, "is_numeric", lambda: False)() or name == "boolean":
        return "f"
    if getattr(dtype, "is_temporal", lambda: False)():
        return "M"
    return next((word for start, word in _COLUMNS.items() if name.startswith(start)), "untyped")


def _refuse_kind(name: str, kind: str) -> None:
    if kind in _REFUSED:
        raise TypeError(f"{name} {_REFUSED[kind]}")
    if kind == "c":
        raise ValueError(COMPLEX.format(name))
    if kind not in "biuf":
        raise TypeError(f"{name} {_OBJECTS}")


def _from_objects(name: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Convert cell by cell what is a number; text that looks like one is a mistake upstream, not data."""
    for kind in {type(cell) for cell in array.ravel()}:
        if issubclass(kind, (str, bytes)):
            raise TypeError(f"{name} {_TEXT}")
        if issubclass(kind, np.generic):
            _refuse_kind(name, np.dtype(kind).kind)
        elif issubclass(kind, numbers.Complex) and not issubclass(kind, numbers.Real):
            raise ValueError(COMPLEX.format(name))
        elif is_missing(kind):
            raise ValueError(f"{name} {MISSING}")
        elif not issubclass(kind, (numbers.Real, decimal.Decimal)):
            raise TypeError(f"{name} {_OBJECTS}")
    try:
        return array.astype(np.float64)
    except OverflowError:  # a whole number beyond all floating-point numbers
        raise ValueError(f"{name} {MISSING}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} {_OBJECTS}") from None


def is_missing(kind: type) -> bool:
    """Whether this is the type of None, or of what pandas writes instead."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def refuse_no_target(y: Any, owner: str) -> None:
    """Refuse a target that is not there.

    Privacy
    -------
    Messages show no value.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")


def one_axis(y: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Return a target with one entry for each row.

    Privacy
    -------
    Messages show no value.
    """
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; give y.ravel() instead",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array with {y.ndim} axes instead")
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: [{n_rows}, {len(y)}]")
    return y
