"""Signals that ask a process to end: each is raised as an interrupt, so that what is half done is tidied up."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

_SOON = 0.01  # seconds

_received: list[int] = []


class Stopped(KeyboardInterrupt):
    """The process was asked to end; ``signum`` says how."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def listen() -> None:
    """Raise `Stopped` for every signal that asks to end, except those that the caller's shell made us ignore.

    Privacy
    -------
    Data-independent.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    sys.unraisablehook = _once_more
    for number, handler in before.items():
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    if hasattr(os, "register_at_fork"):  # a worker is ended by its parent, which tidies up

        def restore() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        os.register_at_fork(after_in_child=restore)


def stop_listening() -> None:
    """Ignore signals that ask to end, because everything is done and said: what is left is to end.

    Privacy
    -------
    Data-independent.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN)


def received() -> int | None:
    """Return the first signal that asked to end, whatever became of the exception that it raised.

    Privacy
    -------
    Data-independent.
    """
    return _received[0] if _received else None


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the code by which shells know a process that ended because of a signal.

    Privacy
    -------
    Data-independent.
    """
    return 128 + getattr(stop, "signum", signal.SIGINT)


@contextmanager
def held() -> Iterator[None]:
    """Let a few short steps happen together: signals that ask to end are heard, and obeyed afterwards.

    Privacy
    -------
    Data-independent.
    """
    if threading.current_thread() is not threading.main_thread():  # the only one that hears signals
        yield
        return
    waiting: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in _SIGNALS:
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda signum, frame: waiting.append(signum))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


def _once_more(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise `Stopped` again soon where it came in the middle of a finaliser, from which nothing can be raised."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "setitimer"):
        signum = unraisable.exc_value.signum
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signum))  # which may be held by then
        signal.setitimer(signal.ITIMER_REAL, _SOON)


def _stop(signum: int, frame: FrameType | None) -> None:
    _received.append(signum)
    raise Stopped(signum)
