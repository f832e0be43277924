"""Records with public bounds, held as whole numbers.

Every feature is clipped to its public bounds, divided by the larger absolute bound, and rounded to a multiple of
2⁻¹⁶. Sums of such numbers times rounded residuals are sums of integers: exact, and the same for dense and sparse
storage and for any order of summation. That makes sensitivities exact as well, and seeded runs reproducible.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..kernels import Lines
from .canonical import NOT_FINITE, canonical_sparse
from .packed import Pieces
from .passes import PackedPasses, Passes, WeighedRows, whole_weights

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]

FEATURE_BITS = 16
FEATURE_ONE = 2**FEATURE_BITS
"""The whole number that stands for a feature at its larger absolute bound."""

RESIDUAL_ONE = 2**16
"""The whole number that stands for the largest residual a loss allows."""

MAX_ROWS = 2**30
"""Sums over more rows could leave 64-bit integers."""

MAX_FEATURES = 8_000_000
"""Beyond this the proofs' allowances for rounding do not hold."""

_COLUMNS_AT_ONCE = 64
_ENTRIES_AT_ONCE = 2**20
_ROWS_AT_ONCE = 2**14
_SMALLEST_BOUND = 1e-290
_ROUNDING = 1e-9
"""Far above the relative rounding error of any sum taken here."""


@dataclass(frozen=True)
class Bounds:
    """Public lower and upper bounds, one pair for each feature.

    Privacy
    -------
    Data-independent: bounds must come from knowledge of the variables, never from the records.
    """

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def parse(cls, bounds: Any, n_features: int, name: str = "bounds") -> Bounds:
        """Check a pair of numbers, or a pair of arrays with one entry for each feature."""
        if bounds is None:
            raise ValueError(
                f"{name} is missing: give a pair (lower, upper) known without looking at the data, such as (0, 1), "
                "or a pair of arrays with one entry for each feature. Bounds read from the data would leak it"
            )
        if isinstance(bounds, (str, bytes, Mapping, Set)):  # they would be taken apart into letters, keys or no order
            raise TypeError(f"{name} must be a pair (lower, upper), not a {type(bounds).__name__}; got {bounds!r}")
        try:
            lower, upper = bounds
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be a pair (lower, upper), got {bounds!r}") from None
        parsed = []
        for side, values in (("lower", lower), ("upper", upper)):
            raw = _as_array(values)
            if raw.dtype.kind not in "biuf" or np.ma.is_masked(values):
                raise TypeError(f"{name}: the {side} bound must hold numbers, got {values!r}")
            array = raw.astype(np.float64)
            if array.shape not in ((), (1,), (n_features,)):
                raise ValueError(
                    f"{name}: the {side} bound has shape {array.shape}; give one number or {n_features} numbers, "
                    "one for each feature: (lowers, uppers), not one pair after the other"
                )
            if not np.all(np.isfinite(array)):
                raise ValueError(f"{name}: the {side} bound must be finite, got {values!r}")
            if np.any((array != 0) & (np.abs(array) < _SMALLEST_BOUND)):
                raise ValueError(f"{name}: the {side} bound is too close to 0, got {values!r}; use another unit")
            parsed.append(np.broadcast_to(array, (n_features,)))
        wrong = np.flatnonzero(parsed[0] > parsed[1])
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(
                f"{name} are inverted for feature {j}: lower {parsed[0][j]:g} is above upper {parsed[1][j]:g}; "
                "swap them"
            )
        return cls(parsed[0], parsed[1])

    @property
    def scale(self) -> FloatArray:
        """The larger absolute bound of each feature: dividing by it keeps zeros zero. 1 where both are 0."""
        larger = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return np.where(larger > 0, larger, 1.0)


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array; of objects, which are no numbers, where lengths differ."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None)


