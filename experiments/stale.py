"""Which published rows the code as it is did not make? Says so for every result file, by method and data set.

Run:      .venv/bin/python experiments/stale.py                       (exit code 1 if any row is stale)
Confirm:  HARDZERO_DATA=… .venv/bin/python experiments/stale.py --confirm --jobs 2
Renew:    run the experiment with --renew, then its report

A row is fresh if the code that its work can reach is what it was. Where that changed, --confirm makes some rows of
every stale cell anew; if all come out the same to the last bit, the cell is marked as confirmed by the code as it is.
Rows of versions that cannot be run again, named "before", are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import additive
import bounds
import evaluation
import membership
import others
import persons
import planner
import reliability
import reliability_levels
import reliability_limits
import select_refit
import tuning
from rich.console import Console
from rich.table import Table

from hardzero.cli.actions.audit import audited_code
from hardzero.reproduce import experiments, splits
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.staleness import Cell, Standing, confirm, standing
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
AUDIT = "audit.json"
PAST = ("before", select_refit.BEFORE)
"""Methods whose code is gone; their rows stand beside those of today."""

Work = Callable[[Trial], Any]


def works() -> dict[str, Work]:
    """For each result file what makes its rows."""
    files: dict[str, Work] = {}
    for kind in ("ablation", "binary", "large", "loose", "multiclass"):
        files[f"select-refit-{kind}.jsonl"] = partial(splits.evaluate, select_refit.fit)
    for study in reliability.STUDIES:
        files[f"reliability-{study}.jsonl"] = partial(reliability.work, study)
    files[reliability_limits.FILE] = reliability_limits.work
    files[reliability_levels.FILE] = reliability_levels.work
    for study in additive.DATA:
        files[f"additive-{study}.jsonl"] = files[f"additive-{study}-tuning.jsonl"] = partial(additive.work, study)
    for study, (_, work) in evaluation.STUDIES.items():
        files[f"evaluation-{study}.jsonl"] = work
    for study in ("near", "worth"):
        files[f"bounds-{study}.jsonl"] = partial(bounds.work, study)
    files[membership.FILE] = membership.work
    files |= {f"others-{study}.jsonl": others.work for study in ("linear", "tuning", "curved")}
    files["others-claim.jsonl"] = others.claim_work
    files |= {"planner-found.jsonl": planner.found_work, "planner-shapes.jsonl": planner.shapes_work}
    files["tuning.jsonl"] = tuning.work
    for study in persons.STUDIES:
        files[f"persons-{study}.jsonl"] = getattr(persons, f"{study}_work")
    for name in (experiments.TABLES, experiments.SYNTHETIC, experiments.KDD99):
        files[f"reproduce/{name}"] = experiments.work
    return files


def stale_cells(results: Path) -> Iterator[tuple[str, Cell, Standing]]:
    """Cells that hold a stale row."""
    for name, work in works().items():
        for cell, counts in standing(results / name, work, PAST).items():
            if counts.stale:
                yield name, cell, counts


def shown(results: Path) -> int:
    """Print how every file stands, and the cells that are stale; the number of stale rows."""
    console = Console(width=150)
    table = Table("file", "made by this code", "confirmed", "stale", title="Rows of results")
    for name, work in works().items():
        counts = list(standing(results / name, work, PAST).values())
        table.add_row(name, *(str(sum(part)) for part in zip(*counts, strict=True)) if counts else ("0", "0", "0"))
    console.print(table)
    cells = list(stale_cells(results))
    for name, cell, counts in cells:
        console.print(f"stale: {name}: {cell.method} on {cell.data}, {counts.stale} rows", highlight=False)
    audits = stale_audits(results)
    for name in audits:
        console.print(f"stale: {name}: other code was audited", highlight=False)
    return sum(counts.stale for *_, counts in cells) + len(audits)


def stale_audits(results: Path) -> list[str]:
    """The kept audit, if it is of other code."""
    known = json.loads((results / AUDIT).read_text(encoding="utf-8")) if (results / AUDIT).exists() else {}
    return [AUDIT] if known and known.get("code") != audited_code() else []


def main() -> None:
    """Say what is stale, after confirming what is not, if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--confirm", action="store_true", help="make some rows of every stale cell anew")
    parser.add_argument("--sample", type=int, default=2, help="rows of each cell that are made anew")
    parser.add_argument("--files", nargs="*", help="confirm these only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.confirm:
        with Runner(arguments.jobs) as runner:
            for name, work in works().items():
                if not arguments.files or name in arguments.files:
                    changed = confirm(runner, arguments.results / name, work, arguments.sample, PAST)
                    for cell in sorted(changed):
                        print(f"changed: {name}: {cell.method} on {cell.data}", flush=True)
    sys.exit(1 if shown(arguments.results) else 0)


if __name__ == "__main__":
    main()
