"""Raw tables for the command line: a survey of numbers and categories, a file of numbers alone, and their schemas.

Both are synthetic and follow from a seed. They have the shape of real tables, not their content.

Run: .venv/bin/python benchmarks/raw_tables.py survey FOLDER --rows 200000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

AT_ONCE = 100_000
"""Rows that are made at a time: a file may be larger than memory."""

NUMBERS = 16
CATEGORIES = (2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30, 40, 60, 80, 128)
"""How many values each category of a survey lists; with one more each, for others, and the numbers: 535 features."""


@dataclass(frozen=True)
class Files:
    """Where a table and its schema are."""

    csv: Path
    parquet: Path
    schema: Path


def write_survey(folder: Path, rows: int, seed: int = 0) -> Files:
    """Write 40 columns, which become 535 features, and a target, as CSV and as Parquet.

    The j-th value of a category is drawn with a probability proportional to 1/j, one cell in a hundred is no listed
    value, and a fifth of the numbers are zero.
    """
    files = Files(folder / "survey.csv", folder / "survey.parquet", folder / "survey.toml")
    files.schema.write_text(_survey_schema())
    batches = _survey(rows, np.random.default_rng(seed))
    first = next(batches)
    with pq.ParquetWriter(files.parquet, first.schema) as parquet, pa.csv.CSVWriter(files.csv, first.schema) as text:
        for batch in (first, *batches):
            parquet.write_table(batch)
            text.write_table(batch)
    return files


def _survey(rows: int, rng: np.random.Generator) -> Iterator[Any]:
    effects = [rng.normal(size=size + 1) * (rng.random() < 0.4) for size in CATEGORIES]
    slopes = np.where(np.arange(NUMBERS) < NUMBERS // 3, 1.5, 0.0)
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        numbers = np.round(rng.uniform(0, 100, size=(NUMBERS, count)), 1) * (rng.random((NUMBERS, count)) < 0.8)
        score = slopes @ (numbers / 100) - 2.5 + rng.logistic(size=count)
        columns: dict[str, Any] = {f"number{j}": line for j, line in enumerate(numbers)}
        for j, (size, effect) in enumerate(zip(CATEGORIES, effects, strict=True)):
            chances = np.append(1 / np.arange(1, size + 1), 0)
            chances[-1] = chances.sum() / 99
            drawn = rng.choice(size + 1, size=count, p=chances / chances.sum())
            score += effect[drawn]
            names = [f"value {value} of {j}" for value in range(size)] + ["unlisted"]
            columns[f"category{j}"] = pa.array(names).take(pa.array(drawn))
        yield pa.table({**columns, "answer": np.where(score > 0, "yes", "no")})


def _survey_schema() -> str:
    text = '[target]\nname = "answer"\nclasses = ["no", "yes"]\npositive = "yes"\n'
    for j in range(NUMBERS):
        text += f'[columns.number{j}]\ntype = "numeric"\nlower = 0\nupper = 100\n'
    for j, size in enumerate(CATEGORIES):
        values = ", ".join(f'"value {value} of {j}"' for value in range(size))
        text += f'[columns.category{j}]\ntype = "categorical"\nvalues = [{values}]\n'
    return text


INFORMATIVE = 5


def write_numbers(table: Path, schema: Path, rows: int, columns: int, seed: int = 0) -> None:
    """Write a Parquet file of numbers in [-1, 1] in single precision, a target of two classes, and their schema."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(columns)]
    weights = np.where(np.arange(columns) < INFORMATIVE, 2.0, 0.0)
    types = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.string())])
    with pq.ParquetWriter(table, types) as writer:
        for start in range(0, rows, AT_ONCE):
            X = rng.uniform(-1, 1, size=(min(AT_ONCE, rows - start), columns)).astype(np.float32)
            y = np.where(X @ weights + rng.logistic(size=len(X)) > 0, "yes", "no")
            writer.write_table(pa.table([*X.T, y], schema=types))
    head = '[target]\nname = "y"\nclasses = ["no", "yes"]\npositive = "yes"\n'
    parts = (f'[columns.x{j}]\ntype = "numeric"\nlower = -1\nupper = 1\n' for j in range(columns))
    schema.write_text(head + "".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("survey", "numbers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50, help="of numbers")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.kind == "survey":
        write_survey(arguments.folder, arguments.rows)
    else:
        folder = arguments.folder
        write_numbers(folder / "numbers.parquet", folder / "numbers.toml", arguments.rows, arguments.columns)


if __name__ == "__main__":
    main()
