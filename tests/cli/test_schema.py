"""The commands about schemas: from code books, for files without a header, with all problems at once."""

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.cli.names import column_names
from hardzero.model import FittedModel
from hardzero.schema import Categorical, Numeric, NumericTarget, Target, load_schema

NAMES = "| A code book\nno, yes.\nage: continuous.\nsex: f, m.\n"
BOUNDS = "name,min,max,positive,role\nage,0,100,,\nill,,,yes,target\n"
PEOPLE = "age,sex,ill\n30, f , no\n60,m,yes\n"


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.names").write_text(NAMES)
    (tmp_path / "bounds.csv").write_text(BOUNDS)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "bare.csv").write_text(PEOPLE.partition("\n")[2])
    return tmp_path


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


BOTH = ("--codebook", "book.names", "--codebook", "bounds.csv")
SCHEMA = (Numeric("age", 0, 100), Categorical("sex", ("f", "m")))


# --- Code books --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [(), ("people.csv",), ("bare.csv", "--names", "codebook")])
def test_one_command_writes_a_complete_schema(folder, table):
    result = call("schema", "init", *table, *BOTH, "-o", "s.toml")
    assert (result.exit_code, result.output) == (0, "")
    schema = load_schema("s.toml")
    assert schema.columns == SCHEMA
    assert schema.target == Target("ill", ("no", "yes"), "yes")


def test_the_code_books_of_the_how_to_page_are_complete(folder):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "schema.md").read_text()
    book, bounds = re.findall(r"^```text\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)[:2]
    commands = next(
        block for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.M) if "--codebook" in block
    )
    (folder / "book.names").write_text(book)
    (folder / "bounds.csv").write_text(bounds)
    (folder / "people").mkdir()
    result = call(*shlex.split(commands.splitlines()[0])[1:])
    assert (result.exit_code, result.output) == (0, "")
    assert [column.name for column in load_schema("people/short.toml").columns] == ["age", "sex", "hours-per-week"]


def test_what_is_missing_is_listed_at_the_end(folder):
    result = call("schema", "init", "--codebook", "book.names", "--target", "ill", "--positive", "yes")
    assert result.stderr == "still to fill in: age.lower, age.upper\n"
    assert 'lower = ""  # the smallest value that is possible' in result.stdout


def test_what_does_not_match_the_table_is_said(folder):
    (folder / "other.csv").write_text("ages,sex,ill\n")
    result = call("schema", "init", "other.csv", *BOTH)
    assert result.exit_code == 0
    assert (
        "note: book.names:3: 'age' is no column of the table; did you mean 'ages'?; it is left out" in result.stderr
    )
    assert "note: the column 'ages' of the table is in no code book; fill it in" in result.stderr
    assert "still to fill in: ages.type" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a table, or a code book with --codebook"),
        (("--codebook", "none.names"), "none.names: there is no such file"),
        (("people.csv", "--positive", "yes"), "--positive goes with --codebook"),
        (("people.csv", "--codebook", "book.names", "--holder"), "--holder guesses what a code book says"),
        (("bare.csv", "--names", "nowhere"), "--names nowhere: there is no such file"),
        (("bare.csv", "--names", "a,,b"), "has an empty name"),
        (("people.csv", "--codebook", "book.names", "--target", "il"), "no column 'il'; did you mean 'ill'?"),
    ],
)
def test_mistakes_are_refused_with_a_way_out(folder, arguments, words):
    result = call("schema", "init", *arguments)
    assert result.exit_code == 1
    assert words in result.stderr


def test_the_output_of_a_code_book_obeys_no_control_characters(folder):
    (folder / "evil.names").write_text("no, yes.\n\x1b[31mred: continuous.\n\x1b[32m junk.\n")
    result = call("schema", "init", "--codebook", "evil.names")
    assert "[31mred" in result.output
    assert all(character.isprintable() or character == "\n" for character in result.output)


def test_whole_numbers_of_a_typed_table_may_be_codes(folder):
    pyarrow.parquet.write_table(pa.table({"zip": [1], "height": [1.5], "y": ["a"]}), "t.parquet")
    text = call("schema", "init", "t.parquet", "--target", "y").stdout
    assert 'type = "numeric"  # a code? then type = "categorical"' in text
    assert text.count("a code?") == 1


# --- Names and delimiters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["age,sex,ill", "names.txt", "schema"])
def test_every_command_reads_files_without_a_header(folder, names):
    call("schema", "init", *BOTH, "-o", "s.toml")
    (folder / "names.txt").write_text("\ufeffage\n sex \n\nill\n", encoding="utf-8")
    with open("bare.csv", "a") as file:
        file.write("30,f,no\n60,m,yes\n" * 50)
    named = ("bare.csv", "--names", names)
    assert call("schema", "check", "s.toml", *named).exit_code == 0
    assert call("fit", *named, "--schema", "s.toml", "-o", "m.json").exit_code == 0
    assert call("predict", "m.json", *named, "--keep", "ill", "-o", "p.csv").exit_code == 0
    assert len(rows("p.csv")) == 102


