"""The parts of the suite: each has a TITLE, measure(), checks() and page()."""
