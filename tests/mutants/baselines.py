"""Faults in the methods that the library is compared with."""

from .killers import DENSE, GREEDY, TWO_STAGE, in_file, moved, replayed, replayed_by_size
from .mutant import Mutant

_ROWS, _STEPS, _GREEDY, _TWO_STAGE, _ADMM, _OBJECTIVE = (
    f"methods/{name}.py" for name in ("rows", "gradient_steps", "greedy", "two_stage", "admm", "objective")
)

MUTANTS = (
    Mutant(
        "rows-not-clipped",
        "a long row moves the gradient by as much as it likes",
        _ROWS,
        "return cls(problem, reach / np.maximum(lengths, reach), norm)",
        "return cls(problem, np.ones_like(lengths), norm)",
        (moved(DENSE),),
    ),
    Mutant(
        "rows-rounded-up",
        "a clipped row is longer than its norm by its rounding",
        _ROWS,
        "np.trunc(residual, out=residual).astype(np.int64)",
        "np.copysign(np.ceil(np.abs(residual)), residual).astype(np.int64)",
        in_file("methods/test_gradient_steps", "test_gradients_move_by_no_more_than_their_sensitivity"),
    ),
    Mutant(
        "steps-forget-the-relation",
        "an exchanged record moves the gradient by two contributions",
        _STEPS,
        "plan.noise * plan.neighbours.contributions * gradient_length(loss, plan.row_norm)",
        "plan.noise * gradient_length(loss, plan.row_norm)",
        in_file("methods/test_gradient_steps", "test_every_step_has_fresh_noise_of_the_declared_size"),
    ),
    Mutant(
        "steps-noise-halved",
        "half the noise that is charged for",
        _STEPS,
        "mechanisms.gaussian(rows.gradient(coef), sigma, source)",
        "mechanisms.gaussian(rows.gradient(coef), sigma // 2, source)",
        in_file("methods/test_gradient_steps", "test_every_step_has_fresh_noise_of_the_declared_size"),
    ),
    Mutant(
        "steps-by-the-true-number-of-rows",
        "under add-remove that number is secret",
        _STEPS,
        "unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.n_rows)",
        "unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.data.n_rows)",
        (replayed_by_size(DENSE),),
    ),
    Mutant(
        "greedy-without-a-mechanism",
        "the largest gradient is chosen as it is",
        _GREEDY,
        "chosen = mechanisms.select(Sensitive(np.abs(gradient)), sensitivity, plan.eta, source)",
        "chosen = int(np.argmax(np.abs(gradient)))",
        (replayed(GREEDY),),
    ),
    Mutant(
        "greedy-forgets-the-relation",
        "an exchanged record moves a gradient by two contributions",
        _GREEDY,
        "sensitivity = plan.neighbours.contributions * cap * FEATURE_ONE",
        "sensitivity = cap * FEATURE_ONE",
        (moved(GREEDY, "replace-one"),),
    ),
    Mutant(
        "greedy-by-the-true-number-of-rows",
        "under add-remove that number is secret",
        _GREEDY,
        "unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.n_rows)",
        "unit = loss.residual_unit / (RESIDUAL_ONE * FEATURE_ONE * problem.data.n_rows)",
        (replayed_by_size(GREEDY),),
    ),
    Mutant(
        "greedy-measures-for-nothing",
        "the chosen gradients are left out of the events",
        _GREEDY,
        '            Repeated(GaussianRelease("gradient of the chosen coordinate", 2 / eta), steps),\n',
        "",
        in_file("methods/test_greedy", "test_every_step_is_charged_for_one_choice_and_one_number"),
    ),
    Mutant(
        "blocks-by-position",
        "a row more or less moves all later rows to other blocks",
        _TWO_STAGE,
        "owners = source.integers_below(plan.blocks, problem.data.n_rows)",
        "owners = np.arange(problem.data.n_rows) * plan.blocks // max(problem.data.n_rows, 1)",
        in_file("methods/test_two_stage", "test_rows_go_to_blocks_by_chance_and_not_by_position"),
    ),
    Mutant(
        "blocks-by-the-true-number-of-rows",
        "a row more or less changes the number of blocks, and all votes",
        _TWO_STAGE,
        "owners = source.integers_below(plan.blocks, problem.data.n_rows)",
        "owners = source.integers_below(max(math.isqrt(problem.data.n_rows), 1), problem.data.n_rows)",
        (moved(TWO_STAGE, "add-remove"),),
    ),
    Mutant(
        "votes-told-half-the-sensitivity",
        "a record moves a vote by one",
        _TWO_STAGE,
        "return choose_several(candidates, plan.kept, RESIDUAL_ONE, plan.eta, source)",
        "return choose_several(candidates, plan.kept, RESIDUAL_ONE // 2, plan.eta, source)",
        in_file("methods/test_two_stage", "test_one_record_changes_one_block_and_each_count_by_at_most_one"),
    ),
    Mutant(
        "votes-charged-once",
        "many selections for the price of one",
        _TWO_STAGE,
        'votes = Repeated(Selection(eta, "one feature by the blocks\' votes"), kept)',
        'votes = Repeated(Selection(eta, "one feature by the blocks\' votes"), 1)',
        in_file("methods/test_two_stage", "test_every_release_is_charged"),
    ),
    Mutant(
        "rounds-share-their-noise",
        "differences of rounds are released without noise",
        _ADMM,
        "        centre = sparse + multipliers / plan.coupling\n",
        "        from ..privacy.randomness import SeededSource\n\n        source = SeededSource(1)\n"
        "        centre = sparse + multipliers / plan.coupling\n",
        in_file("methods/test_admm", "test_every_round_has_fresh_noise_of_the_planned_size_and_is_charged"),
    ),
    Mutant(
        "rounds-charged-once",
        "many minimisers for the price of one",
        _ADMM,
        'plan_perturbation("dense weights", budget, [], row_norm, convexity, rounds)',
        'plan_perturbation("dense weights", budget, [], row_norm, convexity)',
        in_file("methods/test_admm", "test_every_round_has_fresh_noise_of_the_planned_size_and_is_charged"),
    ),
    Mutant(
        "coupling-by-the-true-number-of-rows",
        "the strong convexity that the noise goes with would be the records'",
        _OBJECTIVE,
        "return Sensitive(minimise_logistic(rows, centre, plan.convexity, linear))",
        "return Sensitive(minimise_logistic(rows, centre, 0.1 * len(rows.shrink), linear))",
        in_file(
            "guarantee/test_small_leaks", "test_objectives_have_the_planned_convexity_whatever_the_number_of_rows"
        ),
    ),
    Mutant(
        "minimum-forgets-the-relation",
        "exchanged records' gradients lie two contributions apart",
        _OBJECTIVE,
        "sigma = plan.noise * contributions * rows.norm",
        "sigma = plan.noise * rows.norm",
        in_file("methods/test_objective", "test_the_linear_term_has_the_planned_size"),
    ),
    Mutant(
        "minimum-too-coarse",
        "the minimiser is missed by more than its noise hides",
        _OBJECTIVE,
        "linear) <= 0.75 * _GAP * convexity:",
        "linear) <= 750 * _GAP * convexity:",
        in_file("methods/test_objective", "test_the_minimiser_is_missed_by_no_more_than_the_gap"),
    ),
    Mutant(
        "gap-noise-not-charged",
        "the noise that hides the gap is left out of the events",
        _OBJECTIVE,
        "return (*others, Repeated(minimum, times), gap)",
        "return (*others, Repeated(minimum, times))",
        in_file("guarantee/test_small_leaks", "test_every_call_of_a_mechanism_is_an_event_of_the_plan"),
    ),
)
