"""docs/scaling.md: what a fit on a cluster moves and takes, planned from constants that were measured.

Run: .venv/bin/python benchmarks/report.py, which writes this page too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import table, time_text
from sections.cluster import FEATURES, NONZEROS, WIDE

from hardzero.backends.cluster import FAN_IN
from hardzero.data.bounded import MAX_ROWS
from hardzero.methods.select_refit_plan import plan_select_refit
from hardzero.privacy.budget import Budget, Neighbours

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
ROWS, COLUMNS, FILLED = 10**9, 10**6, 50
"""What is planned for: rows, features, and how many of these a row has."""
WORKERS, THREADS = (16, 64, 256), 8
_ENCODED, _PACKED = 8, 2.5
"""Bytes of a nonzero entry as encoded, and beside that while a descent runs (lists of rows in `data/packed.py`)."""
_WHOLE = 8
"""Bytes of a weight, and of a sum."""


@dataclass(frozen=True)
class Constants:
    """Seconds for each nonzero entry on one thread, of the way there and back, for each byte and each sum's noise.

    And, on one thread, for each entry of a row's part in the curvature.
    """

    entry: float
    way: float
    byte: float
    noise: float
    product: float

    @classmethod
    def measured(cls, cluster: dict[str, Any]) -> Constants:
        """From the section about clusters."""
        way = cluster["few"]["one worker"] - cluster["few"]["one thread"]
        wide = cluster["wide"]["one worker"] - cluster["wide"]["one thread"]
        curved = cluster["curvature"]
        return cls(
            entry=cluster["many"]["one thread"] / (cluster["rows"] * NONZEROS),
            way=way,
            byte=max(wide - way, 0.0) / (2 * _WHOLE * (WIDE - FEATURES)),
            noise=cluster["noise"] / WIDE,
            product=curved["seconds"] / (curved["rows"] * curvature_sums(curved["features"])),
        )


@dataclass(frozen=True)
class Stage:
    """Steps of a descent on so many features."""

    steps: int
    features: int

    @property
    def message(self) -> int:
        """Bytes to a worker, as many as come back: a weight and a sum for each feature."""
        return _WHOLE * self.features

    def entries(self) -> float:
        """Nonzero entries of a row among these features, if all are as frequent as each other."""
        return FILLED * self.features / COLUMNS

    def seconds(self, workers: int, constants: Constants) -> float:
        """A step: rows on all threads of all workers, messages at each level of the tree, noise here."""
        work = ROWS * max(self.entries(), 1.0) * constants.entry / (workers * THREADS)
        moved = levels(workers) * min(workers, FAN_IN) * 2 * self.message * constants.byte
        return work + levels(workers) * constants.way + moved + self.features * constants.noise


def curvature_sums(features: int) -> int:
    """How many sums the curvature is: two symmetric matrices of the features and an intercept."""
    return (features + 1) * (features + 2)


def curvature_seconds(features: int, workers: int, constants: Constants) -> float:
    """Rows on all threads, messages at each level, noise here."""
    sums = curvature_sums(features)
    work = ROWS * sums * constants.product / (workers * THREADS)
    moved = levels(workers) * min(workers, FAN_IN) * _WHOLE * sums * constants.byte
    return work + moved + sums * constants.noise


def levels(workers: int) -> int:
    """How many messages follow one another on the way to the last worker."""
    deep = 1
    while FAN_IN**deep < workers:
        deep += 1
    return deep


def stages() -> list[Stage]:
    """The main method's own plan for a table of this size."""
    plan = plan_select_refit(Budget.asked(1.0, ROWS**-1.5), Neighbours.ZERO_OUT, ROWS, COLUMNS, 1)
    wide = [COLUMNS if plan.releases.screen is None else plan.releases.screen.kept]
    wide += [stage.kept for stage in plan.releases.stages[:-1]]
    return [Stage(stage.steps, features) for stage, features in zip(plan.releases.stages, wide, strict=True)]


