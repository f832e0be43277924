"""Deliberately broken versions of select-then-refit's releases, each caught by the checks that the right ones pass.

Every test first runs the check on the library as it is, then on the twin.
"""

import math

import numpy as np
import pytest

from hardzero.data.bounded import RESIDUAL_ONE, BoundedData
from hardzero.methods import select_refit
from hardzero.methods.select_refit import plan_select_refit, select_and_refit
from hardzero.optim import descent
from hardzero.optim import standardise as standard
from hardzero.optim.descent import noisy_descent, prepare_descent
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.standardise import Standard
from hardzero.privacy import mechanisms
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import every_loss, every_relation
from ..optim.neighbours import problem_of, within
from ..optim.test_descent import gradients_of_both, worst_pair
from ..optim.test_standardise import length_scores, moments_of_both
from .test_select_refit import scores_within, screens_of_both

LONG = np.array([[-1.0] * 4, [0.1] * 4, [1.0] * 4])
LABELS = np.array([0, 0, 1])


def gradients_hold(loss, relation, contributions=None):
    pairs, sensitivity = gradients_of_both(*worst_pair(loss, relation), contributions=contributions)
    return all(within(one, other, sensitivity) for one, other in pairs)


# --- No clipping --------------------------------------------------------------------------------------------------


def unclipped_codes(problem, standard, at, squares, clip):
    """Residuals as they are: a row far from the centre pulls as hard as it likes."""
    coef = at.coef / standard.scale
    margins = problem.data.margins(coef) + (at.intercept - coef @ standard.centre)
    codes = np.trunc(problem.loss.residual(margins, problem.targets) * RESIDUAL_ONE).astype(np.int64)
    return codes, codes // 2


@every_relation
@every_loss
def test_gradients_without_clipping_are_caught(loss, relation, monkeypatch):
    assert gradients_hold(loss, relation)
    monkeypatch.setattr(descent, "_clipped_codes", unclipped_codes)
    assert not gradients_hold(loss, relation)


@every_loss
def test_clipping_each_class_by_itself_is_caught(loss, monkeypatch):
    """K parts, each within the clip, are together longer by up to √K; for one output it is no fault."""
    original = descent._clipped_codes

    def class_by_class(problem, standard, at, squares, clip):
        codes, plain = original(problem, standard, at, squares, 1e5)
        length = np.abs(codes) / RESIDUAL_ONE * np.sqrt(squares)
        return np.trunc(codes * np.minimum(clip / np.maximum(length, 1e-300), 1.0)).astype(np.int64), plain

    monkeypatch.setattr(descent, "_clipped_codes", class_by_class)
    assert gradients_hold(loss, Neighbours.ZERO_OUT) == (loss.outputs == 1)


def test_lengths_that_forget_the_centre_are_caught(monkeypatch):
    """Rows near zero look short, but a sparse row is far from a centre that is not zero."""

    def rows_of_zeros():
        p = 3
        moved = Standard(np.full(p, 0.9), np.full(p, 0.05), np.ones(p), np.array([0.5]))
        X, y = np.zeros((3, p)), np.array([0, 1, 1])
        start = Weights(np.zeros((1, p)), np.zeros(1))
        args = (Logistic(), Neighbours.ZERO_OUT, X, y, moved, np.ones((1, p), dtype=bool), start)
        pairs, sensitivity = gradients_of_both(*args)
        return all(within(one, other, sensitivity) for one, other in pairs)

    assert rows_of_zeros()
    original = BoundedData.row_squares
    monkeypatch.setattr(BoundedData, "row_squares", lambda self, centre, scale: original(self, 0 * centre, scale))
    assert not rows_of_zeros()


# --- Moments without the shrink -----------------------------------------------------------------------------------


@every_relation
def test_moments_that_are_not_shrunk_are_caught(relation, monkeypatch):
    assert within(*moments_of_both(Logistic(), relation, LONG, LABELS, 0.5))
    monkeypatch.setattr(BoundedData, "row_squares", lambda self, centre, scale: np.zeros(self.n_rows))
    assert not within(*moments_of_both(Logistic(), relation, LONG, LABELS, 0.5))


# --- Replace-one charged as add/remove ----------------------------------------------------------------------------


@every_loss
def test_gradients_charged_for_the_wrong_relation_are_caught(loss):
    assert gradients_hold(loss, Neighbours.REPLACE_ONE)
    assert not gradients_hold(loss, Neighbours.REPLACE_ONE, contributions=1)


