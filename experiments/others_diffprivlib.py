"""Logistic regression of diffprivlib for experiments/others.py: objective perturbation, δ = 0, one record replaced."""

from __future__ import annotations

import numpy as np
from others_serve import Answer, Task, serve

PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.7.2")  # it cannot be imported with scikit-learn 1.8 or newer
GRID = tuple((("row_norm", norm), ("C", C)) for norm in (1.0, 4.0, 5.5) for C in (1e-3, 1e-2, 0.1, 1.0))


def fit(task: Task) -> Answer:
    """By default rows may be as long as the public bounds allow; a ``row_norm`` shortens longer ones."""
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415 - in an environment of its own

    longest = max(abs(task.lower), abs(task.upper)) * np.sqrt(task.X.shape[1])
    model = LogisticRegression(
        epsilon=task.epsilon, data_norm=float(task.settings.get("row_norm", longest)),
        C=task.settings.get("C", 1.0), random_state=task.seed,
    ).fit(task.X, task.y)  # fmt: skip
    return Answer(model.decision_function(task.X_test), np.count_nonzero(model.coef_))


if __name__ == "__main__":
    serve(fit, "diffprivlib.models")
