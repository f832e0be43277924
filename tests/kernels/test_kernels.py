"""Compiled loops and plain NumPy give the same bits, in any storage and with any number of threads."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, softmax

from hardzero import kernels
from hardzero.data.bounded import FEATURE_ONE, BoundedData
from hardzero.kernels import parallel, reference
from hardzero.optim.descent import descent_unit

FINEST = descent_unit(1)
ROOT = Path(__file__).parents[2]
compiled_only = pytest.mark.skipif(kernels.compiled() is None, reason="the compiled loops are not built here")

FIT = """
import sys, numpy as np
from scipy import sparse
from hardzero import PrivateLassoLogisticRegression, SparsePrivateLogisticRegression, kernels
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(900, 30)) * (rng.random((900, 30)) < 0.4)
y = (X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(900) > 0) + 1 * (X[:, 2] > 0.3)
for labels in (y, y > 0):
    for estimator in (PrivateLassoLogisticRegression(n_iter=150), SparsePrivateLogisticRegression()):
        estimator.set_params(epsilon=3.0, bounds=(-1, 1), classes="from-y", random_state=5)
        for stored in (X, sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X)):
            estimator.fit(stored, labels)
            print(estimator.coef_.tobytes().hex(), estimator.intercept_.tobytes().hex())
print(kernels.compiled() is None, file=sys.stderr)
"""


def fitted(**environment):
    done = subprocess.run(
        [sys.executable, "-c", FIT], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.split("\n"), done.stderr.strip()


@compiled_only
def test_models_are_the_same_compiled_or_not_in_any_storage_and_with_any_threads():
    compiled, said = fitted()
    assert said == "False"
    assert len(set(compiled[:-1])) == 4  # two estimators on two tasks, whatever the storage
    assert fitted(HARDZERO_KERNELS="reference") == (compiled, "True")
    assert fitted(HARDZERO_THREADS="3")[0] == compiled


margins = st.floats(-800, 800) | st.sampled_from([0.0, -0.0, 1e-300, -1e-300, 60.0, -60.0, 1e300, -1e300])


@compiled_only
@given(st.lists(margins, min_size=1, max_size=40), st.integers(0, 39))
def test_probabilities_have_the_same_bits_at_every_place(values, place):
    array = np.array(values)
    whole = kernels.sigmoids(array)
    assert np.array_equal(whole, reference.sigmoids(array))
    place %= len(values)
    assert kernels.sigmoids(array[place:])[0] == whole[place]
    several = np.column_stack([array, array[::-1], 0 * array])
    assert np.array_equal(kernels.softmaxes(several), reference.softmaxes(several))
    assert np.array_equal(
        kernels.softmaxes(several[place : place + 1]), kernels.softmaxes(several)[place : place + 1]
    )


@pytest.mark.parametrize("loops", [kernels, reference], ids=["chosen", "reference"])
def test_probabilities_are_right(loops):
    array = np.concatenate([np.linspace(-40, 40, 100_001), [-1e9, 1e9]])
    assert np.abs(loops.sigmoids(array) - expit(array)).max() < 1e-14
    assert loops.sigmoids(array).min() >= 0
    assert loops.sigmoids(array).max() <= 1
    rows = np.random.default_rng(0).normal(size=(500, 11)) * 8
    assert np.abs(loops.softmaxes(rows) - softmax(rows, axis=1)).max() < 1e-14


def tables(n_rows, n_features, density, seed):
    """The same whole numbers, dense and sparse, with the extremes among them."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([-FEATURE_ONE, FEATURE_ONE, 1, -7, 40_000], size=(n_rows, n_features))
    codes = np.asfortranarray(codes * (rng.random(codes.shape) < density), dtype=np.int32)
    return BoundedData(codes), BoundedData(sparse.csc_array(codes))


@given(st.integers(1, 60), st.integers(1, 300), st.sampled_from([0.0, 0.02, 0.3, 1.0]), st.integers(1, 9), st.data())
def test_sums_are_exact(n_rows, n_features, density, outputs, data):
    seed = data.draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    codes = rng.choice([-FINEST, FINEST, 1, -5, 77_777], size=(n_rows, outputs))
    weights = rng.integers(-(2**20), 2**20, size=(n_features, outputs))
    for table in tables(n_rows, n_features, density, seed):
        whole = (table.codes if table.by_feature.is_dense else table.codes.toarray()).astype(np.int64)
        assert np.array_equal(kernels.column_sums(table.by_feature, codes), codes.T @ whole)
        assert np.array_equal(reference.column_sums(table.by_feature.matrix, codes.astype(np.int32)), codes.T @ whole)
        assert np.array_equal(kernels.row_sums(table.by_feature, weights, n_rows), whole @ weights)
        assert np.array_equal(reference.row_sums(table.by_feature.matrix, weights), whole @ weights)


