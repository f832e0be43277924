"""Objective perturbation: what is released, and that no two neighbours are further apart than is charged for.

The ideal mechanism's density is known: weights w are the minimiser for the one linear term b = -(gradient at w), so
their density is that of b times the determinant of the Hessian. With one or two features both are computed on a
grid, and Rényi divergences and δ(ε) by summation, for records as bad as the rules allow.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import Cost, GaussianRelease, PerturbedMinimum, Repeated
from hardzero.privacy.mechanisms import Sensitive, perturbed_minimum
from hardzero.privacy.randomness import SeededSource

from .statistics import ALPHA

GAP = 1e-8


# --- The law of what is released ----------------------------------------------------------------------------------


def quadratic(hessian, slope):
    """Minimiser of ½w·H·w + g·w + b·w for every block of features: as many independent runs as there are blocks."""

    def minimise(linear):
        blocks = linear.reshape(-1, len(slope)) + slope
        return Sensitive(-np.linalg.solve(hessian, blocks.T).T.ravel())

    return minimise


QUADRATICS = [
    (np.array([[4.0]]), np.array([3.0])),
    (np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.0, -7.0])),
    (np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 0.7]]), np.array([1.0, 20.0, -5.0])),
]


@pytest.mark.parametrize(("hessian", "slope"), QUADRATICS, ids=["1", "2", "3"])
def test_minimisers_of_a_quadratic_are_normal_and_a_wrong_noise_is_not(hessian, slope):
    """-H⁻¹(g + b) has mean -H⁻¹g and covariance σ²H⁻²; 4000 runs, Kolmogorov-Smirnov, every p-value above 1e-6."""
    d, runs, sigma = len(slope), 4000, 2.5
    released = perturbed_minimum(quadratic(hessian, slope), d * runs, sigma, GAP, 5.0, SeededSource(50 + d))
    white = (released.reshape(runs, d) @ hessian + slope) / sigma
    assert all(stats.kstest(column, "norm").pvalue > ALPHA for column in white.T)
    assert stats.kstest((white**2).sum(axis=1), stats.chi2(d).cdf).pvalue > ALPHA
    together = np.corrcoef(white.T) if d > 1 else np.eye(1)
    assert np.abs(together - np.eye(d)).max() < 5 / math.sqrt(runs)  # five standard errors
    for wrong in (2 / 3, 3 / 2):
        assert stats.kstest(wrong * white[:, 0], "norm").pvalue < ALPHA


def test_one_run_after_the_other_has_the_same_law():
    """Not one large draw as above but 400 calls with fresh noise in each."""
    hessian, slope = QUADRATICS[0]
    source = SeededSource(54)
    released = [perturbed_minimum(quadratic(hessian, slope), 1, 2.0, GAP, 1.0, source)[0] for _ in range(400)]
    law = stats.norm(-0.75, 2.0 / 4.0)
    assert stats.kstest(released, law.cdf).pvalue > ALPHA
    shifted = stats.norm(-0.75 + 0.5 * law.std(), law.std())
    assert stats.kstest(released, shifted.cdf).pvalue < ALPHA


def linear_terms(sigma, seed=55):
    seen = []

    def minimise(linear):
        seen.append(linear.copy())
        return Sensitive(np.zeros(len(linear)))

    perturbed_minimum(minimise, 1000, sigma, GAP, 1.0, SeededSource(seed))
    assert len(seen) == 1  # minimised once: a second look would be a second release
    return seen[0]


@pytest.mark.parametrize("factor", [2.0**-30, 0.3, 7.0, 1e12])
def test_sigma_enters_linearly(factor):
    assert np.allclose(linear_terms(factor * 1.7), factor * linear_terms(1.7), rtol=1e-15, atol=0)


def gap_errors(gap, gap_noise, seed=56):
    """What is added to the point that ``minimise`` returns."""
    place = np.linspace(-3, 3, 5000)
    released = perturbed_minimum(lambda _: Sensitive(place), 5000, 1.0, gap, gap_noise, SeededSource(seed))
    return released - place


@pytest.mark.parametrize("gap", [1e-8, 1e-5])
@pytest.mark.parametrize("gap_noise", [0.01, 1.0, 40.0])
def test_the_gap_is_hidden_by_noise_of_the_declared_size(gap, gap_noise):
    """Three gaps are the sensitivity: two for the two sides' misses, one for rounding of up to 2²⁴ features."""
    errors = gap_errors(gap, gap_noise) / (3 * gap * gap_noise)
    assert stats.kstest(errors, "norm").pvalue > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert stats.kstest(wrong * errors, "norm").pvalue < ALPHA


