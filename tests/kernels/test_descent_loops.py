"""The descent's compiled loops and plain NumPy give the same bits, in any storage and with any number of threads."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hardzero import kernels
from hardzero.data import packed as packing
from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.data.packed import Pieces
from hardzero.data.passes import WeighedRows
from hardzero.data.stacked import StackedData
from hardzero.kernels import Lines, parallel, reference
from hardzero.optim.descent import descent_unit

FINEST = descent_unit(1)
"""What stands for a residual of 1 in descents, and no code is larger."""

compiled_only = pytest.mark.skipif(kernels.compiled() is None, reason="the compiled loops are not built here")
seeds = st.integers(0, 2**32)
# Fewer rows than a block, one block, a row more, several blocks.
row_counts = st.sampled_from([1, 2, 7, 63, 1023, 1024, 1025, 3000])
densities = st.sampled_from([0.0, 0.05, 0.5, 1.0])


def table_of(rng, n_rows, n_features, density):
    """Whole numbers by features, half of the features -1, 0 or 1, with the extremes among them."""
    codes = rng.choice([-FEATURE_ONE, FEATURE_ONE, FEATURE_ONE - 1, 1, -7, 40_000], size=(n_features, n_rows))
    codes[::2] = rng.choice([-FEATURE_ONE, FEATURE_ONE], size=codes[::2].shape)
    codes[::4] = FEATURE_ONE
    return np.ascontiguousarray(codes * (rng.random(codes.shape) < density), dtype=np.int32)


def both_storages(table):
    return Lines(table), Lines(sparse.csc_array(table.T))


# --- Tables -------------------------------------------------------------------------------------------------------

numbers = st.floats(-3, 3) | st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324, 0.5 / FEATURE_ONE, 1.5 / FEATURE_ONE])


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=300), st.booleans(), st.sampled_from("CF"))
def test_tables_are_scaled_to_the_same_whole_numbers(rows, single, order):
    with np.errstate(over="ignore"):
        X = np.array(rows, dtype=np.float32 if single else np.float64, order=order)
    X = np.nan_to_num(X, posinf=3e38, neginf=-3e38)
    bounds = Bounds.parse(([-1.0, 0.0, -2.5], [1.0, 1e-3, 0.7]), 3)
    limits = bounds.lower, bounds.upper, FEATURE_ONE / bounds.scale
    expected = np.rint(np.clip(X.astype(float), limits[0], limits[1]) * limits[2]).T
    for table in (X, X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]):  # also where neither rows nor columns are whole
        assert np.array_equal(kernels.scaled_codes(table, *limits), expected)
        assert np.array_equal(reference.scaled_codes(table, *limits), expected)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble, ">f8"])
def test_tables_of_other_kinds_are_scaled_too(kind):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 3)).astype(kind)
    limits = np.full(3, -1.0), np.full(3, 0.75), np.full(3, 1000.0)
    expected = np.where(X.T.astype(float) > 0, 750, 0)
    assert np.array_equal(kernels.scaled_codes(X, *limits), expected)
    assert np.array_equal(reference.scaled_codes(X, *limits), expected)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1500, 2999])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_not_finite_is_found_anywhere(wrong, place, kind):
    X = np.zeros((1000, 3), dtype=kind)
    X.flat[place] = wrong
    limits = np.full(3, -1.0), np.ones(3), np.ones(3)
    assert kernels.scaled_codes(X, *limits) is None
    assert reference.scaled_codes(X, *limits) is None


# --- Lengths and squares ------------------------------------------------------------------------------------------


@given(row_counts, st.integers(1, 40), densities, seeds)
def test_squares_have_the_same_bits_in_both_storages(n_rows, n_features, density, seed):
    rng = np.random.default_rng(seed)
    table = table_of(rng, n_rows, n_features, density)
    centre, scale = rng.uniform(-1, 1, n_features), rng.uniform(0.02, 1, n_features)
    at_zero = (centre / scale) * (centre / scale)
    start = np.full(n_rows, at_zero.sum())
    expected = reference.add_squares(table, centre, scale, at_zero, start.copy())
    codes = rng.integers(0, RESIDUAL_ONE + 1, n_rows)
    sums = ((table.astype(np.int64) ** 2) >> 16) @ codes
    for lines in both_storages(table):
        for loop, stored in ((kernels.add_squares, lines), (reference.add_squares, lines.matrix)):
            assert np.array_equal(loop(stored, centre, scale, at_zero, start.copy()), expected)
        assert np.array_equal(kernels.square_sums(lines, codes), sums)
        assert np.array_equal(reference.square_sums(lines.matrix, codes.astype(np.int32)), sums)


# --- Rows prepared for many passes ----------------------------------------------------------------------------------


LARGEST = packing._MOST


def packed_in_all_ways(table, piece=LARGEST):
    """The same numbers by features packed from both storages, and picked from a table that has more features."""
    n_features, n_rows = table.shape
    order = np.arange(n_features)[::-1]
    more = np.concatenate([table[::-1], np.full((1, n_rows), 77, dtype=np.int32)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_rows_of_piece", lambda *_: piece)
        for wanted, columns in ((table, order[::-1]), (more, order)):
            for lines in both_storages(wanted):
                pieces = Pieces(n_features)
                pieces.add(lines, columns, n_rows)
                yield pieces


@compiled_only
@given(row_counts, st.integers(1, 80), densities, st.integers(1, 9), st.booleans(), seeds)
def test_sums_over_packed_features_are_exact(n_rows, n_features, density, outputs, extreme, seed):
    rng = np.random.default_rng(seed)
    table = table_of(rng, n_rows, n_features, density)
    codes = rng.integers(-FINEST, FINEST + 1, size=(n_rows, outputs))
    if extreme:
        table[::2], codes[:] = FEATURE_ONE, -FINEST
    for pieces in packed_in_all_ways(table, piece=int(rng.choice([1000, 2**14]))):
        assert np.array_equal(pieces.column_sums(codes), codes.T @ table.T.astype(np.int64))


@compiled_only
@given(row_counts, st.integers(1, 80), densities, st.integers(1, 9), st.sampled_from([0, 20, 31, 35]), seeds)
def test_margins_of_packed_features_are_exact(n_rows, n_features, density, outputs, bits, seed):
    rng = np.random.default_rng(seed)
    table = table_of(rng, n_rows, n_features, density)
    most = max(2**bits // n_features, 1)  # all weights of an output together are 2^bits or less
    weights = rng.integers(-most, most + 1, size=(n_features, outputs)) * (rng.random((n_features, outputs)) < 0.8)
    expected = (table.T.astype(np.int64) @ weights).astype(np.float64) * 2.0**-36
    assert np.array_equal(reference.margins(table, weights, 2.0**-36), expected)
    for pieces in packed_in_all_ways(table, piece=int(rng.choice([1000, 2**14]))):
        margins = pieces.margins(weights, 2.0**-36)
        assert margins is None if np.abs(weights).sum(axis=0).max() >= 2**31 else np.array_equal(margins, expected)


@compiled_only
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("density", [0.01, 0.07, 0.2, 0.6])
def test_every_form_of_a_feature_gives_its_sums(density, outputs):
    """Bits and lists of rows, at either bound or at both, and numbers: all in one table."""
    rng = np.random.default_rng(5)
    table = table_of(rng, 2500, 24, density)
    table[2] = -np.abs(table[2])
    codes, weights = rng.integers(-99, 99, size=(2500, outputs)), rng.integers(-99, 99, size=(24, outputs))
    for pieces in packed_in_all_ways(table, piece=1500):
        assert np.array_equal(pieces.column_sums(codes), codes.T @ table.T.astype(np.int64))
        assert np.array_equal(pieces.margins(weights, 1.0), table.T.astype(np.int64) @ weights)


@compiled_only
@pytest.mark.parametrize("most", [2**31 - 1, 2**31, -(2**31 - 1), -(2**31)])
def test_margins_at_the_end_of_32_bits(most):
    table = np.full((2, 3), FEATURE_ONE, dtype=np.int32)
    for pieces in packed_in_all_ways(table):
        margins = pieces.margins(np.array([[most], [0]]), 1.0)
        assert margins is None if abs(most) == 2**31 else margins.tolist() == [[most * 2.0**16]] * 3


@compiled_only
@given(st.integers(1, 40), st.integers(1, 4), seeds)
def test_the_last_row_of_the_largest_piece_counts(n_features, outputs, seed):
    """Rows in lists are numbers of 16 bits."""
    rng = np.random.default_rng(seed)
    table = np.zeros((n_features, LARGEST + 1), dtype=np.int32)
    table[:, -2:] = rng.choice([-FEATURE_ONE, FEATURE_ONE, 5], size=(n_features, 2))
    codes = rng.integers(-9, 9, size=(LARGEST + 1, outputs))
    for pieces in packed_in_all_ways(table):
        assert np.array_equal(pieces.column_sums(codes), codes.T @ table.T.astype(np.int64))


@given(st.integers(1, 50), st.integers(1, 12), densities, st.integers(1, 4), seeds)
def test_a_packed_table_sums_as_before(n_rows, n_features, density, outputs, seed):
    rng = np.random.default_rng(seed)
    codes = table_of(rng, n_rows, n_features, density).T
    residuals = rng.integers(-FINEST, FINEST + 1, size=(n_rows, outputs))
    coef = rng.standard_normal((outputs, n_features)) * 10.0 ** rng.integers(-3, 9)
    flags = codes >> 16 << 16
    for data in map(BoundedData, (codes, sparse.csc_array(codes), flags, sparse.csc_array(flags))):
        packed = data.packed()
        assert np.array_equal(packed.gradient(residuals), data.gradient(residuals))
        assert np.array_equal(packed.margins(coef), data.margins(coef))


@given(row_counts, st.integers(1, 30), densities, st.sampled_from([1, 2, 3, 9]), st.booleans(), seeds)
def test_sums_in_one_pass_are_those_of_several(n_rows, n_features, density, outputs, large, seed):
    """Also where weights are too large for it; each row's length, or that of every output's part of it."""
    rng = np.random.default_rng(seed)
    codes = table_of(rng, n_rows, n_features, density).T
    coef = rng.standard_normal((outputs, n_features)) * (1e4 if large else 1.0)
    targets = rng.integers(0, 2, (n_rows, 1)) * 1.0 if outputs == 1 else rng.integers(0, outputs, n_rows)
    squares = rng.uniform(0, 9, size=(n_rows, int(rng.choice([1, outputs]))))
    rows = WeighedRows(rng.standard_normal(outputs), targets, squares, 0.7, FINEST)
    residuals, bends = reference.weighted_codes(BoundedData(codes).margins(coef), *rows)
    expected = residuals.astype(np.int64).T @ codes, residuals.sum(axis=0), bends.sum(axis=0)
    for data in (BoundedData(codes), BoundedData(sparse.csc_array(codes))):
        for table in (data, data.packed()):
            assert all(map(np.array_equal, table.weighted_sums(coef, rows), expected))


# --- Codes --------------------------------------------------------------------------------------------------------

# Where classes are in doubt, a row's weight and its label matter: a third of the margins are drawn there.
margins = (
    st.floats(-4, 4)
    | st.floats(-50, 50)
    | st.sampled_from([0.0, -0.0, 1e-300, 60.0, -60.0, 800.0, -800.0, 1e300, -1e300])
)
lengths = st.floats(0, 1e4) | st.sampled_from([0.0, 5e-324, 1e-300, 1e300])


@st.composite
def rows_to_weigh(draw):
    outputs = draw(st.just(1) | st.sampled_from([2, 3, 7, 8, 9, 16, 20, 128, 130]))
    n_rows = draw(st.sampled_from([1, 2, 63, 64, 65]) | st.integers(1, 40))  # several classes go by 64 rows
    rng = np.random.default_rng(draw(seeds))
    pool = np.array(draw(st.lists(margins, min_size=4, max_size=30)))
    squares = np.array(draw(st.lists(lengths, min_size=4, max_size=30)))
    targets = rng.integers(0, 2, (n_rows, 1)) * 1.0 if outputs == 1 else rng.integers(0, outputs, n_rows)
    width = draw(st.sampled_from([1, outputs]))  # masks differ between outputs, and so do lengths then
    return (
        rng.choice(pool, (n_rows, outputs)),
        rng.standard_normal(outputs),
        targets,
        rng.choice(squares, (n_rows, width)),
    )


limits = st.floats(0.01, 100.0)


def every_label(at):
    """Targets that give all rows the same label, for each label."""
    if at.shape[1] == 1:
        return [np.full((len(at), 1), label) for label in (0.0, 1.0)]
    return [np.full(len(at), label) for label in range(at.shape[1])]


@given(rows_to_weigh(), limits)
def test_weighted_codes_have_the_same_bits_at_every_place(rows, limit):
    at, offset, targets, squares = rows
    codes, bends = kernels.weighted_codes(*rows, limit, FINEST)
    expected = reference.weighted_codes(*rows, limit, FINEST)
    assert np.array_equal(codes, expected[0])
    assert np.array_equal(bends, expected[1])
    assert np.abs(codes).max() <= FINEST
    assert bends.min() >= 0
    assert bends.max() <= FINEST // 4
    last = slice(len(at) - 1, None)
    alone = kernels.weighted_codes(at[last], offset, targets[last], squares[last], limit, FINEST)
    assert np.array_equal(alone[0], codes[last])
    assert np.array_equal(alone[1], bends[last])


@given(rows_to_weigh(), limits, seeds)
def test_a_rows_weighted_codes_do_not_depend_on_the_other_rows(rows, limit, seed):
    at, offset, targets, squares = rows
    whole = np.hstack(kernels.weighted_codes(*rows, limit, FINEST))
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(at))[: rng.integers(1, len(at) + 1)]
    part = kernels.weighted_codes(at[some], offset, targets[some], squares[some], limit, FINEST)
    assert np.array_equal(np.hstack(part), whole[some])


@given(rows_to_weigh(), limits)
def test_a_rows_weight_does_not_see_its_label(rows, limit):
    """Curvatures are the same for every label, and so is the factor between a residual and its code."""
    at, offset, _, squares = rows
    chance = reference.sigmoids(at + offset) if at.shape[1] == 1 else reference.softmaxes(at + offset)
    _, bends = kernels.weighted_codes(*rows, limit, FINEST)
    coded = []
    for labels in every_label(at):
        codes, same = kernels.weighted_codes(at, offset, labels, squares, limit, FINEST)
        assert np.array_equal(same, bends)
        coded.append(codes.astype(np.int64))
    if at.shape[1] == 1:
        residuals = [chance, chance - 1.0]
    else:
        residuals = [chance - (np.arange(at.shape[1]) == label) for label in range(at.shape[1])]
    # The weight, as the label with the largest residual, at least a half, shows it.
    sizes = np.array([np.abs(residual).max(axis=1) for residual in residuals])
    shown = np.array([np.abs(codes).max(axis=1) for codes in coded])
    best = sizes.argmax(axis=0), np.arange(len(at))
    weight = shown[best] / sizes[best]  # too small by less than 2
    for residual, codes in zip(residuals, coded, strict=True):
        assert np.all(np.abs(codes - residual * weight[:, None]) < 1 + 2 * np.abs(residual) + 1e-6)


def squared_gradients(codes, squares):
    """Squared lengths of all rows in rational arithmetic, at the very doubles that are used."""
    for row, parts in zip(codes, np.broadcast_to(squares, codes.shape), strict=True):
        yield sum(int(code) ** 2 * Fraction(float(square)) for code, square in zip(row, parts, strict=True))


@given(rows_to_weigh(), limits)
def test_no_rows_gradient_is_longer_than_the_limit_for_any_label(rows, limit):
    """Up to the rounding that the caller's limit allows for."""
    at, offset, _, squares = rows
    longest = (Fraction(limit) * FINEST) ** 2 * (1 + Fraction(1, 10**9))
    for labels in every_label(at):
        codes, _ = kernels.weighted_codes(at, offset, labels, squares, limit, FINEST)
        assert all(square <= longest for square in squared_gradients(codes, squares))


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_limit_is_reached_by_the_label_that_fits_least_and_short_rows_are_left_alone(outputs):
    at, limit = np.full((1, outputs), 0.0), 0.3
    at[0, 0] = 2.0
    lengths = []
    for square in (100.0, 1e-4):
        for labels in every_label(at):
            codes, bends = kernels.weighted_codes(
                at, np.zeros(outputs), labels, np.full((1, 1), square), limit, FINEST
            )
            lengths.append(float(next(squared_gradients(codes, np.full((1, 1), square)))) ** 0.5 / FINEST)
    labels = max(outputs, 2)
    assert max(lengths[:labels]) == pytest.approx(limit, abs=10 * math.sqrt(outputs) / FINEST)  # codes lose < 1
    assert min(lengths[:labels]) < 0.6 * limit  # the weight is that of the other label
    chance = (reference.sigmoids if outputs == 1 else reference.softmaxes)(at)
    assert bends == pytest.approx(chance * (1 - chance) * FINEST, abs=1)  # the short row has weight 1


