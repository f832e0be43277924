"""Public bounds, and records held as whole numbers: nothing about storage or order may show in a sum."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hardzero.data.bounded import FEATURE_ONE, MAX_ROWS, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.kernels import reference
from hardzero.optim.descent import descent_unit

FINEST = descent_unit(1)
"""What stands for a residual of 1 in descents; no code is larger."""

FORMATS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "csr_matrix": sparse.csr_matrix,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def grid_data(n_rows, n_features, seed=0):
    """Multiples of 1/256 in [-1, 1], about half of them zero: every format can hold them exactly."""
    rng = np.random.default_rng(seed)
    return rng.integers(-256, 257, (n_rows, n_features)) * rng.integers(0, 2, (n_rows, n_features)) / 256


def residuals_for(n_rows, outputs=1, seed=1):
    return np.random.default_rng(seed).integers(-RESIDUAL_ONE, RESIDUAL_ONE + 1, (n_rows, outputs))


def bounded(X, bounds=(-1, 1)):
    return BoundedData.from_matrix(X, Bounds.parse(bounds, X.shape[1]))


def codes(stored):
    """The whole numbers held, read through the public interface: the gradient of one row's unit residual."""
    return np.array([stored.gradient(np.eye(stored.n_rows, dtype=np.int64)[:, [i]])[0] for i in range(stored.n_rows)])


class TestBounds:
    def test_a_pair_of_numbers_holds_for_every_feature(self):
        bounds = Bounds.parse((0, 2.5), 3)
        assert np.array_equal(bounds.lower, [0, 0, 0])
        assert np.array_equal(bounds.upper, [2.5, 2.5, 2.5])

    @pytest.mark.parametrize(
        "given_bounds",
        [([0, -4], [1, 2]), (np.array([0.0, -4.0]), (1, 2)), np.array([[0, -4], [1, 2]]), [[0, -4], [1, 2]]],
    )
    def test_arrays_give_one_pair_a_feature(self, given_bounds):
        bounds = Bounds.parse(given_bounds, 2)
        assert np.array_equal(bounds.lower, [0, -4])
        assert np.array_equal(bounds.upper, [1, 2])
        assert np.array_equal(bounds.scale, [1, 4])

    def test_a_number_and_an_array_mix(self):
        assert np.array_equal(Bounds.parse((0, [1, 2, 3]), 3).scale, [1, 2, 3])

    def test_scale_is_the_larger_absolute_bound_and_one_for_an_empty_range(self):
        assert np.array_equal(Bounds.parse(([-5, 2, 0], [3, 4, 0]), 3).scale, [5, 4, 1])

    @pytest.mark.parametrize(
        ("given_bounds", "error", "words"),
        [
            (None, ValueError, "bounds is missing.*such as \\(0, 1\\).*would leak"),
            (3, ValueError, "bounds must be a pair.*got 3"),
            ((1,), ValueError, "bounds must be a pair.*got \\(1,\\)"),
            ((0, 1, 2), ValueError, "bounds must be a pair.*got \\(0, 1, 2\\)"),
            ((2, 1), ValueError, "bounds are inverted for feature 0: lower 2 is above upper 1; swap"),
            (([0, 5, 0], [1, 1, 1]), ValueError, "inverted for feature 1: lower 5"),
            (([0, 0], 1), ValueError, "lower bound has shape \\(2,\\); give one number or 3 numbers"),
            ((0, [[1, 1, 1]]), ValueError, "upper bound has shape \\(1, 3\\)"),
            ((0, "one"), TypeError, "upper bound must hold numbers, got 'one'"),
            ((0, {"a": 1}), TypeError, "upper bound must hold numbers"),
            ((float("nan"), 1), ValueError, "lower bound must be finite, got nan"),
            ((0, float("inf")), ValueError, "upper bound must be finite, got inf"),
            ((0, [1, np.nan, 1]), ValueError, "upper bound must be finite"),
            ((0, 1e-310), ValueError, "upper bound is too close to 0, got 1e-310; use another unit"),
        ],
    )
    def test_a_wrong_pair_says_what_is_wrong_and_what_to_do(self, given_bounds, error, words):
        with pytest.raises(error, match=words):
            Bounds.parse(given_bounds, 3)

    def test_the_message_names_the_parameter_that_it_is_about(self):
        with pytest.raises(ValueError, match=r"^target_bounds is missing"):
            Bounds.parse(None, 1, "target_bounds")


