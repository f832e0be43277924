"""Rows on the workers of a Dask cluster, and sums over them.

Each worker keeps its rows between the steps of a fit. A step is one message to each worker, with released values, and
one vector of whole numbers back. A worker that is lost is replaced: its rows are read again, the commands so far are
followed again, and the same sums come out (docs/scaling.md).
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..checks import require
from .keeper import ROWS, BehindError, Change, Command, Drop, IntArray, Keeper, Make, Sum, still_needed

FAN_IN = 8
"""Workers whose sums one place adds up; where there are more of them, some add up those of others."""

_PATIENCE = 10.0
"""Seconds to wait for a lost worker to come back before the others take its rows."""

_MOST_LOSSES = 3
"""So many times the rows of a worker are given to another one."""

_UNREACHABLE = 30.0
"""Seconds after which a worker that does not answer at all counts as lost."""


class ClusterError(RuntimeError):
    """The cluster could not carry a fit to its end; there is no model."""


class Refused:
    """An error in place of rows: were it raised in a task, Dask would log the task with its rows."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Post(NamedTuple):
    """A keeper, the future that holds it, where it is, and the parts that it keeps."""

    keeper: Any
    future: Any
    worker: str
    parts: list[int]


class ClusterRows:
    """What the workers keep under one number; see `hardzero.optim.problem.Rows`.

    Privacy
    -------
    Sensitive. Sums come back as whole numbers; every release of them is made here, not by a worker.
    """

    def __init__(self, crew: Crew, number: int) -> None:
        self._crew, self._number = crew, number
        weakref.finalize(self, crew.tell, Drop(number)).atexit = False

    def __repr__(self) -> str:
        return f"ClusterRows({self._crew!r})"

    def total(self, function: Callable[..., IntArray], *arguments: Any) -> IntArray:
        """Sum ``function(kept, *arguments)`` over all workers."""
        return self._crew.total(Sum(self._number, function, arguments))

    def then(self, function: Callable[..., Any], *arguments: Any) -> ClusterRows:
        """Keep ``function(kept, *arguments)`` on every worker, from the next sum on."""
        number = self._crew.next_number()
        self._crew.tell(Make(number, self._number, function, arguments))
        return ClusterRows(self._crew, number)

    def change(self, function: Callable[..., None], *arguments: Any) -> None:
        """Let ``function(kept, *arguments)`` change what is kept on every worker, before the next sum."""
        self._crew.tell(Change(self._number, function, arguments))


