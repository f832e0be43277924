"""The same models, to the last bit, wherever the rows are; and what is refused."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import hardzero as hz
from hardzero.backends import cluster
from hardzero.data.bounded import Bounds
from hardzero.estimators._scattered import ClassReader, part_problem
from hardzero.optim.losses import Logistic

from .conftest import N_FEATURES, N_ROWS, SCORES, TASKS, TWO, X, cluster_of, estimator_of, same_model

ODD = 98765.4375
"""A number to look for in logs and messages."""


def cut(values, parts):
    """A Dask array in so many parts, of different sizes."""
    ends = np.linspace(0, len(values), parts + 1).astype(int)
    ends[1:-1] += np.arange(parts - 1) % 3
    chunks = tuple(int(size) for size in np.diff(ends))
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


@pytest.fixture(scope="module")
def local():
    """Each task's model with all rows here, dense and sparse alike."""
    models = {}
    for task in TASKS:
        estimator, y = estimator_of(task)
        models[task] = estimator.fit(X, y)
        assert same_model(models[task], estimator_of(task)[0].fit(sparse.csr_array(X), y))
        assert np.any(models[task].coef_ != 0)
    return models


@pytest.mark.parametrize("parts", [1, 3, 8])
@pytest.mark.parametrize("task", TASKS)
def test_two_workers_give_the_model_of_one_machine(task, parts, client, local):
    estimator, y = estimator_of(task)
    assert same_model(estimator.fit(cut(X, parts), cut(y, parts)), local[task])


def test_one_worker_gives_the_model_of_one_machine(local):
    with cluster_of(1):
        for task in TASKS:
            for parts in (1, 3, 8):
                estimator, y = estimator_of(task)
                assert same_model(estimator.fit(cut(X, parts), cut(y, parts)), local[task])


@pytest.mark.parametrize("task", TASKS)
def test_many_workers_add_up_for_each_other(task, local, monkeypatch):
    """Seven workers, of which this process asks two; threads in place of processes, for speed."""
    monkeypatch.setattr(cluster, "FAN_IN", 2)
    asked = []
    tree = cluster.tree
    monkeypatch.setattr(cluster, "tree", lambda keepers, fan_in: asked.append(tree(keepers, fan_in)) or asked[-1])
    with cluster_of(7, processes=False):
        estimator, y = estimator_of(task)
        assert same_model(estimator.fit(cut(X, 9), cut(y, 9)), local[task])
    assert max(map(len, asked)) == 2
    assert any(behind for top in asked for _, behind in top)


def test_blocks_may_be_sparse_and_columns_cut(client, local):
    blocks = da.map_blocks(sparse.csr_array, cut(X, 4), dtype=float)
    assert same_model(estimator_of("select-refit")[0].fit(blocks, cut(TWO, 4)), local["select-refit"])
    tiles = da.from_array(X, chunks=(300, 4))
    assert same_model(estimator_of("select-refit")[0].fit(tiles, cut(TWO, 3)), local["select-refit"])


def frame():
    names = [f"column {i}" for i in range(N_FEATURES)]
    return pd.DataFrame(X, columns=names).assign(y=TWO)


def test_data_frames_have_names_and_may_have_empty_parts(client, local):
    table = frame()
    whole = dd.from_pandas(table, npartitions=4)
    some_empty = dd.concat([whole.loc[:500], whole.loc[2000:], whole.loc[501:]], interleave_partitions=False)
    for rows in (whole, some_empty):
        model = estimator_of("select-refit")[0].fit(rows.drop(columns="y"), rows["y"])
        assert same_model(model, local["select-refit"])
        assert list(model.feature_names_in_) == list(table.columns[:-1])


def test_sizes_that_dask_does_not_know_are_counted(client, local):
    rows = dd.from_pandas(frame(), npartitions=3)
    features, labels = rows.drop(columns="y").to_dask_array(), rows["y"].to_dask_array()
    assert np.isnan(features.shape[0])
    assert same_model(estimator_of("select-refit")[0].fit(features, labels), local["select-refit"])


