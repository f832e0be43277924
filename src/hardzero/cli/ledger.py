"""Commands about ledgers: what a data set's fits cost together, and whether that can be believed."""

# ruff: noqa: PLC0415 - everything slow is imported inside the commands: help must come at once

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..privacy.budget import Budget, Neighbours
from .options import AsJson, DatasetOption, Force, LedgerOption, clear_messages, fail, say

if TYPE_CHECKING:
    from ..ledger.overview import Overview

app = typer.Typer(
    help="Keep the budget of a data set: what all fits together may cost, and do.", no_args_is_help=True
)


class AccountantName(StrEnum):
    """How the costs of fits add up."""

    GAUSSIAN = "gaussian"
    RENYI = "renyi"


class UnitName(StrEnum):
    """Whom a guarantee is about."""

    ROW = "row"
    PERSON = "person"


CapEpsilon = Annotated[float, typer.Option("--epsilon", help="What all fits together may cost.")]


@app.command(epilog="Example: hardzero ledger init --ledger people.db --dataset people --epsilon 3 --delta 1e-6")
def init(
    epsilon: CapEpsilon,
    delta: Annotated[
        float, typer.Option(help="The δ of all fits together; well below one over the number of people.")
    ],
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    neighbours: Annotated[
        Neighbours, typer.Option(help="The relation that all fits must have.")
    ] = Neighbours.ZERO_OUT,
    accountant: Annotated[
        AccountantName,
        typer.Option(help="gaussian is exact for Gaussian releases; renyi adds up every method's."),
    ] = AccountantName.GAUSSIAN,
    schema: Annotated[
        Path | None, typer.Option(help="A schema: fits of the command line under another one are refused.")
    ] = None,
    unit: Annotated[
        UnitName, typer.Option(help="Whom all fits must protect: one row, or all rows of one person.")
    ] = UnitName.ROW,
    roles: Annotated[
        bool, typer.Option("--roles", help="PostgreSQL: make the roles hardzero_owner, _spender and _reader.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="PostgreSQL: a role that may see and spend this budget; repeat it for more."),
    ] = None,
) -> None:
    """Create a data set with its cap; also the ledger, if there is none yet."""
    with clear_messages():
        from ..ledger.store import grant_roles, permit, refuse_file
        from ..schema.file import load_schema
        from .actions.ledger import fingerprint, named_ledger

        made = named_ledger(
            ledger,
            dataset,
            cap=Budget.asked(epsilon, delta),
            neighbours=neighbours.value,
            accountant=accountant.value,
            schema=None if schema is None else fingerprint(load_schema(schema)),
            unit=unit.value,
        )
        if roles or allow:
            refuse_file(made.url)
        receipt = made.create()
        if roles:
            grant_roles(made.url)
        permit(made.url, made.dataset, allow or ())
        say(f"created: {receipt}")


@app.command(epilog="Example: hardzero ledger show --ledger people.db --dataset people --page budget.html")
def show(
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    page: Annotated[Path | None, typer.Option(help="Also write a page with a chart, as one HTML file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what was spent, what that would be one by one, and what is left."""
    with clear_messages() as results:
        from ..report.ledger import render_ledger
        from ..version import __version__
        from .actions.ledger import in_words, ledger_inputs
        from .actions.outputs import claimed_outputs

        with claimed_outputs(results, {"--page": page}, ledger_inputs(ledger, dataset), force) as outputs:
            found = _overview(ledger, dataset)
            if page is not None:
                outputs["--page"].write(render_ledger(found, __version__))
        say(json.dumps(found.facts()) if as_json else "\n".join(in_words(found)))


@app.command(epilog="Example: hardzero ledger history --ledger people.db --dataset people")
def history(ledger: LedgerOption = None, dataset: DatasetOption = None, as_json: AsJson = False) -> None:
    """List all fits: when, by whom, what each costs by itself, and all together so far."""
    with clear_messages():
        from .actions.ledger import columns, history_of

        found = _overview(ledger, dataset)
        if as_json:
            say(json.dumps(found.facts()["fits"]))
        else:
            say("\n".join(columns(history_of(found))))


@app.command(epilog="Example: hardzero ledger verify --ledger people.db --dataset people --receipt model.json")
def verify(
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    receipt: Annotated[
        list[Path] | None,
        typer.Option(help="A model file, or an export: its entries must be there. Repeat it for more."),
    ] = None,
    witness: Annotated[
        Path | None,
        typer.Option(help="Compare with what this file remembers, then remember the last entry in it."),
    ] = None,
) -> None:
    """Check the chain of entries; the exit code is 1 where something was changed, removed or set back."""
    with clear_messages():
        from .actions.ledger import ledger_inputs, named_ledger, receipts_in, remembered, write_witness
        from .actions.outputs import refuse_inputs

        refuse_inputs({"--witness": witness}, {"the receipt": receipt or [], **ledger_inputs(ledger, dataset)})
        named = named_ledger(ledger, dataset)
        known = [found for file in receipt or () for found in receipts_in(file)]
        known += [] if witness is None or not witness.exists() else [remembered(witness)]
        problems = named.verify(known)
        if problems:
            fail("\n".join(problems))
        last = named.entries()[-1].receipt
        if witness is not None:
            write_witness(witness, last)
        say(f"in order: {last.number:,} entries of {last.dataset!r}, the last with hash {last.hash}")
        if not known:
            say("nothing outside the ledger was compared: see --receipt and --witness", err=True)


@app.command(epilog="Example: hardzero ledger export --ledger people.db --dataset people -o people.jsonl")
def export(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the entries go, as JSON lines.")],
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    force: Force = False,
) -> None:
    """Write all entries with their hashes: for a copy elsewhere, and as a receipt for all of them."""
    with clear_messages() as results:
        from .actions.ledger import exported, ledger_inputs, named_ledger
        from .actions.outputs import claimed_outputs

        with claimed_outputs(results, {"--output": output}, ledger_inputs(ledger, dataset), force) as outputs:
            named = named_ledger(ledger, dataset)
            entries = named.entries()
            if not entries:
                fail(f"the ledger has no data set {named.dataset!r}")
            outputs["--output"].write(exported(entries))


@app.command("raise-cap", epilog="Example: hardzero ledger raise-cap --ledger people.db --dataset people --epsilon 5")
def raise_cap(epsilon: CapEpsilon, ledger: LedgerOption = None, dataset: DatasetOption = None) -> None:
    """Raise the cap, at the same δ: for the owner of the data, and not because of what was released."""
    with clear_messages():
        from .actions.ledger import named_ledger

        named = named_ledger(ledger, dataset)
        delta = _overview(ledger, dataset).cap.delta
        say(f"raised: {named.raise_cap(Budget.asked(epsilon, delta))}")


def _overview(ledger: str | None, dataset: str | None) -> Overview:
    from ..ledger.overview import overview_of
    from .actions.ledger import named_ledger

    named = named_ledger(ledger, dataset)
    return overview_of(named.dataset, named.entries())
