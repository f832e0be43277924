"""Progress counts steps that the plan fixed, and nothing else."""

import numpy as np
import pytest

import hardzero
from hardzero.optim import progress

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, size=(400, 6)), RNG.integers(0, 2, size=400)
COMMON = {"epsilon": 1.0, "bounds": (-1, 1), "classes": "from-y", "random_state": 0}
MODELS = [
    hardzero.SparsePrivateLogisticRegression(**COMMON),
    hardzero.PrivateLassoLogisticRegression(**COMMON, n_iter=20),
    hardzero.SparsifierLogisticRegression(**COMMON, n_iter=20, count_solver=hardzero.PlainFrankWolfe(50)),
    hardzero.TwoStageLogisticRegression(**COMMON),
    hardzero.PrivateADMMLogisticRegression(**COMMON),
    hardzero.PrivateIGHTLogisticRegression(**COMMON, n_iter=20),
    hardzero.PrivateGreedyLogisticRegression(**COMMON, n_iter=20),
    hardzero.LassoLogisticRegression(bounds=(-1, 1)),
]


def heard(model, y):
    calls = []
    with progress.listening(lambda done, planned: calls.append((done, planned))):
        model.fit(X, y)
    return calls


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_is_heard_does_not_depend_on_the_records(model):
    calls = heard(model, Y)
    assert calls == heard(model, 1 - Y)
    assert all(0 < done <= planned for done, planned in calls)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize("model", MODELS[:-1], ids=lambda model: type(model).__name__)
def test_most_of_the_plan_is_announced(model):
    calls = heard(model, Y)
    done, planned = calls[-1]
    assert done >= 0.4 * planned


def test_silence_after_the_block_and_without_one():
    calls = heard(MODELS[1], Y)
    MODELS[1].fit(X, Y)
    assert len(calls) == 20
