"""The command `hardzero audit`, and that nothing is left out of it."""

import json
import re

import pytest
from typer.testing import CliRunner

from hardzero.audit import own_cases
from hardzero.cli import app
from hardzero.estimators import CHOICES, MODULES
from hardzero.privacy import mechanisms

from ..guarantee.replay import MECHANISMS
from .twins import less_gaussian_noise


def run(*options):
    return CliRunner().invoke(app, ["audit", *options])


def test_every_private_estimator_is_audited():
    names = {case.name for case in own_cases() if case.group == "estimators"}
    private = set(MODULES) - {CHOICES["lasso"]}
    assert all(name in names for name in private)


def test_every_mechanism_is_audited():
    """Each is looked up in its module when a case runs, so that a call can be heard."""
    heard = set()

    def noting(name, right):
        def mechanism(*args, **options):
            heard.add(name)
            return right(*args, **options)

        return mechanism

    with pytest.MonkeyPatch.context() as patch:
        for name in MECHANISMS:
            patch.setattr(mechanisms, name, noting(name, getattr(mechanisms, name)))
        for case in own_cases():
            if case.group == "mechanisms":
                case.run(case.inputs[1], 1)
    assert heard == set(MECHANISMS)


@pytest.mark.slow
def test_a_quick_audit_of_everything_passes():
    answer = run("--quick", "--json", "--seed", "1", "--jobs", "2")
    found = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert found["passed"]
    assert len(found["cases"]) > 40
    assert {case["group"] for case in found["cases"]} == {
        *("mechanisms", "estimators", "persons", "evaluation", "tuning", "files")
    }


def test_a_table_and_a_picture(tmp_path):
    picture = tmp_path / "audit.svg"
    answer = run(
        "--quick", "--seed", "1", "--jobs", "1", "--only", "gaussian", "--only", "read-", "--picture", picture
    )
    assert answer.exit_code == 0
    assert re.search(r"^ gaussian .* ok *$", answer.stdout, flags=re.MULTILINE)
    assert "no lower bound exceeds its claim at 99.9 % confidence" in answer.stdout
    assert "gaussian" in picture.read_text()
    assert picture.read_text().startswith("<svg")


def test_a_refuted_claim_ends_with_exit_code_1(monkeypatch):
    less_gaussian_noise(monkeypatch)
    answer = run("--quick", "--seed", "1", "--jobs", "1", "--only", "gaussian")
    assert answer.exit_code == 1
    assert "REFUTED at 99.9 % confidence in each case: gaussian" in answer.stdout


def test_without_a_seed_runs_differ():
    """Two audits of 2,000 fresh runs agree in all counts with probability below 1e-3."""
    first, second = (json.loads(run("--quick", "--jobs", "1", "--only", "gaussian", "--json").stdout) for _ in "ab")
    assert first["seed"] is None
    assert first["cases"] != second["cases"]


def test_cases_are_listed():
    answer = run("--list")
    assert "composed-selections: 40 signs of one slope" in answer.stdout
    assert "read-quoted: " in answer.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "nonsense"), "--only nonsense: no case has such a name; hardzero audit --list shows them"),
        (("--picture", "audit.png"), "name a file that ends in .svg"),
        (("--quick", "--only", "screened"), "run it without --quick"),
    ],
)
def test_misuse_is_refused(options, message):
    answer = run(*options)
    assert answer.exit_code == 1
    assert message in answer.stderr
