"""From a folder of Parquet files to a model and a report, by way of a Dask cluster on this machine.

Run: .venv/bin/python examples/cluster.py FOLDER, with hardzero[cli,io,report,dask] installed. For a real cluster,
leave LocalCluster out and put the address of its scheduler in place of ``cluster.scheduler_address``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
from distributed import LocalCluster

from hardzero.cli.actions.demo import copy_sample

FILES = 4


def main(folder: Path) -> None:
    """Make the folder, start workers, fit."""
    folder.mkdir(parents=True)
    copy_sample(folder)  # the bundled sample of UCI Adult and its schema
    table = pyarrow.csv.read_csv(folder / "adult.csv")
    rows = -(-len(table) // FILES)
    for i in range(FILES):
        pyarrow.parquet.write_table(table.slice(i * rows, rows), folder / f"part-{i}.parquet")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        command = [sys.executable, "-m", "hardzero", "fit", str(folder / "part-*.parquet"), "--epsilon", "1"]
        command += ["--schema", str(folder / "adult.toml"), "--scheduler", cluster.scheduler_address]
        command += ["--output", str(folder / "model.json"), "--report", str(folder / "report.html")]
        subprocess.run(command, check=True)


if __name__ == "__main__":  # workers are processes of their own, which read this file too
    main(Path(sys.argv[1]))
