"""Steps with momentum, and steps that a curvature guides, on bowls whose bottom is known."""

import numpy as np
import pytest

from hardzero.optim.frank_wolfe import Weights
from hardzero.optim.walks import Guide, Guided, Momentum

SIZE = 5
BOTTOM = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
HEIGHTS = np.array([1.0, 0.3, 0.1, 0.01, 0.001, 1.0])


def anywhere(coef):
    return coef


def vector(weights):
    return np.append(weights.coef[0], weights.intercept)


def weights_of(place):
    return Weights(place[None, :-1], place[-1:])


def walked(walk, steps, noise=0.0, seed=0):
    """All places at which slopes were asked for."""
    rng, places = np.random.default_rng(seed), []
    for _ in range(steps):
        place = vector(walk.place())
        places.append(place)
        walk.follow(weights_of(HEIGHTS * (place - BOTTOM) + noise * rng.standard_normal(SIZE + 1)))
    return np.array(places)


def guide_of(believed, pull=0.0):
    """A guide that takes heights for those believed, from zero."""
    nowhere = np.zeros(SIZE + 1)
    return Guide(nowhere, nowhere, np.diag(1 / believed), pull * np.eye(SIZE + 1))


def test_momentum_is_nesterovs_recursion():
    start, rate = weights_of(np.arange(6.0)), 0.5
    walk, at, speed = Momentum(start, rate, anywhere), vector(start), np.zeros(SIZE + 1)
    for _ in range(20):
        ahead = at + 0.9 * speed
        np.testing.assert_allclose(vector(walk.place()), ahead, rtol=1e-12, atol=1e-12)
        slope = HEIGHTS * (ahead - BOTTOM)
        walk.follow(weights_of(slope))
        at, speed = ahead - rate * slope, ahead - rate * slope - at


def test_guided_steps_arrive_where_those_with_momentum_do_not():
    """Where one direction is a thousand times as flat as another."""
    momentum = walked(Momentum(weights_of(np.zeros(6)), 0.5, anywhere), 100)
    guided = walked(Guided(guide_of(HEIGHTS), 100), 100)
    assert np.abs(momentum[-1] - BOTTOM).max() > 1.0
    assert np.abs(guided[-1] - BOTTOM).max() < 0.01


@pytest.mark.parametrize("times", [0.25, 0.5, 1.5])
def test_a_curvature_believed_too_small_or_too_large_is_borne(times):
    """Too large a one makes the way longer."""
    places = walked(Guided(guide_of(times * HEIGHTS), 100), 100)
    assert np.abs(places[-1] - BOTTOM).max() < (0.1 if times > 1 else 0.01)
    assert np.abs(places).max() < 10


def test_noise_of_single_gradients_counts_for_little():
    """Places stay as near to the bottom as the mean of all noise lets them know, and not √T times as far."""
    steps, noise, steep = 100, 0.01, HEIGHTS >= 0.1
    believed = np.maximum(HEIGHTS, 0.1)
    away = [
        (walked(Guided(guide_of(believed), steps), steps, noise, seed) - BOTTOM)[steps // 2 :, steep]
        for seed in range(50)
    ]
    assert np.all(np.std(away, axis=(0, 1)) < 3 * noise / np.sqrt(steps) / HEIGHTS[steep])


def test_home_draws_back():
    """As far as nothing is known: halfway, where both count alike."""
    pulled = guide_of(HEIGHTS, pull=1.0)
    places = walked(Guided(pulled, 400), 400)
    np.testing.assert_allclose(places[-1], BOTTOM / 2, atol=0.02)


def not_negative(coef):
    return np.maximum(coef, 0.0)


def test_momentum_puts_back_weights_that_may_not_be_there():
    """One has its bottom below zero, and would go there; an intercept may be anything."""
    walk = Momentum(weights_of(np.zeros(SIZE + 1)), 0.5, not_negative)
    walked(walk, 50)
    assert np.all(vector(walk._at)[:-1] >= 0)
    assert vector(walk._at)[1] == 0
    assert vector(walk._at)[-1] == pytest.approx(BOTTOM[-1], abs=0.1)


def test_a_step_is_never_longer_than_the_whole_way():
    """With so few steps that twice the way would be gone, the first one arrives."""
    places = walked(Guided(guide_of(HEIGHTS), 4), 4)
    np.testing.assert_allclose(places[1:], np.tile(BOTTOM, (3, 1)), atol=1e-12)
