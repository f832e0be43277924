"""Faults in the audit itself: one that refutes nothing, or what is right."""

from .killers import in_file
from .mutant import Mutant

_JUDGE, _BOUNDS, _RUNS = (f"audit/{name}.py" for name in ("judge", "bounds", "runs"))
_SHOWN = in_file("audit/test_judge", "test_what_is_claimed_is_not_refuted_and_most_of_it_is_shown")

MUTANTS = (
    Mutant(
        "audit-judges-its-pilots",
        "events are chosen from the runs that are judged, so that chance is taken for a leak",
        _RUNS,
        "return judged(case, rule, without[pilots:], having[pilots:])",
        "return judged(case, rule, without[:pilots], having[:pilots])",
        _SHOWN,
    ),
    Mutant(
        "audit-without-clopper-pearson",
        "rates are taken for probabilities",
        _JUDGE,
        "    found = chances(hits, alarms, runs, _ERROR)\n    stated,",
        "    found = Chances(hits / runs, (alarms + 0.5) / runs)\n    stated,",
        in_file("audit/test_judge", "test_right_claims_are_seldom_refuted"),
    ),
    Mutant(
        "audit-forgets-delta",
        "a claim is refuted by what its δ allows",
        _BOUNDS,
        "np.log(np.maximum(more - delta, 0.0) / less)",
        "np.log(more / less)",
        in_file("audit/test_bounds", "test_delta_is_taken_off_and_nothing_is_shown_below_it"),
    ),
    Mutant(
        "audit-looks-at-one-delta",
        "half the noise passes, because few runs see little at a small δ",
        "audit/case.py",
        "deltas = _DELTAS if self.events else ()",
        "deltas: tuple[float, ...] = ()",
        in_file("audit/test_twins", "test_a_broken_twin_is_caught[sharper-choices-composed-selections]"),
    ),
    Mutant(
        "audit-reuses-one-seed",
        "all runs are the same run",
        _RUNS,
        "zlib.crc32(name.encode()), side]).integers(2**62, size=runs)",
        "zlib.crc32(name.encode()), side]).integers(1, size=runs)",
        _SHOWN,
    ),
)
