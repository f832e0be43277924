"""Variants of select-then-refit that its page compares: each really switches something off, and on again."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hardzero.reproduce.rows import Trial
from hardzero.reproduce.splits import load_split

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

import select_refit  # noqa: E402

sys.path.remove(str(EXPERIMENTS))


def weights(method):
    trial = Trial("breast-cancer", method, 4.0, "zero-out", 0)
    return select_refit.fit(trial, load_split("breast-cancer", 0)).coef_[0]


@pytest.mark.parametrize("method", ["select only", "rows clipped by residual"])
def test_a_variant_has_other_weights_and_leaves_the_method_as_it_was(method):
    whole = weights("select-then-refit")
    variant = weights(method)
    assert not np.allclose(variant[variant != 0], whole[variant != 0], rtol=0.01)
    assert np.array_equal(weights("select-then-refit"), whole)


def test_clipping_by_residuals_makes_weights_too_large():
    """Rows on the wrong side of the boundary lose most: what is left asks for larger margins."""
    assert np.abs(weights("rows clipped by residual")).sum() > 1.1 * np.abs(weights("select-then-refit")).sum()
