"""Rows that are not here: parts of a table on the workers of a Dask cluster, turned into a problem there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cluster import Refused, scattered
from ..backends.collections import Collection
from ..checks import require
from ..data.bounded import BoundedData, Bounds, FloatArray
from ..optim.losses import Logistic, Loss, Softmax
from ..optim.problem import Problem, Rows, ScatteredProblem, count_rows
from . import _input, _labels


@dataclass(frozen=True)
class ClassReader:
    """Reads labels as places among stated classes, as solvers take them.

    Privacy
    -------
    Sensitive. Messages show no label.
    """

    classes: Any
    owner: str

    def __call__(self, y: Any, n_rows: int) -> Any:
        """Return the targets of some rows."""
        labels = _labels.read_labels(y, n_rows, self.owner)
        encoded = _labels.encode_labels(labels, self.classes, required=True)
        return class_targets(encoded.places, len(encoded.classes))


def class_loss(classes: int) -> Loss:
    """Return the loss for so many classes.

    Privacy
    -------
    Data-independent.
    """
    return Logistic() if classes == 2 else Softmax(classes)


def class_targets(places: NDArray[np.intp], classes: int) -> Any:
    """Return 0 or 1 for two classes, places for more.

    Privacy
    -------
    Sensitive.
    """
    return places.astype(np.float64)[:, None] if classes == 2 else places


@dataclass(frozen=True)
class NumberReader:
    """Reads a target that is a number, clipped to its bounds and divided by the larger of them.

    Privacy
    -------
    Sensitive. Messages show no value.
    """

    limits: Bounds
    owner: str

    @property
    def unit(self) -> float:
        """The larger absolute bound."""
        return float(self.limits.scale[0])

    def __call__(self, y: Any, n_rows: int) -> FloatArray:
        """Return the targets of some rows."""
        target = _input.read_target(y, n_rows, self.owner)
        return np.clip(target, self.limits.lower[0], self.limits.upper[0])[:, None] / self.unit


@dataclass(frozen=True)
class KeptRows:
    """Rows that workers keep already, each with the `Problem` of its part.

    Privacy
    -------
    Sensitive, but for the number of features.
    """

    rows: Rows
    n_rows: int
    n_features: int

    @classmethod
    def counted(cls, rows: Rows, n_features: int) -> KeptRows:
        """Count the rows.

        Privacy
        -------
        Sensitive.
        """
        return cls(rows, count_rows(rows), n_features)


@contextmanager
def scattered_problem(
    rows: Collection, read: ClassReader | NumberReader, loss: Loss, bounds: Bounds, n_rows: int
) -> Iterator[ScatteredProblem]:
    """Let the workers clip, scale and round their parts and keep them meanwhile.

    Privacy
    -------
    Sensitive. What becomes of a row depends on that row and on public values only.
    """
    make = require("dask.delayed", "dask").delayed(part_problem, pure=False)
    with scattered([make(X, y, read, loss, bounds) for X, y in rows.parts]) as kept:
        yield ScatteredProblem(kept, loss, n_rows, rows.n_features)


def part_problem(
    X: Any, y: Any, read: Callable[[Any, int], Any], loss: Loss, bounds: Bounds
) -> Problem | Refused | None:
    """Return the problem of some rows; None where there are none.

    Privacy
    -------
    Sensitive. Errors are returned, because Dask would log a task that fails with its rows.
    """
    try:
        if X.shape[0] == 0:
            return None
        rows = _input.read_rows(X)
        return Problem(BoundedData.from_matrix(rows, bounds), read(y, rows.shape[0]), loss)
    except Exception as error:  # of whatever kind: it is raised where the fit was called
        return Refused(error)
