"""The membership-inference attack finds what is there, and its bounds are those of the theory."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from hardzero.model.statement import PrivacyStatement
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.events import GaussianRelease, PureRelease
from hardzero.reproduce.rows import Trial, read

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

import membership  # noqa: E402
import membership_report  # noqa: E402

sys.path.remove(str(EXPERIMENTS))


def statement(*events):
    return PrivacyStatement(1.0, 1e-5, Neighbours.ADD_REMOVE, events, ())


def bounds(privacy, accountant):
    return membership_report.bounds(privacy, accountant).values()


def trial(method, epsilon=0.0, models=10):
    return Trial("others-known", method, epsilon, "add-remove", 0, (("models", models),))


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_bounds_of_gaussian_noise_are_nearly_those_of_the_exact_trade_off(mu):
    success, detected = bounds(statement(GaussianRelease("sums", 1 / mu)), "exact")
    assert norm.cdf(mu / 2) <= success <= norm.cdf(mu / 2) + 0.005
    exact = norm.cdf(norm.ppf(membership.FALSE_ALARMS) + mu)
    assert exact <= detected <= 1.02 * exact + 0.001


def test_bounds_of_a_pure_release():
    success, detected = bounds(statement(PureRelease("a count", math.log(3))), "pure")
    assert success == pytest.approx(0.75, abs=1e-4)
    assert detected == pytest.approx(0.03, abs=1e-4)


def test_members_found_where_one_in_a_hundred_others_is_accused():
    outside = np.arange(1000.0)
    assert membership.detected(np.full(10, 989.5), outside) == 1.0  # ten of a thousand lie above
    assert membership.detected(np.full(10, 988.5), outside) == 0.0
    low, high = membership.detected_interval(np.linspace(980, 1000, 400), outside)
    assert low < 0.5 < high


def test_scores_come_from_a_rule_that_has_not_seen_the_model():
    """Labels that mean nothing cannot be learnt by heart: 200 models of 30 weights, error rate below 1 in 10,000."""
    rng = np.random.default_rng(0)
    member = np.tile([True, False], 100)
    found = membership.scores(rng.standard_normal((200, 30)), member)
    assert abs(np.mean((found > 0) == member) - 0.5) < 4 * 0.5 / math.sqrt(200)


def test_a_model_without_privacy_gives_the_person_away():
    result = membership.work(trial(membership.NOT_PRIVATE))
    assert (result["success"], result["detected"], result["epsilon"]) == (1.0, 1.0, None)
    assert membership_report.bounds_of(membership.NOT_PRIVATE, 0.0) == {"success": 1.0, "detected": 1.0}


def test_the_attack_has_power_where_noise_is_small_and_stays_within_the_bound_where_it_is_not():
    """A fixed seed. At ε = 5,000 nearly all answers are right; at ε = 1 a 95 % interval reaches below the bound."""
    weak = membership.work(trial(membership.MAIN, 5000.0, models=20))
    assert weak["success"] >= 0.9
    strong = membership.work(trial(membership.MAIN, 1.0, models=20))
    assert strong["success_interval"][0] <= membership_report.bounds_of(membership.MAIN, 1.0)["success"] < 0.57


def test_published_figures_are_complete_and_within_their_bounds():
    rows = read(membership.RESULTS / membership.FILE)
    assert set(rows) == set(membership.trials(membership.MODELS))
    for trial, row in rows.items():
        for name, bound in membership_report.bounds_of(trial.method, trial.epsilon).items():
            assert row[f"{name}_interval"][0] <= bound, trial
    head, body = membership_report.attacks(membership.RESULTS)
    assert all(len(line) == len(head) for line in body)
