"""Workers and schedulers that are killed in the middle of a fit."""

import os
import signal
import threading

import dask.array as da
import pytest

from hardzero import Budget, Ledger
from hardzero.backends import cluster
from hardzero.backends.cluster import ClusterError

from .conftest import X, cluster_of, estimator_of, same_model, separate_cluster


def parts(values, count=6):
    return da.from_array(values, chunks=(-(-len(values) // count), *values.shape[1:]))


def before_a_sum(monkeypatch, number, act):
    """Call a function just before a sum, counted from 1, is asked for."""
    ask, asked = cluster.Crew._ask, []

    def listening(self, *arguments):
        asked.append(len(asked))
        if len(asked) == number:
            act(self)
        return ask(self, *arguments)

    monkeypatch.setattr(cluster.Crew, "_ask", listening)
    return asked


def process_of(crew, post):
    return crew._client.run(os.getpid, workers=[crew._posts[post].worker])[crew._posts[post].worker]


def charged_to(tmp_path, estimator):
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(10.0, 1e-4))
    return ledger, estimator.set_params(ledger=ledger)


def kinds(ledger):
    assert ledger.verify() == []
    return [entry.values["kind"] for entry in ledger.entries()]


@pytest.mark.parametrize("task", ["select-refit", "lasso", "squared"])
def test_a_worker_killed_in_the_middle_changes_nothing(task, monkeypatch, tmp_path):
    """One of two workers is killed; what it kept is made again from its rows and from what was released."""
    estimator, y = estimator_of(task)
    ledger, estimator = charged_to(tmp_path, estimator)
    expected = estimator_of(task)[0].fit(X, y)
    killed = []

    def kill(crew):
        killed.append(process_of(crew, 1))
        os.kill(killed[-1], signal.SIGKILL)

    with cluster_of(2):
        asked = before_a_sum(monkeypatch, 12, kill)
        model = estimator.fit(parts(X), parts(y))
    assert len(killed) == 1
    assert len(asked) > 24
    assert same_model(model, expected)
    assert model.privacy_.events == expected.privacy_.events
    assert kinds(ledger) == ["created", "reserved", "committed"]


def test_a_worker_killed_while_it_works(monkeypatch):
    """The signal comes from another thread, some milliseconds after the sum was asked for."""
    estimator, y = estimator_of("select-refit")
    expected = estimator_of("select-refit")[0].fit(X, y)
    timers = []

    def later(crew):
        timers.append(threading.Timer(0.002, os.kill, (process_of(crew, 0), signal.SIGKILL)))
        timers[-1].start()

    with cluster_of(2):
        before_a_sum(monkeypatch, 20, later)
        model = estimator.fit(parts(X), parts(y))
    assert timers[0].finished.is_set()
    assert same_model(model, expected)


def test_without_a_nanny_the_others_take_over(monkeypatch, tmp_path):
    """A worker that nobody starts again: after some patience its rows go to the one that is left."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    estimator, y = estimator_of("lasso")
    expected = estimator_of("lasso")[0].fit(X, y)

    def retire(crew):
        crew._client.retire_workers([crew._posts[0].worker], close_workers=True, remove=True)

    with cluster_of(2) as client:
        before_a_sum(monkeypatch, 9, retire)
        model = estimator.fit(parts(X), parts(y))
        assert len(client.scheduler_info()["workers"]) >= 1
    assert same_model(model, expected)


def test_a_cluster_that_keeps_losing_workers_is_given_up(monkeypatch):
    monkeypatch.setattr(cluster, "_MOST_LOSSES", 0)
    estimator, y = estimator_of("lasso")
    with cluster_of(2):
        before_a_sum(monkeypatch, 5, lambda crew: os.kill(process_of(crew, 1), signal.SIGKILL))
        with pytest.raises(ClusterError, match="workers were lost 1 times during one fit"):
            estimator.fit(parts(X), parts(y))
    assert not hasattr(estimator, "coef_")


def test_a_scheduler_that_is_killed_ends_the_fit(monkeypatch, tmp_path):
    (tmp_path / "cluster").mkdir()
    estimator, y = estimator_of("lasso")
    ledger, estimator = charged_to(tmp_path, estimator)
    with separate_cluster(tmp_path / "cluster") as (_, scheduler):
        before_a_sum(monkeypatch, 7, lambda crew: (os.killpg(scheduler.pid, signal.SIGKILL), scheduler.wait()))
        with pytest.raises(ClusterError, match="scheduler cannot be reached any more; there is no model"):
            estimator.fit(parts(X), parts(y))
    assert not hasattr(estimator, "coef_")
    assert not hasattr(estimator, "privacy_")
    assert kinds(ledger) == ["created", "reserved", "failed"]
    assert ledger.entries()[-1].state.spent == ledger.entries()[1].state.spent > 0


def test_an_error_on_a_worker_that_is_there_is_told_as_it_is(monkeypatch):
    """Not every error means that a worker was lost."""
    estimator, y = estimator_of("lasso")
    with cluster_of(2, processes=False):
        before_a_sum(monkeypatch, 4, lambda crew: crew.tell(cluster.Change(0, _fails, ())))
        with pytest.raises(OSError, match="no space left"):
            estimator.fit(parts(X), parts(y))


def _fails(kept):
    raise OSError("no space left")
