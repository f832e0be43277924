"""hardzero evaluate, fit --holdout, and reports with an evaluation."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.evaluation import Evaluation, evaluate
from hardzero.model import FittedModel

from ..guarantee.replay import taped
from .test_replay import SCHEMA, write_dull_table, write_table


def call(folder, command, *options):
    """Run a command; names of files are those in the folder."""
    arguments = [str(folder / part) if re.search(r"\.(csv|toml|json|html)$", part) else part for part in options]
    return CliRunner().invoke(app, [command, *arguments])


@pytest.fixture
def folder(tmp_path):
    """A schema, two tables and a model."""
    (tmp_path / "people.toml").write_text(SCHEMA)
    write_table(tmp_path / "people.csv", 400, 1)
    write_table(tmp_path / "others.csv", 300, 2)
    done = call(tmp_path, "fit", "people.csv", "--schema", "people.toml", "-o", "model.json", "--epsilon", "3")
    assert done.exit_code == 0, done.output
    return tmp_path


def test_an_evaluation_is_printed_written_and_reported(folder):
    options = ("model.json", "others.csv", "--epsilon", "1", "-o", "found.json", "--report", "page.html")
    done = call(folder, "evaluate", *options)
    assert done.exit_code == 0, done.output
    found = Evaluation.load(folder / "found.json")
    assert done.stdout.rstrip() == repr(found)
    assert (found.privacy.n_rows, found.privacy.is_private) == (300, True)
    page = (folder / "page.html").read_text()
    assert "How good it is" in page
    assert "this report says nothing about accuracy" not in page
    done = call(folder, "report", "model.json", "--evaluation", "found.json", "-o", "later.html")
    assert done.exit_code == 0, done.output
    assert (folder / "later.html").read_text() == page


def test_json_has_all_figures(folder):
    done = call(folder, "evaluate", "model.json", "others.csv", "--epsilon", "1", "--seed", "4", "--json")
    found = json.loads(done.stdout)
    assert found["privacy"]["seeded"]
    assert not found["privacy"]["is_private"]
    assert set(found["metrics"]) == {"accuracy", "balanced_accuracy", "auc", "log_loss", "brier"}
    assert (found["model"], found["evaluation"]) == (str(folder / "model.json"), None)


def test_the_same_figures_as_in_python(folder):
    """Labels in the schema's order, columns by name, only those with a weight."""
    pa = pytest.importorskip("pyarrow.csv")
    done = call(folder, "evaluate", "model.json", "others.csv", "--epsilon", "1", "--seed", "4", "-o", "found.json")
    assert done.exit_code == 0, done.output
    model, table = FittedModel.load(folder / "model.json"), pa.read_csv(folder / "others.csv")
    y = np.array(table.column("outcome").to_pylist())
    assert Evaluation.load(folder / "found.json") == evaluate(
        model, model.encode(table), y, epsilon=1, random_state=4
    )


@pytest.mark.parametrize("relation", [[], ["--neighbours", "add-remove", "--public-rows", "250"]])
def test_another_file_gives_the_same_output(folder, relation):
    options = ("model.json", "others.csv", "--epsilon", "1", "-o", "found.json", "--report", "page.html", "--force")

    def run():
        done = call(folder, "evaluate", *options, *relation)
        assert done.exit_code == 0, done.output
        return done.stdout, *((folder / name).read_bytes() for name in ("found.json", "page.html"))

    with taped() as tape:
        expected = run()
    assert len(tape.calls) == 1
    size = 437 if relation else 300
    for write in (lambda path: write_table(path, size, 5), lambda path: write_dull_table(path, size)):
        write(folder / "others.csv")
        with taped(tape):
            assert run() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["others.csv", "--epsilon", "0"], "epsilon must be"),
        (["others.csv", "--epsilon", "1", "--public-rows", "9"], "goes with --neighbours add-remove"),
        (["others.csv", "--epsilon", "1", "--neighbours", "add-remove"], "--public-rows"),
        (["empty.csv", "--epsilon", "1"], "no rows to evaluate on"),
        (["narrow.csv", "--epsilon", "1"], "has no column"),
        (["strange.csv", "--epsilon", "1"], "outcome"),
    ],
)
def test_bad_input_leaves_nothing_behind(folder, options, message):
    (folder / "empty.csv").write_text("age,ward,smoker,grade,outcome\n")
    (folder / "narrow.csv").write_text("ward\na\n")
    (folder / "strange.csv").write_text("age,ward,smoker,grade,outcome\n18,a,no,low,odd\n")
    before = sorted(path.name for path in folder.iterdir())
    done = call(folder, "evaluate", "model.json", *options, "-o", "found.json", "--report", "page.html")
    assert done.exit_code == 1
    assert message in done.stderr
    assert "odd" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_files_are_not_replaced_unasked(folder):
    (folder / "found.json").write_text("mine")
    done = call(folder, "evaluate", "model.json", "others.csv", "--epsilon", "1", "-o", "found.json")
    assert done.exit_code == 1
    assert "exists already" in done.stderr
    assert (folder / "found.json").read_text() == "mine"


