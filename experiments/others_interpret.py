"""DP-EBM of interpret for experiments/others.py: boosted curves, one for each column, bounds and types given."""

from __future__ import annotations

import numpy as np
from others_serve import Answer, Task, serve

PACKAGES = ("interpret-core==0.7.8", "scikit-learn==1.9.1")
GRID = tuple(
    (("learning_rate", rate), ("max_rounds", rounds), ("max_bins", 32))
    for rate, rounds in ((0.03, 100), (0.1, 100), (0.1, 300), (0.3, 30))
)
"""Around what the wider search of experiments/additive.py chose at ε = 1."""


def fit(task: Task) -> Answer:
    """Defaults, unless settings say otherwise; a column is used if its curve is not flat."""
    from interpret.privacy import DPExplainableBoostingClassifier  # noqa: PLC0415 - in an environment of its own

    columns = task.X.shape[1]
    model = DPExplainableBoostingClassifier(
        feature_types=["continuous"] * columns, n_jobs=1, random_state=task.seed, epsilon=task.epsilon,
        delta=task.delta, privacy_bounds=np.array([[task.lower, task.upper]] * columns), **task.settings,
    ).fit(task.X, task.y)  # fmt: skip
    used = sum(bool(np.ptp(curve) > 0) for curve in (scores[1:-1] for scores in model.term_scores_))
    return Answer(np.ravel(model.decision_function(task.X_test)), used)


if __name__ == "__main__":
    serve(fit, "interpret.privacy")
