"""Outputs: claimed before the work begins, complete or not there, and never more open than what they replace."""

import inspect
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hardzero import Ledger
from hardzero.atomic import claimed, write_atomically
from hardzero.cli import app
from hardzero.model import FittedModel
from hardzero.readers.opening import files_behind
from hardzero.report import page

from .test_model import SCHEMA, call, fit, write_people

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions, links and signals of POSIX")

HOLD = """
import sys, time
from hardzero.atomic import claimed
with claimed(sys.argv[1], overwrite=True):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(path):
    """Another process that has claimed a name."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- Claims -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_name_that_another_process_has_claimed_is_refused(tmp_path, overwrite):
    process = holder(tmp_path / "model.json")
    try:
        with pytest.raises(OSError, match=r"model\.json: another process is about to write it"):
            write_atomically(tmp_path / "model.json", "text", overwrite=overwrite)
        write_atomically(tmp_path / "other.json", "text")
    finally:
        process.kill()
        process.wait()


def test_what_a_killed_process_left_is_taken_over(tmp_path):
    process = holder(tmp_path / "model.json")
    process.kill()
    process.wait()
    assert len(os.listdir(tmp_path)) == 1
    write_atomically(tmp_path / "model.json", "text")
    assert os.listdir(tmp_path) == ["model.json"]
    assert (tmp_path / "model.json").read_text() == "text"


def test_a_claim_that_comes_to_nothing_leaves_nothing(tmp_path):
    def fail(claim):
        assert len(os.listdir(tmp_path)) == 1
        raise RuntimeError("no model")

    with claimed(tmp_path / "model.json") as claim, pytest.raises(RuntimeError, match="no model"):
        fail(claim)
    assert not claim.complete
    assert os.listdir(tmp_path) == []


def test_one_process_may_not_claim_a_name_twice(tmp_path):
    with claimed(tmp_path / "a"), pytest.raises(OSError, match="another process"), claimed(tmp_path / "a"):
        pass
    with claimed(tmp_path / "a") as claim:
        claim.write("text")
    assert claim.complete


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path):
    with claimed(tmp_path / "model.json") as claim:
        (tmp_path / "model.json").write_text("precious")
        with pytest.raises(FileExistsError, match="exists already"):
            claim.write("text")
    assert (tmp_path / "model.json").read_text() == "precious"
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_atomically(tmp_path / "model.json", "text")
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_planted_link_in_place_of_the_temporary_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with claimed(tmp_path / "model.json"):
        (temporary,) = set(os.listdir(tmp_path)) - {"victim"}
    (tmp_path / temporary).symlink_to(victim)
    with pytest.raises(OSError, match="cannot write"):
        write_atomically(tmp_path / "model.json", "text")
    assert victim.read_text() == "precious"


# --- What may be replaced, and with which permissions -------------------------------------------------------------


def test_the_permissions_of_a_replaced_file_are_kept(tmp_path):
    file = tmp_path / "model.json"
    for permissions in (0o600, 0o640, 0o644):
        file.write_text("old")
        file.chmod(permissions)
        write_atomically(file, "new", overwrite=True)
        assert (mode(file), file.read_text()) == (permissions, "new")


def test_the_temporary_file_is_no_more_open_than_the_one_it_replaces(tmp_path):
    file = tmp_path / "model.json"
    file.write_text("old")
    file.chmod(0o600)
    with claimed(file, overwrite=True) as claim, claim.opened() as out:
        out.write("secret")
        out.flush()
        (temporary,) = set(os.listdir(tmp_path)) - {"model.json"}
        assert mode(tmp_path / temporary) == 0o600


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_keeps_to_the_umask(tmp_path, mask, expected):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "model.json", "text")
    finally:
        os.umask(before)
    assert mode(tmp_path / "model.json") == expected


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_pipe_or_a_device_is_never_replaced(tmp_path, overwrite):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (tmp_path / "pipe", tmp_path / "link", "/dev/null"):
        with pytest.raises(OSError, match="regular file"):
            write_atomically(path, "text", overwrite=overwrite)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_of_a_link_what_it_points_to_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere" / "model.json")
    write_atomically(tmp_path / "link.json", "one")
    with pytest.raises(FileExistsError, match=r"link\.json exists already"):
        write_atomically(tmp_path / "link.json", "two")
    write_atomically(tmp_path / "link.json", "two", overwrite=True)
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "elsewhere" / "model.json").read_text() == "two"


