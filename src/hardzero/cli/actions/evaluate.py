"""Rows of a table as margins and classes, for a model that has a schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...checks import InputError
from ...data.bounded import FloatArray
from ...data.persons import Persons
from ...estimators._persons import counted_as
from ...evaluation.assess import assessed, charged, margins_of, planned, public_rows, refuse_regression
from ...ledger.ledger import Ledger
from ...model import FittedModel
from ...model.evaluation import Evaluation
from ...privacy.budget import Neighbours
from ...privacy.randomness import IntArray
from ...readers import TableReader
from ...readers.matrix import rows_at_once
from ...schema.columns import Schema
from ...schema.encoder import SchemaEncoder
from ...schema.persons import Register
from .fit import without_rows


@dataclass(frozen=True)
class Judged:
    """Margins and true classes of rows, places being those among the model's classes, and whose rows they are.

    Privacy
    -------
    Sensitive.
    """

    margins: FloatArray
    places: IntArray
    persons: Persons | None = None


def schema_of(model: FittedModel) -> Schema:
    """Return a classifier's schema, or say that there is none.

    Privacy
    -------
    Data-independent.
    """
    refuse_regression(model)
    if model.schema is None:
        raise InputError(
            "the model has no schema, so that its file does not say where the classes are; evaluate it in Python "
            "with hardzero.evaluation.evaluate"
        )
    return model.schema


def order_of(model: FittedModel, schema: Schema) -> IntArray:
    """Return where the schema's classes are among the model's.

    Privacy
    -------
    Data-independent.
    """
    labels = [str(label) for label in model.classes]
    return np.array([labels.index(label) for label in schema.target.classes], dtype=np.int64)


def judged_rows(model: FittedModel, reader: TableReader, heard: Callable[[int], None]) -> Judged:
    """Read a table batch by batch: columns with a nonzero weight, the target, and whose rows they are.

    Privacy
    -------
    Sensitive. What becomes of a row depends on its own record, the schema and the model only.
    """
    schema = schema_of(model)
    columns = [*model.needed, *schema.read]
    if absent := [name for name in columns if name not in reader.names]:
        raise InputError(f"{reader.source} has no column {absent[0]!r}, which the evaluation needs")
    encoder, order = SchemaEncoder(schema), order_of(model, schema)
    margins, places = [np.zeros((0, len(model.coef_scaled)))], [np.zeros(0, dtype=np.int64)]
    register, persons, seen = Register(), list[IntArray](), 0
    for batch in reader.batches(rows_at_once(len(model.features)), columns):
        encoded = encoder.encode(batch, columns=model.needed)
        margins.append(margins_of(model, encoded.X))
        places.append(order[encoded.places])
        if encoded.persons is not None:
            persons.append(register.numbers(encoded.persons))
        seen += batch.num_rows
        heard(seen)
    if not sum(map(len, places)):
        raise InputError(without_rows(reader.source, "evaluate on", schema))
    told = None if schema.person is None else Persons.of_numbers(np.concatenate(persons))
    return Judged(np.concatenate(margins), np.concatenate(places), told)


def evaluated(
    model: FittedModel,
    rows: Judged,
    epsilon: float,
    delta: float | None,
    relation: Neighbours,
    stated_rows: int | None,
    seed: int | None,
    ledger: Ledger | None = None,
) -> Evaluation:
    """Evaluate a model on rows that were read.

    Privacy
    -------
    Releases noisy counts: (ε, δ)-differential privacy for each row, or person. Proof: docs/proofs/evaluation.md.
    """
    counted, unit = counted_as(rows.persons, len(rows.places))
    plan = planned(model, public_rows(relation, stated_rows, counted), epsilon, delta, relation)
    with charged(plan, ledger, seed, unit):
        return assessed(model, rows.margins, rows.places, plan, seed, rows.persons)
