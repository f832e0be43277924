"""Processes that spend one budget at the same time, and processes that are killed while they do.

Run as ``python -m tests.ledger.spenders crowd|founders|killed ADDRESS FILE``: what is slow is imported once, and each
spender is a fork. A spender writes the number of its reservation to FILE where a fit would release something.
"""

import os
import random
import signal
import sys
import time
import traceback
from functools import partial

from hardzero.ledger import store
from hardzero.ledger.ledger import Ledger
from hardzero.privacy.budget import Budget, BudgetExceededError, Neighbours
from hardzero.privacy.events import GaussianRelease

PROCESSES, ATTEMPTS, ALLOWED, KILLS = 8, 200, 100, 200
NOISE = 30.0
EVENTS = (GaussianRelease("a sum", NOISE),)
PROMISE = Budget(0.15, 1e-6)
CAP = Budget(0.5, 1e-6)


def spend(ledger, releases):
    """Reserve, release, commit."""
    reservation = ledger.reserve(EVENTS, PROMISE, Neighbours.ZERO_OUT, what="a test")
    os.write(releases, f"{reservation.receipt.number}\n".encode())
    reservation.commit()


def warmed_up(address):
    """Have everything imported that is imported late; connections are not for forks."""
    Ledger(address, "people").entries()
    for engine in store._ENGINES.values():
        engine.dispose()
    store._ENGINES.clear()


def forked(work):
    """Start a process that does the work and ends."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()  # or the test could not say what went wrong
        finally:
            os._exit(code)
    return process


def crowd(ledger, releases):
    """Eight processes attempt two hundred times each."""

    def attempt():
        for _ in range(ATTEMPTS):
            try:
                spend(ledger, releases)
            except BudgetExceededError:
                continue

    processes = [forked(attempt) for _ in range(PROCESSES)]
    codes = [os.waitpid(process, 0)[1] for process in processes]
    sys.exit(1 if any(codes) else 0)


def killed(ledger, releases):
    """Two processes at a time spend without end, and are killed at random points, however slow the machine is."""
    chance = random.Random(0)

    def spend_for_ever(begun):
        ledger.entries()  # connects
        os.write(begun, b".")
        while True:
            spend(ledger, releases)

    start = time.perf_counter()
    os.waitpid(forked(lambda: [spend(ledger, releases) for _ in range(10)]), 0)
    pace = (time.perf_counter() - start) / 10
    for _ in range(KILLS // 2):
        ready, begun = os.pipe()
        pair = [forked(partial(spend_for_ever, begun)) for _ in range(2)]
        os.read(ready, 1)
        for process in pair:
            time.sleep(chance.uniform(0.0, 3 * pace))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        os.close(ready)
        os.close(begun)


if __name__ == "__main__":
    scenario, address, file = sys.argv[1:]
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if scenario != "founders":
        warmed_up(address)
    ledger = Ledger(address, "people", cap=CAP if scenario == "founders" else None)
    {"crowd": crowd, "founders": crowd, "killed": killed}[scenario](ledger, descriptor)
