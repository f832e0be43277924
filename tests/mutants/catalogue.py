"""All mutants, those that need a compiler first: they take longest."""

from . import (
    accounts,
    audit,
    backends,
    baselines,
    bounds,
    evaluation,
    inference,
    ledger,
    loops,
    mechanisms,
    persons,
    reading,
    select_refit,
    tables,
    tuning,
    variables,
)

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
            *backends.MUTANTS,
            *baselines.MUTANTS,
            *reading.MUTANTS,
            *ledger.MUTANTS,
            *evaluation.MUTANTS,
            *bounds.MUTANTS,
            *tuning.MUTANTS,
            *persons.MUTANTS,
            *audit.MUTANTS,
        ),
        key=lambda mutant: not mutant.compiled,
    )
)
