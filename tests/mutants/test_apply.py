"""The catalogue of mutants fits the present source; ``make mutants`` runs the tests that must notice each."""

import pytest

from . import run
from .catalogue import MUTANTS
from .run import ROOT, all_tests, read_outcome


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_applies_and_compiles(mutant):
    text = mutant.path_in(ROOT).read_text(encoding="utf-8")
    changed = mutant.applied_to(text)
    assert changed != text
    if mutant.file.endswith(".py"):
        compile(changed, mutant.file, "exec")
    assert mutant.compiled == mutant.file.endswith((".hpp", ".pyx"))


def test_the_tests_that_must_notice_them_are_in_their_files():
    for test in all_tests(MUTANTS):
        file, _, name = test.partition("::")
        function = name.partition("[")[0]
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {function}(" in text or f"class {function}:" in text, test


@pytest.mark.parametrize(
    ("code", "output", "state"),
    [
        (1, "FAILED tests/test_a.py::test_b[far away-2] - assert 3 <= 1", "killed"),
        (1, "FAILED tests/test_a.py::test_b", "killed"),
        (0, "12 passed", "SURVIVED"),
        (1, "ERROR tests/test_a.py::test_b - a fixture that does not work", "BROKEN"),
        (2, "ERROR tests/test_a.py - SyntaxError", "BROKEN"),
        (1, "FAILED tests/test_a.py::test_b - NameError: name 'x' is not defined", "BROKEN"),
        (5, "no tests ran", "BROKEN"),
    ],
)
def test_only_a_test_that_fails_kills(code, output, state):
    assert read_outcome(code, output)[0] == state


def test_tests_of_all_mutants_together_may_take_longer_than_those_of_one(tmp_path, monkeypatch):
    (tmp_path / "src" / "hardzero").mkdir(parents=True)
    (tmp_path / "src" / "hardzero" / "__init__.py").write_text("")
    (tmp_path / "test_all.py").write_text("def test_nothing():\n    pass\n")
    monkeypatch.setattr(run, "LONGEST", 0.01)
    run.check_unchanged(tmp_path, ("test_all.py",))
