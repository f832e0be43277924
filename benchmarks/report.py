"""docs/benchmarks.md and docs/scaling.md, written from benchmarks/results/*.json alone.

Run: .venv/bin/python benchmarks/report.py
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import scaling_page
from common import Check, table
from sections import (
    bandwidth,
    cluster,
    growth,
    ledger,
    memory,
    optimum,
    scaling,
    select_refit,
    selection,
    steps,
)

REGISTRY: dict[str, ModuleType] = {
    "steps": steps,
    "bandwidth": bandwidth,
    "selection": selection,
    "optimum": optimum,
    "select-refit": select_refit,
    "growth": growth,
    "memory": memory,
    "scaling": scaling,
    "cluster": cluster,
    "ledger": ledger,
}
ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "figures"

HEAD = """\
# Benchmarks
<!-- written by benchmarks/report.py from benchmarks/results: do not edit -->

How fast hardzero is, against other ways to do the same and against what the machine allows. Every figure on this
page was measured by `make bench` and is stored in `benchmarks/results`.

**How.** One thread. What is compared runs in turn in one process, A B C, A B C, …; the first turn is dropped, the
figure is the median of the rest, and a ratio is a ratio of medians. Where something is scaled up from fewer steps,
run once or cut off, the text says so. Ratios carry over to other machines better than times do; neither is exact.

**Again.** `make bench` (real data are used where `HARDZERO_DATA` names the
folder that holds them). `make bench BENCH=--quick` tries everything on small data in two minutes; `BENCH="--only
steps"` measures one section. `python benchmarks/report.py` writes this page anew.

**Data.** *synth* is the paper's synthetic data; a9a, w8a, gisette (its test part), covtype, news20 and 20news-bow are
real. Names that end in *-like*, and *big*, are synthetic: they have the shape of the data they are named after,
columns whose popularity follows a power law (*gisette-like*: dense), and labels from a sparse true model over the 500
most popular features; in *big, rare signal* over any features, most of them rare (`benchmarks/lookalikes.py`).
"""


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """Sections that have results."""
    files = {name: folder / f"{name}.json" for name in REGISTRY}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def write_page(results: Path = RESULTS, page: Path = PAGE, figures: Path = FIGURES) -> None:
    """Write the page and its pictures."""
    records = load(results)
    if not records:
        raise SystemExit("there are no results yet: run benchmarks/run.py first")
    checks = {name: REGISTRY[name].checks(record["results"]) for name, record in records.items()}
    blocks = [HEAD, _machine(records), _summary(checks)]
    for name, record in records.items():
        section = REGISTRY[name]
        if hasattr(section, "draw"):
            figures.mkdir(parents=True, exist_ok=True)
            section.draw(record["results"], figures)
        blocks.append(f"## {section.TITLE}\n{section.page(record['results'])}\n")
        if checks[name]:
            blocks.append(_targets(checks[name]))
        if record["skipped"]:
            blocks.append("Not measured: " + "; ".join(record["skipped"]) + ".\n")
    page.write_text("\n".join(blocks).rstrip() + "\n")
    print(f"wrote {page.name}")
    if page == PAGE:
        scaling_page.write(records)


def _machine(records: dict[str, dict[str, Any]]) -> str:
    """What was measured on; a section measured elsewhere or at another time is named."""
    groups: dict[str, list[str]] = {}
    for name, record in records.items():
        facts = record["machine"]
        versions = ", ".join(f"{package} {version}" for package, version in facts["packages"].items())
        small = (
            ""
            if record["setting"] == "full"
            else f" **Small data ({record['setting']} setting): figures mean little.**"
        )
        note = f" **{record['note']}**" if record["note"] else ""
        text = (
            f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']:g} GB, {facts['system']}, "
            f"Python {facts['python']}, {versions}; {facts['date']}; load {facts['load_before']:g}.{small}{note}"
        )
        groups.setdefault(text, []).append(REGISTRY[name].TITLE)
    if len(groups) == 1:
        return f"**Measured on.** {next(iter(groups))}\n"
    return (
        "**Measured on.**\n\n" + "\n".join(f"- {', '.join(names)}: {text}" for text, names in groups.items()) + "\n"
    )


def _summary(checks: dict[str, list[Check]]) -> str:
    everything = [check for found in checks.values() for check in found]
    met, missed = (sum(check.met is answer for check in everything) for answer in (True, False))
    text = f"**Targets** of the sections below: {met} met, {missed} missed, "
    text += f"{len(everything) - met - missed} not measured.\n"
    absent = [section.TITLE for name, section in REGISTRY.items() if name not in checks]
    if absent:
        text += f"\nSections without results, whose targets are not counted: {', '.join(absent)}.\n"
    if missed:
        lines = [
            [REGISTRY[name].TITLE, check.what, check.target, check.measured]
            for name, found in checks.items()
            for check in found
            if check.met is False
        ]
        text += "\nMissed:\n\n" + table(["section", "what", "target", "measured"], lines) + "\n"
    return text


def _targets(checks: list[Check]) -> str:
    rows = [[check.what, check.target, check.measured, check.verdict] for check in checks]
    return table(["what", "target", "measured", ""], rows) + "\n"


if __name__ == "__main__":
    write_page()
