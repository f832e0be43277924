"""What the documents name must exist, and what docstrings show must run."""

import doctest
import importlib
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SCRIPTS = [
    path
    for folder in ("benchmarks", "examples", "experiments", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
NAMING_PATHS = [
    *PAGES,
    ROOT / "Makefile",
    *sorted((ROOT / ".github").rglob("*.yml")),
    # Folders with a dot hold environments of other packages.
    *(path for path in SCRIPTS if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)),
]
SOURCE = sorted((ROOT / "src" / "hardzero").rglob("*.py"))
ABOUT_THE_SOURCE = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md", ROOT / "docs" / "trusted-base.md"]
MADE_BY_MAKE = {"site/"}


def name_of(path):
    return str(path.relative_to(ROOT))


def every(paths):
    return pytest.mark.parametrize("path", paths, ids=name_of)


def is_there(place):
    """Paths are written from the root of the project, or of the package."""
    return place in MADE_BY_MAKE or any((ROOT / folder / place).exists() for folder in (".", "src", "src/hardzero"))


def missing(places):
    return sorted({place for place in places if not is_there(place)})


def drawn_paths(tree):
    """The paths of a tree drawn by indenting: two blanks for every folder."""
    folders = []
    for depth, name in re.findall(r"^((?:  )*)([\w.]+(?:\.py|/))(?= |$)", tree, flags=re.MULTILINE):
        del folders[len(depth) // 2 :]
        yield "".join([*folders, name])
        folders.append(name)


@pytest.mark.parametrize("path", [path for path in SOURCE if ">>> " in path.read_text()], ids=name_of)
def test_docstring_examples(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_linked_page_exists():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@every(ABOUT_THE_SOURCE)
def test_every_path_in_a_code_span_exists(path):
    spans = re.findall(r"`([\w./-]+(?:\.(?:py|pyx|hpp|md|toml|yml)|/))`", path.read_text())
    assert len(spans) > 5
    assert not missing(spans)


@every(NAMING_PATHS)
def test_every_path_that_names_its_folder_exists(path):
    named = re.findall(
        r"(?<![\w/])((?:tests|src|tools|benchmarks|examples|experiments|hardzero)/[\w/.-]+\.py)\b", path.read_text()
    )
    assert not missing(named)


def test_every_proof_names_tests():
    for page in sorted((ROOT / "docs" / "proofs").glob("*.md")):
        assert re.search(r"`tests/[\w/]+\.py`", page.read_text()), page.name


def test_the_tree_of_the_architecture_is_that_of_the_source():
    """Every path that it draws exists, and every folder and root module of the package is drawn."""
    page, package = (ROOT / "docs" / "architecture.md").read_text(), ROOT / "src" / "hardzero"
    (tree,) = re.findall(r"^```\nsrc/hardzero/\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    drawn = set(drawn_paths(textwrap.dedent(tree)))
    assert not missing(f"src/hardzero/{place}" for place in drawn)
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert folders | {path.name for path in package.glob("*.py")} <= drawn


@every([path for path in PAGES if "hardzero" in path.read_text()])
def test_every_name_of_the_package_that_a_page_uses_exists(path):
    text = path.read_text()
    for line in re.findall(r"^(?:from hardzero[\w.]* import .+|import hardzero.*)$", text, flags=re.MULTILINE):
        exec(line, {})
    for name in re.findall(r"`(hardzero(?:\.\w+)+)`", text):
        pkgutil.resolve_name(name)
