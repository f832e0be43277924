"""A schema that says whose row each row is, through every command."""

import json

import numpy as np
import pytest

from hardzero.cli.actions import holdout
from hardzero.model import FittedModel
from hardzero.model.evaluation import Evaluation
from hardzero.schema.columns import Categorical, Numeric, Schema, Target
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.file import dumps, loads

from ..guarantee.replay import taped
from .test_evaluate import call

TARGET = Target("outcome", ("good", "bad"), "bad")
COLUMNS = (Numeric("age", 18, 100), Categorical("ward", ("a", "b", "c")))
ROWS, PERSONS = Schema(COLUMNS, TARGET, "zero"), Schema(COLUMNS, TARGET, "zero", person="patient")
COUNT = 300


def write_visits(path, seed, most=6, persons=COUNT):
    """Rows of persons in any order; some of them have no identifier, and are one person together."""
    rng = np.random.default_rng(seed)
    owners = rng.permutation(np.repeat(np.arange(persons), rng.integers(1, most + 1, persons)))
    names = np.where(owners == 0, "", np.array([f"patient-{owner}" for owner in owners]))
    age = rng.integers(0, 130, len(owners))
    labels = np.where(rng.random(len(owners)) < age / 130, "bad", "good")
    columns = (names, age, rng.choice(["a", "b", "c", "NA"], len(owners)), labels)
    rows = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    path.write_text("patient,age,ward,outcome\n" + "\n".join(rows) + "\n")
    return len(owners)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.toml").write_text(dumps(ROWS))
    (tmp_path / "persons.toml").write_text(dumps(PERSONS))
    write_visits(tmp_path / "one.csv", 1, most=1)
    write_visits(tmp_path / "many.csv", 1)
    return tmp_path


