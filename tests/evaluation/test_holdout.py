"""Rows set aside: each in one part only, by coins that no record has to do with."""

import numpy as np
import pytest
from scipy import sparse

from hardzero import LassoLogisticRegression, PrivateLassoLogisticRegression, PrivateLassoRegression
from hardzero.evaluation import fit_and_evaluate, holdout
from hardzero.privacy.randomness import SeededSource

from ..guarantee.replay import taped
from .test_evaluate import rows


def estimator(**changes):
    parameters = {"bounds": (-1, 1), "classes": ["no", "yes"], "n_iter": 20, "random_state": 3, **changes}
    return PrivateLassoLogisticRegression(**{"epsilon": 1.0, **parameters})


@pytest.mark.parametrize("share", [0.2, 0.5, 0.001])
def test_coins_fall_as_often_as_they_should(share):
    """Of 100,000; within 4 standard deviations, a false alarm in 15,000."""
    found = holdout.coins(100_000, share, SeededSource(1)).mean()
    assert abs(found - share) < 4 * np.sqrt(share / 100_000)


@pytest.fixture
def parts(monkeypatch):
    """The rows that the fit and the evaluation were given."""
    seen = {}
    fit, margins = PrivateLassoLogisticRegression.fit, holdout.margins_of

    def noted_fit(self, X, y, groups=None):
        seen["fit"] = X
        return fit(self, X, y, groups)

    monkeypatch.setattr(PrivateLassoLogisticRegression, "fit", noted_fit)
    monkeypatch.setattr(holdout, "margins_of", lambda model, X: seen.update(evaluation=X) or margins(model, X))
    return seen


def test_a_method_for_numbers_is_refused_before_it_is_fitted(monkeypatch):
    monkeypatch.setattr(PrivateLassoRegression, "fit", None)
    X, _ = rows(50, 1)
    model = PrivateLassoRegression(1.0, bounds=(-1, 1), target_bounds=(-1, 1))
    with pytest.raises(
        TypeError, match="PrivateLassoRegression predicts a number; only models that tell classes apart"
    ):
        fit_and_evaluate(model, X, X[:, 0])


def test_every_row_is_in_one_part_only(parts):
    X, y = rows(1_000, 1)
    X[:, 4] = np.arange(1_000) / 1_000  # a name for each row
    fit_and_evaluate(estimator(), X, y, holdout=0.3)
    names = [set(parts[part][:, 4]) for part in ("fit", "evaluation")]
    assert not names[0] & names[1]
    assert len(names[0] | names[1]) == 1_000
    assert 230 < len(names[1]) < 370


def test_the_split_does_not_look_at_the_rows(parts):
    X, y = rows(500, 1)
    X[:, 4] = np.arange(500) / 500
    fit_and_evaluate(estimator(), X, y)
    names = parts["evaluation"][:, 4].tolist()
    other = np.column_stack([-X[:, :4], X[:, 4]])
    fit_and_evaluate(estimator(), other, y[::-1])
    assert parts["evaluation"][:, 4].tolist() == names


def test_both_parts_share_one_budget():
    X, y = rows(1_000, 1)
    given = estimator()
    fitted, found = fit_and_evaluate(given, X, y)
    assert not hasattr(given, "coef_")
    assert fitted.privacy_.delta == found.privacy.delta == 1_000**-1.5
    assert max(fitted.privacy_.epsilon, found.privacy.epsilon) <= 1.0
    assert fitted.privacy_.n_rows + found.privacy.n_rows == 1_000
    assert "together cost a row what the dearer one costs: (1, 3.16e-05)" in repr(found)


def test_a_fit_that_costs_more_than_was_asked_for_is_the_dearer_one():
    X, y = rows(1_000, 1)
    fitted, found = fit_and_evaluate(estimator(calibration="paper", neighbours="replace-one"), X, y)
    assert fitted.privacy_.epsilon > 1.0
    assert f"what the dearer one costs: ({fitted.privacy_.epsilon:.4g}," in repr(found)


def test_under_add_remove_stated_numbers_are_divided():
    X, y = rows(800, 1)
    fitted, found = fit_and_evaluate(estimator(neighbours="add-remove", n_rows=1_000), X, y, holdout=0.25)
    assert (fitted.privacy_.n_rows, found.privacy.n_rows) == (750, 250)
    assert fitted.privacy_.delta == 1_000**-1.5
    with taped() as tape:
        expected = fit_and_evaluate(estimator(neighbours="add-remove", n_rows=1_000), X, y)[1].to_json()
    assert tape.calls[-1].mechanism == "gaussian"
    with taped(tape):  # other records, another number of them
        other = fit_and_evaluate(estimator(neighbours="add-remove", n_rows=1_000), *rows(700, 2))[1].to_json()
    assert other == expected


def test_other_records_with_the_same_answers_give_the_same_model_and_figures():
    with taped() as tape:
        fitted, found = fit_and_evaluate(estimator(), *rows(600, 1))
    with taped(tape):
        other, same = fit_and_evaluate(estimator(), *rows(600, 2))
    assert other.coef_.tobytes() == fitted.coef_.tobytes()
    assert same.to_json() == found.to_json()


def test_frames_and_sparse_matrices_are_divided_alike():
    pd = pytest.importorskip("pandas")
    X, y = rows(400, 1)
    expected = fit_and_evaluate(estimator(), X, y)[1].metrics
    for other in (sparse.coo_array(X), pd.DataFrame(X, columns=list("abcde")), X.tolist()):
        assert fit_and_evaluate(estimator(), other, y)[1].metrics == expected


@pytest.mark.parametrize(
    ("made", "share", "message"),
    [
        (estimator(), 0.0, "holdout must lie strictly between 0 and 1"),
        (estimator(), 1e-9, "none to evaluate on"),
        (LassoLogisticRegression(bounds=(-1, 1)), 0.2, "not private"),
        (estimator(neighbours="add-remove"), 0.2, "needs n_rows"),
    ],
)
def test_what_cannot_be_is_refused(made, share, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit_and_evaluate(made, *rows(50, 1), holdout=share)