def test_moments_charged_for_the_wrong_relation_are_caught():
    one, other, sensitivity = moments_of_both(Logistic(), Neighbours.REPLACE_ONE, LONG, LABELS, 2.0)
    assert within(one, other, sensitivity)
    assert not within(one, other, sensitivity // 2)


def test_screening_charged_for_the_wrong_relation_is_caught():
    X, y = np.array([[-1.0], [1.0], [1.0], [1.0]]), np.array([1, 1, 1, 1])
    rates = np.array([0.5])
    assert scores_within(*screens_of_both(Logistic(), Neighbours.REPLACE_ONE, X, y, rates))
    assert not scores_within(*screens_of_both(Logistic(), Neighbours.REPLACE_ONE, X, y, rates, contributions=1))


def test_a_count_of_rows_charged_as_one_tenth_is_caught():
    """Scores are in tenths of a row: charging one where one row moves ten is the mistake that is easily made."""
    X = np.array([[1.0], [1.0], [0.0]])
    (one, sensitivity), (other, _) = (
        length_scores(problem_of(Logistic(), rows, np.zeros(len(rows)))) for rows in (X, X[[0, 1, 1]])
    )
    assert np.abs(one - other).max() <= sensitivity
    assert np.abs(one - other).max() > sensitivity // standard._OUT_OF


# --- Screening without its cap ------------------------------------------------------------------------------------


def test_screening_by_the_sum_over_classes_is_caught(monkeypatch):
    """One row moves the sums of all classes at once; only their maximum moves by one cap."""
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 2])
    rates = np.full(3, 1 / 3)
    assert scores_within(*screens_of_both(Softmax(3), Neighbours.ZERO_OUT, X, y, rates))
    original = BoundedData.gradient

    def summed(self, codes):
        return np.abs(original(self, codes)).sum(axis=0, keepdims=True)

    monkeypatch.setattr(BoundedData, "gradient", summed)
    assert not scores_within(*screens_of_both(Softmax(3), Neighbours.ZERO_OUT, X, y, rates))


def test_a_cap_from_the_wrong_side_of_the_rate_is_caught():
    """Charged for the smaller of rate and 1 - rate, as if no label could surprise."""
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 0, 1])
    one, other = screens_of_both(Logistic(), Neighbours.ZERO_OUT, X, y, np.array([0.1]))
    assert scores_within(one, other)
    one.sensitivities = other.sensitivities = [sensitivity // 9 for sensitivity in one.sensitivities]
    assert not scores_within(one, other)


# --- Noise drawn once ---------------------------------------------------------------------------------------------

P = 500


def step_noise():
    """The noise of every step of a descent on many features, in units of σ."""
    rng = np.random.default_rng(40)
    X, y = rng.uniform(-1, 1, size=(50, P)), rng.integers(0, 2, size=50)
    moments = Standard(np.zeros(P), np.full(P, 0.6), np.ones(P), np.array([0.5]))
    plan = prepare_descent(Logistic(), moments, np.ones((1, P), dtype=bool), 50, 8, 1.0, 1)
    noises = []
    release = mechanisms.gaussian

    def listening(values, sigma, source):
        released = release(values, sigma, source)
        noises.append((released - values._secret) / sigma)
        return released

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "gaussian", listening)
        start = Weights(np.zeros((1, P)), np.zeros(1))
        noisy_descent(problem_of(Logistic(), X, y), moments, start, plan, SeededSource(41))
    return np.array(noises)


def largest_correlation(noises):
    correlations = np.corrcoef(noises)
    return np.abs(correlations[np.triu_indices(len(noises), 1)]).max()


def test_steps_have_fresh_noise_of_the_right_size_and_noise_drawn_once_is_caught(monkeypatch):
    limit = 5 / math.sqrt(P)  # five standard errors, 28 pairs
    noises = step_noise()
    assert len(noises) == 8
    assert largest_correlation(noises) < limit
    assert noises.std() == pytest.approx(1.0, abs=0.06)  # 4008 values: five standard errors
    original = mechanisms.rounded_gaussian
    monkeypatch.setattr(
        mechanisms, "rounded_gaussian", lambda source, count, sigma: original(SeededSource(42), count, sigma)
    )
    assert largest_correlation(step_noise()) > 0.99


# --- A release outside the plan -----------------------------------------------------------------------------------


def releases(problem, plan):
    """How many times something leaves the data in a whole fit."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gaussian", "select"):
            original = getattr(mechanisms, name)
            patch.setattr(
                mechanisms, name, lambda *args, original=original, name=name: seen.append(name) or original(*args)
            )
        select_and_refit(problem, plan, SeededSource(43))
    return len(seen)


def test_a_second_look_at_the_moments_is_caught(monkeypatch):
    rng = np.random.default_rng(44)
    problem = problem_of(Logistic(), rng.uniform(-1, 1, size=(300, 8)), rng.integers(0, 2, size=300))
    plan = plan_select_refit(Budget(2.0, 1e-4), Neighbours.ZERO_OUT, 300, 8, 1)
    charged = sum(getattr(event, "times", 1) for event in plan.events)
    assert releases(problem, plan) == charged
    original = select_refit.private_standard

    def twice(*args):
        original(*args)
        return original(*args)

    monkeypatch.setattr(select_refit, "private_standard", twice)
    assert releases(problem, plan) == charged + 1
