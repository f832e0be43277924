"""The same steps on one thread, on two, and on a Dask cluster of this machine; and a file by way of two workers."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Check, Progress, Results, Setting, at_least, at_most, table, time_text
from lookalikes import csr
from raw_tables import write_numbers
from timing import fastest

from hardzero import kernels
from hardzero.backends.cluster import scattered
from hardzero.data.bounded import BoundedData, Bounds
from hardzero.data.stacked import StackedData
from hardzero.optim.curvature import weighted_products
from hardzero.optim.descent import Pace, descent_rows, prepare_descent, weighted_sums
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic
from hardzero.optim.problem import AnyProblem, Problem, ScatteredProblem
from hardzero.optim.standardise import Standard
from hardzero.privacy.mechanisms import Sensitive, gaussian
from hardzero.privacy.randomness import SystemSource

TITLE = "Rows on a cluster"
ROWS, FEATURES, NONZEROS = 10_000_000, 1_000, 5
FEW_ROWS, WIDE = 1_000, 1_000_000
CURVED_ROWS, CURVED = 16_384, 2_000
FILE_ROWS = 10_000_000


@dataclass(frozen=True)
class Size:
    """Rows in all parts together, features, and parts."""

    rows: int
    features: int
    parts: int = 8


def part(size: Size, seed: int) -> Problem:
    """Sparse rows of indicators with labels, made where they are needed."""
    rng = np.random.default_rng(seed)
    rows, block = size.rows // size.parts, size.features // NONZEROS
    chosen = rng.integers(0, block, size=(rows, NONZEROS)) + block * np.arange(NONZEROS)
    X = csr(np.ones(rows * NONZEROS), chosen.ravel(), np.arange(rows + 1) * NONZEROS, (rows, size.features))
    targets = rng.integers(0, 2, size=(rows, 1)) * 1.0
    return Problem(BoundedData.from_matrix(X, Bounds.parse((-1, 1), size.features)), targets, Logistic())


def step(problem: AnyProblem) -> Any:
    """What a step of the main method asks of the rows, at weights that do not change."""
    mask = np.ones((1, problem.n_features), dtype=bool)
    ones = np.ones(problem.n_features)
    standard = Standard(0.005 * ones, 0.07 * ones, 0.005 * ones, 0.0, np.array([0.5]))
    plan = prepare_descent(Logistic(), standard, mask, ROWS, Pace(10, 1.0, 0.5), 1)
    at = Weights(np.random.default_rng(1).normal(size=(1, problem.n_features)) / 40, np.zeros(1))
    rows = problem.rows.then(descent_rows, standard, mask)
    return lambda: weighted_sums(rows, standard, at, plan)


@contextmanager
def workers(count: int, size: Size) -> Iterator[ScatteredProblem]:
    """Rows on so many workers, processes with a thread each."""
    from dask.delayed import delayed  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        Client(cluster, direct_to_workers=True, set_as_default=False) as client,
        scattered([delayed(part, pure=False)(size, seed) for seed in range(size.parts)], client) as kept,
    ):
        yield ScatteredProblem(kept, Logistic(), size.rows, size.features)


@contextmanager
def here(threads: int, size: Size) -> Iterator[AnyProblem]:
    """The same rows in this process."""
    parts = [part(size, seed) for seed in range(size.parts)]
    data = StackedData([one.data.codes for one in parts], np.arange(size.features))
    with kernels.using_threads(threads):
        yield Problem(data, np.concatenate([one.targets for one in parts]), Logistic())


def measure(setting: Setting, progress: Progress) -> Results:
    rows = max(ROWS // setting.shrink, FEW_ROWS)
    results: Results = {
        "rows": rows,
        "many": _timed(Size(rows, FEATURES), 2 * setting.slice, max(setting.rounds, 2), progress),
        "halves": _timed(Size(rows, FEATURES, parts=2), setting.slice, 1, progress),
        "few": _timed(Size(FEW_ROWS, FEATURES), setting.slice, max(setting.rounds, 2), progress),
        "wide": _timed(Size(FEW_ROWS, WIDE, parts=2), setting.slice, 1, progress),
        "noise": _noise(setting.slice),
        "curvature": _curvature(max(CURVED_ROWS // setting.shrink, 64), setting.slice),
    }
    with tempfile.TemporaryDirectory() as folder:
        results["file"] = _file(Path(folder), max(FILE_ROWS // setting.shrink, 1_000), progress)
    return results


def _noise(budget: float) -> float:
    """Seconds of the noise of a step with very many features, which is drawn here and not by a worker."""
    sums, source = Sensitive(np.zeros(WIDE, dtype=np.int64)), SystemSource()
    return fastest(lambda: gaussian(sums, 2**30, source), budget)


def _curvature(rows: int, budget: float) -> Results:
    """Seconds of the curvature's pass over some rows with many features, on one thread."""
    problem, ones = part(Size(rows, CURVED, parts=1), 0), np.ones(CURVED)
    standard = Standard(0.005 * ones, 0.07 * ones, 0.005 * ones, 0.0, np.array([0.5]))
    at = Weights(np.zeros((1, CURVED)), np.zeros(1))
    taken = fastest(lambda: weighted_products(problem, standard, at, 30.0, 100.0, 2**20), budget)
    return {"rows": rows, "features": CURVED, "seconds": taken}