def test_misses_and_rounding_together_are_within_three_gaps():
    """Both sides a whole gap off, in opposite directions, and codes rounded apart in every feature."""
    d = 200_000
    unit = GAP / mechanisms._GAP
    miss = np.full(d, 0.4999 * unit)  # rounds down on one side and up on the other
    miss[0] = GAP
    with pytest.MonkeyPatch.context() as patch:
        codes = []
        patch.setattr(mechanisms, "gaussian", lambda values, sigma, _: codes.append((values._secret, sigma)) or 0)
        for side in (miss, -miss - 0.0002 * unit):
            perturbed_minimum(lambda _, side=side: Sensitive(side + 0.25), d, 1.0, GAP, 1.0, SeededSource(57))
    (one, sensitivity), (other, same) = codes
    assert sensitivity == same == 3 * mechanisms._GAP
    assert np.linalg.norm((one - other).astype(float)) <= sensitivity
    assert sensitivity - 2 * mechanisms._GAP >= math.sqrt(8_000_001)  # what rounding adds with the most features


@pytest.mark.parametrize("place", [1e7, 1e30, np.inf])
def test_huge_minimisers_are_clipped_and_keep_their_sign(place):
    """Clipping moves no two points apart, so it costs nothing; without it whole numbers would overflow."""
    point = np.array([place, -place, 1.0])
    released = perturbed_minimum(lambda _: Sensitive(point), 3, 1.0, GAP, 100.0, SeededSource(58))
    largest = 2.0**62 * GAP / mechanisms._GAP
    expected = np.clip(point, -largest, largest)
    assert released == pytest.approx(expected, abs=6 * 3 * 100 * GAP, rel=1e-12)


# --- The Rényi bound ----------------------------------------------------------------------------------------------


def grid(reach, features):
    """Points and the logarithm of the cell around each, spaced like a hyperbolic sine: fine where records matter."""
    u = np.linspace(-1, 1, 4001 if features == 1 else 301)
    bend = math.asinh(max(reach, 1.0))
    axis, width = np.sinh(bend * u), bend * np.cosh(bend * u) * (u[1] - u[0])
    points = np.stack(np.meshgrid(*[axis] * features, indexing="ij"), axis=-1).reshape(-1, features)
    cells = sum(np.meshgrid(*[np.log(width)] * features, indexing="ij")).ravel()
    return points, cells


def log_density(w, records, sigma, convexity, centre=0.0):
    """Of w, where centre + w minimises Σ log(1 + e^m) - y·m + ½Δ‖w‖² + b·w exactly; b is normal, m a margin."""
    features = w.shape[1]
    slope = convexity * w
    hessian = np.tile(convexity * np.eye(features), (len(w), 1, 1))
    for *row, label in records:
        x = np.array(row)
        p = expit((centre + w) @ x)
        slope = slope + (p - label)[:, None] * x
        hessian = hessian + (p * (1 - p))[:, None, None] * np.outer(x, x)
    log_noise = -(slope**2).sum(axis=1) / (2 * sigma**2) - features * math.log(sigma * math.sqrt(2 * math.pi))
    return log_noise + np.linalg.slogdet(hessian)[1]


