"""`hardzero fit --scheduler`: the model file of a local fit, byte for byte, and clear messages."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hardzero.cli import app

from .conftest import separate_cluster

SCHEMA = """
[target]
{target}

[missing]
policy = "drop"

[columns.age]
type = "numeric"
lower = 0
upper = 100

[columns.town]
type = "categorical"
values = ["north", "south"]
"""
CLASSES = 'name = "ill"\nclasses = ["no", "yes"]\npositive = "yes"'
NUMBER = 'name = "days"\nlower = 0\nupper = 30'


def people(rows, seed):
    rng = np.random.default_rng(seed)
    age, town = rng.uniform(0, 100, rows), rng.choice(["north", "south", "west"], rows)
    score = 0.06 * age + 2 * (town == "south") - 4 + rng.logistic(size=rows)
    age[::50] = np.nan
    return pa.table(
        {
            "age": pa.array(age, from_pandas=True),
            "town": town,
            "ill": np.where(score > 0, "yes", "no"),
            "days": np.clip(10 + 3 * score, 0, 30),
        }
    )


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    for i, rows in enumerate((300, 0, 500)):
        pyarrow.parquet.write_table(people(rows, i), folder / f"{i}.parquet", row_group_size=100)
        pyarrow.csv.write_csv(people(rows, i), folder / f"{i}.csv")
    (folder / "classes.toml").write_text(SCHEMA.format(target=CLASSES))
    (folder / "number.toml").write_text(SCHEMA.format(target=NUMBER))
    return folder


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    with separate_cluster(tmp_path_factory.mktemp("cluster")) as (client, _):
        yield client.scheduler.address


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ("*.parquet", ("--schema", "classes.toml")),
        ("*.csv", ("--schema", "classes.toml", "--shape", "steps")),
        ("0.parquet", ("--schema", "classes.toml", "--method", "private-lasso", "--option", "n_iter=20")),
        ("*.csv", ("--schema", "number.toml", "--method", "private-lasso", "--option", "n_iter=20")),
    ],
)
def test_the_model_file_is_that_of_a_local_fit(files, options, folder, scheduler, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    both = ("fit", folder / files, *options, "--seed", 3)
    here = call(*both, "--output", tmp_path / "here.json", "--report", tmp_path / "here.html")
    there = call(
        *both, "--output", tmp_path / "there.json", "--report", tmp_path / "there.html", "--scheduler", scheduler
    )
    assert (here.exit_code, there.exit_code) == (0, 0), here.output + there.output
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()
    assert (tmp_path / "there.html").exists()


def failed(result, *words):
    assert result.exit_code == 1
    for word in words:
        assert word in result.output
    assert "Traceback" not in result.output


def test_messages_name_what_is_wrong(folder, scheduler, tmp_path):
    output = tmp_path / "model.json"
    usual = ("--schema", folder / "classes.toml", "--output", output)
    failed(
        call("fit", folder / "0.csv", *usual, "--scheduler", "tcp://127.0.0.1:9"),
        "no Dask scheduler answers at tcp://127.0.0.1:9",
    )
    failed(
        call("fit", "--query", "SELECT 1", *usual, "--scheduler", scheduler),
        "--scheduler is for tables in files",
    )
    failed(
        call("fit", folder / "*.csv", *usual, "--scheduler", scheduler, "--method", "sparsifier"),
        "needs all rows in one place",
    )
    failed(call("fit", folder / "1.csv", *usual, "--scheduler", scheduler), "no rows to learn from")
    odd = tmp_path / "odd.csv"
    odd.write_text("age,town,ill\n12,north,no\n13,south,perhaps5ecret\n")
    result = call("fit", odd, *usual, "--scheduler", scheduler)
    failed(result)
    assert "5ecret" not in result.output
    assert not output.exists()


def test_a_scheduler_that_is_killed_leaves_no_model(folder, tmp_path):
    """In a process of its own, killed while it fits: a clear message, exit code 1, no file."""
    output = tmp_path / "model.json"
    (tmp_path / "cluster").mkdir()
    with separate_cluster(tmp_path / "cluster") as (client, scheduler):
        command = [sys.executable, "-m", "hardzero", "fit", str(folder / "*.parquet"), "--output", str(output)]
        command += ["--schema", str(folder / "classes.toml"), "--scheduler", client.scheduler.address]
        command += ["--method", "private-lasso", "--option", "n_iter=100000"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fitting:
            while fitting.poll() is None and not client.run_on_scheduler(_has_keepers):
                time.sleep(0.1)
            time.sleep(0.5)
            os.killpg(scheduler.pid, signal.SIGKILL)
            _, said = fitting.communicate(timeout=60)
    assert fitting.returncode == 1
    assert "error: the Dask scheduler cannot be reached any more; there is no model" in said
    assert "Traceback" not in said
    assert not output.exists()


def _has_keepers(dask_scheduler):
    return any(task.actor and task.state == "memory" for task in dask_scheduler.tasks.values())
