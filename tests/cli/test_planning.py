"""The command that plans."""

import json

import pytest
from typer.testing import CliRunner

from hardzero.cli import app

TABLE = ("--rows", 2000, "--features", 20)


def call(*arguments):
    return CliRunner().invoke(app, ["plan", *(str(argument) for argument in arguments)])


def test_a_plan_in_words_and_for_machines():
    words, machines = (call(*TABLE, "--epsilon", 4, "--repeats", 5, *more) for more in ((), ("--json",)))
    assert (words.exit_code, machines.exit_code) == (0, 0)
    assert "2,000 rows, 20 features, epsilon = 4" in words.output
    assert json.loads(machines.output)["epsilon"] == 4


def test_what_is_supposed_is_printed():
    answer = call("--rows", 500, "--features", 8, "--repeats", 5, "--correlation", 0.4, "--effects", 3)
    assert "neighbours correlate by 0.4" in answer.output
    assert "3 real effects of equal strength, on neighbours" in " ".join(answer.output.split())


def test_what_an_effect_needs():
    asked = (*TABLE, "--find-effect", 9, "--share", 0.2, "--repeats", 5)
    found = json.loads(call(*asked, "--json").output)
    assert found["needed_epsilon"] > 0
    assert found["needed_rows"] > 100
    assert "a category of 20 % of the rows, with probability 0.9" in call(*asked).output


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_a_picture_is_written_once(tmp_path, ending):
    path = tmp_path / f"utility.{ending}"
    asked = ("--rows", 200, "--features", 4, "--repeats", 5, "--picture", path)
    assert call(*asked).exit_code == 0
    assert "<svg" in path.read_text()
    again = call(*asked)
    assert again.exit_code == 1
    assert "exists already" in again.output


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--rows", 2000), "--features, or which with --schema"),
        ((*TABLE, "--share", 0.1), "--share goes with --find-effect"),
        ((*TABLE, "--find-effect", 2, "--picture", "x.svg"), "leave it out, or --find-effect"),
        ((*TABLE, "--picture", "x.png"), "ends in .svg or .html"),
        ((*TABLE, "--accuracy", 0.3), "accuracy must be above 0.5"),
        ((*TABLE, "--correlation", 1.5), "correlation must lie strictly between 0 and 1"),
        ((*TABLE, "--schema", "x.toml"), "not both"),
        (("--rows", 10**11, "--features", 3), "--rows must be at most 1073741824"),
        (("--rows", 2000, "--features", 10**6), "--features must be at most 20000"),
        (("--rows", 2000, "--features", 10, "--effects", 20), "effects must be at most 10"),
    ],
)
def test_what_cannot_be_planned_is_refused(asked, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*asked)
    assert result.exit_code == 1
    assert message in result.output
    assert not list(tmp_path.iterdir())
