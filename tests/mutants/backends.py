"""Faults in how rows in several places are kept, summed and made again."""

from .killers import in_file
from .mutant import Mutant

_KEEPER, _CLUSTER, _ENGINE, _SCATTERED = (
    "backends/keeper.py",
    "backends/cluster.py",
    "optim/engine.py",
    "estimators/_scattered.py",
)
_KEPT = "backends/test_keeper"
_TAKES_OVER = in_file(_KEPT, "test_whoever_takes_over_keeps_the_same")
_FITS = "tests/backends/test_fits.py::"

MUTANTS = (
    Mutant(
        "changes-lost-with-a-worker",
        "whoever takes over has rows as they were at the start, and the fit goes on with both",
        _KEEPER,
        "left = [command for command in commands if not isinstance(command, Drop) and",
        "left = [command for command in commands if isinstance(command, Make) and",
        _TAKES_OVER,
    ),
    Mutant(
        "what-was-dropped-is-made-again",
        "workers that take over run out of memory",
        _KEEPER,
        "return left + [Drop(number) for number in sorted(dropped & needed)]",
        "return left",
        _TAKES_OVER,
    ),
    Mutant(
        "commands-followed-twice",
        "after a failed step workers that were not lost move twice as far",
        _KEEPER,
        "for command in commands[self._heard - start :]:",
        "for command in commands:",
        in_file(_KEPT, "test_commands_that_come_twice_are_followed_once"),
    ),
    Mutant(
        "a-newcomer-that-says-nothing",
        "a worker that missed commands adds sums of another moment",
        _KEEPER,
        "if self._heard < start:",
        "if False:",
        in_file(_KEPT, "test_a_keeper_that_missed_commands_says_so"),
    ),
    Mutant(
        "others-left-out",
        "rows of workers behind others are not counted",
        _KEEPER,
        "return np.asarray(sum(sums) + sum(answer.result() for answer in answers), dtype=np.int64)",
        "return np.asarray(sum(sums), dtype=np.int64)",
        in_file(_KEPT, "test_sums_are_over_all_parts_and_all_others"),
    ),
    Mutant(
        "features-in-the-order-of-each-place",
        "sums of different features are added up",
        _ENGINE,
        "slopes[:, engine.features[held]] = engine.gradient[:, held]",
        "slopes[:] = engine.gradient[:, held]",
        (f"{_FITS}test_two_workers_give_the_model_of_one_machine[lasso-3]",),
    ),
    Mutant(
        "errors-raised-on-workers",
        "Dask logs the task that failed, and its rows with it",
        _SCATTERED,
        "        return Refused(error)\n",
        "        raise\n",
        (f"{_FITS}test_errors_of_rows_are_returned_and_not_raised_on_workers",),
    ),
    Mutant(
        "only-the-first-place-is-summed",
        "a model of some of the rows, with noise for all of them",
        _CLUSTER,
        "sum([answer.result() for answer in answers])",
        "answers[0].result()",
        (f"{_FITS}test_two_workers_give_the_model_of_one_machine[select-refit-3]",),
    ),
    Mutant(
        "parts-forgotten-with-whoever-was-to-keep-them",
        "the rows of a worker that was lost are missing from all later sums, and nobody is told",
        _CLUSTER,
        "self._posts += lost ",
        "pass ",
        in_file(_KEPT, "test_rows_of_a_lost_worker_are_in_all_sums_though_the_next_one_is_lost_too"),
    ),
)