def laws(pair, contributions, noise, bend, steepest, centre=0.0):
    """Both neighbours' log densities on a grid that reaches where order ``steepest`` looks, and the cells."""
    features = len(pair[0][0] if pair[0] else pair[1][0]) - 1
    convexity, sigma = 0.25 / bend, noise * contributions
    reach = ((steepest / noise + 9) * sigma + 5) / convexity
    points, cells = grid(reach, features)
    densities = [log_density(points, records, sigma, convexity, centre) for records in pair]
    for density in densities:  # the grid is fine and wide enough
        assert abs(logsumexp(density + cells)) < 1e-6
    return *densities, cells


def largest_ratio(pair, contributions, noise, bend, bound, centre=0.0):
    """Rényi divergence over what ``bound`` allows: the largest over many orders and both directions."""
    orders = [1.001, 1.2, 2.0, 5.0, 30.0, 1 + 0.3 * noise, 1 + noise, 1 + 4 * noise]
    one, other, cells = laws(pair, contributions, noise, bend, max(orders), centre)
    return max(
        logsumexp(a * p + (1 - a) * q + cells) / (a - 1) / (bound.shift + a * bound.rho)
        for a in orders
        for p, q in ((one, other), (other, one))
    )


# Rows are no longer than 1, the last entry is the label.
OTHERS = [[], [(1, 1)], [(0.3, 1), (-0.7, 1), (1, 0)]]
ADDED = [[(1, 1)], [(-1, 1)], [(1, 0)], [(0.5, 1)]]
REPLACED = [((1, 1), (1, 0)), ((1, 1), (-1, 1)), ((-1, 0), (1, 1)), ((1, 1), (0.2, 0))]
ADD_REMOVE = [(1, (others, others + added)) for others in OTHERS for added in ADDED]
REPLACE_ONE = [(2, ([*others, a], [*others, b])) for others in OTHERS for a, b in REPLACED]
WORST = [(noise, bend) for noise in (0.3, 1.0, 4.0, 30.0, 1000.0) for bend in (0.01, 0.1, 1.0, 10.0)]


@pytest.mark.parametrize("pairs", [ADD_REMOVE, REPLACE_ONE], ids=["zero-out and add-remove", "replace-one"])
def test_no_neighbours_are_further_apart_than_is_charged(pairs):
    """And some are nearly as far: the bound is no empty one."""
    ratios = {}
    for (contributions, pair), (noise, bend) in itertools.product(pairs, WORST):
        ratio = largest_ratio(pair, contributions, noise, bend, PerturbedMinimum("", noise, bend).cost)
        assert ratio <= 1 + 1e-9, (pair, noise, bend)
        ratios[noise, bend] = max(ratio, ratios.get((noise, bend), 0.0))
    assert max(ratios.values()) > 0.9
    assert min(ratios.values()) > 0.1


E2, E1 = (0.0, 1.0), (1.0, 0.0)
PLANE = [
    (1, ([(*E2, 0)], [(*E2, 0), (*E1, 1)])),
    (1, ([], [(0.6, 0.8, 1)])),
    (2, ([(*E1, 1)], [(*E2, 1)])),  # at right angles: here Cauchy and Schwarz are needed
    (2, ([(0.6, 0.8, 1)], [(0.6, -0.8, 0)])),
    (2, ([(0.7, 0.7, 0), (*E1, 1)], [(0.7, 0.7, 0), (-0.8, 0.6, 0)])),
]


@pytest.mark.parametrize(("noise", "bend"), [(0.5, 0.1), (2.0, 0.05), (2.0, 1.0), (20.0, 0.1), (10.0, 0.3)])
def test_the_same_with_two_features(noise, bend):
    bound = PerturbedMinimum("", noise, bend).cost
    ratios = [largest_ratio(pair, contributions, noise, bend, bound) for contributions, pair in PLANE]
    assert 0.1 < max(ratios) <= 1 + 1e-9


