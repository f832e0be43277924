"""From runs to a verdict, on made-up releases of known privacy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hardzero.audit import Case, Claim, ExactCase, audit
from hardzero.audit.judge import chosen_rule, judged, least_factor, pilot_runs
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import GaussianRelease, PureRelease


def gaussian_claim(mu):
    events = (GaussianRelease("a number", 1 / mu),)
    return Claim(accounting.spent(events, 1e-5), events)


def shifted(shift, seed):
    return np.array([shift, 0.0]) + np.random.default_rng(seed).standard_normal(2)


def shift_case(shift, mu):
    return Case("shift", "a normal number", gaussian_claim(mu), (0.0, shift), shifted, 4000, 2000)


def test_what_is_claimed_is_not_refuted_and_most_of_it_is_shown():
    (found,) = audit([shift_case(2.0, 2.0)], seed=1)
    assert found.passed
    assert found.mu == pytest.approx(2.0)
    assert 1.75 < found.mu_shown <= 2.0
    assert found.epsilon_shown < found.epsilon_as_gaussian <= found.epsilon
    assert found.runs == 4000 - pilot_runs(4000)


@pytest.mark.parametrize("seed", range(5))
def test_a_fifth_more_than_is_claimed_is_refuted(seed):
    """Five audits; `catches` says that each succeeds with probability 0.9 or more at a factor of about 1.1."""
    (found,) = audit([shift_case(2.4, 2.0)], seed=seed)
    assert not found.passed
    assert found.excess > 0


def test_right_claims_are_seldom_refuted():
    """200 audits of a claim that is exactly used up: more than two failures have probability 0.001 at 0.001 each."""
    case = shift_case(1.0, 1.0)
    failures = sum(not audit([replace(case, quick=300)], quick=True, seed=seed)[0].passed for seed in range(200))
    assert failures <= 2


def test_the_curve_refutes_what_the_stated_delta_cannot_show():
    """ε = 3 at δ = 1e-5 is far from refuted by ε shown, yet its μ is."""
    (found,) = audit([replace(shift_case(1.5, 0.7), runs=1000)], seed=2)
    assert found.epsilon_shown < found.epsilon
    assert not found.passed


def test_judged_runs_do_not_choose_the_events():
    """Runs without any difference, of which pilots happen to find one: it is gone in the others."""
    rng = np.random.default_rng(3)
    pilots, others = rng.standard_normal((2, 30, 25)), rng.standard_normal((2, 1000, 25))
    case = replace(shift_case(0.0, 0.1), runs=1)
    rule = chosen_rule(*pilots, case.claim, 1000)
    assert judged(case, rule, *pilots).hits[1] > judged(case, rule, *pilots).alarms[1]
    assert judged(case, rule, *others).passed


def test_values_that_are_no_numbers_are_judged_too():
    def run(there, seed):
        return np.array([math.inf if there else math.nan])

    case = Case("odd", "infinite", Claim(Budget(1.0, 0.0), (PureRelease("x", 1.0),)), (False, True), run, 200, 100)
    assert not audit([case], seed=0)[0].passed


def test_power_grows_with_runs_and_is_none_where_nothing_shows():
    claim = gaussian_claim(1.0)
    few, many = (least_factor(claim, 0.9, runs) for runs in (200, 20_000))
    assert 1 < many < 1.3 < few < 3
    assert least_factor(claim, 0.0, 1000) is None


def test_a_claim_without_events_is_the_stated_budget_alone():
    claim = Claim(Budget(1.0, 1e-5), ())
    assert claim.curve == (Budget(1.0, 1e-5),)
    assert claim.mu is None


def test_curves_fall_and_begin_with_what_is_stated():
    claim = gaussian_claim(1.0)
    assert claim.curve[0] == claim.stated
    epsilons = [point.epsilon for point in claim.curve]
    assert epsilons == sorted(epsilons, reverse=True)


def test_the_same_seed_gives_the_same_outcome_with_workers_too():
    case = shift_case(1.0, 1.0)
    assert audit([case], quick=True, seed=4) == audit([case], quick=True, seed=4, jobs=2)
    assert audit([case], quick=True, seed=4) != audit([case], quick=True, seed=5)


def test_exact_cases_say_what_differs():
    same, other = audit([ExactCase("a", "nothing", str), ExactCase("b", "something", lambda: "types differ")])
    assert same.passed
    assert not other.passed
    assert other.to_dict()["difference"] == "types differ"


def test_a_quick_audit_leaves_slow_cases_out():
    assert audit([replace(shift_case(1.0, 1.0), quick=0)], quick=True) == []
