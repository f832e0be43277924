"""What workers keep follows from commands alone, also where some of them are left out or repeated."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.backends import cluster
from hardzero.backends import keeper as keeping
from hardzero.backends.cluster import Crew, _dealt, tree
from hardzero.backends.keeper import ROWS, BehindError, Change, Drop, Keeper, Make, Sum, still_needed


@pytest.fixture(autouse=True)
def on_a_worker(monkeypatch):
    worker = SimpleNamespace(address="here", state=SimpleNamespace(nthreads=1))
    monkeypatch.setattr(keeping, "require", lambda *_: SimpleNamespace(get_worker=lambda: worker))


def noted(kept, what):
    """Something made from rows: what was made from what, and how it was changed since."""
    return [(tuple(kept) if isinstance(kept, list) else kept, what)]


def changed(kept, what):
    kept.append(what)


def size(kept):
    return np.array([len(repr(kept))])


def kept_after(commands, parts=("few", "many")):
    one = Keeper(*([part] for part in parts))
    one._follow(0, commands)
    return one


@st.composite
def stories(draw):
    """Commands in an order that makes sense: nobody uses what was dropped or is not there yet."""
    commands, there, last = [], [ROWS], ROWS
    for step in range(draw(st.integers(0, 14))):
        what = draw(st.sampled_from(["make", "make", "change", "drop"]))
        number = draw(st.sampled_from(there)) if there else None
        if number is None:
            break
        if what == "make":
            last += 1
            commands.append(Make(last, number, noted, (step,)))
            there.append(last)
        elif what == "change":
            commands.append(Change(number, changed, (step,)))
        elif number != ROWS:
            commands.append(Drop(number))
            there.remove(number)
    return commands


@given(stories())
def test_whoever_takes_over_keeps_the_same(commands):
    needed = still_needed(commands)
    other = Keeper(["few"], ["many"])
    other.catch_up(needed, len(commands))
    assert other._kept == kept_after(commands)._kept
    assert other.heard() == len(commands)
    assert len(needed) <= len(commands)


def test_what_nobody_needs_any_more_is_not_made_again():
    commands = [Make(1, ROWS, noted, (1,)), Drop(1), Make(2, ROWS, noted, (2,)), Make(3, 2, noted, (3,)), Drop(2)]
    assert still_needed(commands) == [*commands[2:4], Drop(2)]


@given(stories(), st.data())
def test_commands_that_come_twice_are_followed_once(commands, data):
    """After a failed step the same commands are sent again, to workers that have followed them and to others."""
    cut = data.draw(st.integers(0, len(commands)))
    start = data.draw(st.integers(0, cut))
    one = kept_after(commands[:cut])
    one._follow(start, commands[start:])
    assert one._kept == kept_after(commands)._kept


def test_a_keeper_that_missed_commands_says_so():
    with pytest.raises(BehindError):
        Keeper([1]).total(1, [Change(ROWS, changed, (2,))], Sum(ROWS, size, ()), [])


def test_sums_are_over_all_parts_and_all_others():
    answer = SimpleNamespace(result=lambda: np.array([1000]))
    asked = []
    other = SimpleNamespace(total=lambda *given: asked.append(given) or answer)
    question = Sum(ROWS, size, ())
    total = Keeper([1], [10], None).total(0, [], question, [(other, ["behind"])])
    assert total.tolist() == [1000 + len("[1]") + len("[10]")]
    assert asked == [(0, [], question, ["behind"])]
    assert Keeper(None).total(0, [], question, []) == 0  # no rows at all


@given(st.integers(1, 60), st.integers(2, 9))
def test_a_tree_asks_everyone_once_and_nobody_hears_from_too_many(count, fan_in):
    def everyone(branches):
        assert len(branches) <= fan_in
        for keeper, behind in branches:
            yield keeper
            yield from everyone(behind)

    assert sorted(everyone(tree(list(range(count)), fan_in))) == list(range(count))


@given(st.integers(1, 40), st.integers(1, 12))
def test_parts_are_dealt_evenly_and_in_order(parts, workers):
    dealt = _dealt(range(parts), [f"worker {i:02}" for i in range(workers)])
    assert [part for numbers in dealt.values() for part in numbers] == list(range(parts))
    sizes = [len(numbers) for numbers in dealt.values()]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


class Cluster:
    """A client of workers that are called by name; those in ``dead`` answer nothing, ``full`` dies of more rows."""

    status = "running"

    def __init__(self, *workers):
        self.workers, self.dead, self.full = list(workers), set(), None

    def scheduler_info(self):
        return {"workers": {worker: {} for worker in self.workers if worker not in self.dead}}

    def compute(self, parts, **_):
        return [Answer(lambda part=part: part) for part in parts]

    def submit(self, function, *futures, actor=False, workers=("",), **_):
        values = [future.result() for future in futures]
        if not actor:
            return Answer(lambda: function(*values))
        return Answer(lambda: Actor(self, workers[0], Keeper(*values)))


class Answer:
    def __init__(self, give):
        self._give = give

    def result(self, timeout=None):
        return self._give()

    def release(self):
        """Nothing is kept."""


class Actor:
    """A keeper on a worker that may die, which shows when it is asked something."""

    def __init__(self, cluster, worker, keeper):
        self._cluster, self._worker, self._keeper = cluster, worker, keeper

    def place(self):
        if self._worker == self._cluster.full:
            self._cluster.dead.add(self._worker)
        return self._asked(lambda: self._worker)

    def __getattr__(self, name):
        return lambda *arguments: self._asked(lambda: getattr(self._keeper, name)(*arguments))

    def _asked(self, give):
        if self._worker in self._cluster.dead:

            def lost():
                raise OSError("the worker is gone")

            return Answer(lost)
        value = give()
        return Answer(lambda: value)


def test_rows_of_a_lost_worker_are_in_all_sums_though_the_next_one_is_lost_too(monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.0)
    client = Cluster("a", "b", "c")
    crew = Crew(client, ["x", "xx", "xxx"])
    question = Sum(ROWS, size, ())
    expected = crew.total(question)
    client.dead.add("a")
    client.full = "b"
    assert crew.total(question) == expected
    assert client.dead == {"a", "b"}
