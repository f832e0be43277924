"""The command line from a table to a model, a report and predictions; and what it says when it cannot."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hardzero import SparsePrivateLogisticRegression
from hardzero.cli import app
from hardzero.cli.actions.demo import copy_sample
from hardzero.estimators import select_refit
from hardzero.model import FittedModel
from hardzero.optim.frank_wolfe import Evidence, Weights

from ..models import STEPS, made_up, made_up_with_schema

SCHEMA = """
[target]
name = "ill"
classes = ["no", "yes"]
positive = "{positive}"

[missing]
policy = "{missing}"

[columns.age]
type = "numeric"
lower = 0
upper = 100
unit = "years"

[columns.town]
type = "categorical"
values = ["north", "south"]
"""


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_people(path, rows=400, seed=0):
    """Old people and those from the south are ill more often."""
    rng = np.random.default_rng(seed)
    ages, towns = rng.integers(0, 100, size=rows), rng.choice(["north", "south", "west"], size=rows)
    ill = rng.random(rows) < 1 / (1 + np.exp(4 - 0.06 * ages - 2 * (towns == "south")))
    lines = [
        f"{i},{age},{town},{'yes' if is_ill else 'no'}"
        for i, (age, town, is_ill) in enumerate(zip(ages, towns, ill, strict=True))
    ]
    path.write_text("\n".join(["id,age,town,ill", *lines]) + "\n")


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    return tmp_path


def fit(folder, *more, output="model.json"):
    return call("fit", folder / "people.csv", "--schema", folder / "people.toml", "-o", folder / output, *more)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# --- The walk -----------------------------------------------------------------------------------------------------


def test_fit_inspect_report_predict_and_export(folder):
    pytest.importorskip("jinja2")
    pytest.importorskip("onnx")
    said = fit(folder, "--epsilon", 20, "--report", folder / "report.html").output
    assert "differential privacy" in said
    assert "the schema: columns" in said
    assert "how many rows were left" not in said
    assert "NOT PRIVATE" not in (folder / "model.json").read_text()
    shown = call("inspect", folder / "model.json")
    assert shown.exit_code == 0
    assert "age" in shown.output
    assert "per unit (years)" in shown.output
    assert call("report", folder / "model.json", "-o", folder / "again.html", "--title", "Our people").exit_code == 0
    assert "Our people" in (folder / "again.html").read_text()
    result = call("predict", folder / "model.json", folder / "people.csv", "--keep", "id", "-o", folder / "out.csv")
    assert (result.exit_code, result.output) == (0, "")
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(i) for i in range(400)]
    for row in rows:
        chances = {label: float(row[f"probability {label}"]) for label in ("no", "yes")}
        assert chances[row["prediction"]] == max(chances.values())  # rounded, they may be the same
        assert sum(chances.values()) == pytest.approx(1, abs=2e-6)
    assert call("export", folder / "model.json", "-o", folder / "model.onnx").exit_code == 0
    assert files(folder) == [
        "again.html", "model.json", "model.onnx", "out.csv", "people.csv", "people.toml", "report.html",
    ]  # fmt: skip


def test_weights_are_about_the_positive_class(folder):
    fit(folder, "--epsilon", 100, "--seed", 1)
    (folder / "people.toml").write_text(SCHEMA.format(positive="no", missing="error"))
    fit(folder, "--epsilon", 100, "--seed", 1, output="other.json")
    one, other = FittedModel.load(folder / "model.json"), FittedModel.load(folder / "other.json")
    assert one.classes == ("no", "yes")
    assert other.classes == ("yes", "no")
    age = [feature.name for feature in one.features].index("age")
    assert one.coef_original[0, age] > 0.02 > -0.02 > other.coef_original[0, age]
    assert np.allclose(one.coef_original, -other.coef_original)


@pytest.mark.parametrize(
    "method", ["select-refit", "sparsifier", "private-lasso", "two-stage", "admm", "ight", "greedy", "dense", "lasso"]
)
def test_every_method_fits(folder, method):
    result = fit(folder, "--method", method, "--epsilon", 50, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["private"] == (method != "lasso")
    assert facts["epsilon"] is None if method == "lasso" else facts["epsilon"] <= 50
    assert set(facts["kept"]) <= {"age", "town=north", "town=south", "town=other"}


@pytest.mark.parametrize(("more", "prune"), [((), "none"), (("--prune", "reliable"), "reliable")])
def test_pruning_reaches_the_method(folder, more, prune):
    assert fit(folder, *more).exit_code == 0
    assert FittedModel.load(folder / "model.json").parameters["prune"] == prune


def test_other_methods_are_not_asked_to_prune(folder):
    assert fit(folder, "--method", "dense", "--prune", "none").exit_code == 0
    assert "prune" not in FittedModel.load(folder / "model.json").parameters


def noisy_at_the_top(problem, plan, source):
    """Weights of which the largest are noise: those of the second variable."""
    coef, q_value = np.zeros((1, problem.data.n_features)), np.ones((1, problem.data.n_features))
    coef[0, :3], q_value[0, :3] = (0.5, 9.0, -0.25), (0.01, 0.6, 0.6)
    return Weights(coef, np.zeros(1), Evidence(np.full(coef.shape, 0.1), q_value, "some weights"))


def test_the_first_variable_is_never_one_that_cannot_be_told_from_noise(folder, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setattr(select_refit, "select_and_refit", noisy_at_the_top)
    said = fit(folder, "--report", folder / "report.html").output
    assert call("inspect", folder / "model.json").output.endswith(said)
    assert re.findall(r"^ *(age|town)\b.*: ", said, flags=re.MULTILINE) == ["age", "town"]
    assert "cannot be told from noise: 1 of the kept variables" in said
    assert "cannot be told from noise" in (folder / "report.html").read_text()
    shown = call("demo", "--output", folder / "demo").output
    assert "reliable" in next(line for line in shown.splitlines() if re.match(r"\S.*: .*(levels|a line)$", line))
    told = json.loads(call("inspect", folder / "model.json", "--json").output)
    assert told["reliable"] == ["age"]
    assert [(variable["name"], variable["reliable"]) for variable in told["variables"][0]] == [
        ("town", False),
        ("age", True),
    ]


def test_steps_make_a_curve_of_a_number(folder):
    result = fit(folder, "--shape", "steps", "--epsilon", 100, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "the schema: columns, bounds, cut points, categories" in result.output
    model = FittedModel.load(folder / "model.json")
    age = model.schema.columns[0]
    assert age.cuts == tuple(range(1, 101))
    assert [feature.name for feature in model.features] == [
        *(f"age>={cut}" for cut in range(1, 101)),
        *("town=north", "town=south", "town=other"),
    ]
    assert "age" in model.needed
    assert re.search(r"^ *age \(years\): .* levels$", call("inspect", folder / "model.json").output, re.MULTILINE)
    assert call("predict", folder / "model.json", folder / "people.csv", "-o", folder / "out.csv").exit_code == 0
    assert len((folder / "out.csv").read_text().splitlines()) == 401


def test_cuts_of_the_schema_hold_whatever_the_shape(folder):
    schema = (folder / "people.toml").read_text().replace("upper = 100\n", "upper = 100\ncuts = [30, 60]\n")
    (folder / "people.toml").write_text(schema)
    for shape in ("linear", "steps"):
        assert fit(folder, "--shape", shape, output=f"{shape}.json").exit_code == 0
        features = FittedModel.load(folder / f"{shape}.json").features
        assert [feature.name for feature in features[:2]] == ["age>=30", "age>=60"]


def test_a_shape_that_does_not_exist(folder):
    result = fit(folder, "--shape", "curve")
    assert result.exit_code == 2
    assert "--shape" in result.output


def test_predictions_need_only_columns_with_a_weight(tmp_path):
    coef = (0.0, 1.5, -0.5, 0.0, 0.0, 0.0, 0.25, 0.0, 0.0)
    made_up_with_schema(coef, replace(STEPS, missing="error")).save(tmp_path / "model.json")
    (tmp_path / "few.csv").write_text("admission,age\nemergency,40\nelective,60\n")
    (tmp_path / "all.csv").write_text(
        "age,gain,smoker,admission,activity\n40,,?,emergency,\n60,much,no,elective,none\n"
    )
    for name in ("few", "all"):
        result = call("predict", tmp_path / "model.json", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.out")
        assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "few.out").read_text() == (tmp_path / "all.out").read_text()
    assert len((tmp_path / "few.out").read_text().splitlines()) == 3


def test_without_a_schema_too(tmp_path):
    made_up(names=("a", "b", "c"), coef=((0.0, 2.0, 0.0),)).save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("b\n3\n-1\n")
    assert call("predict", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "out.csv").exit_code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["prediction", "yes", "no"]


def test_options_reach_the_method(folder):
    result = fit(folder, "--method", "ight", "--option", "max_features=1", "--option", "n_iter=10", "--json")
    assert len(json.loads(result.stdout)["kept"]) == 1
    assert FittedModel.load(folder / "model.json").parameters["n_iter"] == 10


def test_an_option_may_be_text(folder):
    fit(folder, "--method", "admm", "--option", "penalty_shape=l1/2", "--epsilon", 50)
    assert FittedModel.load(folder / "model.json").parameters["penalty_shape"] == "l1/2"


def test_predicting_from_a_model_without_a_schema(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 2))
    estimator = SparsePrivateLogisticRegression(epsilon=50.0, bounds=(-1, 1), classes="from-y").fit(X, X[:, 0] > 0)
    FittedModel.from_estimator(estimator, feature_names=["a", "b"]).save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("b,a\n0.1,0.9\n0.1,-0.9\n")
    assert call("predict", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "out.csv").exit_code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["prediction", "True", "False"]
    (tmp_path / "new.csv").write_text("b,a\n0.1,north\n")
    result = call("predict", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "bad.csv")
    assert result.exit_code == 1
    assert "must hold numbers" in result.output


def test_a_seeded_fit_repeats_itself_and_says_that_it_is_not_private(folder):
    assert "NOT PRIVATE" in fit(folder, "--seed", 3).output
    fit(folder, "--seed", 3, output="again.json")
    assert (folder / "model.json").read_bytes() == (folder / "again.json").read_bytes()


def test_rows_that_the_schema_drops_get_empty_predictions(folder):
    (folder / "people.toml").write_text(SCHEMA.format(positive="yes", missing="drop"))
    assert "how many rows were left" in fit(folder, "--epsilon", 100, "--seed", 1).output
    (folder / "new.csv").write_text("age,town\n50,north\n,south\n70,south\n")
    assert call("predict", folder / "model.json", folder / "new.csv", "-o", folder / "out.csv").exit_code == 0
    lines = (folder / "out.csv").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == ",,"


def test_a_query_over_files(folder):
    pytest.importorskip("duckdb")
    people = pyarrow.csv.read_csv(folder / "people.csv")
    pyarrow.parquet.write_table(people, folder / "people.parquet")
    query = f"SELECT * FROM '{folder / 'people.parquet'}' WHERE age > 10"
    result = call("fit", "--query", query, "--schema", folder / "people.toml", "-o", folder / "model.json", "--json")
    assert result.exit_code == 0, result.output
    query = query.replace("parquet", "csv")
    result = call("fit", "--query", query, "--schema", folder / "people.toml", "-o", folder / "other.json")
    assert result.exit_code == 1
    assert "pass the CSV file itself" in result.output


def write_libsvm(path, largest):
    """Two features decide; the last record alone has an index as large as said."""
    rng = np.random.default_rng(0)
    lines = [f"{label:+d} 1:{label * 0.5} 2:{x:.3f}" for label, x in zip(*rng.choice([-1, 1], (2, 300)), strict=True)]
    path.write_text("\n".join([*lines, f"+1 {largest}:1"]) + "\n")


def test_a_schema_says_how_many_features_a_libsvm_file_has(folder):
    schema = """
        [target]
        name = "label"
        classes = ["-1", "+1"]
        positive = "+1"
        [columns]
        x1 = {type = "numeric", lower = -1, upper = 1}
        x2 = {type = "numeric", lower = -1, upper = 1}
        x5 = {type = "ignored"}
    """
    (folder / "s.toml").write_text(schema)
    for largest in (3, 5):  # a column that only one record has makes no difference
        write_libsvm(folder / f"{largest}.svm", largest)
        made = ("-o", folder / f"{largest}.json", "--seed", 1)
        result = call("fit", folder / f"{largest}.svm", "--schema", folder / "s.toml", *made)
        assert result.exit_code == 0, result.output
    assert (folder / "3.json").read_bytes() == (folder / "5.json").read_bytes()
    table = (folder / "3.svm", "-o", folder / "p.csv")
    assert call("predict", folder / "3.json", *table).exit_code == 0
    assert call("schema", "check", folder / "s.toml", folder / "3.svm").exit_code == 0
    write_libsvm(folder / "6.svm", 6)
    result = call("fit", folder / "6.svm", "--schema", folder / "s.toml", "-o", folder / "6.json")
    assert "line 301: has an index above the number of features, 5; mention the last column" in result.output


def test_a_template_for_a_libsvm_file_needs_the_number_of_features(folder):
    write_libsvm(folder / "t.svm", 3)
    assert "give n_features" in call("schema", "init", folder / "t.svm").output
    template = call("schema", "init", folder / "t.svm", "--n-features", 4, "--target", "label").output
    assert [f"[columns.x{i}]" in template for i in range(1, 6)] == [True] * 4 + [False]


def test_the_demo_writes_everything_and_prints_the_statement(tmp_path):
    pytest.importorskip("jinja2")
    result = call("demo", "--output", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    assert "differential privacy" in result.output
    assert {"model.json", "report.html", "predictions.csv"} <= set(files(tmp_path / "demo"))
    again = call("demo", "--output", tmp_path / "demo")
    assert again.exit_code == 1
    assert "exists already" in again.output
    assert call("demo", "--output", tmp_path / "demo", "--force").exit_code == 0


# --- Schemas ------------------------------------------------------------------------------------------------------


def test_a_template_shows_names_and_types_but_no_value(folder):
    result = call("schema", "init", folder / "people.csv", "--target", "ill")
    assert result.exit_code == 0
    assert "age" in result.output
    assert not {"north", "south", "west", "99"} & set(result.output.replace('"', " ").split())
    assert call("schema", "init", folder / "people.csv", "-o", folder / "new.toml").exit_code == 0
    unfilled = call("schema", "check", folder / "new.toml")
    assert unfilled.exit_code == 1
    assert "new.toml" in unfilled.output


def test_checking_reveals_counts_to_the_holder_only(folder):
    public = call("schema", "check", folder / "people.toml", folder / "people.csv")
    assert public.exit_code == 0
    assert "400" not in public.output
    holder = call("schema", "check", folder / "people.toml", folder / "people.csv", "--holder")
    assert "400 rows" in holder.output
    machine = call("schema", "check", folder / "people.toml", folder / "people.csv", "--json")
    assert json.loads(machine.output)["counts"] is None
    assert call("schema", "check", folder / "people.toml").output.strip() == "the schema is in order"


# --- What goes wrong ----------------------------------------------------------------------------------------------


def replaced(name, text):
    return lambda folder: (folder / name).write_text(text)


def appended(text):
    return lambda folder: (folder / "people.csv").open("a").write(text)


TROUBLE = {
    "schema with a syntax error": (replaced("people.toml", "[target\n"), (), "people.toml"),
    "schema with bounds the wrong way": (
        replaced("people.toml", SCHEMA.format(positive="yes", missing="error").replace("upper = 100", "upper = -1")),
        (),
        "upper",
    ),
    "no schema": (lambda folder: (folder / "people.toml").unlink(), (), "people.toml"),
    "no table": (lambda folder: (folder / "people.csv").unlink(), (), "no such file"),
    "a ragged row": (appended("7,50,north\n"), (), "402"),
    "a wrong encoding": (lambda folder: (folder / "people.csv").open("ab").write(b"9,5,\xff\xfe,no\n"), (), "UTF-8"),
    "a missing number": (appended("9,,north,no\n"), (), "'age'"),
    "text for a number": (appended("9,fifty,north,no\n"), (), "'age'"),
    "an unknown label": (appended("9,50,north,perhaps\n"), (), "ill"),
    "no target column": (replaced("people.csv", "id,age,town\n1,2,north\n"), (), "'ill'"),
    "no rows": (replaced("people.csv", "id,age,town,ill\n"), (), "no rows"),
    "an empty file": (replaced("people.csv", ""), (), "people.csv"),
    "an existing model": (replaced("model.json", "precious"), (), "exists already"),
    "no such folder": (lambda folder: None, ("--report", "/nowhere/at/all.html"), "no folder"),
    "one name for two files": (lambda folder: None, ("--report", "{model}"), "same name"),
    "epsilon of zero": (lambda folder: None, ("--epsilon", "0"), "epsilon"),
    "delta of one": (lambda folder: None, ("--delta", "1"), "delta"),
    "an unknown option": (lambda folder: None, ("--option", "depth=3"), "max_features"),
    "an option that has its own name": (lambda folder: None, ("--option", "prune=reliable"), "max_features"),
    "pruning by a method that cannot": (
        lambda folder: None,
        ("--method", "admm", "--prune", "reliable"),
        "--prune reliable: admm cannot tell which of its weights are reliable",
    ),
    "a bad value": (lambda folder: None, ("--option", "max_features=0"), "max_features"),
    "dropping and exchanging": (
        replaced("people.toml", SCHEMA.format(positive="yes", missing="drop")),
        ("--neighbours", "replace-one"),
        "replace-one",
    ),
    "a database without a query": (
        lambda folder: (folder / "people.csv").rename(folder / "people.unknown"),
        (),
        "no such file",
    ),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_gives_a_message_and_leaves_nothing(folder, name):
    spoil, more, said = TROUBLE[name]
    spoil(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = fit(folder, *(text.format(model=folder / "model.json") for text in more))
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.output.startswith("error: ")
    assert said in result.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("secret", ["fifty-one-secret", "perhaps-secret"])
def test_messages_show_no_cell(folder, secret):
    appended(f"9,{secret},north,{secret}\n")(folder)
    assert secret not in fit(folder).output


def test_a_folder_that_cannot_be_written_to(folder):
    result = call("fit", folder / "people.csv", "--schema", folder / "people.toml", "-o", "/proc/self/model.json")
    assert result.exit_code == 1
    assert "cannot write" in result.output


def test_a_damaged_model_file(folder):
    fit(folder)
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text[: len(text) // 2])
    for command in ("inspect", "report", "predict"):
        more = () if command == "inspect" else ("-o", folder / "out")
        table = (folder / "people.csv",) if command == "predict" else ()
        result = call(command, folder / "model.json", *table, *more)
        assert result.exit_code == 1
        assert "model.json" in result.output or "JSON" in result.output
    assert not (folder / "out").exists()


def test_predicting_a_table_without_a_column(folder):
    fit(folder, "--epsilon", 100, "--seed", 1)  # so that both columns are kept
    (folder / "new.csv").write_text("age\n5\n")
    result = call("predict", folder / "model.json", folder / "new.csv", "-o", folder / "out.csv")
    assert result.exit_code == 1
    assert "'town'" in result.output
    assert not (folder / "out.csv").exists()


def test_too_few_rows_are_said_in_a_line_of_ours(folder, recwarn):
    """Once, before the table, and not as a warning of Python with a path."""
    write_people(folder / "people.csv", rows=40)
    result = fit(folder, "--epsilon", "1")
    assert result.exit_code == 0
    assert result.stderr.count("too few rows") == result.stderr.count("warning: too few rows: chance and noise") == 1
    assert not [warning for warning in recwarn if "too few rows" in str(warning.message)]


@pytest.mark.skipif(os.name == "nt", reason="interrupts are sent as POSIX signals")
@pytest.mark.parametrize("wait", [0.0, 1.0])
@pytest.mark.usefixtures("heeded_signals")
def test_ctrl_c_leaves_nothing_behind(folder, wait):
    write_people(folder / "people.csv", rows=1_000_000)  # three seconds of work: it must not end before the signal
    before = files(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "hardzero", "fit", "people.csv", "--schema", "people.toml", "-o", "model.json"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and not (maps.exists() and "pyarrow" in maps.read_text()):
        time.sleep(0.05)  # until the table is about to be read
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; nothing was written" in said
    assert files(folder) == before


# --- Help ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [["fit"], ["predict"], ["report"], ["inspect"], ["export"], ["demo"], ["schema", "init"], ["schema", "check"]],
    ids=" ".join,
)
def test_every_commands_help_has_an_example(command):
    result = call(*command, "--help")
    assert result.exit_code == 0
    assert f"Example: hardzero {' '.join(command)}" in result.output


def test_the_sample_that_the_demo_copies_fits_its_schema(tmp_path):
    copy_sample(tmp_path)
    assert call("schema", "check", tmp_path / "adult.toml", tmp_path / "adult.csv").exit_code == 0
    shutil.rmtree(tmp_path)


def test_the_commands_of_the_readme_run(tmp_path):
    pytest.importorskip("jinja2")
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    _, block = re.findall(r"```sh\n(.*?)```", readme, flags=re.DOTALL)  # the first one is for make
    commands = block.strip().splitlines()
    numbers = {"Six": 6, "Seven": 7, "Eight": 8}
    assert len(commands) == numbers[re.search(r"(\w+) commands, without any Python", readme)[1]]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert {"mine.toml", "mine.json", "mine.html", "answers.csv"} <= set(files(tmp_path / "people"))
