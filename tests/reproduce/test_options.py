"""Experiments run all their studies unless some are named."""

import argparse
import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

from options import add_studies  # noqa: E402

sys.path.remove(str(EXPERIMENTS))


def studies(*arguments):
    parser = argparse.ArgumentParser()
    add_studies(parser, {"near": 1, "far": 2})
    return parser.parse_args(arguments).studies


def test_all_studies_are_run_unless_some_are_named():
    assert studies() == ["near", "far"]
    assert studies("far") == ["far"]


def test_a_study_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        studies("middle")
    assert "there is no study 'middle', only near, far" in capsys.readouterr().err
