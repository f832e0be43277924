"""How near do private bounds come to the truth, and what does a model lose? Zero-out neighbours, δ = n^-1.5.

near    released bounds of all numeric columns of a table together, at ε = 0.05, 0.1 and 0.5 and n = 1,000 to 30,000
worth   models at ε = 1 with bounds that are known, released (on top of ε = 1), far too wide, or read off the records

Data: `adult`, n rows of UCI Adult, whose five numeric columns have no range (models use its categories as well); and
`skewed`, five made-up columns: lognormal incomes, Pareto claims, gains that are mostly zero, a balance on both sides
of zero, and concentrations of about 0.0001. Schemas know nothing of their range.

Run:    HARDZERO_DATA=… .venv/bin/python experiments/bounds.py near worth
Tables: .venv/bin/python experiments/bounds_report.py [--print]

Rows go to experiments/results/bounds-<study>.jsonl. What is there is not run again without --renew.
"""

from __future__ import annotations

import argparse
import dataclasses
from functools import lru_cache, partial
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from options import add_studies
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from hardzero import PrivateBounds, Schema, SparsePrivateLogisticRegression, datasets, load_schema, private_bounds
from hardzero.readers import open_table
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner
from hardzero.schema import Numeric, Target
from hardzero.schema.columns import Unbounded
from hardzero.schema.encoder import SchemaEncoder

RESULTS = Path(__file__).parent / "results"
TABLES, SIZES, EPSILONS, SEEDS = ("adult", "skewed"), (1_000, 3_000, 10_000, 30_000), (0.05, 0.1, 0.5), 10
TAIL = 0.01
FIT_EPSILON = 1.0
RELEASED, KNOWN, WIDE, EXTREMES = "released", "known", "a million", "smallest and largest"
WIDE_BOUNDS = (-1e6, 1e6)
Row = dict[str, Any]


@lru_cache(maxsize=4)
def whole_table(name: str, part: str) -> pa.Table:
    """All rows of Adult's training or test file, or made-up ones."""
    if name == "skewed":
        return made_up(60_000, 1 if part == "train" else 2)
    file = {"train": "adult.csv.xz", "test": "adult.test.csv.xz"}[part]
    found = next(folder / file for folder in datasets.files.folders() if folder and (folder / file).is_file())
    return pa.Table.from_batches(open_table(found).batches())


def made_up(n_rows: int, seed: int) -> pa.Table:
    """Skewed columns, and classes whose log odds are lines of what each column is within its known bounds."""
    rng = np.random.default_rng(seed)
    columns: dict[str, NDArray[Any]] = {
        "income": rng.lognormal(10.4, 0.8, n_rows).round(),
        "claims": (100 * rng.pareto(1.5, n_rows)).round(2),
        "gains": np.where(rng.random(n_rows) < 0.08, rng.lognormal(8.8, 0.7, n_rows), 0).round(),
        "balance": (2_000 * rng.standard_t(3, n_rows)).round(2),
        "concentration": rng.exponential(1e-4, n_rows),
    }
    signs = {"income": 2.0, "claims": -2.0, "gains": 3.0, "balance": 2.0, "concentration": -1.5}
    margin = -0.3 + sum(signs[name] * _within(values) for name, values in columns.items())
    labels = np.where(rng.random(n_rows) < expit(margin), "yes", "no")
    return pa.table({**columns, "outcome": labels})


