"""What a terminal or a pipe makes of the command line, and what is said of errors of the system."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from hardzero.cli import app

from ..models import made_up, made_up_with_schema


def call(*arguments):
    return CliRunner().invoke(app, arguments)


def run(*arguments, folder, **environment):
    """A process of its own, whose output nobody has read yet."""
    return subprocess.Popen(
        [sys.executable, "-m", "hardzero", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def model(tmp_path):
    made_up(names=("größe", "ε"), coef=((0.5, -2.0),)).save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.mark.skipif(os.name == "nt", reason="a pipe of POSIX")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_who_stops_reading_is_told_nothing(model, more):
    process = run("inspect", model, *more, folder=model.parent)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 1


@pytest.mark.skipif(os.name == "nt", reason="a pipe of POSIX")
def test_what_is_lost_with_it_is_said(model):
    made_up_with_schema().save(model.parent / "m.json")
    lines = "40,9,yes,elective,some,good\n60,9,no,emergency,none,bad\n" * 50
    (model.parent / "people.csv").write_text(f"age,gain,smoker,admission,activity,outcome\n{lines}")
    process = run("evaluate", "m.json", "people.csv", "--epsilon", 1, "--report", "page.html", folder=model.parent)
    process.stdout.close()
    said = process.stderr.read().decode()
    assert "error: nobody reads what is printed; nothing was written" in said
    assert "its privacy budget is spent" in said
    assert process.wait(60) == 1


def test_pipes_that_break_elsewhere_are_errors(model, monkeypatch):
    def broken(*arguments):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("hardzero.model.FittedModel.load", broken)
    result = call("inspect", str(model))
    assert (result.exit_code, result.stderr) == (1, "error: broken pipe\n")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_letters_that_a_terminal_does_not_have_are_replaced(model, encoding):
    said, error = run("inspect", model, folder=model.parent, PYTHONIOENCODING=encoding).communicate()
    assert error == b""
    assert "größe".encode(encoding) in said
    assert b"?" in said
    said, error = run("fit", "--help", folder=model.parent, PYTHONIOENCODING=encoding).communicate()
    assert (error, b"The guarantee's ?." in said) == (b"", True)
    said, error = run("inspect", model, "--json", folder=model.parent, PYTHONIOENCODING=encoding).communicate()
    assert error == b""
    assert json.loads(said)["kept"] == ["größe", "ε"]


def test_errors_of_the_system_are_said_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for arguments, said in (
        (("inspect", "nope.json"), "nope.json: there is no such file"),
        (("inspect", "."), ".: is a directory"),
        (("report", "nope.json", "-o", "page.html"), "nope.json: there is no such file"),
        (
            ("ledger", "verify", "--receipt", "nope.json", "--ledger", "l.db", "--dataset", "d"),
            "nope.json: there is no such file",
        ),
        (("demo", "-o", "file/x"), "cannot make the folder file/x: not a directory; choose a place that you may"),
        (("predict", "m.json", "-o", "out.csv", "--names", "a,b"), "m.json: there is no such file"),
        (("fit", "--schema", "s.toml", "-o", "m.json"), "s.toml: there is no such file"),
    ):
        result = call(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"error: {said}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
