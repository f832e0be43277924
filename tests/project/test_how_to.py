"""The commands of the tutorial and of the how-to pages run, one after the other."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

typer_testing = pytest.importorskip("typer.testing")
pytest.importorskip("duckdb")
pytest.importorskip("onnx")
arrow_csv, pq = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")

from hardzero.cli import app  # noqa: E402 - needs what is asked for above

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]


def commands(page):
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        yield from block.splitlines()


def call(line):
    program, *arguments = shlex.split(line)
    assert program == "hardzero", line
    done = typer_testing.CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{line}\n{done.output}"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "people"
    call(f"hardzero demo --output {folder}")
    for name in ("adult", "adult-new"):
        pq.write_table(arrow_csv.read_csv(folder / f"{name}.csv"), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if list(commands(page))], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, people, tmp_path, monkeypatch):
    if page.stem != "tutorial":  # which makes the folder itself
        shutil.copytree(people, tmp_path / "people")
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        call(line)
        written = re.findall(r"--output (\S+)", line)
        assert all(Path(target).exists() for target in written), line


@pytest.mark.parametrize(("page", "printed"), [("tune", "radius"), ("ledger", "would be allowed")])
def test_the_blocks_of_a_page_run_in_python(page, printed, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "how-to" / f"{page}.md").read_text(), flags=re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), names)
    assert printed in capsys.readouterr().out


def test_the_first_page_shows_what_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(), flags=re.DOTALL)
    exec(compile(block, "index.md", "exec"), {})
    assert "differential privacy" in capsys.readouterr().out
