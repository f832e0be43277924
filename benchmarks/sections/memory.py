"""Peak memory of a fit, each in a process of its own, beside the size of its input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from common import Check, Progress, Results, Setting, number, table

from hardzero.datasets import available, origins

TITLE = "Memory"
ESTIMATORS = {"lasso": "Private LASSO", "select-then-refit": "select-then-refit"}
STEPS = 20  # few, to save time; more steps are taken to need no more memory
SCRIPT = Path(__file__).parent.parent / "memory_fit.py"
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_TRIM_THRESHOLD_": "262144"}
"""Give freed arrays back at once: else what making the data left behind is used again, and hides what a fit takes."""


def measure(setting: Setting, progress: Progress) -> Results:
    results: Results = {"data": {}}
    names = [*setting.lookalikes, *(name for name in setting.real if name not in setting.lookalikes)]
    for name in names:
        if name in origins() and name not in available():
            progress.skip(name, "its file is not here; set HARDZERO_DATA to the folder that has it")
            continue
        results["data"][name] = entry = {}
        for estimator, label in ESTIMATORS.items():
            command = [sys.executable, SCRIPT, name, str(setting.shrink), estimator, str(STEPS)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env={**os.environ, **ALLOCATOR}
            )
            if done.returncode:
                why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended by {done.returncode}"
                progress.skip(f"{name}, {label}", why)
                continue
            entry[estimator] = found = json.loads(done.stdout)
            grown = found["peak"] - found["before"]
            progress.say(
                f"{name}: {estimator} {grown / 1e6:,.0f} MB beyond {found['input_bytes'] / 1e6:,.0f} MB of input"
            )
    return results


def checks(results: Results) -> list[Check]:
    """No array of rows times features is made from sparse data: the fit stays far below its size."""
    found = []
    for name, entry in results["data"].items():
        for estimator, label in ESTIMATORS.items():
            one = entry.get(estimator)
            if one and one["sparse"] and one["rows"] * one["features"] * 8 > 20 * one["input_bytes"]:
                grown, dense = one["peak"] - one["before"], one["rows"] * one["features"] * 8
                text = f"{name}, {label}: memory of the fit / a dense copy"
                found.append(Check(text, "≤ 0.5×", f"{max(grown, 0) / dense:.2g}×", grown <= dense / 2))
    return found


def page(results: Results) -> str:
    rows = []
    for name, entry in results["data"].items():
        if not entry:
            continue
        one = next(iter(entry.values()))
        cells = []
        for estimator in ESTIMATORS:
            found = entry.get(estimator)
            grown = found and max(found["peak"] - found["before"], 0)
            cells.append(f"{_size(grown)} ({number(grown / found['input_bytes'])}×)" if found else "–")
        dense = one["rows"] * one["features"] * 8
        rows.append(
            [
                name,
                _size(one["input_bytes"]),
                *cells,
                _size(max(found["peak"] for found in entry.values())),
                _size(dense),
            ]
        )
    head = ["data", "input", *ESTIMATORS.values(), "peak of the process", "as a dense array"]
    return f"""\
Each fit runs in a process of its own. *Input* is what the caller holds: a dense array of doubles, or CSR with
values of 8 and indices of 4 bytes. The estimators' columns say by how much the fit grows the process beyond what it
held before, at its peak; in brackets as a multiple of the input. The last column is what a dense copy would take.

{table(head, rows)}

`benchmarks/bench_memory.py` measures the command `hardzero fit` on a Parquet file that need not fit into memory."""


def _size(count: float) -> str:
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= factor:
            return f"{count / factor:,.3g} {unit}" if count < 100 * factor else f"{count / factor:,.0f} {unit}"
    return f"{count / 1e3:,.0f} kB"