def _timed(size: Size, budget: float, rounds: int, progress: Progress) -> dict[str, float]:
    """Seconds of the fastest step of each way within a budget, in turn: others may use the machine meanwhile.

    Each way has the machine for itself: two workers beside two others would share processors, and the rows of all
    ways together would not fit into memory.
    """
    ways = {
        "one thread": lambda: here(1, size),
        "two threads": lambda: here(2, size),
        "one worker": lambda: workers(1, size),
        "two workers": lambda: workers(2, size),
    }
    found = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            with way() as problem:
                found[name] = min(found[name], fastest(step(problem), budget))
    progress.say(
        f"{size.rows:,} rows, {size.features:,} features: "
        + ", ".join(f"{name} {time_text(taken)}" for name, taken in found.items())
    )
    return found


# --- A file ---------------------------------------------------------------------------------------------------------


def _file(folder: Path, rows: int, progress: Progress) -> Results:
    """`hardzero fit` of a Parquet file here and by two workers, each with seconds and the memory at its peak."""
    path, schema = folder / "numbers.parquet", folder / "schema.toml"
    write_numbers(path, schema, rows, 50)
    found: Results = {"rows": rows}
    with started_cluster(folder) as (address, processes):
        for name, options in {"here": (), "two workers": ("--scheduler", address)}.items():
            start = time.perf_counter()
            subprocess.run(
                [
                    *(sys.executable, "-m", "hardzero", "fit", str(path), "--schema", str(schema), "--force"),
                    *("--output", str(folder / f"{name}.json"), "--seed", "1", *options),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            found[name] = {
                "seconds": time.perf_counter() - start,
                "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 if name == "here" else None,
            }
        found["two workers"]["peak"] = [peak_memory(process) for process in processes]
        found["same"] = (folder / "here.json").read_bytes() == (folder / "two workers.json").read_bytes()
    progress.say(
        f"a file of {rows:,} rows: here {found['here']['seconds']:.0f} s, "
        f"two workers {found['two workers']['seconds']:.0f} s"
    )
    return found


def peak_memory(process: int) -> int:
    """Bytes that a process had at its peak, its own files and libraries with them."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise OSError("the system does not tell the peak of a process's memory")


@contextmanager
def started_cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """A scheduler and two workers, processes of their own with a thread each: address, and the workers' numbers."""
    from distributed import Client  # noqa: PLC0415

    address = folder / "scheduler.json"
    usual = ("--scheduler-file", str(address), "--no-dashboard")
    with ExitStack() as stack:
        for program, options in (
            ("scheduler", ("--host", "127.0.0.1", "--port", "0")),
            *[("worker", ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder)))] * 2,
        ):
            command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *options, *usual]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            stack.callback(process.kill)
        with Client(scheduler_file=str(address), timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            yield client.scheduler.address, list(client.run(os.getpid).values())


# --- Results --------------------------------------------------------------------------------------------------------


def checks(results: Results) -> list[Check]:
    many, few, file = results["many"], results["few"], results["file"]

    def beyond(way: str, taken: dict[str, float]) -> float:
        return 1e3 * (taken[way] - taken["one thread"])

    return [
        at_most("few rows: a step on one worker beyond one on one thread", 6, beyond("one worker", few), " ms"),
        at_most("few rows: a step on two workers beyond that", 6, beyond("two workers", few), " ms"),
        at_most("many rows in 8 parts: the same as the first", 6, beyond("one worker", many), " ms"),
        at_most("many rows in 2 parts: the same", 6, beyond("one worker", results["halves"]), " ms"),
        at_least("many rows: one worker / two", 1.6, many["one worker"] / many["two workers"]),
        at_least("many rows: one thread / two", 1.6, many["one thread"] / many["two threads"]),
        at_least("a file by two workers: models that are the same", 1, int(file["same"]), " of 1"),
    ]


def page(results: Results) -> str:
    ways = list(results["many"])
    steps = [
        [rows, f"{features:,}", *(time_text(taken[way]) for way in ways)]
        for rows, features, taken in (
            (f"{results['rows']:,}", FEATURES, results["many"]),
            (f"{results['rows']:,}, in two parts", FEATURES, results["halves"]),
            (f"{FEW_ROWS:,}", FEATURES, results["few"]),
            (f"{FEW_ROWS:,}", WIDE, results["wide"]),
        )
    ]
    file, curved = results["file"], results["curvature"]
    peaks = file["two workers"]["peak"]
    files = [
        ["here", f"{file['here']['seconds']:.0f} s", f"{file['here']['peak'] / 1e9:.1f} GB"],
        [
            "two workers",
            f"{file['two workers']['seconds']:.0f} s",
            " and ".join(f"{peak / 1e9:.1f}" for peak in peaks) + " GB",
        ],
    ]
    return f"""\
What a step of the main method asks of the rows, with features of which each row has {NONZEROS}, as sums come
back: in this process, and on Dask workers of the same machine, processes with one thread each. The fastest of many
steps, every way alone on the machine, in turn. With few rows nothing is left but the way there and back. Rows are in
eight parts where nothing else is said; each part is summed by itself.

{table(["rows", "features", *ways], steps)}

The curvature is summed once in a fit, over rows written out in full: {curved["rows"]:,} rows with
{curved["features"]:,} features take one thread {time_text(curved["seconds"])}.

`hardzero fit` of a Parquet file of {file["rows"]:,} rows and 50 numbers, with 20 row groups or so: from the start of
the command to its end, and memory at its peak, of the command or of each worker. The model files are
{"the same, byte for byte" if file["same"] else "different"}. One pass of scikit-learn's SGDClassifier over such a
file stands under *Many rows*.

{table(["by", "time", "memory"], files)}"""
