"""The runner: nothing finished is lost or done twice, and the file does not tell how it came about."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from hardzero.reproduce.rows import DamagedResultsError, Made, Row, Trial, line_of, read, read_rows, write
from hardzero.reproduce.trials import Runner, mean_and_error

from .toy_trials import TRIALS, failing, threads_of_worker, work

ROOT = Path(__file__).parents[2]


def run(path, jobs=1, trials=TRIALS):
    with Runner(jobs) as runner:
        return runner.run(trials, work, path)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "toy.jsonl"
    run(path)
    return path.read_bytes()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and ") Z" in state.read_text())


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
@pytest.mark.usefixtures("heeded_signals")
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(how, tmp_path, uninterrupted, monkeypatch):
    path, log = tmp_path / "toy.jsonl", tmp_path / "log"
    # Slow enough not to end before the signal comes, however busy the machine is.
    environment = {**os.environ, "TOY_LOG": str(log), "TOY_SECONDS": "0.2"}
    command = [sys.executable, "-m", "tests.reproduce.toy_trials", str(path), "2"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 4)
    process.send_signal(how)
    assert process.wait(timeout=20) != 0
    kept = read(path)
    assert 4 <= len(kept) < len(TRIALS)
    before = log.read_text().splitlines()
    wait_until(lambda: not any(alive(int(line.split()[0])) for line in before))  # no worker outlives the run

    monkeypatch.setenv("TOY_LOG", str(log))
    assert list(run(path)) == TRIALS
    assert path.read_bytes() == uninterrupted
    again = {line.split()[1] for line in log.read_text().splitlines()[len(before) :]}
    assert again == {f"{t.data}{t.seed}" for t in TRIALS} - {f"{t.data}{t.seed}" for t in kept}


def test_the_file_depends_on_neither_jobs_nor_order(tmp_path, uninterrupted):
    run(tmp_path / "three.jsonl", jobs=3)
    run(tmp_path / "backwards.jsonl", trials=TRIALS[::-1])
    assert (tmp_path / "three.jsonl").read_bytes() == uninterrupted
    assert (tmp_path / "backwards.jsonl").read_bytes() == uninterrupted


def test_a_line_cut_short_is_run_again(tmp_path, uninterrupted, monkeypatch):
    path, log = tmp_path / "toy.jsonl", tmp_path / "log"
    path.write_bytes(uninterrupted[:-9])
    monkeypatch.setenv("TOY_LOG", str(log))
    run(path)
    assert path.read_bytes() == uninterrupted
    assert len(log.read_text().splitlines()) == 1


def test_a_run_killed_before_its_last_sorting_is_sorted_without_work(tmp_path, uninterrupted, monkeypatch):
    path = tmp_path / "toy.jsonl"
    path.write_bytes(b"".join(reversed(uninterrupted.splitlines(keepends=True))))
    monkeypatch.setattr(Runner, "results", None)  # any work would fail
    run(path)
    assert path.read_bytes() == uninterrupted


def test_rows_of_other_trials_are_kept(tmp_path, uninterrupted):
    path = tmp_path / "toy.jsonl"
    path.write_bytes(uninterrupted)
    more = Trial("a", "other", 1.0, "zero-out", 0)
    assert list(run(path, trials=[more])) == [more]
    assert len(read(path)) == len(TRIALS) + 1


def test_finished_trials_are_taken_without_running_any(tmp_path, uninterrupted):
    path = tmp_path / "toy.jsonl"
    path.write_bytes(b"".join(uninterrupted.splitlines(keepends=True)[:3]))
    before = path.read_bytes()
    with Runner(1, finished_only=True) as runner:
        rows = runner.run(TRIALS, failing, path)
    assert rows == read(path)
    assert len(rows) == 3
    assert path.read_bytes() == before


def test_a_damaged_line_elsewhere_is_named(tmp_path, uninterrupted):
    path = tmp_path / "toy.jsonl"
    path.write_bytes(uninterrupted.replace(b'{"trial"', b'{"tri', 1))
    with pytest.raises(DamagedResultsError, match="line 1 "):
        read(path)


def test_a_failing_trial_is_named_and_the_others_are_kept(tmp_path, uninterrupted):
    path = tmp_path / "toy.jsonl"
    path.write_bytes(uninterrupted)
    unlucky = Trial("d", "toy", 1.0, "zero-out", 0)
    with pytest.raises(ZeroDivisionError) as failure, Runner(1) as runner:
        runner.run([unlucky], failing, path)
    assert "data='d'" in failure.value.__notes__[0]
    assert path.read_bytes() == uninterrupted


def test_two_runs_cannot_write_one_file(tmp_path, uninterrupted):
    path = tmp_path / "toy.jsonl"
    command = [sys.executable, "-m", "tests.reproduce.toy_trials", str(path), "1"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 2)
    with pytest.raises(FileExistsError, match="another process"):
        run(path)
    assert process.wait(timeout=60) == 0
    assert path.read_bytes() == uninterrupted  # the one that came first was not disturbed
    assert [entry.name for entry in tmp_path.iterdir()] == ["toy.jsonl"]


def test_rows_of_other_code_are_kept_and_renewed_on_request(tmp_path, uninterrupted, monkeypatch):
    path, log = tmp_path / "toy.jsonl", tmp_path / "log"
    path.write_bytes(uninterrupted)
    rows = read_rows(path)
    first, second, *_ = rows
    other = Made("0.0", "other")
    write(path, rows | {first: Row({"accuracy": 0.0}, other), second: Row({"accuracy": 0.0})})
    assert run(path)[first] == {"accuracy": 0.0}
    monkeypatch.setenv("TOY_LOG", str(log))
    with Runner(1, renew=True) as runner:
        runner.run(TRIALS, work, path)
    assert len(log.read_text().splitlines()) == 2
    assert path.read_bytes() == uninterrupted


def test_workers_have_one_thread_each_whatever_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with Runner(1) as runner:
        results = runner.run(TRIALS[:1], threads_of_worker, tmp_path / "threads.jsonl")
    assert results[TRIALS[0]] == {"threads": 1}
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_rows_come_back_as_written_and_without_timings(tmp_path):
    trial = Trial("a", "m", 0.5, "none", 3, (("n_iter", 7), ("radius", 2.5)))
    row = Row({"auc": 0.25}, Made("1.0", "c0de"))
    assert line_of(trial, row) == (
        '{"trial": {"data": "a", "method": "m", "epsilon": 0.5, "neighbours": "none", "seed": 3, '
        '"parameters": {"n_iter": 7, "radius": 2.5}}, "result": {"auc": 0.25}, '
        '"made": {"version": "1.0", "code": "c0de"}}\n'
    )
    write(tmp_path / "rows.jsonl", {trial: row})
    assert read_rows(tmp_path / "rows.jsonl") == {trial: row}
    assert read(tmp_path / "rows.jsonl") == {trial: {"auc": 0.25}}
    assert read(tmp_path / "none.jsonl") == {}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments" / "results").glob("select-refit-*.jsonl")), ids=lambda p: p.stem
)
def test_rows_of_earlier_experiments_stay_readable(path):
    rows = read(path)
    assert len(rows) == path.read_bytes().count(b"\n")
    assert set(Counter(trial.parameters for trial in rows)) == {()}


def test_mean_and_error():
    assert mean_and_error([1, 3]) == (2.0, 1.0)
    mean, error = mean_and_error([5])
    assert mean == 5
    assert error != error
