"""Many rows on one machine: raw tables by the command line, steps against rows, threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import Check, Progress, Results, Setting, at_least, at_most, number, table, time_text
from lookalikes import csr
from raw_tables import write_numbers, write_survey
from timing import fastest, no_collection

from hardzero import kernels
from hardzero.data.bounded import RESIDUAL_ONE, BoundedData, Bounds, Table
from hardzero.data.passes import WeighedRows
from hardzero.data.stacked import StackedData

TITLE = "Many rows"
FEATURES = 50
BATCH = 65_536
SURVEY_ROWS, THREADED_ROWS, FILE_ROWS = 200_000, 2_000_000, 10_000_000
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
SCRIPT = Path(__file__).parent.parent / "raw_fit.py"
BEFORE = "HARDZERO_BEFORE"
"""Names the source folder of an older version, which is then measured in turn with this one."""


def measure(setting: Setting, progress: Progress) -> Results:
    shrink = setting.shrink
    results: Results = {"steps": _steps([max(size // shrink, 500) for size in SIZES], setting, progress)}
    results["threads"] = _threads(max(THREADED_ROWS // shrink, 2_000), setting, progress)
    with tempfile.TemporaryDirectory() as folder:
        results["survey"] = _survey(Path(folder), max(SURVEY_ROWS // shrink, 1_000), setting, progress)
        results["file"] = _file(Path(folder), max(FILE_ROWS // shrink, 1_000), progress)
    return results


# --- Steps ----------------------------------------------------------------------------------------------------------


def _numbers(rows: int) -> StackedData:
    """Dense numbers in blocks, as `hardzero fit` holds them."""
    rng = np.random.default_rng(0)
    sizes = (min(BATCH, rows - start) for start in range(0, rows, BATCH))
    batches = (rng.uniform(-1, 1, size=(size, FEATURES)).astype(np.float32) for size in sizes)
    return StackedData.from_batches(batches, Bounds.parse((-1, 1), FEATURES))


def _indicators(rows: int) -> StackedData:
    """Sparse rows in blocks: 200 features, of which each row has the twentieth part."""
    rng = np.random.default_rng(0)
    batches = []
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        chosen = rng.integers(0, 20, size=(size, 10)) + 20 * np.arange(10)
        batches.append(csr(np.ones(size * 10), chosen.ravel(), np.arange(size + 1) * 10, (size, 200)))
    return StackedData.from_batches(batches, Bounds.parse((-1, 1), 200))


def _step(data: Table) -> Any:
    """What one step of the descent asks of the rows: margins, weighted residuals, and their sums."""
    rng = np.random.default_rng(1)
    coef, targets = rng.normal(size=(1, data.n_features)) / 4, rng.integers(0, 2, size=(data.n_rows, 1)) * 1.0
    squares = np.full((data.n_rows, 1), float(data.n_features))
    rows, packed = WeighedRows(np.zeros(1), targets, squares, 1.0, RESIDUAL_ONE), data.packed()
    return lambda: packed.weighted_sums(coef, rows)


def _steps(sizes: list[int], setting: Setting, progress: Progress) -> Results:
    found = []
    for rows in sizes:
        with kernels.using_threads(1):
            taken = fastest(_step(_numbers(rows)), 4 * setting.slice)
        found.append({"rows": rows, "seconds": taken})
        progress.say(f"a step on {rows:,} rows: {time_text(taken)}")
    return {"features": FEATURES, "points": found}


def _line(points: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Seconds at no rows and for each row, of the line nearest to the points, and how far off the farthest is."""
    rows, taken = (np.array([point[key] for point in points], dtype=float) for key in ("rows", "seconds"))
    line = np.linalg.lstsq(np.column_stack([1 / taken, rows / taken]), np.ones(len(rows)), rcond=None)[0]
    return float(line[0]), float(line[1]), float(np.abs((line[0] + line[1] * rows) / taken - 1).max())


