"""Which code made a result: a fingerprint of all source that a trial's work can reach by its imports.

Comments, docstrings and layout do not count. What only carries, stores or shows results does not count either, nor
does a script's `main`, which says what is to be run.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]
_SPEAKING = ("atomic.py", "backends", "cli", "interrupts.py", "ledger", "readers", "report", "version.py")
"""Folders and files of the package on which no result of a trial depends."""
_COMPILED = ("*.pyx", "*.hpp")
_DIGITS = 12


def fingerprint(work: Callable[..., Any]) -> str:
    """Return a fingerprint of the code behind a function, or a partial of it: what it imports, and what that does.

    Parameters
    ----------
    work : callable
        A function of a module, or a `functools.partial` of one, whose arguments may be functions too.

    Returns
    -------
    str
        Twelve hexadecimal digits.

    Privacy
    -------
    Data-independent.
    """
    return _of_files(frozenset(_files_of(work)))


def _files_of(work: Any) -> Iterator[Path]:
    """The files of a function and of the functions that it is given."""
    if isinstance(work, partial):
        for part in (work.func, *work.args, *work.keywords.values()):
            yield from _files_of(part)
    elif inspect.isfunction(work):
        yield Path(inspect.getfile(work)).resolve()


@lru_cache
def _of_files(start: frozenset[Path]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted((_name_of(path), _essence(path)) for path in reached(start)):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:_DIGITS]


def reached(start: frozenset[Path]) -> set[Path]:
    """Return the files of the package, and those beside a script, that files import, directly or not.

    Privacy
    -------
    Data-independent.
    """
    found: set[Path] = set()
    waiting = set(start)
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= {other for other in _imported(path) if other not in found and not _is_speaking(other)}
        if path == _PACKAGE / "kernels" / "__init__.py":
            found |= {source for pattern in _COMPILED for source in path.parent.glob(pattern)}
    return found


def _imported(path: Path) -> Iterator[Path]:
    """The files that a file imports, inside functions too; not those of other packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _found_as(path, alias.name.split("."), 0)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _found_as(path, [*module, alias.name], node.level)


def _found_as(path: Path, names: list[str], level: int) -> Iterator[Path]:
    """The file that a dotted name means: a module, or the package that holds the name."""
    if level:
        place = path.parents[level - 1]
    elif names[0] == _PACKAGE.name:
        place, names = _PACKAGE, names[1:]
    else:
        # A script's neighbour, or one of the scripts that use it; other packages do not count.
        beside = [folder / f"{names[0]}.py" for folder in path.parents[:2]]
        if not path.is_relative_to(_PACKAGE):
            yield from [file for file in beside if file.is_file()][:1]
        return
    for name in names:
        if (place / f"{name}.py").is_file():
            yield place / f"{name}.py"
            return
        if not (place / name / "__init__.py").is_file():
            break
        place = place / name
    else:
        name = ""  # the package itself
    yield (place == _PACKAGE and _home_of(name)) or place / "__init__.py"


def _home_of(name: str) -> Path | None:
    """The file that defines a public name, which the package passes on without being all behind it."""
    module = getattr(getattr(importlib.import_module(_PACKAGE.name), name, None), "__module__", None)
    return module and Path(inspect.getfile(sys.modules[module]))


def _is_speaking(path: Path) -> bool:
    return path.is_relative_to(_PACKAGE) and path.relative_to(_PACKAGE).parts[0] in _SPEAKING


def _name_of(path: Path) -> str:
    """A name that is the same wherever the project lies."""
    return path.relative_to(_PACKAGE.parent).as_posix() if path.is_relative_to(_PACKAGE) else path.name


def _essence(path: Path) -> str:
    """The code of a Python file without comments, docstrings, layout and `main`; another file as it is."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # Strings that stand alone do nothing: docstrings, and what explains a constant.
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    tree.body = [line for line in tree.body if not (isinstance(line, ast.FunctionDef) and line.name == "main")]
    return ast.unparse(tree)


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
