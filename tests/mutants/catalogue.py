"""All mutants, those that need a compiler first: they take longest."""

from . import accounts, baselines, flagship, loops, mechanisms, reading, tables

MUTANTS = tuple(
    sorted(
        (
            *mechanisms.MUTANTS,
            *accounts.MUTANTS,
            *loops.MUTANTS,
            *flagship.MUTANTS,
            *tables.MUTANTS,
            *baselines.MUTANTS,
            *reading.MUTANTS,
        ),
        key=lambda mutant: not mutant.compiled,
    )
)
