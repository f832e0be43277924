"""Sums of products of pairs of features: exact whole numbers, whatever the storage, the order and the blocks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data import bounded as bounded_module
from hardzero.data.bounded import FEATURE_ONE, BoundedData, Bounds
from hardzero.data.stacked import StackedData

LONGEST = 2**15


def by_hand(codes, factors, centre, scale):
    """In Python's whole numbers, row after row, from the same doubles."""
    p = len(centre)
    total = [[0] * (p + 1) for _ in range(p + 1)]
    for row, factor in zip(codes.tolist(), factors.tolist(), strict=True):
        z = [(x / FEATURE_ONE - c) / s for x, c, s in zip(row, centre.tolist(), scale.tolist(), strict=True)]
        whole = [math.trunc(part * factor) for part in [*z, 1.0]]
        for i, one in enumerate(whole):
            for j, other in enumerate(whole):
                total[i][j] += one * other
    return total


def table(seed, n_rows, p):
    """Rows, moments, and factors that make every row about as long as it may be."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-FEATURE_ONE, FEATURE_ONE + 1, (n_rows, p)) * (rng.random((n_rows, p)) < 0.5)
    codes[:, ::2] = np.sign(codes[:, ::2]) * FEATURE_ONE
    centre, scale = rng.uniform(-1, 1, p), rng.uniform(0.02, 1, p)
    z = np.column_stack([(codes / FEATURE_ONE - centre) / scale, np.ones(n_rows)])
    factors = LONGEST * (1 - 1e-9) / np.linalg.norm(z, axis=1)
    return codes.astype(np.int32), factors, centre, scale


def storages(codes):
    """The same rows: dense, in Fortran's order, packed, sparse by either, and in blocks of both kinds."""
    X = codes / FEATURE_ONE
    bounds = Bounds.parse((-1, 1), X.shape[1])
    third = len(X) // 3
    parts = [X[:third], sparse.csr_array(X[third:]), X[:0]]
    return {
        "dense": BoundedData.from_matrix(X, bounds),
        "fortran": BoundedData.from_matrix(np.asfortranarray(X), bounds),
        "packed": BoundedData.from_matrix(X, bounds).packed(),
        "csr": BoundedData.from_matrix(sparse.csr_array(X), bounds),
        "csc": BoundedData.from_matrix(sparse.csc_array(X), bounds),
        "stacked": StackedData.from_batches(parts, bounds),
    }


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6))
def test_every_storage_gives_the_whole_numbers_of_plain_python(seed, n_rows, p):
    codes, factors, centre, scale = table(seed, n_rows, p)
    expected = by_hand(codes, factors, centre, scale)
    for name, data in storages(codes).items():
        sums = data.product_sums(factors, centre, scale)
        assert sums.dtype == np.int64, name
        assert sums.tolist() == expected, name


@pytest.mark.parametrize("at_once", [1, 7, 64, 2**14])
def test_neither_order_nor_pieces_change_a_sum(at_once, monkeypatch):
    codes, factors, centre, scale = table(1, 200, 5)
    expected = BoundedData(codes).product_sums(factors, centre, scale)
    monkeypatch.setattr(bounded_module, "_ROWS_AT_ONCE", at_once)
    order = np.random.default_rng(2).permutation(200)
    for rows in (slice(None), slice(None, None, -1), order):
        for data in storages(codes[rows]).values():
            assert np.array_equal(data.product_sums(factors[rows], centre, scale), expected)


def test_sums_over_many_pieces_of_the_longest_rows_are_exact():
    """Every row at the limit, several pieces: as far as double precision is asked to go within one."""
    n = 3 * bounded_module._ROWS_AT_ONCE + 5
    data = BoundedData(np.full((n, 1), FEATURE_ONE, dtype=np.int32))
    factors = np.full(n, 32767.0)
    sums = data.product_sums(factors, np.array([0.5]), np.array([0.5]))
    assert sums.tolist() == [[n * 32767**2] * 2] * 2
    assert bounded_module._ROWS_AT_ONCE * LONGEST**2 < 2**53


def test_a_subset_and_no_rows_at_all():
    codes, factors, centre, scale = table(3, 40, 6)
    picked = np.array([4, 1])
    expected = by_hand(codes[:, picked], factors / 10, centre[picked], scale[picked])
    for data in storages(codes).values():
        sums = data.subset(picked).product_sums(factors / 10, centre[picked], scale[picked])
        assert sums.tolist() == expected
        assert data.subset(np.array([], dtype=int)).product_sums(factors, centre[:0], scale[:0]).shape == (1, 1)
    assert not BoundedData(codes[:0]).product_sums(factors[:0], centre, scale).any()


def test_numbers_are_rounded_towards_zero():
    """Up or to the nearest, a row at its limit could be longer than is charged for."""
    data = BoundedData(np.array([[FEATURE_ONE], [-FEATURE_ONE]], dtype=np.int32))
    sums = data.product_sums(np.array([1.9, 1.9]), np.zeros(1), np.ones(1))
    assert sums.tolist() == [[2, 0], [0, 2]]