@given(st.integers(1, 300), seeds)
def test_sums_by_eights_are_sums(width, seed):
    values = np.random.default_rng(seed).random((5, width))
    assert np.allclose(reference.sums_by_eights(values), values.sum(axis=1), rtol=1e-13)


@given(st.integers(0, 50), st.integers(1, 5), seeds, st.sampled_from([np.int32, np.int64]))
def test_totals_are_exact(n_rows, outputs, seed, kind):
    limit = np.iinfo(np.int32).max if kind is np.int32 else 2**46
    codes = np.random.default_rng(seed).integers(-limit, limit, size=(n_rows, outputs)).astype(kind)
    expected = [sum(int(code) for code in column) for column in codes.T]
    assert kernels.code_totals(codes).tolist() == expected
    assert reference.code_totals(codes).tolist() == expected


# --- Threads, and no extension ------------------------------------------------------------------------------------


def stack_of(codes):
    """The same whole numbers in blocks of rows."""
    blocks = [codes[start : start + 900] for start in range(0, codes.shape[0], 900)]
    return StackedData([np.asfortranarray(b) if isinstance(b, np.ndarray) else b for b in blocks], np.arange(9))


def everything(n_rows=5000, outputs=2):
    """What all loops give for one table, as a list of arrays."""
    rng = np.random.default_rng(4)
    table = table_of(rng, n_rows, 9, 0.5)
    codes = rng.integers(-FINEST, FINEST, size=(n_rows, outputs))
    coef = rng.standard_normal((outputs, 9))
    targets = rng.integers(0, 2, (n_rows, 1)) * 1.0 if outputs == 1 else rng.integers(0, outputs, n_rows)
    rows = WeighedRows(np.zeros(outputs), targets, np.ones((n_rows, 1)), 0.3, FINEST)
    passes = [
        result
        for stored in (table.T, sparse.csc_array(table.T))
        for data in (BoundedData(stored), BoundedData(stored).packed(), stack_of(stored), stack_of(stored).packed())
        for result in (
            data.margins(coef),
            data.gradient(codes),
            data.row_squares(coef[0], coef[0] ** 2 + 0.1),
            np.hstack([sums.ravel() for sums in data.weighted_sums(coef, rows)]),
        )
    ]
    assert all(np.array_equal(result, passes[i % 4]) for i, result in enumerate(passes))
    at = passes[0]
    weighted = kernels.weighted_codes(at, np.zeros(outputs), targets, np.ones((n_rows, 1)), 0.3, FINEST)
    squares = kernels.add_squares(Lines(table), np.zeros(9), np.ones(9), np.zeros(9), np.zeros(n_rows))
    scaled = kernels.scaled_codes(table.T / 7.0, np.full(9, -1.0), np.ones(9), np.full(9, 3.0))
    totals, square_sums = kernels.code_totals(weighted[0]), kernels.square_sums(Lines(table), codes[:, 0])
    return [*passes[:4], *weighted, squares, scaled, totals, square_sums]


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_change_nothing(monkeypatch, threads, outputs):
    expected = everything(outputs=outputs)
    monkeypatch.setattr(parallel, "_WORTH_A_THREAD", 50)
    monkeypatch.setattr(packing, "_rows_of_piece", lambda *_: 700)
    monkeypatch.setenv("HARDZERO_THREADS", threads)
    assert all(map(np.array_equal, everything(outputs=outputs), expected))


@pytest.mark.parametrize("outputs", [1, 3])
def test_without_the_extension_everything_is_the_same(monkeypatch, outputs):
    expected = everything(outputs=outputs)
    monkeypatch.setattr(kernels, "_fast", None)
    assert all(map(np.array_equal, everything(outputs=outputs), expected))
