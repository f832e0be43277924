"""How often each broken twin is caught, and the library as it is refuted, as JSON lines.

Run: python -m tests.audit.power 20 > experiments/results/audit-power.jsonl
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

from .twins import TWINS, outcome_of


def measured(times):
    """Yield, for each twin and case, how many of so many audits refute the twin, and the library."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for twin in TWINS:
            for name, runs in twin.caught_in.items():
                caught, refuted = (
                    sum(not outcome_of(name, runs, seed, Path(folder), fault).passed for seed in range(times))
                    for fault in (twin.break_library, None)
                )
                yield {
                    "twin": twin.name,
                    "case": name,
                    "runs": runs,
                    "times": times,
                    "caught": caught,
                    "refuted": refuted,
                }


if __name__ == "__main__":
    for row in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        print(json.dumps(row), flush=True)