class Crew:
    """The workers that keep the rows of one fit.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    parts : sequence of Delayed
        Each gives the rows of one part, or a `Refused`.
    """

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self._client, self._parts = client, parts
        self._commands: list[Command] = []
        self._told = 0
        self._numbers = ROWS
        self._losses = 0
        self._posts: list[_Post] = []
        self._staff(_dealt(range(len(parts)), self._waited_for(1)))

    def __repr__(self) -> str:
        return f"Crew({len(self._posts)} workers, {len(self._parts)} parts)"

    def next_number(self) -> int:
        """Return a number under which nothing is kept yet."""
        self._numbers += 1
        return self._numbers

    def tell(self, command: Command) -> None:
        """Let every worker follow a command before the next sum."""
        self._commands.append(command)

    def total(self, asked: Sum) -> IntArray:
        """Sum over all workers, replacing those that are lost, also while others are replaced."""
        told, failure = len(self._commands), None
        while True:
            try:
                if failure is not None:
                    self._replace_lost(failure)
                answer = self._ask(asked, self._commands[self._told : told])
            except ClusterError:
                raise
            except (OSError, RuntimeError, BehindError) as error:
                if error is failure:
                    raise
                failure = error
            else:
                self._told = told
                return answer

    def close(self) -> None:
        """Let the workers forget everything."""
        for post in self._posts:
            post.future.release()
        self._posts = []

    def _ask(self, asked: Sum, commands: Sequence[Command]) -> IntArray:
        answers = [
            keeper.total(self._told, commands, asked, behind)
            for keeper, behind in tree([post.keeper for post in self._posts], FAN_IN)
        ]
        return np.asarray(sum([answer.result() for answer in answers]), dtype=np.int64)

    def _staff(self, dealt: dict[str, list[int]]) -> None:
        """Read parts on the workers that are to keep them, and let each keep its own."""
        # Others may stand in for a worker that is lost meanwhile; without that Dask would wait for it for ever.
        where = {worker: {"workers": [worker], "allow_other_workers": True} for worker in dealt}
        read = {
            worker: self._client.compute([self._parts[number] for number in numbers], **where[worker])
            for worker, numbers in dealt.items()
        }
        self._raise_refusals([future for futures in read.values() for future in futures])
        futures = {
            worker: self._client.submit(Keeper, *parts, actor=True, pure=False, **where[worker])
            for worker, parts in read.items()
        }
        keepers = {worker: self._result(future) for worker, future in futures.items()}
        self._posts += [
            _Post(keeper, futures[worker], keeper.place().result(), dealt[worker])
            for worker, keeper in keepers.items()
        ]

    def _raise_refusals(self, read: Sequence[Any]) -> None:
        for answer in [self._client.submit(_refusal, future, pure=False) for future in read]:
            if (error := self._result(answer)) is not None:
                raise error

    def _result(self, future: Any) -> Any:
        """Return what a task gives, with advice where its worker was killed."""
        try:
            return future.result()
        except require("distributed", "dask").KilledWorker:
            raise ClusterError(
                "workers were lost while they read their rows, most likely for want of memory; use smaller parts "
                "(repartition, or more and smaller files), more workers, or workers with more memory"
            ) from None

    def _replace_lost(self, error: Exception) -> None:
        """Give the rows of lost workers to others, and let those catch up; the error is raised if none is lost."""
        self._refuse_without_scheduler()
        lost = [post for post in self._posts if not _is_there(post, self._told)]
        if not lost:
            raise error
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise ClusterError(
                f"workers were lost {self._losses} times during one fit, most likely for want of memory; use more "
                "workers, or workers with more memory"
            )
        self._posts = [post for post in self._posts if post not in lost]
        for post in lost:
            post.future.release()
        free = self._waited_for(len(self._posts) + len(lost))[: len(lost)]
        before = len(self._posts)
        try:
            self._staff(_dealt(sorted(number for post in lost for number in post.parts), free))
        except BaseException:
            self._posts += lost  # whose rows nobody keeps yet: else they would be missing from all sums to come
            raise
        commands = still_needed(self._commands[: self._told])
        for answer in [post.keeper.catch_up(commands, self._told) for post in self._posts[before:]]:
            answer.result()

    def _waited_for(self, count: int) -> list[str]:
        """Return workers, those that keep the fewest parts first, when there are so many, or after some patience."""
        deadline = time.monotonic() + _PATIENCE
        while len(workers := self._workers()) < count and time.monotonic() < deadline:
            time.sleep(0.1)
        if not workers:
            raise ClusterError("the Dask cluster has no worker; start some and fit again")
        load = {worker: sum(len(post.parts) for post in self._posts if post.worker == worker) for worker in workers}
        return sorted(workers, key=lambda worker: (load[worker], worker))

    def _workers(self) -> dict[str, Any]:
        self._refuse_without_scheduler()
        return dict(self._client.scheduler_info().get("workers", {}))

    def _refuse_without_scheduler(self) -> None:
        if self._client.status != "running":
            raise ClusterError(
                "the Dask scheduler cannot be reached any more; there is no model. Start a cluster and fit again, "
                "which is a new fit with a cost of its own"
            )


def tree(keepers: Sequence[Any], fan_in: int) -> list[tuple[Any, Any]]:
    """Return keepers to ask, each with those that it asks itself: no one hears from more than ``fan_in`` others."""
    if len(keepers) <= fan_in:
        return [(keeper, []) for keeper in keepers]
    ends = [len(keepers) * i // fan_in for i in range(fan_in + 1)]
    groups = [keepers[first:last] for first, last in pairwise(ends)]
    return [(group[0], tree(group[1:], fan_in)) for group in groups]


@contextmanager
def scattered(parts: Sequence[Any], client: Any = None) -> Iterator[ClusterRows]:
    """Keep rows on the workers of a Dask cluster meanwhile.

    Parameters
    ----------
    parts : sequence of Delayed
        Each gives the rows of one part, or a `Refused`, whose error is then raised.
    client : distributed.Client, optional
        The cluster; that of the client which this process uses, if not given.

    Yields
    ------
    ClusterRows
        All rows.

    Privacy
    -------
    Sensitive.
    """
    client = present_client() if client is None else client
    with client.as_current():  # actors look for their client there
        crew = Crew(client, parts)
        try:
            yield ClusterRows(crew, ROWS)
        finally:
            crew.close()


def present_client() -> Any:
    """Return the Dask client that this process uses.

    Privacy
    -------
    Data-independent.
    """
    distributed = require("distributed", "dask")
    try:
        return distributed.default_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask cluster to fit on; connect to one first: from dask.distributed import Client; "
            "client = Client('tcp://…'), or Client() for one on this machine"
        ) from None


def _refusal(part: Any) -> Exception | None:
    return part.error if isinstance(part, Refused) else None


def _is_there(post: _Post, told: int) -> bool:
    """Whether a worker still has its keeper, which may be at work and answer after that."""
    try:
        return bool(post.keeper.heard().result(timeout=_UNREACHABLE) >= told)
    except Exception:  # whatever went wrong: another worker takes over
        return False


def _dealt(parts: Sequence[int], workers: Sequence[str]) -> dict[str, list[int]]:
    """Deal parts to workers in stretches of about equal length; no worker gets none."""
    count = min(len(parts), len(workers))
    ends = [len(parts) * i // count for i in range(count + 1)]
    return {workers[i]: list(parts[ends[i] : ends[i + 1]]) for i in range(count)}
