"""From a table and a schema to a model."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...atomic import Claim
from ...checks import InputError
from ...data.bounded import Bounds
from ...data.stacked import StackedData
from ...estimators._scattered import KeptRows
from ...model import FittedModel
from ...privacy.budget import Neighbours
from ...readers import TableReader
from ...readers.check import check_table
from ...readers.matrix import DENSE_FROM, Matrix, read_encoded, rows_at_once
from ...schema.columns import Schema
from ...schema.encoder import SchemaEncoder
from ...schema.persons import Register
from ...schema.target import NumericTarget

Numbers = np.typing.NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows, and the place of each row's class in the schema: two bytes per row, however long the names are.

    Where the schema says whose rows they are, also a number for each row, the same for rows of one person.

    Privacy
    -------
    Sensitive.
    """

    data: StackedData
    places: np.typing.NDArray[np.int16]
    persons: Numbers | None = None


@dataclass(frozen=True)
class RegressionRows:
    """Encoded rows as one matrix, and each row's number within the target's bounds.

    Privacy
    -------
    Sensitive.
    """

    X: Matrix
    y: Any
    persons: Numbers | None = None


Taken = Callable[[Any, Any, Numbers | None], tuple[Any, Any, Numbers | None]]
"""What takes rows away from those of a batch, and their places and persons with them."""


def read_rows(
    reader: TableReader, schema: Schema, heard: Callable[[int], None], without: Taken | None = None
) -> TrainingRows | RegressionRows:
    """Read and encode a table batch by batch; ``heard`` is told how many rows have been read.

    Rows that ``without`` takes away are not among them.

    Peak memory is the result, 4 bytes per entry or 8 per nonzero one, and a few batches.

    Privacy
    -------
    Sensitive. The codes of a row depend on its own record and the schema only, however the rows around it are stored.
    """
    refuse_misfit(reader, schema)
    rows = encoded_rows(reader, schema, heard, without)
    if not len(rows.y if isinstance(rows, RegressionRows) else rows.places):
        raise InputError(without_rows(reader.source, "learn from", schema, set_aside=without is not None))
    return rows


def without_rows(source: str, purpose: str, schema: Schema, *, set_aside: bool = False) -> str:
    """Say that there are no rows to do something with, and what else than the table may have left none.

    Privacy
    -------
    Depends on what was asked for; which of the reasons it is the records would tell.
    """
    dropped = ", or the schema's missing policy dropped all of them" if schema.missing == "drop" else ""
    return f"{source} has no rows to {purpose}{dropped}" + (", or all were set aside" if set_aside else "")


def refuse_misfit(reader: TableReader, schema: Schema) -> None:
    """Refuse a table whose columns are not those of the schema.

    Privacy
    -------
    Names and types of columns count as public; no cell is read.
    """
    if problems := check_table(schema, reader).problems:
        raise InputError("the table does not fit the schema: " + "; ".join(problems))


def encoded_rows(
    reader: TableReader, schema: Schema, heard: Callable[[int], None], without: Taken | None = None
) -> TrainingRows | RegressionRows:
    """Encode the rows of a table that fits the schema, if it has any.

    Privacy
    -------
    Sensitive. The codes of a row depend on its own record and the schema only.
    """
    encoder, register, persons = SchemaEncoder(schema), Register(), list[Numbers]()

    def joined() -> Numbers | None:
        return None if schema.person is None else np.concatenate([np.zeros(0, dtype=np.int64), *persons])

    if isinstance(schema.target, NumericTarget):
        X, y = read_encoded(reader, encoder, persons=lambda names: persons.append(register.numbers(names)))
        return RegressionRows(X, y, joined())
    places: list[np.typing.NDArray[np.int16]] = []

    def batches() -> Iterator[Any]:
        seen = 0
        columns = [*(column.name for column in schema.used), *schema.read]
        for batch in reader.batches(rows_at_once(len(schema.features)), columns):
            encoded = encoder.encode(batch)
            X, found = encoded.X, np.asarray(encoded.places, dtype=np.int16)
            numbers = None if encoded.persons is None else register.numbers(encoded.persons)
            X, found, numbers = (X, found, numbers) if without is None else without(X, found, numbers)
            places.append(found)
            if numbers is not None:
                persons.append(numbers)
            seen += batch.num_rows
            heard(seen)
            # The share depends on the records; both ways give the same codes.
            yield X.toarray() if X.nnz > DENSE_FROM * np.prod(X.shape) else X

    data = StackedData.from_batches(batches(), Bounds.parse((-1, 1), len(schema.features)))
    return TrainingRows(data, np.concatenate([np.zeros(0, dtype=np.int16), *places]), joined())


