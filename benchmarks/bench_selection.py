"""Selection by one draw of OS randomness against Gumbel noise on every candidate, in rounds of one process.

A round repeats one of the two, as a solver does, so that neither pays for what the other left in the cache.

Run: .venv/bin/python benchmarks/bench_selection.py
"""

import time

import numpy as np

from hardzero.privacy.mechanisms import Sensitive, select_signed
from hardzero.privacy.randomness import SystemSource

ETA = 0.0156  # ε = 1, δ = 1e-5, T = 1000
SENSITIVITY = 2**36


def gumbel_argmax(values, rng):
    both = np.concatenate([values, -values]) * (ETA / 2 / SENSITIVITY)
    return int(np.argmax(both + rng.gumbel(size=len(both))))


def timed(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main(rounds=9, repeats=10):
    rng = np.random.default_rng(0)
    source = SystemSource()
    print("candidates   hardzero ms   numpy Gumbel ms   ratio of medians")
    for features in (10_000, 100_000, 1_000_000):
        values = (rng.normal(size=features) * 1e3 * SENSITIVITY).astype(np.int64)
        ours, theirs = [], []
        for _ in range(rounds):
            ours += [
                timed(lambda v=values: select_signed(Sensitive(v), SENSITIVITY, ETA, source)) for _ in range(repeats)
            ]
            theirs += [timed(lambda v=values: gumbel_argmax(v, rng)) for _ in range(repeats)]
        a, b = np.median(ours), np.median(theirs)
        print(f"{2 * features:10,d}   {a * 1e3:11.3f}   {b * 1e3:15.3f}   {b / a:.1f}")


if __name__ == "__main__":
    main()