# --- Fits ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    write_people(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    return folder


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_second_fit_is_refused_before_it_reads_a_record(folder, monkeypatch, more):
    monkeypatch.setattr("hardzero.cli.actions.fit.read_rows", None)  # to call it would be an error of another kind
    process = holder(folder / "model.json")
    try:
        result = fit(folder, *more)
    finally:
        process.kill()
        process.wait()
    assert result.exit_code == 1
    assert "model.json: another process is about to write it" in result.output


def kept_elsewhere(result):
    assert result.exit_code == 1
    assert "its budget is spent" in result.output
    file = Path(re.search(r"kept as (\S+\.json)", result.output)[1])
    assert mode(file) == 0o600
    return FittedModel.load(file)


def test_a_model_for_which_the_disk_is_full_is_kept_elsewhere(folder, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(os, "fsync", full)
    result = fit(folder)
    assert "No space left" in result.output
    assert kept_elsewhere(result).privacy.is_private
    assert not (folder / "model.json").exists()


def test_a_model_whose_folder_is_gone_is_kept_elsewhere(folder, tmp_path, monkeypatch):
    def fit_and_lose(*arguments):
        shutil.rmtree(folder)
        return fitted

    fit(folder)
    fitted = FittedModel.load(folder / "model.json")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("hardzero.cli.actions.fit.fit_rows", fit_and_lose)
    assert kept_elsewhere(fit(folder, "--force")) == fitted


def test_a_model_that_can_be_kept_nowhere_is_not_said_to_be_somewhere(folder, monkeypatch):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(os, "fsync", refuse)
    result = fit(folder)
    assert result.exit_code == 1
    assert "its budget is spent, but the model could not be kept" in result.output


def test_a_report_that_fails_does_not_hide_the_model(folder, monkeypatch):
    pytest.importorskip("jinja2")

    def refuse(*arguments, **options):
        raise OSError("no report today")

    monkeypatch.setattr("hardzero.report.render_report", refuse)
    result = fit(folder, "--report", folder / "report.html")
    assert result.exit_code == 1
    assert "no report today" in result.output
    assert f"complete: {folder / 'model.json'}" in result.output.replace("\n", "")
    assert "budget is spent" in result.output


def test_a_report_that_cannot_be_made_is_refused_before_a_record_is_read(folder, monkeypatch):
    page._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("hardzero.cli.actions.fit.read_rows", None)
    result = fit(folder, "--report", folder / "report.html")
    assert result.exit_code == 1
    assert "hardzero[report]" in result.output


# --- Inputs are never written over --------------------------------------------------------------------------------

TABLE = "people.csv --schema people.toml"
CHARGED = "--ledger ledger.db --dataset people --delta 1e-5"
OVER_INPUTS = [
    (f"fit {TABLE} -o people.csv", "--output people.csv is the table people.csv"),
    (f"fit {TABLE} -o people.toml", "--output people.toml is the schema people.toml"),
    (f"fit {TABLE} -o new.json --report people.csv", "--report people.csv is the table people.csv"),
    (f"fit {TABLE} -o new.json --holdout 0.3 --evaluation people.toml", "--evaluation people.toml is the schema"),
    (f"fit {TABLE} {CHARGED} -o ledger.db", "--output ledger.db is the ledger"),
    (f"fit {TABLE} {CHARGED} -o ledger.db-wal", "--output ledger.db-wal belongs to the ledger"),
    (f"fit {TABLE} --scheduler tcp://nobody:1 -o people.csv", "--output people.csv is the table people.csv"),
    ("fit peop*.csv --schema people.toml -o people.csv", "--output people.csv is the table people.csv"),
    (f"fit {TABLE} --names names.txt -o names.txt", "--output names.txt is the list of names names.txt"),
    (f"tune {TABLE} --grid max_features=1,2 -o people.csv", "--output people.csv is the table people.csv"),
    (f"tune {TABLE} --grid max_features=1,2 -o people.toml", "--output people.toml is the schema people.toml"),
    (f"tune {TABLE} --grid max_features=1,2 {CHARGED} -o ledger.db", "--output ledger.db is the ledger"),
    (f"bounds {TABLE} --epsilon 1 -o people.csv", "--output people.csv is the table people.csv"),
    (f"bounds {TABLE} --epsilon 1 -o people.toml", "--output people.toml is the schema people.toml"),
    (f"bounds {TABLE} --epsilon 1 {CHARGED} -o ledger.db", "--output ledger.db is the ledger"),
    ("evaluate model.json people.csv --epsilon 1 -o people.csv", "--output people.csv is the table people.csv"),
    ("evaluate model.json people.csv --epsilon 1 --report model.json", "--report model.json is the model model.json"),
    (f"evaluate model.json people.csv --epsilon 1 {CHARGED} -o ledger.db", "--output ledger.db is the ledger"),
    ("predict model.json people.csv -o people.csv", "--output people.csv is the table people.csv"),
    ("predict model.json people.csv -o model.json", "--output model.json is the model model.json"),
    ("report model.json -o model.json", "--output model.json is the model model.json"),
    ("report model.json --evaluation found.json -o found.json", "--output found.json is the evaluation found.json"),
    ("export model.json -o model.json", "--output model.json is the model model.json"),
    ("schema init people.csv -o people.csv", "--output people.csv is the table people.csv"),
    ("schema init --codebook book.csv --target ill -o book.csv", "--output book.csv is the code book book.csv"),
    ("ledger show --ledger ledger.db --dataset people --page ledger.db", "--page ledger.db is the ledger"),
    ("ledger export --ledger ledger.db --dataset people -o ledger.db", "--output ledger.db is the ledger"),
    ("plan --rows 200 --schema people.toml --picture people.svg", "--picture people.svg is the schema people.toml"),
]
QUERIES = [
    (None, "SELECT age FROM 'people.parquet' WHERE town = 'north.east'", "people.parquet"),
    (None, "SELECT age FROM read_parquet(['elsewhere.parquet', 'peop*.parquet'])", "people.parquet"),
    (None, 'SELECT "age" FROM "people.parquet"', "people.parquet"),
    ("people.duckdb", "SELECT age FROM person", "people.duckdb"),
    ("people.duckdb", "SELECT age FROM person", "people.duckdb.wal"),
    ("sqlite:///people.db", "SELECT age FROM person", "people.db"),
    ("sqlite+pysqlite:///people.db?timeout=3", "SELECT age FROM person", "people.db-journal"),
]


@pytest.fixture
def inputs(folder, monkeypatch):
    """A folder with something to read for every command, of which nothing may be read."""
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(folder)
    assert fit(folder).exit_code == 0
    named = ("--ledger", "ledger.db", "--dataset", "people")
    assert call("ledger", "init", *named, "--epsilon", 2, "--delta", 1e-3).exit_code == 0
    for name in ("found.json", "book.csv", "names.txt", "people.parquet", "people.duckdb", "people.db"):
        (folder / name).write_text("precious")
    (folder / "people.svg").symlink_to(folder / "people.toml")
    for reader in ("opened", "parts_for"):
        monkeypatch.setattr(f"hardzero.cli.options.TableOptions.{reader}", None)
    return folder


def refused(folder, *arguments):
    """Return what a command says that is refused and leaves all files as they are."""
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("ledger.db-")}
    for force in ((), ("--force",)):
        result = call(*arguments, *force)
        assert result.exit_code == 1
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert {name: after.get(name) for name in kept} == kept
        assert not {name for name in after.keys() - kept.keys() if not name.startswith("ledger.db-")}
    return result.output