def test_with_a_secret_number_of_rows(client):
    parameters = {**TASKS["select-refit"][1], "neighbours": "add-remove", "n_rows": 1000}
    make = hz.SparsePrivateLogisticRegression
    here, there = make(**parameters).fit(X, TWO), make(**parameters).fit(cut(X, 3), cut(TWO, 3))
    assert same_model(here, there)
    assert here.privacy_ == there.privacy_
    assert there.privacy_.n_rows == 1000


@pytest.mark.parametrize("task", TASKS)
def test_predictions_are_made_when_they_are_asked_for(task, client, local):
    model, rows = local[task], cut(X, 3)
    methods = ["predict"] if task == "squared" else ["predict", "predict_proba", "decision_function"]
    for method in methods:
        lazy = getattr(model, method)(rows)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == rows.chunks[0]
        here = getattr(model, method)(X)
        assert lazy.dtype == here.dtype
        assert lazy.shape == here.shape
        assert np.array_equal(lazy.compute(), here)
    y = TASKS[task][2]
    assert model.score(rows, cut(y, 3)) == model.score(X, y)


def test_predictions_for_data_frames(client):
    table = frame()
    model = estimator_of("select-refit")[0].fit(table.drop(columns="y"), TWO)
    rows = dd.from_pandas(table.drop(columns="y"), npartitions=4)
    assert np.array_equal(model.predict_proba(rows).compute(), model.predict_proba(table.drop(columns="y")))
    assert np.array_equal(model.predict(rows).compute(), model.predict(table.drop(columns="y")))


# --- What is refused ----------------------------------------------------------------------------------------------


def refused(values=X, labels=TWO, error=ValueError, match=None, **changes):
    estimator = hz.SparsePrivateLogisticRegression(**{**TASKS["select-refit"][1], **changes})
    with pytest.raises(error, match=match) as told:
        estimator.fit(values, labels)
    assert not hasattr(estimator, "coef_")
    return str(told.value)


def test_bad_rows_are_refused_in_the_words_of_a_local_fit(client):
    bad = X.copy()
    bad[700, 3] = np.nan
    labels = TWO.copy()
    labels[800] = 7
    for values, y in ((bad, TWO), (X, labels)):
        here = refused(values, y)
        assert refused(cut(values, 3), cut(y, 3)) == here


def test_errors_of_rows_are_returned_and_not_raised_on_workers():
    """Dask logs a task that fails, some versions with its arguments."""
    bad = X.copy()
    bad[3, 3] = np.nan
    reader, bounds = ClassReader([0, 1], "Somebody"), Bounds.parse((-1, 1), N_FEATURES)
    for values, labels in ((bad, TWO), (X, TWO + 5), ("text", TWO)):
        assert isinstance(part_problem(values, labels, reader, Logistic(), bounds), cluster.Refused)
    assert part_problem(X, TWO, reader, Logistic(), bounds).n_rows == N_ROWS
    assert part_problem(X[:0], TWO[:0], reader, Logistic(), bounds) is None


def test_no_worker_writes_a_record_into_its_log(tmp_path):
    """A cell that no worker can read, beside an odd number, in a data frame: Dask's own way is to log the task."""
    from .conftest import separate_cluster

    bad = pd.DataFrame(X, columns=[str(i) for i in range(N_FEATURES)])
    bad.iloc[:, 1] = ODD
    bad.iloc[850, 3] = np.inf
    with separate_cluster(tmp_path, 1) as (client, _):
        rows = dd.from_pandas(bad, npartitions=3).persist()
        labels = dd.from_pandas(pd.Series(TWO, index=bad.index), npartitions=3)
        assert str(ODD)[:5] not in refused(rows, labels, match="infinity")
        estimator_of("select-refit")[0].fit(rows.fillna(0).replace(np.inf, 0), labels)
        client.run(_shout)
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file())
    assert "a worker was here" in written  # that is where records would be
    assert str(ODD)[:5] not in written


