"""Deliberately broken versions of select-then-refit's releases, each caught by the checks that the right ones pass.

Every test first runs the check on the library as it is, then on the twin.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.bounded import BoundedData
from hardzero.methods import select_refit
from hardzero.methods.select_refit_plan import Releases, plan_select_refit
from hardzero.optim import curvature, descent
from hardzero.optim import standardise as standard
from hardzero.optim.descent import DescentPlan, Pace, noisy_descent, prepare_descent
from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.losses import Logistic, Softmax
from hardzero.privacy import mechanisms, randomness
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import every_loss, every_relation
from ..optim.neighbours import problem_of, within
from ..optim.test_descent import gradients_of_both, standard_of, worst_pair
from ..optim.test_standardise import length_scores, moments_of_both
from .test_select_refit import calls_of, cost_by_hand, is_charged_in_order, scores_within, screens_of_both

LONG = np.array([[-1.0] * 4, [0.1] * 4, [1.0] * 4])
LABELS = np.array([0, 0, 1])


def gradients_hold(loss, relation, contributions=None):
    pairs, sensitivity = gradients_of_both(*worst_pair(loss, relation), contributions=contributions)
    return all(within(one, other, sensitivity) for one, other in pairs)


def descend_by(monkeypatch, codes):
    """Let descents sum other codes than they should."""

    def sums(rows, at, clip, one):
        residuals, bends = codes(*rows[:2], at, rows.squares, clip, one)
        totals = residuals.sum(axis=0, dtype=np.int64), bends.sum(axis=0, dtype=np.int64)
        return np.concatenate([rows.problem.data.gradient(residuals).ravel(), *totals])

    monkeypatch.setattr(descent, "code_sums", sums)


def test_the_right_codes_summed_in_the_plain_way_are_no_fault(monkeypatch):
    descend_by(monkeypatch, descent.weighted_codes)
    assert all(gradients_hold(loss, relation) for loss in (Logistic(), Softmax(3)) for relation in Neighbours)


# --- No clipping --------------------------------------------------------------------------------------------------


def unweighted_codes(problem, standard, at, squares, clip, one):
    """Residuals as they are: a row far from the centre pulls as hard as it likes."""
    return descent.kernels.weighted_codes(
        problem.data.margins(at.coef / standard.scale),
        at.intercept - at.coef / standard.scale @ standard.centre,
        problem.targets,
        np.zeros_like(squares),
        clip,
        one,
    )


@every_relation
@every_loss
def test_gradients_without_weights_are_caught(loss, relation, monkeypatch):
    assert gradients_hold(loss, relation)
    descend_by(monkeypatch, unweighted_codes)
    assert not gradients_hold(loss, relation)


@every_loss
def test_weighing_each_class_by_itself_is_caught(loss, monkeypatch):
    """K parts, each within the clip, are together longer by up to √K; for one output it is no fault."""

    def class_by_class(problem, standard, at, squares, clip, one):
        codes, bends = descent.weighted_codes(problem, standard, at, squares, 1e5, one)
        length = np.abs(codes) / one * np.sqrt(squares)
        weight = np.minimum(clip * (1 - 1e-9) / np.maximum(length, 1e-300), 1.0)
        return np.trunc(codes * weight).astype(np.int32), bends

    descend_by(monkeypatch, class_by_class)
    assert gradients_hold(loss, Neighbours.ZERO_OUT) == (loss.outputs == 1)


def test_a_weight_for_the_likeliest_label_is_caught(monkeypatch):
    """Its gradient is the shortest: a label that surprises has one far beyond the limit."""

    def holds():
        pairs, sensitivity = gradients_of_both(*worst_pair(Logistic(), Neighbours.ZERO_OUT))
        return all(within(one, other, sensitivity) for one, other in pairs)

    assert holds()

    def hopeful(problem, standard, at, squares, clip, one):
        margins = problem.data.margins(at.coef / standard.scale)
        offset = at.intercept - at.coef / standard.scale @ standard.centre
        likeliest = (margins + offset > 0).astype(float)
        short = np.abs(expit(margins + offset) - likeliest) * np.sqrt(squares)
        weight = np.minimum(clip / np.maximum(short, 1e-300), 1.0)
        residual = expit(margins + offset) - problem.targets
        codes = np.trunc(residual * weight * one).astype(np.int32)
        return codes, np.zeros_like(codes)

    descend_by(monkeypatch, hopeful)
    assert not holds()


def one_row_holds(x, centre, scale):
    """Three equal rows and two of them, at weights of zero."""
    p = len(x)
    X, y = np.tile(x, (3, 1)), np.array([0, 1, 1])
    start = Weights(np.zeros((1, p)), np.zeros(1))
    args = (Logistic(), Neighbours.ZERO_OUT, X, y, standard_of(centre, scale), np.ones((1, p), dtype=bool), start)
    pairs, sensitivity = gradients_of_both(*args)
    return all(within(one, other, sensitivity) for one, other in pairs)


def test_lengths_that_forget_the_centre_are_caught(monkeypatch):
    """Rows near zero look short, but a sparse row is far from a centre that is not zero."""
    rows_of_zeros = np.zeros(3), np.full(3, 0.9), np.full(3, 0.05)
    assert one_row_holds(*rows_of_zeros)
    original = BoundedData.row_squares
    monkeypatch.setattr(BoundedData, "row_squares", lambda self, centre, scale: original(self, 0 * centre, scale))
    assert not one_row_holds(*rows_of_zeros)


@every_relation
def test_lengths_that_forget_the_intercept_are_caught(relation, monkeypatch):
    """It is a feature that is 1 in every row; clipped without it, a row at the limit is longer by its residual."""

    def holds():
        p = 1
        X, y = np.array([[0.6], [0.0], [0.6]]), np.array([0, 1, 1])
        start = Weights(np.zeros((1, p)), np.zeros(1))
        moments = standard_of(np.zeros(p), np.full(p, 0.4))
        args = (Logistic(), relation, X, y, moments, np.ones((1, p), dtype=bool), start)
        pairs, sensitivity = gradients_of_both(*args)
        return all(within(one, other, sensitivity) for one, other in pairs)

    assert holds()
    original = descent.row_squares
    monkeypatch.setattr(descent, "row_squares", lambda *args: original(*args) - 1.0)
    assert not holds()


def test_curvatures_that_are_charged_as_half_of_what_is_released_are_caught(monkeypatch):
    """An ordinary row that nothing is known about: its gradient is at the limit, and its curvature ¼."""
    ordinary = np.array([0.5]), np.zeros(1), np.full(1, 0.5)
    assert one_row_holds(*ordinary)
    original = descent._standardised_sums

    def doubled(sums, standard, mask):
        return original(np.append(sums[: -len(mask)], 2 * sums[-len(mask) :]), standard, mask)

    monkeypatch.setattr(descent, "_standardised_sums", doubled)
    assert not one_row_holds(*ordinary)


# --- Weights that see the label -----------------------------------------------------------------------------------


def clipped_by_residual(problem, standard, at, squares, clip, one):
    """As it was once done: private, but a row that its label surprises counts for less, which moves the optimum."""
    coef = at.coef / standard.scale
    margins = problem.data.margins(coef) + (at.intercept - coef @ standard.centre)
    residual, chance = problem.loss.residual(margins, problem.targets), expit(margins)
    length = np.abs(residual) * np.sqrt(squares)
    weight = np.minimum(clip * (1 - 1e-9) / np.maximum(length, 1e-300), 1.0) * one
    return np.trunc(residual * weight).astype(np.int32), np.trunc(chance * (1 - chance) * weight).astype(np.int32)


def fitted_slope(law, seed):
    """Fitted weights along the true ones, where the model is right: 1, up to a standard error of 0.02."""
    rng = np.random.default_rng(seed)
    n, true = 20_000, np.array([2.0, -2.0, 2.0, -2.0])
    X = np.clip(rng.standard_normal((n, 4)) / 3, -1, 1) if law == "normal" else rng.uniform(-1, 1, (n, 4))
    y = rng.random(n) < expit(X @ true)
    model = SparsePrivateLogisticRegression(1000.0, bounds=(-1, 1), classes=[False, True], random_state=seed)
    return float(model.fit(X, y).coef_[0] @ true / (true @ true))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_a_clip_that_sees_the_label_is_caught_by_its_bias(law, seed, monkeypatch):
    assert 0.95 < fitted_slope(law, seed) < 1.05
    descend_by(monkeypatch, clipped_by_residual)
    monkeypatch.setattr(curvature, "weighted_codes", clipped_by_residual)
    assert fitted_slope(law, seed) > 1.15


def test_a_clip_that_sees_the_label_is_private_all_the_same(monkeypatch):
    """So that only its bias tells it from the right one: no check of sensitivities can."""
    descend_by(monkeypatch, clipped_by_residual)
    assert all(gradients_hold(Logistic(), relation) for relation in Neighbours)


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
    X = np.ones((6, 2))
    (one, sensitivity), (other, _) = (
        length_scores(problem_of(Logistic(), rows, np.zeros(6))) for rows in (X, np.vstack([X[:5], [[1.0, 0.0]]]))
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
    moments = standard_of(np.zeros(P), np.full(P, 0.6))
    plan = prepare_descent(Logistic(), moments, np.ones((1, P), dtype=bool), 50, Pace(8, 1.0, 0.5), 1)
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
    assert noises.std() == pytest.approx(1.0, abs=0.06)  # 4016 values: five standard errors
    original = mechanisms.rounded_gaussian
    monkeypatch.setattr(
        mechanisms, "rounded_gaussian", lambda source, count, sigma: original(SeededSource(42), count, sigma)
    )
    assert largest_correlation(step_noise()) > 0.99


def test_noise_drawn_ahead_that_is_handed_out_twice_is_caught(monkeypatch):
    def always_the_first(self, count, sigma):
        if not len(self._drawn):
            self._drawn = randomness.rounded_gaussian(self._source, count, sigma)
        return self._drawn[:count]

    monkeypatch.setattr(randomness.GaussiansAhead, "take", always_the_first)
    assert largest_correlation(step_noise()) > 0.99


# --- A release outside the plan -----------------------------------------------------------------------------------


def small_problem(epsilon):
    rng = np.random.default_rng(44)
    problem = problem_of(Logistic(), rng.uniform(-1, 1, size=(300, 8)), rng.integers(0, 2, size=300))
    return problem, plan_select_refit(Budget(epsilon, 1e-4), Neighbours.ZERO_OUT, 300, 8, 1)


def done_twice(monkeypatch, name):
    original = getattr(select_refit, name)

    def twice(*args):
        original(*args)
        return original(*args)

    monkeypatch.setattr(select_refit, name, twice)


@pytest.mark.parametrize("name", ["typical_length", "private_standard", "noisy_descent", "noisy_curvature"])
def test_anything_released_twice_is_caught(name, monkeypatch):
    problem, plan = small_problem(50.0)
    assert is_charged_in_order(problem, plan)
    done_twice(monkeypatch, name)
    assert not is_charged_in_order(problem, plan)


def test_a_curvature_that_is_not_charged_for_is_caught(monkeypatch):
    """By what is used, and by the cost added up by hand; the budget that it leaves over goes to the rest."""
    problem, plan = small_problem(50.0)
    assert plan.releases.curvature_noise is not None
    assert is_charged_in_order(problem, plan)
    right, _ = cost_by_hand(plan.releases)
    assert sum(event.cost.rho for event in plan.events) == pytest.approx(right)
    original = Releases.events.fget
    monkeypatch.setattr(Releases, "events", property(lambda self: (*original(self)[:-2], original(self)[-1])))
    _, plan = small_problem(50.0)
    assert plan.releases.curvature_noise is not None
    assert not is_charged_in_order(problem, plan)
    wrong, _ = cost_by_hand(plan.releases)
    assert sum(event.cost.rho for event in plan.events) < 0.95 * wrong


def test_guided_steps_that_are_not_charged_for_are_caught(monkeypatch):
    problem, plan = small_problem(50.0)
    assert plan.releases.stages[-1].guided > 0
    assert is_charged_in_order(problem, plan)
    original = Releases.events.fget
    monkeypatch.setattr(Releases, "events", property(lambda self: original(self)[:-1]))
    _, plan = small_problem(50.0)
    assert not is_charged_in_order(problem, plan)
    wrong, _ = cost_by_hand(plan.releases)
    assert sum(event.cost.rho for event in plan.events) < 0.8 * wrong


def test_guided_steps_with_less_noise_than_was_charged_for_are_caught(monkeypatch):
    """A record moves a gradient by no more wherever it is asked for: that of the steps before is right for all."""
    problem, plan = small_problem(50.0)

    def have_the_noise_of_those_before():
        steps = plan.releases.stages[-1].guided
        *_, (_, before), _ = calls_of(problem, plan)[:-steps]
        return {noise for _, noise in calls_of(problem, plan)[-steps:]} == {before}

    assert have_the_noise_of_those_before()
    original = DescentPlan.onwards
    monkeypatch.setattr(
        DescentPlan, "onwards", lambda self, steps: replace(original(self, steps), sigma=self.sigma // 2)
    )
    assert not have_the_noise_of_those_before()


def test_events_in_another_order_than_that_of_time_are_caught(monkeypatch):
    """The accountant would believe them."""
    problem, plan = small_problem(50.0)
    assert is_charged_in_order(problem, plan)
    original = Releases.events.fget
    monkeypatch.setattr(Releases, "events", property(lambda self: original(self)[::-1]))
    assert not is_charged_in_order(problem, small_problem(50.0)[1])
