"""A guarantee that promises little is called weak wherever it is shown, and its reasons are given."""

import itertools
import json
import re
import warnings

import numpy as np
import pytest

from hardzero import SparsePrivateLogisticRegression
from hardzero.model import FittedModel
from hardzero.model.presentation import summary
from hardzero.model.statement import (
    FEWEST_ROWS,
    WEAK_DELTA,
    WEAK_EPSILON,
    FewRowsWarning,
    PrivacyStatement,
    WeakGuaranteeWarning,
    too_few_rows,
    warn_if_weak,
    weaknesses,
)
from hardzero.privacy.events import Selection
from hardzero.report import render_report
from hardzero.report.notebook import fragment

from ..cli.test_model import SCHEMA, call, fit, write_people
from ..models import made_up

LARGE_EPSILON = {"epsilon": 100.0, "delta": 1e-6, "n_rows": 20_000}
LARGE_DELTA = {"epsilon": 1.0, "delta": 0.1, "n_rows": 20_000}
BOTH = {"epsilon": 100.0, "delta": 0.1, "n_rows": 20_000}
SOUND = {"epsilon": 1.0, "delta": 1e-6, "n_rows": 20_000}


def test_the_thresholds_are_what_the_documentation_says():
    assert weaknesses(WEAK_EPSILON, 1e-9, 1000) == ()
    assert len(weaknesses(WEAK_EPSILON * 1.001, 1e-9, 1000)) == 1
    assert len(weaknesses(1.0, 1 / 1000, 1000)) == 1
    assert weaknesses(1.0, 0.99 / 1000, 1000) == ()
    assert weaknesses(1.0, 0.99 * WEAK_DELTA) == ()
    assert len(weaknesses(1.0, WEAK_DELTA)) == 1


def test_reasons_name_the_figures():
    epsilon, delta = weaknesses(**BOTH)
    assert "epsilon = 100 is above 10" in epsilon
    assert "delta = 0.1 is not below 1/n = 5e-05 for 20000 rows" in delta
    assert "delta = 0.1 is large: in a table of 10 rows or more" in weaknesses(1.0, 0.1)[0]


@pytest.mark.parametrize("budget", [LARGE_EPSILON, LARGE_DELTA, BOTH])
def test_a_weak_guarantee_is_called_weak_first(budget):
    privacy = made_up(**budget).privacy
    assert privacy.is_private
    lines = repr(privacy).splitlines()
    reasons = weaknesses(**budget)
    assert lines[: len(reasons)] == [f"WEAK: {reason}" for reason in reasons]
    assert "differential privacy" in lines[len(reasons)]


def test_a_sound_guarantee_is_not_called_weak():
    model = made_up(**SOUND)
    assert model.privacy.weaknesses == ()
    for text in (repr(model.privacy), render_report(model).partition("</style>")[2], fragment(model)):
        assert "weak" not in text.lower()


@pytest.mark.parametrize("change", [{"seeded": True}, {"epsilon": float("inf")}])
def test_no_guarantee_is_worse_than_weak(change):
    assert PrivacyStatement(**({**vars(made_up(**BOTH).privacy), **change})).weaknesses == ()


def test_the_warning_gives_the_reasons_and_points_at_the_caller():
    with pytest.warns(WeakGuaranteeWarning, match="epsilon = 100 .* delta = 0.1") as caught:
        warn_if_weak(made_up(**BOTH).privacy)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_weak(made_up(**SOUND).privacy)


@pytest.mark.parametrize("budget", [LARGE_EPSILON, LARGE_DELTA, BOTH])
def test_the_report_and_the_notebook_are_amber(budget):
    page = render_report(made_up(**budget)).partition("</style>")[2]
    assert '<div class="stamp weak" role="note"' in page
    assert "<strong>Differentially private, weakly</strong>" in page
    assert 'class="badge"' not in page
    assert "was fitted with weak (" in page
    assert page.count("<strong>Weak:</strong>") == len(weaknesses(**budget))
    assert "<strong>Differentially private, weakly.</strong>" in fragment(made_up(**budget))


def test_inspecting_says_weak_to_people_and_machines(tmp_path):
    made_up(**BOTH).save(tmp_path / "model.json")
    assert FittedModel.load(tmp_path / "model.json").privacy.n_rows == 20_000
    said = call("inspect", tmp_path / "model.json").output
    assert said.count("\nWEAK: ") == 2
    facts = json.loads(call("inspect", tmp_path / "model.json", "--json").output)
    assert facts["private"] is True
    assert facts["weaknesses"] == list(weaknesses(**BOTH))


