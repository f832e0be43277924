"""Constants in the proofs of Gaussian noise and of what many releases cost together."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardzero.data.bounded import RESIDUAL_ONE
from hardzero.optim.frank_wolfe import residual_sum_sensitivity
from hardzero.optim.losses import Softmax, residual_codes
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget

from .drawn import SEEDS, SMALL

# gaussian.md


@pytest.mark.parametrize("sigma", [1, 2, 7])
@pytest.mark.parametrize("shift", [1, 3])
def test_shifted_rounded_gaussian_is_as_private_as_the_gaussian_mechanism(sigma, shift):
    """The hockey-stick divergence of the released whole numbers: never above, and near where σ is large."""
    x = np.arange(-40 * sigma, 40 * sigma + 1)

    def law(centre):
        near = np.abs(x - centre) - 0.5
        tails = stats.norm.sf(near / sigma) - stats.norm.sf((near + 1) / sigma)
        return np.where(x == centre, 1 - 2 * stats.norm.sf(0.5 / sigma), tails)

    mu = shift / sigma
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        released = np.maximum(law(shift) - math.exp(epsilon) * law(0), 0).sum()
        exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        assert released <= exact * (1 + 1e-9)
        if sigma == 7 and epsilon < 1:
            assert released >= 0.98 * exact


@given(SEEDS, st.integers(1, 2**40))
@SMALL
def test_floating_point_stays_far_inside_the_window_of_doubt(seed, sigma):
    rng = np.random.default_rng(seed)
    whole = np.array([int(rng.exponential() * sigma)])
    bits = np.array([rng.integers(0, 2**64, dtype=np.uint64)])
    fraction = (bits >> np.uint64(1)) * 2.0**-63
    rounded = float(np.exp(-(((whole - sigma + fraction) / sigma) ** 2 / 2 + fraction / sigma))[0])
    for extended in (0, 2**256 - 1):  # whatever bits follow
        f = Fraction((int(bits[0]) >> 1 << 256) | extended, 2**319)
        gamma = (int(whole[0]) - sigma + f) ** 2 / (2 * sigma**2) + f / sigma
        with localcontext() as context:
            context.prec = 60
            true = (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp()
            assert abs(Decimal(rounded) - true) <= Decimal(2) ** -49


@given(SEEDS, st.integers(2, 12), st.floats(0, 40))
@SMALL
def test_residual_sums_move_no_further_than_charged(seed, classes, size):
    rng = np.random.default_rng(seed)
    loss = Softmax(classes)
    margins = np.asfortranarray(rng.normal(0, size, (50, classes)))
    targets = rng.integers(0, classes, 50)
    for cap in (RESIDUAL_ONE, RESIDUAL_ONE // 2, 3):
        norms = np.linalg.norm(residual_codes(loss, margins, targets, cap).astype(float), axis=1)
        assert norms.max() <= residual_sum_sensitivity(loss, cap)


def test_the_charge_for_residual_sums_is_nearly_reached():
    loss = Softmax(5)
    codes = residual_codes(loss, np.array([[60.0, 0, 0, 0, 0]]), np.array([1]), RESIDUAL_ONE)
    charged = residual_sum_sensitivity(loss, RESIDUAL_ONE)
    assert np.linalg.norm(codes) >= charged - 1 - math.sqrt(5) / 2  # a ceiling, and half a unit for each class


# accounting.md


def test_constant_of_the_conversion():
    y = np.linspace(1e-6, 30, 20_001)
    for alpha in (1.1, 2.0, 5.0, 40.0):
        constant = (1 - 1 / alpha) ** alpha / (alpha - 1)
        highest = np.max(-np.expm1(-y) * np.exp(-(alpha - 1) * y))
        assert 0.999 * constant <= highest <= constant * (1 + 1e-12)


def true_log_delta(rho, epsilon):
    """The conversion of section 2 at its best order, to 60 digits; any order gives a valid bound."""

    def at(gap):
        return gap * ((1 + gap) * rho - epsilon - (1 + 1 / gap).ln()) - (1 + gap).ln()

    low, high = Decimal(-60), Decimal(60)
    for _ in range(100):
        middle = (low + high) / 2
        gap = middle.exp()
        falling = (2 * gap + 1) * rho - epsilon < (1 + 1 / gap).ln()
        low, high = (middle, high) if falling else (low, middle)
    return at(low.exp())


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-5, 0.1])
def test_what_is_calibrated_keeps_to_delta_in_sixty_digits(epsilon, delta):
    eta = accounting.selection_eta(Budget(epsilon, delta), 1000)
    with localcontext() as context:
        context.prec = 60
        excess = true_log_delta(1000 * Decimal(eta) ** 2 / 8, Decimal(epsilon)) - Decimal(delta).ln()
    assert -1e-8 < excess <= 0


@pytest.mark.parametrize("rho", [1e-3, 0.03, 1.0])
def test_conversion_is_above_the_exact_gaussian(rho):
    epsilon = accounting.epsilon_of_rho(rho, 1e-5)
    mu = math.sqrt(2 * rho)
    exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    assert 1e-6 <= exact <= 1e-5


def test_an_adaptive_adversary_beats_every_fixed_one():
    # t and t-η stay on a grid of width η/cells, so this adversary is exact; δ is taken as 0 right of the grid.
    eta, times, epsilon, cells = 0.2, 12, 0.5, 40
    width, reach = eta / cells, 12 * 40
    x = epsilon + width * np.arange(-reach, reach + 1)
    start = np.maximum(-np.expm1(x), 0)
    chance = np.expm1(width * np.arange(cells + 1) - eta) / math.expm1(-eta)

    def step(delta, j):
        padded = np.concatenate([np.zeros(cells), delta, np.zeros(cells)])
        low, high = padded[cells - j :][: len(x)], padded[2 * cells - j :][: len(x)]
        return chance[j] * low + (1 - chance[j]) * high

    adaptive, fixed = start, [start] * (cells + 1)
    for _ in range(times):
        adaptive = np.max([step(adaptive, j) for j in range(cells + 1)], axis=0)
        fixed = [step(delta, j) for j, delta in enumerate(fixed)]
    best_fixed = max(delta[reach] for delta in fixed)
    grid, curve = accounting.curve_of_sequence((accounting.Stretch(eta, times, 0.0),), adaptive[reach])
    bound = np.interp(epsilon, grid, curve)
    assert best_fixed * 1.001 < adaptive[reach] <= bound <= 1.01 * adaptive[reach]
