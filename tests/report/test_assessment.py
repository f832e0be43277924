"""The part of a report that says how good the model is."""

import dataclasses

import numpy as np
import pytest

from hardzero.evaluation.assess import assessed, planned
from hardzero.model import ModelFileError
from hardzero.model.evaluation import Figure
from hardzero.privacy.budget import Neighbours
from hardzero.report import assessment, render_report, write_report

from ..models import made_up_with_schema
from .test_report import Page

MODEL = made_up_with_schema()


def evaluation(n_rows=5_000, epsilon=1.0, model=MODEL, seed=None):
    rng = np.random.default_rng(1)
    margins = rng.normal(0, 2, (n_rows, len(model.coef_scaled)))
    places = (rng.random(n_rows) < 1 / (1 + np.exp(-margins[:, 0]))).astype(np.int64)
    plan = planned(model, n_rows, epsilon, None, Neighbours.ZERO_OUT)
    return assessed(model, margins, places, plan, seed)


def test_the_page_shows_figures_curves_and_cost():
    found = evaluation()
    text = render_report(MODEL, evaluation=found)
    Page(text)
    for _, figure in assessment.titled(found):
        assert f"<td>{figure.value:.3f}</td><td>{figure.low:.3f} to {figure.high:.3f}</td>" in text
    assert text.count("<circle") == len(assessment.roc(found)) + len(assessment.calibration(found)) > 15
    assert "What the evaluation cost" in text
    assert "How good it is" not in render_report(MODEL)


def test_curves_stay_in_their_squares_and_do_not_turn_back():
    for n_rows, epsilon in ((200, 0.1), (500, 1.0), (5_000, 1.0)):
        found = evaluation(n_rows, epsilon)
        for points in (assessment.roc(found), assessment.calibration(found)):
            places = [place for point in points for place in (point.x, point.y, *point.across, *point.down)]
            assert all(0 <= place <= assessment.SIDE for place in places)
        roc = assessment.roc(found)
        assert [point.x for point in roc] == sorted(point.x for point in roc)
        assert [-point.y for point in roc] == sorted(-point.y for point in roc)


def test_a_curve_of_which_noise_leaves_nothing_is_not_drawn():
    found = evaluation()
    lost = found.roc[0]._replace(true_positives=Figure(None, 0.0, 1.0))
    found = dataclasses.replace(found, roc=(lost, *found.roc[1:]), calibration=())
    text = render_report(MODEL, evaluation=found)
    Page(text)
    assert "<circle" not in text


def test_a_seeded_evaluation_is_stamped_and_another_models_is_refused(tmp_path):
    assert "The noise of this evaluation came from a seed" in render_report(MODEL, evaluation=evaluation(seed=1))
    other = made_up_with_schema(coef=(1.0, 0.0, 0.0, 0.0, 0.5, 0.0, -0.75))
    with pytest.raises(ModelFileError, match="of another model"):
        render_report(MODEL, evaluation=evaluation(model=other))
    write_report(MODEL, tmp_path / "page.html", evaluation=evaluation())
    assert "How good it is" in (tmp_path / "page.html").read_text()


def test_more_than_two_classes_have_no_curves():
    three = dataclasses.replace(
        MODEL,
        classes=("a", "b", "<c>"),
        coef_scaled=MODEL.coef_scaled * 3,
        intercept_scaled=(0.0, 0.1, 0.2),
        schema=None,
    )
    text = render_report(three, evaluation=evaluation(model=three))
    Page(text)
    assert "<circle" not in text
    assert "<c>" not in text