def fit_rows(rows: TrainingRows | RegressionRows | KeptRows, schema: Schema, estimator: Any) -> FittedModel:
    """Fit an estimator that `build_estimator` made for this schema's target.

    Privacy
    -------
    Releases a model, with the guarantee of the estimator.
    """
    fit_to(rows, schema, estimator)
    return released(schema, estimator)


def fit_to(rows: TrainingRows | RegressionRows | KeptRows, schema: Schema, estimator: Any) -> None:
    """Fit the estimator, and no more.

    Privacy
    -------
    Releases the estimator's weights, with its guarantee.
    """
    names = [feature.name for feature in schema.features]
    if isinstance(rows, RegressionRows):
        estimator.fit(rows.X, rows.y, groups=rows.persons)
    elif isinstance(rows, KeptRows):
        estimator.fit_kept(rows, names)
    else:
        estimator.fit_table(rows.data, rows.places, names, coded=True, groups=rows.persons)


def released(schema: Schema, estimator: Any) -> FittedModel:
    """Return the model that a fitted estimator makes with its schema.

    Privacy
    -------
    Post-processing.
    """
    cuts = "cut points, " if any(feature.is_step for feature in schema.features) else ""
    bounds = "bounds that were not released" if schema.bounds else "bounds"
    public = [f"the schema: columns, {bounds}, {cuts}categories, missing values"]
    if schema.missing == "drop" and estimator.privacy_.neighbours is not Neighbours.ADD_REMOVE:
        public.append(f"how many {estimator.privacy_.unit}s were left after rows with missing values were dropped")
    return FittedModel.from_estimator(estimator, schema, assumed_public=public)


def refuse_dropping(schema: Schema, neighbours: str) -> None:
    """Refuse to drop rows where records are exchanged: the number of rows left would differ between neighbours.

    Privacy
    -------
    Data-independent.
    """
    if schema.missing == "drop" and neighbours == "replace-one":
        raise InputError(
            "the schema drops rows with missing values, which replace-one neighbours do not cover; set its missing "
            "policy to zero, or use zero-out neighbours, or add-remove with a public number of rows"
        )


def refuse_public_rows(neighbours: str, public_rows: int | None) -> None:
    """Refuse add-remove without a public number of rows, and such a number without add-remove.

    Privacy
    -------
    Data-independent.
    """
    if neighbours == "add-remove" and public_rows is None:
        raise InputError(
            "--neighbours add-remove keeps the number of rows secret, so that another has to take its place: add "
            "--public-rows with a number known without counting the table, or use zero-out"
        )
    if neighbours != "add-remove" and public_rows is not None:
        raise InputError(
            f"--public-rows goes with --neighbours add-remove; with {neighbours} the table's own number of rows is "
            "published"
        )


def keep_model(model: FittedModel, output: Claim) -> None:
    """Write a model whose budget is spent: where it belongs, or else where it can be fetched from.

    Raises
    ------
    OSError
        The model is not where it belongs; the message says where it is.

    Privacy
    -------
    Post-processing.
    """
    keep_text(model.to_json(), output, "model")


def keep_text(text: str, output: Claim, what: str, ending: str = ".json") -> None:
    """Do the same with the text of any result.

    Privacy
    -------
    Post-processing.
    """
    try:
        output.write(text)
    except OSError as error:
        raise OSError(f"{error}; {_kept_elsewhere(text, what, ending)}") from None


def _kept_elsewhere(text: str, what: str, ending: str) -> str:
    for folder in (tempfile.gettempdir(), Path.home()):
        with suppress(OSError):
            descriptor, name = tempfile.mkstemp(ending, f"hardzero-{what}-", folder)  # for its owner only
            try:
                with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
                    file.write(text)
            except OSError:
                os.unlink(name)
                raise
            return (
                f"its budget is spent, so the {what} was kept as {name}, which only you may read: move it from there"
            )
    return f"its budget is spent, but the {what} could not be kept in the temporary folder or your home either"
