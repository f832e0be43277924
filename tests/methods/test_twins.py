"""Deliberately broken versions of gradient steps and greedy descent, caught by the very checks the right ones pass.

Every test first runs the check on the library as it is, then on the twin. What the twin does is charged as before.
"""

import inspect
import math
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from hardzero import PrivateGreedyLogisticRegression, PrivateIGHTLogisticRegression
from hardzero.estimators import gradient_steps as gradient_estimators
from hardzero.estimators import greedy as greedy_estimator
from hardzero.methods import gradient_steps, greedy, rows
from hardzero.optim.losses import Logistic
from hardzero.privacy import mechanisms
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import every_loss, every_relation
from ..optim.neighbours import squared_distance, within
from . import test_greedy as greedy_tests
from .released_path import epsilon_by_hand, heard_in, largest_correlation
from .test_gradient_steps import both_methods, sums_of_both, wide_fit, worst_pair

P = 500


def twin_of(function, line, broken):
    """The same function with one expression exchanged; fails if that expression is no longer there."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(line) == 1
    names = dict(vars(inspect.getmodule(function)))
    exec(source.replace(line, broken), names)
    return names[function.__name__]


# --- Noise drawn once ---------------------------------------------------------------------------------------------


@both_methods
def test_noise_drawn_once_and_used_at_every_step_is_caught(kind, monkeypatch):
    """28 pairs of steps, 500 values each: five standard errors, wrong by chance for less than one seed in 10,000."""
    limit = 5 / math.sqrt(P)
    assert largest_correlation(wide_fit(kind, p=P)[1].noises) < limit
    original = mechanisms.rounded_gaussian
    monkeypatch.setattr(
        mechanisms, "rounded_gaussian", lambda source, count, sigma: original(SeededSource(1), count, sigma)
    )
    assert largest_correlation(wide_fit(kind, p=P)[1].noises) > 0.99


# --- Too little noise ---------------------------------------------------------------------------------------------


def epsilon_of_steps(kind, neighbours="zero-out"):
    """What a fit really cost, in units of what was asked for.

    From the noise that was heard, and from how far a worst row moves the sums: nothing that the plan says is used.
    """
    model, heard = wide_fit(kind, neighbours, p=P)
    relation = Neighbours.parse(neighbours)
    *pair, path = worst_pair(Logistic(), relation)
    moves, _ = sums_of_both(*pair, 2.0, path=path)  # the length to which that fit clips
    moved = max(math.sqrt(squared_distance(*move)) for move in moves)
    sigma = np.std(heard.noises)
    return epsilon_by_hand(len(heard.noises) * moved**2 / sigma**2, 1e-5) / model.epsilon


def epsilon_of_greedy(neighbours="zero-out"):
    """The same for one step of greedy descent, whose choice is taken as charged; the noise is heard in 400 fits."""
    X, y = greedy_tests.worst_pair(Logistic())
    moves = greedy_tests.runs_of_both(Logistic(), Neighbours.parse(neighbours), X, y, 0, [0.25], [0] * 5)
    moved = abs(int(moves[0].sums[0][0]) - int(moves[1].sums[0][0]))
    settings = {"bounds": (-1, 1), "delta": 1e-5, "n_iter": 1, "neighbours": neighbours, "classes": [0, 1]}
    fits = [PrivateGreedyLogisticRegression(**settings, random_state=seed) for seed in range(400)]
    sigma = np.std([heard_in(lambda fit=fit: fit.fit(X, y))[1].noises[0][0] for fit in fits])
    _, choice = fits[0].privacy_.events
    return epsilon_by_hand(moved**2 / sigma**2, 1e-5, choice.event.eta) / fits[0].epsilon


def halved(plan):
    """As planned and charged, but with half the noise."""
    return lambda *args: replace(plan(*args), noise=plan(*args).noise / 2)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@both_methods
def test_steps_with_half_their_noise_are_caught_overspending(kind, neighbours, monkeypatch):
    """4,000 values tell σ to 1.1 %, hence ε: five standard errors above, a row that reaches only 98 % below."""
    assert 0.9 < epsilon_of_steps(kind, neighbours) < 1.06
    monkeypatch.setattr(gradient_estimators, "plan_gradient_steps", halved(gradient_steps.plan_gradient_steps))
    assert epsilon_of_steps(kind, neighbours) > 1.8


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_greedy_descent_with_half_its_noise_is_caught_overspending(neighbours, monkeypatch):
    """400 values tell σ to 3.5 %, hence ε to about 2 %, as half of it is the choice."""
    assert 0.9 < epsilon_of_greedy(neighbours) < 1.1
    monkeypatch.setattr(greedy_estimator, "plan_greedy", halved(greedy.plan_greedy))
    assert epsilon_of_greedy(neighbours) > 1.4


# --- Rows that are not clipped ------------------------------------------------------------------------------------


def steps_hold(loss, relation, charge_for=None, norm=1.0):
    *pair, path = worst_pair(loss, relation)
    pairs, sensitivity = sums_of_both(*pair, norm, charge_for=charge_for, path=path)
    return all(within(*sums, sensitivity) for sums in pairs)


@pytest.mark.parametrize("norm", [0.1, 1.0, 5.0])
@every_relation
@every_loss
def test_rows_that_are_not_clipped_are_caught(loss, relation, norm, monkeypatch):
    assert steps_hold(loss, relation, norm=norm)
    monkeypatch.setattr(
        rows.ClippedRows, "of", lambda problem, norm: rows.ClippedRows(problem, np.ones(problem.data.n_rows), norm)
    )
    assert not steps_hold(loss, relation, norm=norm)


def test_lengths_that_forget_the_constant_feature_are_caught(monkeypatch):
    """Clipped first, given a 1 afterwards: a row of zeros but for the constant is then too long for 0.1."""

    def holds():
        X, y = np.zeros((3, 2)), np.zeros(3, dtype=int)
        pairs, sensitivity = sums_of_both(Logistic(), Neighbours.ZERO_OUT, X, y, 0.1, constant=True)
        return all(within(*sums, sensitivity) for sums in pairs)

    assert holds()
    original = rows.ClippedRows.of

    def forgetful(problem, norm):
        short = replace(problem, data=problem.data.subset(np.arange(problem.data.n_features - 1)))
        return rows.ClippedRows(problem, original(short, norm).shrink, norm)

    monkeypatch.setattr(rows.ClippedRows, "of", forgetful)
    assert not holds()


# --- Replace-one charged as add/remove ----------------------------------------------------------------------------


@every_loss
def test_steps_charged_for_the_wrong_relation_are_caught(loss):
    assert steps_hold(loss, Neighbours.REPLACE_ONE)
    assert not steps_hold(loss, Neighbours.REPLACE_ONE, charge_for=Neighbours.ZERO_OUT)


@every_loss
def test_greedy_descent_charged_for_the_wrong_relation_is_caught(loss):
    args = (loss, Neighbours.REPLACE_ONE, *greedy_tests.worst_pair(loss), 0, [0.25], [0] * 5)
    right = greedy_tests.runs_of_both(*args)
    wrong = greedy_tests.runs_of_both(*args, charge_for=Neighbours.ZERO_OUT)
    for holds in (greedy_tests.scores_hold, greedy_tests.numbers_hold):
        assert holds(*right)
        assert not holds(*wrong)


# --- Thresholding dropped -----------------------------------------------------------------------------------------


def test_a_dense_iterate_returned_as_sparse_is_caught(monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, size=(100, 12)), rng.integers(0, 2, size=100)

    def kept():
        model = PrivateIGHTLogisticRegression(
            bounds=(-1, 1), n_iter=5, max_features=4, random_state=0, classes="from-y"
        ).fit(X, y)
        return np.count_nonzero(model.coef_)

    assert kept() == 4
    monkeypatch.setattr(gradient_estimators, "keep_largest", lambda coef, count: coef)
    assert kept() == 12


# --- Greedy choices without a mechanism, and more than one number -------------------------------------------------


def charged_and_heard():
    """Choices and numbers that a fit is charged for, and those that were heard, with the length of each number."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(60, 5)), rng.integers(0, 2, size=60)
    model, heard = heard_in(
        lambda: PrivateGreedyLogisticRegression(bounds=(-1, 1), n_iter=6, classes="from-y").fit(X, y)
    )
    choices, numbers = (event.times for event in model.privacy_.events)
    return (choices, [1] * numbers), (heard.selections, [len(noise) for noise in heard.noises])


