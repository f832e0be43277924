"""Neighbouring files through `hardzero fit`: nothing but the mechanisms' answers may differ."""

import subprocess
import sys

import pytest

from hardzero.cli.actions.file_cases import _OTHERS, ODD_RECORDS, Files, file_cases, fitted_file, reading_difference

from ..guarantee.replay import taped

METHODS = {"private-lasso": ("n_iter=3",), "select-refit": ()}


@pytest.fixture
def folder(tmp_path):
    file_cases(tmp_path)
    return tmp_path


@pytest.mark.parametrize("record", ODD_RECORDS)
def test_a_row_more_changes_nothing_about_the_others(folder, record):
    assert reading_difference(Files(folder, record)) == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("record", ODD_RECORDS)
def test_with_the_same_answers_the_command_writes_and_prints_the_same(folder, record, method):
    files = Files(folder, record, method, METHODS[method])
    with taped() as tape:
        expected = fitted_file(files, False, None)
    assert tape.calls
    with taped(tape):
        assert fitted_file(files, True, None) == expected


def test_a_process_of_its_own_writes_the_same_model(folder):
    """The audit calls the command in one process; a few real ones agree with it."""
    files = Files(folder, "text-for-a-number")
    for seed in (1, 2):
        expected = fitted_file(files, True, seed).model
        output = folder / "by-process.json"
        options = f"--method private-lasso --option n_iter=3 --epsilon 8 --delta 1e-5 --seed {seed} --no-ledger"
        options += f" --force --neighbours add-remove --public-rows {_OTHERS}"
        given = [files.table(True), "--schema", files.schema, "-o", output]
        command = [sys.executable, "-m", "hardzero", "fit", *given, *options.split()]
        subprocess.run(command, check=True, capture_output=True)
        assert output.read_text() == expected
