"""Select-then-refit, a whole fit, against one L1 fit of scikit-learn, diffprivlib, and descent written by hand."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from common import Check, Progress, Results, Setting, at_least, at_most, number, table, time_text
from lookalikes import Sample
from rivals import l1_logistic
from timing import Job, interleave, limited

from hardzero import SparsePrivateLogisticRegression, datasets

TITLE = "Select-then-refit"
TARGETS = {"a9a": 1.0, "covtype": 1.0, "news20": 2.0, "20news-bow": 2.0}  # times liblinear's time
EPSILON = 1.0
ENVIRONMENT = Path(__file__).parent.parent / ".diffprivlib"
ONES_A_ROW = 14  # a9a encodes fourteen questions: the public norm of a row is √14
DESCENT_STEPS = 200


def measure(setting: Setting, progress: Progress) -> Results:
    results: Results = {"patience": 6 * setting.patience, "data": {}}
    for name in TARGETS:
        if name in setting.real:
            sample = progress.sample(name, setting.shrink)
            if sample is not None:
                results["data"][name] = _against_liblinear(sample, setting, progress)
    if results["data"].get("a9a"):
        results["private"] = _against_private(setting, progress)
    return results


def _against_liblinear(sample: Sample, setting: Setting, progress: Progress) -> Results:
    scaled = sample.scaled()
    model = SparsePrivateLogisticRegression(EPSILON, bounds=sample.bounds, classes="from-y")
    jobs = {"hardzero": Job(lambda: model.fit(sample.X, sample.y))}
    first = limited(partial(_timed_liblinear, scaled), 6 * setting.patience)
    rival = {"seconds": first.seconds, "cut_off": first.cut_off, "runs": 1}
    if not first.cut_off and first.seconds < setting.patience:
        jobs["liblinear"] = Job(lambda: _liblinear(scaled))
    timings = interleave(jobs, setting.rounds, 2 * setting.limit)
    if "liblinear" in timings:
        rival = {"seconds": timings["liblinear"].median, "cut_off": False, "runs": timings["liblinear"].runs}
    own = timings["hardzero"]
    kept = len(model.support_)
    progress.say(f"{sample.name}: hardzero {time_text(own.median)}, liblinear {time_text(rival['seconds'])}")
    return {**sample.shape(), "hardzero": own.record(), "liblinear": rival, "kept": kept}


def _liblinear(sample: Sample) -> object:
    return l1_logistic("liblinear", 1.0).fit(sample.X, sample.y)


def _timed_liblinear(sample: Sample) -> tuple[float, None]:
    start = time.perf_counter()
    _liblinear(sample)
    return time.perf_counter() - start, None


def _against_private(setting: Setting, progress: Progress) -> Results:
    """Dense a9a, its training and test parts: seconds and test accuracy of private methods."""
    train, test = datasets.load("a9a"), datasets.load("a9a", "test")
    rows = slice(None, None, setting.shrink)
    X, y = train.X.toarray()[rows], (train.y[rows] == 1).astype(np.int64)
    X_test, y_test = test.X.toarray(), (test.y == 1).astype(np.int64)
    weights: dict[str, list[np.ndarray]] = {"hardzero": [], "descent": []}  # tested later, outside the time

    def ours() -> None:
        model = SparsePrivateLogisticRegression(EPSILON, bounds=(0, 1), classes="from-y").fit(X, y)
        weights["hardzero"].append(np.append(model.coef_, model.intercept_))

    def descent() -> None:
        weights["descent"].append(private_descent(X, y, EPSILON, len(y) ** -1.5, np.random.default_rng()))

    def accuracy(name: str) -> float:
        return statistics.mean(float(np.mean((X_test @ w[:-1] + w[-1] > 0) == y_test)) for w in weights[name])

    timings = interleave({"hardzero": Job(ours), "descent": Job(descent)}, setting.rounds, setting.limit)
    found = {
        name: {"seconds": timing.median, "runs": timing.runs, "accuracy": accuracy(name)}
        for name, timing in timings.items()
    }
    other = _diffprivlib(X, y, X_test, y_test, setting, progress)
    if other is not None:
        found["diffprivlib"] = other
    for name, entry in found.items():
        progress.say(f"dense a9a: {name} {time_text(entry['seconds'])}, accuracy {entry['accuracy']:.3f}")
    return found


def private_descent(
    X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator
) -> np.ndarray:
    """Full-batch gradient descent with clipped rows and Gaussian noise, as one would write it by hand.

    The last weight is the intercept. Clips to norm 1 through the norms of rows, without a gradient for each of them;
    the noise follows from zero-concentrated privacy.
    """
    rho = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    sigma = math.sqrt(DESCENT_STEPS / (2 * rho))
    norms = np.sqrt(np.einsum("ij,ij->i", X, X) + 1)
    w, mean = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)
    for _ in range(DESCENT_STEPS):
        residual = 1 / (1 + np.exp(-(X @ w[:-1] + w[-1]))) - y
        residual /= np.maximum(np.abs(residual) * norms, 1)
        gradient = np.append(X.T @ residual, residual.sum())
        w -= 2.0 * (gradient + sigma * rng.standard_normal(len(w))) / len(y)
        mean += w / DESCENT_STEPS
    return mean


def _diffprivlib(X, y, X_test, y_test, setting: Setting, progress: Progress) -> Results | None:
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists() and not (setting.install and _install(progress)):
        progress.skip("diffprivlib", "its environment is not there (a full run makes it, given a package index)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a9a.npz"
        np.savez(file, X=X, y=y, X_test=X_test, y_test=y_test, norm=math.sqrt(ONES_A_ROW))
        script = ENVIRONMENT.parent / "diffprivlib_fit.py"
        done = subprocess.run(
            [python, script, file, str(setting.rounds)],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        )
    if done.returncode:
        progress.skip("diffprivlib", f"it failed: {done.stderr.strip().splitlines()[-1]}")
        return None
    answer = json.loads(done.stdout)
    return {
        "seconds": statistics.median(answer["seconds"]),
        "runs": len(answer["seconds"]),
        "accuracy": statistics.mean(answer["accuracies"]),
        "versions": answer["versions"],
    }


def _install(progress: Progress) -> bool:
    """Make the environment; False where that does not work, leaving nothing behind."""
    progress.say("making an environment for diffprivlib")
    pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [[sys.executable, "-m", "venv", ENVIRONMENT], [*pip, "diffprivlib>=0.6", "scikit-learn<1.8"]]
    for command in commands:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            subprocess.run(["rm", "-rf", ENVIRONMENT], check=False)
            return False
    return True


def checks(results: Results) -> list[Check]:
    found = []
    for name, goal in TARGETS.items():
        entry = results["data"].get(name)
        ratio = entry and entry["hardzero"]["median"] / entry["liblinear"]["seconds"]
        bound = "≤ " if entry and entry["liblinear"]["cut_off"] else ""
        found.append(at_most(f"{name}: hardzero / liblinear", goal, ratio, bound=bound))
    private = results.get("private", {})
    own, other = private.get("hardzero"), private.get("diffprivlib")
    both = own and other
    found.append(
        at_most("dense a9a: hardzero / diffprivlib", 1.0, own["seconds"] / other["seconds"] if both else None)
    )
    gain = 100 * (own["accuracy"] - other["accuracy"]) if both else None
    text = "dense a9a: accuracy gained over diffprivlib"
    found.append(
        at_least(text, 0, gain, " points")
        if gain is None or gain >= 0
        else Check(text, "≥ 0 points", f"-{number(-gain)} points", False)
    )
    return found


def page(results: Results) -> str:
    rows = []
    for name, entry in results["data"].items():
        own, rival = entry["hardzero"]["median"], entry["liblinear"]
        mark, inverse = ("≥ ", "≤ ") if rival["cut_off"] else ("", "")
        once = " (one run)" if rival["runs"] == 1 and not rival["cut_off"] else ""
        cut = " (cut off)" if rival["cut_off"] else ""
        rows.append([
            f"{name} ({entry['rows']:,} × {entry['features']:,})", time_text(own),
            f"{mark}{time_text(rival['seconds'])}{once}{cut}",
            f"{inverse}{number(own / rival['seconds'])}×", str(entry["kept"]),
        ])  # fmt: skip
    text = f"""\