@pytest.mark.parametrize(("command", "said"), OVER_INPUTS, ids=[command for command, _ in OVER_INPUTS])
def test_no_command_writes_over_what_it_reads(inputs, command, said):
    assert refused(inputs, *command.split()).startswith(f"error: {said}")
    assert Ledger("ledger.db", "people").entries()[-1].state.reservations == 0


def test_every_command_that_may_replace_files_is_among_them():
    def commands(group, *names):
        for info in group.registered_commands:
            name = info.name or info.callback.__name__.replace("_", "-")
            yield " ".join([*names, name]), inspect.signature(info.callback).parameters
        for info in group.registered_groups:
            yield from commands(info.typer_instance, *names, info.name)

    replacing = {name for name, options in commands(app) if "force" in options}
    told = {name for name in replacing if any(command.startswith(f"{name} ") for command, _ in OVER_INPUTS)}
    assert len(told) > 10
    assert replacing - told == {"demo", "audit"}, "which read nothing that was there before"


@pytest.mark.parametrize(("source", "query", "output"), QUERIES)
def test_what_a_query_reads_is_not_written_over(inputs, source, query, output):
    table = () if source is None else (source,)
    said = refused(inputs, "fit", *table, "--query", query, "--schema", "people.toml", "-o", output)
    assert re.match(f"error: --output {output} (is|belongs to) the table people", said)


