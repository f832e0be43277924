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

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray: TypeAlias = NDArray[np.float64]
SparseArray: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
Matrix: TypeAlias = "FloatArray | SparseArray"
Bounds: TypeAlias = tuple[float | FloatArray, float | FloatArray]
Basis: TypeAlias = Literal["public", "clip", "published", "derived"]
Classes: TypeAlias = tuple[int, ...] | tuple[str, ...]

_DECOMPRESS = {".bz2": bz2.decompress, ".gz": gzip.decompress, ".xz": lzma.decompress}


class DataNotFound(FileNotFoundError):  # noqa: N818 - says what happened, as StopIteration does
    """A data file is in none of the folders searched; the message says where to get it."""


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


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from and how it is read; ``samples/sources.toml`` explains the fields.

    Notes
    -----
    **Privacy.** Data-independent, but for what ``bounds_basis`` says of the bounds.
    """

    format: str
    parts: Mapping[str, Mapping[str, str]]
    n_features: int
    classes: Classes
    origin: str
    description: str
    bounds_basis: Basis
    bounds: tuple[float, float] | None = None
    columns: str | None = None
    against_rest: str | None = None
    sparse: bool = True


@cache
def origins() -> Mapping[str, Origin]:
    """Give the registry: a `Origin` for each known name.

    Notes
    -----
    **Privacy.** Data-independent.
    """

    def source(table: dict[str, Any]) -> Origin:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
        return Origin(**fields)

    return {name: source(table) for name, table in tomllib.loads(_bundled("sources.toml").decode()).items()}


def available() -> list[str]:
    """Names of the data sets of which at least one part is on this machine (checksums are not looked at).

    Notes
    -----
    **Privacy.** Data-independent: looks at file names only.
    """

    def found(source: Origin) -> bool:
        return any(all(_locate(file) for file in files) for files in source.parts.values())

    return [name for name, source in origins().items() if found(source)]


def load(name: str, part: str = "train", *, verify: bool = True) -> Dataset:
    """Load one part of a data set.

    Parameters
    ----------
    name : str
        One of the names in `sources`.
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
    paths = [_locate(file) or _missing(file, source) for file in files]
    if verify:
        for path, expected in zip(paths, files.values(), strict=True):
            _check(path, expected, source)
    return _build(name, source, [_DECOMPRESS[path.suffix](path.read_bytes()) for path in paths])


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
    rows = lzma.decompress(_bundled(_choose("part", part, files)))
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


def _bundled(file: str) -> bytes:
    return resources.files(__name__).joinpath("samples", file).read_bytes()


def _choose(parameter: str, key: str, options: Mapping[str, Any]) -> Any:
    if key not in options:
        raise ValueError(f"{parameter}={key!r} is not known; use one of: {', '.join(options)}")
    return options[key]


def _folders() -> tuple[Path | None, Path]:
    named = os.environ.get("HARDZERO_DATA")
    cache_home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(named).expanduser() if named else None, Path(cache_home) / "hardzero"


def _locate(file: str) -> Path | None:
    return next((folder / file for folder in _folders() if folder and (folder / file).is_file()), None)


def _missing(file: str, source: Origin) -> NoReturn:
    named, cached = _folders()
    raise DataNotFound(
        f"the data file {file!r} is neither in the folder that HARDZERO_DATA names "
        f"({named or 'the variable is not set'}) nor in the cache folder ({cached}). "
        f"Get it from: {source.origin}. Put it into one of these folders, or set the environment variable "
        "HARDZERO_DATA to the folder that has it."
    )