class Table(Protocol):
    """What solvers ask of rows within bounds, however they are stored."""

    n_rows: int
    n_features: int

    @property
    def popularity(self) -> NDArray[np.intp]:
        """Features by the number of rows where they are not zero, the most frequent first; ties keep their order."""

    def counts(self) -> IntArray:
        """Count the rows where each feature is not zero."""

    def gradient(self, residuals: IntArray | CodeArray) -> IntArray:
        """Sum residual times feature over all rows, exactly: (rows, outputs) → (outputs, features)."""

    def square_gradient(self, codes: IntArray) -> IntArray:
        """Sum code times squared feature over all rows, exactly."""

    def margins(self, coef: FloatArray) -> FloatArray:
        """Return X·coef' for weights of shape (outputs, features)."""

    def weighted_sums(self, coef: FloatArray, rows: WeighedRows) -> list[IntArray]:
        """Sum weighted residuals times features, residuals, and curvatures over all rows, exactly."""

    def row_squares(self, centre: FloatArray, scale: FloatArray) -> FloatArray:
        """Squared length of every row after (x - centre)/scale, never too small for rounding."""

    def product_sums(self, factors: FloatArray, centre: FloatArray, scale: FloatArray) -> IntArray:
        """Sum products of pairs of factor·((x - centre)/scale, 1), rounded towards zero, over all rows, exactly."""

    def add_column(self, margins: FloatArray, feature: int, weight: float) -> None:
        """``margins += weight * column``, in place."""

    def subset(self, features: NDArray[np.intp]) -> Table:
        """Return the same rows with some of the features."""

    def packed(self) -> Table:
        """Return the same rows, prepared for many passes over them."""

    def taken(self, rows: NDArray[np.intp]) -> Table:
        """Return some rows, in rising order, of which one may be there several times."""

    def with_constant(self) -> Table:
        """Return the same rows with one more feature that is 1 everywhere."""

    def blocks(self, owners: IntArray, count: int) -> list[BoundedData]:
        """Split rows into ``count`` blocks; row i goes to block ``owners[i]``."""

    def columns(self, features: NDArray[np.intp] | slice = slice(None)) -> Any:
        """Some columns as floating-point numbers in [-1, 1]."""


