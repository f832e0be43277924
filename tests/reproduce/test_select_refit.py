"""Variants of select-then-refit that its page compares: each really switches something off, and on again."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hardzero.reproduce.rows import Trial
from hardzero.reproduce.splits import Split

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

import select_refit  # noqa: E402

sys.path.remove(str(EXPERIMENTS))


def made_up():
    """2,000 rows of a well-specified model."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 20))
    y = (rng.random(2000) < 1 / (1 + np.exp(-X[:, :5] @ [3.0, -2.0, 2.0, -1.5, 1.5]))).astype(int)
    return Split(X, y, X[:0], y[:0])


def weights(method):
    return select_refit.fit(Trial("made up", method, 50.0, "zero-out", 0), made_up()).coef_[0]


@pytest.mark.parametrize("method", ["select only", "rows clipped by residual"])
def test_a_variant_has_other_weights_and_leaves_the_method_as_it_was(method):
    whole = weights("select-then-refit")
    assert not np.allclose(weights(method), whole, rtol=0.01)
    assert np.array_equal(weights("select-then-refit"), whole)


def test_clipping_by_residuals_makes_weights_too_large():
    """Rows on the wrong side of the boundary lose most: what is left asks for larger margins."""
    assert np.abs(weights("rows clipped by residual")).sum() > 1.1 * np.abs(weights("select-then-refit")).sum()
