"""The command that runs the paper's experiments again."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .options import fail


class Target(StrEnum):
    """What can be reproduced."""

    TABLE1 = "table1"
    TABLE2 = "table2"
    FIGURE1 = "figure1"
    FIGURE2 = "figure2"
    FIGURE3 = "figure3"
    FIGURE4 = "figure4"
    FIGURE5 = "figure5"
    ALL = "all"


def reproduce(
    target: Annotated[Target, typer.Argument(help="A table or figure of the paper, or all of them.")],
    trial_count: Annotated[
        int | None,
        typer.Option(
            "--trials",
            min=1,
            show_default="50, or 2 with --quick",
            help="Seeds of each cell.",
        ),
    ] = None,
    pilots: Annotated[
        int | None,
        typer.Option(
            min=1, show_default="5, or 1 with --quick", help="Splits on which parameters of the figures are tuned."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few trials of everything, to see that it runs.")] = False,
    jobs: Annotated[
        int, typer.Option(min=1, show_default="all cores", help="Worker processes, of one thread each.")
    ] = os.cpu_count() or 1,
    finished: Annotated[
        bool, typer.Option("--finished", help="Run nothing: write what the finished trials give.")
    ] = False,
    renew: Annotated[bool, typer.Option("--renew", help="Run trials again that other code made.")] = False,
    output: Annotated[Path, typer.Option(file_okay=False, help="Folder for results, tables and figures.")] = Path(
        "reproduction"
    ),
    data: Annotated[
        list[str] | None,
        typer.Option(show_default="all ten", help="A data set of the tables; repeat it for more."),
    ] = None,
) -> None:
    """Run the paper's experiments again and show published values beside measured ones.

    Results are kept as JSON lines: interrupt with Ctrl-C, run the same command again, and it goes on.
    Data sets are looked for in the folder that the environment variable HARDZERO_DATA names.
    """
    try:
        from ..reproduce import commands, experiments, rows, trials  # noqa: PLC0415 - slow to import
    except ModuleNotFoundError as error:
        fail(f"reproducing needs {error.name}, which is not installed: pip install 'hardzero[reproduce]'")
    from ..datasets import DataNotFound  # noqa: PLC0415 - slow to import

    names = tuple(data or experiments.DATA_SETS)
    if unknown := [name for name in names if name not in experiments.DATA_SETS]:
        fail(f"--data {unknown[0]} is not in the paper's tables; use one of: {', '.join(experiments.DATA_SETS)}")
    effort = experiments.quick(trial_count or 2) if quick else experiments.Effort(trial_count or 50)
    if pilots is not None:
        effort = replace(effort, pilots=pilots)
    try:
        with trials.Runner(jobs, finished_only=finished, renew=renew) as runner:
            commands.reproduce(target.value, effort, runner, output, names, typer.echo)
    except (DataNotFound, FileExistsError, rows.DamagedResultsError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        typer.echo("interrupted; finished trials are kept, run the same command again to go on", err=True)
        raise typer.Exit(130) from None
