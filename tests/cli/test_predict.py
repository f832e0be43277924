"""Rows to be predicted: what cannot be read in them is said, and where; fits say nothing of that kind."""

import csv
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from hardzero.model import FittedModel
from hardzero.schema import Boolean, Categorical, Numeric, Ordered
from hardzero.schema.file import dumps

from ..models import SCHEMA as PEOPLE
from ..models import made_up_with_schema
from .test_model import call

COLUMNS = (
    Numeric("age", 18, 100),
    Boolean("smoker", "yes", "no"),
    Categorical("admission", ("elective", "emergency")),
    Categorical("ward", ("a", "b"), other=False),
    Ordered("activity", ("none", "some", "regular")),
    Numeric("gain", 0, 100),
)
COEF = (1.0, 0.5, -0.5, 1.5, 0.75, -1.0, 0.25, 2.0, 0.0)  # gain does not matter
HEAD = "age;smoker;admission;ward;activity;gain\n"
READABLE = "50.5;yes;elective;a;some;1\n"
ODD = "50,5;perhaps;somewhere;c;often;1,5\n"  # "somewhere" is another admission, and gain is not read
GAPS = ";NA;?;NaN; NA ;\n"


def schema(missing):
    return replace(PEOPLE, columns=COLUMNS, missing=missing)


@pytest.fixture
def predicted(tmp_path):
    """Predict rows by a model with a schema; returns the result and the lines below the header."""

    def predict(missing, rows, *more):
        made_up_with_schema(COEF, schema(missing)).save(tmp_path / "model.json", overwrite=True)
        (tmp_path / "new.csv").write_text(HEAD + rows)
        files = (tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
        result = call("predict", *files, "--delimiter", ";", "--force", *more)
        if result.exit_code:
            return result, None
        with (tmp_path / "out.csv").open() as file:
            return result, list(csv.reader(file))[1:]

    return predict


def test_what_cannot_be_read_is_counted_and_counts_as_missing(predicted):
    result, lines = predicted("zero", READABLE + ODD + GAPS + 7 * ODD)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        "warning: column 'age': 8 of 10 cells cannot be understood and count as missing, in rows 2, 4, 5, 6, 7, … "
        "(the first row is row 1); a number has a decimal point, not a comma",
        *(
            f"warning: column {name!r}: 8 of 10 cells cannot be understood and count as missing, in rows "
            "2, 4, 5, 6, 7, … (the first row is row 1)"
            for name in ("smoker", "ward", "activity")
        ),
    ]
    admission_alone = predicted("zero", ";;somewhere;;;\n")[1]
    assert lines[1] == lines[3] == admission_alone[0]
    assert lines[2] == predicted("zero", ";;;;;\n")[1][0]


def test_what_can_be_read_or_is_listed_as_missing_is_not_mentioned(predicted, tmp_path):
    result, lines = predicted("zero", READABLE + GAPS + "200;no;emergency;b;none;much\n")
    assert (result.exit_code, result.output) == (0, "")
    model = FittedModel.load(tmp_path / "model.json")
    table = {
        "age": [50.5, None, 200],
        "smoker": ["yes", None, "no"],
        "admission": ["elective", None, "emergency"],
        "ward": ["a", None, "b"],
        "activity": ["some", None, "none"],
        "gain": [1, None, None],
    }
    expected = model.predict_proba(model.encode(table))
    assert [[f"{chance:.6f}" for chance in row] for row in expected] == [line[1:] for line in lines]


def test_dropped_rows_are_told_of_where_cells_could_not_be_read(predicted):
    result, lines = predicted("drop", READABLE + GAPS + ODD + READABLE)
    assert result.exit_code == 0
    assert result.stderr.count("1 of 4 cells cannot be understood and count as missing, in row 3 (") == 4
    assert lines[1] == lines[2] == ["", "", ""]
    assert lines[0] == lines[3] == predicted("drop", READABLE)[1][0] != ["", "", ""]


def test_a_model_that_takes_no_gaps_says_in_which_rows_they_are(predicted, tmp_path):
    rows = READABLE + ODD + READABLE.replace("50.5", "") + READABLE
    result, _ = predicted("error", rows)
    assert result.exit_code == 1
    assert result.output == (
        "error: column 'age' has cells that are missing or cannot be understood, in rows 2, 3 (the first row is row "
        "1), and the model takes no gaps; mend them, or leave those rows out\n"
    )
    assert not (tmp_path / "out.csv").exists()
    assert predicted("error", READABLE + READABLE.replace(";1\n", ";\n"))[0].exit_code == 0


def test_rows_are_counted_across_batches(predicted, monkeypatch):
    monkeypatch.setattr("hardzero.cli.actions.predict.rows_at_once", lambda n_features: 2)
    assert "2 of 7 cells" in (said := predicted("zero", 4 * READABLE + ODD + ODD + READABLE)[0].stderr)
    assert "in rows 5, 6 (" in said
    assert "in row 6 (" in predicted("error", 5 * READABLE + ODD)[0].stderr