def share_of_the_best(fits=200):
    """How often the better of two coordinates is chosen at a budget at which both should be chosen alike."""
    X, y = np.array([[1.0, 0.0]] * 6), np.array([0, 0, 0, 0, 0, 1])
    chosen = [
        PrivateGreedyLogisticRegression(
            0.001, delta=1e-6, bounds=(-1, 1), n_iter=1, random_state=seed, classes="from-y"
        ).fit(X, y)
        for seed in range(fits)
    ]
    return np.mean([model.support_[0] == 0 for model in chosen])


def test_choosing_the_largest_gradient_without_a_mechanism_is_caught(monkeypatch):
    """By what is heard, and by how often the best is chosen: half of 200 times, within five standard errors."""
    charged, heard = charged_and_heard()
    assert charged == heard
    assert abs(share_of_the_best() - 0.5) < 5 * math.sqrt(0.25 / 200)
    choice = "mechanisms.select(Sensitive(np.abs(gradient)), sensitivity, plan.eta, source)"
    twin = twin_of(greedy.greedy_descent, choice, "int(np.argmax(np.abs(gradient)))")
    monkeypatch.setattr(greedy_estimator, "greedy_descent", twin)
    charged, heard = charged_and_heard()
    assert charged == (6, [1] * 6)
    assert heard == (0, [1] * 6)
    assert share_of_the_best() == 1.0


def test_measuring_every_coordinate_in_place_of_the_chosen_one_is_caught(monkeypatch):
    """By the length of what is released, and by how far a row of ones moves it: √p sensitivities."""

    def holds():
        X, y = np.ones((3, 4)), np.array([0, 1, 0])
        return greedy_tests.numbers_hold(*greedy_tests.runs_of_both(Logistic(), Neighbours.ZERO_OUT, X, y, 4))

    charged, heard = charged_and_heard()
    assert charged == heard
    assert holds()
    number = "mechanisms.gaussian(Sensitive(gradient[chosen : chosen + 1]), sigma, source)[0]"
    twin = twin_of(greedy.greedy_descent, number, "mechanisms.gaussian(Sensitive(gradient), sigma, source)[chosen]")
    for module in (greedy_estimator, greedy_tests):
        monkeypatch.setattr(module, "greedy_descent", twin)
    charged, heard = charged_and_heard()
    assert charged == (6, [1] * 6)
    assert heard == (6, [5] * 6)
    assert not holds()