class TestFromMatrix:
    @pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
    def test_values_are_clipped_scaled_and_zero_stays_zero(self, make):
        X = make(np.array([[5.0, -1e9, 0.0], [1.0, 2.0, 1e9], [-5.0, 0.0, -0.5]]))
        stored = bounded(X, ([-2, -4, 0], [2, 1, 1]))
        expected = np.array([[1.0, -1.0, 0.0], [0.5, 0.25, 1.0], [-1.0, 0.0, 0.0]])
        assert np.array_equal(codes(stored), expected * FEATURE_ONE)

    @given(
        st.floats(allow_nan=False, allow_infinity=False),
        st.just(0.0) | st.floats(1e-100, 1e100),
        st.just(0.0) | st.floats(1e-100, 1e100),
    )
    def test_every_finite_value_ends_within_one(self, value, below, above):
        code = codes(bounded(np.array([[value]]), (-below, above)))[0, 0]
        assert abs(code) <= FEATURE_ONE
        clipped = min(max(value, -below), above) / (max(below, above) or 1)
        assert abs(code / FEATURE_ONE - clipped) <= 0.5 / FEATURE_ONE + 1e-12

    @pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
    def test_the_input_is_left_alone(self, make):
        X = make(np.array([[5.0, 0.0], [-3.0, 1.0]]))
        before = X.copy()
        bounded(X)
        assert np.array_equal(sparse.csr_array(X).toarray(), sparse.csr_array(before).toarray())

    @pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
    def test_sparse_records_cannot_have_bounds_that_exclude_zero(self, make):
        X = make(np.ones((2, 2)))
        for wrong in [([0, 1], 2), (-2, [0, -1])]:
            with pytest.raises(ValueError, match=r"bounds of feature 1 exclude 0.*widen the bounds.*or pass a dense"):
                bounded(X, wrong)

    def test_dense_records_may_have_bounds_that_exclude_zero(self):
        assert np.array_equal(codes(bounded(np.array([[0.0], [2.0]]), (1, 2))), [[FEATURE_ONE / 2], [FEATURE_ONE]])

    def test_duplicate_entries_are_summed_before_clipping(self):
        rows, columns, values = [0, 0, 1], [0, 0, 0], [3.0, -2.5, 0.25]
        coo = sparse.coo_array((values, (rows, columns)), shape=(2, 1))
        csr = sparse.csr_array((values, [0, 0, 0], [0, 2, 3]), shape=(2, 1))
        assert csr.nnz == 3  # still twice in row 0
        for X in (coo, csr):
            assert np.array_equal(codes(bounded(X)), [[FEATURE_ONE / 2], [FEATURE_ONE / 4]])

    def test_more_rows_than_can_be_summed_exactly_are_refused(self):
        many = np.broadcast_to(np.zeros((1, 1)), (MAX_ROWS + 1, 1))  # takes no memory
        with pytest.raises(ValueError, match=f"X has {MAX_ROWS + 1} rows and .* at most {MAX_ROWS} rows"):
            bounded(many)

    def test_sparse_records_are_never_made_dense(self):
        n_rows, n_features = 10_000, 1_000_000  # 80 GB if dense
        rng = np.random.default_rng(0)
        entries = 50_000
        places = (rng.integers(0, n_rows, entries), rng.integers(0, n_features, entries))
        X = sparse.csr_array((np.ones(entries), places), shape=(n_rows, n_features))
        tracemalloc.start()
        stored = bounded(X, (0, 4))
        gradient = stored.gradient(np.full((n_rows, 1), 7))
        margins = np.zeros(n_rows)
        stored.add_column(margins, 3, 1.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert int(gradient.sum()) == 7 * entries * FEATURE_ONE // 4
        assert peak < 200e6

    def test_repr_shows_no_values(self):
        assert repr(bounded(np.ones((4, 2)))) == "BoundedData(4 rows, 2 features)"


class TestGradient:
    @pytest.mark.parametrize("outputs", [1, 3])
    def test_equals_python_integers(self, outputs):
        X, residuals = grid_data(40, 5), residuals_for(40, outputs)
        whole = [[int(value * FEATURE_ONE) for value in row] for row in X]
        expected = [
            [sum(int(residuals[i, k]) * whole[i][j] for i in range(40)) for j in range(5)] for k in range(outputs)
        ]
        gradient = bounded(X).gradient(residuals)
        assert gradient.dtype == np.int64
        assert gradient.tolist() == expected

    @given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 70), st.integers(1, 3))
    def test_is_the_same_integer_for_every_storage_and_order(self, seed, n_rows, n_features, outputs):
        X, residuals = grid_data(n_rows, n_features, seed), residuals_for(n_rows, outputs, seed + 1)
        expected = bounded(X).gradient(residuals)
        order = np.random.default_rng(seed).permutation(n_rows)
        for make in FORMATS.values():
            assert np.array_equal(bounded(make(X)).gradient(residuals), expected)
            assert np.array_equal(bounded(make(X[order])).gradient(residuals[order]), expected)

    @given(st.integers(0, 2**32))
    def test_rounding_is_the_same_for_dense_and_sparse(self, seed):
        X = np.random.default_rng(seed).normal(size=(20, 4)) * [1, 1e-3, 1e3, 1]
        bounds = ([-1, -1e-3, -700, 0], [0.3, 2e-3, 1234.5, 0.77])
        residuals = residuals_for(20, 2, seed)
        expected = bounded(X, bounds).gradient(residuals)
        assert np.array_equal(bounded(sparse.csr_array(X), bounds).gradient(residuals), expected)
        assert np.array_equal(bounded(sparse.csc_array(X), bounds).gradient(residuals), expected)

    @pytest.mark.parametrize("block", [1, 7, 50, 51])
    def test_blocks_of_rows_add_up(self, monkeypatch, block):
        X, residuals = grid_data(50, 4), residuals_for(50, 2)
        expected = bounded(X).gradient(residuals)
        monkeypatch.setattr(reference, "_ENTRIES_AT_ONCE", 8 * block)
        columns = bounded(X).by_feature.matrix
        assert np.array_equal(reference.column_sums(columns, residuals.astype(np.int32)), expected)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_the_largest_sums_beyond_one_block_are_exact(self, make):
        """All products at their largest, plus one odd unit that double precision would lose beyond 2⁵³."""
        n_rows = 2**53 // (FINEST * FEATURE_ONE) + 2**17
        residuals = np.full((n_rows, 1), FINEST)
        residuals[-1] = 1
        X = np.ones((n_rows, 1))
        X[-1] = 1 / FEATURE_ONE
        assert bounded(make(X)).gradient(residuals).item() == (n_rows - 1) * FINEST * FEATURE_ONE + 1