# Both are far on the wrong side of the centre: each pulls with almost its whole length, in opposite directions.
OPPOSITE, FAR = ([(0.98, 0.19, 1)], [(-0.98, 0.19, 1)]), np.array([0.0, -40.0])


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_replacing_a_record_can_use_nearly_both_contributions(noise):
    """With one feature it cannot, nor at centre 0: what one record pulls harder, the other pulls less."""
    bound = PerturbedMinimum("", noise, 0.01).cost
    assert 0.7 < largest_ratio(OPPOSITE, 2, noise, 0.01, bound, FAR) <= 1 + 1e-9
    assert largest_ratio(OPPOSITE, 2, noise, 0.01, bound) < 0.5


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
@pytest.mark.parametrize(("noise", "bend"), [(0.5, 0.1), (3.0, 0.1), (3.0, 3.0), (30.0, 0.02), (30.0, 1.0)])
def test_delta_at_the_reported_epsilon_is_kept(noise, bend, delta):
    """∫(p - e^ε·q)₊ by summation, at the ε that the accountant reports for this event; a quarter would not do."""
    epsilon = accounting.spent([PerturbedMinimum("", noise, bend)], delta).epsilon
    both = [
        laws(pair, contributions, noise, bend, 3 * noise) for contributions, pair in ADD_REMOVE[:8] + REPLACE_ONE[:8]
    ]

    def reached(at):
        return max(
            float(np.sum(np.exp(p + cells) * -np.expm1(np.minimum(at + q - p, 0.0))))
            for one, other, cells in both
            for p, q in ((one, other), (other, one))
        )

    assert reached(epsilon) <= delta
    assert reached(epsilon / 4) > min(delta, 1e-3)


def test_the_grid_finds_what_is_known():
    """A quadratic's minimisers are normal: without records D is α·(shift of the mean)²/2 of its variances."""
    points, cells = grid(40.0, 1)
    sigma, convexity = 2.0, 0.5
    p = log_density(points, [], sigma, convexity)
    q = stats.norm(1.0, sigma / convexity).logpdf(points[:, 0])
    for order in (1.5, 4.0):
        seen = logsumexp(order * q + (1 - order) * p + cells) / (order - 1)
        assert seen == pytest.approx(order / (2 * (sigma / convexity) ** 2), rel=1e-6)


# --- Cost and calibration -----------------------------------------------------------------------------------------


def test_the_cost_has_the_three_parts_of_the_proof_and_repetition_multiplies_all():
    event = PerturbedMinimum("weights", 4.0, 0.25)
    assert event.cost == Cost(1 / 32, math.inf, pytest.approx(math.log(1.25) + math.sqrt(2 / math.pi) / 4))
    assert Repeated(event, 3).cost == (3 * event.cost.rho, math.inf, 3 * event.cost.shift, 0)
    assert "4 sensitivities" in event.describe()
    alone = accounting.spent([GaussianRelease("sum", 4.0)], 1e-5, "zcdp").epsilon
    assert accounting.spent([event], 1e-5).epsilon == pytest.approx(alone + event.cost.shift)


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "bend"),
    [(0.1, 1e-6, 1, 0.01), (1.0, 1e-5, 3, 0.1), (10.0, 1e-2, 20, 0.2), (1e6, 1e-9, 1, 100.0)],
)
def test_the_most_within_a_budget_keeps_to_it_and_leaves_next_to_nothing(epsilon, delta, times, bend):
    def events(inverse):
        return [
            Repeated(PerturbedMinimum("", 1 / inverse, bend), times),
            GaussianRelease("", 100 / min(epsilon, 10.0)),
        ]

    inverse = accounting.most_within(Budget(epsilon, delta), events, 1.0)
    assert 0.999 * epsilon < accounting.spent(events(inverse), delta).epsilon <= epsilon
    assert accounting.spent(events(1.001 * inverse), delta).epsilon > epsilon


def test_where_nothing_fits_the_most_is_nothing():
    """The fixed part of the cost, log(1 + bend), is above the budget whatever the noise."""
    assert accounting.most_within(Budget(0.5, 1e-5), lambda x: [PerturbedMinimum("", 1 / x, 1.0)], 1.0) == 0.0
