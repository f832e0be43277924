"""Data to measure on: synthetic look-alikes of well-known shapes, and public data sets where their files are at hand.

Sparse look-alikes have columns whose popularity follows a power law, in random order, values in (0, 1] and labels
from a sparse true model. They have the shape of the data they are named after, not its content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from hardzero import datasets
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.optim.losses import Logistic
from hardzero.optim.problem import Problem

_SHIFT = 50
"""The j-th most popular column is drawn with probability proportional to about 1/(j + 50)."""

_BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, labels 0 or 1, and public bounds."""

    name: str
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    bounds: Any = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def nonzeros(self) -> int:
        """Stored numbers."""
        return int(self.X.nnz if sparse.issparse(self.X) else self.X.size)

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are left out."""
        return bool(sparse.issparse(self.X))

    @property
    def input_bytes(self) -> int:
        """What the caller holds."""
        if not self.is_sparse:
            return int(self.X.nbytes)
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)

    def problem(self) -> Problem:
        """Return the rows as hardzero's solvers see them."""
        bounds = Bounds.parse(self.bounds, self.features)
        return Problem(BoundedData.from_matrix(self.X, bounds), self.y.astype(np.float64)[:, None], Logistic())

    def scaled(self) -> Sample:
        """Return the same rows clipped to their bounds and divided by the larger one, for other packages."""
        bounds = Bounds.parse(self.bounds, self.features)
        if not self.is_sparse:
            return Sample(self.name, np.clip(self.X, bounds.lower, bounds.upper) / bounds.scale, self.y, (-1, 1))
        columns = self.X.indices
        values = np.clip(self.X.data, bounds.lower[columns], bounds.upper[columns]) / bounds.scale[columns]
        return Sample(self.name, csr(values, columns, self.X.indptr, self.X.shape), self.y, (-1, 1))

    def shape(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "rows": self.rows, "features": self.features, "nonzeros": self.nonzeros, "sparse": self.is_sparse,
            "dtype": str(self.X.dtype), "input_bytes": self.input_bytes,
        }  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """Rows, features, nonzeros a row (None: dense); labels depend on some of so many most popular features."""

    rows: int
    features: int
    a_row: int | None = None
    informative: int = 500


LOOKALIKES = {
    "synth": Shape(10_000, 100),
    "gisette-like": Shape(4_800, 5_000),
    "rcv1-like": Shape(20_000, 47_000, 75),
    "news20-like": Shape(20_000, 1_360_000, 481),
    "big": Shape(1_000_000, 1_000_000, 55),
    "big, rare signal": Shape(1_000_000, 1_000_000, 55, 1_000_000),
}
ONE_CLASS = 1
"""Of twenty newsgroups the first is told from the rest."""


def sample(name: str, shrink: int = 1) -> Sample:
    """Make or load one of the samples, with ``shrink`` times fewer rows and features (real data: rows).

    Raises ``datasets.DataNotFound`` where a file is missing.
    """
    if name not in LOOKALIKES:
        return _real(name, shrink)
    shape = LOOKALIKES[name]
    rows, features = max(shape.rows // shrink, 200), max(shape.features // shrink, 60)
    if name == "synth":
        made, _ = datasets.make_synthetic(rows, features, seed=0)
        return Sample(name, made.X, made.y, made.bounds)
    if shape.a_row is None:
        return dense_sample(rows, features, name=name)
    return sparse_sample(rows, features, min(shape.a_row, features // 8), name=name, informative=shape.informative)


def _real(name: str, shrink: int) -> Sample:
    data = datasets.load(name, "test" if name == "gisette" else "train")  # of gisette the test part is at hand
    X, y = data.X, np.asarray(data.y == (ONE_CLASS if len(data.classes) > 2 else data.classes[1]), dtype=np.int64)
    if shrink > 1:
        chosen = np.sort(np.random.default_rng(0).choice(len(y), max(len(y) // shrink, 400), replace=False))
        X, y = X[chosen], y[chosen]
    if name == "a9a":  # four fifths, as the paper trains
        rows = len(y) * 4 // 5
        X, y = X[:rows], y[:rows]
    return Sample(name, X, y, data.bounds)


def csr(values: Any, columns: Any, starts: Any, shape: Any) -> Any:
    """Return rows with indices of 32 bits, which every package takes."""
    return sparse.csr_array((values, columns.astype(np.int32), starts.astype(np.int32)), shape=shape)


def dense_sample(rows: int, features: int, *, classes: int = 2, name: str = "dense", seed: int = 0) -> Sample:
    """Independent features in [-1, 1]; each class has a sparse true model of twenty features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    X *= 0.4
    np.clip(X, -1, 1, out=X)
    model = np.zeros((features, classes if classes > 2 else 1))
    for column in model.T:
        column[rng.choice(features, min(20, features), replace=False)] = rng.choice([-2.0, 2.0], min(20, features))
    margins = X @ model
    if classes == 2:
        return Sample(name, X, (margins[:, 0] + rng.logistic(size=rows) > 0).astype(np.int64), (-1.0, 1.0))
    return Sample(name, X, (margins + rng.gumbel(size=margins.shape)).argmax(axis=1), (-1.0, 1.0))


def sparse_sample(
    rows: int, features: int, a_row: float, *, name: str = "sparse", seed: int = 0, dtype: Any = np.float64,
    informative: int = 500,
) -> Sample:  # fmt: skip
    """Rows with about ``a_row`` nonzeros; the true model has fifty of the ``informative`` most popular features."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(features)
    X = _power_law_rows(rows, features, a_row, place, rng, dtype)
    model = np.zeros(features)
    chosen = place[rng.choice(min(informative, features), min(50, features), replace=False)]
    model[chosen] = rng.choice([-4.0, 4.0], len(chosen))
    margins = X @ model.astype(dtype)
    y = margins - np.median(margins) + 0.5 * rng.logistic(size=rows) > 0
    return Sample(name, X, y.astype(np.int64), (0.0, 1.0))


def _power_law_rows(rows: int, features: int, a_row: float, place: Any, rng: np.random.Generator, dtype: Any) -> Any:
    """Draw columns with replacement, a Poisson number a row, and keep each once; in blocks, to save memory."""
    drawn = _draws_for(features, a_row)
    reach = np.log((features + _SHIFT) / _SHIFT)
    sizes, columns = [], []
    step = max(1, int(_BLOCK / drawn))
    for start in range(0, rows, step):
        counts = rng.poisson(drawn, min(step, rows - start))
        rank = rng.random(counts.sum())
        rank *= reach
        np.expm1(rank, out=rank)
        rank *= _SHIFT
        keys = place[np.minimum(rank.astype(np.int64), features - 1)]
        keys += np.repeat(np.arange(len(counts)) * features, counts)
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        row = keys // features
        keys -= row * features
        columns.append(keys.astype(np.int32))
        sizes.append(np.bincount(row, minlength=len(counts)))
    indices = np.concatenate(columns)
    del columns
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    values = rng.random(len(indices), dtype=np.float32).astype(dtype)
    np.subtract(1, values, out=values)
    return csr(values, indices, starts, (rows, features))


def _draws_for(features: int, a_row: float) -> float:
    """How many draws leave ``a_row`` distinct columns on average."""
    edges = np.log(np.arange(features + 1) + _SHIFT)
    chance = np.diff(edges) / (edges[-1] - edges[0])
    return float(brentq(lambda draws: -np.expm1(-draws * chance).sum() - a_row, a_row, 100 * a_row, rtol=1e-3))
