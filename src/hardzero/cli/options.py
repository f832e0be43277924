"""Options and messages that several commands share."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from .. import interrupts
from ..atomic import Claim
from ..checks import InputError
from ..model.plain_text import shown
from ..readers.formats import FileFormat
from ..schema.columns import DEFAULT_CUTS

if TYPE_CHECKING:
    from ..readers import TableReader
    from ..readers.several import TablePart
    from ..schema.columns import Schema

Source = Annotated[
    str | None,
    typer.Argument(
        help="The table: CSV, Parquet, Arrow or LIBSVM (CSV and LIBSVM also .gz, .bz2, .xz), or several by a pattern "
        "such as 'folder/*.parquet'; with --query a database URL, a DuckDB file, or nothing.",
        show_default=False,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(help="A SELECT statement, for a database or over files: \"SELECT * FROM 'people.parquet'\"."),
]
FormOption = Annotated[
    FileFormat | None, typer.Option("--format", help="The format, where the file's name does not tell.")
]
Delimiter = Annotated[str | None, typer.Option(help="What separates cells of a CSV file.", show_default="comma")]
Names = Annotated[
    str | None,
    typer.Option(
        help="Names of the columns of a CSV file without a header line: a,b,c, or a file with one on each line, or "
        "codebook (for schema init) or schema (its columns in order, then the target).",
        show_default="the first line",
    ),
]
Epsilon = Annotated[float, typer.Option(help="The whole budget of the fit.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        help="The ledger: a file, or postgresql://user@host/name without a password.", show_default="hardzero.toml"
    ),
]
DatasetOption = Annotated[
    str | None, typer.Option(help="The data set's name in the ledger.", show_default="hardzero.toml")
]
ModelFile = Annotated[Path, typer.Argument(help="A model file that hardzero fit wrote.", show_default=False)]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema, TOML or JSON.", show_default=False)]


class Shape(StrEnum):
    """How a number may act on the prediction."""

    LINEAR = "linear"
    STEPS = "steps"


ShapeOption = Annotated[
    Shape,
    typer.Option(
        "--shape",
        help="How numbers and ordered values act: linear, by one weight each, or steps, at up to "
        f"{DEFAULT_CUTS} cut points spread over their public bounds. Cut points in the schema hold in any case.",
    ),
]


_DELIMITERS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class TableOptions:
    """Which table a command reads, and how."""

    source: Source = None
    query: Query = None
    form: FormOption = None
    delimiter: Delimiter = None
    names: Names = None

    @property
    def is_given(self) -> bool:
        """Whether there is a table at all."""
        return self.source is not None or self.query is not None

    @property
    def inputs(self) -> dict[str, list[Path]]:
        """The files that are read: of the table, and of its columns' names."""
        from ..readers.opening import files_behind  # noqa: PLC0415 - slow to import

        return {
            "the table": files_behind(self.source, self.query),
            "the list of names": [Path(self.names)] if self.names is not None and os.path.isfile(self.names) else [],
        }

    def opened(
        self, n_features: int | None = None, known_names: Mapping[str, Sequence[str]] | None = None
    ) -> TableReader:
        """Open the table; a LIBSVM file has this number of features, and words may stand for known names."""
        from ..readers import open_table  # noqa: PLC0415 - slow to import

        return open_table(self.source, self.query, **self._form(n_features, known_names or {}))

    def opened_for(self, columns: Iterable[Any], target: str | None = None) -> TableReader:
        """Open the table that these columns, and the target behind them, describe."""
        from ..readers import declared_features  # noqa: PLC0415 - slow to import

        names = [column.name for column in columns]
        return self.opened(declared_features(names), {"schema": [*names, *([] if target is None else [target])]})

    def parts_for(self, columns: Iterable[Any], target: str) -> list[TablePart]:
        """Return the parts of the table's files, for others to open; columns and target describe them."""
        from ..readers import declared_features  # noqa: PLC0415 - slow to import
        from ..readers.several import table_parts  # noqa: PLC0415

        if self.source is None or self.query is not None:
            raise InputError(
                "--scheduler is for tables in files, which every worker opens by itself; not for --query"
            )
        names = [column.name for column in columns]
        return table_parts(self.source, **self._form(declared_features(names), {"schema": [*names, target]}))

    def advise(self, schema: Schema) -> None:
        """Tell of decimal commas where they are to be expected; whether there are some, records alone would tell."""
        from ..schema.columns import Numeric, Unbounded  # noqa: PLC0415 - slow to import
        from ..schema.target import NumericTarget  # noqa: PLC0415

        numeric = isinstance(schema.target, NumericTarget) or any(
            isinstance(column, Numeric | Unbounded) for column in schema.columns
        )
        if self.delimiter == ";" and numeric and schema.missing != "error":
            say(
                "note: a number has a decimal point; with a comma, as in 1,4, it counts as missing, and nothing is "
                "said of it. The data holder is told: hardzero schema check --holder",
                err=True,
            )

    def _form(self, n_features: int | None, known_names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """What `open_table` is told of files."""
        from .names import column_names  # noqa: PLC0415 - slow to import

        return {
            "form": self.form,
            "delimiter": _DELIMITERS.get(self.delimiter or "", self.delimiter),
            "names": None if self.names is None else column_names(self.names, known_names),
            "n_features": n_features,
        }


class OneTable(TyperCommand):
    """A command that reads one table: files that a shell made of a pattern without quotes are too many arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and say how to name several files."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # click's, of which typer has its own or not, by its version
            if "unexpected extra argument" in getattr(error, "message", ""):
                error.message += (  # type: ignore[attr-defined]
                    ". Several files are named by one pattern, in quotes so that the shell leaves it alone: "
                    "'folder/*.parquet'"
                )
            raise


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in place of ``table: TableOptions``, each of those options: typer reads them one by one."""
    described = inspect.signature(command, eval_str=True).parameters.values()
    options = inspect.signature(TableOptions, eval_str=True).parameters
    separate = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in described
        for option in (options.values() if parameter.annotation is TableOptions else [parameter])
    ]

    @wraps(command)
    def called(**given: Any) -> None:
        command(table=TableOptions(**{name: given.pop(name) for name in options}), **given)

    called.__signature__ = inspect.Signature(separate)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in separate}
    return called


