"""Trials that take a moment each, for tests of the runner: python -m tests.reproduce.toy_trials FILE JOBS"""

import os
import sys
import time
from pathlib import Path

from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

TRIALS = [
    Trial(data, "toy", 1.0, "zero-out", seed, (("n_iter", 3),)) for seed in range(8) for data in ("b", "a", "c")
]


def work(trial):
    time.sleep(float(os.environ.get("TOY_SECONDS", "0.04")))
    log = os.environ.get("TOY_LOG")
    if log:
        with Path(log).open("a") as out:
            out.write(f"{os.getpid()} {trial.data}{trial.seed}\n")
    return {"accuracy": trial.seed / 7 + len(trial.data), "nonzeros": trial.seed}


def threads_of_worker(_):
    import numpy  # noqa: F401  # loads the libraries that have threads
    from threadpoolctl import threadpool_info

    return {"threads": max((pool["num_threads"] for pool in threadpool_info()), default=1)}


def failing(trial):
    raise ZeroDivisionError("no luck")


if __name__ == "__main__":
    with Runner(int(sys.argv[2])) as runner:
        runner.run(TRIALS, work, Path(sys.argv[1]))
