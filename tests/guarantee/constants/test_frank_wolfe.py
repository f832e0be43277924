"""Constants in the proofs of Private LASSO and Sparsifier."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

from hardzero.data.bounded import FEATURE_ONE, BoundedData, Bounds
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget
from hardzero.privacy.events import PureRelease

from .drawn import SEEDS, SMALL

PUBLISHED = Budget(1.0, 1e-5)


# sparsifier.md


def test_what_the_count_takes_of_the_budget():
    assert PureRelease("count", 0.05).cost.rho == pytest.approx(0.00125)
    assert round(accounting.rho_of_budget(PUBLISHED), 5) == 0.03056


# private-lasso.md


@given(SEEDS, st.floats(1e-3, 1e3))
@SMALL
def test_codes_are_bounded(seed, bound):
    rng = np.random.default_rng(seed)
    X = np.append(rng.normal(0, 3 * bound, (30, 1)), [[bound], [-bound]], axis=0)
    codes = BoundedData.from_matrix(X, Bounds.parse((-bound, bound), 1)).columns() * FEATURE_ONE
    assert np.abs(codes).max() == FEATURE_ONE
    assert np.all(codes == np.rint(codes))


def test_a_residual_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(3)
    margins = np.asfortranarray(rng.normal(0, 5, (203, 10)))
    alone = np.array([expit(margins[i : i + 1, :1])[0] for i in range(203)])
    for start in range(9):
        for stop in range(190, 204):
            rows = slice(start, stop)
            assert np.array_equal(expit(margins[rows, :1]), alone[rows])
            part = np.asfortranarray(margins[rows])
            assert np.array_equal(softmax(part, axis=1), softmax(margins, axis=1)[rows])
            pair = np.asfortranarray(margins[start : start + 2])
            assert np.array_equal(softmax(pair, axis=1), softmax(margins, axis=1)[start : start + 2])
