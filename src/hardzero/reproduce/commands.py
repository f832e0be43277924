"""One function for each target of ``hardzero reproduce``: run what is missing, then write tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .. import datasets
from . import curves, experiments, figures, tables
from .experiments import Effort
from .rows import Rows
from .summaries import Estimate, csv_text
from .trials import Runner

SYNTHETIC_FIGURES = ("figure1", "figure2", "figure3", "figure4")
TARGETS = ("table1", "table2", *SYNTHETIC_FIGURES, "figure5")

Say = Callable[[str], None]


def reproduce(target: str, effort: Effort, runner: Runner, folder: Path, names: Sequence[str], say: Say) -> None:
    """Run one target, or all of them without those data sets that are not here.

    Parameters
    ----------
    target : str
        One of `TARGETS`, or "all".
    effort : Effort
        How much to run.
    runner : Runner
        Does the work.
    folder : Path
        Where results, tables and figures go.
    names : sequence of str
        Data sets of the tables.
    say : callable
        Takes messages to the user.

    Raises
    ------
    hardzero.datasets.DataNotFound
        If a data set of a single target is not on this machine.

    Privacy
    -------
    Sensitive: published experiments tune, scale and measure without charging for it.
    """
    absent = experiments.missing(names)
    if target == "all":
        for name in absent:
            say(f"skipped in the tables: {name}, whose files are not here (see HARDZERO_DATA)")
        names = [name for name in names if name not in absent]
    elif target in ("table1", "table2"):
        for name in absent:
            datasets.load(name)  # raises, and says where to get it
    for each in TARGETS if target == "all" else (target,):
        if each == "figure5" and experiments.missing(["kdd99"]):
            if target != "all":
                datasets.load("kdd99")
            say("skipped: figure5, because the files of kdd99 are not here (see HARDZERO_DATA)")
            continue
        for path in _reproduce_one(each, effort, runner, folder, names):
            say(f"wrote {path}")


def _reproduce_one(target: str, effort: Effort, runner: Runner, folder: Path, names: Sequence[str]) -> Sequence[Path]:
    if target == "table1":
        results = experiments.run_table1(runner, folder, effort, names)
        return write_table(target, folder, tables.table1(results), tables.table1_estimates(results))
    if target == "table2":
        results = experiments.run_table2(runner, folder, effort, names)
        return write_table(target, folder, tables.table2(results), tables.table2_estimates(results))
    run = experiments.run_kdd99 if target == "figure5" else experiments.run_synthetic
    return write_figure(target, folder, run(runner, folder, effort))


def write_table(name: str, folder: Path, text: str, values: Sequence[Estimate]) -> list[Path]:
    """Write a table as Markdown and CSV."""
    return [_write(folder / f"{name}.md", text), _write(folder / f"{name}.csv", csv_text(values))]


def write_figure(name: str, folder: Path, rows: Rows) -> list[Path]:
    """Write a figure as PNG and SVG, and its points as Markdown and CSV."""
    points = write_table(name, folder, curves.curve_table(name, rows), curves.curve_estimates(name, rows))
    return [*figures.save(name, rows, folder), *points]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
