"""diffprivlib's logistic regression for experiments/others.py: objective perturbation, δ = 0, one record replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
from others_serve import Answer, Task, serve

PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.7.2")  # it cannot be imported with scikit-learn 1.8 or newer
GRID = tuple((("row_norm", norm), ("C", C)) for norm in (1.0, 4.0, 5.5) for C in (1e-3, 1e-2, 0.1))


def fit(task: Task) -> Answer:
    """By default rows may be as long as the public bounds allow; a ``row_norm`` shortens longer ones."""
    model = _model(task, task.seed).fit(task.X, task.y)
    return Answer(model.decision_function(task.X_test), np.count_nonzero(model.coef_))


def weights(task: Task) -> Answer:
    """Many fits of the same rows, of one column and without an intercept: their weights."""
    rng = np.random.RandomState(task.seed)
    fits = range(int(task.settings["fits"]))
    return Answer(np.array([_model(task, rng).fit(task.X, task.y).coef_[0, 0] for _ in fits]), 1)


def _model(task: Task, random_state: Any) -> Any:
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415 - in an environment of its own

    longest = max(abs(task.lower), abs(task.upper)) * np.sqrt(task.X.shape[1])
    return LogisticRegression(
        epsilon=task.epsilon, data_norm=float(task.settings.get("row_norm", longest)),
        C=task.settings.get("C", 1.0), fit_intercept="fits" not in task.settings, random_state=random_state,
    )  # fmt: skip


if __name__ == "__main__":
    serve(lambda task: weights(task) if "fits" in task.settings else fit(task), "diffprivlib.models")