def test_on_a_terminal_weak_is_yellow_and_not_private_red(tmp_path):
    from typer.testing import CliRunner

    from hardzero.cli import app

    made_up(**BOTH).save(tmp_path / "weak.json")
    made_up(seeded=True, events=(Selection(0.1),)).save(tmp_path / "seeded.json")
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "weak.json")], color=True).output
    assert "\x1b[33m\x1b[1mWEAK: epsilon" in shown
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "seeded.json")], color=True).output
    assert "\x1b[31m\x1b[1mNOT PRIVATE" in shown


def test_fitting_warns_once_and_apart_from_what_machines_read(tmp_path):
    write_people(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    result = fit(tmp_path, "--epsilon", 100, "--json")
    assert result.exit_code == 0
    assert result.stderr.count("warning: a weak guarantee: epsilon = ") == 1
    assert "Warning" not in result.stderr
    assert json.loads(result.stdout)["weaknesses"]
    assert fit(tmp_path, "--json", "--force").stderr == ""


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_amber_can_be_read_in_both_colour_schemes():
    style = render_report(made_up(**BOTH)).partition("</style>")[0]
    pairs = re.findall(r"--weak: (#\w{6});\s*--weak-soft: (#\w{6})", style)
    assert len(pairs) == 2  # light and dark; on paper it is black or brown on white
    notebook = re.search(r"background:(#\w{6});color:(#\w{6})", fragment(made_up(**BOTH)))
    for one, other in itertools.chain(pairs, [notebook.groups()]):
        dark, light = sorted((luminance(one), luminance(other)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


# Tables that bear no model

FEW = {"epsilon": 0.5, "delta": 1e-6, "n_rows": 199}


def test_it_takes_a_hundred_rows_and_more_where_epsilon_is_small():
    assert FEWEST_ROWS == 100
    for epsilon, enough in ((1.0, 100), (0.5, 200), (0.25, 400), (8.0, 100), (1 - 1e-9, 100)):
        assert too_few_rows(epsilon, enough) is None
        assert f"all that {enough - 1} rows can say" in too_few_rows(epsilon, enough - 1)
    assert too_few_rows(0.001, None) is None
    assert "all that 1 person can say" in too_few_rows(0.0, 1, "person")


def test_few_rows_are_told_of_wherever_a_model_is_shown():
    model = made_up(**FEW)
    reason = model.privacy.too_few_rows
    assert summary(model).startswith(f"TOO FEW ROWS: {reason}\n\nyes against no")
    assert f"<strong>Too few rows</strong>\n<p>C{reason[1:]}.</p>" in render_report(model)
    assert f"<strong>Too few rows:</strong> {reason}" in fragment(model)
    for shown in (summary, render_report, fragment):
        assert "too few rows" not in shown(made_up(**SOUND)).lower()
        assert "too few rows" not in shown(made_up(**(FEW | {"seeded": True}))).lower()


def test_few_rows_are_warned_of_when_they_are_fitted():
    rng = np.random.default_rng(0)
    for n_rows, heard in ((99, 1), (100, 0)):
        X = rng.uniform(-1, 1, size=(n_rows, 2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SparsePrivateLogisticRegression(1.0, bounds=(-1, 1), classes=[False, True]).fit(X, X[:, 0] > 0)
        few = [warning for warning in caught if warning.category is FewRowsWarning]
        assert len(few) == heard
        assert all(warning.filename == __file__ for warning in few)
        assert not [warning for warning in caught if warning.category is WeakGuaranteeWarning]


def test_the_number_of_rows_that_is_stated_counts_where_the_true_one_is_secret():
    """Add-remove: a warning that depended on the rows themselves would tell how many there are."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    for n_rows, heard in ((5000, 0), (90, 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SparsePrivateLogisticRegression(
                1.0, bounds=(-1, 1), classes=[False, True], neighbours="add-remove", n_rows=n_rows
            ).fit(X, X[:, 0] > 0)
        few = [str(warning.message) for warning in caught if warning.category is FewRowsWarning]
        assert len(few) == heard
        assert not [text for text in few if "60" in text]
