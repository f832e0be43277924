"""Do private metrics tell the truth? Two studies of hardzero.evaluation, zero-out unless said otherwise, δ = n^-1.5.

coverage   do 95 % intervals hold the true value, that of the model on the whole population, in simulations?
auc        how far is the private AUC from the exact one, on 10,000 rows of a9a and Adult at ε = 0.2?

Run:    HARDZERO_DATA=… .venv/bin/python experiments/evaluation.py coverage auc
Tables: .venv/bin/python experiments/evaluation_report.py [--print]

Rows go to experiments/results/evaluation-<study>.jsonl. What is there is not run again, unless by --renew other code
made it.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from hardzero import SparsePrivateLogisticRegression, datasets
from hardzero.evaluation import evaluate
from hardzero.evaluation.bins import Bins
from hardzero.evaluation.histogram import ROW, EvaluationPlan, plan_evaluation
from hardzero.evaluation.metrics import Findings, of_more_classes, of_two_classes
from hardzero.methods.plans import default_delta
from hardzero.model.evaluation import CLIP
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.mechanisms import Sensitive, gaussian
from hardzero.privacy.randomness import SeededSource
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.trials import Runner

RESULTS = Path(__file__).parent / "results"
SIMULATIONS = 1000
ROWS, EPSILONS = (500, 5_000, 50_000), (0.1, 1.0)
SEED = 20
FloatArray = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Population:
    """Margins that are normal, and the log odds of the second class as a line of them: slope 1 is calibrated."""

    mean: float
    spread: float
    shift: float = 0.0
    slope: float = 1.0


POPULATIONS = {
    "calibrated": Population(0.0, 1.5),
    "rarer class, like Adult": Population(-2.0, 2.0),
    "underconfident": Population(-1.5, 1.0, 0.3, 1.6),
    "overconfident": Population(-1.0, 2.5, -0.2, 0.6),
    "sharp": Population(0.0, 5.0),
    "useless": Population(0.0, 1.0, -0.5, 0.0),
}


@dataclass(frozen=True)
class Truth:
    """What is true of a population: probabilities of all counts, and all figures by name."""

    chances: FloatArray
    figures: dict[str, FloatArray]


def truth_of_two(population: Population, bins: Bins) -> Truth:
    """True figures by summation over a fine grid of margins."""
    z = np.linspace(-7, 7, 400_001)
    margins = population.mean + population.spread * z
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    p, rate = expit(margins), expit(population.shift + population.slope * margins)
    first, second = weight * (1 - rate), weight * rate
    place = bins.of_margins(margins)
    by_class = np.array([np.bincount(place, part, bins.count) for part in (first, second)])
    clipped, upper = np.clip(p, CLIP, 1 - CLIP), bins.upper
    sizes = by_class.sum(axis=1)
    confusion = np.array([[part @ (1 - upper), part @ upper] for part in by_class])
    above = 1 - np.cumsum(by_class, axis=1)[:, :-1] / sizes[:, None]
    return Truth(
        by_class.ravel(),
        {
            "accuracy": np.trace(confusion),
            "balanced_accuracy": np.mean(np.diag(confusion) / sizes),
            "auc": second @ (np.cumsum(first) - first / 2) / (sizes[0] * sizes[1]),
            "log_loss": -second @ np.log(clipped) - first @ np.log1p(-clipped),
            "brier": second @ (1 - p) ** 2 + first @ p**2,
            "confusion": confusion.ravel(),
            "roc": above[:, ::-1].T.ravel(),
            "calibration": by_class[1] / by_class.sum(axis=0),
        },
    )


def truth_of_three(bins: Bins) -> Truth:
    """True figures of three classes, the probabilities being the true ones, from two million rows."""
    rng = np.random.default_rng(SEED)
    margins = rng.normal([0.5, 0.0, -0.5], 1.5, (2_000_000, 3))
    chances = softmax(margins, axis=1)
    places = (rng.random((len(margins), 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=2)
    true = chances[np.arange(len(places)), places]
    cells = (places * 3 + margins.argmax(axis=1)) * bins.count + bins.of_probabilities(true)
    together = np.bincount(cells, minlength=9 * bins.count) / len(places)
    confusion = together.reshape(3, 3, -1).sum(axis=2)
    figures = {
        "accuracy": np.trace(confusion),
        "balanced_accuracy": np.mean(np.diag(confusion) / confusion.sum(axis=1)),
        "log_loss": -np.mean(np.log(np.clip(true, CLIP, 1 - CLIP))),
        "brier": np.mean((1 - true) ** 2),
        "confusion": confusion.ravel(),
    }
    return Truth(together, figures)


def found_figures(found: Findings) -> dict[str, list[Any]]:
    """All figures by name."""
    every: dict[str, list[Any]] = {name: [figure] for name, figure in found.metrics.items()}
    every["confusion"] = [figure for line in found.confusion for figure in line]
    every["roc"] = [figure for point in found.roc for figure in (point.false_positives, point.true_positives)]
    every["calibration"] = [part.observed for part in found.calibration]
    return every


def findings(true: Truth, plan: EvaluationPlan, simulations: int, seed: int) -> Iterator[Findings]:
    """Draw tables, add the mechanism's noise, and see what comes of it."""
    rng, source = np.random.default_rng(seed), SeededSource(seed)
    for counts in rng.multinomial(plan.n_rows, true.chances / true.chances.sum(), simulations):
        if plan.n_classes > 2:
            joint = counts.reshape(plan.n_classes**2, -1)
            counts = np.concatenate([joint.sum(axis=1), joint.sum(axis=0)])  # noqa: PLW2901
        noisy = gaussian(Sensitive(ROW * counts), plan.sigma, source) / ROW
        if plan.n_classes == 2:
            yield of_two_classes(noisy, plan.bins, plan.noise, plan.rows)
        else:
            yield of_more_classes(noisy, plan.n_classes, plan.bins, plan.noise, plan.rows)


