"""The command that audits the library: runs on neighbouring inputs that try to refute what is claimed."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Force, clear_messages, steps_shown

Quick = Annotated[bool, typer.Option("--quick", help="Fewer runs, in about a minute: finds gross faults only.")]
Only = Annotated[
    list[str] | None,
    typer.Option(help="Audit cases whose name contains this; repeat it for more.", show_default="all cases"),
]
Jobs = Annotated[int | None, typer.Option(min=1, show_default="all cores", help="Worker processes.")]
AuditSeed = Annotated[
    int | None,
    typer.Option(min=0, help="For tests: repeatable runs.", show_default="the operating system's randomness"),
]
AuditPicture = Annotated[Path | None, typer.Option(help="Also draw lower bounds against claims, as an .svg file.")]
Listed = Annotated[bool, typer.Option("--list", help="List the cases and run none.")]


def audit(
    quick: Quick = False,
    only: Only = None,
    listed: Listed = False,
    jobs: Jobs = None,
    seed: AuditSeed = None,
    picture: AuditPicture = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Try to refute the library's guarantees: lower bounds on ε from thousands of runs on made-up neighbours.

    Every mechanism, every private estimator, the evaluation, and neighbouring files through fit. Ends with exit code
    1 if a lower bound exceeds its claim at 99.9 % confidence. Reads no data of yours.
    """
    with clear_messages() as results:
        from .actions import audit as actions

        actions.refuse_picture(picture)
        with actions.cases(only or ()) as cases:
            if listed:
                typer.echo("\n".join(f"{case.name}: {case.about}" for case in cases))
                return
            with actions.outputs(picture, force) as claim, steps_shown("auditing") as shown:
                outcomes = actions.run(cases, quick=quick, seed=seed, jobs=jobs or os.cpu_count() or 1, heard=shown)
                if claim is not None:
                    results.output(claim).write(actions.drawn(outcomes))
        if as_json:
            typer.echo(actions.as_json(outcomes, quick=quick, seed=seed))
        else:
            actions.show(outcomes)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)
