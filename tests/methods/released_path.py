"""What the tests of the baselines share: a released path that both neighbours follow, and an ear for real noise.

Answers stand for mean gradients of plus or minus a power of two, the same to the last bit whatever the number of
rows: so both neighbours follow one released path, as they do when both are told the same public number of rows, and
all steps may be compared under either relation.
"""

import math
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import optimize, stats

from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE
from hardzero.privacy import mechanisms

from ..optim.recorder import Recorder

UNIT = RESIDUAL_ONE * FEATURE_ONE
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


class Path(Recorder):
    """Answers with given mean gradients, or with powers of two by a seed; never with anything from the data."""

    def __init__(self, n_rows, seed=0, slopes=None, choices=None):
        super().__init__(seed=seed)
        self._n_rows, self._slopes, self._choices = n_rows, slopes, choices

    def gaussian(self, values, sigma, source):
        size = len(super().gaussian(values, sigma, source))
        slopes = self._slopes
        if slopes is None:
            slopes = 2.0 ** self._answers.integers(-6, 4, size) * self._answers.choice([-1, 1], size)
        return (np.ravel(slopes) * self._n_rows * UNIT).astype(np.int64)

    def select(self, scores, sensitivity, eta, source, tops=None):
        drawn = super().select(scores, sensitivity, eta, source)
        return drawn if self._choices is None else self._choices[len(self.scores) - 1]


@contextmanager
def following(*args):
    path = Path(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "gaussian", path.gaussian)
        patch.setattr(mechanisms, "select", path.select)
        yield path


class Heard:
    """What left the data in a fit with its real noise: the noise and σ of sums, and how many choices were made."""

    def __init__(self):
        self.noises, self.sigmas, self.selections = [], [], 0


def heard_in(fit):
    """Run ``fit``; return what it returns, and what was heard."""
    heard, release, select = Heard(), mechanisms.gaussian, mechanisms.select

    def gaussian(values, sigma, source):
        released = release(values, sigma, source)
        heard.noises.append(released - values._secret)
        heard.sigmas.append(sigma)
        return released

    def counted(*args):
        heard.selections += 1
        return select(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "gaussian", gaussian)
        patch.setattr(mechanisms, "select", counted)
        return fit(), heard


def largest_correlation(noises):
    """Between the noise of any two releases."""
    return np.abs(np.corrcoef(noises)[np.triu_indices(len(noises), 1)]).max()


def delta_by_hand(square, epsilon):
    """δ(ε) of Gaussian releases whose (Δ/σ)² add up to ``square`` (Balle and Wang 2018), in logarithms."""
    mu = np.sqrt(square)
    first, second = stats.norm.logcdf(mu / 2 - epsilon / mu), stats.norm.logcdf(-mu / 2 - epsilon / mu)
    return np.exp(first) * -np.expm1(epsilon + second - first)


def epsilon_by_hand(square, delta, eta=0.0):
    """What such releases cost after one choice of bounded range ``eta``, at the worst of 200 splits of that range."""
    t = np.linspace(0, eta, 200 if eta else 1)
    p = np.expm1(t - eta) / np.expm1(-eta) if eta else np.ones(1)

    def excess(epsilon):
        worst = np.max(p * delta_by_hand(square, epsilon - t) + (1 - p) * delta_by_hand(square, epsilon - t + eta))
        return math.log(max(worst, 1e-300)) - math.log(delta)

    return optimize.brentq(excess, 1e-9, square + 20 * math.sqrt(square) + eta, xtol=1e-9)


def zcdp_epsilon_by_hand(rho, delta):
    """Canonne, Kamath and Steinke 2020, Proposition 12, over a grid of orders."""
    gap = np.geomspace(1e-7, 1e7, 20_001)
    return np.min((1 + gap) * rho - np.log1p(1 / gap) - (math.log(delta) + np.log1p(gap)) / gap)


def weights_of(model, intercept):
    return np.column_stack([model.coef_, model.intercept_]) if intercept else model.coef_