def _within(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    return (np.clip(values, low, high) - low) / (high - low)


@lru_cache(maxsize=2)
def known_schema(name: str) -> Schema:
    """The schema with bounds that are known: Adult's own, or the quantiles that the made-up columns really have."""
    if name == "adult":
        with resources.as_file(resources.files("hardzero.datasets") / "samples" / "adult.toml") as path:
            return load_schema(path)
    table = whole_table(name, "train")
    numbers = tuple(
        Numeric(column, *np.quantile(table[column].to_numpy(), [TAIL, 1 - TAIL]).tolist())
        for column in table.column_names[:-1]
    )
    return Schema(numbers, Target("outcome", ("no", "yes"), "yes"), "zero")


def unbounded(schema: Schema) -> Schema:
    """The same schema, of which nobody knows a range."""
    columns = (Unbounded(c.name) if isinstance(c, Numeric) else c for c in schema.columns)
    return dataclasses.replace(schema, columns=tuple(columns))


def numeric_names(schema: Schema) -> list[str]:
    return [column.name for column in schema.used if isinstance(column, Numeric)]


def drawn(trial: Trial) -> pa.Table:
    """The rows of a trial."""
    name, n_rows = trial.data.split(" n=")
    table = whole_table(name, "train")
    rows = np.random.default_rng(trial.seed).permutation(table.num_rows)[: int(n_rows)]
    return table.take(np.sort(rows))


def bounds_of(trial: Trial, table: pa.Table, epsilon: float) -> PrivateBounds | None:
    """Released bounds, or None where so few rows are refused in advance."""
    schema = unbounded(known_schema(trial.data.split(" ")[0]))
    try:
        return private_bounds(table, schema, epsilon=epsilon, tail=TAIL, random_state=trial.seed)
    except ValueError:
        return None


def near(trial: Trial) -> Row:
    """How much of each column lies beyond its bounds, and how wide they are beside the true quantiles."""
    table = drawn(trial)
    found = bounds_of(trial, table, trial.epsilon)
    row: Row = {"refused": int(found is None)}
    for name, told in ({} if found is None else found.ranges).items():
        values = table[name].to_numpy().astype(float)
        row[f"{name} told"] = int(told is not None)
        if told is not None:
            low, high = np.quantile(values, [TAIL, 1 - TAIL])
            row[f"{name} below"] = 100 * np.mean(values < told.lower)
            row[f"{name} above"] = 100 * np.mean(values > told.upper)
            row[f"{name} width"] = (told.upper - told.lower) / max(high - low, 1e-12)
    return {name: _short(value) for name, value in row.items()}


def worth(trial: Trial) -> Row:
    """Accuracy and AUC on test rows of a model with such bounds."""
    name = trial.data.split(" ")[0]
    table, schema = drawn(trial), known_schema(name)
    if trial.method == RELEASED:
        found = bounds_of(trial, table, trial.epsilon)
        if found is None or found.untold:
            return {"told": 0}
        schema = found.schema
    elif trial.method != KNOWN:
        schema = unbounded(schema).with_ranges(
            {column: _stated(trial.method, table[column].to_numpy()) for column in numeric_names(schema)}
        )
    encoder = SchemaEncoder(schema)
    train, test = encoder.encode(table), encoder.encode(whole_table(name, "test"))
    model = SparsePrivateLogisticRegression(
        FIT_EPSILON, bounds=encoder.bounds, classes=list(schema.target.classes), variables=encoder.variables,
        random_state=trial.seed,
    ).fit(train.X, train.y)  # fmt: skip
    positive = test.y == schema.target.positive
    scores = model.predict_proba(test.X)[:, list(model.classes_).index(schema.target.positive)]
    right = np.mean(model.predict(test.X) == test.y)
    row = {"accuracy": 100 * right, "auc": 100 * roc_auc_score(positive, scores)}
    return {"told": 1, **{key: _short(value) for key, value in row.items()}}


def _stated(method: str, values: NDArray[Any]) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if method == EXTREMES else WIDE_BOUNDS


def _short(value: Any) -> Any:
    return int(value) if isinstance(value, int | np.integer) else float(f"{value:.5g}")


def trials(study: str, seeds: int) -> list[Trial]:
    """All trials of a study; bounds that are not released have no ε."""
    cells = [f"{table} n={size}" for table, size in product(TABLES, SIZES)]
    others = [] if study == "near" else [(method, 0.0) for method in (KNOWN, WIDE, EXTREMES)]
    methods = [*((RELEASED, epsilon) for epsilon in EPSILONS), *others]
    return [
        Trial(data, method, epsilon, "zero-out", seed)
        for data, (method, epsilon), seed in product(cells, methods, range(seeds))
    ]


def work(study: str, trial: Trial) -> Row:
    return {"near": near, "worth": worth}[study](trial)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_studies(parser, ["near", "worth"])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            path = arguments.results / f"bounds-{study}.jsonl"
            runner.run(trials(study, arguments.seeds), partial(work, study), path, study)


if __name__ == "__main__":
    main()
