"""From a table with numbers and categories to a matrix in [-1, 1], by a public schema and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from .. import kernels
from ..data.variables import Kind, Variables
from . import cells
from .cells import EncodingError, FloatArray, Mask
from .columns import Categorical, Numeric, Schema, UsedColumn
from .target import NumericTarget

_SIGNS = {None: 0, "up": 1, "down": -1}
_WHERE = "The data holder is told where they are: hardzero schema check --holder"
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
    persons : ndarray of object or None
        Whose row each kept row is, as text, None where nobody says; None for all if the schema names no such column,
        or if the target was not asked for. An estimator's ``fit`` takes it as ``groups``.

    Privacy
    -------
    Sensitive.
    """

    X: CsrArray
    y: NDArray[np.str_] | FloatArray | None
    kept: Mask
    places: NDArray[np.int32] | None
    persons: NDArray[np.object_] | None = None

    def complete(self) -> CsrArray:
        """Return the matrix of all rows, or refuse if one of them is not there.

        Raises
        ------
        EncodingError
            Rows were left out because of missing values.

        Privacy
        -------
        Sensitive.
        """
        if not self.kept.all():
            raise EncodingError("rows with missing values would be dropped; use encode(), or the policy 'zero'")
        return self.X


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Encode tables by a public schema: numbers to [-1, 1] by their bounds or to steps, categories to indicators.

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

    With cut points a number becomes steps, each 1 where the number has reached it:

    >>> encoder = SchemaEncoder(Schema((Numeric("age", 0, 100, cuts=(20, 65)),), schema.target))
    >>> encoder.get_feature_names_out().tolist()
    ['age>=20', 'age>=65']
    >>> encoder.transform({"age": [19, 20, 80]}).toarray()
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
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
        return self.encode(X, target=False).complete()

    def encode(self, table: Any, *, target: bool = True, columns: Collection[str] | None = None) -> Encoded:
        """Encode a table, and leave out rows with missing values if the schema says so.

        Parameters
        ----------
        table : table
            Must have the columns that the schema uses.
        target : bool, default=True
            Whether to encode the target as well.
        columns : collection of str, optional
            Names of the columns to look at, one at least; all that the schema uses if not given. Others need not be
            there: their features are 0, and what is missing in them does not matter.

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
        chosen = self._chosen(columns)
        arrays = cells.columns_of(table, [*(column.name for column in chosen), *(schema.read if target else ())])
        encoded = {c.name: cells.encode_column(c, arrays[c.name], schema.missing_values) for c in chosen}
        incomplete = {name: part.missing for name, part in encoded.items()}
        if target:
            outcomes, absent = self._outcomes(arrays[schema.target.name])
            incomplete[schema.target.name] = absent
        kept = self._kept(incomplete, len(next(iter(arrays.values()))))
        X = stacked(encoded, schema.variables)
        X = X if kept.all() else X[kept]
        if not target:
            return Encoded(X, None, kept, None)
        persons = None
        if schema.person is not None:
            persons = cells.person_names(schema.person, arrays[schema.person], schema.missing_values)[kept]
        if isinstance(schema.target, NumericTarget):
            return Encoded(X, outcomes[kept], kept, None, persons)
        return Encoded(X, np.array(schema.target.classes)[outcomes[kept]], kept, outcomes[kept], persons)

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
            ((c.lower - f.offset) / f.scale, (c.upper - f.offset) / f.scale)
            if isinstance(c, Numeric) and not f.is_step
            else (0.0, 1.0)
            for c in self.schema.columns
            for f in c.features
        ]
        lower, upper = np.clip(np.array(pairs), -1.0, 1.0).T
        return lower, upper

    @property
    def variables(self) -> Variables:
        """Which encoded columns belong together, for an estimator's ``variables``: those of one column of the table.

        What the schema states as monotone is a sign of weights, for an estimator that is fitted to ``encode(…).y``.
        """
        return self.variables_for(sorted(self.schema.target.classes))  # as `fit` orders labels

    def variables_for(self, classes: Sequence[str]) -> Variables:
        """Return the same for an estimator with classes in another order: of two, weights speak for the second.

        Parameters
        ----------
        classes : sequence of str
            The target's classes in the order of the estimator's ``classes_``.

        Privacy
        -------
        Data-independent.
        """
        used = self.schema.used
        variables = Variables(
            tuple(column.name for column in used),
            tuple(_kind(column) for column in used),
            tuple(place for place, column in enumerate(used) for _ in column.features),
            tuple(_SIGNS[getattr(column, "monotone", None)] for column in used for _ in column.features),
            tuple(getattr(column, "quantiles", 0) for column in used),
        )
        return variables.mirrored() if self.schema.target.positive in classes[:1] else variables

    def _chosen(self, columns: Collection[str] | None) -> list[UsedColumn]:
        """Return the columns to look at."""
        chosen = [column for column in self.schema.used if columns is None or column.name in columns]
        if columns is not None and (not chosen or len(chosen) < len(set(columns))):
            raise ValueError("columns must name one column at least, and only columns that the schema uses")
        return chosen

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
                    f"column {name!r} has cells that are missing or cannot be understood; mend them, or fit with a "
                    f"schema that sets the missing policy to {'drop' if name == target else 'zero or drop'}. {_WHERE}"
                )
        return kept


def _kind(column: UsedColumn) -> Kind:
    """Return what the features of a column are."""
    if isinstance(column, Categorical):
        return "categories"
    return "steps" if any(feature.is_step for feature in column.features) else "number"


def _refuse_unknown_labels(target: str, unknown: Mask) -> None:
    if unknown.any():
        raise EncodingError(
            f"the target {target!r} has labels that are not among the schema's classes; "
            f"add them to the classes, or leave those rows out. {_WHERE}"
        )


def stacked(columns: Mapping[str, cells.EncodedColumn], variables: Sequence[str]) -> CsrArray:
    """Put runs side by side, those of one row after another, so that their order is that of the matrix.

    Parameters
    ----------
    columns : mapping
        Encoded columns by name; those that are not there are 0.
    variables : sequence of str
        The column of every feature.

    Privacy
    -------
    Sensitive. The numbers of a row depend on its own cells only.
    """
    starts = {name: len(variables) - 1 - place for place, name in enumerate(reversed(variables))}
    runs = [(starts[name], column.position, column.length, column.value) for name, column in columns.items()]
    parts = kernels.stacked_runs(runs)
    return sparse.csr_array(parts, shape=(len(parts[2]) - 1, len(variables)))
