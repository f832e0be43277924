"""Sums over 2³⁰ rows, all at their bounds: exact to the last unit, which 64 bits just hold."""

import numpy as np
import pytest
from scipy import sparse

from hardzero import kernels
from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.data.stacked import StackedData

ROWS = 2**20
LARGEST = MAX_ROWS * FEATURE_ONE * RESIDUAL_ONE
compiled_only = pytest.mark.skipif(kernels.compiled() is None, reason="plain NumPy takes a minute for so many rows")


def largest_table(store=np.asfortranarray, rows=MAX_ROWS):
    """One block many times, which takes no more memory than one: a feature at its bound."""
    codes = np.full((ROWS, 1), FEATURE_ONE, dtype=np.int32)
    return StackedData([store(codes)] * (rows // ROWS), np.arange(1))


def the_same_in_all_rows(value, kind=np.int32):
    """An array of shape (rows, 1) that takes no memory."""
    return np.broadcast_to(np.array(value, dtype=kind), (MAX_ROWS, 1))


def test_the_largest_sum_is_half_of_what_64_bits_hold():
    """The other half is for noise, and for the difference of two sums."""
    assert LARGEST == 2**62
    assert MAX_ROWS >= 10**9


@compiled_only
@pytest.mark.parametrize(("code", "kind"), [(RESIDUAL_ONE, np.int32), (-RESIDUAL_ONE, np.int64)])
@pytest.mark.parametrize("store", [np.asfortranarray, sparse.csc_array], ids=["dense", "sparse"])
def test_residuals_times_features(store, code, kind):
    assert largest_table(store).gradient(the_same_in_all_rows(code, kind)).item() == code * MAX_ROWS * FEATURE_ONE


@compiled_only
def test_residuals_times_features_as_bits():
    """Packing takes time: an eighth of all rows."""
    rows = MAX_ROWS // 8
    codes = the_same_in_all_rows(-RESIDUAL_ONE)[:rows]
    assert largest_table(rows=rows).packed().gradient(codes).item() == -LARGEST // 8


@compiled_only
@pytest.mark.parametrize("store", [np.asfortranarray, sparse.csc_array], ids=["dense", "sparse"])
def test_codes_times_squares_and_counts(store):
    table = largest_table(store)
    codes = the_same_in_all_rows(RESIDUAL_ONE, np.int64)[:, 0]
    assert table.square_gradient(codes).item() == LARGEST
    assert table.counts().item() == MAX_ROWS


@compiled_only
def test_codes_alone():
    """As one array, which has to be there: 4 GB for all rows, so a sixteenth of them."""
    codes = np.full((MAX_ROWS // 16, 1), -RESIDUAL_ONE, dtype=np.int32)
    assert kernels.code_totals(codes).tolist() == [-(2**42)]


def test_products_of_a_block_and_of_all():
    """Rows as long as they may be, along one feature and across: a block is exact, and 2¹⁰ of them are below 2⁶⁰."""
    codes = np.asfortranarray(np.full((ROWS, 1), FEATURE_ONE, dtype=np.int32))
    for factor, longest in ((2.0**15, 2**15), (2.0**14.5, 23170)):  # the second times (1, 1)
        sums = BoundedData(codes).product_sums(np.full(ROWS, factor), np.zeros(1), np.ones(1))
        assert sums.tolist() == [[longest**2 * ROWS] * 2] * 2
        assert int(sums.max()) * (MAX_ROWS // ROWS) <= 2**60


def empty_rows(count):
    return sparse.csc_array((count, 1))


def test_a_row_more_is_refused():
    bounds, quarter = Bounds.parse((0, 1), 1), MAX_ROWS // 4
    assert StackedData.from_batches([empty_rows(quarter)] * 4, bounds).n_rows == MAX_ROWS
    with pytest.raises(ValueError, match="there are more than 1073741824 rows, which cannot be summed exactly"):
        StackedData.from_batches([*[empty_rows(quarter)] * 4, empty_rows(1)], bounds)
    with pytest.raises(ValueError, match="X has 1073741825 rows and 1 features; at most 1073741824 rows"):
        BoundedData.from_matrix(empty_rows(MAX_ROWS + 1), bounds)
