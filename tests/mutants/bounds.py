"""Faults in private bounds."""

from .killers import in_file
from .mutant import Mutant

_RELEASE, _PRIVATE, _COMPOSED = "bounds/release.py", "bounds/private.py", "model/composed.py"
_APART = in_file("bounds/test_release", "test_neighbours_sums_are_no_further_apart_than_is_charged")
_REPLAYED = in_file("bounds/test_private", "test_other_records_with_the_same_answers_give_the_same_output")
_TOGETHER = in_file("model/test_composed", "test_the_statement_is_that_of_both_together")

MUTANTS = (
    Mutant(
        "bounds-without-noise",
        "exact sums are released",
        _RELEASE,
        "mechanisms.gaussian(summed_cells(counts, plan), plan.sigma, source)",
        "mechanisms.exact(summed_cells(counts, plan))",
        _REPLAYED,
    ),
    Mutant(
        "bounds-noise-halved",
        "ε is twice what is stated",
        _RELEASE,
        "math.ceil(released[0].noise * sensitivity * (1 + 2.0**-50))",
        "math.ceil(released[0].noise * sensitivity / 2)",
        in_file("bounds/test_release", "test_a_plan_keeps_within_its_budget_and_uses_it"),
    ),
    Mutant(
        "cells-counted-twice",
        "a row moves the sums by twice what is charged",
        _PRIVATE,
        "found[:] += np.bincount(",
        "found[:] += 2 * np.bincount(",
        _APART,
    ),
    Mutant(
        "many-columns-for-the-price-of-one",
        "a row is in the sums of every column",
        _RELEASE,
        "sum(square_of_a_cell(grid.bins) for grid in grids)",
        "max(square_of_a_cell(grid.bins) for grid in grids)",
        _APART,
    ),
    Mutant(
        "bounds-as-if-a-cell-were-in-one-sum",
        "it is in all sums from its bin on",
        _RELEASE,
        "return sum(int(share) ** 2 for share in shares_of_a_cell(bins))",
        "return CELL**2",
        _APART,
    ),
    Mutant(
        "bounds-replace-one-counts-once",
        "an exchanged row leaves some sums and enters others",
        _RELEASE,
        "math.sqrt(neighbours.contributions * sum(",
        "math.sqrt(sum(",
        in_file("bounds/test_release", "test_an_exchanged_row_moves_less_than_two_but_more_than_one"),
    ),
    Mutant(
        "bins-among-the-records",
        "a record moves the bins of others",
        "bounds/grid.py",
        "np.searchsorted(self.edges[1:-1], numbers,",
        "np.searchsorted(np.sort(numbers)[: self.bins - 1], numbers,",
        in_file("bounds/test_private", "test_batches_formats_and_the_order_of_rows_change_nothing"),
    ),
    Mutant(
        "bounds-cost-by-the-true-number-of-rows",
        "under add-remove it shows in δ",
        _PRIVATE,
        "public_rows(relation, terms.n_rows, counted.rows), terms)",
        "counted.rows, terms)",
        _REPLAYED,
    ),
    Mutant(
        "doubt-measured-by-the-records",
        "the largest count shows in the bounds",
        _PRIVATE,
        "        column.name: range_of(part, grid, plan.noise, terms.tail)\n",
        "        column.name: range_of(part, grid, plan.noise + 0.1 * float(counted.counts[0].max()), terms.tail)\n",
        _REPLAYED,
    ),
    Mutant(
        "seeded-bounds-not-stamped",
        "whoever knows the seed can subtract the noise",
        _PRIVATE,
        "    seeded = not source.is_private\n",
        "    seeded = False\n",
        in_file("bounds/test_private", "test_bounds_are_near_and_stand_in_the_schema_with_their_price"),
    ),
    Mutant(
        "bounds-charged-after-noise",
        "what a ledger refuses is released all the same",
        _PRIVATE,
        "    with charging as receipt:\n        sums = noisy_sums(counted.counts, plan, source)\n",
        "    sums = noisy_sums(counted.counts, plan, source)\n    receipt = None\n",
        in_file("bounds/test_private", "test_a_release_is_charged_to_a_ledger_and_refused_beyond_its_cap"),
    ),
    Mutant(
        "models-silent-about-their-bounds",
        "the statement hides what bounds cost",
        _COMPOSED,
        "    if not charges:\n        return statement\n",
        "    return statement\n",
        _TOGETHER,
    ),
    Mutant(
        "bounds-listed-but-not-paid-for",
        "ε is that of the fit alone",
        _COMPOSED,
        "        epsilon=total.epsilon,\n",
        "        epsilon=statement.epsilon,\n",
        _TOGETHER,
    ),
    Mutant(
        "seeded-bounds-forgotten-by-models",
        "bounds from a seed protect nobody",
        _COMPOSED,
        "seeded=statement.seeded or any(charge.seeded for charge in charges)",
        "seeded=statement.seeded",
        in_file("model/test_composed", "test_bounds_from_a_seed_spoil_the_guarantee"),
    ),
    Mutant(
        "two-relations-added",
        "guarantees for different neighbours do not add up",
        _COMPOSED,
        "    if math.isfinite(statement.epsilon):\n        refuse_other_relation(",
        "    if math.isinf(statement.epsilon):\n        refuse_other_relation(",
        in_file("model/test_composed", "test_guarantees_of_two_relations_are_not_added"),
    ),
    Mutant(
        "rows-set-aside-pay-for-no-bounds",
        "all rows took part in them",
        "cli/actions/holdout.py",
        "privacy = with_released_bounds(found.privacy, schema)",
        "privacy = found.privacy",
        in_file("cli/test_bounds", "test_rows_set_aside_pay_for_the_bounds_too"),
    ),
    Mutant(
        "model-file-may-forget-its-bounds",
        "a statement without them is read",
        "model/reader.py",
        "if not includes_released_bounds(privacy, schema):",
        "if False:",
        in_file("model/test_composed", "test_a_file_that_leaves_out_what_bounds_cost_is_refused"),
    ),
)
