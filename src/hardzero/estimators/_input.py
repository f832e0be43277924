"""Records as they reach an estimator: read, checked, and refused in words of our own.

What other libraries say about bad input often shows the input. So everything is looked at here first, and messages
are made of public facts alone: names of parameters and columns, data types, numbers of axes, rows and features.
"""

from __future__ import annotations

import decimal
import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from ..data.canonical import canonical_sparse

FROM_Y = "from-y"
"""The value of ``classes`` that declares the labels found in y to be public."""

_RESHAPE = (
    "Reshape your data: X.reshape(-1, 1) makes one feature of an array, X.reshape(1, -1) makes one row, and a data "
    "frame is two-dimensional already"
)
_TEXT = "must hold numbers, got text; encode categories and convert numbers first"
_DATES = "must hold numbers, got dates or durations; convert them to numbers, such as days since a fixed day"
_OBJECTS = (
    "must hold numbers, got other objects; "
    "such an argument must be converted from its string or object form to a number first"
)
_MISSING = "contains NaN or infinity; replace them or leave those rows out"
_COMPLEX = "Complex data not supported: {} must hold real numbers; convert it first"
_MASKED = "{} is a masked array with masked entries; fill them with public values or leave those rows out"
_CANNOT = "{} cannot be read as an array; give a NumPy array or a data frame, its rows of equal length"

_KINDS = {"i": "whole numbers", "u": "whole numbers", "f": "floating-point numbers", "b": "booleans", "U": "text"}
_GIVEN = "the classes (given)"


# Numbers


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
        raise ValueError(_COMPLEX.format("X"))
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
        raise ValueError(f"X {_MISSING}")
    return rows


def read_target(y: Any, n_rows: int, owner: str) -> NDArray[np.float64]:
    """Return the numbers that a regression is about, finite, one for each row.

    Privacy
    -------
    Sensitive. Messages show no value.
    """
    _refuse_no_target(y, owner)
    target = _one_axis(_numbers("y", y), n_rows).astype(np.float64)
    if not np.all(np.isfinite(target)):
        raise ValueError(f"Input y {_MISSING}")
    return target


def _numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array of float64 or float32; NaN stands for what is missing."""
    _refuse_unread(name, values)
    for column, kind in _column_kinds(name, values):
        _refuse_kind(column, kind)
    array = _array(name, values)
    if array.dtype.kind == "O":
        return _from_objects(name, array)
    _refuse_kind(name, array.dtype.kind)
    if array.dtype in (np.float64, np.float32):
        return array
    with np.errstate(over="ignore"):  # longer numbers than we use become infinite, and are refused as such
        return array.astype(np.float64)


def _refuse_unread(name: str, values: Any) -> None:
    if hasattr(type(values), "collect"):
        raise TypeError(f"{name} is lazy, its rows have not been read yet; give {name}.collect() instead")
    if sparse.issparse(values):
        raise TypeError(f"{name} is a sparse matrix; give a one-dimensional array, such as {name}.toarray().ravel()")
    if np.ma.is_masked(values):
        raise ValueError(_MASKED.format(name))


def _array(name: str, values: Any) -> NDArray[Any]:
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
    """Return NumPy's letter for the kind of a column; a column of objects counts as text, as it nearly always is."""
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str):
        return "U" if kind == "O" else kind
    if getattr(dtype, "is_numeric", lambda: False)() or str(dtype) == "Boolean":
        return "f"
    return "M" if getattr(dtype, "is_temporal", lambda: False)() else "U"


def _refuse_kind(name: str, kind: str) -> None:
    if kind in "SUT":
        raise TypeError(f"{name} {_TEXT}")
    if kind in "mM":
        raise TypeError(f"{name} {_DATES}")
    if kind == "c":
        raise ValueError(_COMPLEX.format(name))
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
            raise ValueError(_COMPLEX.format(name))
        elif _is_missing(kind):
            raise ValueError(f"{name} {_MISSING}")
        elif not issubclass(kind, (numbers.Real, decimal.Decimal)):
            raise TypeError(f"{name} {_OBJECTS}")
    try:
        return array.astype(np.float64)
    except OverflowError:  # a whole number beyond all floating-point numbers
        raise ValueError(f"{name} {_MISSING}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} {_OBJECTS}") from None


def _is_missing(kind: type) -> bool:
    """Whether this is the type of None, or of what pandas writes instead."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


# Targets


def _refuse_no_target(y: Any, owner: str) -> None:
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")


def _one_axis(y: NDArray[Any], n_rows: int) -> NDArray[Any]:
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


def read_labels(y: Any, n_rows: int, owner: str) -> NDArray[Any]:
    """Return one label for each row: text, whole numbers or booleans.

    Raises
    ------
    TypeError
        If y cannot be read as an array.
    ValueError
        If y is missing, has the wrong shape, or holds what cannot be a label.

    Privacy
    -------
    Sensitive. Messages show no label.
    """
    _refuse_no_target(y, owner)
    _refuse_unread("y", y)
    return _labels("y", _one_axis(_listed("y", y), n_rows))


def _listed(name: str, values: Any) -> NDArray[Any]:
    """Return an array; a list as objects, because NumPy would turn numbers beside text into text."""
    if isinstance(values, (list, tuple)) and not any(
        isinstance(value, (list, tuple, np.ndarray)) for value in values
    ):
        return np.fromiter(values, dtype=object, count=len(values))
    return _array(name, values)


def _labels(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels of one kind; objects become text, whole numbers, numbers or booleans if all of them are."""
    if labels.dtype.kind == "O":
        labels = _labels_from_objects(name, labels)
    kind = labels.dtype.kind
    if kind == "T":
        return labels.astype(str)
    if kind == "c":
        raise ValueError(_COMPLEX.format(name))
    if kind not in _KINDS:
        what = {"S": "bytes", "M": "dates", "m": "durations"}.get(kind, "objects")
        raise ValueError(f"Unknown label type: {what}. {name} must hold text, whole numbers or booleans; convert it")
    if kind == "f":
        if not np.all(np.isfinite(labels)):
            raise ValueError(f"Input {name} {_MISSING}")
        if not np.all(labels == np.rint(labels)):
            raise ValueError(
                f"Unknown label type: continuous. {name} holds fractions, but labels are text or whole numbers; "
                "for a target that is a number use a regression"
            )
    return labels


