"""Text from files is shown, never obeyed: not by terminals, and not by spreadsheets."""

import csv
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.cli.actions.inspect import describe, facts, to_json
from hardzero.cli.actions.predict import without_formula
from hardzero.model.plain_text import shown
from hardzero.privacy.events import PureRelease
from hardzero.report import render_report
from hardzero.report.notebook import fragment

from ..cli.test_model import call
from ..models import made_up, models

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\nNOT\u202e"


def obeyed(text):
    return [c for c in text if (unicodedata.category(c) == "Cc" and c != "\n") or c in "\u202e\u2066\u2028"]


@given(st.text())
def test_shown_text_has_no_control_characters_and_keeps_the_rest(text):
    assert obeyed(shown(text)) == []
    assert "\n" not in shown(text)
    if text.isprintable():
        assert shown(text) == text


def test_escapes_are_readable():
    assert shown("a\x1b[31mb\u202ec\nd") == r"a\x1b[31mb\u202ec\nd"
    assert shown("a\nb\t", keep="\n") == "a\nb\\t"
    assert shown(3.5) == "3.5"
    assert shown("नमस्ते \u200d café") == "नमस्ते \u200d café"  # joiners belong to the text


@pytest.fixture
def hostile(tmp_path):
    model = made_up(names=(HOSTILE, "b"), classes=("no" + HOSTILE, "yes"), events=(PureRelease(HOSTILE, 0.5),))
    model.save(tmp_path / "model.json")
    return tmp_path / "model.json", model


def test_inspecting_a_hostile_model_moves_no_cursor(hostile):
    file, model = hostile
    said = call("inspect", file).output
    assert obeyed(said) == []
    assert not [line for line in said.splitlines() if line.startswith("NOT")]
    machine = call("inspect", file, "--json").output
    assert obeyed(machine) == []
    assert json.loads(machine)["kept"] == [feature.name for feature in model.features]
    assert obeyed(fragment(model)) == []
    assert obeyed(render_report(model)) == []


@given(models())
def test_no_model_writes_control_characters(model):
    assert obeyed(describe(model)) == []
    assert obeyed(to_json(facts(model))) == []
    assert json.loads(to_json(facts(model))) == json.loads(json.dumps(facts(model)))


def test_messages_about_hostile_files_move_no_cursor(tmp_path, hostile):
    file, _ = hostile
    text = json.loads(file.read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**text, "evil" + HOSTILE: 1}))
    said = call("inspect", tmp_path / "bad.json")
    assert said.exit_code == 1
    assert obeyed(said.output) == []


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1", "-", "=", "+1-2", "-1e5x"])
def test_what_begins_like_a_formula_gets_an_apostrophe(cell):
    assert without_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-5", "+1.5e-3", "-.5", "name", "", "a=b", -5, 2.5, None, "1-2"])
def test_numbers_and_other_text_stay_as_they_are(cell):
    assert without_formula(cell) == cell


def test_predictions_hold_no_formula_unless_they_are_asked_for(tmp_path):
    made_up(names=("a", "b"), classes=("=no", "=yes")).save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("a,b,=id\n1,2,=cmd|' /C calc'!A0\n1,2,-7\n")
    arguments = ("predict", tmp_path / "model.json", tmp_path / "new.csv", "--keep", "=id", "-o")
    assert call(*arguments, tmp_path / "safe.csv").exit_code == 0
    assert call(*arguments, tmp_path / "raw.csv", "--raw").exit_code == 0
    (head, first, second), raw = (
        list(csv.reader((tmp_path / name).open(newline=""))) for name in ("safe.csv", "raw.csv")
    )
    assert head[:2] == ["'=id", "prediction"]
    assert first[0] == "'=cmd|' /C calc'!A0"
    assert second[0] == "-7"
    assert {first[1], second[1]} <= {"'=no", "'=yes"}
    assert [line[:1] for line in raw] == [["=id"], ["=cmd|' /C calc'!A0"], ["-7"]]
    assert {line[1] for line in raw[1:]} <= {"=no", "=yes"}


def test_no_negative_zero_is_written_anywhere(tmp_path):
    model = made_up(names=("a", "b"), coef=((-0.0, -0.5),))
    model = type(model)(**{**vars(model), "intercept_scaled": (-0.0,)})
    for text in (model.to_json(), to_json(facts(model))):
        assert "-0.0," not in text
        assert "-0.0]" not in text
    assert np.signbit(model.coef_original).tolist() == [[False, True]]
    minus = made_up(coef=((-0.0, 0.0),))
    minus = type(minus)(**{**vars(minus), "intercept_scaled": (-0.0,)})
    for text in (describe(minus), fragment(minus), render_report(minus)):
        assert "-0 " not in text
        assert "-0<" not in text
        assert "-0\n" not in text
        assert "−0<" not in text
