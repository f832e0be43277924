"""`n_jobs` changes how long a fit takes, and nothing else."""

import numpy as np
import pytest

from hardzero import SparsePrivateLogisticRegression, kernels
from hardzero.optim import descent


def fitted(X, y, **options):
    return SparsePrivateLogisticRegression(bounds=(-1, 1), classes=[0, 1], random_state=0, **options).fit(X, y)


def rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200_000, 12)) < 0.5, rng.uniform(-1, 1, (200_000, 12)), 0.0)
    X[:, 6:] = X[:, 6:] > 0
    return X, (X[:, 0] > X[:, 7] - 0.2).astype(int)


def test_threads_change_no_bit():
    X, y = rows()
    one, two, many = (fitted(X, y, n_jobs=count) for count in (1, 2, 5))
    for other in (two, many):
        assert np.array_equal(one.coef_, other.coef_)
        assert np.array_equal(one.intercept_, other.intercept_)


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (3, 3), (-1, None)])
def test_a_fit_uses_as_many_as_it_may(n_jobs, expected, monkeypatch):
    used, sums = [], descent.code_sums
    monkeypatch.setattr(descent, "code_sums", lambda *given: used.append(kernels.threads()) or sums(*given))
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    fitted(X, (X[:, 0] > 0).astype(int), n_jobs=n_jobs)
    import os

    assert set(used) == {expected or os.cpu_count()}


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "2"])
def test_numbers_of_threads_that_mean_nothing_are_refused(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        fitted(np.zeros((10, 2)), np.arange(10) % 2, n_jobs=n_jobs)
