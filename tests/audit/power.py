"""How often each broken twin is caught, and the library as it is refuted, by seeds of its own.

Run: python -m tests.audit.power 10 3000      so many audits of each, by seeds from there on

Rows go to experiments/results/audit-power.jsonl. What is there is not run again; rows that no twin lists are dropped.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

from .twins import TWINS, outcome_of

RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "audit-power.jsonl"


def measured(fault, name, runs, seeds):
    """How many audits refute the twin, and the library."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        caught, refuted = (
            sum(not outcome_of(name, runs, seed, Path(folder), broken).passed for seed in seeds)
            for broken in (fault, None)
        )
    return {"times": len(seeds), "first_seed": seeds[0], "caught": caught, "refuted": refuted}


def main(times, first):
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    known = {(row["twin"], row["case"], row["runs"]): row for row in map(json.loads, lines)}
    listed = [(twin, name, runs) for twin in TWINS for name, runs in twin.caught_in.items()]
    for twin, name, runs in listed:
        key = (twin.name, name, runs)
        if key not in known:
            found = measured(twin.break_library, name, runs, range(first, first + times))
            known[key] = dict(zip(("twin", "case", "runs"), key, strict=True)) | found
            print(json.dumps(known[key]), flush=True)
        rows = [known[twin.name, name, runs] for twin, name, runs in listed if (twin.name, name, runs) in known]
        RESULTS.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:3]))