def _threads(rows: int, setting: Setting, progress: Progress) -> Results:
    results: Results = {"rows": rows, "data": {}}
    for name, make in (("numbers", _numbers), ("indicators", _indicators)):
        stack = make(rows)
        for storage, data in ((f"{name}, in blocks", stack), (f"{name}, in one piece", _in_one_piece(stack))):
            results["data"][storage] = one = _one_and_two(_step(data), setting.limit / 2)
            gain, shown = _gain(one, "busiest"), _gain(one, "wall")
            progress.say(f"{storage}: two threads {gain:.2f} times as fast, {shown:.2f} by the clock")
    return results


def _one_and_two(step: Any, budget: float) -> Results:
    """The fastest run on one thread and on two, in turn: by the clock, and the processor time of the busiest thread.

    The latter is what a run takes where every thread has a processor of its own, whatever else the machine does.
    """
    found: Results = {kind: {} for kind in ("wall", "busiest")}
    start = time.perf_counter()
    while not found["wall"] or time.perf_counter() - start < budget:
        for count in (1, 2):
            with kernels.using_threads(count), no_collection():
                before = time.perf_counter(), time.thread_time(), time.process_time()
                step()
                wall, here, all_threads = (
                    now - then
                    for now, then in zip(
                        (time.perf_counter(), time.thread_time(), time.process_time()), before, strict=True
                    )
                )
            for kind, taken in (("wall", wall), ("busiest", max(here, all_threads - here))):
                found[kind][str(count)] = min(taken, found[kind].get(str(count), taken))
    return found


def _gain(one: Results, kind: str) -> float:
    return float(one[kind]["1"] / one[kind]["2"])


def _in_one_piece(stack: StackedData) -> BoundedData:
    X = stack.columns()
    return BoundedData.from_matrix(X, Bounds.parse((-1, 1), stack.n_features))


# --- Files ----------------------------------------------------------------------------------------------------------


def _child(*command: Any, source: str | None = None) -> Any:
    environment = os.environ if source is None else {**os.environ, "PYTHONPATH": source}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=True, env=environment
    )
    return time.perf_counter() - start, done.stdout


def _command(table: Path, schema: Path, source: str | None = None) -> float:
    """Seconds of `hardzero fit`, from the start of its process to its end."""
    options = ("--schema", schema, "--output", table.with_suffix(".json"), "--force")
    return float(_child("-m", "hardzero", "fit", table, *options, source=source)[0])


