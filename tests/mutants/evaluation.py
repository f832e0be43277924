"""Faults in private evaluation and in holding rows out."""

from .killers import in_file
from .mutant import Mutant

_HISTOGRAM, _ASSESS, _INTERVALS, _HOLDOUT = (
    f"evaluation/{name}.py" for name in ("histogram", "assess", "intervals", "holdout")
)
_APART = "test_neighbours_counts_are_no_further_apart_than_is_charged"
_REPLAYED = in_file("evaluation/test_evaluate", "test_other_records_with_the_same_answers_give_the_same_output")
_COVERED = in_file("evaluation/test_intervals", "test_intervals_hold_the_truth")

MUTANTS = (
    Mutant(
        "evaluation-without-noise",
        "exact counts are released",
        _HISTOGRAM,
        "mechanisms.gaussian(counted_rows(margins, places, plan, persons), plan.sigma, source)",
        "mechanisms.exact(counted_rows(margins, places, plan, persons))",
        _REPLAYED,
    ),
    Mutant(
        "evaluation-noise-halved",
        "ε is twice what is stated",
        _HISTOGRAM,
        "math.ceil(released[0].noise * sensitivity * (1 + 2.0**-50))",
        "math.ceil(released[0].noise * sensitivity / 2)",
        in_file("evaluation/test_histogram", "test_a_plan_keeps_within_its_budget_and_uses_it"),
    ),
    Mutant(
        "evaluated-rows-counted-twice",
        "a row moves a count by two",
        _HISTOGRAM,
        "return Sensitive(ROW * counts.astype(np.int64))",
        "return Sensitive(2 * ROW * counts.astype(np.int64))",
        in_file("evaluation/test_histogram", _APART),
    ),
    Mutant(
        "evaluation-replace-one-counts-once",
        "an exchanged row leaves one count and enters another",
        _HISTOGRAM,
        "math.sqrt(counts_of_a_row(n_classes) * neighbours.contributions)",
        "math.sqrt(counts_of_a_row(n_classes))",
        in_file("evaluation/test_histogram", "test_the_bound_is_reached"),
    ),
    Mutant(
        "two-counts-for-the-price-of-one",
        "a row of three classes is in the confusion matrix and in the histogram",
        _HISTOGRAM,
        "return 1 if n_classes == 2 else 2",
        "return 1",
        in_file("evaluation/test_histogram", _APART),
    ),
    Mutant(
        "bins-by-quantiles-of-the-rows",
        "a record moves the bins of others",
        "evaluation/bins.py",
        "np.searchsorted(self.margins, margins,",
        "np.searchsorted(np.quantile(margins, np.arange(1, self.count) / self.count), margins,",
        in_file("evaluation/test_histogram", "TestTwins"),
    ),
    Mutant(
        "bins-by-the-true-number-of-rows",
        "under add-remove the number of rows shows in the bins",
        _ASSESS,
        'return checks.whole_within("n_rows", stated, 1, MAX_ROWS)',
        'return checks.whole_within("n_rows", counted, 1, MAX_ROWS)',
        in_file("evaluation/test_evaluate", "test_under_add_remove_the_number_of_rows_leaves_by_no_way"),
    ),
    Mutant(
        "sum-of-the-margins-around-a-row",
        "how a row's margin is rounded depends on other rows",
        _ASSESS,
        "    return within_reach(margins)\n",
        "    return within_reach(margins + margins.mean() * 2.0**-40)\n",
        in_file("evaluation/test_evaluate", "test_a_rows_margin_does_not_depend_on_the_rows_around_it"),
    ),
    Mutant(
        "seeded-evaluation-not-stamped",
        "whoever knows the seed can subtract the noise",
        _ASSESS,
        "seeded=not source.is_private",
        "seeded=False",
        in_file("evaluation/test_evaluate", "test_the_statement_says_what_it_cost_and_about_whom"),
    ),
    Mutant(
        "fit-to-rows-that-were-set-aside",
        "such rows pay twice",
        _HOLDOUT,
        "fitted.fit(rows_of(X, ~aside), labels[~aside], groups=",
        "fitted.fit(X, labels, groups=",
        in_file("evaluation/test_holdout", "test_every_row_is_in_one_part_only"),
    ),
    Mutant(
        "command-fits-to-rows-that-were-set-aside",
        "such rows pay twice",
        "cli/actions/holdout.py",
        "return X[~aside], places[~aside]",
        "return X, places",
        in_file("cli/test_evaluate", "TestHoldout"),
    ),
    Mutant(
        "rows-set-aside-by-their-class",
        "the split tells about records",
        _HOLDOUT,
        "    aside, counted = tossed(persons, len(labels), holdout, source_for(seed))\n",
        "    aside, counted = tossed(persons, len(labels), holdout, source_for(seed))\n"
        '    aside = aside ^ (labels == "no")\n',
        in_file("evaluation/test_holdout", "test_the_split_does_not_look_at_the_rows"),
    ),
    Mutant(
        "the-cheaper-of-fit-and-evaluation",
        "a row pays for the one whose part it is in, whichever that is",
        _HOLDOUT,
        "max(fit.epsilon, found.privacy.epsilon)",
        "min(fit.epsilon, found.privacy.epsilon)",
        in_file("evaluation/test_holdout", "test_a_fit_that_costs_more_than_was_asked_for_is_the_dearer_one"),
    ),
    Mutant(
        "true-sizes-of-the-parts",
        "under add-remove they show the number of rows",
        _HOLDOUT,
        'parameters["delta"], stated or counted)',
        'parameters["delta"], counted)',
        in_file("evaluation/test_holdout", "test_under_add_remove_stated_numbers_are_divided"),
    ),
    Mutant(
        "intervals-without-noise",
        "they hold the truth far too seldom",
        _INTERVALS,
        "of_noise = Parabola(noise**2 * ",
        "of_noise = Parabola(0 * ",
        _COVERED,
    ),
    Mutant(
        "intervals-without-chance",
        "rows are a sample",
        _INTERVALS,
        "added(of_noise, squares(weights, 1.0, counts))",
        "of_noise",
        _COVERED,
    ),
    Mutant(
        "noise-of-products-with-the-wrong-sign",
        "what noise adds to squares is added once more",
        _INTERVALS,
        "squares(weights, 1.0, -(noise**4))",
        "squares(weights, 1.0, 9 * noise**4)",
        in_file("evaluation/test_intervals", "test_the_estimated_variance_of_pairs_is_right_on_average"),
    ),
)
