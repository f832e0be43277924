"""Many processes at once, and processes that are killed: no entry is lost, none counts twice, the cap holds."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hardzero import Budget, Ledger
from hardzero.ledger.filters import Filter
from hardzero.privacy.accounting import epsilon_of_gaussian

from .spenders import ALLOWED, ATTEMPTS, CAP, KILLS, NOISE, PROCESSES

pytestmark = pytest.mark.slow
DELTA = 1e-6


def run(scenario, address, file):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.ledger.spenders", scenario, address, str(file)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def ledger_of(address, allowed):
    """A cap that allows so many releases and no more."""
    cap = Budget(epsilon_of_gaussian((allowed + 0.5) / NOISE**2, DELTA), DELTA)
    ledger = Ledger(address, "people", cap=cap)
    ledger.create()
    return ledger


def numbers_of(ledger, kind):
    return [entry.number for entry in ledger.entries() if entry.values["kind"] == kind]


def test_of_1600_attempts_at_once_exactly_100_succeed(address, tmp_path):
    ledger = ledger_of(address, ALLOWED)
    run("crowd", address, tmp_path / "releases")
    released = [int(line) for line in (tmp_path / "releases").read_text().split()]
    assert PROCESSES * ATTEMPTS > ALLOWED
    assert len(released) == len(set(released)) == ALLOWED
    assert sorted(released) == numbers_of(ledger, "reserved")
    assert len(numbers_of(ledger, "committed")) == ALLOWED
    states = [entry.state for entry in ledger.entries()]
    assert all(state.filter.used(state.total) <= state.filter.limit for state in states)
    assert all(state.spent <= state.filter.cap.epsilon for state in states)
    assert ledger.verify() == []


def test_processes_that_all_find_no_ledger_make_one(address, tmp_path):
    run("founders", address, tmp_path / "releases")
    ledger = Ledger(address, "people", cap=CAP)
    released = [int(line) for line in (tmp_path / "releases").read_text().split()]
    assert sorted(released) == numbers_of(ledger, "reserved")
    assert numbers_of(ledger, "created") == [1]
    assert len(released) == int(Filter.of_cap("gaussian", CAP).limit * NOISE**2)
    assert ledger.verify() == []


def test_processes_killed_at_random_points_leave_a_whole_ledger(address, tmp_path):
    ledger = ledger_of(address, 1_000_000)
    run("killed", address, tmp_path / "releases")
    entries = ledger.entries()
    reserved, committed = numbers_of(ledger, "reserved"), numbers_of(ledger, "committed")
    released = Counter(int(line) for line in (tmp_path / "releases").read_text().split())
    assert ledger.verify() == []
    assert len(reserved) > KILLS // 4, "most had begun"
    assert set(released) <= set(reserved), "every release has its reservation"
    assert max(released.values()) == 1
    closed = [entry.closes for entry in entries if entry.closes is not None]
    assert len(closed) == len(set(closed)) == len(committed)
    assert set(closed) <= set(released)
    assert len(reserved) > len(committed), "some were killed in between"
    state = entries[-1].state
    assert state.reservations == len(reserved)
    assert state.total.square == pytest.approx(len(reserved) / NOISE**2)
