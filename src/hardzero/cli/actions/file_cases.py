"""Neighbouring files, through the command `fit`: readers, types of columns and encoder are inside the audit."""

from __future__ import annotations

import io
import os
import zlib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...audit import Case, Claim, ExactCase, released_numbers
from ...model import FittedModel
from ...privacy.budget import Budget, Neighbours
from ...privacy.randomness import FloatArray
from ...readers import open_table
from ...readers.check import check_table
from ...schema.columns import Categorical, Numeric, Schema, Target
from ...schema.encoder import SchemaEncoder
from ...schema.file import dumps, load_schema

_EPSILON, _DELTA = 8.0, 1e-5
_OTHERS = 30
_HEADER = "age,ward,outcome\n"
_USUAL = "100,a,good\n"
_SCHEMA = Schema(
    (Numeric("age", 0, 100), Categorical("ward", ("a", "b"))), Target("outcome", ("good", "bad"), "bad"), "zero"
)
ODD_RECORDS = {
    "plain": "100,a,bad\n",
    "beyond-bounds": "1e300,a,bad\n",
    "text-for-a-number": "unknown,a,bad\n",
    "new-category": "100,somewhere else,bad\n",
    "empty-cells": ",a,bad\n",
    "quoted": '"100","a","bad"\n',
    "quoted-line-end": '100,"a\nb",bad\n',
    "many-digits": f"{'9' * 400},a,bad\n",
    "not-ascii": "１００,á\u200b,bad\n",
}
"""Records that a reader may stumble over; each is the one row more of its file."""
_QUICK = ("plain", "text-for-a-number")
"""Those whose fits a quick audit makes as well; it reads all of them."""


@dataclass(frozen=True)
class Files:
    """Where a case finds its files; models go beside them."""

    folder: Path
    record: str
    method: str = "private-lasso"
    options: tuple[str, ...] = ("n_iter=3",)

    @property
    def schema(self) -> Path:
        """The schema that all tables share."""
        return self.folder / "people.toml"

    def table(self, there: bool) -> Path:
        """Return the table without the record, or with it."""
        return self.folder / (f"{self.record}.csv" if there else "people.csv")


def file_cases(folder: Path) -> list[Case | ExactCase]:
    """Write neighbouring files into a folder and return the cases that read them.

    Privacy
    -------
    Data-independent: all records are made up.
    """
    shared = _HEADER + _OTHERS * _USUAL
    (folder / "people.toml").write_text(dumps(_SCHEMA), encoding="utf-8")
    (folder / "people.csv").write_text(shared, encoding="utf-8")
    for name, record in ODD_RECORDS.items():
        (folder / f"{name}.csv").write_text(shared + record, encoding="utf-8")
    refit = Files(folder, "many-digits", "select-refit", ())
    return [
        *(_reading_case(Files(folder, record)) for record in ODD_RECORDS),
        *(_fit_case(Files(folder, record), f"file-{record}") for record in ODD_RECORDS),
        _fit_case(refit, "file-select-refit"),
    ]


# --- What a file is read as ---------------------------------------------------------------------------------------


def _reading_case(files: Files) -> ExactCase:
    about = f"types and codes of {_OTHERS} rows, whether or not a row follows them"
    return ExactCase(f"read-{files.record}", about, partial(reading_difference, files))


def reading_difference(files: Files) -> str:
    """Return what a row more changes about how the other rows are read; nothing if nothing changes.

    Privacy
    -------
    Data-independent: the files are made up.
    """
    without, having = (_reading(files, there) for there in (False, True))
    return "; ".join(f"{what} differ" for what, value in without.items() if not np.array_equal(value, having[what]))


def _reading(files: Files, there: bool) -> dict[str, Any]:
    """What is known of a table and of the rows that both files share."""
    schema = load_schema(files.schema)
    reader = open_table(str(files.table(there)))
    batches = list(reader.batches(1000, [*(column.name for column in schema.used), schema.target.name]))
    encoded = [SchemaEncoder(schema).encode(batch) for batch in batches]
    return {
        "problems": check_table(schema, reader).problems,
        "types": {str(batch.schema) for batch in batches},
        "codes": np.concatenate([part.X.toarray() for part in encoded])[:_OTHERS],
        "classes": np.concatenate([part.places for part in encoded])[:_OTHERS],
    }


# --- What the command makes of it ---------------------------------------------------------------------------------


def _fit_case(files: Files, name: str) -> Case:
    about = f"`hardzero fit` on a file of {_OTHERS} rows, or of one more"
    statement = FittedModel.from_json(fitted_file(files, True, 0).model).privacy
    claim = Claim(Budget(statement.epsilon, statement.delta), statement.events)
    quick = 100 if files.record in _QUICK else 0
    return Case(name, about, claim, (False, True), partial(_run_fit, files=files), 800, quick, "files")


def _run_fit(there: bool, seed: int | None, *, files: Files) -> FloatArray:
    """What the model file says in numbers, how long it is, and what was printed and warned of besides."""
    written = fitted_file(files, there, seed)
    model = FittedModel.from_json(written.model)
    errors = () if model.inference_scaled is None else model.inference_scaled.standard_error
    texts = [len(written.printed), zlib.crc32(written.warned.encode()) % 1000, len(model.features)]
    return np.concatenate([released_numbers(model.coef_scaled, model.intercept_scaled, errors), texts])


class Written(NamedTuple):
    """The model file, what was printed, and warnings."""

    model: str
    printed: str
    warned: str


def fitted_file(files: Files, there: bool, seed: int | None) -> Written:
    """Run the command `fit` in this process.

    Privacy
    -------
    Releases a model of made-up records.
    """
    from ..model import Method, fit  # noqa: PLC0415 - commands import actions
    from ..options import TableOptions, clear_messages  # noqa: PLC0415

    output = files.folder / f"model-{os.getpid()}.json"
    with (
        redirect_stdout(io.StringIO()) as printed,
        redirect_stderr(io.StringIO()) as warned,
        clear_messages() as results,
    ):
        fit(
            files.schema,
            output,
            epsilon=_EPSILON,
            delta=_DELTA,
            neighbours=Neighbours.ADD_REMOVE,
            public_rows=_OTHERS,
            method=Method(files.method),
            option=list(files.options),
            table=TableOptions(str(files.table(there))),
            no_ledger=True,
            seed=seed,
            force=True,
        )
        results.outputs.clear()  # a model of made-up records is nothing to tell of
        results.fitted = False
    return Written(output.read_text(encoding="utf-8"), printed.getvalue(), warned.getvalue())
