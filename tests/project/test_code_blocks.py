"""Every code block of the documents runs, page by page, or says why it does not."""

import re
import shlex
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

typer_testing = pytest.importorskip("typer.testing")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("dask.array")
pytest.importorskip("onnx")
arrow_csv, pq = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")

import typer  # noqa: E402

from hardzero.cli import app  # noqa: E402 - needs what is asked for above

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(DOCS.rglob("*.md"))
FENCE = re.compile(
    r"^(?: *<!-- (not run|file): ([^\n]*?) -->\n)? *```([^\n]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE
)
SHOWN = {"", "text", "toml"}
"""Languages of blocks that show something: trees, tables, files."""
PROGRAMS = ("dask", "hardzero", "make", "mkdocs", "pip", "pytest", "python")
PRINTED = {
    "docs/baselines.md": "zero-out neighbours",
    "docs/evaluation.md": "area under the ROC curve",
    "docs/guide.md": "1.62",  # what the published noise guarantees under replace-one
    "docs/how-to/ledger.md": "would be allowed",
    "docs/how-to/tune.md": "radius",
    "docs/index.md": "differential privacy",
    "docs/planning.md": "called reliable with probability 0.9",
    "docs/tutorial.md": "differential privacy",
}
FEW_REHEARSALS = "5"


class Block(NamedTuple):
    """A fenced block, with the remark on the line before it."""

    remark: str
    said: str
    language: str
    text: str


def blocks(page):
    return [Block(*found) for found in FENCE.findall(page.read_text())]


def name_of(page):
    return str(page.relative_to(ROOT))


def is_run(block):
    return block.remark != "not run" and block.language not in SHOWN


def lines_of(block):
    """Commands, one a line unless a backslash ends it; without their comments."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def call(arguments):
    if arguments[0] == "plan":
        arguments = [*arguments, "--repeats", FEW_REHEARSALS]  # the last one counts
    done = typer_testing.CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{shlex.join(arguments)}\n{done.output}"
    print(done.output)


def obey(words):
    """Run a line of hardzero; of `make` and `pip`, which would begin all anew, look whether there is such a thing."""
    program, *arguments = words
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        assert set(arguments) <= set(targets), words
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        (named,) = re.findall(r"^(?:hardzero|\.)\[([\w,]+)\]$", arguments[-1])
        assert set(named.split(",")) <= set(extras), words
    else:
        assert program == "hardzero", f"{shlex.join(words)}: the tests cannot run this; say `<!-- not run: why -->`"
        call(arguments)
        for option, target in pairwise(arguments):
            assert option not in ("--output", "--report", "--page") or Path(target).exists(), words


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """The folder that `hardzero demo` makes, its tables in other formats too."""
    folder = tmp_path_factory.mktemp("demo") / "people"
    call(["demo", "--output", str(folder)])
    for name in ("adult", "adult-new"):
        pq.write_table(arrow_csv.read_csv(folder / f"{name}.csv"), folder / f"{name}.parquet")
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.execute(f"CREATE TABLE person AS SELECT * FROM '{folder / 'adult.parquet'}'")
    return folder


def given(page):
    """What a page's code takes for granted: the reader's own table."""
    if name_of(page) != "README.md":
        return {}
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 5))
    return {"X": X, "y": np.where(X[:, 0] > 0, "yes", "no"), "lower": -1.0, "upper": 1.0}


@pytest.mark.parametrize("page", [page for page in PAGES if any(map(is_run, blocks(page)))], ids=name_of)
def test_the_blocks_of_a_page_run_one_after_the_other(page, people, tmp_path, monkeypatch, capsys):
    makes_the_folder = any("hardzero demo --output people" in block.text for block in blocks(page))
    if not makes_the_folder:
        shutil.copytree(people, tmp_path / "people")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__", **given(page)}
    for block in blocks(page):
        if block.remark == "file":
            Path(block.said).write_text(block.text)
        elif is_run(block) and block.language == "python":
            exec(compile(block.text, page.name, "exec"), names)
        elif is_run(block):
            for words in lines_of(block):
                obey(words)
    assert PRINTED.get(name_of(page), "") in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run_shown_or_says_why_not(page):
    assert len(blocks(page)) == len(re.findall(r"^ *```", page.read_text(), flags=re.MULTILINE)) / 2
    for block in blocks(page):
        assert block.language in SHOWN | {"python", "sh"}, f"nobody knows what to do with {block.language!r}"
        if block.remark == "not run":
            assert len(block.said) > 20, "say why, and what tests it instead"
            for path in re.findall(r"(?:tests|experiments)/[\w/]+\.py", block.said):
                assert (ROOT / path).exists(), path
        if block.language in ("", "text"):
            first = [line.split()[0] for line in block.text.splitlines() if line.split()]
            assert not set(first) & set(PROGRAMS), f"these are commands, mark them as sh:\n{block.text}"
        if block.language == "toml":
            tomllib.loads(block.text)


def test_few_blocks_are_not_run():
    every = [block for page in PAGES for block in blocks(page)]
    skipped = [block for block in every if block.remark == "not run"]
    assert sum(map(is_run, every)) >= 45
    assert len(skipped) <= 8, [block.said for block in skipped]
    assert not [block for block in skipped if block.language == "python"]


def examples_of_commands():
    """The example of each command, as the reference of the command line shows it."""
    groups = [typer.main.get_command(app)]
    while groups:
        for command in groups.pop().commands.values():
            if hasattr(command, "commands"):
                groups.append(command)
            elif not command.hidden:
                yield command, command.epilog.removeprefix("Example: ")


@pytest.fixture(scope="module")
def own_table(people, tmp_path_factory):
    """A folder with all files that examples of commands name."""
    folder = tmp_path_factory.mktemp("own")
    for name, copied in (("people.csv", "adult.csv"), ("people.toml", "adult.toml"), ("test.csv", "adult-new.csv")):
        shutil.copy(people / copied, folder / name)
    head, *rows = (people / "adult-new.csv").read_text().splitlines()
    numbered = [f"id,{head}", *(f"{number},{row}" for number, row in enumerate(rows))]
    (folder / "new-people.csv").write_text("\n".join(numbered) + "\n")
    saved = {block.said: block.text for block in blocks(DOCS / "how-to" / "schema.md") if block.remark == "file"}
    (unknown,) = (block.text for block in blocks(DOCS / "bounds.md") if block.remark == "file")
    (folder / "unknown.toml").write_text(unknown)
    (folder / "people.names").write_text(saved["book.names"])
    (folder / "bounds.csv").write_text(saved["bounds.csv"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ledger = ["--ledger", "people.db", "--dataset", "people"]
        call(["ledger", "init", *ledger, "--epsilon", "3", "--delta", "1e-6"])
        call(["fit", "people.csv", "--schema", "people.toml", *ledger, "--output", "model.json"])
    return folder


@pytest.mark.parametrize(
    ("command", "example"), list(examples_of_commands()), ids=lambda case: getattr(case, "name", "")
)
def test_the_example_of_a_command_runs(command, example, own_table, tmp_path, monkeypatch):
    words = shlex.split(example)
    shutil.copytree(own_table, tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    if command.name == "reproduce":  # takes minutes, and tables that may be missing
        command.make_context(command.name, words[2:])
        return
    for made in re.findall(r"(?:--output|-o) (\S+)", example) + ["people.db"] * (words[1:3] == ["ledger", "init"]):
        Path(made).unlink(missing_ok=True)
    obey(words)
