"""Data sets for examples, tests and the reproduction of published experiments.

Nothing is downloaded: a file is looked for in the folder that the environment variable ``HARDZERO_DATA``
names, then in ``hardzero`` under the user's cache folder (``XDG_CACHE_HOME``, else ``~/.cache``), and its
SHA-256 is checked. `load_adult_sample`, ``load("breast-cancer")`` and `make_synthetic` need no file.

A private estimator needs bounds that are known without looking at the records. Every `Dataset` carries a
pair, and ``bounds_basis`` says how far it deserves the name *public*:

- ``"public"``: from the meaning of the columns (one-hot, degrees, pixels); no value lies outside.
- ``"clip"``: chosen from the units; larger values occur, and an estimator clips them.
- ``"published"``: taken over from the scale on which the data were published, which was computed from the
  records. Good for reproducing a result; a privacy guarantee does not cover that scaling.
- ``"derived"``: computed here from the records (`max_abs_scaled` and what uses it). Not private.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .files import DECOMPRESS, DataNotFound, check, locate, missing
from .origins import Basis, Classes, Origin, bundled, origins
from .parsing import READERS, Bounds, FloatArray, Matrix, SparseArray, columns_of, features

__all__ = [
    "DataNotFound",
    "Dataset",
    "Origin",
    "available",
    "kdd99_paper_protocol",
    "load",
    "load_adult_sample",
    "make_synthetic",
    "max_abs_scaled",
    "origins",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records, labels and what is public about them.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : ndarray or scipy.sparse.csr_array of float64
        One row a record; sparse where most entries are zero.
    y : ndarray
        Labels with the meaning they have in the source (see ``description``), each one of ``classes``.
    bounds : pair of float or of ndarray
        Lower and upper bound: a number for all features, or an array with one for each.
    bounds_basis : {"public", "clip", "published", "derived"}
        What the bounds rest on; see the description of the module.
    classes : tuple of int or of str
        The possible labels, sorted, from the description of the data; of two, the second is positive.
    feature_names : tuple of str or None
        Names of the columns, where the source gives any.
    description : str
        Meaning of labels and columns, source of the bounds.

    Notes
    -----
    **Privacy.** Sensitive: ``X`` and ``y`` are the raw records (``repr`` leaves them out).
    """

    name: str
    X: Matrix = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    bounds: Bounds = field(repr=False)
    bounds_basis: Basis
    classes: Classes
    feature_names: tuple[str, ...] | None = field(repr=False)
    description: str


def available() -> list[str]:
    """Names of the data sets of which at least one part is on this machine (checksums are not looked at).

    Notes
    -----
    **Privacy.** Data-independent: looks at file names only.
    """

    def found(source: Origin) -> bool:
        return any(all(locate(file) for file in files) for files in source.parts.values())

    return [name for name, source in origins().items() if found(source)]


def load(name: str, part: str = "train", *, verify: bool = True) -> Dataset:
    """Load one part of a data set.

    Parameters
    ----------
    name : str
        One of the names in `origins`.
    part : str, default="train"
        "train" or "test", where the data set has both.
    verify : bool, default=True
        Whether to insist on the known checksum; False accepts another copy, such as one compressed again.

    Raises
    ------
    DataNotFound
        If a file is missing; the message says what to get from where.
    ValueError
        If the name or part is unknown, a checksum is wrong, or a label is not one of the public classes.

    Notes
    -----
    **Privacy.** Sensitive: returns the raw records.
    """
    source = _choose("name", name, origins())
    files = _choose("part", part, source.parts)
    paths = [locate(file) or missing(file, source) for file in files]
    if verify:
        for path, expected in zip(paths, files.values(), strict=True):
            check(path, expected, source)
    return _build(name, source, [DECOMPRESS[path.suffix](path.read_bytes()) for path in paths])


def load_adult_sample(part: str = "train") -> Dataset:
    """Load the bundled sample of UCI Adult, encoded as by ``load("adult")``.

    Parameters
    ----------
    part : {"train", "test"}, default="train"
        The first 12,000 rows of the training file or the first 4,000 of the test file.

    Notes
    -----
    **Privacy.** Sensitive: returns raw records (of a public data set).
    """
    files = {"train": "adult-sample.csv.xz", "test": "adult-sample-test.csv.xz"}
    rows = lzma.decompress(bundled(_choose("part", part, files)))
    return _build("adult-sample", origins()["adult"], [rows])