def test_names_are_for_csv_files(folder):
    pyarrow.parquet.write_table(pa.table({"x": [1]}), "t.parquet")
    assert "names are for CSV files" in call("schema", "init", "t.parquet", "--names", "a,b").stderr
    query = ("--query", "SELECT * FROM 't.parquet'", "--names", "a,b")
    assert "a query names its columns itself" in call("schema", "init", *query).stderr


def test_words_that_stand_for_names():
    assert column_names("codebook", {"codebook": ("a", "b")}) == ["a", "b"]
    assert column_names("a, b c", {}) == ["a", "b c"]


@pytest.mark.parametrize(
    ("mark", "option", "words"),
    [
        (";", ";", "contains a semicolon; if that separates the cells, add --delimiter ';'"),
        ("|", "|", "contains a bar; if that separates the cells, add --delimiter '|'"),
        ("\t", "tab", "contains a tab; if that separates the cells, add --delimiter 'tab'"),
    ],
)
def test_another_delimiter_is_noticed_and_named(folder, mark, option, words):
    (folder / "other.csv").write_text(PEOPLE.replace(",", mark))
    refused = call("schema", "init", "other.csv")
    assert refused.exit_code == 1
    assert words in refused.stderr
    assert "[columns.sex]" in call("schema", "init", "other.csv", "--delimiter", option).stdout


# --- Problems ----------------------------------------------------------------------------------------------------


def test_all_problems_are_shown_with_their_number(folder):
    (folder / "s.toml").write_text(
        '[target]\nname = "ill"\nclasses = ["no"]\npositive = "yes"\n'
        '[missing]\npolicy = "zeros"\n'
        '[columns.age]\ntype = "numeric"\nlover = ""\nupper = 3\n'
        '[columns.sex]\ntype = "categoricl"\n'
    )
    assert call("schema", "check", "s.toml").stderr == (
        "error: 5 problems:\n"
        "  s.toml:3:1: target.classes: needs at least 2 entries, has 1\n"
        "  s.toml:6:1: missing.policy: must be one of 'error', 'zero', 'drop'; did you mean 'zero'?\n"
        "  s.toml:7:10: columns.age.lower: is not filled in; write the smallest value that the variable can take, "
        "known without looking at the data\n"
        "  s.toml:9:1: columns.age.lover: is not a known key; did you mean 'lower'?\n"
        "  s.toml:12:1: columns.sex.type: must be one of 'numeric', 'boolean', 'categorical', 'ordered', 'ignored'; "
        "did you mean 'categorical'?\n"
    )


def test_the_holder_sees_troubled_columns_first(folder):
    call("schema", "init", *BOTH, "-o", "s.toml")
    (folder / "people.csv").write_text("age,sex,ill\n1,x,no\n200,y,yes\n3,z,\n")
    lines = call("schema", "check", "s.toml", "people.csv", "--holder").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[-3:]] == ["sex", "age", "ill"]


def test_a_missing_column_comes_with_a_suggestion(folder):
    call("schema", "init", *BOTH, "-o", "s.toml")
    (folder / "people.csv").write_text("age,sex,ills\n")
    result = call("schema", "check", "s.toml", "people.csv")
    assert result.exit_code == 1
    assert "column 'ill' is not in the table; did you mean 'ills'?" in result.output


# --- Targets that are numbers ------------------------------------------------------------------------------------

WAGES = """\
[target]
name = "wage"
lower = 0
upper = 100
unit = "dollars"

[columns.age]
type = "numeric"
lower = 0
upper = 100
"""


def write_wages(path):
    ages = np.random.default_rng(0).integers(0, 101, 2000)
    lines = [f"{age},{0.8 * age:.2f}\n" for age in ages]
    path.write_text("age,wage\n" + "".join(lines))


