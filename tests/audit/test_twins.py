"""Every broken twin fails the audit, and the library as it is passes where they fail.

Seeds are fixed. docs/audit.md has how often each twin is caught with others, by `python -m tests.audit.power`;
the library would fail one of these tests with probability 0.001 at most if its seed were drawn at random.
"""

import pytest

from .twins import TWINS, outcome_of

CAUGHT = [
    pytest.param(twin, name, runs, id=f"{twin.name}-{name}")
    for twin in TWINS
    for name, runs in twin.caught_in.items()
]
RUNS = {name: runs for twin in TWINS for name, runs in twin.caught_in.items()}


@pytest.mark.parametrize(("twin", "name", "runs"), CAUGHT)
def test_a_broken_twin_is_caught(twin, name, runs, tmp_path):
    assert not outcome_of(name, runs, 1, tmp_path, twin.break_library).passed


@pytest.mark.parametrize("name", RUNS)
def test_the_library_as_it_is_passes(name, tmp_path):
    assert outcome_of(name, RUNS[name], 1, tmp_path).passed
