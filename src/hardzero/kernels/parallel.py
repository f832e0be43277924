"""Threads for loops that let go of the interpreter's lock: how many there may be, and what each of them does.

Work is shared by stretches: of rows, whose results stand by themselves, or of what is summed up in whole numbers. So
results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

_WORTH_A_THREAD = 2_000_000
"""Products; a few tenths of a millisecond."""

_BLOCK = 1024
"""Threads share rows by whole blocks of so many."""

_MOST_THREADS = 256

_asked: ContextVar[int | None] = ContextVar("threads", default=None)


def threads() -> int:
    """Return how many threads may be used."""
    asked = _asked.get()
    if asked is not None:
        return asked
    for name in ("HARDZERO_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return max(int(os.environ[name]), 1)
    return os.cpu_count() or 1


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Use at most ``count`` threads for what the block does; None leaves that to the environment."""
    if count is not None and count < 1:
        raise ValueError(f"count must be a positive number of threads or None, got {count}")
    if count is None:
        yield
        return
    before = _asked.set(count)
    try:
        yield
    finally:
        _asked.reset(before)


def parts_for(work: int, most: int) -> int:
    """Return in how many parts to share work, in products, that can be cut into ``most``; at least one."""
    most = min(work // _WORTH_A_THREAD, most)
    return min(threads(), most) if most > 1 else 1


def on_threads(ends: Sequence[int], job: Callable[[int, int], Result]) -> list[Result]:
    """Do a job for every stretch between two ends, each on a thread, the first of them here."""
    first, *others = pairwise(ends)
    if not others:
        return [job(*first)]

    def alone(stretch: tuple[int, int]) -> Result:
        with using_threads(1):
            return job(*stretch)

    waiting = [_pool().submit(alone, stretch) for stretch in others]
    return [alone(first), *(future.result() for future in waiting)]


def by_parts(count: int, work: int, job: Callable[[int, int], Result]) -> list[Result]:
    """Do a job for stretches of things of about the same size, on several threads where the work is worth it."""
    parts = parts_for(work, count)
    return on_threads([count * i // parts for i in range(parts + 1)], job)


def by_rows(n_rows: int, work: int, job: Callable[[int, int], Result]) -> list[Result]:
    """Do a job for stretches of whole blocks of rows, on several threads where the work is worth it."""
    blocks = -(-n_rows // _BLOCK)
    parts = parts_for(work, blocks)
    return on_threads([min(blocks * i // parts * _BLOCK, n_rows) for i in range(parts + 1)], job)


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads, which are started when first needed and kept: a fit shares work thousands of times."""
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="hardzero")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