def test_an_evaluation_of_another_model_is_not_reported(folder):
    done = call(folder, "fit", "others.csv", "--schema", "people.toml", "-o", "other.json")
    assert done.exit_code == 0, done.output
    done = call(folder, "evaluate", "other.json", "others.csv", "--epsilon", "1", "-o", "found.json")
    done = call(folder, "report", "model.json", "--evaluation", "found.json", "-o", "page.html")
    assert done.exit_code == 1
    assert "of another model" in done.stderr
    assert not (folder / "page.html").exists()


class TestHoldout:
    def fit(self, folder, *options):
        return call(folder, "fit", "people.csv", "--schema", "people.toml", "-o", "held.json", "--holdout", *options)

    def test_a_model_and_its_evaluation(self, folder):
        done = self.fit(folder, "0.3", "--report", "page.html")
        assert done.exit_code == 0, done.output
        model, found = FittedModel.load(folder / "held.json"), Evaluation.load(folder / "held-evaluation.json")
        assert model.privacy.n_rows + found.privacy.n_rows == 400
        assert model.privacy.delta == found.privacy.delta == 400**-1.5
        assert max(model.privacy.epsilon, found.privacy.epsilon) <= 1
        assert repr(found) in done.stdout
        assert "How good it is" in (folder / "page.html").read_text()

    def test_json(self, folder):
        done = self.fit(folder, "0.3", "--evaluation", "found.json", "--json", "--seed", "2")
        found = json.loads(done.stdout)
        assert found["evaluation"] == str(folder / "found.json")
        assert found["evaluated"]["privacy"]["seeded"]

    def test_under_add_remove_stated_numbers_are_divided(self, folder):
        done = self.fit(folder, "0.25", "--neighbours", "add-remove", "--public-rows", "1000")
        assert done.exit_code == 0, done.output
        model, found = FittedModel.load(folder / "held.json"), Evaluation.load(folder / "held-evaluation.json")
        assert (model.privacy.n_rows, found.privacy.n_rows) == (750, 250)

    def test_another_file_gives_the_same_output(self, folder):
        def run():
            done = self.fit(folder, "0.3", "--report", "page.html", "--seed", "1", "--force")
            assert done.exit_code == 0, done.output
            names = ("held.json", "held-evaluation.json", "page.html")
            return done.stdout, *((folder / name).read_bytes() for name in names)

        with taped() as tape:
            expected = run()
        write_table(folder / "people.csv", 400, 8)
        with taped(tape):
            assert run() == expected

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["1.5"], "strictly between 0 and 1"),
            (["1e-9"], "none to evaluate on"),
            (["0.2", "--method", "lasso"], "not private"),
            (["0.2", "--scheduler", "tcp://nowhere:1"], "--scheduler"),
            (["0.2", "--evaluation", "held.json"], "the same name"),
        ],
    )
    def test_what_cannot_be_is_refused(self, folder, options, message):
        done = self.fit(folder, *options)
        assert done.exit_code == 1
        assert message in done.stderr
        assert not (folder / "held.json").exists()

    def test_a_file_for_an_evaluation_needs_rows_for_it(self, folder):
        done = call(folder, "fit", "people.csv", "--schema", "people.toml", "-o", "a.json", "--evaluation", "b.json")
        assert done.exit_code == 1
        assert "goes with --holdout" in done.stderr
