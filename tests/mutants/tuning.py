"""Faults in private tuning."""

from .killers import in_file
from .mutant import Mutant

_RUN, _PLAN, _SCORES, _SEARCH = (
    f"evaluation/{name}.py" for name in ("tuning_run", "tuning_plan", "tuning_scores", "search")
)
_STOPPING, _PARTS, _WHOLE = "privacy/test_random_stopping", "evaluation/test_tuning_parts", "evaluation/test_tuning"
_THEIRS = in_file(_STOPPING, "test_agrees_with_dp_accounting")
_REPLAYED = in_file(_WHOLE, "test_other_records_with_the_same_answers_give_the_same_model")
_STATED = in_file(_WHOLE, "test_one_statement_for_everything")

MUTANTS = (
    Mutant(
        "as-many-runs-as-on-average",
        "a fixed number of runs costs far more",
        "privacy/mechanisms.py",
        "    while source.below(odds):\n        runs += 1\n",
        "    runs = odds\n",
        in_file(_STOPPING, "test_the_number_of_runs_is_geometric"),
    ),
    Mutant(
        "stopping-charged-as-one-run",
        "the best of many is charged like any of them",
        "privacy/events.py",
        "return Cost(rho, shift=2 * ((order - 1) * rho + chance / order), tail=chance)",
        "return Cost(rho)",
        _THEIRS,
    ),
    Mutant(
        "stopping-rivals-charged-once",
        "the shape of the law of runs enters twice",
        "privacy/events.py",
        "shift=2 * ((order - 1)",
        "shift=((order - 1)",
        _THEIRS,
    ),
    Mutant(
        "tail-left-out",
        "delta is multiplied by the mean number of runs",
        "privacy/accounting.py",
        "epsilon_of_rho(rho, delta * math.exp(-tail))",
        "epsilon_of_rho(rho, delta)",
        _THEIRS,
    ),
    Mutant(
        "ledger-tail-left-out",
        "searches are charged less than they cost",
        "ledger/filters.py",
        " + cost.tail / (self.order - 1)",
        "",
        in_file("ledger/test_filters", "test_tails_count_against_the_one_order_of_the_filter"),
    ),
    Mutant(
        "candidates-scored-without-noise",
        "the best of random stopping is the exact best",
        _RUN,
        "mechanisms.gaussian(total_points([score(fitted)]), sigma, branched(source))",
        "mechanisms.exact(total_points([score(fitted)]))",
        _REPLAYED,
    ),
    Mutant(
        "score-noise-a-tenth",
        "a row that scores is protected less than one that is fitted to",
        _RUN,
        "math.ceil(choice.noise * POINTS * (1 + 2.0**-50))",
        "math.ceil(choice.noise * POINTS / 10)",
        in_file(_PARTS, "test_a_plan_keeps_within_its_budget_and_uses_it"),
    ),
    Mutant(
        "choice-with-twice-its-range",
        "the choice costs more than the fits",
        _PLAN,
        "fits.epsilon, budget.epsilon) * _ROOM",
        "fits.epsilon, budget.epsilon) * 2",
        in_file(_PARTS, "test_the_choice_costs_no_more_than_the_fits_by_any_measure"),
    ),
    Mutant(
        "only-one-candidate-is-charged",
        "all are fitted, and the winner alone is paid for",
        _PLAN,
        "return tuple(event for releases in candidates for event in releases(epsilon))",
        "return tuple(candidates[0](epsilon))",
        in_file(_PARTS, "test_a_plan_keeps_within_its_budget_and_uses_it"),
    ),
    Mutant(
        "score-of-sensitivity-one",
        "a row moves a score by its points, not by one",
        _RUN,
        "mechanisms.select(scores, POINTS, choice.eta, source)",
        "mechanisms.select(scores, 1, choice.eta, source)",
        in_file(_PARTS, "TestAudit"),
    ),
    Mutant(
        "points-without-end",
        "a row far off moves a score by more than its points",
        _SCORES,
        "(1 - np.clip(error, 0, 1))",
        "(1 - error)",
        in_file(_PARTS, "test_points_of_numbers_are_within_their_range"),
    ),
    Mutant(
        "points-by-the-largest-margin",
        "a record moves the points of others",
        _SCORES,
        "    chances = kernels.softmaxes(both)\n",
        "    chances = kernels.softmaxes(both / np.abs(both).max())\n",
        in_file(_PARTS, "test_a_rows_points_do_not_depend_on_the_rows_around_it"),
    ),
    Mutant(
        "candidates-scored-on-rows-of-the-fit",
        "such rows pay twice",
        _SEARCH,
        "_points(estimator, outside, target[aside], tuning.scoring)",
        "_points(estimator, inside, target[~aside], tuning.scoring)",
        in_file(_WHOLE, "test_every_row_fits_or_chooses"),
    ),
    Mutant(
        "winner-claims-its-own-budget",
        "the losers looked at the rows too",
        "evaluation/tuning.py",
        "        best.privacy_ = PrivacyStatement(\n",
        "        statement = PrivacyStatement(\n",
        _STATED,
    ),
    Mutant(
        "runs-heard-of",
        "progress tells how many runs there were",
        _RUN,
        "    with progress.unheard():\n        return _best_of_runs(plan, plan.choice, fit, score, source)\n",
        "    return _best_of_runs(plan, plan.choice, fit, score, source)\n",
        in_file(_WHOLE, "test_progress_tells_of_planned_candidates_and_never_of_how_many_were_tried"),
    ),
    Mutant(
        "seeded-search-not-stamped",
        "whoever knows the seed can subtract the noise",
        "evaluation/tuning.py",
        "            seeded=self.seed is not None,\n            notes=",
        "            seeded=False,\n            notes=",
        in_file(_WHOLE, "test_a_seeded_search_is_stamped"),
    ),
)
