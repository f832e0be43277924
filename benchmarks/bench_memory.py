"""Peak memory of ``hardzero fit`` on a Parquet table, beside the size of the same numbers as one array of doubles.

Run: .venv/bin/python benchmarks/bench_memory.py --rows 10000000 --columns 50
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 100_000
INFORMATIVE = 5
# Peak memory of the child only: this process has held batches of its own.
MEASURED = """
import resource, runpy, sys
sys.argv = ["hardzero", *sys.argv[1:]]
try:
    runpy.run_module("hardzero", run_name="__main__")
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def write_table(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(columns)]
    weights = np.where(np.arange(columns) < INFORMATIVE, 2.0, 0.0)
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            X = rng.uniform(-1, 1, size=(min(BATCH, rows - start), columns)).astype(np.float32)
            y = np.where(X @ weights + rng.logistic(size=len(X)) > 0, "yes", "no")
            writer.write_table(pa.table([*X.T, y], schema=schema))


def schema_text(columns: int) -> str:
    head = '[target]\nname = "y"\nclasses = ["no", "yes"]\npositive = "yes"\n'
    return head + "".join(f'[columns.x{j}]\ntype = "numeric"\nlower = -1\nupper = 1\n' for j in range(columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, schema, model = (Path(folder) / name for name in ("table.parquet", "table.toml", "model.json"))
        write_table(table, arguments.rows, arguments.columns)
        schema.write_text(schema_text(arguments.columns))
        start = time.perf_counter()
        command = ["fit", str(table), "--schema", str(schema), "--output", str(model), "--json"]
        done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode:
            sys.exit(done.stderr)
        peak = int(done.stderr.split()[-1]) * 1024
        doubles = arguments.rows * arguments.columns * 8
        print(f"{arguments.rows:,} rows x {arguments.columns} columns: {seconds:.0f} s, peak {peak / 1e9:.2f} GB")
        file = table.stat().st_size
        print(f"the numbers alone, as doubles: {doubles / 1e9:.2f} GB; the Parquet file: {file / 1e9:.2f} GB")
        print(f"kept: {', '.join(json.loads(done.stdout)['kept'])}")


if __name__ == "__main__":
    main()