class BoundedData(Passes):
    """Rows within public bounds, scaled to [-1, 1], stored by features, dense or sparse.

    Parameters
    ----------
    codes : array or csc_array of int32, (rows, features)
        Whole numbers within ± ``FEATURE_ONE``; an array should be Fortran-ordered.
    rows : csr_array of int32, optional
        The same by rows, where that exists already.

    Privacy
    -------
    Sensitive. Values outside the bounds are clipped, silently, because a message would reveal them.
    """

    def __init__(self, codes: Any, rows: Any = None) -> None:
        self._codes = codes
        self._is_sparse = sparse.issparse(codes)
        self._rows = rows
        self.n_rows, self.n_features = codes.shape
        self.by_feature = Lines(codes if self._is_sparse else np.ascontiguousarray(codes.T))

    def __repr__(self) -> str:
        return f"BoundedData({self.n_rows} rows, {self.n_features} features)"

    @property
    def codes(self) -> Any:
        """Whole numbers, (rows, features), dense or CSC."""
        return self._codes

    @cached_property
    def popularity(self) -> NDArray[np.intp]:
        """Features by the number of rows where they are not zero, the most frequent first; ties keep their order."""
        return np.argsort(-self.counts(), kind="stable")

    @cached_property
    def by_row(self) -> Lines:
        """The same numbers by rows, features in the order of their popularity; made when first asked for."""
        if not self._is_sparse:
            table = np.empty((self.n_rows, self.n_features), dtype=np.int32)
            for part in _pieces(self.n_features, _COLUMNS_AT_ONCE):
                table[:, part] = self.by_feature.matrix[self.popularity[part]].T
            return Lines(table)
        rows = self._codes.tocsr() if self._rows is None else self._rows
        place = np.empty(self.n_features, dtype=np.int32)
        place[self.popularity] = np.arange(self.n_features, dtype=np.int32)
        return Lines(sparse.csr_array((rows.data, place[rows.indices], rows.indptr), shape=rows.shape))

    def counts(self) -> IntArray:
        """Count the rows where each feature is not zero."""
        if not self._is_sparse:
            return np.array([np.count_nonzero(line) for line in self.by_feature.matrix], dtype=np.int64)
        stored: IntArray = np.diff(self._codes.indptr).astype(np.int64)
        if np.all(self._codes.data):
            return stored
        zeros = np.repeat(np.arange(self.n_features), stored)[self._codes.data == 0]
        return stored - np.bincount(zeros, minlength=self.n_features)

    @classmethod
    def from_matrix(cls, X: Any, bounds: Bounds) -> BoundedData:
        """Clip, scale and round a finite dense array or a sparse matrix of shape (rows, features)."""
        if X.shape[0] > MAX_ROWS or X.shape[1] > MAX_FEATURES:
            raise ValueError(
                f"X has {X.shape[0]} rows and {X.shape[1]} features; at most {MAX_ROWS} rows and {MAX_FEATURES} "
                "features can be summed exactly"
            )
        if sparse.issparse(X):
            return _sparse_codes(X, bounds)
        return cls(_dense_codes(X, bounds))

    def gradient(self, residuals: IntArray | CodeArray) -> IntArray:
        """Sum residual times feature over all rows, exactly: (rows, outputs) → (outputs, features)."""
        return kernels.column_sums(self.by_feature, residuals)

    def square_gradient(self, codes: IntArray) -> IntArray:
        """Sum code times squared feature over all rows, exactly; squares are rounded down to multiples of 2⁻¹⁶."""
        return kernels.square_sums(self.by_feature, codes)

    def margins(self, coef: FloatArray) -> FloatArray:
        """Return X·coef' for weights of shape (outputs, features), the same to the last bit however rows are stored.

        Weights are rounded to whole multiples of a power of two that keeps every partial sum below 2⁵³.
        """
        whole, unit = whole_weights(coef)
        return kernels.row_sums(self.by_feature, whole, self.n_rows).astype(np.float64) * unit

    def row_squares(self, centre: FloatArray, scale: FloatArray) -> FloatArray:
        """Squared length of every row after (x - centre)/scale, never too small for rounding.

        Columns are added in their order, with what they add at x = 0 counted beforehand, so that zeros need not be
        visited and stored zeros change nothing.
        """
        at_zero = (centre / scale) * (centre / scale)
        constant = float(at_zero.sum())
        total = kernels.add_squares(self.by_feature, centre, scale, at_zero, np.full(self.n_rows, constant))
        return np.asarray(np.maximum(total, 0.0) * (1 + _ROUNDING) + constant * _ROUNDING)

    def product_sums(self, factors: FloatArray, centre: FloatArray, scale: FloatArray) -> IntArray:
        """Sum products of pairs of factor·((x - centre)/scale, 1), rounded towards zero, over all rows, exactly.

        (features + 1)² sums. No row may be longer than 2¹⁵ after rounding: a block's sums are whole numbers below
        2⁵³, which double precision adds exactly in any order.
        """
        total = np.zeros((self.n_features + 1, self.n_features + 1), dtype=np.int64)
        codes = self._codes.tocsr() if self._is_sparse else self._codes
        for part in _pieces(self.n_rows, _ROWS_AT_ONCE):
            rows = codes[part].toarray() if self._is_sparse else codes[part]
            z = np.column_stack([(rows * (1.0 / FEATURE_ONE) - centre) / scale, np.ones(len(rows))])
            z *= factors[part, None]
            np.trunc(z, out=z)
            total += np.rint(z.T @ z).astype(np.int64)
        return total

    def add_column(self, margins: FloatArray, feature: int, weight: float) -> None:
        """``margins += weight * column``, in place, touching only rows where the feature is not zero."""
        rows, values = self._column(feature)
        margins[rows] += values * (weight / FEATURE_ONE)

    def subset(self, features: NDArray[np.intp]) -> BoundedData:
        """Return the same rows with some of the features."""
        if np.array_equal(features, np.arange(self.n_features)):
            return self
        if self._is_sparse:
            return BoundedData(self._codes[:, features])
        return BoundedData(self.by_feature.matrix[features].T)

    def taken(self, rows: NDArray[np.intp]) -> BoundedData:
        """Return some rows, in rising order, of which one may be there several times."""
        if self._is_sparse:
            return BoundedData(self._codes.tocsr()[rows].tocsc())
        return BoundedData(np.asfortranarray(self._codes[rows]))

    def packed(self) -> BoundedData:
        """Return the same rows, prepared for many passes over them: a bit for a feature that is 0 or 1."""
        return self if kernels.compiled() is None else PackedData(self)

    def with_constant(self) -> BoundedData:
        """Return the same rows with one more feature that is 1 everywhere."""
        ones = np.full((self.n_rows, 1), FEATURE_ONE, dtype=np.int32)
        if self._is_sparse:
            return BoundedData(sparse.hstack([self._codes, sparse.csc_array(ones)], format="csc"))
        return BoundedData(np.asfortranarray(np.hstack([self._codes, ones])))

    def blocks(self, owners: IntArray, count: int) -> list[BoundedData]:
        """Split rows into ``count`` blocks; row i goes to block ``owners[i]``, the order within a block stays."""
        order = np.argsort(owners, kind="stable")
        ends = np.cumsum(np.bincount(owners, minlength=count))
        rows = (self._codes.tocsr() if self._is_sparse else self._codes)[order]
        parts = (rows[end - size : end] for end, size in zip(ends, np.diff(ends, prepend=0), strict=True))
        return [BoundedData(part.tocsc() if self._is_sparse else part) for part in parts]

    def columns(self, features: NDArray[np.intp] | slice = slice(None)) -> Any:
        """Some columns as floating-point numbers in [-1, 1], dense or CSC as stored."""
        codes = self._codes if isinstance(features, slice) and features == slice(None) else self._codes[:, features]
        if not self._is_sparse:
            return codes * (1.0 / FEATURE_ONE)
        return sparse.csc_array((codes.data * (1.0 / FEATURE_ONE), codes.indices, codes.indptr), shape=codes.shape)

    def _column(self, feature: int) -> tuple[Any, Any]:
        """Return the rows where a feature may be nonzero, and its whole-number values there."""
        if not self._is_sparse:
            return slice(None), self._codes[:, feature]
        part = slice(self._codes.indptr[feature], self._codes.indptr[feature + 1])
        return self._codes.indices[part], self._codes.data[part]


