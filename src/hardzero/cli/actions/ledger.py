"""Which ledger a command means, and what it says about one."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...atomic import write_atomically
from ...checks import InputError
from ...data.bounded import MAX_ROWS
from ...ledger.address import is_file, normal
from ...ledger.chain import Entry, canonical
from ...ledger.ledger import Ledger
from ...ledger.overview import Overview
from ...ledger.receipt import Receipt
from ...methods.plans import default_delta
from ...model.fields import Field, parse
from ...schema.columns import Schema

SETTINGS = "hardzero.toml"
"""The file in which a project names its ledger, in the working folder or above it."""

_OUTCOMES = {"complete": "complete", "failed": "failed (charged)", "open": "never closed (charged)"}


def named_ledger(url: str | None, dataset: str | None, **terms: Any) -> Ledger:
    """Return the ledger that options name, or else the project's settings.

    Raises
    ------
    InputError
        Neither names a ledger and a data set.

    Privacy
    -------
    Data-independent.
    """
    stated = project_settings() if url is None or dataset is None else {}
    if url is not None and dataset is None:
        stated.pop("dataset", None)  # that of another ledger
    url, dataset = url or stated.get("url"), dataset or stated.get("dataset")
    if url is None or dataset is None:
        missing = "--ledger with a file or a database" if url is None else "--dataset with the data set's name"
        raise InputError(f"add {missing}, or write both into {SETTINGS}: [ledger] with url and dataset")
    return Ledger(url, dataset, **terms)


def project_settings() -> dict[str, str]:
    """Return what the nearest settings file says about a ledger; nothing where there is none.

    Privacy
    -------
    Data-independent.
    """
    file = _settings_file()
    return {} if file is None else _settings_of(file)


def ledger_inputs(url: str | None, dataset: str | None, no_ledger: bool = False) -> dict[str, list[Path]]:
    """Return the file of the ledger that options or settings name, and the settings if they are looked at.

    Neither where ``no_ledger`` says that nothing is charged.

    Privacy
    -------
    Data-independent.
    """
    if no_ledger:
        return {}
    settings = _settings_file() if url is None or dataset is None else None
    stated = {} if settings is None else _settings_of(settings)
    address = None if (named := url or stated.get("url")) is None else normal(named)
    return {
        "the ledger": [Path(address)] if address is not None and is_file(address) else [],
        "the settings": [] if settings is None else [settings],
    }


def _settings_file() -> Path | None:
    here = Path.cwd()
    return next((file for folder in (here, *here.parents) if (file := folder / SETTINGS).is_file()), None)


def _settings_of(file: Path) -> dict[str, str]:
    try:
        stated = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{SETTINGS} cannot be read: {error}") from None
    table = stated.get("ledger", {})
    if stated.keys() - {"ledger"} or not isinstance(table, dict) or table.keys() - {"url", "dataset"}:
        raise InputError(f"{SETTINGS} may have one table, [ledger], with url and dataset, and nothing else")
    if not all(isinstance(value, str) for value in table.values()):
        raise InputError(f"{SETTINGS}: url and dataset must be text")
    if "url" in table and "://" not in table["url"]:
        table["url"] = str(file.parent / table["url"])  # as seen from the file, not from where the command runs
    return table


def account_of_fit(url: str | None, dataset: str | None, schema: Schema, method: str) -> Ledger | None:
    """Return the ledger that a fit is charged to; None where neither options nor settings name one.

    Raises
    ------
    InputError
        A ledger is named, and the method is not private.

    Privacy
    -------
    Data-independent.
    """
    ledger = account_of_bounds(url, dataset, schema)
    if ledger is not None and method == "lasso":
        raise InputError("lasso is not private, and no ledger can pay for it; add --no-ledger to fit it all the same")
    return ledger


def account_of_bounds(url: str | None, dataset: str | None, schema: Schema) -> Ledger | None:
    """Return the ledger that a release of bounds is charged to; None where neither options nor settings name one.

    Privacy
    -------
    Data-independent.
    """
    if url is None and dataset is None and not project_settings():
        return None
    return named_ledger(url, dataset, schema=fingerprint(schema))


def account_of_evaluation(url: str | None, dataset: str | None) -> Ledger | None:
    """Return the ledger that an evaluation is charged to; None where neither options nor settings name one.

    Privacy
    -------
    Data-independent.
    """
    return named_ledger(url, dataset) if url or dataset or project_settings() else None


def refuse_beyond(account: Ledger | None, epsilon: float, delta: float | None, n_rows: int | None) -> None:
    """Refuse what is beyond the cap before a record is read; where δ is not known yet, only what is so for any δ.

    Privacy
    -------
    Data-independent.
    """
    if account is not None:
        account.refuse_beyond(epsilon, default_delta(n_rows or MAX_ROWS) if delta is None else delta)


def fingerprint(schema: Schema) -> str:
    """Return a hash of what is publicly known about a table, by which a data set is recognised.

    A range that is private is not part of it, released or not.

    Privacy
    -------
    Data-independent: no record goes into it.
    """
    stated = schema.to_dict()
    released = {name for charge in schema.bounds for name in charge.columns}
    for name in released.union(column.name for column in schema.unbounded):
        stated["columns"][name] = {"type": "numeric", "range": "private"}
    stated.pop("bounds", None)
    return hashlib.sha256(canonical(stated).encode()).hexdigest()


def in_words(overview: Overview) -> Iterator[str]:
    """Say what was spent and what is left.

    Privacy
    -------
    Post-processing.
    """
    state, cap, alone = overview.state, overview.cap, overview.one_by_one
    fits = len(overview.spendings)
    unit = "" if state.unit == "row" else f"for each {state.unit}, "
    relation = f"{state.neighbours.value} neighbours"
    yield f"data set    {overview.dataset}, {unit}{relation}, accountant {state.filter.accountant}"
    yield f"cap         epsilon = {cap.epsilon:g} at delta = {cap.delta:g}"
    yield f"spent       epsilon = {state.spent:.4g} by {fits} fit{'' if fits == 1 else 's'}"
    if fits > 1:
        saved = (
            f"; composed they cost {state.spent / alone.epsilon:.0%} of that" if state.spent < alone.epsilon else ""
        )
        yield f"one by one  epsilon = {alone.epsilon:.4g}, delta = {alone.delta:.3g}{saved}"
    yield f"left        one more fit of about epsilon = {state.would_fit():.3g}, at the cap's delta"
    unclosed = sum(spending.outcome == "open" for spending in overview.spendings)
    if unclosed:
        yield f"open        {unclosed} never closed: running, or ended without a word; charged in any case"
    if overview.seeded:
        yield (
            f"NOT PRIVATE {overview.seeded} with noise from a seed; the figures hold only if their results were "
            "never shown"
        )


def history_of(overview: Overview) -> list[tuple[str, ...]]:
    """Return the fits as rows of text, below their heads.

    Privacy
    -------
    Post-processing.
    """
    heads = ("entry", "when (UTC)", "who", "what", "epsilon", "delta", "together", "state")
    rows = [
        (
            str(spending.number),
            spending.time[:19].replace("T", " "),
            spending.by,
            spending.what + ("" if spending.private else " NOT PRIVATE"),
            f"{spending.epsilon:.4g}",
            f"{spending.delta:.3g}",
            f"{spending.total:.4g}",
            _OUTCOMES[spending.outcome],
        )
        for spending in overview.spendings
    ]
    return [heads, *rows]


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Put rows of text under one another.

    Privacy
    -------
    Post-processing.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def exported(entries: Sequence[Entry]) -> str:
    """Return all entries as JSON, one a line: text and hash as they are stored.

    Privacy
    -------
    Post-processing.
    """
    return "".join(
        json.dumps({"dataset": entry.dataset, "number": entry.number, "hash": entry.hash, "body": entry.body}) + "\n"
        for entry in entries
    )


def receipts_in(path: Path) -> list[Receipt]:
    """Return the receipts that a file holds: a model file, a witness, or an export of the ledger.

    Privacy
    -------
    Post-processing.
    """
    text = path.read_text(encoding="utf-8")
    try:
        if '"hardzero-model"' in text[:100]:
            stated = parse(text).entries()["privacy"].entries().get("ledger")
            found = [] if stated is None or stated.value is None else [stated]
        else:
            found = [parse(line) for line in text.splitlines() if line.strip()]
        receipts = [_receipt(field) for field in found]
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: not a model file, a witness or an export of a ledger: {error}") from None
    if not receipts:
        raise InputError(f"{path}: names no entry of a ledger; its fit was not charged to one")
    return receipts


def remembered(witness: Path) -> Receipt:
    """Return the receipt that a witness holds; a file that holds anything else is refused, as it would be replaced.

    Privacy
    -------
    Post-processing.
    """
    with suppress(KeyError, ValueError):
        field = parse(witness.read_text(encoding="utf-8"))
        if field.entries().keys() == {entry.name for entry in fields(Receipt)}:
            return _receipt(field)
    raise InputError(f"--witness {witness}: is there already and is no witness; name a file that may be replaced")


def _receipt(field: Field) -> Receipt:
    entries = field.entries()
    return Receipt(entries["dataset"].text(), entries["number"].whole(at_least=1), entries["hash"].text())


def write_witness(path: Path, receipt: Receipt) -> None:
    """Remember the last entry in a file that is kept elsewhere than the ledger.

    Privacy
    -------
    Data-independent.
    """
    write_atomically(path, json.dumps(vars(receipt)) + "\n", overwrite=True)