def make_synthetic(n_rows: int = 10_000, n_features: int = 100, *, seed: int) -> tuple[Dataset, FloatArray]:
    """Draw the synthetic data of the Sparsifier paper (Section 4.2); returns them and the weights w*.

    Rows are normal with covariance 0.5^|i-j|, each feature is divided by its largest absolute value, and the
    label is 1 where w*·x > 0, else 0, with w* = (10, 9, 8, 7, 6, 5, 4, 0.5, 0, ..., 0).

    Parameters
    ----------
    n_rows, n_features : int
        Shape of ``X``: at least 1 row and 8 features.
    seed : int
        Seed of the generator.

    Notes
    -----
    **Privacy.** Data-independent: no real record is involved.
    """
    leading = (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5)
    if n_rows < 1 or n_features < len(leading):
        raise ValueError(f"n_rows={n_rows}, n_features={n_features}: give at least 1 row and 8 features")
    X = np.random.default_rng(seed).standard_normal((n_rows, n_features))
    # This covariance is that of an AR(1) process with coefficient 1/2: one pass, no p × p factorisation.
    for j in range(1, n_features):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    X /= np.abs(X).max(axis=0)
    weights = np.array([*leading, *[0.0] * (n_features - len(leading))])
    y = (X @ weights > 0).astype(np.int64)
    text = "Correlated normal features, each scaled to largest absolute value 1; y is 1 where w*·x > 0."
    return Dataset("synthetic", X, y, (-1.0, 1.0), "derived", (0, 1), None, text), weights


def max_abs_scaled(dataset: Dataset) -> Dataset:
    """Divide each feature by its largest absolute value in these very records, as published experiments do.

    For reproduction only. Sparse records stay sparse; the bounds become (-1, 1).

    Notes
    -----
    **Privacy.** Voids any guarantee: the divisors are read off the records and no budget pays for them.
    """
    X = dataset.X
    largest = np.zeros(X.shape[1])
    if isinstance(X, np.ndarray):
        np.max(np.abs(X), axis=0, out=largest)
    else:
        np.maximum.at(largest, X.indices, np.abs(X.data))
    scale = np.where(largest > 0, largest, 1.0)  # an empty column stays empty
    scaled = X / scale if isinstance(X, np.ndarray) else _with_values(X, X.data / scale[X.indices])
    text = f"{dataset.description} Divided by each feature's largest absolute value: not private."
    return replace(dataset, X=scaled, bounds=(-1.0, 1.0), bounds_basis="derived", description=text)


def kdd99_paper_protocol(seed: int, full: Dataset | None = None) -> Dataset:
    """Draw the KDD Cup 1999 subset of the Sparsifier paper: 60,000 rows, 38,420 of them normal.

    Rows are drawn without replacement from the 10 percent file (the paper's source is the full one) and come
    in random order. Each feature is divided by its largest absolute value, then each row by its norm.

    Parameters
    ----------
    seed : int
        Seed of the draw.
    full : Dataset, optional
        What ``load("kdd99")`` gives, where it is at hand: reading the file takes seconds.

    Notes
    -----
    **Privacy.** Voids any guarantee, as `max_abs_scaled` does; for reproduction only.
    """
    full = load("kdd99") if full is None else full
    rng = np.random.default_rng(seed)
    normal = full.y == "normal."
    positives = rng.choice(np.flatnonzero(normal), 38_420, replace=False)
    negatives = rng.choice(np.flatnonzero(~normal), 60_000 - 38_420, replace=False)
    chosen = rng.permutation(np.concatenate([positives, negatives]))
    scaled = max_abs_scaled(replace(full, name="kdd99-paper", X=full.X[chosen], y=full.y[chosen]))
    X = sparse.csr_array(scaled.X)
    norms = np.sqrt(X.multiply(X).sum(axis=1))  # never zero: every row has its three indicators
    text = f"{scaled.description} Then each row divided by its Euclidean norm."
    return replace(scaled, X=_with_values(X, X.data / np.repeat(norms, np.diff(X.indptr))), description=text)


def _with_values(X: SparseArray, values: FloatArray) -> SparseArray:
    # Indices of 32 bits are ample for every set here, and some of scikit-learn's solvers take no others.
    return sparse.csr_array((values, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _choose(parameter: str, key: str, options: Mapping[str, Any]) -> Any:
    if key not in options:
        raise ValueError(f"{parameter}={key!r} is not known; use one of: {', '.join(options)}")
    return options[key]


def _build(name: str, source: Origin, contents: Sequence[bytes]) -> Dataset:
    X, y = READERS[source.format](contents, source)
    if not np.isin(y, source.classes).all():
        raise ValueError(f"{name}: the file has labels other than the public classes {source.classes}")
    names, bounds = features(columns_of(source))
    if source.format == "libsvm" and len(contents) > 1:
        names = tuple(contents[1].decode().split())
    X = X if isinstance(X, np.ndarray) else _with_values(X, X.data)
    y = y.astype(np.array(source.classes).dtype)
    limits = source.bounds or bounds
    return Dataset(name, X, y, limits, source.bounds_basis, source.classes, names or None, source.description)