class PackedData(PackedPasses, BoundedData):
    """Rows that were packed, beside what they were.

    Privacy
    -------
    Sensitive.
    """

    def __init__(self, data: BoundedData) -> None:
        super().__init__(data.codes)
        self._pieces = Pieces(data.n_features)
        self._pieces.add(data.by_feature, np.arange(data.n_features), data.n_rows)


def _dense_codes(X: NDArray[Any], bounds: Bounds) -> NDArray[np.int32]:
    """Not left to scikit-learn, whose check can be switched off: one NaN would undo the guarantee."""
    codes = kernels.scaled_codes(X, bounds.lower, bounds.upper, FEATURE_ONE / bounds.scale)
    if codes is None:
        raise ValueError(NOT_FINITE)
    return codes.T


def _sparse_codes(X: Any, bounds: Bounds) -> BoundedData:
    excluded = np.flatnonzero((bounds.lower > 0) | (bounds.upper < 0))
    if len(excluded):
        raise ValueError(
            f"bounds of feature {int(excluded[0])} exclude 0, but X is sparse and its missing entries are zeros; "
            "widen the bounds to include 0 or pass a dense array"
        )
    X = canonical_sparse(X)
    codes = type(X)((_coded(X, bounds), X.indices, X.indptr), shape=X.shape)
    return BoundedData(codes) if X.format == "csc" else BoundedData(codes.tocsc(), rows=codes)


def _coded(X: Any, bounds: Bounds) -> NDArray[np.int32]:
    """Clip, scale and round the stored values, in their order."""
    limits = np.stack([bounds.lower, bounds.upper, FEATURE_ONE / bounds.scale])
    alike = bool(np.all(limits == limits[:, :1]))  # the same for all features: nothing to look up
    codes = np.empty(X.nnz, dtype=np.int32)
    for part in _pieces(X.nnz, _ENTRIES_AT_ONCE):
        if alike:
            lower, upper, factor = limits[:, 0]
        elif X.format == "csr":
            lower, upper, factor = limits[:, X.indices[part]]
        else:
            places = np.arange(part.start, part.stop)
            lower, upper, factor = limits[:, np.searchsorted(X.indptr, places, side="right") - 1]
        values = np.clip(X.data[part].astype(np.float64), lower, upper)
        values *= factor
        codes[part] = np.rint(values, out=values)
    return codes


def _pieces(size: int, at_once: int) -> list[slice]:
    """Cut work into pieces, so that nothing beside the result is as large as the data."""
    return [slice(start, min(start + at_once, size)) for start in range(0, size, at_once)]
