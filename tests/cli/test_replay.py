"""The command line on two files with one schema, the mechanisms' answers played back: the same to the byte."""

import numpy as np
import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.schema.columns import Boolean, Categorical, Numeric, Ordered, Schema, Target
from hardzero.schema.file import dumps

from ..guarantee.replay import taped

SCHEMA = dumps(
    Schema(
        (
            Numeric("age", 18, 100),
            Categorical("ward", ("a", "b", "c")),
            Boolean("smoker", "yes", "no"),
            Ordered("grade", ("low", "middle", "high")),
        ),
        Target("outcome", ("good", "bad"), "bad"),
        "zero",
    )
)
METHODS = {
    "select-refit": [],
    "private-lasso": ["--option", "n_iter=40"],
    "two-stage": [],
    "greedy": ["--option", "n_iter=10"],
}


def write_table(path, n_rows, seed):
    """Values within and beyond the bounds, listed or not, missing or not."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 130, n_rows)
    wards, yes = rng.choice(["a", "b", "c", "z", "NA"], n_rows), rng.choice(["yes", "no", "?"], n_rows)
    grades, labels = rng.choice(["low", "middle", "high", "odd"], n_rows), rng.choice(["good", "bad"], n_rows)
    rows = (",".join(map(str, row)) for row in zip(age, wards, yes, grades, labels, strict=True))
    path.write_text("age,ward,smoker,grade,outcome\n" + "\n".join(rows) + "\n")


def write_dull_table(path, n_rows):
    path.write_text("age,ward,smoker,grade,outcome\n" + "18,a,no,low,good\n" * n_rows)


def run(folder, options):
    output = CliRunner().invoke(
        app,
        [
            "fit",
            str(folder / "people.csv"),
            "--schema",
            str(folder / "people.toml"),
            "--output",
            str(folder / "model.json"),
            "--report",
            str(folder / "report.html"),
            "--force",
            *options,
        ],
    )
    assert output.exit_code == 0, output.output
    return output.stdout, output.stderr, *((folder / name).read_bytes() for name in ("model.json", "report.html"))


@pytest.mark.parametrize("shown", [[], ["--json"]], ids=["words", "json"])
@pytest.mark.parametrize("method", METHODS)
def test_another_file_gives_the_same_output(tmp_path, method, shown):
    (tmp_path / "people.toml").write_text(SCHEMA)
    options = ["--method", method, *METHODS[method], *shown]
    write_table(tmp_path / "people.csv", 300, 1)
    with taped() as tape:
        expected = run(tmp_path, options)
    assert tape.calls
    for write in (lambda path: write_table(path, 300, 2), lambda path: write_dull_table(path, 300)):
        write(tmp_path / "people.csv")
        with taped(tape):
            assert run(tmp_path, options) == expected


def test_under_add_remove_so_does_a_file_of_another_size(tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA.replace('"zero"', '"drop"'))  # rows with gaps do not count
    options = ["--neighbours", "add-remove", "--public-rows", "250"]
    write_table(tmp_path / "people.csv", 300, 1)
    with taped() as tape:
        expected = run(tmp_path, options)
    write_table(tmp_path / "people.csv", 437, 2)
    with taped(tape):
        assert run(tmp_path, options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--neighbours", "add-remove"], "--public-rows"),
        (["--public-rows", "300"], "goes with --neighbours add-remove"),
    ],
)
def test_a_public_number_of_rows_goes_with_add_remove_only(tmp_path, options, message):
    (tmp_path / "people.toml").write_text(SCHEMA)
    write_table(tmp_path / "people.csv", 30, 1)
    arguments = ["fit", "people.csv", "--schema", "people.toml", "--output", "model.json", *options]
    arguments = [str(tmp_path / part) if part.endswith((".csv", ".toml", ".json")) else part for part in arguments]
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 1
    assert message in answer.stderr
    assert not (tmp_path / "model.json").exists()