# --- Fits --------------------------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Tables with decimal points and with commas, and schemas with every policy."""
    monkeypatch.chdir(tmp_path)
    for missing in ("zero", "drop", "error"):
        (tmp_path / f"{missing}.toml").write_text(dumps(schema(missing)))
    head = HEAD.replace("\n", ";outcome\n")
    for name, mark in (("points.csv", "."), ("commas.csv", ",")):
        lines = (f"{20 + i % 70}{mark}5;yes;elective;a;some;1;{'good' if i % 3 else 'bad'}\n" for i in range(300))
        (tmp_path / name).write_text(head + "".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "fit {} --schema zero.toml -o out.json",
        "fit {} --schema zero.toml --holdout 0.3 -o out.json",
        "tune {} --schema zero.toml --grid max_features=1,2 -o out.json",
        "evaluate model.json {} --epsilon 1",
        "schema check zero.toml {}",
    ],
)
def test_decimal_commas_are_told_of_whether_there_are_any_or_not(tables, command):
    made_up_with_schema(COEF, schema("zero")).save("model.json")
    notes = []
    for name in ("points.csv", "commas.csv"):
        result = call(*command.format(name).split(), "--delimiter", ";", *(("--force",) if "-o" in command else ()))
        assert result.exit_code == 0, result.output
        notes.append([line for line in result.stderr.splitlines() if line.startswith("note: ")])
        assert "cannot be understood" not in result.output
    assert notes[0] == notes[1]
    (note,) = notes[0]
    assert "a number has a decimal point" in note
    assert "hardzero schema check --holder" in note


def test_no_word_of_decimal_commas_where_they_cannot_go_unnoticed(tables):
    for policy, delimiter in (("error", ";"), ("zero", ",")):
        (tables / "other.csv").write_text((tables / "points.csv").read_text().replace(";", delimiter))
        result = call(
            "fit", "other.csv", "--schema", f"{policy}.toml", "--delimiter", delimiter, "-o", "m.json", "--force"
        )
        assert result.exit_code == 0, result.output
        assert "decimal" not in result.output
    words = replace(schema("zero"), columns=COLUMNS[1:4])
    (tables / "words.toml").write_text(dumps(words))
    result = call("schema", "check", "words.toml", "points.csv", "--delimiter", ";")
    assert (result.exit_code, result.stderr) == (0, "")
    told = call("schema", "check", "zero.toml", "commas.csv", "--delimiter", ";", "--holder")
    assert "age: 0 missing, 0 out of bounds, 300 unknown (rows 1, 2, 3, 4, 5, …)" in told.stdout


def test_a_fit_that_is_refused_names_no_row_and_says_who_may_know(tables):
    for name, row in (("commas.csv", "1"), ("late.csv", "300")):
        if name == "late.csv":
            (tables / name).write_text(
                "".join([*(tables / "points.csv").read_text().splitlines(True)[:300], ";;;;;;bad\n"])
            )
        result = call("fit", name, "--schema", "error.toml", "--delimiter", ";", "-o", "m.json")
        assert result.exit_code == 1
        assert "The data holder is told where they are: hardzero schema check --holder" in result.output
        assert row not in result.output.replace("'age'", "")


def test_what_left_no_rows_is_said_as_far_as_it_is_public(tables):
    asked = ("--delimiter", ";", "-o", "m.json")
    for options, said in (
        (("commas.csv", "--schema", "drop.toml"), ", or the schema's missing policy dropped all of them\n"),
        (("points.csv", "--schema", "zero.toml", "--holdout", 1 - 1e-9), ", or all were set aside\n"),
        (
            ("commas.csv", "--schema", "drop.toml", "--holdout", 0.5),
            ", or the schema's missing policy dropped all of them, or all were set aside\n",
        ),
    ):
        result = call("fit", *options, *asked)
        assert result.exit_code == 1
        assert result.stderr.endswith(f"error: {options[0]} has no rows to learn from{said}")
    made_up_with_schema(COEF, schema("drop")).save("model.json")
    result = call("evaluate", "model.json", "commas.csv", "--delimiter", ";", "--epsilon", 1)
    assert "commas.csv has no rows to evaluate on, or the schema's missing policy dropped all of" in result.stderr


def test_types_that_have_nothing_that_a_model_knows_are_told(tmp_path):
    """Codes as numbers where the model was fitted to text: every row would be an "other", and no word of it."""
    regions = Categorical("region", ("01", "02"))
    known = replace(PEOPLE, columns=(regions, Categorical("unused", ("a",)), Boolean("smoker", "yes", "no")))
    made_up_with_schema((1.0, -1.0, 0.5, 0.0, 0.0, 1.0), known).save(tmp_path / "model.json")
    table = {"region": [1, 2], "unused": [1, 2], "smoker": [True, False], known.target.name: [*known.target.classes]}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "new.parquet")
    files = (tmp_path / "model.json", tmp_path / "new.parquet")
    words = (
        "warning: column 'region' has the type int64, whose cells are written like 1 or 2.5, and nothing that the "
        "schema lists for it is ('01'); list what cells can be, or convert it"
    )
    for command in (("predict", *files, "-o", tmp_path / "out.csv"), ("evaluate", *files, "--epsilon", "1")):
        result = call(*command)
        assert result.exit_code == 0, result.output
        assert words in result.stderr.splitlines()
        assert "unused" not in result.stderr
        assert "smoker" not in result.stderr