def _shout():
    import logging

    logging.getLogger("distributed.worker").warning("a worker was here")


def test_parts_that_do_not_belong_together_are_refused(client):
    rows = cut(X, 3)
    refused(rows, TWO, TypeError, match="y must be one with the same parts")
    refused(rows, cut(TWO[:-1], 3), match="inconsistent numbers of samples")
    frames = dd.from_pandas(frame(), npartitions=3)
    refused(frames.drop(columns="y"), cut(TWO, 2), match="X has 3 parts and y has 2")
    refused(frames.drop(columns="y"), cut(TWO, 3), match="inconsistent numbers of samples")
    refused(cut(X[:, 0], 3), cut(TWO, 3), match="Expected 2D array")


def test_classes_have_to_be_stated(client):
    for classes in (None, "from-y"):
        refused(cut(X, 3), cut(TWO, 3), match="classes must be listed for a Dask collection", classes=classes)


def test_methods_that_need_all_rows_in_one_place_say_so(client):
    estimator = hz.SparsifierLogisticRegression(classes=[0, 1], bounds=(-1, 1))
    with pytest.raises(TypeError, match="SparsifierLogisticRegression needs all rows in one place") as told:
        estimator.fit(cut(X, 2), cut(TWO, 2))
    assert "SparsePrivateLogisticRegression, PrivateLassoLogisticRegression, PrivateLassoRegression" in str(
        told.value
    )


def test_without_a_cluster_it_says_how_to_get_one():
    refused(cut(X, 2), cut(TWO, 2), cluster.ClusterError, match=r"there is no Dask cluster to fit on.*Client")


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.3)
    with cluster_of(0, processes=False):
        refused(cut(X, 2), cut(TWO, 2), cluster.ClusterError, match="has no worker")


def test_parts_that_do_not_fit_into_memory_fail_with_advice():
    """Every worker that reads the second part dies, as one does that takes too much memory."""
    deadly = da.map_blocks(_deadly, cut(X, 2), dtype=float)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster_of(1):
        refused(deadly, cut(TWO, 2), cluster.ClusterError, match="for want of memory; use smaller parts")


def _deadly(block, block_info=None):
    import os

    if block_info and block_info[None]["chunk-location"][0] == 1:
        os._exit(137)
    return block


# --- What is sent -------------------------------------------------------------------------------------------------


def leaves(value):
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from leaves(getattr(value, name))
    else:
        yield value


@pytest.mark.parametrize("task", TASKS)
def test_a_step_sends_numbers_as_large_as_the_weights_and_gets_one_vector(task, client, monkeypatch):
    """Workers get released values and public ones: nothing that could draw a random number."""
    sent, heard = [], []
    ask = cluster.Crew._ask

    def listening(self, asked, commands):
        answer = ask(self, asked, commands)
        sent.append([*leaves(asked), *(leaf for command in commands for leaf in leaves(command))])
        heard.append(answer)
        return answer

    monkeypatch.setattr(cluster.Crew, "_ask", listening)
    estimator, y = estimator_of(task)
    estimator.fit(cut(X, 3), cut(y, 3))
    assert len(sent) >= 25
    kinds = {type(leaf) for step in sent for leaf in step if not callable(leaf)}
    assert kinds <= {int, float, bool, type(None), np.ndarray, np.int64, np.float64}
    assert all(leaf.__module__.startswith("hardzero.") for step in sent for leaf in step if callable(leaf))
    outputs = estimator.coef_.reshape(-1, N_FEATURES).shape[0]
    largest = sorted(sum(leaf.nbytes for leaf in step if isinstance(leaf, np.ndarray)) for step in sent)
    assert largest[len(largest) // 2] <= 8 * outputs * (N_FEATURES + 1)
    assert all(answer.dtype == np.int64 and answer.size < N_ROWS / 2 for answer in heard)
    assert len(SCORES) == N_ROWS