def done(folder, *options):
    result = call(folder, *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def fit(folder, table="many.csv", schema="persons.toml", *options, output="model.json"):
    return done(folder, "fit", table, "--schema", schema, "-o", output, "--force", *options)


@pytest.mark.parametrize(
    "options", [[], ["--method", "private-lasso", "--option", "n_iter=40"]], ids=["main", "lasso"]
)
@pytest.mark.parametrize("held", [[], ["--holdout", "0.3"]], ids=["fit", "holdout"])
def test_with_one_row_each_the_files_are_the_same_but_for_the_words(folder, options, held):
    outputs = ["rows.json", "persons.json"]
    for schema, output in zip(["rows.toml", "persons.toml"], outputs, strict=True):
        fit(folder, "one.csv", schema, "--seed", "1", *options, *held, output=output)
    kinds = [(FittedModel, ""), *([(Evaluation, "-evaluation")] if held else [])]
    for kind, ending in kinds:
        rows, persons = (kind.load(folder / name.replace(".json", f"{ending}.json")) for name in outputs)
        assert (rows.privacy.unit, persons.privacy.unit) == ("row", "person")
        assert (rows.privacy.n_rows, rows.privacy.events) == (persons.privacy.n_rows, persons.privacy.events)
        if kind is FittedModel:
            assert (rows.coef_scaled, rows.intercept_scaled) == (persons.coef_scaled, persons.intercept_scaled)
            assert repr(rows.inference_scaled) == repr(persons.inference_scaled)
        else:
            assert (rows.metrics, rows.counts) == (persons.metrics, persons.counts)


def test_json_says_whom_it_protects_and_nothing_says_how_many_rows(folder):
    n_rows = write_visits(folder / "many.csv", 1)
    options = ("--holdout", "0.2", "--report", "page.html", "--json")
    told = json.loads(fit(folder, "many.csv", "persons.toml", *options))
    assert told["unit"] == told["evaluated"]["privacy"]["unit"] == "person"
    model, found = FittedModel.load(folder / "model.json"), Evaluation.load(folder / "model-evaluation.json")
    assert model.privacy.n_rows + found.privacy.n_rows == COUNT
    assert model.schema == PERSONS
    words = repr(model.privacy) + repr(found.privacy) + done(folder, "inspect", "model.json")
    page = (folder / "page.html").read_text()
    assert str(n_rows) not in words
    assert "patient-" not in words + page + (folder / "model.json").read_text()
    assert "All records of one person" in page
    assert "groups=encoded.persons" in page


@pytest.mark.parametrize("held", [[], ["--holdout", "0.3"]], ids=["fit", "holdout"])
def test_a_file_with_other_rows_of_as_many_persons_gives_the_same_output(folder, held, monkeypatch):
    """The mechanisms' answers played back; coins are the same for as many persons."""
    coins = holdout.coins
    monkeypatch.setattr(holdout, "coins", lambda count, share, source: coins(count, share, holdout.source_for(1)))
    options = ("--report", "page.html", *held)

    def everything():
        shown = fit(folder, "many.csv", "persons.toml", *options)
        return shown, *(path.read_text() for path in [*sorted(folder.glob("*.json")), folder / "page.html"])

    with taped() as tape:
        expected = everything()
    for seed, most in ((2, 6), (3, 40)):
        write_visits(folder / "many.csv", seed, most)
        with taped(tape):
            assert everything() == expected


def test_an_evaluation_reads_whose_rows_they_are(folder):
    fit(folder)
    found = json.loads(done(folder, "evaluate", "model.json", "many.csv", "--epsilon", "1", "--json"))
    assert (found["privacy"]["unit"], found["privacy"]["n_rows"]) == ("person", COUNT)
    text = (folder / "many.csv").read_text().replace("patient,age", "someone,age", 1)
    (folder / "other.csv").write_text(text)
    refused = call(folder, "evaluate", "model.json", "other.csv", "--epsilon", "1")
    assert refused.exit_code == 1
    assert "no column 'patient'" in refused.output


def test_all_rows_of_a_person_are_in_one_part(folder, monkeypatch):
    parts = []
    without = holdout.SetAside.without

    def heard(self, X, places, persons=None):
        left = without(self, X, places, persons)
        parts.append((set(self.kept[-1][2].tolist()), set(left[2].tolist())))
        return left

    monkeypatch.setattr(holdout.SetAside, "without", heard)
    monkeypatch.setattr("hardzero.cli.actions.fit.rows_at_once", lambda features: 100)
    fit(folder, "many.csv", "persons.toml", "--holdout", "0.3")
    aside, left = (set().union(*part) for part in zip(*parts, strict=True))
    assert len(parts) > 5
    assert not aside & left
    assert len(aside | left) == COUNT


def test_a_number_is_predicted_for_persons(folder):
    schema = dumps(PERSONS).replace('name = "outcome"', 'name = "age"')
    schema = schema.replace('classes = ["good", "bad"]\npositive = "bad"\n', "lower = 0\nupper = 130\n")
    start, end = schema.index("[columns.age]"), schema.index("[columns.ward]")
    (folder / "number.toml").write_text(schema[:start] + schema[end:])
    options = ("--method", "private-lasso", "--option", "n_iter=20", "--option", "max_rows_per_person=2")
    fit(folder, "many.csv", "number.toml", *options)
    assert FittedModel.load(folder / "model.json").privacy.unit == "person"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "sparsifier"], "use --method select-refit or private-lasso"),
        (["--method", "lasso"], "use --method select-refit or private-lasso"),
        (["--scheduler", "tcp://127.0.0.1:1"], "leave --scheduler out"),
    ],
    ids=["sparsifier", "not private", "scheduler"],
)
def test_what_cannot_protect_persons_is_refused_before_a_row_is_read(folder, options, words, monkeypatch):
    monkeypatch.setattr("hardzero.cli.actions.fit.encoded_rows", None)
    refused = call(folder, "fit", "many.csv", "--schema", "persons.toml", "-o", "model.json", *options)
    assert refused.exit_code == 1
    assert words in " ".join(refused.output.split())
    assert not (folder / "model.json").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("tune", "many.csv", "--schema", "private.toml", "-o", "new.file", "--grid", "max_features=1,3"),
        ("bounds", "many.csv", "--schema", "private.toml", "--epsilon", "1", "-o", "new.file"),
        ("fit", "many.csv", "--schema", "private.toml", "--bounds-epsilon", "1", "-o", "new.file"),
    ],
    ids=lambda command: command[0],
)
def test_what_protects_single_rows_only_says_so(folder, command):
    schema = dumps(PERSONS).replace("[columns.age]", '[columns.age]\nrange = "private"')
    (folder / "private.toml").write_text(schema)
    refused = call(folder, *command)
    assert refused.exit_code == 1
    assert "protects single rows only" in " ".join(refused.output.split())
    assert not (folder / "new.file").exists()


