"""Draw which folders and root modules of the package import which, and put the picture into docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hardzero"
PAGE = ROOT / "docs" / "architecture.md"
_BEGIN, _END = "<!-- imports: make graph -->\n", "<!-- /imports -->"


def imports_of(path: Path, package: Path = PACKAGE) -> Iterator[str]:
    """Absolute names of all that a file imports, inside functions too."""
    folders = [package.name, *path.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folders[: len(folders) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def layer_of(path: Path, package: Path = PACKAGE) -> str:
    """Name the folder, or the root module, that a file belongs to."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def graph(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return whom each folder and root module imports; ``__init__`` stands for the package itself."""
    files = sorted(package.rglob("*.py"))
    below: dict[str, set[str]] = {layer_of(path, package): set() for path in files}
    for path in files:
        own = layer_of(path, package)
        for name in imports_of(path, package):
            top, _, rest = name.partition(".")
            if top == package.name:
                part = rest.split(".")[0]
                below[own].add(part if part in below else "__init__")
        below[own].discard(own)
    return below


def in_order(below: dict[str, set[str]]) -> list[str]:
    """Put everyone after all that it imports; a cycle is an error."""
    placed: list[str] = []
    while len(placed) < len(below):
        ready = sorted(name for name in below if name not in placed and below[name] <= set(placed))
        if not ready:
            raise ValueError(f"imports go round in a circle among {sorted(set(below) - set(placed))}")
        placed += ready
    return placed


def picture(below: dict[str, set[str]]) -> str:
    """Draw a row for each importer and a column for each imported, both in the same order, from below."""
    order = in_order(below)
    numbers = range(1, len(order) + 1)
    width = max(map(len, order))
    lines = [" " * (width + 5) + " ".join(f"{number:2}" for number in numbers)]
    for number, name in enumerate(order, 1):
        marks = ["×" if other in below[name] else "·" for other in order[: number - 1]] + ["■"]
        lines.append(f"{number:2}  {name:{width}} " + " ".join(f"{mark:>2}" for mark in marks))
    return "\n".join(lines) + "\n"


def with_picture(text: str, drawn: str) -> str:
    """Return the page with the picture between its marks."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} lacks the marks {_BEGIN.strip()} and {_END}")
    return f"{before}{begin}```\n{drawn}```\n{end}{after}"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_picture(page, picture(graph())), encoding="utf-8")
