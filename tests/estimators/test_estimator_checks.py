"""scikit-learn's own estimator checks.

The checks fit tables of a few dozen rows and ask for good scores; no private method can learn from those at a usual
budget, so they run with a budget so large that noise does not matter. Privacy is tested elsewhere.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

import hardzero

LOOSE = {"epsilon": 1e6, "delta": 1e-3, "bounds": (-20, 20), "n_iter": 300}
CLASSES = {"classes": "from-y"}  # the checks come with labels of many kinds
BASELINE = {"epsilon": 1e6, "delta": 1e-3, "bounds": (-20, 20), "fit_intercept": True, **CLASSES}

ESTIMATORS = [
    hardzero.LassoLogisticRegression(radius=50.0, bounds=(-20, 20), solver=hardzero.ExactSolver(tol=1e-4)),
    hardzero.PrivateLassoLogisticRegression(**LOOSE, **CLASSES, radius=200.0, fit_intercept=True),
    hardzero.SparsifierLogisticRegression(
        **LOOSE, **CLASSES, radius=200.0, fit_intercept=True, count_solver=hardzero.ExactSolver(tol=1e-3)
    ),
    hardzero.SparsePrivateLogisticRegression(epsilon=1e6, delta=1e-3, bounds=(-20, 20), **CLASSES),
    hardzero.TwoStageLogisticRegression(**BASELINE, n_blocks=3, max_features=10),
    hardzero.PrivateADMMLogisticRegression(**BASELINE, penalty=1e-5, n_iter=20),
    hardzero.PrivateIGHTLogisticRegression(**BASELINE, max_features=10),
    hardzero.PrivateGreedyLogisticRegression(**BASELINE, n_iter=300),
    hardzero.DensePrivateLogisticRegression(**BASELINE, n_iter=300),
    hardzero.PrivateLassoRegression(**LOOSE, target_bounds=(-10, 10), radius=10.0, fit_intercept=True),
    hardzero.SparsifierRegression(**LOOSE, target_bounds=(-10, 10), radius=10.0, min_features=8, max_features=9),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    public = {name for name in hardzero.__all__ if name.endswith("Regression")}
    assert public == {type(estimator).__name__ for estimator in ESTIMATORS}
