"""Real Dask clusters on this machine, and tables that several estimators learn from."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import hardzero as hz

pytest.importorskip("distributed", reason="needs the extra dask")

import dask
from distributed import Client, LocalCluster

dask.config.set({"distributed.comm.timeouts.connect": "20s", "distributed.admin.tick.limit": "1h"})

N_ROWS, N_FEATURES = 900, 11


def table(seed=0):
    """Numbers, indicators and zeros, so that every storage is used."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(N_ROWS, N_FEATURES)), -1, 1)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:, :4] = X[:, :4] > 0
    return X, X[:, 0] - X[:, 5] + 0.5 * rng.normal(size=N_ROWS)


X, SCORES = table()
TWO, THREE = (SCORES > 0).astype(int), np.digitize(SCORES, [-0.3, 0.3])

EASY = {"epsilon": 3.0, "bounds": (-1, 1), "random_state": 4}
TASKS = {
    "select-refit": (hz.SparsePrivateLogisticRegression, {**EASY, "classes": [0, 1]}, TWO),
    "select-refit, three classes": (hz.SparsePrivateLogisticRegression, {**EASY, "classes": [0, 1, 2]}, THREE),
    "lasso": (
        hz.PrivateLassoLogisticRegression,
        {**EASY, "classes": [0, 1], "n_iter": 25, "fit_intercept": True},
        TWO,
    ),
    "lasso, three classes": (
        hz.PrivateLassoLogisticRegression,
        {**EASY, "classes": [0, 1, 2], "n_iter": 25, "multinomial": "per-class"},
        THREE,
    ),
    "squared": (
        hz.PrivateLassoRegression,
        {**EASY, "target_bounds": (-3, 3), "n_iter": 25, "fit_intercept": True},
        SCORES,
    ),
}


def estimator_of(task):
    make, parameters, y = TASKS[task]
    return make(**parameters), y


def same_model(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)


@contextmanager
def cluster_of(n_workers, **options):
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


@pytest.fixture(scope="session")
def two_workers():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(two_workers):
    """The cluster of two workers, as whoever wrote `Client(…)` has it."""
    with two_workers.as_current():
        yield two_workers


@contextmanager
def started(*arguments, log):
    """A program of Dask in a process of its own, which is gone afterwards."""
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def separate_cluster(folder: Path, n_workers=2):
    """A scheduler and workers that do not belong to this process: their address, and the scheduler's process."""
    address = folder / "scheduler.json"
    quiet = ("--no-dashboard", "--scheduler-file", str(address))
    with started(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", *quiet, log=folder / "scheduler"
    ) as scheduler:
        workers = [
            started("dask_worker", *quiet, "--nthreads", "1", "--local-directory", str(folder), log=folder / f"{i}")
            for i in range(n_workers)
        ]
        with _all(workers), Client(scheduler_file=str(address), timeout="30s", set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=60)
            with client.as_current():
                yield client, scheduler


@contextmanager
def _all(contexts):
    if not contexts:
        yield
        return
    with contexts[0], _all(contexts[1:]):
        yield
