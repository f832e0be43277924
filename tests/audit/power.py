"""How often each broken twin is caught, and the library as it is refuted: `python -m tests.audit.power 20`."""

import sys
import tempfile
import warnings
from pathlib import Path

from .twins import TWINS, outcome_of


def measured(seeds: int):
    """Yield, for each twin and case, how often the twin is refuted, and how often the library is."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for twin in TWINS:
            for name, runs in twin.caught_in.items():
                found = [
                    [not outcome_of(name, runs, seed, Path(folder), fault).passed for seed in range(seeds)]
                    for fault in (twin.break_library, None)
                ]
                yield twin.name, name, runs, sum(found[0]), sum(found[1])


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for twin, case, runs, caught, refuted in measured(times):
        print(
            f"{twin:36} {case:44} {runs:6} runs: caught {caught}/{times}, the library {refuted}/{times}", flush=True
        )
