"""How far a fit has come, in steps that were fixed before data were read: never a loss, never a value.

Solvers go through ``counted`` ranges; nobody listens unless a caller opened ``listening``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_counts: ContextVar[list[int]] = ContextVar("counts")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener(done, planned)`` after each step of fits inside the block.

    Privacy
    -------
    Data-independent: plans fix the number of steps.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """Tell nobody of the steps inside the block: how many fits there are may be a secret, or counted elsewhere.

    Privacy
    -------
    Data-independent.
    """
    tokens = _listener.set(None), _counts.set([0, 0])
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _counts.reset(tokens[1])


def begin(planned: int) -> None:
    """Say how many steps will follow."""
    _counts.set([0, planned])


def counted(steps: range) -> Iterator[int]:
    """Go through a range of steps, telling the listener after each."""
    for step in steps:
        yield step
        listener, counts = _listener.get(), _counts.get(None)
        if listener is not None and counts is not None:
            counts[0] += 1
            listener(min(counts), counts[1])
