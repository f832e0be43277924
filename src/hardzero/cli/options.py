"""Options and messages that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer


class Neighbours(StrEnum):
    """What the guarantee is about."""

    ZERO_OUT = "zero-out"
    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


class Form(StrEnum):
    """Formats of tables."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    LIBSVM = "libsvm"


Source = Annotated[
    str | None,
    typer.Argument(
        help="The table: CSV, Parquet, Arrow or LIBSVM (CSV and LIBSVM also .gz, .bz2, .xz); with --query a database "
        "URL, a DuckDB file, or nothing.",
        show_default=False,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(help="A SELECT statement, for a database or over files: \"SELECT * FROM 'people.parquet'\"."),
]
FormOption = Annotated[Form | None, typer.Option("--format", help="The format, where the file's name does not tell.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates cells of a CSV file.", show_default="comma")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
ModelFile = Annotated[Path, typer.Argument(help="A model file that hardzero fit wrote.", show_default=False)]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema, TOML or JSON.", show_default=False)]


def fail(message: str) -> NoReturn:
    """End with exit code 1."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(1)


@contextmanager
def clear_messages() -> Iterator[None]:
    """Show the message of an expected error without a traceback, and say that an interrupt left nothing behind."""
    try:
        yield
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        raise typer.Exit(130) from None


@contextmanager
def steps_shown(description: str) -> Iterator[Callable[[int, int | None], None]]:
    """Give a function that shows how far something has come, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done, planned: None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, planned: bar.update(task, completed=done, total=planned)
