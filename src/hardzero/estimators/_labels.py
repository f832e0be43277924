"""Labels and classes as they reach an estimator: read, checked, and refused in words that show none."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._input import COMPLEX, MISSING, as_array, is_missing, one_axis, refuse_no_target, refuse_unread

FROM_Y = "from-y"
"""The value of ``classes`` that declares the labels found in y to be public."""

_KINDS = {"i": "whole numbers", "u": "whole numbers", "f": "floating-point numbers", "b": "booleans", "U": "text"}
GIVEN = "the classes (given)"


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
    refuse_no_target(y, owner)
    refuse_unread("y", y)
    return _labels("y", one_axis(_listed("y", y), n_rows))


def _listed(name: str, values: Any) -> NDArray[Any]:
    """Return an array; a list as objects, because NumPy would turn numbers beside text into text."""
    if isinstance(values, (list, tuple)) and not any(
        isinstance(value, (list, tuple, np.ndarray)) for value in values
    ):
        return np.fromiter(values, dtype=object, count=len(values))
    return as_array(name, values)


def _labels(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels of one kind; objects become text, whole numbers, numbers or booleans if all of them are."""
    if labels.dtype.kind == "O":
        labels = _labels_from_objects(name, labels)
    kind = labels.dtype.kind
    if kind == "T":
        return labels.astype(str)
    if kind == "c":
        raise ValueError(COMPLEX.format(name))
    if kind not in _KINDS:
        what = {"S": "bytes", "M": "dates", "m": "durations"}.get(kind, "objects")
        raise ValueError(f"Unknown label type: {what}. {name} must hold text, whole numbers or booleans; convert it")
    if kind == "f":
        if not np.all(np.isfinite(labels)):
            raise ValueError(f"Input {name} {MISSING}")
        if not np.all(labels == np.rint(labels)):
            raise ValueError(
                f"Unknown label type: continuous. {name} holds fractions, but labels are text or whole numbers; "
                "for a target that is a number use a regression"
            )
    return labels


def _labels_from_objects(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    families = {_family(kind) for kind in {type(label) for label in labels}}
    if "missing" in families or ("floating-point" in families and _any_nan(labels)):
        raise ValueError(f"Input {name} {MISSING}")
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
    if is_missing(kind):
        return "missing"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, numbers.Integral):
        return "whole"
    return "floating-point" if issubclass(kind, (float, np.floating)) else "other"


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
    given = np.sort(listed_classes(classes))
    kinds = [_KINDS[array.dtype.kind] for array in (y, given)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"y holds {kinds[0]}, but classes holds {kinds[1]}; write both alike, or convert y first")
    places = np.searchsorted(given, y).clip(max=len(given) - 1)
    if not np.all(given[places] == y):
        raise ValueError("y holds labels that are not in classes; add them or remove those rows")
    return Encoded(given, places, GIVEN)


def stated_classes(classes: Any) -> NDArray[Any]:
    """Return classes in order where labels are elsewhere, so that none can be found in them.

    Privacy
    -------
    Data-independent.
    """
    if classes is None or (isinstance(classes, str) and classes == FROM_Y):
        raise ValueError(
            "classes must be listed for a Dask collection, such as classes=['no', 'yes']: its labels are read by the "
            "workers only"
        )
    return np.sort(listed_classes(classes))


def coded_labels(y: NDArray[Any], classes: Any) -> Encoded:
    """Take labels that are places already, counted from 0, among the classes as they are listed.

    Privacy
    -------
    Sensitive. Messages show no label.
    """
    if classes is None or isinstance(classes, str):
        raise ValueError("classes must be a list of labels where y holds places in it, such as ['no', 'yes']")
    given = listed_classes(classes)
    if _KINDS[y.dtype.kind] != _KINDS["i"] or not np.all((y >= 0) & (y < len(given))):
        raise ValueError(f"y must hold places in classes: whole numbers from 0 to {len(given) - 1}")
    return Encoded(given, y.astype(np.intp), GIVEN)


def refuse_other_labels(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse text where classes are numbers, and the other way round: no row could be right.

    Privacy
    -------
    Messages show no label.
    """
    kinds = [_KINDS[array.dtype.kind] for array in (labels, classes)]
    if kinds.count("text") == 1:
        raise ValueError(f"y holds {kinds[0]}, but the classes of this model are {kinds[1]}; convert y first")


def listed_classes(classes: Any) -> NDArray[Any]:
    """Return stated classes as they are listed, each once.

    Privacy
    -------
    Data-independent.
    """
    if isinstance(classes, str):
        raise ValueError(
            f"classes must be a list of labels or {FROM_Y!r}, got other text; write classes=['no', 'yes']"
        )
    refuse_unread("classes", classes)
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
