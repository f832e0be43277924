"""Faults in how rows become whole numbers."""

from .killers import in_file
from .mutant import Mutant

_DATA, _CANONICAL = "data/bounded.py", "data/canonical.py"

MUTANTS = (
    Mutant(
        "more-rows-than-64-bits-hold",
        "sums wrap around, and the proofs' allowances for rounding do not hold",
        _DATA,
        "MAX_ROWS = 2**30",
        "MAX_ROWS = 2**32",
        in_file("data/test_largest_tables", "test_the_largest_sum_is_half_of_what_64_bits_hold"),
    ),
    Mutant(
        "blocks-of-any-number-of-rows",
        "a table in blocks may hold more rows than the proofs are for",
        "data/stacked.py",
        "if sum(block.shape[0] for block in blocks) > MAX_ROWS:",
        "if sum(block.shape[0] for block in blocks) > 2 * MAX_ROWS:",
        in_file("data/test_largest_tables", "test_a_row_more_is_refused"),
    ),
    Mutant(
        "sparse-values-not-clipped",
        "a value beyond its bound counts as much as it likes",
        _DATA,
        "values = np.clip(X.data[part].astype(np.float64), lower, upper)",
        "values = X.data[part].astype(np.float64)",
        in_file("guarantee/test_small_leaks", "test_values_beyond_their_bounds_count_as_the_bounds"),
    ),
    Mutant(
        "dense-values-scaled-by-the-largest",
        "one record changes the rounding of all others",
        _DATA,
        "codes = kernels.scaled_codes(X, bounds.lower, bounds.upper, FEATURE_ONE / bounds.scale)",
        "codes = kernels.scaled_codes(X, bounds.lower, bounds.upper, "
        "FEATURE_ONE / np.clip(np.abs(X).max(axis=0, initial=0.0), 1e-9, bounds.scale))",
        in_file("guarantee/test_small_leaks", "test_a_rows_whole_numbers_do_not_depend_on_the_other_rows"),
    ),
    Mutant(
        "sparse-values-scaled-by-the-largest",
        "one record changes the rounding of all others",
        _DATA,
        "        values *= factor\n",
        "        values *= FEATURE_ONE / np.abs(values).max(initial=1e-9)\n",
        in_file("guarantee/test_small_leaks", "test_a_rows_whole_numbers_do_not_depend_on_the_other_rows"),
    ),
    Mutant(
        "sparse-duplicates-clipped-one-by-one",
        "a cell given in many parts counts many times its bound",
        _CANONICAL,
        "    if parts[0] is not X.data:\n        checked.sum_duplicates()\n",
        "",
        in_file("data/test_bounded", "TestFromMatrix"),
    ),
    Mutant(
        "sparse-nan-let-through",
        "one NaN becomes a number beyond all bounds",
        _CANONICAL,
        "    if not np.all(np.isfinite(checked.data)):\n        raise ValueError(NOT_FINITE)\n",
        "",
        in_file("estimators/test_estimators", "test_a_nan_is_refused_even_where_scikit_learn_does_not_look"),
    ),
    Mutant(
        "constant-beyond-its-bound",
        "a feature of 2 in every row counts twice what is charged",
        _DATA,
        "ones = np.full((self.n_rows, 1), FEATURE_ONE, dtype=np.int32)",
        "ones = np.full((self.n_rows, 1), 2 * FEATURE_ONE, dtype=np.int32)",
        in_file("data/test_bounded", "TestWithConstant"),
    ),
    Mutant(
        "lengths-without-their-allowance",
        "a row whose terms cancel is measured too short",
        _DATA,
        "return np.asarray(np.maximum(total, 0.0) * (1 + _ROUNDING) + constant * _ROUNDING)",
        "return np.asarray(np.maximum(total, 0.0))",
        in_file("optim/test_standardise", "test_row_squares_are_never_too_small_where_terms_cancel"),
    ),
    Mutant(
        "products-rounded-to-the-nearest",
        "a row that is shrunk to its length is longer by its rounding",
        _DATA,
        "np.trunc(z, out=z)",
        "np.rint(z, out=z)",
        in_file("data/test_product_sums", "test_numbers_are_rounded_towards_zero"),
    ),
    Mutant(
        "products-of-rows-as-they-are",
        "a row that was shrunk counts in full",
        _DATA,
        "            z *= factors[part, None]\n",
        "            z *= factors.max(initial=0.0)\n",
        in_file("optim/test_curvature", "test_curvatures_move_by_no_more_than_their_sensitivity"),
    ),
    Mutant(
        "blocks-scaled-by-their-own-largest",
        "a record changes the rounding of the rows that are read with it",
        "data/stacked.py",
        "for block in _compact(BoundedData.from_matrix(batch, bounds))]",
        "for block in _compact(BoundedData.from_matrix(batch, "
        "Bounds(bounds.lower, np.full_like(bounds.upper, batch.max()))))]",
        in_file("data/test_stacked", "test_every_sum_is_the_same"),
    ),
    Mutant(
        "packed-weights-beyond-32-bits",
        "sums of weights wrap around, and margins are those of other weights",
        "data/packed.py",
        "fits = np.abs(weights).sum(axis=0).max(initial=0) < _LARGEST_SUM",
        "fits = np.abs(weights).max(initial=0) < _LARGEST_SUM",
        in_file("kernels/test_descent_loops", "test_margins_of_packed_features_are_exact"),
    ),
    Mutant(
        "packed-lists-without-signs",
        "a rare feature at minus its bound counts as if it were at its bound",
        "kernels/packed.hpp",
        "mark_sum(marks.rows.data() + start, size, codes) * marks.signs[l] * (1 << FEATURE_BITS);",
        "mark_sum(marks.rows.data() + start, size, codes) * (1 << FEATURE_BITS);",
        in_file("kernels/test_descent_loops", "test_every_form_of_a_feature_gives_its_sums"),
        compiled=True,
    ),
    Mutant(
        "threads-leave-rows-out",
        "rows at the end of a table are in no sum",
        "kernels/parallel.py",
        "return on_threads([count * i // parts for i in range(parts + 1)], job)",
        "return on_threads([count // parts * i for i in range(parts + 1)], job)",
        in_file("kernels/test_descent_loops", "test_threads_change_nothing"),
    ),
)
