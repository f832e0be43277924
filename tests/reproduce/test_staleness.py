"""Rows know the code that made them; changed code is noticed, and confirmed only where it makes the same rows."""

import importlib.util
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hardzero.cli.actions.audit import audited_code
from hardzero.reproduce import experiments, fingerprint, splits
from hardzero.reproduce.rows import Made, Row, Trial, read, read_rows, write
from hardzero.reproduce.staleness import Cell, Standing, confirm, standing
from hardzero.reproduce.trials import Runner

from .toy_trials import TRIALS, failing, work

ROOT = Path(__file__).parents[2]

SCRIPT = '''
"""A script."""
import math
import neighbour
from hardzero.optim import losses

def work(trial):
    """What it does."""
    return {"x": math.pi + neighbour.HALF}
'''


def code_of(folder, script=SCRIPT, neighbour="HALF = 0.5\n"):
    """The fingerprint of a script with a file beside it."""
    folder.mkdir()
    (folder / "script.py").write_text(script)
    (folder / "neighbour.py").write_text(neighbour)
    specification = importlib.util.spec_from_file_location("script", folder / "script.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules.pop("neighbour", None)
    sys.path.insert(0, str(folder))
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("neighbour", None)
    return fingerprint.fingerprint(module.work)


def test_words_do_not_count_and_code_does(tmp_path):
    code = code_of(tmp_path / "as it was")
    assert len(code) == 12
    reworded = SCRIPT.replace("What it does", "What it is for").replace("import math", "import math  # for π")
    assert code_of(tmp_path / "reworded", reworded) == code
    run = "\ndef main():\n    print({})\n\nif __name__ == '__main__':\n    main()\n"
    ways = {code_of(tmp_path / name, SCRIPT + run.format(name)) for name in ("one", "two")}
    assert len(ways) == 1  # what is asked of a script does not change what it does
    assert code_of(tmp_path / "changed", SCRIPT.replace("math.pi", "math.e")) != code
    assert code_of(tmp_path / "beside", neighbour="HALF = 0.25\n") != code


def files_of(work):
    return {fingerprint._name_of(path) for path in fingerprint.reached(frozenset(fingerprint._files_of(work)))}


def test_all_that_computes_counts_and_what_speaks_does_not():
    reached = files_of(experiments.work)
    assert {
        "hardzero/kernels/_fast.pyx",
        "hardzero/kernels/packed.hpp",
        "hardzero/methods/select_refit.py",
        "hardzero/optim/descent.py",
        "hardzero/privacy/mechanisms.py",
        "hardzero/reproduce/splits.py",
    } <= reached
    assert not {
        name for name in reached if name.split("/")[1] in ("cli", "ledger", "readers", "report", "version.py")
    }
    assert files_of(partial(splits.evaluate, work)) >= {"toy_trials.py", "hardzero/reproduce/splits.py"}


def test_a_public_name_leads_to_what_defines_it(tmp_path):
    script = "from hardzero import ExactSolver, datasets\n\ndef work(trial):\n    return {}\n"
    code_of(tmp_path / "names", script)
    reached = {
        fingerprint._name_of(path) for path in fingerprint.reached(frozenset([tmp_path / "names" / "script.py"]))
    }
    assert {"hardzero/optim/optimum.py", "hardzero/datasets/__init__.py", "script.py"} <= reached
    assert not reached & {"hardzero/__init__.py", "hardzero/methods/select_refit.py"}


def made_rows(path, made):
    write(path, {trial: Row(work(trial), made) for trial in TRIALS})


def test_rows_stand_as_made_confirmed_or_stale(tmp_path):
    path, code = tmp_path / "toy.jsonl", fingerprint.fingerprint(work)
    marks = [Made("1", code), Made("1", "other", code), Made("1", "other"), None]
    write(path, {Trial("a", "toy", 1.0, "none", seed): Row({"x": 1.0}, mark) for seed, mark in enumerate(marks)})
    assert standing(path, work) == {Cell("a", "toy"): Standing(1, 1, 2)}
    assert standing(path, work, past=("toy",)) == {}


@pytest.mark.parametrize("made", [None, Made("0", "other")])
def test_cells_that_come_out_the_same_are_confirmed_and_keep_their_makers(tmp_path, made):
    path, code = tmp_path / "toy.jsonl", fingerprint.fingerprint(work)
    made_rows(path, made)
    before = read(path)
    with Runner(1) as runner:
        assert confirm(runner, path, work, sample=2) == set()
    assert read(path) == before
    assert {row.made.confirmed for row in read_rows(path).values()} == {code}
    assert {row.made.code for row in read_rows(path).values()} == {made.code if made else "unknown"}
    assert sum(counts.stale for counts in standing(path, work).values()) == 0


def test_a_cell_that_comes_out_otherwise_stays_stale(tmp_path):
    path = tmp_path / "toy.jsonl"
    made_rows(path, Made("0", "other"))
    rows = read_rows(path)
    for trial in TRIALS:
        if trial.data == "b":  # in the last bit
            accuracy = rows[trial].result["accuracy"] + 2.0**-51
            rows[trial] = Row(rows[trial].result | {"accuracy": accuracy}, Made("0", "other"))
    write(path, rows)
    with Runner(1) as runner:
        assert confirm(runner, path, work, sample=1) == {Cell("b", "toy")}
    stale = {cell for cell, counts in standing(path, work).items() if counts.stale}
    assert stale == {Cell("b", "toy")}


def test_nothing_is_run_where_nothing_is_stale(tmp_path):
    path = tmp_path / "toy.jsonl"
    made_rows(path, Made("1", fingerprint.fingerprint(failing)))
    with Runner(1) as runner:
        assert confirm(runner, path, failing, sample=5) == set()


def told_by_the_command(expression, *arguments):
    """The lines of a list that experiments/stale.py makes."""
    script = f"import pathlib, stale, sys; print(*{expression}, sep='\\n')"
    out = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT / "experiments",
        capture_output=True,
        text=True,
        check=True,
    )
    return out.stdout.split()


def test_an_audit_of_other_code_is_stale(tmp_path):
    folder = "stale.stale_audits(pathlib.Path(sys.argv[1]))"
    assert told_by_the_command(folder, tmp_path) == []
    (tmp_path / "audit.json").write_text(json.dumps({"code": audited_code(), "cases": []}))
    assert told_by_the_command(folder, tmp_path) == []
    (tmp_path / "audit.json").write_text(json.dumps({"code": "another", "cases": []}))
    assert told_by_the_command(folder, tmp_path) == ["audit.json"]


def test_the_command_knows_every_result_file():
    folder = ROOT / "experiments" / "results"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.jsonl")}
    assert set(told_by_the_command("stale.works()")) == found - {
        "audit-power.jsonl"
    }  # written by the tests' own twins, whole each time
