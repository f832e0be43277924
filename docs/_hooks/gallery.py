"""The gallery: every `examples/plot_*.py` becomes a page with its text, its code, what it printed and what it drew.

Examples are run in processes of their own. What they gave is kept in `.cache/gallery` under a fingerprint of the
script, the package and the packages that it needs, so that a build runs only what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cells import WRITTEN, Shown, heading
from mkdocs.exceptions import PluginError

import hardzero

GALLERY = "examples"
_ROOT = Path(__file__).resolve().parents[2]
_CACHE = _ROOT / ".cache" / "gallery"
_PACKAGE = Path(hardzero.__file__).parent
_SOURCES = (".py", ".pyx", ".hpp")
_OTHERS = ("numpy", "scipy", "scikit-learn", "matplotlib", "dask")


@dataclass(frozen=True)
class Example:
    """A script, and what it gave."""

    script: Path
    title: str
    introduction: str
    cells: list[Shown]
    pictures: dict[str, str]

    @property
    def page(self) -> str:
        """The page's name."""
        return f"{self.script.stem.removeprefix('plot_')}.md"


def scripts() -> list[Path]:
    """Return all examples."""
    return sorted((_ROOT / "examples").glob("plot_*.py"))


@cache
def examples() -> list[Example]:
    """Return all examples with what they gave, run where that is not known, one on each processor."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_example, scripts()))


def gallery_section() -> list[dict[str, str]]:
    """Return the gallery's part of the navigation."""
    pages = [{"Overview": f"{GALLERY}/index.md"}]
    for script in scripts():
        title, _ = heading(script.read_text(encoding="utf-8"))
        pages.append({title: f"{GALLERY}/{script.stem.removeprefix('plot_')}.md"})
    return pages


def gallery_files() -> dict[str, str]:
    """Return pages of examples and their pictures, by their paths."""
    files = {}
    for example in examples():
        files[f"{GALLERY}/{example.page}"] = _page(example)
        files |= {f"{GALLERY}/{name}": svg for name, svg in example.pictures.items()}
    return files


def _example(script: Path) -> Example:
    source = script.read_text(encoding="utf-8")
    folder = _CACHE / f"{script.stem}-{_fingerprint(script)}"
    if not folder.exists():
        _run(script, folder)
    cells = [Shown(**cell) for cell in json.loads((folder / WRITTEN).read_text(encoding="utf-8"))]
    pictures = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))}
    return Example(script, *heading(source), cells, pictures)


def _fingerprint(script: Path) -> str:
    """All on which an example's page can depend: comments of the package too, for they cost a build and no care."""
    digest = hashlib.sha256()
    beside = sorted(Path(__file__).parent.glob("*.py"))
    package = sorted(path for path in _PACKAGE.rglob("*") if path.suffix in _SOURCES)
    for path in (script, *beside, *package):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(" ".join([sys.version, *(version(name) for name in _OTHERS)]).encode())
    return digest.hexdigest()[:12]


def _run(script: Path, folder: Path) -> None:
    """Run an example; the folder is there completely or not at all, and those of earlier code go."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        command = [sys.executable, str(Path(__file__).with_name("cells.py")), str(script), str(made)]
        alone = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PluginError(f"examples/{script.name} does not run:\n{done.stderr}")
        for earlier in _CACHE.glob(f"{script.stem}-*"):
            if earlier != folder:
                shutil.rmtree(earlier, ignore_errors=True)
        if not folder.exists():  # another build may have been faster
            made.rename(folder)


def _page(example: Example) -> str:
    parts = [f"# {example.title}", example.introduction]
    for cell in example.cells:
        parts.append(cell.text)
        if cell.code:
            parts.append(f"```python\n{cell.code}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed}\n```")
        parts += [f"![{words}]({name})" for name, words in cell.pictures]
    parts.append(f"Run it: `python examples/{example.script.name}`.")
    return "\n\n".join(part for part in parts if part) + "\n"


def overview() -> str:
    """Return first picture, title and introduction of every example."""
    entries = []
    for example in examples():
        name, words = next(picture for cell in example.cells for picture in cell.pictures)
        sentence = " ".join(example.introduction.split())
        picture, title = f"[![{words}]({name})]({example.page})", f"**[{example.title}]({example.page})**"
        entries.append(f"- {picture}\n\n    {title}\n\n    {sentence}")
    return '<div class="gallery" markdown="1">\n\n' + "\n\n".join(entries) + "\n\n</div>\n"
