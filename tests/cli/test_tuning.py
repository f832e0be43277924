"""hardzero tune."""

import json

import pytest

from hardzero.model import FittedModel
from hardzero.schema.columns import Boolean, Numeric, Schema
from hardzero.schema.file import dumps
from hardzero.schema.target import NumericTarget

from ..guarantee.replay import taped
from .test_evaluate import call
from .test_replay import SCHEMA, write_dull_table, write_table

STRATEGIES = ("all", "random-stopping")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA)
    write_table(tmp_path / "people.csv", 400, 1)
    return tmp_path


def tune(folder, *options, table="people.csv", grid="max_features=1,3"):
    return call(folder, "tune", table, "--schema", "people.toml", "-o", "model.json", "--grid", grid, *options)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_chosen_model_is_written_with_the_statement_of_the_whole(folder, strategy):
    done = tune(folder, "--epsilon", "3", "--strategy", strategy, "--json")
    assert done.exit_code == 0, done.output
    told, model = json.loads(done.stdout), FittedModel.load(folder / "model.json")
    assert (told["strategy"], told["candidates"]) == (strategy, 2)
    assert told["chosen"] in ("max_features=1", "max_features=3")
    assert told["chosen_params"]["max_features"] == model.parameters["max_features"]
    assert model.parameters["epsilon"] == 3
    assert 2.9 < told["epsilon"] == model.privacy.epsilon <= 3
    assert model.privacy.is_private
    assert "Chosen among 2 candidates" in model.privacy.notes[0]
    assert model.privacy.notes[1] in done.stderr  # said before anything is spent
    assert "score" not in done.stdout.replace("scoring", "")


def test_too_few_rows_are_told_beside_the_json(folder):
    write_table(folder / "people.csv", 60, 1)
    done = tune(folder, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["candidates"] == 2
    assert done.stderr.count("warning: too few rows: chance and noise") == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_records_with_the_same_answers_give_the_same_model(folder, strategy):
    write_dull_table(folder / "others.csv", 400)
    options = ("--strategy", strategy, "--seed", "5", "--force")
    with taped() as tape:
        done = tune(folder, *options)
    assert done.exit_code == 0, done.output
    expected = done.stdout, (folder / "model.json").read_text()
    with taped(tape):
        done = tune(folder, *options, table="others.csv")
    assert (done.stdout, (folder / "model.json").read_text()) == expected


def test_several_methods_and_a_ledger(folder):
    pytest.importorskip("sqlalchemy")
    ledger = ("--ledger", str(folder / "people.db"), "--dataset", "people")
    done = call(folder, "ledger", "init", *ledger, "--epsilon", "2", "--delta", "1e-3")
    assert done.exit_code == 0, done.output
    methods = ("--method", "select-refit", "--method", "sparsifier", "--seed", "1")
    done = tune(folder, *methods, *ledger)
    assert done.exit_code == 0, done.output
    assert "of 4 candidates" in done.stdout
    assert FittedModel.load(folder / "model.json").privacy.ledger.number == 2
    done = tune(folder, *methods, *ledger, "--epsilon", "2.5", "--force")
    assert done.exit_code == 1
    assert "has spent epsilon" in done.output


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ("epsilon=1,2", (), "epsilon is the same for all candidates"),
        ("max_features", (), "write a parameter and its values"),
        ("max_features=1,", (), "write a parameter and its values"),
        ("max_features=3", (), "two candidates or more: add --grid with a parameter and several values, or a second"),
        ("nonsense=1,2", (), "param_grid has 'nonsense'"),
        ("max_features=1,2", ("--grid", "max_features=4,5"), "has its values already"),
        ("max_features=1,2", ("--method", "lasso"), "not private"),
        ("max_features=1,2", ("--method", "select-refit", "--method", "select-refit"), "listed twice"),
        ("max_features=1,2", ("--scoring", "squared-error"), "scoring must be one of"),
        ("max_features=1,2", ("--neighbours", "add-remove"), "--public-rows"),
    ],
)
def test_what_cannot_be_is_refused_before_a_file_is_there(folder, grid, options, message):
    done = tune(folder, *options, grid=grid)
    assert done.exit_code == 1, done.output
    assert message in " ".join(done.output.split())
    assert not (folder / "model.json").exists()


def test_unknown_options_fail(folder):
    assert tune(folder, "--groups", "id").exit_code == 2


def test_a_number_is_tuned_too(folder):
    schema = Schema((Numeric("age", 18, 100), Boolean("smoker", "yes", "no")), NumericTarget("grade", 0, 10), "zero")
    (folder / "people.toml").write_text(dumps(schema))
    lines = (f"{20 + i % 70},{'yes' if i % 3 else 'no'},{i % 11}" for i in range(300))
    (folder / "people.csv").write_text("age,smoker,grade\n" + "\n".join(lines) + "\n")
    done = tune(folder, "--method", "private-lasso", "--seed", "2", "--json", grid="radius=0.5,1")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["scoring"] == "squared-error"
    assert FittedModel.load(folder / "model.json").parameters["radius"] in (0.5, 1)