class TestColumns:
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
    def test_add_column_adds_the_scaled_column_in_place(self, make):
        X = grid_data(30, 4) * 5
        margins = np.arange(30.0)
        bounded(make(X), (-5, 5)).add_column(margins, 2, 0.5)
        assert np.allclose(margins, np.arange(30.0) + 0.5 * X[:, 2] / 5, rtol=0, atol=1e-5)

    def test_add_column_gives_the_same_bits_dense_or_sparse(self):
        X = grid_data(30, 4)
        dense, thin = np.arange(30.0), np.arange(30.0)
        bounded(X).add_column(dense, 1, 1 / 3)
        bounded(sparse.csc_array(X)).add_column(thin, 1, 1 / 3)
        assert np.array_equal(dense, thin)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_columns_are_the_scaled_values_in_the_stored_kind(self, make):
        X = grid_data(10, 4)
        stored = bounded(make(X * 8), (-8, 8))
        for features in (slice(None), np.array([3, 1])):
            columns = stored.columns(features)
            assert sparse.issparse(columns) == sparse.issparse(make(X))
            assert np.array_equal(sparse.csr_array(columns).toarray(), X[:, features])


DENSE_AND_SPARSE = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])


class TestPopularity:
    @DENSE_AND_SPARSE
    def test_counts_rows_that_are_not_zero_once_rounded(self, make):
        X = np.array([[0.0, 1, 1e-9, 0.5], [0, -1, 1, 0], [0, 1, 1, -0.5]])
        stored = bounded(make(X))
        assert stored.counts().tolist() == [0, 3, 2, 2]
        assert stored.popularity.tolist() == [1, 2, 3, 0]  # ties keep their order

    def test_stored_zeros_do_not_count(self):
        X = sparse.csr_array((np.array([0.0, 1.0, 0.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
        for stored in (bounded(X), bounded(X.tocsc())):
            assert stored.counts().tolist() == [0, 1]

    @DENSE_AND_SPARSE
    def test_rows_have_popular_features_first(self, make):
        X = grid_data(12, 5)
        X[:, 0] = 0
        stored = bounded(make(X))
        rows = stored.by_row.matrix
        found = rows if stored.by_row.is_dense else rows.toarray()
        assert np.array_equal(found, (X * FEATURE_ONE)[:, stored.popularity])
        assert found.flags.c_contiguous


class TestWithConstant:
    @DENSE_AND_SPARSE
    def test_appends_a_feature_that_is_one_everywhere_and_changes_nothing_else(self, make):
        X = grid_data(12, 4)
        plain = bounded(make(X))
        longer = plain.with_constant()
        assert (longer.n_rows, longer.n_features) == (12, 5)
        assert np.array_equal(codes(longer), np.column_stack([X, np.ones(12)]) * FEATURE_ONE)
        assert np.array_equal(codes(plain), X * FEATURE_ONE)
        assert sparse.issparse(longer.columns()) == sparse.issparse(make(X))

    @pytest.mark.parametrize("outputs", [1, 3])
    def test_sums_and_margins_are_the_same_however_rows_are_stored(self, outputs):
        X, residuals = grid_data(30, 4), residuals_for(30, outputs)
        coef = np.random.default_rng(2).standard_normal((outputs, 5))
        longer = [bounded(make(X)).with_constant() for make in FORMATS.values()]
        for other in longer:
            assert np.array_equal(other.gradient(residuals)[:, -1], residuals.sum(axis=0) * FEATURE_ONE)
            assert np.array_equal(other.gradient(residuals), longer[0].gradient(residuals))
            assert np.array_equal(other.margins(coef), longer[0].margins(coef))
            assert np.array_equal(
                other.row_squares(np.zeros(5), np.ones(5)), longer[0].row_squares(np.zeros(5), np.ones(5))
            )

    @DENSE_AND_SPARSE
    def test_works_for_no_features_that_matter_and_for_no_rows(self, make):
        assert np.array_equal(codes(bounded(make(np.zeros((3, 1)))).with_constant()), [[0, FEATURE_ONE]] * 3)
        empty = bounded(make(np.ones((1, 2)))).blocks(np.zeros(1, dtype=np.int64), 2)[1].with_constant()
        assert (empty.n_rows, empty.n_features) == (0, 3)


class TestBlocks:
    @DENSE_AND_SPARSE
    def test_every_row_goes_to_its_owner_in_the_old_order(self, make):
        X = grid_data(50, 4)
        owners = np.random.default_rng(3).integers(0, 6, 50)
        parts = bounded(make(X)).blocks(owners, 6)
        assert len(parts) == 6
        for block, part in enumerate(parts):
            assert np.array_equal(codes(part), X[owners == block] * FEATURE_ONE)
            assert sparse.issparse(part.columns()) == sparse.issparse(make(X))

    @DENSE_AND_SPARSE
    def test_blocks_without_rows_are_empty_tables(self, make):
        """At the beginning, between others and at the end; targets are split by the same owners."""
        X = grid_data(5, 3)
        owners = np.array([3, 1, 3, 1, 1])
        parts = bounded(make(X)).blocks(owners, 6)
        assert [part.n_rows for part in parts] == [0, 3, 0, 2, 0, 0]
        assert all(part.n_features == 3 for part in parts)
        assert np.array_equal(codes(parts[3]), X[[0, 2]] * FEATURE_ONE)
        assert np.array_equal(parts[5].gradient(np.zeros((0, 2), dtype=np.int64)), np.zeros((2, 3)))

    @DENSE_AND_SPARSE
    def test_one_row_more_or_less_changes_its_own_block_and_no_other(self, make):
        """What the votes of Two-Stage rest on."""
        X = grid_data(30, 4)
        owners = np.random.default_rng(4).integers(0, 5, 30)
        whole = [codes(part) for part in bounded(make(X)).blocks(owners, 5)]
        for row in range(30):
            left = np.delete(np.arange(30), row)
            fewer = [codes(part) for part in bounded(make(X[left])).blocks(owners[left], 5)]
            for block in range(5):
                assert np.array_equal(whole[block], fewer[block]) == (block != owners[row])
            changed = X.copy()
            changed[row] = -X[row] - 1 / 256
            replaced = [codes(part) for part in bounded(make(changed)).blocks(owners, 5)]
            for block in range(5):
                assert np.array_equal(whole[block], replaced[block]) == (block != owners[row])

    @DENSE_AND_SPARSE
    def test_one_block_is_the_whole(self, make):
        X = grid_data(9, 3)
        (only,) = bounded(make(X)).blocks(np.zeros(9, dtype=np.int64), 1)
        assert np.array_equal(codes(only), X * FEATURE_ONE)
