"""Faults in readers, cells, the model file and the command line."""

from .mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