def _labels_from_objects(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    families = {_family(kind) for kind in {type(label) for label in labels}}
    if "missing" in families or ("floating-point" in families and _any_nan(labels)):
        raise ValueError(f"Input {name} {_MISSING}")
    if len(families) > 1 or "other" in families:
        raise ValueError(
            f"Unknown label type: objects. {name} must hold text, whole numbers or booleans, all of one type; "
            "convert it first"
        )
    try:
        return np.array(labels.tolist())
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Unknown label type: {name} cannot be read as labels; convert it first") from None


def _any_nan(labels: NDArray[Any]) -> bool:
    """Whether labels are missing, also among text, where pandas may write NaN."""
    return any(isinstance(label, float) and label != label for label in labels)  # noqa: PLR0124 - NaN is not itself


def _family(kind: type) -> str:
    """Sort types of labels into those that are compared with each other."""
    if _is_missing(kind):
        return "missing"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, numbers.Integral):
        return "whole"
    return "floating-point" if issubclass(kind, (float, np.floating)) else "other"


# Classes


@dataclass(frozen=True)
class Encoded:
    """Classes in order, each row's place among them, and where the classes come from.

    Privacy
    -------
    Places are sensitive; classes are public, by declaration or because nothing is private.
    """

    classes: NDArray[Any]
    places: NDArray[np.intp]
    source: str


def encode_labels(y: NDArray[Any], classes: Any, *, required: bool) -> Encoded:
    """Find each label's place among the classes.

    Parameters
    ----------
    y : array
        Labels from `read_labels`.
    classes : sequence of labels, "from-y" or None
        Every label that can occur; or the declaration that the labels in y are public. None means the same where
        nothing is private.
    required : bool
        Whether None is an error: a label that occurs once would give its owner away.

    Privacy
    -------
    Sensitive. With "from-y" the set of labels is released as it is.
    """
    if classes is None and required:
        raise ValueError(
            "classes is missing: list every label that can occur, such as classes=['no', 'yes'] or classes=[0, 1]. "
            "Labels read from the data would leak a rare one; if those in y are public knowledge, say so with "
            f"classes={FROM_Y!r}"
        )
    if classes is None or (isinstance(classes, str) and classes == FROM_Y):
        found, places = np.unique(y, return_inverse=True)
        if len(found) < 2:
            raise ValueError(
                "a classifier needs at least two classes, but y holds only one class; list all with classes=…"
            )
        source = "the classes (read from y)"
        if classes is not None:
            source = f"the classes, taken from y because classes={FROM_Y!r} declares them public"
        return Encoded(found, places, source)
    given = np.sort(_listed_classes(classes))
    kinds = [_KINDS[array.dtype.kind] for array in (y, given)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"y holds {kinds[0]}, but classes holds {kinds[1]}; write both alike, or convert y first")
    places = np.searchsorted(given, y).clip(max=len(given) - 1)
    if not np.all(given[places] == y):
        raise ValueError("y holds labels that are not in classes; add them or remove those rows")
    return Encoded(given, places, _GIVEN)


def coded_labels(y: NDArray[Any], classes: Any) -> Encoded:
    """Take labels that are places already, counted from 0, among the classes as they are listed.

    Privacy
    -------
    Sensitive. Messages show no label.
    """
    if classes is None or isinstance(classes, str):
        raise ValueError("classes must be a list of labels where y holds places in it, such as ['no', 'yes']")
    given = _listed_classes(classes)
    if _KINDS[y.dtype.kind] != _KINDS["i"] or not np.all((y >= 0) & (y < len(given))):
        raise ValueError(f"y must hold places in classes: whole numbers from 0 to {len(given) - 1}")
    return Encoded(given, y.astype(np.intp), _GIVEN)


def refuse_other_labels(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse text where classes are numbers, and the other way round: no row could be right.

    Privacy
    -------
    Messages show no label.
    """
    kinds = [_KINDS[array.dtype.kind] for array in (labels, classes)]
    if kinds.count("text") == 1:
        raise ValueError(f"y holds {kinds[0]}, but the classes of this model are {kinds[1]}; convert y first")


def _listed_classes(classes: Any) -> NDArray[Any]:
    """Return stated classes as they are listed, each once."""
    if isinstance(classes, str):
        raise ValueError(
            f"classes must be a list of labels or {FROM_Y!r}, got other text; write classes=['no', 'yes']"
        )
    _refuse_unread("classes", classes)
    array = _listed("classes", classes)
    if array.ndim != 1:
        raise TypeError(
            "classes must be a list of labels, such as ['no', 'yes']; not a set, a dict or a list of lists"
        )
    if len(array) < 2:
        raise ValueError(f"classes must name at least two classes, got {len(array)}; list every label that can occur")
    labels = _labels("classes", array)
    if len(np.unique(labels)) != len(labels):
        raise ValueError("classes holds a label twice; list each once")
    return labels
