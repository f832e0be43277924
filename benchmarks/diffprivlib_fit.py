"""Run by an environment of its own (diffprivlib needs scikit-learn below 1.8): arrays in, one JSON object out."""

import json
import sys
import time
import warnings

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import LogisticRegression


def main(data: str, rounds: int) -> None:
    arrays = np.load(data)
    times, accuracies = [], []
    for seed in range(rounds + 1):
        model = LogisticRegression(epsilon=1.0, data_norm=float(arrays["norm"]), random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model.fit(arrays["X"], arrays["y"])
            times.append(time.perf_counter() - start)
        accuracies.append(float(model.score(arrays["X_test"], arrays["y_test"])))
    versions = {"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__}
    print(json.dumps({"seconds": times[1:], "accuracies": accuracies, "versions": versions}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
