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

from raw_tables import write_numbers

# Peak memory of the child only: this process has held batches of its own.
MEASURED = """
import resource, runpy, sys
sys.argv = ["hardzero", *sys.argv[1:]]
try:
    runpy.run_module("hardzero", run_name="__main__")
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, schema, model = (Path(folder) / name for name in ("table.parquet", "table.toml", "model.json"))
        write_numbers(table, schema, arguments.rows, arguments.columns)
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