@pytest.mark.parametrize(
    ("method", "kind"),
    [((), "Sparsifier"), (("--method", "sparsifier"), "Sparsifier"), (("--method", "private-lasso"), "PrivateLasso")],
)
def test_a_number_is_fitted_reported_and_predicted(folder, method, kind):
    (folder / "w.toml").write_text(WAGES)
    write_wages(folder / "w.csv")
    origin = ("--option", "fit_intercept=false")  # through which these wages go
    more = ("--epsilon", "5", "--option", "n_iter=20", *origin, "--report", "w.html", "--json")
    result = call("fit", "w.csv", "--schema", "w.toml", *method, *more, "-o", "w.json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["method"] == f"{kind}Regression"
    model = FittedModel.load("w.json")
    assert not model.is_classifier
    assert model.schema.target == NumericTarget("wage", 0, 100, "dollars")
    assert model.parameters["target_bounds"] == [0, 100]
    page = (folder / "w.html").read_text()
    assert "Model of wage" in page
    assert "target_bounds=[0.0, 100.0]" in page
    assert "classes=" not in page
    assert call("predict", "w.json", "w.csv", "--keep", "wage", "-o", "p.csv").exit_code == 0
    errors = [abs(float(row["wage"]) - float(row["prediction"])) for row in rows("p.csv")]
    assert list(rows("p.csv")[0]) == ["wage", "prediction"]
    assert np.mean(errors) < 10
    assert call("inspect", "w.json").exit_code == 0
    assert call("export", "w.json", "-o", "w.onnx").exit_code == 0


@pytest.mark.parametrize("method", ["sparsifier", "private-lasso"])
def test_a_number_far_from_zero_is_predicted_where_it_is(folder, method):
    """Without an intercept predictions began at 0, far below every person: the share of variance told was -7."""
    (folder / "w.toml").write_text(WAGES.replace("lower = 0\nupper = 100\nunit", "lower = 80\nupper = 200\nunit"))
    ages = np.random.default_rng(0).integers(0, 101, 20_000)
    (folder / "w.csv").write_text("age,wage\n" + "".join(f"{age},{100 + 0.8 * age:.2f}\n" for age in ages))
    fit = ("fit", "w.csv", "--schema", "w.toml", "--method", method, "--epsilon", "5", "--option", "n_iter=50")
    result = call(*fit, "--seed", "1", "-o", "w.json")
    assert result.exit_code == 0, result.output
    assert "sum of residuals (intercept)" in result.output
    assert call("predict", "w.json", "w.csv", "--keep", "wage", "-o", "p.csv").exit_code == 0
    wages, told = (np.array([float(row[name]) for row in rows("p.csv")]) for name in ("wage", "prediction"))
    assert 1 - np.mean((wages - told) ** 2) / np.var(wages) > 0.5
    for without in ("fit_intercept=false", "calibration=paper"):
        result = call(*fit, "--option", without, "-o", f"{without}.json")
        assert result.exit_code == 0, result.output
        assert "(intercept)" not in result.output


@pytest.mark.parametrize(("cuts", "shape"), [("", "steps"), ("cuts = 10\n", "linear")])
def test_a_number_is_predicted_by_steps(folder, cuts, shape):
    (folder / "w.toml").write_text(WAGES + cuts)
    write_wages(folder / "w.csv")
    more = ("--shape", shape, "--epsilon", "20", "--seed", "1", "--report", "w.html")
    result = call("fit", "w.csv", "--schema", "w.toml", *more, "-o", "w.json")
    assert result.exit_code == 0, result.output
    assert "the schema: columns, bounds, cut points, categories" in result.output
    model = FittedModel.load("w.json")
    assert len(model.features) == (100 if shape == "steps" else 10)
    assert model.needed == ("age",)
    assert call("predict", "w.json", "w.csv", "--keep", "age", "-o", "p.csv").exit_code == 0
    by_age = {int(row["age"]): float(row["prediction"]) for row in rows("p.csv")}
    assert by_age[100] - by_age[0] > 10
    assert len(set(by_age.values())) <= 1 + len(model.kept)  # a level before the first step, and one behind each
    assert "age&gt;=" in (folder / "w.html").read_text()
    assert "age: " in (shown := call("inspect", "w.json").output)
    assert " levels" in shown
    assert call("export", "w.json", "-o", "w.onnx").exit_code == 0


def test_a_method_for_classes_is_refused_for_a_number_with_both_ways_out(folder):
    (folder / "w.toml").write_text(WAGES)
    write_wages(folder / "w.csv")
    refused = call("fit", "w.csv", "--schema", "w.toml", "--method", "select-refit", "-o", "w.json")
    assert refused.exit_code == 1
    assert "--method select-refit tells classes apart, but the schema's target 'wage' is a number" in refused.stderr
    assert "use --method sparsifier or private-lasso, or list the target's classes in the schema" in refused.stderr


def test_a_table_without_rows_teaches_nothing(folder):
    (folder / "w.toml").write_text(WAGES)
    pyarrow.parquet.write_table(
        pa.table({"age": pa.array([], "float64"), "wage": pa.array([], "float64")}), "e.parquet"
    )
    assert "has no rows to learn from" in call("fit", "e.parquet", "--schema", "w.toml", "-o", "w.json").stderr


# --- What predictions keep ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("raw", "kept"), [((), ["no", "yes"]), (("--raw",), [" no", "yes"])])
def test_kept_text_can_be_compared_with_predictions(folder, raw, kept):
    call("schema", "init", *BOTH, "-o", "s.toml")
    (folder / "many.csv").write_text(PEOPLE + "30,f,no\n60,m,yes\n" * 50)
    call("fit", "many.csv", "--schema", "s.toml", "-o", "m.json")
    assert call("predict", "m.json", "people.csv", "--keep", "ill", "-o", "p.csv", *raw).exit_code == 0
    assert [row["ill"] for row in rows("p.csv")] == kept
