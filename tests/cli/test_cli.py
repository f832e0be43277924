"""The command line: help at once, clear refusals, and the smallest reproduction of everything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hardzero
from hardzero import datasets
from hardzero.cli import app
from hardzero.privacy.budget import Neighbours
from hardzero.readers import FileFormat
from hardzero.reproduce import experiments
from hardzero.reproduce.trials import Runner

SLOW_TO_LOAD = ["numpy", "scipy", "sklearn", "matplotlib", "pandas", "pyarrow", "hardzero.reproduce"]


def call(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    monkeypatch.setenv("HARDZERO_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["fit", "--help"], ["reproduce", "--help"], ["version", "--help"], ["version"], ["--version"]],
)
def test_help_loads_nothing_slow(arguments):
    code = f"""
import sys
sys.argv = ["hardzero", *{arguments!r}]
from hardzero.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code
print("LOADED", *(name for name in {SLOW_TO_LOAD!r} if name in sys.modules))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1].split() == ["LOADED"]


@pytest.mark.parametrize(("option", "choices"), [("--format", FileFormat), ("--neighbours", Neighbours)])
def test_choices_are_those_of_the_library(option, choices):
    refused = call("fit", "t.csv", "--schema", "t.toml", "--output", "m.json", option, "nonsense")
    assert refused.exit_code == 2
    assert re.findall(r"'([a-z-]+)'", refused.output.partition("is not one of")[2]) == [one.value for one in choices]


@pytest.mark.parametrize("command", ["reproduce", "version"])
def test_every_command_has_an_example(command):
    assert "Example: hardzero" in call(command, "--help").output


def test_version():
    assert call("version").output.strip() == hardzero.__version__
    asked = call("--version")
    assert (asked.exit_code, asked.output.strip()) == (0, hardzero.__version__)


@pytest.mark.parametrize(
    "command",
    [
        "bounds --schema s.toml --epsilon 1",
        "fit --schema s.toml",
        "tune --schema s.toml",
        "predict model.json",
        "evaluate model.json --epsilon 1",
        "schema init",
    ],
)
def test_files_of_a_pattern_without_quotes_are_refused_with_advice(command):
    result = call(*command.split(), "-o", "o", "1.csv", "2.csv", "3.csv")
    words = " ".join(result.output.replace("│", " ").split())
    assert result.exit_code == 2
    assert "(2.csv 3.csv). Several files are named by one pattern, in quotes" in words
    assert "Several files are named" in call("schema", "check", "s.toml", "1.csv", "2.csv").output
    assert "Several files" not in call("version", "1.csv").output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reproduce", "table3"], 2, "table3"),
        (["reproduce", "table1", "--trials", "0"], 2, "--trials"),
        (["reproduce", "table1", "--trials", "many"], 2, "--trials"),
        (["reproduce", "table1", "--jobs", "0"], 2, "--jobs"),
        (["reproduce", "table1", "--data", "iris"], 1, "use one of: splice"),
        (["reproduce", "table2", "--data", "splice"], 1, "HARDZERO_DATA"),
        (["reproduce", "figure5"], 1, "kddcup"),
    ],
)
def test_mistakes_are_refused_in_plain_words(arguments, code, words, without_data, tmp_path):
    result = call(*arguments, "--output", str(tmp_path / "out"))
    assert result.exit_code == code
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("missing", "arguments", "advice"),
    [
        ("typer", ["version"], "hardzero[cli]"),
        ("matplotlib", ["reproduce", "figure1"], "hardzero[reproduce]"),
    ],
)
def test_a_missing_extra_is_named(missing, arguments, advice):
    code = f"""
import sys
sys.modules[{missing!r}] = None  # importing it now fails
sys.argv = ["hardzero", *{arguments!r}]
from hardzero.__main__ import main
main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert missing in result.stderr
    assert f"pip install '{advice}'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_damaged_result_file_is_named(without_data, tmp_path):
    (tmp_path / "tables.jsonl").write_text("nonsense\n")
    result = call("reproduce", "table1", "--data", "synthetic", "--output", str(tmp_path))
    assert result.exit_code == 1
    assert "tables.jsonl, line 1" in result.output


def test_an_interrupt_says_how_to_go_on(without_data, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    result = call("reproduce", "figure1", "--output", str(tmp_path))
    assert result.exit_code == 130
    assert "run the same command again" in result.output


@pytest.mark.slow
def test_all_of_it_as_small_as_it_gets_without_data_files(without_data, tmp_path, monkeypatch):
    smallest = experiments.Effort(1, 50, 1, 1, (0,), (4.0,), (1.0,))
    monkeypatch.setattr(experiments, "quick", lambda trials: smallest)
    arguments = ("reproduce", "all", "--quick", "--jobs", "2", "--output", str(tmp_path / "out"))
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    for name in set(experiments.DATA_SETS) - {"synthetic"}:
        assert f"skipped in the tables: {name}," in result.output
    assert "skipped: figure5" in result.output
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    tables = {f"table{number}.{ending}" for number in (1, 2) for ending in ("md", "csv")}
    pictures = {f"figure{number}.{ending}" for number in (1, 2, 3, 4) for ending in ("md", "csv", "png", "svg")}
    assert set(written) == tables | pictures | {"tables.jsonl", "synthetic.jsonl"}
    assert written["table2.md"].decode().splitlines()[2].startswith("| synthetic | 1 | **85.17** / **93.28** (16) |")

    monkeypatch.setattr(Runner, "results", None)  # any work would fail
    assert call(*arguments).exit_code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == written


@pytest.mark.slow
def test_a_table_row_of_a_real_data_set(tmp_path):
    if experiments.missing(["splice"]):
        pytest.skip("the files of 'splice' are not here; set HARDZERO_DATA to their folder")
    options = ("--quick", "--trials", "1", "--data", "splice", "--jobs", "1", "--output", str(tmp_path))
    result = call("reproduce", "table2", *options)
    assert result.exit_code == 0, result.output
    assert Path(tmp_path / "table2.md").read_text().count("| splice |") == 1


def test_data_sets_of_the_experiments_are_known():
    assert set(experiments.DATA_SETS) - {"synthetic"} <= set(datasets.origins())