@dataclass
class Results:
    """What a command has to show for itself so far: files, complete or not, and a fit or the like that has ended."""

    outputs: list[Claim] = field(default_factory=list)
    charging: bool = False
    fitted: bool = False
    said: bool = False
    what: str = "the fit"

    def output(self, claim: Claim) -> Claim:
        """Note a file that the command is going to write."""
        self.outputs.append(claim)
        return claim

    def __str__(self) -> str:
        """Say what is there, in words that are true whenever they are said."""
        complete = [str(claim.path) for claim in self.outputs if claim.complete]
        absent = [str(claim.path) for claim in self.outputs if not claim.complete]
        parts = [f"complete: {', '.join(complete)}"] if complete else ["nothing was written"]
        if complete and absent:
            parts.append(f"not written: {', '.join(absent)}")
        if self.fitted:
            parts.append(f"{self.what} had ended, so that its privacy budget is spent")
        elif self.charging:
            parts.append("what the fit has reserved in its ledger stays charged")
        return "; ".join(parts)

    @property
    def any(self) -> bool:
        """Whether some file is there."""
        return any(claim.complete for claim in self.outputs)


_results: ContextVar[Results | None] = ContextVar("results", default=None)
_noted: list[Results] = []
"""Those of the command that was called, for whoever has to speak for it."""


def unsaid() -> str | None:
    """Return what an interrupted command has to show for itself, if there was one, unless it has said so."""
    results = _noted[0] if _noted else Results()
    return None if results.said else str(results)


def say(text: str, *, err: bool = False) -> None:
    """Print text in which nothing but the ends of lines is obeyed by a terminal."""
    typer.echo(shown(text, keep="\n"), err=err)


def fail(message: str) -> NoReturn:
    """End with exit code 1."""
    typer.echo(f"error: {shown(message, keep=chr(10))}", err=True)
    raise typer.Exit(1)


@contextmanager
def clear_messages() -> Iterator[Results]:
    """Show the message of an expected error without a traceback, and say what an interrupt left behind.

    A command that calls other commands shares its results with them and says everything itself.
    """
    if (outer := _results.get()) is not None:
        yield outer
        return
    results = Results()
    _noted[:] = [results]
    token = _results.set(results)
    try:
        yield results
        interrupts.stop_listening()
    except typer.Exit:
        raise
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        if (signum := interrupts.received()) is not None:  # which some library made an error of its own
            _stop(results, 128 + signum)
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            if not all(claim.complete for claim in results.outputs):
                typer.echo(f"error: nobody reads what is printed; {results}", err=True)
            raise  # typer ends without a word
        fail(f"{_in_words(error)} ({results})" if results.any else _in_words(error))
    except KeyboardInterrupt as stop:
        _stop(results, interrupts.exit_code(stop))
    finally:
        _results.reset(token)


def _in_words(error: Exception) -> str:
    """Return an error's message; where it tells of several problems, a list with their number."""
    if isinstance(error, OSError) and error.strerror is not None:  # the system's own, not one of ours
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror.lower()
        return reason if error.filename is None else f"{error.filename}: {reason}"
    problems = getattr(error, "problems", ())
    if len(problems) < 2:
        return str(error)
    return f"{len(problems):,} problems:\n" + "\n".join(f"  {line}" for line in str(error).split("\n"))


def _nobody_reads() -> bool:
    """Return whether what is printed goes to a program that has ended, such as `head`."""
    try:
        print(flush=True)  # by trying again: other pipes break as well, and that is an error
    except BrokenPipeError:
        return True
    return False


def _stop(results: Results, code: int) -> NoReturn:
    with interrupts.held():  # who presses Ctrl-C twice reads the message too
        results.said = True
        typer.echo(f"interrupted; {results}", err=True)
    raise typer.Exit(code) from None


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
