"""Privacy bugs that someone could write, each of which a test must notice: ``make mutants``."""
