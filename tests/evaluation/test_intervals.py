"""Do intervals hold the truth? A smaller version of experiments/evaluation.py, seeded."""

import numpy as np
import pytest
from scipy.special import expit

from hardzero.evaluation.histogram import ROW, plan_evaluation
from hardzero.evaluation.intervals import Parabola, figure, pairs, share
from hardzero.evaluation.metrics import of_two_classes
from hardzero.methods.plans import default_delta
from hardzero.model.evaluation import CLIP
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.mechanisms import Sensitive, gaussian
from hardzero.privacy.randomness import SeededSource


def population(mean, spread):
    """Calibrated probabilities of normal margins, and the weights of both classes on a grid of them."""
    z = np.linspace(-6, 6, 100_001)
    weight = np.exp(-(z**2) / 2)
    p = expit(mean + spread * z)
    return mean + spread * z, p, weight * (1 - p) / weight.sum(), weight * p / weight.sum()


def truths(margins, p, first, second):
    clipped, upper = np.clip(p, CLIP, 1 - CLIP), margins > 0
    sizes = first.sum(), second.sum()
    return {
        "accuracy": second[upper].sum() + first[~upper].sum(),
        "balanced_accuracy": (second[upper].sum() / sizes[1] + first[~upper].sum() / sizes[0]) / 2,
        "auc": second @ (np.cumsum(first) - first / 2) / (sizes[0] * sizes[1]),
        "log_loss": -second @ np.log(clipped) - first @ np.log1p(-clipped),
        "brier": second @ (1 - p) ** 2 + first @ p**2,
    }


@pytest.mark.parametrize("relation", [Neighbours.ZERO_OUT, Neighbours.ADD_REMOVE])
@pytest.mark.parametrize(("n_rows", "epsilon"), [(500, 0.1), (500, 1.0), (5_000, 1.0), (50_000, 0.1)])
def test_intervals_hold_the_truth(n_rows, epsilon, relation):
    """Of 400 simulations 90 to 98.5 % hold: for a true coverage of 95 % a false alarm in some 4,000 for each metric.

    An interval without the noise of privacy, or with two thirds of it, would be far below; see the next test.
    """
    margins, p, first, second = population(0.0, 1.5)
    plan = plan_evaluation(n_rows, 2, Budget(epsilon, default_delta(n_rows)), relation)
    true = truths(margins, p, first, second)
    held = simulated(plan, margins, first, second, true, plan.noise)
    assert all(0.90 <= value <= 0.985 for value in held.values()), held


def test_intervals_that_forget_the_noise_do_not():
    margins, p, first, second = population(0.0, 1.5)
    plan = plan_evaluation(500, 2, Budget(0.1, 1e-4), Neighbours.ZERO_OUT)
    held = simulated(plan, margins, first, second, truths(margins, p, first, second), 2 / 3 * plan.noise)
    assert all(value < 0.88 for value in held.values()), held


def simulated(plan, margins, first, second, true, noise):
    rng, source = np.random.default_rng(5), SeededSource(5)
    cells = plan.bins.of_margins(margins)
    chances = np.concatenate([np.bincount(cells, part, plan.bins.count) for part in (first, second)])
    held = dict.fromkeys(true, 0.0)
    for counts in rng.multinomial(plan.n_rows, chances / chances.sum(), 400):
        noisy = gaussian(Sensitive(ROW * counts), plan.sigma, source) / ROW
        found = of_two_classes(noisy, plan.bins, noise, plan.rows).metrics
        for name, value in true.items():
            held[name] += (found[name].low <= value <= found[name].high) / 400
    return held


def test_products_of_noisy_counts_have_no_bias():
    """The numerator of the AUC, over 20,000 draws: within 4 standard errors, a false alarm in 15,000."""
    rng = np.random.default_rng(1)
    first, second = np.array([5.0, 20, 60]), np.array([70.0, 25, 5])
    weights = np.tri(3) - np.eye(3) / 2
    noisy = (first + rng.normal(0, 15, (20_000, 3)), second + rng.normal(0, 15, (20_000, 3)))
    found = np.einsum("ri,ij,rj->r", noisy[0], weights, noisy[1])
    assert abs(found.mean() - first @ weights @ second) < 4 * found.std() / np.sqrt(len(found))


def test_the_estimated_variance_of_pairs_is_right_on_average():
    """Against the variance over simulations of tables and noise, at the true value; both within 10 %."""
    rng = np.random.default_rng(2)
    chances, noise, weights = np.array([0.1, 0.1, 0.3, 0.3, 0.1, 0.1]), 12.0, np.tri(3) - np.eye(3) / 2
    tables = rng.multinomial(400, chances, 8_000) + rng.normal(0, noise, (8_000, 6))
    truth = chances[:3] @ weights @ chances[3:] / (chances[:3].sum() * chances[3:].sum())
    statistics, variances = [], []
    for table in tables:
        found = {}
        _spy(pairs, found, weights, table[:3], table[3:], noise)
        numerator, denominator, variance = found["called"]
        statistics.append(numerator - truth * denominator)
        variances.append(variance.constant + variance.linear * truth + variance.square * truth**2)
    assert np.mean(variances) == pytest.approx(np.var(statistics), rel=0.1)


def _spy(function, found, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "hardzero.evaluation.intervals.figure", lambda *called: found.update(called=called[:3]) or figure(*called)
        )
        function(*arguments)


def test_exact_counts_of_many_rows_give_narrow_intervals():
    found = share(np.array([0.0, 1.0]), np.array([3e8, 7e8]), 1.0, 10**9)
    assert found.value == pytest.approx(0.7)
    assert found.high - found.low < 1e-4


def test_nothing_is_told_where_noise_drowns_a_class():
    found = pairs(np.tri(2) - np.eye(2) / 2, np.array([-3.0, 1.0]), np.array([40.0, 60.0]), 30.0)
    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)


def test_an_interval_stays_within_what_is_possible():
    found = figure(1.4, 1.0, Parabola(0.01), 1.0)  # four standard deviations beyond 1
    assert found.value == found.high == 1.0
    assert found.low == pytest.approx(1 - 0.196, abs=1e-3)
    assert figure(-0.05, 1.0, Parabola(0.01), 1.0).low == 0.0