@cache
def _sha256(path: Path, mtime_ns: int, size: int) -> str:
    """Hash a file, once; its time and size are in the cache's key, so that a replaced file is read again."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check(path: Path, expected: str, source: Origin) -> None:
    stat = path.stat()
    if expected and (found := _sha256(path, stat.st_mtime_ns, stat.st_size)) != expected:
        raise ValueError(
            f"{path} is not the expected file: its SHA-256 is {found}, not {expected}. It may be incomplete; "
            f"get it again from: {source.origin}. If it is a copy that you trust, pass verify=False."
        )


def _build(name: str, source: Origin, contents: Sequence[bytes]) -> Dataset:
    X, y = _READERS[source.format](contents, source)
    if not np.isin(y, source.classes).all():
        raise ValueError(f"{name}: the file has labels other than the public classes {source.classes}")
    names, bounds = _features(_columns(source))
    if source.format == "libsvm" and len(contents) > 1:
        names = tuple(contents[1].decode().split())
    X = X if isinstance(X, np.ndarray) else _with_values(X, X.data)
    y = y.astype(np.array(source.classes).dtype)
    limits = source.bounds or bounds
    return Dataset(name, X, y, limits, source.bounds_basis, source.classes, names or None, source.description)


def _columns(source: Origin) -> dict[str, str]:
    """Give the columns of a table, each with its range ("0..100") or its categories ("a, b, c")."""
    lines = _bundled(source.columns).decode().splitlines() if source.columns else []
    return dict(line.split(": ") for line in lines if not line.startswith("#"))


def _features(columns: Mapping[str, str]) -> tuple[tuple[str, ...], Bounds]:
    """Expand columns to features: a number is one feature, a category one indicator for each value."""
    features: dict[str, Sequence[str]] = {}
    for name, content in columns.items():
        if ".." in content:
            features[name] = content.split("..")
        else:
            features |= {f"{name}={value}": ("0", "1") for value in content.split(", ")}
    pairs = np.array(list(features.values()), dtype=np.float64).reshape(-1, 2)
    return tuple(features), (pairs[:, 0], pairs[:, 1])


def _read_libsvm(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - slow to import, seldom needed

    X, y = load_svmlight_file(io.BytesIO(contents[0]), n_features=source.n_features, zero_based=False)
    return sparse.csr_array(X) if source.sparse else X.toarray(), y


def _read_csv(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    columns = _columns(source)
    first = contents[0].partition(b"\n")[0].decode().split(",")
    # A header names the columns, and may have more; without one they come as listed. The label is last.
    header = set(columns) < set(first)
    position = {name: index for index, name in enumerate(first if header else columns)}
    symbols = [name for name, content in columns.items() if ".." not in content]
    numbers = [name for name in columns if name not in symbols]

    def table(indices: list[int], dtype: type[Any]) -> NDArray[Any]:
        text, skip = io.BytesIO(contents[0]), int(header)
        return np.loadtxt(text, dtype, None, ",", usecols=indices, skiprows=skip, ndmin=2, encoding="utf-8")

    # Two passes of numpy's own parser are faster than one of the csv module, and make no object a cell.
    numeric = table([position[name] for name in numbers], np.float64)
    symbolic = table([*(position[name] for name in symbols), len(first) - 1], np.str_)
    y = symbolic[:, -1]
    if source.against_rest is not None:
        y = np.where(y == source.against_rest, source.classes[1], source.classes[0])
    if not symbols:
        return numeric, y
    blocks = {name: sparse.csr_array(numeric[:, [j]]) for j, name in enumerate(numbers)}
    blocks |= {name: _one_hot(symbolic[:, j], columns[name].split(", ")) for j, name in enumerate(symbols)}
    return sparse.csr_array(sparse.hstack([blocks[name] for name in columns], format="csr")), y


def _one_hot(values: NDArray[Any], categories: Sequence[str]) -> SparseArray:
    """Give one indicator for each category; a value that is none of them has no indicator."""
    rows, codes = np.nonzero(values[:, None] == np.array(categories))
    return sparse.csr_array((np.ones(len(rows)), (rows, codes)), shape=(len(values), len(categories)))


def _read_idx(contents: Sequence[bytes], source: Origin) -> tuple[Matrix, NDArray[Any]]:
    # An IDX header is two zero bytes, the type, the number of dimensions, and four bytes for each of these.
    images, labels = (np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]) for raw in contents)
    X = sparse.csr_array(images.reshape(-1, source.n_features))  # made sparse as bytes, to save memory
    return X.astype(np.float64), labels


def _read_scikit_learn(_: Sequence[bytes], __: Origin) -> tuple[Matrix, NDArray[Any]]:
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - slow to import, seldom needed

    X, y = load_breast_cancer(return_X_y=True)
    return X, y


_READERS = {"libsvm": _read_libsvm, "csv": _read_csv, "idx": _read_idx, "scikit-learn": _read_scikit_learn}
