"""How much the length that rows are clipped to matters for the other methods, on the paper's synthetic data.

Run: .venv/bin/python experiments/row_norm.py            (two minutes; error in percent and F1, five seeds)
"""

from __future__ import annotations

import math

import numpy as np

from hardzero import PrivateIGHTLogisticRegression, TwoStageLogisticRegression
from hardzero.reproduce.splits import load_split
from hardzero.reproduce.trials import mean_and_error

SEEDS = 5
CASES = [
    ("Private IGHT, 1000 steps, row_norm 1", PrivateIGHTLogisticRegression, {"n_iter": 1000, "row_norm": 1.0}),
    ("Private IGHT, 1000 steps, row_norm √p = 10", PrivateIGHTLogisticRegression, {"n_iter": 1000, "row_norm": 10.0}),
    ("Two-Stage, row_norm 1", TwoStageLogisticRegression, {"row_norm": 1.0}),
    ("Two-Stage, row_norm √s = 3.16, as published", TwoStageLogisticRegression, {"row_norm": math.sqrt(10)}),
]


def measure(kind: type, parameters: dict[str, float], epsilon: float, seed: int) -> tuple[float, float]:
    split = load_split("synthetic", seed)
    model = kind(epsilon, split.delta, bounds=(-1, 1), classes="from-y", random_state=seed, **parameters)
    model.fit(split.X_train, split.y_train)
    found = np.count_nonzero(model.support_ < 8)
    return 100 * (1 - model.score(split.X_test, split.y_test)), 2 * found / (len(model.support_) + 8)


def main() -> None:
    for title, kind, parameters in CASES:
        for epsilon in (1.0, 4.0):
            errors, scores = zip(*(measure(kind, parameters, epsilon, seed) for seed in range(SEEDS)), strict=True)
            error, deviation = mean_and_error(errors)
            print(
                f"{title}, ε = {epsilon:g}: error {error:.2f} ± {deviation:.2f}, F1 {np.mean(scores):.2f}", flush=True
            )


if __name__ == "__main__":
    main()
