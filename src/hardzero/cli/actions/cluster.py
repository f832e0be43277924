"""Tables that the workers of a Dask cluster read and keep, part by part."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...backends.cluster import Refused, scattered
from ...checks import InputError, require
from ...data.bounded import BoundedData, Bounds
from ...estimators._scattered import KeptRows, NumberReader, class_loss, class_targets
from ...optim.losses import Loss, Squared
from ...optim.problem import Problem
from ...readers.several import TablePart
from ...schema.columns import Schema
from ...schema.target import NumericTarget
from .fit import RegressionRows, TrainingRows, encoded_rows, refuse_misfit

_ANSWER_WITHIN = "10s"


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Connect to a Dask scheduler.

    Raises
    ------
    InputError
        None answers.

    Privacy
    -------
    Data-independent.
    """
    distributed = require("distributed", "dask")
    # What goes wrong is said in our own words, and by nobody beside.
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(scheduler, timeout=_ANSWER_WITHIN, direct_to_workers=True, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {scheduler}; start one with `dask scheduler`, and workers with "
            f"`dask worker {scheduler}`"
        ) from error
    with client:
        yield client


@contextmanager
def rows_on_cluster(parts: Sequence[TablePart], schema: Schema, estimator: Any, scheduler: str) -> Iterator[KeptRows]:
    """Let the workers of a cluster read, encode and keep the parts of a table meanwhile.

    Every worker must be able to open the files by the same names.

    Privacy
    -------
    Sensitive. The codes of a row depend on its own record and the schema only, wherever it is read.
    """
    if schema.person is not None:
        raise InputError(
            "the schema says whose row each row is, and rows of one person may be with several workers; leave "
            "--scheduler out"
        )
    delayed = require("dask.delayed", "dask").delayed
    refuse_misfit(parts[0].opened(), schema)
    if isinstance(schema.target, NumericTarget):
        loss: Loss = Squared(estimator.radius)
    else:
        loss = class_loss(len(schema.target.classes))
    read = delayed(encoded_part, pure=False)
    with connected(scheduler) as client, scattered([read(part, schema, loss) for part in parts], client) as kept:
        rows = KeptRows.counted(kept, len(schema.features))
        if rows.n_rows == 0:
            raise InputError("the table has no rows to learn from")
        yield rows


def encoded_part(part: TablePart, schema: Schema, loss: Loss) -> Problem | Refused | None:
    """Read and encode one part on a worker; None if it has no rows.

    Privacy
    -------
    Sensitive. Errors are returned, because Dask would log a task that fails.
    """
    try:
        reader = part.opened()
        refuse_misfit(reader, schema)
        rows = encoded_rows(reader, schema, lambda seen: None)
        problem = (
            _of_numbers(rows, schema, loss) if isinstance(rows, RegressionRows) else _of_classes(rows, schema, loss)
        )
        return problem if problem.n_rows else None
    except Exception as error:  # of whatever kind: it is raised where the fit was called
        return Refused(error)


def _of_classes(rows: TrainingRows, schema: Schema, loss: Loss) -> Problem:
    return Problem(rows.data, class_targets(rows.places.astype(np.intp), len(schema.target.classes)), loss)


def _of_numbers(rows: RegressionRows, schema: Schema, loss: Loss) -> Problem:
    assert isinstance(schema.target, NumericTarget)
    read = NumberReader(Bounds.parse((schema.target.lower, schema.target.upper), 1), "the target")
    data = BoundedData.from_matrix(rows.X, Bounds.parse((-1, 1), len(schema.features)))
    return Problem(data, read(rows.y, len(rows.y)), loss)
