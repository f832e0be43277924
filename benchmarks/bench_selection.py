"""Selection by one draw of OS randomness against Gumbel noise on every candidate, in one process, measured two ways.

Rounds: ten calls of one, then ten of the other, as a solver repeats its selection. Interleaved: one of each in
turn, so that each starts from the cache that the other left behind; the harder test for the lighter of the two.

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


def ratio(ours, theirs, calls, rounds):
    """Medians in seconds over ``rounds`` turns of ``calls`` calls each."""
    a, b = [], []
    for _ in range(rounds):
        a += [timed(ours) for _ in range(calls)]
        b += [timed(theirs) for _ in range(calls)]
    return np.median(a), np.median(b)


def main():
    rng = np.random.default_rng(0)
    source = SystemSource()
    print("candidates   order         hardzero ms   numpy Gumbel ms   ratio of medians")
    for features in (10_000, 100_000, 1_000_000):
        values = (rng.normal(size=features) * 1e3 * SENSITIVITY).astype(np.int64)
        for order, calls, rounds in (("rounds", 10, 9), ("interleaved", 1, 90)):
            a, b = ratio(
                lambda v=values: select_signed(Sensitive(v), SENSITIVITY, ETA, source),
                lambda v=values: gumbel_argmax(v, rng),
                calls,
                rounds,
            )
            print(f"{2 * features:10,d}   {order:11s}   {a * 1e3:11.3f}   {b * 1e3:15.3f}   {b / a:.1f}")


if __name__ == "__main__":
    main()
