"""Tables for experiments/reliability.py: public sets, the same with null copies of their columns, simulations."""

from __future__ import annotations

import csv
import io
import lzma
import os
import zlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reliability_refit import FloatArray, refit
from scipy import sparse
from scipy.special import expit, ndtr, ndtri

from hardzero.reproduce.splits import load_split
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.file import loads

POPULATION = 200_000
"""Rows that stand for the population where a target is not known in closed form; their labels are probabilities."""
TRUE_WEIGHTS = 8
KINDS = ("continuous", "binary", "rare", "mixed")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from and rows to test on, with public bounds of each column."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    bounds: tuple[FloatArray, FloatArray]

    @property
    def spread(self) -> FloatArray:
        """Each column's standard deviation."""
        mean = np.asarray(self.X.mean(axis=0)).ravel()
        square = self.X.multiply(self.X) if sparse.issparse(self.X) else self.X * self.X
        return np.sqrt(np.maximum(np.asarray(square.mean(axis=0)).ravel() - mean**2, 0))

    def columns(self, chosen: NDArray[Any], test: bool = False) -> FloatArray:
        """Some columns, dense."""
        part = (self.X_test if test else self.X)[:, chosen]
        return part.toarray() if sparse.issparse(part) else part


@lru_cache(maxsize=1)
def whole_adult() -> tuple[Any, NDArray[Any], tuple[FloatArray, FloatArray]]:
    """All 32,561 rows of Adult's training file as its schema encodes them, labels and bounds."""
    path = Path(os.environ["HARDZERO_DATA"]) / "adult.csv.xz"
    rows = list(csv.reader(io.StringIO(lzma.decompress(path.read_bytes()).decode())))
    table = {name: [row[j] for row in rows[1:] if row] for j, name in enumerate(rows[0])}
    schema = resources.files("hardzero.datasets").joinpath("samples", "adult.toml").read_text(encoding="utf-8")
    encoder = SchemaEncoder(loads(schema))
    encoded = encoder.encode(table)
    return encoded.X, (encoded.y == encoder.schema.target.positive).astype(int), encoder.bounds


@lru_cache(maxsize=1)
def load_table(name: str, seed: int) -> Table:
    """One split, 80 % of the rows for training: Adult by its schema, the others as the paper scales them."""
    if name != "adult":
        split = load_split(name, seed)
        ones = np.ones(split.X_train.shape[1])
        return Table(split.X_train, split.y_train, split.X_test, split.y_test, (-ones, ones))
    X, y, bounds = whole_adult()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    return Table(X[train], y[train], X[test], y[test], bounds)


@lru_cache(maxsize=1)
def with_null_copies(name: str, seed: int) -> Table:
    """A table to train on with a copy of each column whose rows are permuted: as many null columns as real ones."""
    table = load_table(name, seed)
    rng = np.random.default_rng([seed, 1])
    if sparse.issparse(table.X):
        copies = sparse.csc_array(table.X, copy=True)
        for start, stop in zip(copies.indptr[:-1], copies.indptr[1:], strict=True):
            copies.indices[start:stop] = rng.permutation(table.X.shape[0])[copies.indices[start:stop]]
        copies.has_sorted_indices = False
        X = sparse.csr_array(sparse.hstack([table.X, copies.tocsr()], format="csr"))
    else:
        X = np.hstack([table.X, rng.permuted(table.X, axis=0)])
    lower, upper = table.bounds
    return Table(X, table.y, table.X_test, table.y_test, (np.tile(lower, 2), np.tile(upper, 2)))


@dataclass(frozen=True)
class Design:
    """A well-specified logistic model; its features, weights and base rate are the same in all data sets of it.

    Features follow a Gaussian copula with one correlation for all pairs. Eight weights are not zero: 0.3 to 1 for
    each standard deviation of their feature, at most 2.5 in the feature's own units, of either sign. The base rate
    lies between 25 and 50 percent.
    """

    kind: str
    n: int
    p: int
    correlation: float

    @property
    def name(self) -> str:
        return f"{self.kind} n={self.n} p={self.p} r={self.correlation:g}"

    @classmethod
    def named(cls, name: str) -> Design:
        """The design that `name` describes."""
        kind, n, p, correlation = name.split()
        return cls(kind, int(n[2:]), int(p[2:]), float(correlation[2:]))

    def rng(self, *use: int) -> np.random.Generator:
        """Random numbers for one use; they do not depend on the number of rows unless the use says so."""
        return np.random.default_rng([zlib.crc32(f"{self.kind} {self.p} {self.correlation:g}".encode()), *use])

    @property
    def prevalence(self) -> FloatArray:
        """How often each feature is 1; NaN for continuous ones."""
        kinds = [self.kind if self.kind != "mixed" else KINDS[j % 3] for j in range(self.p)]
        limits = {"continuous": (np.nan, np.nan), "binary": (0.1, 0.5), "rare": (0.01, 0.03)}
        lower, upper = np.array([limits[kind] for kind in kinds]).T
        return lower + (upper - lower) * self.rng(0).random(self.p)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """From -1 to 1, and from 0 to 1 for binary features."""
        return np.where(np.isnan(self.prevalence), -1.0, 0.0), np.ones(self.p)

    def features(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Rows of features: every other continuous one uniform, the rest normal (0.4) clipped to [-1, 1]."""
        common, own = np.sqrt(self.correlation), np.sqrt(1 - self.correlation)
        Z = own * rng.standard_normal((n, self.p)) + common * rng.standard_normal((n, 1))
        prevalence = self.prevalence
        for j in range(self.p):
            if not np.isnan(prevalence[j]):
                Z[:, j] = Z[:, j] < ndtri(prevalence[j])
            elif j % 2:
                Z[:, j] = 2 * ndtr(Z[:, j]) - 1
            else:
                Z[:, j] = np.clip(0.4 * Z[:, j], -1, 1)
        return Z


@dataclass(frozen=True, eq=False)
class Population:
    """Many rows of a design, and its true weights."""

    X: NDArray[np.float32]
    coef: FloatArray
    intercept: float

    @property
    def support(self) -> NDArray[np.intp]:
        """The true features."""
        return np.flatnonzero(self.coef)

    def target(self, kept: NDArray[np.intp]) -> FloatArray:
        """The weights of the model given these features: the true ones, if all true features are among them."""
        if np.isin(self.support, kept).all():
            return self.coef[kept]
        probability = expit(self.X[:, self.support] @ self.coef[self.support] + self.intercept)
        return refit(self.X[:, kept].astype(np.float64), probability).coef


@lru_cache(maxsize=1)
def population(design: Design) -> Population:
    """Draw the population of a design; its intercept gives the base rate."""
    X = design.features(POPULATION, design.rng(1)).astype(np.float32)
    choice = design.rng(2)
    support = choice.choice(design.p, TRUE_WEIGHTS, replace=False)
    sizes = np.minimum(choice.uniform(0.3, 1, TRUE_WEIGHTS) / X[:, support].std(axis=0, dtype=np.float64), 2.5)
    coef = np.zeros(design.p)
    coef[support] = np.round(sizes * choice.choice([-1, 1], TRUE_WEIGHTS), 2)
    rate = choice.uniform(0.25, 0.5)
    margin = X[:, support] @ coef[support]
    low, high = -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(margin + middle).mean() < rate else (low, middle)
    return Population(X, coef, round(low, 3))


def simulate(design: Design, seed: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """One data set of a design."""
    rng = design.rng(3, design.n, seed)
    X = design.features(design.n, rng)
    truth = population(design)
    return X, (rng.random(design.n) < expit(X @ truth.coef + truth.intercept)).astype(np.int64)
