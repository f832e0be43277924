"""Leaks too small for a sample to show, or too far from a mechanism for a replay to see, each by its own test."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.methods import objective
from hardzero.optim import frank_wolfe as solvers
from hardzero.optim.balls import L1Ball
from hardzero.optim.engine import ReferenceEngine, engine_for
from hardzero.optim.losses import Logistic, Softmax
from hardzero.optim.problem import Problem
from hardzero.optim.standardise import moment_sums
from hardzero.privacy import accounting, randomness
from hardzero.privacy.events import GaussianRelease, PerturbedMinimum, PureRelease, Repeated, Selection
from hardzero.privacy.mechanisms import Sensitive, count, exact
from hardzero.privacy.randomness import SeededSource

from .private_fits import LASSO, SELECT_REFIT, Case, every_case, fitted, loops, monotonous, records
from .replay import taped

__all__ = ["loops"]

SUM_ONE = FEATURE_ONE * RESIDUAL_ONE


def bounded(X):
    return BoundedData.from_matrix(X, Bounds.parse((-1, 1), X.shape[1]))


# --- Mechanisms and randomness ------------------------------------------------------------------------------------


@given(st.integers(-(10**6), 10**6), st.integers(0, 2**32))
def test_a_count_beyond_its_range_is_released_as_one_at_its_end(value, seed):
    end = min(max(value, 2), 50)
    assert count(Sensitive(value), 2, 50, 1.0, SeededSource(seed)) == count(
        Sensitive(end), 2, 50, 1.0, SeededSource(seed)
    )


@given(st.floats(0.01, 20.0))
def test_coins_are_decided_by_more_bits_than_a_sample_shows(gamma):
    """Uniform words 2⁻³⁵ below and above e^-γ, farther away than what is decided exactly."""

    class Words(SeededSource):
        def words(self, count):
            edge = int(math.exp(-gamma) * 2**64)
            return np.array([max(edge - 2**29, 0), edge + 2**29], dtype=np.uint64)

    accepted = randomness._exp_accept(Words(0), np.full(2, gamma), None)
    assert accepted.tolist() == [math.exp(-gamma) * 2**64 > 2**29, False]


@pytest.mark.parametrize(
    ("accountant", "event"), [("pure", PureRelease("one", 0.02)), ("recursion", Selection(0.02))]
)
def test_sharper_theorems_are_added_to_what_is_released_beside(accountant, event):
    """A release that is 1-DP and no better costs ε = 1 whatever stands beside it."""
    together = accounting.spent([Repeated(event, 10), PureRelease("another", 1.0)], 1e-6, accountant)
    assert together.epsilon >= 0.999


# --- Every release is charged for ---------------------------------------------------------------------------------

PAID_BY = {
    "select": [Selection],
    "select_signed": [Selection],
    "noisy_min_signed": [PureRelease],
    "count": [PureRelease],
    "gaussian": [GaussianRelease],
    "perturbed_minimum": [PerturbedMinimum, GaussianRelease],
}


def single_events(statement):
    for event in statement.events:
        times, single = (event.times, event.event) if isinstance(event, Repeated) else (1, event)
        yield from [single] * times


@every_case
def test_every_call_of_a_mechanism_is_an_event_of_the_plan(case):
    """As many of each kind, and selections of the same bounded ranges."""
    with taped() as tape:
        model = fitted(case, records(case, 1))
    events = list(single_events(model.privacy_))
    due = Counter(kind for call in tape.calls for kind in PAID_BY[call.mechanism])
    assert due == Counter(map(type, events))
    ranges = sorted(call.public["eta"] for call in tape.calls if "eta" in call.public)
    assert ranges == sorted(event.eta for event in events if isinstance(event, Selection))


def gaussians_before_selections(kinds):
    """For each selection, how many Gaussian releases stand before it."""
    before, counts = 0, []
    for kind in kinds:
        if kind is Selection:
            counts.append(before)
        before += kind is GaussianRelease
    return np.array(counts)


@every_case
def test_no_gaussian_release_is_charged_as_if_it_came_later(case):
    """Before a selection it costs more, because the selection may depend on it; the accountant believes the order."""
    with taped() as tape:
        model = fitted(case, records(case, 1))
    events = list(single_events(model.privacy_))
    called = gaussians_before_selections(kind for call in tape.calls for kind in PAID_BY[call.mechanism])
    assert np.all(called <= gaussians_before_selections(map(type, events)))
    ranges = [call.public["eta"] for call in tape.calls if "eta" in call.public]
    assert ranges == [event.eta for event in events if isinstance(event, Selection)]


# --- Public numbers only ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_a_tolerance_is_made_from_public_numbers(intercept, monkeypatch):
    """Along one released path an engine is told the same for tables of other sizes and other labels.

    At an ε so large that the tolerance follows the number of rows, and not the most that it may be.
    """
    case = Case(LASSO, 2, parameters={"n_iter": 20, "epsilon": 200.0, "fit_intercept": intercept})
    told = []

    def listened(*args, real=engine_for):
        engine = real(*args)
        refresh = engine.refresh

        def heard(t, at, cap, tolerance):
            told[-1].append((t, at.tolist(), cap, tolerance))
            refresh(t, at, cap, tolerance)

        engine.refresh = heard
        return engine

    monkeypatch.setattr(solvers, "engine_for", listened)
    script = None
    for table in (records(case, 1), records(case, 2), records(case, 3, 130), monotonous(case, 261)):
        told.append([])
        with taped(script) as tape:
            fitted(case, table, neighbours="add-remove", n_rows=250)
        script = script or tape
        assert told[-1] == told[0]
    told.append([])
    fitted(case, records(case, 1), neighbours="add-remove", n_rows=400)
    assert 0 < told[-1][-2][-1] < told[0][-2][-1]  # the stated number does count


def test_stale_codes_stay_within_a_cap_that_would_fall(loops, monkeypatch):
    """Ten steps to one corner and ten to its opposite: weights shrink, and a row's residual from before stays."""
    engines, shares = [], []

    def kept(*args):
        engines.append(engine_for(*args))
        return engines[-1]

    class ThereAndBack:
        def __call__(self, scores, cap):
            shares.append(np.abs(engines[-1].codes).max() / cap)
            return 0, 1 if len(shares) <= 10 else -1

        def tolerances(self, n_rows, steps, stalest):
            return [int(0.15 * RESIDUAL_ONE)] * len(steps)

    monkeypatch.setattr(solvers, "engine_for", kept)
    problem = Problem(bounded(np.ones((8, 2))), np.zeros((8, 1)), Logistic())
    solvers.frank_wolfe(problem, L1Ball(3.0), 20, ThereAndBack())
    assert 0.9 < max(shares) <= 1


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=["logistic", "softmax"])
@given(st.integers(0, 2**32), st.sampled_from([500, 50_000, 300_000]))
def test_which_codes_a_plain_engine_replaces_depends_on_their_own_rows(loss, seed, tolerance):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(40, 5))
    y = rng.integers(0, 2, size=(40, 1)).astype(float) if loss.outputs == 1 else rng.integers(0, 3, size=40)
    steps = solvers.open_loop_step(np.arange(1, 21))
    scales = np.concatenate([[1.0], np.cumprod(1 - steps)])
    few, many = (ReferenceEngine(bounded(X[:size]), y[:size], loss, scales) for size in (10, 40))
    for t in range(20):
        output, feature, sign = int(rng.integers(loss.outputs)), int(rng.integers(5)), rng.choice([-5.0, 5.0])
        for engine in (few, many):
            engine.refresh(t, np.zeros(loss.outputs), RESIDUAL_ONE, tolerance)
            engine.add(t + 1, output, feature, sign * steps[t])
        assert np.array_equal(few.codes, many.codes[:10])


