"""Rows of results, kept as JSON lines: each a trial, what it gave and which code made it.

Two runs of the same code end with the same bytes. One process at a time may write a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

Result: TypeAlias = dict[str, float]
Rows: TypeAlias = "dict[Trial, Result]"
Parameters: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Trial:
    """One fit on one split; everything random in it follows from ``seed``."""

    data: str
    method: str
    epsilon: float
    neighbours: str
    seed: int
    parameters: Parameters = ()

    @property
    def sort_key(self) -> tuple[str, str, float, str, str, int]:
        """The place in a result file, whatever the order in which trials were asked for or finished."""
        return (self.data, self.method, self.epsilon, self.neighbours, json.dumps(self.parameters), self.seed)


@dataclass(frozen=True)
class Made:
    """Which code made a row.

    Attributes
    ----------
    version : str
        The version of hardzero.
    code : str
        The `fingerprint.fingerprint` of the code.
    confirmed : str or None
        That of later code which made rows of the same cell anew and got the same, to the last bit.
    """

    version: str
    code: str
    confirmed: str | None = None

    def is_of(self, code: str) -> bool:
        """Whether this code made the row, or was seen to make the same."""
        return code in (self.code, self.confirmed)

    def confirmed_by(self, code: str) -> Made:
        """Return the same, confirmed by other code."""
        return replace(self, confirmed=code)


@dataclass(frozen=True)
class Row:
    """What a trial gave, and which code made it; None for rows from before that was written down."""

    result: Result
    made: Made | None = None

    def is_of(self, code: str) -> bool:
        """Whether this code made the row, or was seen to make the same."""
        return self.made is not None and self.made.is_of(code)


class DamagedResultsError(ValueError):
    """A result file has a line that is no finished trial, and it is not the last one, which a kill may cut short."""


def read(path: Path) -> Rows:
    """Results of a file's finished trials."""
    return {trial: row.result for trial, row in read_rows(path).items()}


def read_rows(path: Path) -> dict[Trial, Row]:
    """Rows of a file's finished trials; a last line without its end is left out."""
    if not path.exists():
        return {}
    rows: dict[Trial, Row] = {}
    *whole, _ = path.read_text(encoding="utf-8").split("\n")  # what follows the last newline is unfinished
    for number, line in enumerate(whole, start=1):
        try:
            trial, row = _parse(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedResultsError(f"{path}, line {number} is damaged; delete that line and run again") from error
        rows[trial] = row
    return rows


def _parse(line: str) -> tuple[Trial, Row]:
    fields = json.loads(line)
    trial = dict(fields["trial"])
    parameters = tuple(trial.pop("parameters", {}).items())
    made = Made(**fields["made"]) if "made" in fields else None
    return Trial(**trial, parameters=parameters), Row(fields["result"], made)


def line_of(trial: Trial, row: Row) -> str:
    """One line of a result file. No timings: they would make two runs differ."""
    fields: dict[str, Any] = {"trial": asdict(trial), "result": row.result}
    del fields["trial"]["parameters"]
    if trial.parameters:
        fields["trial"]["parameters"] = dict(trial.parameters)
    if row.made is not None:
        fields["made"] = {name: value for name, value in asdict(row.made).items() if value is not None}
    return json.dumps(fields) + "\n"


def write(path: Path, rows: Mapping[Trial, Row]) -> None:
    """Replace a file by all rows in canonical order, at once: a kill leaves the old file or the new one."""
    text = "".join(line_of(trial, rows[trial]) for trial in sorted(rows, key=lambda trial: trial.sort_key))
    if path.exists() and path.read_bytes() == text.encode():
        return
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)