def _survey(folder: Path, rows: int, setting: Setting, progress: Progress) -> Results:
    files = write_survey(folder, rows)
    before = os.environ.get(BEFORE)
    if before is None:
        progress.skip("the version before", f"{BEFORE} does not name its source folder")
    totals: dict[str, list[float]] = {}
    for _ in range(max(setting.rounds // 2, 1)):
        for kind, file in (("CSV", files.csv), ("Parquet", files.parquet)):
            totals.setdefault(kind, []).append(_command(file, files.schema))
            if before is not None:
                totals.setdefault(f"{kind}, before", []).append(_command(file, files.schema, before))
    results: Results = {"rows": rows, "totals": {name: min(taken) for name, taken in totals.items()}}
    for way in ("hardzero", "liblinear"):
        results[way] = json.loads(_child(SCRIPT, way, files.parquet, files.schema)[1])
    shown = ", ".join(f"{name} {time_text(taken)}" for name, taken in results["totals"].items())
    progress.say(f"survey: {shown}; fit {time_text(results['hardzero']['fit'])}, "
                 f"liblinear {time_text(results['liblinear']['fit'])}")  # fmt: skip
    return results


def _file(folder: Path, rows: int, progress: Progress) -> Results:
    parquet, schema = folder / "numbers.parquet", folder / "numbers.toml"
    write_numbers(parquet, schema, rows, FEATURES)
    results: Results = {"rows": rows, "features": FEATURES, "bytes": parquet.stat().st_size}
    for way in ("hardzero", "sgd"):
        results[way] = found = json.loads(_child(SCRIPT, way, parquet, schema)[1])
        progress.say(f"{way} on {rows:,} rows: read {time_text(found['read'])}, fit {time_text(found['fit'])}, "
                     f"peak {found['peak'] / 1e9:.2f} GB")  # fmt: skip
    return results


# --- The page -------------------------------------------------------------------------------------------------------


def checks(results: Results) -> list[Check]:
    survey, file = results["survey"], results["file"]
    found = []
    for kind in ("CSV", "Parquet"):
        before = survey["totals"].get(f"{kind}, before")
        ratio = None if before is None else survey["totals"][kind] / before
        found.append(at_most(f"survey as {kind}, whole command / before", 0.5, ratio))
    found.append(at_most("survey, fit / liblinear", 1, survey["hardzero"]["fit"] / survey["liblinear"]["fit"]))
    found += [
        at_least(f"{name}: one thread / two", 1.6, _gain(one, "busiest"))
        for name, one in results["threads"]["data"].items()
    ]
    found.append(
        at_most("a step against rows: farthest from a line", 15, 100 * _line(results["steps"]["points"])[2], " %")
    )
    beyond = file["hardzero"]["peak"] - 4 * file["rows"] * file["features"]
    return [*found, at_most("file of numbers: peak memory beyond 4 bytes an entry", 1, beyond / 1e9, " GB")]


def page(results: Results) -> str:
    survey, file, threads = results["survey"], results["file"], results["threads"]
    points, (start, slope, farthest) = results["steps"]["points"], _line(results["steps"]["points"])
    step_rows = [
        [f"{point['rows']:,}", time_text(point["seconds"]), time_text(point["seconds"] / point["rows"])]
        for point in points
    ]
    thread_rows = [
        [
            name,
            *(time_text(one["busiest"][count]) for count in ("1", "2")),
            *(f"{number(_gain(one, kind))}×" for kind in ("busiest", "wall")),
        ]
        for name, one in threads["data"].items()
    ]
    totals = [[name, time_text(taken)] for name, taken in survey["totals"].items()]
    fits = [
        [name, time_text(survey[way]["read"]), time_text(survey[way]["fit"]), f"{survey[way]['peak'] / 1e9:.2f} GB"]
        for way, name in (("hardzero", "`hardzero fit`"), ("liblinear", "liblinear, L1, C = 1"))
    ]
    ways = [
        [
            name,
            *(time_text(file[way][part]) for part in ("read", "fit", "processor")),
            f"{file[way]['peak'] / 1e9:.2f} GB",
        ]
        for way, name in (("hardzero", "`hardzero fit`, ε = 1"), ("sgd", "`SGDClassifier.partial_fit`, one pass"))
    ]
    return f"""\
**A raw table.** {survey["rows"]:,} rows of 16 numbers, 24 categories and a target, which become 535 features
(`benchmarks/raw_tables.py`). Seconds from the start of `hardzero fit` to its end, the fastest of some runs in turn;
*before* is the version in the folder that `{BEFORE}` names.

{table(["file", "whole command"], totals)}

The same in two parts, beside one fit of scikit-learn's liblinear to the same encoded rows, which is not private and
has its penalty given:

{table(["Parquet", "reading", "fit", "peak memory"], fits)}

**A file of numbers.** {file["rows"]:,} rows of {file["features"]} numbers in single precision as Parquet,
{file["bytes"] / 1e9:.2f} GB. Stochastic gradients, not private, pass once over the file and hold a batch at a time;
the private fit holds all rows, 4 bytes an entry, and passes over them hundreds of times. That it takes longer is the
price of noise that is added once a pass, over all rows.

{table(["", "reading", "fit", "processor time, all", "peak memory"], ways)}

**Steps against rows.** What one step of the descent asks of all rows ({FEATURES} numbers each): margins, weighted
residuals, their sums; one thread, the fastest of many. The nearest line is {time_text(max(start, 0))} and
{time_text(slope)} a row; no point is farther from it than {100 * farthest:.0f} %.

{table(["rows", "a step", "for each row"], step_rows)}

**Threads.** The same on {threads["rows"]:,} rows: {FEATURES} numbers each, or 10 of 200 indicators. Results are the
same to the last bit. Times are the processor time of the busiest thread, the least of many runs: what a run takes
where every thread has a processor of its own. The last column is by the clock, where others may use the machine.

{table(["data", "one thread", "two threads", "times as fast", "by the clock"], thread_rows)}"""
