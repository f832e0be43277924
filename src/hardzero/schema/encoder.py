"""From a table with numbers and categories to a matrix in [-1, 1], by a public schema and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from . import cells
from .cells import EncodingError, FloatArray, Mask
from .columns import Numeric, Schema
from .target import NumericTarget

CsrArray: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"


@dataclass(frozen=True)
class Encoded:
    """Rows of a table as numbers.

    Attributes
    ----------
    X : scipy.sparse.csr_array of float64
        One row for each kept row, one column for each feature of the schema.
    y : ndarray of str or float64, or None
        The kept rows' classes, or numbers clipped to the target's bounds, or None if they were not asked for.
    kept : ndarray of bool
        Which rows of the table are there; all of them, unless the policy for missing values is "drop".
    places : ndarray of int or None
        The place of each kept row's class among the schema's, or None if they were not asked for or are numbers.

    Privacy
    -------
    Sensitive.
    """

    X: CsrArray
    y: NDArray[np.str_] | FloatArray | None
    kept: Mask
    places: NDArray[np.int32] | None


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Encode tables by a public schema: numbers to [-1, 1] by their bounds, categories to indicators.

    Tables are pyarrow tables or record batches, pandas or polars frames, or dictionaries of columns. Columns are
    found by name; those that the schema does not use are not looked at.

    Parameters
    ----------
    schema : Schema
        What is publicly known about the table.

    Notes
    -----
    **Privacy.** Sensitive output, one row for each record. Each row depends on its own record and the schema only, so
    that neighbouring tables stay neighbours; ``fit`` learns nothing.

    Examples
    --------
    >>> from hardzero.schema import Categorical, Numeric, Schema, Target
    >>> schema = Schema(
    ...     (Numeric("age", 0, 100), Categorical("sex", ("f", "m"))), Target("ill", ("no", "yes"), "yes")
    ... )
    >>> encoder = SchemaEncoder(schema)
    >>> encoder.transform({"age": [50, 120], "sex": ["m", "x"]}).toarray()
    array([[0.5, 0. , 1. , 0. ],
           [1. , 0. , 0. , 1. ]])
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Do nothing: everything is in the schema.

        Privacy
        -------
        Data-independent.
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> CsrArray:
        """Encode the features of a table, all rows of it.

        Parameters
        ----------
        X : table
            Must have the columns that the schema uses; the target need not be there.

        Returns
        -------
        scipy.sparse.csr_array of float64
            One row for each row of the table.

        Raises
        ------
        EncodingError
            A column is not there or has an unsuitable type, or a value is missing and the policy is not "zero":
            a transformer cannot leave rows out; `encode` can.

        Privacy
        -------
        Sensitive.
        """
        encoded = self.encode(X, target=False)
        if not encoded.kept.all():
            raise EncodingError("rows with missing values would be dropped; use encode(), or the policy 'zero'")
        return encoded.X

    def encode(self, table: Any, *, target: bool = True) -> Encoded:
        """Encode a table, and leave out rows with missing values if the schema says so.

        Parameters
        ----------
        table : table
            Must have the columns that the schema uses.
        target : bool, default=True
            Whether to encode the target as well.

        Returns
        -------
        Encoded
            Matrix, labels, and which rows were kept.

        Raises
        ------
        EncodingError
            A column is not there or has an unsuitable type, a label is no class, or a value is missing and the
            policy is "error".

        Privacy
        -------
        Sensitive.
        """
        schema = self.schema
        arrays = cells.columns_of(table, [column.name for column in schema.used] + [schema.target.name] * target)
        encoded = [cells.encode_column(c, arrays[c.name], schema.missing_values) for c in schema.used]
        incomplete = {c.name: part.missing for c, part in zip(schema.used, encoded, strict=True)}
        if target:
            outcomes, absent = self._outcomes(arrays[schema.target.name])
            incomplete[schema.target.name] = absent
        kept = self._kept(incomplete, len(encoded[0].value))
        X = _stack(encoded, [len(column.features) for column in schema.used])
        X = X if kept.all() else X[kept]
        if not target:
            return Encoded(X, None, kept, None)
        if isinstance(schema.target, NumericTarget):
            return Encoded(X, outcomes[kept], kept, None)
        return Encoded(X, np.array(schema.target.classes)[outcomes[kept]], kept, outcomes[kept])

    def encode_target(self, table: Any) -> Any:
        """Return the classes or numbers of all rows of a table, which need have no other column than the target.

        Raises
        ------
        EncodingError
            A label is missing or no class, or a number is missing; the message shows neither.

        Privacy
        -------
        Sensitive.
        """
        target = self.schema.target
        array = cells.columns_of(table, [target.name])[target.name]
        outcomes, absent = self._outcomes(array)
        if isinstance(target, NumericTarget):
            self._kept({target.name: absent}, len(outcomes))
            return outcomes
        _refuse_unknown_labels(target.name, absent)
        return np.array(target.classes)[outcomes]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the encoded columns.

        Privacy
        -------
        Data-independent.
        """
        return np.array([feature.name for feature in self.schema.features], dtype=object)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the encoded columns, for an estimator's ``bounds``: within -1 and 1."""
        pairs = [
            ((c.lower - f.offset) / f.scale, (c.upper - f.offset) / f.scale) if isinstance(c, Numeric) else (0.0, 1.0)
            for c in self.schema.columns
            for f in c.features
        ]
        lower, upper = np.clip(np.array(pairs), -1.0, 1.0).T
        return lower, upper

    def _outcomes(self, array: Any) -> tuple[NDArray[Any], Mask]:
        """Return places among the classes or clipped numbers, and where they are missing."""
        target, missing_values = self.schema.target, self.schema.missing_values
        if isinstance(target, NumericTarget):
            numbers, absent, _, _ = cells.encode_outcomes(target, array, missing_values)
            return numbers, absent
        places, absent, unknown = cells.encode_labels(target, array, missing_values)
        _refuse_unknown_labels(target.name, unknown)
        return places, absent

    def _kept(self, incomplete: Mapping[str, Mask], n_rows: int) -> Mask:
        policy, target = self.schema.missing, self.schema.target.name
        kept = np.ones(n_rows, np.bool_)
        for name, missing in incomplete.items():
            if policy == "drop":
                kept &= ~missing
            elif missing.any() and (policy == "error" or name == target):
                raise EncodingError(
                    f"column {name!r} has cells that are missing or cannot be understood; mend them, or set the "
                    f"schema's missing policy to {'drop' if name == target else 'zero or drop'}"
                )
        return kept


def _refuse_unknown_labels(target: str, unknown: Mask) -> None:
    if unknown.any():
        raise EncodingError(
            f"the target {target!r} has labels that are not among the schema's classes; "
            "add them to the classes, or leave those rows out"
        )


def _stack(columns: Sequence[cells.EncodedColumn], widths: Sequence[int]) -> CsrArray:
    """Put columns side by side; each has at most one entry per row, so that their order is that of the matrix."""
    starts = np.cumsum([0, *widths]).astype(np.int32)
    values = np.column_stack([column.value for column in columns])
    indices = np.column_stack([start + column.position for start, column in zip(starts, columns, strict=False)])
    filled = values != 0
    ends = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    index_type = np.int32 if ends[-1] < 2**31 else np.int64
    return sparse.csr_array(
        (values[filled], indices[filled].astype(index_type), ends.astype(index_type)),
        shape=(len(values), int(starts[-1])),
    )