@pytest.mark.parametrize("n_rows", [130, 261])
def test_objectives_have_the_planned_convexity_whatever_the_number_of_rows(n_rows, monkeypatch):
    """The noise is calibrated to it."""
    seen = set()

    def heard(rows, centre, convexity, linear, real=objective.minimise_logistic):
        seen.add(convexity)
        return real(rows, centre, convexity, linear)

    monkeypatch.setattr(objective, "minimise_logistic", heard)
    case = Case("PrivateADMMLogisticRegression", parameters={"coupling": 0.1, "n_iter": 2})
    fitted(case, records(case, 1, n_rows), neighbours="add-remove", n_rows=250)
    assert seen == {0.1 * 250}


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_rows_whole_numbers_do_not_depend_on_the_other_rows(store, loops):
    X = np.random.default_rng(0).uniform(-0.4, 0.4, size=(30, 4))
    alone = np.vstack([_dense(bounded(store(row[None, :])).codes) for row in X])
    assert np.array_equal(alone, _dense(bounded(store(X)).codes))
    assert np.array_equal(alone, _dense(bounded(store(np.vstack([X, np.ones((1, 4))]))).codes)[:-1])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_values_beyond_their_bounds_count_as_the_bounds(store, loops):
    X = np.array([[1.5, -20.0], [-1.0001, 0.5]])
    expected = np.array([[1, -1], [-1, 0.5]]) * FEATURE_ONE
    assert np.array_equal(_dense(bounded(store(X)).codes), expected)


def _dense(codes):
    return codes.toarray() if sparse.issparse(codes) else codes


# --- Rounding -----------------------------------------------------------------------------------------------------


def test_shrunk_rows_are_rounded_down():
    """A row with one feature at its bound, shorter than the length by a hair: no code is larger than 1 stands for."""
    problem = Problem(bounded(np.array([[1.0, 0.0]])), np.ones((1, 1)), Logistic())
    added = [int(part) for part in exact(moment_sums(problem, 1 + 1e-8))]
    assert sum(part**2 for part in added) == 3 * SUM_ONE**2


# --- What is said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [7351, "seven"])
def test_a_label_outside_the_classes_is_not_quoted(label):
    case = Case(SELECT_REFIT)
    X, y = records(case, 1)
    y = y.astype(type(label)).astype(object if isinstance(label, str) else int)
    y[5] = label
    with pytest.raises((ValueError, TypeError)) as refused:
        fitted(case, (X, y), classes=[str(k) if isinstance(label, str) else k for k in (0, 1)])
    assert str(label) not in str(refused.value)
    assert "classes" in str(refused.value)
