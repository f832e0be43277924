"""Pages of results: tables put between the markers of a page whose other text is written by hand and kept."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hardzero.reproduce.summaries import markdown_table
from hardzero.reproduce.trials import mean_and_error

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]
Content = tuple[list[str], list[list[str]]]
Tables = Mapping[str, Callable[[Path], Content | None]]
"""For each marker what makes its table from the folder of result rows, or None if nothing was run."""


def average(rows: Iterable[Row], name: str, digits: int = 2) -> str:
    """``mean ± standard error`` of a field, over the rows that have it."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return "–"
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if len(values) > 1 else "")


def filled(page: str, tables: Tables, results: Path) -> str:
    """The page with the newest results between its markers."""
    for name, make in tables.items():
        content = make(results)
        block = markdown_table(*content) if content else "Not run yet."
        pattern = f"<!-- {name} -->\n.*?<!-- /{name} -->"
        text = f"<!-- {name} -->\n{block}\n<!-- /{name} -->"
        page, found = re.subn(pattern, lambda _, text=text: text, page, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"the page needs the markers of {name} exactly once")
    return page


def printed(tables: Tables, results: Path) -> None:
    """All tables to the terminal."""
    console = Console(width=200)
    for name, make in tables.items():
        content = make(results)
        if content:
            table = Table(*content[0], title=name)
            for line in content[1]:
                table.add_row(*line)
            console.print(table)


def command(description: str, pages: Mapping[Path, Tables]) -> None:
    """What a report does when it is called: fill its pages, or print."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="show the tables and write nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result rows")
    arguments = parser.parse_args()
    for page, tables in pages.items():
        if arguments.print:
            printed(tables, arguments.results)
        else:
            page.write_text(filled(page.read_text(), tables, arguments.results))
