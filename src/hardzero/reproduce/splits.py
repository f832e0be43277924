"""Splits as the paper makes them, and what is measured on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from .. import datasets
from .rows import Result, Trial

SYNTHETIC_SUPPORT = 8
"""The first eight true weights of the synthetic data are not zero."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to test on, features within [-1, 1].

    Privacy
    -------
    Sensitive, and scaled by the records themselves: for reproduction only.
    """

    X_train: Any
    y_train: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]

    @property
    def delta(self) -> float:
        """The paper's δ."""
        return 1 / len(self.y_train)


@lru_cache(maxsize=1)
def _scaled(name: str, part: str) -> datasets.Dataset:
    return datasets.max_abs_scaled(datasets.load(name, part))


@lru_cache(maxsize=1)
def _kdd99() -> datasets.Dataset:
    return datasets.load("kdd99")


@lru_cache(maxsize=1)  # trials come sorted, so that one split serves all methods
def load_split(name: str, seed: int) -> Split:
    """80 % of the rows for training; 426 rows of breast-cancer; the given test part where a set is tested on one.

    Features are divided by their largest absolute value, taken for public here as in the paper. Of gisette only
    its test part is used.

    Privacy
    -------
    Sensitive: returns raw records.
    """
    rng = np.random.default_rng(seed)
    if name in ("mnist", "dna"):
        known, unseen = datasets.load(name), datasets.load(name, "test")
        high = 255.0 if name == "mnist" else 1.0
        return Split(known.X / high, known.y, unseen.X / high, unseen.y)
    if name == "synthetic":
        data = datasets.make_synthetic(seed=seed)[0]
    elif name == "kdd99":
        data = datasets.kdd99_paper_protocol(seed, _kdd99())
    else:
        data = _scaled(name, "test" if name == "gisette" else "train")
    order = rng.permutation(len(data.y))
    size = 426 if name == "breast-cancer" else int(0.8 * len(order))
    y = (data.y == data.classes[1]).astype(int) if len(data.classes) == 2 else data.y
    train, test = order[:size], order[size:]
    return Split(data.X[train], y[train], data.X[test], y[test])


def measure(model: Any, split: Split, name: str) -> Result:
    """Accuracy and AUC (two classes) in percent, nonzero weights; for the synthetic set how well zeros were found.

    Privacy
    -------
    Sensitive: computed from the test rows without noise.
    """
    support = np.flatnonzero(model.coef_)
    result: Result = {
        "accuracy": float(100 * model.score(split.X_test, split.y_test)),
        "nonzeros": len(support),
    }
    if len(model.classes_) == 2:
        result["auc"] = float(100 * roc_auc_score(split.y_test, model.decision_function(split.X_test)))
    if name == "synthetic":
        found = int(np.count_nonzero(support < SYNTHETIC_SUPPORT))
        zeros = model.coef_.size - len(support)
        result["f1"] = 2 * found / (len(support) + SYNTHETIC_SUPPORT)
        result["incorrect_zeros"] = SYNTHETIC_SUPPORT - found
        result["correct_zeros"] = zeros - result["incorrect_zeros"]
    return result


def evaluate(fit: Callable[[Trial, Split], Any], trial: Trial) -> Result:
    """Fit a trial's model on its split and measure it there.

    Privacy
    -------
    Sensitive, as `measure` is.
    """
    split = load_split(trial.data, trial.seed)
    return measure(fit(trial, split), split, trial.data)