def simulated(trial: Trial) -> Row:
    """How often intervals hold the truth, how wide they are, and how far off values are in the median."""
    parameters = dict(trial.parameters)
    name, n_rows, simulations = trial.data, int(parameters["n_rows"]), int(parameters["simulations"])
    n_classes = 3 if name == "three classes" else 2
    plan = plan_evaluation(
        n_rows, n_classes, Budget(trial.epsilon, default_delta(n_rows)), Neighbours(trial.neighbours)
    )
    true = truth_of_three(plan.bins) if n_classes == 3 else truth_of_two(POPULATIONS[name], plan.bins)
    held, width, off = defaultdict(list), defaultdict(list), defaultdict(list)
    for found in findings(true, plan, simulations, trial.seed):
        for what, figures in found_figures(found).items():
            for figure, value in zip(figures, np.ravel(true.figures.get(what, [])), strict=True):
                held[what].append(figure.low <= value <= figure.high)
                width[what].append(figure.high - figure.low)
                off[what].append(math.nan if figure.value is None else figure.value - value)
    return {
        "bins": plan.bins.count,
        "noise": plan.noise,
        "held": {what: _nine_digits(np.mean(values)) for what, values in held.items()},
        "width": {what: _nine_digits(np.median(values)) for what, values in width.items()},
        "off": {what: _nine_digits(np.nanmedian(values)) for what, values in off.items()},
    }


def _nine_digits(value: Any) -> float:
    """Without the last digits, in which processors differ."""
    return float(f"{value:.9g}")


def coverage(simulations: int) -> list[Trial]:
    """All populations under zero-out, one under the other relations as well, and three classes."""
    cases = [(name, Neighbours.ZERO_OUT) for name in [*POPULATIONS, "three classes"]]
    cases += [("calibrated", relation) for relation in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE)]
    every = product(cases, ROWS, EPSILONS)
    return [
        Trial(name, "coverage", epsilon, relation.value, seed, (("n_rows", n_rows), ("simulations", simulations)))
        for seed, ((name, relation), n_rows, epsilon) in enumerate(
            every, SEED
        )  # else chance is shared by all of them
    ]


def evaluated(trial: Trial) -> Row:
    """A model of one part of a table, and how 10,000 rows of the rest judge it, with fresh noise each time."""
    table = datasets.load(trial.data)
    X = table.X.tocsr() if hasattr(table.X, "tocsr") else table.X
    order = np.random.default_rng(trial.seed).permutation(len(table.y))
    test, train = order[:10_000], order[10_000:]
    model = SparsePrivateLogisticRegression(
        1.0, bounds=table.bounds, classes=table.classes, random_state=trial.seed
    ).fit(X[train], table.y[train])
    exact = roc_auc_score(table.y[test] == model.classes_[1], model.decision_function(X[test]))
    figures = [
        evaluate(model, X[test], table.y[test], epsilon=trial.epsilon, random_state=seed).metrics["auc"]
        for seed in range(int(dict(trial.parameters)["evaluations"]))
    ]
    return {"exact": float(exact), "values": [figure.value for figure in figures]}


def auc(simulations: int) -> list[Trial]:
    """Five splits of each table."""
    few = (("evaluations", simulations // 5),)
    return [Trial(name, "auc", 0.2, "zero-out", split, few) for name in ("a9a", "adult") for split in range(5)]


STUDIES: dict[str, tuple[Callable[[int], list[Trial]], Callable[[Trial], Row]]] = {
    "coverage": (coverage, simulated),
    "auc": (auc, evaluated),
}


def main() -> None:
    """Run studies and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="run again what other code made")
    arguments = parser.parse_args()
    with Runner(arguments.jobs, renew=arguments.renew) as runner:
        for study in arguments.studies:
            trials, work = STUDIES[study]
            runner.run(trials(arguments.simulations), work, arguments.results / f"evaluation-{study}.jsonl")


if __name__ == "__main__":
    main()