The whole `SparsePrivateLogisticRegression(epsilon=1, bounds=…).fit` with its defaults, preparation included, against
one fit of scikit-learn's `LogisticRegression` with an L1 penalty, liblinear and C = 1 on the same data, scaled
and clipped beforehand. liblinear's model is neither private nor tuned. Of the newsgroups one class is told from the
rest. liblinear is cut off after {results["patience"]:g} s; its time so far is then a lower bound.

{table(["data", "hardzero", "liblinear", "hardzero / liblinear", "features kept"], rows)}"""
    if "private" not in results:
        return text
    labels = {
        "hardzero": "hardzero's select-then-refit",
        "diffprivlib": "diffprivlib `LogisticRegression`",
        "descent": f"gradient descent by hand, {DESCENT_STEPS} steps",
    }
    private = results["private"]
    lines = [
        [labels[name], time_text(private[name]["seconds"]), f"{100 * private[name]['accuracy']:.1f} %"]
        for name in labels
        if name in private
    ]
    return f"""{text}

Private methods on dense a9a, all at ε = 1 with their own δ (hardzero and descent n^-1.5, diffprivlib 0), tested on
a9a's test part; mean accuracy over the runs. diffprivlib needs an older scikit-learn and so runs in an environment
and a process of its own, not in turn with the others; it is told that a row's norm is at most √14. The descent
clips rows to norm 1 and adds Gaussian noise to full gradients; its step count and rate were not tuned.

{table(["method", "fit", "test accuracy"], lines)}"""
