"""Trials as data × method × ε × relation × seed, kept as JSON lines: an interrupted run goes on where it stopped.

Rows do not know which code made them: delete a method's rows after changing it.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.metrics import roc_auc_score

from hardzero import datasets

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Trial:
    """One fit on one split."""

    data: str
    method: str
    epsilon: float
    neighbours: str
    seed: int


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to test on, features within [-1, 1]."""

    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray

    @property
    def delta(self) -> float:
        return 1 / len(self.y_train)


@lru_cache(maxsize=1)
def scaled(name: str, part: str = "train") -> datasets.Dataset:
    """The paper's scaling: each feature divided by its largest absolute value, taken for public here."""
    return datasets.max_abs_scaled(datasets.load(name, part))


@lru_cache(maxsize=1)  # trials come sorted, so that one split serves all methods
def load_split(name: str, seed: int) -> Split:
    """80 % of the rows for training; 426 rows of breast-cancer; the given test part where a set is tested on one."""
    rng = np.random.default_rng(seed)
    if name in ("mnist", "dna"):
        train, test = datasets.load(name), datasets.load(name, "test")
        high = 255.0 if name == "mnist" else 1.0
        return Split(train.X / high, train.y, test.X / high, test.y)
    if name == "synthetic":
        data = datasets.make_synthetic(seed=seed)[0]
    elif name == "kdd99":
        data = datasets.kdd99_paper_protocol(seed)
    else:
        data = scaled(name, "test" if name == "gisette" else "train")
    order = rng.permutation(len(data.y))
    size = 426 if name == "breast-cancer" else int(0.8 * len(order))
    y = (data.y == data.classes[1]).astype(int) if len(data.classes) == 2 else data.y
    train, test = order[:size], order[size:]
    return Split(data.X[train], y[train], data.X[test], y[test])


def measure(model: object, split: Split, name: str) -> dict[str, float]:
    """Accuracy, AUC (two classes), nonzero weights, and for the synthetic set how well the support was found."""
    result = {
        "accuracy": float(100 * model.score(split.X_test, split.y_test)),
        "nonzeros": int(np.count_nonzero(model.coef_)),
    }
    if len(model.classes_) == 2:
        result["auc"] = float(100 * roc_auc_score(split.y_test, model.decision_function(split.X_test)))
    if name == "synthetic":
        support = np.flatnonzero(model.coef_)
        result["f1"] = float(2 * np.count_nonzero(support < 8) / (len(support) + 8))
    return result


def run(trials: Iterable[Trial], fit: Callable[[Trial, Split], object], path: Path, jobs: int) -> None:
    """Run what is not in the file yet; every finished trial is written at once."""
    done = set()
    if path.exists():
        done = {tuple(json.loads(line)["trial"].values()) for line in path.read_text().splitlines()}
    todo = [trial for trial in trials if tuple(asdict(trial).values()) not in done]
    todo.sort(key=lambda trial: (trial.data, trial.seed))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    path.parent.mkdir(parents=True, exist_ok=True)
    with Progress(*columns) as progress, ProcessPoolExecutor(jobs) as pool, path.open("a") as out:
        bar = progress.add_task(path.stem, total=len(todo))
        for future in as_completed([pool.submit(_one, trial, fit) for trial in todo]):
            out.write(json.dumps(future.result()) + "\n")
            out.flush()
            progress.advance(bar)


def _one(trial: Trial, fit: Callable[[Trial, Split], object]) -> dict[str, object]:
    split = load_split(trial.data, trial.seed)
    start = time.perf_counter()
    model = fit(trial, split)
    seconds = time.perf_counter() - start
    return {"trial": asdict(trial), "result": measure(model, split, trial.data), "seconds": round(seconds, 3)}


def read(*paths: Path) -> list[tuple[Trial, dict[str, float]]]:
    """All finished trials."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return [(Trial(**line["trial"]), line["result"]) for line in lines]


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    array = np.array(list(values), dtype=float)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else math.nan
