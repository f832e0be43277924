"""Whole variables in select-then-refit: which stay, in which direction they act, and how sure they are.

Seeds are fixed. Rates in the tests are what 40 fits with other seeds, 100 to 139, gave.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chi2

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.variables import Variables, level_shares, level_values
from hardzero.methods.inference import Estimate, variable_q_values
from hardzero.methods.select_refit import Judgement, in_known_direction
from hardzero.methods.select_refit_plan import plan_select_refit
from hardzero.methods.support import clear_of_noise, most_important
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import GaussianRelease

from ..optim.test_descent import standard_of
from .test_select_refit import chances_of

CUTS = np.arange(1, 10) / 10
SHAPES = [lambda x: 3.0 * (x > 0.5), lambda x: 8.0 * (x - 0.5) ** 2, lambda x: 2.0 * x]
"""Of the first three variables; the others are noise, and the last one is the same in all rows."""
COUNT = 10
NAMES = tuple(f"x{j}" for j in range(COUNT))


def variables(signs=None, quantiles=()):
    owners = tuple(j for j in range(COUNT) for _ in CUTS)
    known = [0] * COUNT if signs is None else signs
    return Variables(NAMES, ("steps",) * COUNT, owners, tuple(known[owner] for owner in owners), quantiles)


def table(seed, n_rows=12_000):
    """Steps of ten variables, of which three matter, and labels."""
    rng = np.random.default_rng(seed)
    values = rng.random((n_rows, COUNT))
    values[:, -1] = 0.0
    score = sum(shape(values[:, j]) for j, shape in enumerate(SHAPES))
    y = rng.random(n_rows) < expit(score - score.mean())
    return (values[:, :, None] >= CUTS).reshape(n_rows, -1).astype(float), y.astype(int)


def fitted(seed, *, given=None, **changes):
    parameters = {"epsilon": 2.0, "delta": 1e-5, "bounds": (0, 1), "classes": [0, 1], "random_state": seed}
    known = variables() if given is None else given
    return SparsePrivateLogisticRegression(**(parameters | {"variables": known} | changes)).fit(*table(seed))


@pytest.fixture(scope="module")
def fits():
    """Eight of them."""
    return [fitted(seed) for seed in range(8)]


def steps_of(model, variable):
    return model.coef_[0, variable * len(CUTS) : (variable + 1) * len(CUTS)]


def test_variables_that_matter_are_reliable_and_others_are_not(fits):
    """None of 40 fits missed a real one or called another, so fewer than 1 in 13 do (at 95 %)."""
    for model in fits:
        assert {known.name for known in model.kept_variables_ if known.reliable} == {"x0", "x1", "x2"}


def test_the_most_important_variable_comes_first(fits):
    """Spreads of what they add: 1.5, 0.6 and 0.58."""
    for model in fits:
        importances = [known.importance for known in model.kept_variables_]
        assert importances == sorted(importances, reverse=True)
        assert model.kept_variables_[0].name == "x0"
        assert importances[0] == pytest.approx(1.5, rel=0.15)


def test_a_variable_that_is_the_same_in_all_rows_is_never_kept(fits):
    """Not in 40 fits either."""
    for model in fits:
        assert not steps_of(model, COUNT - 1).any()


def test_bands_of_curves_cover_what_is_true(fits):
    """Levels of the three curves, centred, by their joint covariance: 97 % of 1,200 were covered."""
    covered = []
    for model in fits:
        for known in model.kept_variables_[:3]:
            number = NAMES.index(known.name)
            cuts = CUTS[np.array(known.features) - number * len(CUTS)]
            shares = level_shares("steps", known.mean)
            curve = level_values("steps", model.coef_[0, list(known.features)])
            reached = np.tril(np.ones((len(curve), len(cuts))), -1)
            away = reached - shares @ reached
            error = np.sqrt(np.einsum("ij,jk,ik->i", away, known.covariance, away))
            grid = (np.arange(2000) + 0.5) / 2000
            truth = SHAPES[number](grid)
            level = np.searchsorted(cuts, grid, side="right")
            true = np.bincount(level, truth) / np.bincount(level) - truth.mean()
            covered += (np.abs(curve - shares @ curve - true) < 2 * error).tolist()
    assert np.mean(covered) >= 0.85


def test_unknown_correlations_between_variables_widen_intervals(monkeypatch):
    """By the share of a variable that those left beside it would explain, correlations having a spread of 0.2.

    The constant variable is eliminated or not, as the noise has it.
    """
    left = []
    wide = fitted(9, epsilon=1.0)
    assert "taken for uncorrelated between variables" in wide.inference_.covers
    monkeypatch.setattr(Estimate, "widened", lambda self, variables: left.append(variables) or self)
    narrow = fitted(9, epsilon=1.0)
    assert left in ([COUNT - 1], [COUNT])
    both = (wide.coef_ != 0) & (narrow.coef_ != 0)
    assert both.any()
    assert wide.coef_[both] == pytest.approx(narrow.coef_[both])
    assert wide.coef_se_[both] == pytest.approx(narrow.coef_se_[both] * math.sqrt(1 + 0.04 * (left[0] - 1)), rel=1e-6)


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_variables_than_allowed_are_kept_and_the_right_ones(limit):
    for seed in range(3):
        model = fitted(seed, max_variables=limit)
        kept = [known.name for known in model.kept_variables_]
        assert len(kept) <= limit
        assert "x0" in kept


def test_curves_that_can_only_rise_do_not_fall():
    """The second variable falls, then rises: said to rise it loses its first half, said to fall its last."""
    for direction in (1, -1):
        model = fitted(3, given=variables([0, direction, 0] + [0] * (COUNT - 3)))
        steps = steps_of(model, 1)
        assert np.all(steps * direction >= 0)
        assert np.any(steps != 0)
        middle = len(CUTS) // 2
        far = steps[middle + 1 :] if direction > 0 else steps[:middle]
        assert np.abs(far).sum() > 0.7 * np.abs(steps).sum()


def test_a_wrong_direction_leaves_nothing_of_a_variable_but_noise():
    model = fitted(4, given=variables([-1, 0, 0] + [0] * (COUNT - 3)))
    assert np.all(steps_of(model, 0) <= 0)
    assert np.abs(steps_of(model, 0)).sum() < 0.5


def test_only_cut_points_near_quantiles_take_part():
    model = fitted(5, given=variables(quantiles=(3,) * COUNT))
    kept = np.flatnonzero(model.coef_[0]) % len(CUTS)
    assert set(kept) <= {1, 2, 4, 6, 7}  # the quarters lie between 0.2 and 0.3, at 0.5, and between 0.7 and 0.8
    assert len(steps_of(model, 0).nonzero()[0]) <= 3


def test_several_classes_keep_whole_variables_too():
    X, y = table(6)
    y = y + (X[:, 22] > 0) * y  # a third class
    model = SparsePrivateLogisticRegression(
        5.0, 1e-5, bounds=(0, 1), classes=[0, 1, 2], random_state=6, variables=variables(), max_variables=3
    ).fit(X, y)
    kept = {NAMES[j // len(CUTS)] for j in np.flatnonzero(model.coef_.any(axis=0))}
    assert len(kept) <= 3
    assert "x0" in kept


# --- Parts ----------------------------------------------------------------------------------------------------------


def test_variables_stay_by_what_they_add_and_not_by_their_largest_weight():
    """The first has the largest single weight, on a step that hardly anybody has reached."""
    known = Variables(("rare", "many"), ("steps", "steps"), (0, 1, 1), (0, 0, 0))
    standard = standard_of([0.01, 0.7, 0.4], [0.1, 0.46, 0.49], [0.0099, 0.21, 0.24])
    coef = np.array([[0.6, 0.45, 0.45]])
    kept = most_important(coef, np.ones((1, 3), dtype=bool), standard, known, 1)
    assert kept.tolist() == [[False, True, True]]
    assert most_important(coef, np.ones((1, 3), dtype=bool), standard, known, 2).all()
    masked = most_important(coef, np.array([[True, False, False]]), standard, known, 1)
    assert masked.tolist() == [[True, False, False]]


def test_listed_categories_that_may_be_empty_need_slopes_that_are_no_noise():
    """Of steps one has to; numbers do not, nor do features of which nothing was said or whose spread is clear."""
    known = Variables(
        ("c", "s", "e", "n"), ("categories", "steps", "steps", "number"), (0, 0, 0, 1, 1, 2, 2, 3), (0,) * 8
    )
    variance = [0.003, 0.003, 0.005, 0.003, 0.005, 0.003, 0.003, 0.003]
    standard = standard_of(np.zeros(8), np.ones(8), variance, error=1e-3)
    chances = chances_of([0.01] * 8, [18.0, 20.0, 0.0, 0.0, 0.0, 0.0, 18.0, 5.0])
    everything = np.ones((1, 8), dtype=bool)
    kept = clear_of_noise(everything, standard, chances, known)
    assert kept.tolist() == [[False, True, True, True, True, False, False, True]]
    assert clear_of_noise(everything, standard, chances).all()


def test_categories_that_nobody_has_are_not_kept():
    """30 of them beside four real ones; in 40 fits none was kept."""
    rng = np.random.default_rng(0)
    category = rng.integers(0, 4, size=12_000)
    X = np.zeros((12_000, 34))
    X[np.arange(12_000), category] = 1.0
    y = (rng.random(12_000) < expit(np.array([-2.0, -0.7, 0.7, 2.0])[category])).astype(int)
    known = Variables(("c",), ("categories",), (0,) * 34, (0,) * 34)
    for seed in range(10):
        model = SparsePrivateLogisticRegression(
            1.0, 1e-5, bounds=(0, 1), classes=[0, 1], random_state=seed, variables=known, max_features=20
        ).fit(X, y)
        assert set(model.support_) <= {0, 1, 2, 3}
        assert {0, 3} <= set(model.support_)


def law(mean, covariance):
    """A law of weights, with an intercept apart."""
    whole = np.eye(len(mean) + 1)
    whole[:-1, :-1] = covariance
    return Estimate(np.append(mean, 0.1), whole)


def test_weights_of_the_wrong_sign_go_and_others_take_over_their_part():
    """Dropping the second raises the third to the wrong sign as well, since they share what they say."""
    covariance = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.0]])
    known = Variables(("a", "b"), ("number", "steps"), (0, 1, 1), (0, 1, 1))
    judgement = Judgement(law([-1.0, -1.0, 0.5], covariance), None, None, 3, "", variables=known)
    kept = in_known_direction(judgement, np.ones(3, dtype=bool))
    assert kept.tolist() == [True, False, True]
    sinking = Judgement(law([-1.0, -0.5, 0.4], -covariance + 2 * np.eye(3)), None, None, 3, "", variables=known)
    assert in_known_direction(sinking, np.ones(3, dtype=bool)).tolist() == [True, False, False]


@given(st.integers(1, 5), st.integers(0, 20), st.integers(0, 1000))
def test_rates_of_variables_are_those_of_wald_over_all_their_candidates(size, dropped, seed):
    rng = np.random.default_rng(seed)
    coef, root = rng.normal(size=size), rng.normal(size=(size, size))
    covariance = root @ root.T + np.eye(size)
    known = Variables(("kept", "gone"), ("steps", "steps"), (0,) * size, (0,) * size)
    rates = variable_q_values(law(coef, covariance), np.ones(size), known, np.array([size + dropped + 1, 4]))
    tail = chi2.sf(coef @ np.linalg.inv(covariance) @ coef, size + dropped + 1)
    assert rates == pytest.approx([min(2 * tail, 1.0), 1.0])


def test_a_variable_of_one_feature_is_as_sure_as_that_feature():
    known = Variables(("alone",), ("number",), (0,), (0,))
    assert variable_q_values(law([9.0], [[1.0]]), np.array([0.3]), known, np.array([1]))[0] == 0.3
    assert variable_q_values(law([9.0], [[1.0]]), np.array([0.3]), known, np.array([2]))[0] < 1e-10


# --- Plans ----------------------------------------------------------------------------------------------------------


def planned(known, limit=None, most=None, n_features=400):
    budget = Budget(1.0, 1e-6)
    return plan_select_refit(budget, Neighbours.ZERO_OUT, 30_000, n_features, 1, most, None, known, limit)


@pytest.mark.parametrize(("count", "expected"), [(5, 5), (12, 12), (13, 12), (16, 12), (100, 30), (400, 60)])
def test_how_many_variables_are_kept_follows_from_their_number(count, expected):
    plan = planned(Variables.of_labels(np.arange(400) % count))
    assert plan.releases.stages[-1].variables == expected
    counts = [count, *(stage.variables for stage in plan.releases.stages)]
    assert counts == sorted(counts, reverse=True)
    assert plan.releases.stages[-1].kept == int(5 * math.sqrt(400))


def test_limits_are_kept_to_and_features_alone_are_variables_of_their_own():
    def survive(plan):
        refit = plan.releases.stages[-1]
        return refit.kept, refit.variables

    assert survive(planned(Variables.of_labels(np.arange(400) % 50), limit=3, most=9)) == (9, 3)
    assert survive(planned(None)) == (40, 400)
    assert survive(planned(Variables.of_labels(np.zeros(400)), most=400)) == (400, 1)
    assert planned(None).spent == planned(None, most=40).spent


@pytest.mark.parametrize(("n_rows", "expected"), [(500, 30), (16_000, 384), (100_000, 400)])
def test_fewer_cut_points_take_part_where_the_budget_is_small(n_rows, expected):
    """By public numbers alone; single numbers and categories all do."""
    known = Variables(("a", "b", "c"), ("steps", "steps", "number"), (0,) * 200 + (1,) * 200 + (2,) * 9, (0,) * 409)
    plan = plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, n_rows, 409, 1, variables=known)
    assert len(plan.features) == expected + 9
    assert set(range(400, 409)) <= set(plan.features)
    assert plan.spent <= plan.budget


@pytest.mark.parametrize(
    ("kind", "sign", "guided"),
    [("steps", 0, False), ("number", 0, True), ("categories", 0, True), ("number", 1, False), ("number", -1, False)],
)
def test_curves_and_known_directions_are_not_guided_by_a_curvature(kind, sign, guided):
    """Cuts correlate too much, and guided steps know no signs; it is released all the same, after the refit."""
    known = Variables(("a", "b", "c"), (kind, "number", "number"), (0,) * 8 + (1, 2), (0,) * 9 + (sign,))
    plan = plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, 100_000, 10, 1, variables=known)
    assert plan.releases.curvature_noise is not None
    assert (plan.releases.stages[-1].guided > 0) == guided
    last = plan.events[-2 if guided else -1]
    assert isinstance(last, GaussianRelease)
    assert last.noise == plan.releases.curvature_noise


# --- Parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"variables": "abc"}, TypeError, "variables must be a sequence with one label for each feature"),
        ({"variables": 3}, TypeError, "variables must be a sequence with one label for each feature"),
        ({"variables": ["a", "b"]}, ValueError, "variables has 2 labels for 3 features; give one for each feature"),
        ({"max_variables": 2}, ValueError, "max_variables needs variables"),
        ({"variables": list("abc"), "max_variables": 0}, ValueError, "max_variables"),
        ({"variables": list("abc"), "max_variables": 1.5}, TypeError, "max_variables"),
        (
            {"variables": Variables(("a",), ("number",), (0, 0, 0), (1, 1, 1)), "classes": [0, 1, 2]},
            ValueError,
            "which is for two classes; there are 3",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(parameters, error, message):
    model = SparsePrivateLogisticRegression(**({"bounds": (0, 1), "classes": [0, 1]} | parameters))
    with pytest.raises(error, match=message):
        model.fit(np.zeros((20, 3)), np.arange(20) % 2)


def test_labels_may_be_of_any_kind():
    X, y = table(7, 2000)
    for labels in (np.array(variables().owners), [("x", owner) for owner in variables().owners]):
        model = SparsePrivateLogisticRegression(
            bounds=(0, 1), classes=[0, 1], random_state=0, variables=labels, max_variables=2
        ).fit(X, y)
        assert 1 <= len(model.kept_variables_) <= 2


def test_without_variables_none_are_told_of():
    X, y = table(8, 2000)
    model = SparsePrivateLogisticRegression(bounds=(0, 1), classes=[0, 1], random_state=0).fit(X, y)
    assert model.kept_variables_ == ()