def test_words_of_a_query_that_name_no_file_stand_in_nobodys_way(inputs):
    files = files_behind(None, "SELECT age FROM person WHERE town IN ('*', 'people', 'north.east', 'no/such.csv')")
    assert files == []


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_input_by_another_name_is_not_written_over(inputs, link):
    link(inputs / "people.csv", inputs / "other.csv")
    said = refused(inputs, "predict", "model.json", "other.csv", "-o", "people.csv")
    assert "--output people.csv is the table other.csv" in said
    assert "other.csv is the table people.csv" in refused(
        inputs, "predict", "model.json", "people.csv", "-o", "other.csv"
    )
    (inputs / "deeper").mkdir()
    assert "is the model" in call("report", "model.json", "-o", inputs / "deeper" / ".." / "model.json").output


def test_what_settings_name_is_not_written_over(inputs):
    (inputs / "hardzero.toml").write_text('[ledger]\nurl = "ledger.db"\ndataset = "people"\n')
    for output, said in (("ledger.db", "is the ledger"), ("hardzero.toml", "is the settings")):
        assert f"--output {output} {said}" in refused(inputs, *f"fit {TABLE} -o {output}".split())


def test_a_witness_takes_the_place_of_no_other_file(inputs):
    named = ("--ledger", "ledger.db", "--dataset", "people")
    assert call("ledger", "export", *named, "-o", "export.jsonl").exit_code == 0
    for witness, receipts, said in (
        ("export.jsonl", ("--receipt", "export.jsonl"), "--witness export.jsonl is the receipt export.jsonl"),
        ("ledger.db", (), "--witness ledger.db is the ledger"),
        ("export.jsonl", (), "--witness export.jsonl: is there already and is no witness"),
        ("model.json", (), "--witness model.json: is there already and is no witness"),
        ("people.csv", (), "--witness people.csv: is there already and is no witness"),
    ):
        before = (inputs / witness).read_bytes()
        result = call("ledger", "verify", *named, "--witness", witness, *receipts)
        assert (result.exit_code, (inputs / witness).read_bytes()) == (1, before)
        assert said in result.output
    assert call("ledger", "verify", *named, "--witness", "w").exit_code == 0
    assert call("ledger", "verify", *named, "--witness", "w").exit_code == 0


@pytest.mark.parametrize("stream", ["-", "/dev/stdout", "/dev/stderr"])
def test_results_go_into_files_only(inputs, stream):
    for command in ("predict model.json people.csv", "report model.json", "schema init people.csv", f"fit {TABLE}"):
        assert f"--output {stream}: results go into files only; name one" in refused(
            inputs, *command.split(), "-o", stream
        )


def test_a_pipe_by_its_number_is_said_to_be_one():
    end, begin = os.pipe()
    with os.fdopen(end), os.fdopen(begin, "w"), pytest.raises(OSError, match="a device, a pipe or a socket"):
        write_atomically(f"/dev/fd/{begin}", "text")


def test_who_may_replace_a_file_is_told_how(tmp_path):
    (tmp_path / "model.json").write_text("precious")
    with pytest.raises(FileExistsError, match="by --force on the command line, by overwrite=True in Python"):
        write_atomically(tmp_path / "model.json", "text")
