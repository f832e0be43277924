"""All mutants, those that need a compiler first: they take longest."""

from . import accounts, baselines, evaluation, inference, loops, mechanisms, reading, select_refit, tables, variables

MUTANTS = tuple(
    sorted(
        (
            *mechanisms.MUTANTS,
            *accounts.MUTANTS,
            *loops.MUTANTS,
            *select_refit.MUTANTS,
            *inference.MUTANTS,
            *variables.MUTANTS,
            *tables.MUTANTS,
            *baselines.MUTANTS,
            *reading.MUTANTS,
            *evaluation.MUTANTS,
        ),
        key=lambda mutant: not mutant.compiled,
    )
)