@compiled_only
@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_change_nothing(monkeypatch, threads):
    monkeypatch.setattr(parallel, "_WORTH_A_THREAD", 50)
    monkeypatch.setenv("HARDZERO_THREADS", threads)
    codes = np.random.default_rng(1).integers(-1000, 1000, size=(80, 2))
    for table in tables(80, 53, 0.1, 3):
        expected = reference.column_sums(table.by_feature.matrix, codes.astype(np.int32))
        assert np.array_equal(kernels.column_sums(table.by_feature, codes), expected)


@given(st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=200), st.sampled_from([1, 2, 16, 256]))
def test_tops_are_the_largest_magnitudes_of_blocks(values, block):
    array = np.array(values)
    expected = [max(map(abs, values[i : i + block])) for i in range(0, len(values), block)]
    assert kernels.block_tops(array, block).tolist() == expected
    assert reference.block_tops(array, block).tolist() == expected


def test_what_is_missing_is_said_where_it_was_not_asked_for(monkeypatch):
    monkeypatch.setattr(kernels, "_fast", None)
    monkeypatch.delenv("HARDZERO_KERNELS", raising=False)
    with pytest.warns(kernels.SlowKernelsWarning, match=r"install a C\+\+ compiler and reinstall"):
        kernels.say_what_is_missing()
    monkeypatch.setenv("HARDZERO_KERNELS", "reference")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels.say_what_is_missing()


def test_a_machine_without_a_compiler_builds_the_rest(tmp_path):
    pytest.importorskip("Cython")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "src"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("*.so", "samples", "__pycache__"))
        else:
            shutil.copy(source, tmp_path)
    none = {**os.environ, "CC": "no-such-compiler", "CXX": "no-such-compiler"}
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tmp_path, env=none, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'building extension "hardzero.kernels._fast" failed' in done.stdout + done.stderr
    assert not list(tmp_path.rglob("*.so"))


@given(st.integers(0, 600), st.integers(1, 6), st.integers(0, 2**32))
def test_runs_become_rows(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    width = 5
    columns, expected = [], np.zeros((n_rows, n_columns * width))
    for j in range(n_columns):
        places = rng.integers(0, width, n_rows).astype(np.int32)
        lengths = np.minimum(rng.integers(0, 4, n_rows), width - places).astype(np.int32)
        values = rng.choice([1.0, -0.25, 1e-9], n_rows)
        columns.append((j * width, places, lengths, values))
        for i in range(n_rows):
            expected[i, j * width + places[i] : j * width + places[i] + lengths[i]] = values[i]
    same = reference.stacked_runs(columns)
    for values, indices, ends in (kernels.stacked_runs(columns), same):
        matrix = sparse.csr_array((values, indices, ends), shape=expected.shape)
        assert matrix.has_sorted_indices
        assert np.array_equal(matrix.toarray(), expected)
    assert all(map(np.array_equal, kernels.stacked_runs(columns), same))
    assert kernels.stacked_runs(columns)[1].dtype == np.int32


def test_threads_can_be_asked_for_and_are_kept(monkeypatch):
    monkeypatch.setenv("HARDZERO_THREADS", "5")
    assert kernels.threads() == 5
    with kernels.using_threads(2):
        assert kernels.threads() == 2
        with kernels.using_threads(None):
            assert kernels.threads() == 2
        with kernels.using_threads(3):
            assert kernels.threads() == 3
        assert kernels.threads() == 2
    assert kernels.threads() == 5
    with pytest.raises(ValueError, match="count must be a positive number of threads"), kernels.using_threads(0):
        pass


def test_every_part_is_done_once_and_threads_do_not_start_threads(monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH_A_THREAD", 1)
    with kernels.using_threads(4):
        done = kernels.by_parts(11, 100, lambda first, last: (list(range(first, last)), kernels.threads()))
    assert [place for places, _ in done for place in places] == list(range(11))
    assert [threads for _, threads in done] == [1] * 4
    with kernels.using_threads(2), pytest.raises(ZeroDivisionError):
        kernels.by_parts(2, 100, lambda first, _: 1 // (1 - first))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_threads_are_there_after_a_fork():
    code = """
import os, sys
from hardzero import kernels
from hardzero.kernels import parallel
parallel._WORTH_A_THREAD = 1
with kernels.using_threads(2):
    assert kernels.by_parts(2, 9, lambda first, last: last) == [1, 2]
    if (child := os.fork()) == 0:
        os._exit(kernels.by_parts(2, 9, lambda first, last: last) != [1, 2])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
