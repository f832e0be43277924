"""Where results go: into files of their own, claimed before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...atomic import Claim, claimed
from ...checks import InputError
from ..options import Results

Outputs = Mapping[str, Path | None]
"""Where results go, by the options that say so; None for one that is not wanted."""
Inputs = Mapping[str, Sequence[Path]]
"""The files that a command reads, by what they are to it."""

_STREAMS = ("-", "/dev/stdout", "/dev/stderr")
_BESIDE = ("-wal", "-shm", "-journal", ".wal")
"""Endings of what SQLite and DuckDB keep beside a database: entries may be there and nowhere else."""


@contextmanager
def claimed_outputs(
    results: Results, outputs: Outputs, inputs: Inputs, overwrite: bool
) -> Iterator[dict[str, Claim]]:
    """Claim files before hours are spent and a budget with them: those that could not be written are refused now.

    While one process fits a model, another that would write a file of the same name is refused before it reads a
    record. What the command itself reads is never written over, whatever may be overwritten besides.

    Privacy
    -------
    Data-independent.
    """
    refuse_inputs(outputs, inputs)
    wanted = {option: path for option, path in outputs.items() if path is not None}
    if len(set(map(os.path.realpath, wanted.values()))) < len(wanted):
        raise InputError("two outputs have the same name; give each its own")
    with ExitStack() as claims:
        yield {
            option: results.output(claims.enter_context(claimed(path, overwrite=overwrite)))
            for option, path in wanted.items()
        }


def refuse_inputs(outputs: Outputs, inputs: Inputs) -> None:
    """Refuse outputs that are inputs, by whichever name, or no files at all.

    Privacy
    -------
    Data-independent.
    """
    for option, path in outputs.items():
        if path is None:
            continue
        if str(path) in _STREAMS:
            raise InputError(f"{option} {path}: results go into files only; name one")
        place = _identities(path)
        for what, file in ((what, file) for what, files in inputs.items() for file in files):
            beside = [Path(os.path.realpath(file) + ending) for ending in _BESIDE]
            if not place.isdisjoint(_identities(file)):
                relation = "is"
            elif any(not place.isdisjoint(_identities(part)) for part in beside):
                relation = "belongs to"
            else:
                continue
            raise InputError(
                f"{option} {path} {relation} {what} {file}, which this command reads: choose another name"
            )


def _identities(path: Path) -> set[str | tuple[int, int]]:
    """Return what a file is known by: its place, and where it is there its number on the disk, as links share it."""
    known: set[str | tuple[int, int]] = {os.path.realpath(path)}
    with suppress(OSError):
        found = path.stat()
        known.add((found.st_dev, found.st_ino))
    return known
