"""Cases of an audit, and what it found as a table, JSON and a picture."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ... import audit
from ...atomic import Claim, claimed
from ...audit import Case, ExactCase, ExactOutcome, Outcome
from ...checks import InputError, MissingPackageError, require
from ...reproduce.fingerprint import fingerprint
from ...version import __version__
from ..options import say

Outcomes = Sequence[Outcome | ExactOutcome]


def refuse_picture(picture: Path | None) -> None:
    """Refuse a picture of another kind before anything is run.

    Privacy
    -------
    Data-independent.
    """
    if picture is not None and picture.suffix != ".svg":
        raise InputError(f"--picture {picture}: name a file that ends in .svg")


def outputs(picture: Path | None, overwrite: bool) -> AbstractContextManager[Claim | None]:
    """Claim the picture's file, if there is to be one.

    Privacy
    -------
    Data-independent.
    """
    return nullcontext() if picture is None else claimed(picture, overwrite=overwrite)


@contextmanager
def cases(only: Sequence[str]) -> Iterator[list[Case | ExactCase]]:
    """Give all cases, or those whose names contain one of these texts; their files are there while the block lasts.

    Privacy
    -------
    Data-independent.
    """
    with tempfile.TemporaryDirectory(prefix="hardzero-audit-") as folder:
        found = [*audit.own_cases(), *_file_cases(Path(folder))]
        chosen = [case for case in found if not only or any(text in case.name for text in only)]
        if not chosen:
            raise InputError(f"--only {only[0]}: no case has such a name; hardzero audit --list shows them")
        yield chosen


def _file_cases(folder: Path) -> list[Case | ExactCase]:
    try:
        require("pyarrow.csv")
    except MissingPackageError as error:
        say(f"files are left out of the audit: {error}", err=True)
        return []
    from .file_cases import file_cases  # noqa: PLC0415 - it needs that package

    return file_cases(folder)


def run(
    chosen: Sequence[Case | ExactCase],
    *,
    quick: bool,
    seed: int | None,
    jobs: int,
    heard: Callable[[int, int | None], None],
) -> Outcomes:
    """Run and judge cases.

    Privacy
    -------
    Data-independent.
    """
    found = audit.audit(chosen, quick=quick, seed=seed, jobs=jobs, heard=heard)
    if not found:
        raise InputError("a quick audit leaves these cases out; run it without --quick")
    return found


def audited_code() -> str:
    """Return a fingerprint of the code that an audit runs, without that of reading files and of commands.

    Privacy
    -------
    Data-independent.
    """
    return fingerprint(audit.own_cases)


def as_json(outcomes: Outcomes, *, quick: bool, seed: int | None) -> str:
    """Return everything that was found, and a fingerprint of the code that it was found of.

    Privacy
    -------
    Data-independent.
    """
    return json.dumps(
        {
            "hardzero": __version__,
            "code": audited_code(),
            "confidence": audit.CONFIDENCE,
            "quick": quick,
            "seed": seed,
            "passed": all(outcome.passed for outcome in outcomes),
            "cases": [outcome.to_dict() for outcome in outcomes],
        },
        indent=1,
    )


def drawn(outcomes: Outcomes) -> str:
    """Return the picture of those cases that have a claim in ε.

    Privacy
    -------
    Data-independent.
    """
    return audit.audit_picture([outcome for outcome in outcomes if isinstance(outcome, Outcome)])


_WIDEST = 140
"""Columns of text that the table may take even where a terminal has fewer."""
HEAD = ("case", "runs", "claim ε", "δ", "shown ε", "by μ", "claim μ", "shown μ", "catches", "")


def cells(outcome: Outcome | ExactOutcome) -> tuple[str, ...]:
    """Return one row of the table.

    Privacy
    -------
    Data-independent.
    """
    verdict = "ok" if outcome.passed else "REFUTED"
    if isinstance(outcome, ExactOutcome):
        return (
            outcome.name,
            *("" for _ in HEAD[2:]),
            f"{verdict}: {outcome.difference}" if outcome.difference else verdict,
        )
    implied, mu, catches = outcome.epsilon_as_gaussian, outcome.mu, outcome.catches
    return (
        outcome.name,
        f"{outcome.runs:,}",
        f"{outcome.epsilon:.3g}",
        f"{outcome.delta:.0e}" if outcome.delta else "0",
        f"{outcome.epsilon_shown:.2f}",
        "" if implied is None else f"{implied:.2f}",
        "" if mu is None else f"{mu:.2f}",
        f"{outcome.mu_shown:.2f}",
        "nothing" if catches is None else f"1/{catches:.2g}",
        verdict,
    )


def show(outcomes: Outcomes) -> None:
    """Print the table, and what its columns mean.

    Privacy
    -------
    Data-independent.
    """
    table = Table(box=None)
    for place, name in enumerate(HEAD):
        table.add_column(name, justify="right" if 0 < place < len(HEAD) - 1 else "left", no_wrap=True)
    for outcome in outcomes:
        table.add_row(*cells(outcome), style=None if outcome.passed else "bold red")
    Console(width=max(Console().width, _WIDEST)).print(table)
    refuted = [outcome.name for outcome in outcomes if not outcome.passed]
    say(f"\n{verdict(len(outcomes), refuted)}\n{LEGEND}")


LEGEND = (
    "shown ε: a lower bound at the claim's δ. by μ: the same for Gaussian noise, by its μ. catches: the share "
    "of the noise that would be caught with probability 0.9."
)


def verdict(count: int, refuted: Sequence[str]) -> str:
    """Return the result in one sentence.

    Privacy
    -------
    Data-independent.
    """
    confidence = f"{100 * audit.CONFIDENCE:g} %"
    if refuted:
        return f"REFUTED at {confidence} confidence in each case: {', '.join(refuted)}"
    return f"{count} cases: no lower bound exceeds its claim at {confidence} confidence in each case."