def text(records: dict[str, dict[str, Any]]) -> str:
    """The page."""
    cluster, scaling = records["cluster"]["results"], records["scaling"]["results"]
    constants, plan = Constants.measured(cluster), stages()
    curved = plan[-1].features
    return f"""\
# Scaling
<!-- written by benchmarks/report.py from benchmarks/results: do not edit -->

How far [a fit on a cluster](how-to/cluster.md) goes, from constants that were measured on one machine. Sums of whole
numbers hold up to {MAX_ROWS:,} rows in all places together; the [proofs](proofs/select-refit.md) are for as many.

## What a step does
Workers keep their rows, what the rows were turned into, and nothing else. A step of the main method sends each of
them the weights ({_WHOLE} bytes for each feature that is left) and gets as many sums back. One process hears from at
most {FAN_IN} others: where there are more workers, some add up those of others, so that with 64 workers two messages
follow one another, and three with 512. Then the noise is drawn, here, once for each sum, however many workers there
are. Private LASSO sends one corner in place of the weights.

Nothing in a step grows with the number of rows but the work of the workers, and that is linear: see *Many rows* in
the [benchmarks](benchmarks.md).

## Constants
{_found(constants, scaling)}

From *Rows on a cluster* and *Many rows* in the [benchmarks](benchmarks.md): two processors that the scheduler, the
workers and this process share. Machines with a network between them will have a longer way, which is next to nothing
beside the rows, and faster workers.

## A plan: {ROWS:,} rows, {COLUMNS:,} features
{FILLED} nonzero entries a row, ε = 1, two classes. The steps are those that the main method plans for such a table,
before any record is read:

{_moved(plan, constants)}

Once in the last of them come {curvature_sums(curved):,} sums for the curvature of its features,
{_bytes(_WHOLE * curvature_sums(curved))} from each worker, with {time_text(curvature_sums(curved) * constants.noise)}
of noise.

With {THREADS} threads on each worker:

{_planned(plan, constants)}

Memory is {_ENCODED} bytes for each nonzero entry and about {_PACKED:g} more while a descent runs on all features. The
time is that of sums, messages and noise; reading and encoding come before, once, at the speed of the disks. What does
not shrink with more workers is the widest stage's noise and its messages, which end here. The curvature takes longest
with few workers: it multiplies every pair of the kept features in every row, zeros too. Keeping fewer
(`max_features`) helps, with the square. The plan is arithmetic, not a measurement: nobody has run this table.
"""


def _found(constants: Constants, scaling: dict[str, Any]) -> str:
    """What was measured."""
    rows = [point["rows"] for point in scaling["steps"]["points"]]
    per_row = [point["seconds"] / point["rows"] * 1e9 for point in scaling["steps"]["points"]]
    return table(
        ["what", "measured"],
        [
            ["a step, for each nonzero entry, one thread", f"{constants.entry * 1e9:.2f} ns"],
            [
                f"a step, for each row of 50 numbers, {rows[0]:,} to {rows[-1]:,} rows",
                f"{min(per_row):.0f} to {max(per_row):.0f} ns",
            ],
            ["the curvature, for each of its sums and each row, one thread", f"{constants.product * 1e9:.3f} ns"],
            ["the way to a worker and back, beside its work", f"{constants.way * 1e3:.1f} ms"],
            ["a megabyte of a message", f"{constants.byte * 1e9:.2f} ms"],
            ["noise for a million sums", time_text(constants.noise * 1e6)],
        ],
    )


def _moved(plan: list[Stage], constants: Constants) -> str:
    """What moves in a step of each descent."""
    return table(
        ["steps", "features", "to each worker and back, a step", "noise here"],
        [
            [
                str(stage.steps),
                f"{stage.features:,}",
                _bytes(stage.message),
                time_text(stage.features * constants.noise),
            ]
            for stage in plan
        ],
    )


def _planned(plan: list[Stage], constants: Constants) -> str:
    """How long it would take."""
    return table(
        [
            *("workers", "threads", *(f"a step on {stage.features:,}" for stage in plan)),
            *("all steps", "the curvature", "memory of each"),
        ],
        [
            [
                str(workers),
                str(workers * THREADS),
                *(time_text(stage.seconds(workers, constants)) for stage in plan),
                _minutes(sum(stage.steps * stage.seconds(workers, constants) for stage in plan)),
                _minutes(curvature_seconds(plan[-1].features, workers, constants)),
                _bytes(ROWS * FILLED * (_ENCODED + _PACKED) / workers),
            ]
            for workers in WORKERS
        ],
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min"


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def write(records: dict[str, dict[str, Any]], page: Path = PAGE) -> None:
    """Write the page, if all that it stands on was measured."""
    if {"cluster", "scaling"} <= set(records):
        page.write_text(text(records))
        print(f"wrote {page.name}")
