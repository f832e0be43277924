"""Examples as cells: a script is cut at its `# %%` lines, and run in a process of its own, cell by cell.

Run: python docs/_hooks/cells.py SCRIPT FOLDER (the build does) writes cells.json and pictures to the folder.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_CUT = "# %%"
WRITTEN = "cells.json"


@dataclass(frozen=True)
class Cell:
    """Text in Markdown, and code with the number of its first line."""

    text: str
    code: str
    line: int


@dataclass(frozen=True)
class Shown:
    """What the reader of a page sees of a cell; pictures are names of files with what they show."""

    text: str
    code: str
    printed: str
    pictures: list[tuple[str, str]]


def heading(source: str) -> tuple[str, str]:
    """Return an example's title and introduction: the first line of its docstring, and the rest."""
    title, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    return title.strip(), rest.strip()


def cells_of(source: str) -> list[Cell]:
    """Return the cells behind the docstring: comments at the top of a cell are text, what follows is code."""
    lines = source.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(_CUT)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        code = start + 1
        while code < end and lines[code].startswith("#"):
            code += 1
        text = [re.sub(r"^# ?", "", line) for line in lines[start + 1 : code]]
        found.append(Cell("\n".join(text), "\n".join(lines[code:end]).strip("\n"), _first_line(lines, code)))
    return found


def _first_line(lines: list[str], start: int) -> int:
    while start < len(lines) and not lines[start]:
        start += 1
    return start


def run(script: Path, folder: Path) -> list[Shown]:
    """Run a script and keep what each cell prints and draws."""
    import matplotlib as mpl  # noqa: PLC0415 - a build from the cache needs none

    mpl.use("svg")
    import matplotlib.pyplot as plt  # noqa: PLC0415
    from pictures import described, save, style  # noqa: PLC0415

    mpl.rcParams.update(style())
    plt.show = lambda *_, **__: None  # what is drawn is saved below
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(script)}
    shown = []
    for number, cell in enumerate(cells_of(script.read_text(encoding="utf-8"))):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            # With its place in the file, so that a traceback names the right line.
            exec(compile("\n" * cell.line + cell.code, str(script), "exec"), names)
        pictures = []
        for figure in map(plt.figure, plt.get_fignums()):
            pictures.append((f"{script.stem}-{number}-{figure.number}.svg", described(figure)))
            save(figure, folder / pictures[-1][0])
        plt.close("all")
        shown.append(Shown(cell.text, cell.code, printed.getvalue().rstrip("\n"), pictures))
    return shown


def main() -> None:
    """Run the script that is named, in a folder where its files are in nobody's way."""
    script, folder = (Path(name).resolve() for name in sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        shown = run(script, folder)
    (folder / WRITTEN).write_text(json.dumps([asdict(cell) for cell in shown]), encoding="utf-8")


if __name__ == "__main__":
    main()
