"""hardzero bounds, fit --bounds-epsilon, and what models say about bounds that were released."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from hardzero import FittedModel, load_schema
from hardzero.cli import app
from hardzero.model.evaluation import Evaluation
from hardzero.privacy import accounting

from ..guarantee.replay import taped

SCHEMA = """
[target]
name = "y"
classes = ["no", "yes"]
positive = "yes"

[missing]
policy = "zero"

[columns.age]
type = "numeric"
range = "private"
lower = 0

[columns.debt]
type = "numeric"
range = "private"

[columns.smoker]
type = "boolean"
true = "y"
false = "n"
"""


def write_table(path, n_rows=3_000, seed=0):
    rng = np.random.default_rng(seed)
    age, debt = rng.integers(18, 95, n_rows), rng.normal(0, 5_000, n_rows).round()
    labels = np.where(rng.random(n_rows) < 1 / (1 + np.exp((50 - age) / 10)), "yes", "no")
    rows = zip(
        age, np.where(rng.random(n_rows) < 0.05, "?", debt), rng.choice(["y", "n"], n_rows), labels, strict=True
    )
    path.write_text("age,debt,smoker,y\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")


def call(folder, command, *options):
    """Run a command; names of files are those in the folder."""
    arguments = [str(folder / part) if re.search(r"\.(csv|toml|json|html|db)$", part) else part for part in options]
    return CliRunner().invoke(app, [command, *arguments])


def done(folder, command, *options):
    result = call(folder, command, *options)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def folder(tmp_path):
    """A table, and a schema that does not know two of its ranges."""
    (tmp_path / "people.toml").write_text(SCHEMA)
    write_table(tmp_path / "people.csv")
    return tmp_path


BOUNDS = ("bounds", "people.csv", "--schema", "people.toml", "--epsilon", "0.8", "-o", "bounded.toml")
FIT = ("fit", "people.csv", "-o", "model.json", "--schema")
TUNE = ("tune", "people.csv", "-o", "model.json", "--grid", "max_features=1,2", "--schema")


def test_bounds_are_printed_and_written_with_their_price(folder):
    said = done(folder, *BOUNDS, "--seed", "1").stdout  # one release in fifty has bounds further out
    schema = load_schema(folder / "bounded.toml")
    age, debt, _ = schema.columns
    assert (age.lower >= 0, age.upper <= 150, -30_000 <= debt.lower < 0 < debt.upper <= 30_000) == (True, True, True)
    assert f"age: {age.lower:g} to {age.upper:g} (up to" in said
    assert "(0.8, 6.09e-06)-differential privacy" in said
    assert schema.bounds[0].columns == ("age", "debt")
    found = json.loads(done(folder, *BOUNDS, "--force", "--json").stdout)
    assert set(found["bounds"]) == {"age", "debt"}
    assert found["privacy"]["is_private"]
    assert found["schema"] == str(folder / "bounded.toml")


def test_a_schema_in_json_stays_one(folder):
    done(folder, *BOUNDS[:-1], "bounded.json")
    assert json.loads((folder / "bounded.json").read_text())["bounds"]["1"]["rows"] == 3_000


def test_a_model_states_what_its_bounds_cost_and_what_both_cost(folder):
    done(folder, *BOUNDS)
    options = ("--delta", "1e-6", "--report", "page.html")
    found = json.loads(done(folder, *FIT, "bounded.toml", *options, "--json").stdout)
    privacy = FittedModel.load(folder / "model.json").privacy
    total = accounting.spent(privacy.events, 1e-6).epsilon
    assert privacy.epsilon == found["epsilon"] == total
    assert 1 < total < 1.8
    assert found["bounds"][0]["columns"] == ["age", "debt"]
    said = done(folder, "inspect", "model.json").stdout
    assert "bounds of 2 columns with Gaussian noise" in said
    assert "This fit alone costs (1, 1e-06)" in said
    assert "bounds that were not released" in said
    page = (folder / "page.html").read_text()
    assert "bounds of 2 columns with Gaussian noise" in page
    assert "if the same people are in both tables" in page


def test_both_at_once(folder):
    done(folder, *FIT, "people.toml", "--bounds-epsilon", "0.8", "--shape", "steps")
    model = FittedModel.load(folder / "model.json")
    assert model.privacy.events[0].what == "bounds of 2 columns"
    assert 1 < model.privacy.epsilon < 1.8
    assert len(model.schema.columns[0].cuts) > 10


def test_rows_set_aside_pay_for_the_bounds_too(folder):
    done(folder, *FIT, "people.toml", "--bounds-epsilon", "0.8", "--holdout", "0.3")
    model, found = FittedModel.load(folder / "model.json"), Evaluation.load(folder / "model-evaluation.json")
    assert found.privacy.events[0] == model.privacy.events[0]
    dearer = max(model.privacy.epsilon, found.privacy.epsilon)
    assert min(model.privacy.epsilon, found.privacy.epsilon) > 1.1
    assert f"what the dearer one costs: ({dearer:.4g}," in repr(found.privacy)


def test_a_seed_is_stamped_on_bounds_and_on_models_that_use_them(folder):
    assert "NOT PRIVATE" in done(folder, *BOUNDS, "--seed", "1").stdout
    assert "NOT PRIVATE" in done(folder, *FIT, "bounded.toml").stdout


@pytest.mark.parametrize("way", ["bounds", "fit"])
def test_another_file_gives_the_same_output(folder, way):
    command = BOUNDS if way == "bounds" else (*FIT, "people.toml", "--bounds-epsilon", "0.8", "--report", "page.html")
    files = ["bounded.toml"] if way == "bounds" else ["model.json", "page.html"]

    def run():
        result = done(folder, *command, "--force")
        return result.stdout, result.stderr, *((folder / name).read_bytes() for name in files)

    with taped() as tape:
        expected = run()
    assert tape.calls[0].mechanism == "gaussian"
    write_table(folder / "people.csv", seed=7)
    with taped(tape):
        assert run() == expected
    (folder / "people.csv").write_text("age,debt,smoker,y\n" + "20,-3,n,no\n" * 3_000)
    with taped(tape):
        assert run() == expected


def test_ledger_entries_for_bounds_and_fit_of_one_data_set(folder):
    pytest.importorskip("sqlalchemy")
    account = ("--ledger", "ledger.db", "--dataset", "people")
    made = CliRunner().invoke(
        app,
        ["ledger", "init", "--dataset", "people", "--ledger", str(folder / "ledger.db"), "--epsilon", "2",
         "--delta", "1e-5", "--schema", str(folder / "people.toml")],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    done(folder, *BOUNDS, "--delta", "1e-6", *account)
    schema = load_schema(folder / "bounded.toml")
    assert schema.bounds[0].receipt[:2] == ("people", 2)
    done(folder, *FIT, "bounded.toml", "--delta", "1e-6", *account)
    model = FittedModel.load(folder / "model.json")
    assert model.privacy.ledger.number > 2
    assert "entry 2 of the data set 'people'" in repr(model.privacy)
    asked = ("--bounds-epsilon", "0.9", "--epsilon", "1.5", "--delta", "1e-6", "--force")
    refused = call(folder, *FIT, "people.toml", *asked, *account)
    assert refused.exit_code == 1
    assert "people" in refused.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((*FIT, "people.toml"), r"columns\.age\.range: is private.*--bounds-epsilon"),
        ((*FIT, "known.toml", "--bounds-epsilon", "1"), 'the schema has none; leave it out'),
        ((*FIT, "people.toml", "--bounds-epsilon", "0"), "epsilon must be"),
        ((*FIT, "people.toml", "--bounds-epsilon", "0.01"), "cannot tell bounds of 2 columns from 3000 rows"),
        ((*FIT, "people.toml", "--bounds-epsilon", "1", "--option", "no=1"), "--option"),
        ((*FIT, "people.toml", "--bounds-epsilon", "1", "--scheduler", "tcp://x:1"), "does not go with --scheduler"),
        ((*FIT, "exchanged.toml"), "two relations do not add up"),
        ((*TUNE, "exchanged.toml"), "two relations do not add up"),
        ((*FIT, "cheap.toml"), "less than the release cost"),
        ((*TUNE, "cheap.toml"), "less than the release cost"),
        ((*BOUNDS[:-3], "0.01", *BOUNDS[-2:]), "Nothing was released"),
        (("bounds", "people.csv", "--schema", "known.toml", *BOUNDS[4:]), 'range = "private"'),
        (("bounds", "narrow.csv", *BOUNDS[2:]), "does not fit the schema"),
        (("bounds", "empty.csv", *BOUNDS[2:]), "no rows"),
        ((*BOUNDS, "--neighbours", "add-remove"), "--public-rows"),
    ],
)  # fmt: skip
def test_bad_input_spends_nothing_and_leaves_nothing_behind(folder, command, message):
    known = SCHEMA.replace('range = "private"\n', "upper = 9\n").replace("upper = 9\n\n", "lower = 0\nupper = 9\n\n")
    (folder / "known.toml").write_text(known)
    charge = '\n[bounds.1]\ncolumns = ["age"]\nepsilon = 1\ndelta = 1e-6\nneighbours = "replace-one"\nnoise = 40\n'
    (folder / "exchanged.toml").write_text(f"{known}{charge}rows = 10\nseeded = false\n")
    cheap = charge.replace("replace-one", "zero-out").replace("noise = 40", "noise = 0.4")
    (folder / "cheap.toml").write_text(f"{known}{cheap}rows = 10\nseeded = false\n")
    (folder / "narrow.csv").write_text("age\n3\n")
    (folder / "empty.csv").write_text("age,debt,smoker,y\n")
    before = sorted(path.name for path in folder.iterdir())
    with taped() as tape:
        result = call(folder, *command)
    assert result.exit_code == 1
    assert re.search(message, result.stderr), result.stderr
    assert not tape.calls
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_fit_stops_where_bounds_could_not_be_told_and_names_the_others(folder):
    (folder / "people.csv").write_text("age,debt,smoker,y\n" + "40,?,n,no\n" * 3_000)
    result = call(folder, *FIT, "people.toml", "--bounds-epsilon", "0.8", "--seed", "1")
    assert result.exit_code == 1
    assert "what their release cost is spent" in result.stderr
    assert "age: 40 to 50" in result.stderr
    assert not (folder / "model.json").exists()
    result = done(folder, *BOUNDS, "--seed", "1")
    assert "warning: the range of debt stays private" in result.stderr
    assert [column.name for column in load_schema(folder / "bounded.toml").unbounded] == ["debt"]


def test_a_check_says_which_ranges_are_to_be_released(folder):
    said = done(folder, "schema", "check", "people.toml").stdout
    assert said == "the schema is in order; bounds to be released: age, debt\n"
    assert json.loads(done(folder, "schema", "check", "people.toml", "--json").stdout)["private_ranges"] == [
        "age",
        "debt",
    ]
    assert "every column" in done(folder, "schema", "check", "people.toml", "people.csv").stdout
