"""One way to fit a raw table, in a process of its own; prints seconds and peak memory as JSON.

Run: .venv/bin/python benchmarks/raw_fit.py {hardzero,liblinear,sgd} TABLE SCHEMA
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hardzero.readers import open_table, read_encoded
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.file import load_schema


def hardzero_fit(table: Path, schema_path: Path) -> dict[str, Any]:
    """What `hardzero fit` does, its two parts timed: reading with encoding, and the fit."""
    from hardzero.cli.actions.fit import fit_rows, read_rows  # noqa: PLC0415
    from hardzero.cli.actions.methods import build_estimator  # noqa: PLC0415

    schema = load_schema(schema_path)
    privacy = {"epsilon": 1.0, "delta": None, "neighbours": "zero-out", "n_rows": None, "random_state": None}
    estimator = build_estimator("select-refit", schema, privacy)
    start = time.perf_counter()
    rows = read_rows(open_table(table), schema, lambda _: None)
    read = time.perf_counter() - start
    fit_rows(rows, schema, estimator)
    return {"read": read, "fit": time.perf_counter() - start - read}


def liblinear_fit(table: Path, schema_path: Path) -> dict[str, Any]:
    """Read the same encoded rows as one CSR matrix, and fit scikit-learn's L1 solver to them; not private."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    start = time.perf_counter()
    X, y = read_encoded(open_table(table), SchemaEncoder(load_schema(schema_path)))
    read = time.perf_counter() - start
    LogisticRegression(penalty="l1", solver="liblinear", C=1.0).fit(X, y)
    return {"read": read, "fit": time.perf_counter() - start - read}


def sgd_fit(table: Path, schema_path: Path) -> dict[str, Any]:
    """One pass of stochastic gradients over the file, a batch at a time; not private."""
    import pyarrow.parquet as pq  # noqa: PLC0415
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415

    schema = load_schema(schema_path)
    names, target = [column.name for column in schema.used], schema.target.name
    model = SGDClassifier(loss="log_loss", random_state=0)
    start, fitting = time.perf_counter(), 0.0
    file = pq.ParquetFile(table, pre_buffer=False)
    for batch in file.iter_batches(65_536, columns=[*names, target], use_threads=False):
        X = np.column_stack([batch[name].to_numpy() for name in names])
        y = np.asarray(batch[target].to_pylist())
        begun = time.perf_counter()
        model.partial_fit(X, y, classes=list(schema.target.classes))
        fitting += time.perf_counter() - begun
    return {"read": time.perf_counter() - start - fitting, "fit": fitting}


WAYS = {"hardzero": hardzero_fit, "liblinear": liblinear_fit, "sgd": sgd_fit}


def main() -> None:
    way, table, schema = sys.argv[1:]
    found = WAYS[way](Path(table), Path(schema))
    found |= {"processor": time.process_time(), "peak": _peak()}
    print(json.dumps(found))


def _peak() -> int:
    """Peak memory in bytes. What `getrusage` says would include what the process that started this one held."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(
            next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
