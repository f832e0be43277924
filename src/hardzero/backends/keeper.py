"""What a worker does: it keeps rows, and what was made from them, between the steps of a fit.

A worker is told what to keep by commands, in an order that is the same for all. Nothing else decides what it keeps:
another worker with the same rows and the same commands takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels

IntArray = NDArray[np.int64]

ROWS = 0
"""The number under which a worker keeps its rows."""


class Make(NamedTuple):
    """Keep ``function(kept, *arguments)`` under a new number, made from what is kept under ``source``."""

    number: int
    source: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Change(NamedTuple):
    """Let ``function(kept, *arguments)`` change what is kept under a number."""

    number: int
    function: Callable[..., None]
    arguments: tuple[Any, ...]


class Drop(NamedTuple):
    """Keep what is under a number no longer."""

    number: int


Command = Make | Change | Drop


class Sum(NamedTuple):
    """Sum ``function(kept, *arguments)``, whole numbers, over what is kept under a number."""

    number: int
    function: Callable[..., IntArray]
    arguments: tuple[Any, ...]


class BehindError(Exception):
    """A worker does not know of earlier commands: it has taken the place of another one."""


class Keeper:
    """Keeps parts of a table on a worker; an actor of Dask.

    Parameters
    ----------
    threads : int
        How many threads a sum may use.
    *parts
        Rows, such as a `Problem` each; None stands for no rows.

    Privacy
    -------
    Sensitive. What it returns are sums over all rows that it keeps; it draws no random number and logs nothing.
    """

    def __init__(self, threads: int, *parts: Any) -> None:
        self._threads = threads
        self._kept: dict[int, list[Any]] = {ROWS: [part for part in parts if part is not None]}
        self._heard = 0

    def heard(self) -> int:
        """Return how many commands have been followed."""
        return self._heard

    def total(self, start: int, commands: Sequence[Command], asked: Sum, others: Sequence[Any]) -> IntArray:
        """Follow the commands that are new, and return the sum over the own rows and those of ``others``.

        ``start`` is the number of commands that went before these; ``others`` holds pairs of a keeper, which answers
        at the same time, and of its own others.
        """
        answers = [keeper.total(start, commands, asked, behind) for keeper, behind in others]
        with kernels.using_threads(self._threads):
            self._follow(start, commands)
            sums = [asked.function(kept, *asked.arguments) for kept in self._kept[asked.number]]
        return np.asarray(sum(sums) + sum(answer.result() for answer in answers), dtype=np.int64)

    def catch_up(self, commands: Sequence[Command], heard: int) -> None:
        """Follow what is left of the first ``heard`` commands: those whose results are still there."""
        with kernels.using_threads(self._threads):
            self._follow(0, commands)
        self._heard = heard

    def _follow(self, start: int, commands: Sequence[Command]) -> None:
        if self._heard < start:
            raise BehindError
        for command in commands[self._heard - start :]:
            match command:
                case Make(number, source, function, arguments):
                    self._kept[number] = [function(kept, *arguments) for kept in self._kept[source]]
                case Change(number, function, arguments):
                    for kept in self._kept[number]:
                        function(kept, *arguments)
                case Drop(number):
                    del self._kept[number]
            self._heard += 1


def still_needed(commands: Sequence[Command]) -> list[Command]:
    """Leave out commands about what was dropped since, unless something that is still kept was made from it.

    What such a thing was made from is dropped again at the end.
    """
    dropped = {command.number for command in commands if isinstance(command, Drop)}
    needed: set[int] = set()
    for command in reversed(commands):
        if isinstance(command, Make) and (command.number not in dropped or command.number in needed):
            needed |= {command.number, command.source}
    left = [command for command in commands if not isinstance(command, Drop) and command.number in {ROWS, *needed}]
    return left + [Drop(number) for number in sorted(dropped & needed)]