def test_a_ledger_says_its_unit_and_refuses_others(folder):
    account = ("--ledger", str(folder / "people.db"), "--dataset", "people")
    create = ("ledger", "init", *account, "--epsilon", "3", "--delta", "1e-4", "--unit", "person")
    done(folder, *create)
    fit(folder, "many.csv", "persons.toml", *account, "--delta", "1e-6")
    assert "for each person" in done(folder, "ledger", "show", *account)
    assert json.loads(done(folder, "ledger", "show", *account, "--json"))["unit"] == "person"
    refused = call(
        folder, "fit", "many.csv", "--schema", "rows.toml", "-o", "other.json", "--delta", "1e-6", *account
    )
    assert refused.exit_code == 1
    assert "adds up guarantees for all rows of a person" in " ".join(refused.output.split())


def test_the_column_is_checked_and_predictions_do_not_need_it(folder):
    assert "every column" in done(folder, "schema", "check", "persons.toml", "many.csv")
    assert "patient" not in done(folder, "schema", "check", "persons.toml", "many.csv")
    (folder / "bare.csv").write_text("age,ward,outcome\n30,a,good\n")
    refused = call(folder, "schema", "check", "persons.toml", "bare.csv")
    assert "'patient' is not in the table" in refused.output
    fit(folder)
    done(folder, "predict", "model.json", "bare.csv", "-o", "predicted.csv")
    assert len((folder / "predicted.csv").read_text().splitlines()) == 2


def test_a_plan_with_such_a_schema_speaks_of_persons(folder):
    shown = done(folder, "plan", "--rows", "300", "--schema", "persons.toml", "--repeats", "5")
    assert "persons with one row each" in shown


class TestSchema:
    @pytest.mark.parametrize("form", ["toml", "json"])
    def test_it_is_written_and_read_back(self, form):
        assert loads(dumps(PERSONS, form=form), form=form) == PERSONS
        assert "person" not in dumps(ROWS, form=form)

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ('column = "outcome"', "is the target"),
            ('column = "age"', "described as a feature as well"),
            ("column = 3", "text"),
            ('colum = "patient"', "not a known key"),
            ("", "column"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_place(self, entry, words):
        text = dumps(ROWS) + f"\n[person]\n{entry}\n"
        with pytest.raises(ValueError, match=words) as caught:
            loads(text)
        assert "person" in str(caught.value)

    def test_a_column_that_is_ignored_may_say_whose_row_it_is(self):
        text = dumps(PERSONS) + '\n[columns.patient]\ntype = "ignored"\n'
        assert loads(text).person == "patient"

    def test_the_encoder_gives_identifiers_of_the_kept_rows(self):
        schema = Schema(COLUMNS, TARGET, "drop", person="patient")
        table = {
            "patient": [1, "1", None, "b"],
            "age": [20, None, 30, 40],
            "ward": list("aaaa"),
            "outcome": ["bad"] * 4,
        }
        assert SchemaEncoder(schema).encode(table).persons.tolist() == ["1", None, "b"]
        assert SchemaEncoder(schema).encode(table, target=False).persons is None


def test_a_model_of_rows_is_not_written_under_a_schema_of_persons():
    from hardzero import SparsePrivateLogisticRegression
    from hardzero.evaluation import evaluate
    from hardzero.model.fields import ModelFileError

    rng = np.random.default_rng(0)
    table = {
        "patient": rng.integers(0, 50, 200),
        "age": rng.integers(18, 100, 200),
        "ward": rng.choice(list("abc"), 200),
        "outcome": rng.choice(["good", "bad"], 200),
    }
    encoded = SchemaEncoder(PERSONS).encode(table)
    model = SparsePrivateLogisticRegression(bounds=(-1, 1), classes=["good", "bad"])
    with pytest.raises(ModelFileError, match="protects single rows"):
        FittedModel.from_estimator(model.fit(encoded.X, encoded.y), PERSONS)
    file = FittedModel.from_estimator(model.fit(encoded.X, encoded.y, groups=encoded.persons), PERSONS)
    with pytest.raises(ValueError, match="give that column as groups"):
        evaluate(file, encoded.X, encoded.y, epsilon=1.0)
    changed = file.to_json().replace('"unit": "person"', '"unit": "row"')
    with pytest.raises(ModelFileError, match="about single rows"):
        FittedModel.from_json(changed)
