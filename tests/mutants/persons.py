"""Faults by which a person with many rows would be felt as many, or their number would leave."""

from .killers import in_file
from .mutant import Mutant

_PERSONS, _LINEAR = "data/persons.py", "estimators/_linear.py"
_SUMS, _FITS = "optim/test_persons", "guarantee/test_persons"
_MOVED = in_file(_FITS, "test_nothing_moves_by_more_than_is_charged")
_REPLAYED = in_file(_FITS, "test_other_records_and_other_numbers_of_rows_give_the_same_output")

MUTANTS = (
    Mutant(
        "rows-clipped-persons-not",
        "every row adds what a person may",
        _PERSONS,
        "return np.sign(codes) * (np.abs(codes) // sizes)",
        "return codes",
        in_file(_SUMS, "test_gradients_and_curvatures_of_the_descent"),
    ),
    Mutant(
        "quotients-rounded-to-the-nearest",
        "a person's rows together add more than one row may",
        _PERSONS,
        "return np.sign(codes) * (np.abs(codes) // sizes)",
        "return np.rint(codes / sizes).astype(codes.dtype)",
        in_file(_SUMS, "test_quotients_are_rounded_towards_zero"),
    ),
    Mutant(
        "quotients-rounded-down",
        "negative numbers grow",
        _PERSONS,
        "return np.sign(codes) * (np.abs(codes) // sizes)",
        "return codes // sizes",
        in_file(_SUMS, "test_quotients_are_rounded_towards_zero"),
    ),
    Mutant(
        "every-row-of-a-person-counts",
        "class rates and lengths move by the number of rows",
        _PERSONS,
        "whole * counts // self.sizes[rows]",
        "whole * counts",
        in_file(_SUMS, "test_moments_and_rates"),
    ),
    Mutant(
        "a-person-counts-whole-in-every-cell",
        "rows in two bins count twice",
        _PERSONS,
        "whole * counts // self.sizes[rows]",
        "np.full(len(counts), whole)",
        in_file("evaluation/test_persons", "test_counts_of_neighbours_are_no_further_apart_than_is_charged"),
    ),
    Mutant(
        "persons-curvature-of-every-row",
        "the trace of a person's matrix is beyond the limit",
        "optim/curvature.py",
        "weights if problem.persons is None else weights / problem.persons.sizes",
        "weights",
        in_file(_SUMS, "test_the_curvature"),
    ),
    Mutant(
        "persons-screened-by-all-their-rows",
        "the gradient at the base rate is that of every row",
        "methods/select_refit.py",
        "return problem.data.gradient(problem.divided(codes))",
        "return problem.data.gradient(codes)",
        in_file(_SUMS, "test_screening"),
    ),
    Mutant(
        "persons-squares-of-every-row",
        "mean squares move by the number of rows",
        "optim/standardise.py",
        "problem.divided(codes * codes // RESIDUAL_ONE)",
        "codes * codes // RESIDUAL_ONE",
        in_file(_SUMS, "test_moments_and_rates"),
    ),
    Mutant(
        "persons-descent-by-the-fused-pass",
        "it knows nothing of persons",
        "optim/descent.py",
        "    if problem.persons is None:\n        gradient",
        "    if True:\n        gradient",
        in_file(_SUMS, "test_gradients_and_curvatures_of_the_descent"),
    ),
    Mutant(
        "n-counted-in-rows",
        "how many rows persons have decides on noise and delta, and is told",
        "estimators/_persons.py",
        'return (n_rows, "row") if persons is None else (persons.count, "person")',
        'return (n_rows, "row") if persons is None else (n_rows, "person")',
        _REPLAYED,
    ),
    Mutant(
        "persons-told-and-not-protected",
        "the statement speaks of persons, the sums of rows",
        _LINEAR,
        "Problem(data, targets, loss, stated_rows=n_rows, persons=persons)",
        "Problem(data, targets, loss, stated_rows=n_rows)",
        _MOVED,
    ),
    Mutant(
        "three-rows-at-the-price-of-one",
        "a person of Private LASSO is charged as one row",
        "methods/private_lasso.py",
        "contributions = rows_per_person * neighbours.contributions",
        "contributions = neighbours.contributions",
        _MOVED,
    ),
    Mutant(
        "lasso-takes-all-rows-of-a-person",
        "the cap is asked for and not kept",
        _PERSONS,
        "np.where(self.ranks < rows, (rows - 1 - self.ranks) // self.sizes + 1, 0)",
        "np.ones(len(self.ranks), dtype=np.int64)",
        _MOVED,
    ),
    Mutant(
        "missing-ids-are-persons-of-their-own",
        "whoever has no identifier in two rows is two persons",
        "schema/persons.py",
        "return None if text is None else text.strip() or None",
        "return str(object()) if text is None else text.strip()",
        in_file("estimators/test_persons", "test_identifiers_are_compared_as_text"),
    ),
    Mutant(
        "rows-set-aside-not-persons",
        "a person is in the fit and in the evaluation and pays twice",
        "cli/actions/holdout.py",
        "else self.coins[persons]",
        "else coins(len(persons), self.share, self.source)",
        ("tests/cli/test_persons.py::test_all_rows_of_a_person_are_in_one_part",),
    ),
    Mutant(
        "rows-charged-to-persons",
        "a ledger of persons adds up what protects rows",
        "ledger/ledger.py",
        "if unit != before.unit:",
        "if False:",
        in_file("estimators/test_persons", "test_a_ledger_adds_up_one_unit_only"),
    ),
    Mutant(
        "persons-of-the-schema-forgotten",
        "the command reads whose rows they are and does not tell",
        "cli/actions/fit.py",
        "estimator.fit_table(rows.data, rows.places, names, coded=True, groups=rows.persons)",
        "estimator.fit_table(rows.data, rows.places, names, coded=True)",
        ("tests/cli/test_persons.py::test_json_says_whom_it_protects_and_nothing_says_how_many_rows",),
    ),
)
