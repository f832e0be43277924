"""Private LASSO, step by step, against the paper's listing and plain NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import RADIUS, Check, Progress, Results, Setting, at_least, number, table, time_text
from listing import incremental, listing, published_noise
from lookalikes import Sample
from timing import Job, interleave, units_for

from hardzero import PrivateLassoLogisticRegression
from hardzero.methods.private_lasso import plan_lasso
from hardzero.optim.balls import L1Ball
from hardzero.optim.frank_wolfe import frank_wolfe
from hardzero.optim.problem import Problem
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.randomness import source_for

TITLE = "Private LASSO"
BUDGETS = (1.0, 50.0)
TARGETS = {  # times the listing's speed at ε = 1 and ε = 50
    "synth": (10, 10),
    "a9a": (8, 5),
    "gisette-like": (15, 10),
    "rcv1-like": (150, 50),
    "news20-like": (1000, 200),
    "big": (400, 30),
    "big, rare signal": (400, 30),
}
WITH_PREPARATION = {"news20-like": 80}


def private_steps(problem: Problem, epsilon: float, steps: int) -> Job:
    """Steps of hardzero's private Frank-Wolfe on data that is prepared."""
    budget = Budget(epsilon, 1 / problem.data.n_rows)
    plan = plan_lasso(budget, Neighbours.ZERO_OUT, "tight", steps)
    selector = plan.selector(source_for(None))
    return Job(lambda: frank_wolfe(problem, L1Ball(RADIUS), steps, selector), steps)


def fit(sample: Sample, epsilon: float, steps: int, **options: Any) -> Job:
    """The public estimator from the caller's matrix to weights."""
    model = PrivateLassoLogisticRegression(
        epsilon, 1 / sample.rows, bounds=sample.bounds, radius=RADIUS, n_iter=steps, classes="from-y", **options
    )
    return Job(lambda: model.fit(sample.X, sample.y))


def measure(setting: Setting, progress: Progress) -> Results:
    results: Results = {"steps": setting.steps, "data": {}}
    for name in setting.lookalikes:
        sample = progress.sample(name, setting.shrink)
        if sample is not None:
            results["data"][name] = _measure(sample, setting, progress)
    return results


def _measure(sample: Sample, setting: Setting, progress: Progress) -> Results:
    rng = np.random.default_rng(0)
    noise = published_noise(sample.rows, setting.steps, RADIUS, BUDGETS[0], 1 / sample.rows)
    by_columns = sample.X.tocsc() if sample.is_sparse else np.asfortranarray(sample.X)

    def plain(steps: int) -> object:
        return listing(sample.X, sample.y, steps, RADIUS, noise, rng)

    def kept(steps: int) -> object:
        return incremental(by_columns, sample.y, steps, RADIUS, noise, rng)

    few = units_for(plain, setting.slice, setting.steps)
    some = units_for(kept, setting.slice, setting.steps)
    problem = sample.problem()
    jobs = {"listing": Job(lambda: plain(few), few), "numpy": Job(lambda: kept(some), some)}
    jobs |= {f"steps {epsilon:g}": private_steps(problem, epsilon, setting.steps) for epsilon in BUDGETS}
    jobs |= {f"fit {epsilon:g}": fit(sample, epsilon, setting.steps) for epsilon in BUDGETS}
    timings = interleave(jobs, setting.rounds, 3 * setting.limit)
    base = timings["listing"].median
    shown = ", ".join(f"ε = {e:g}: {base / timings[f'steps {e:g}'].median:.1f}x" for e in BUDGETS)
    progress.say(f"{sample.name}: listing {time_text(base)} a step; {shown}")
    losses = {f"{epsilon:g}": _loss(problem, epsilon, setting.steps) for epsilon in BUDGETS}
    return {
        **sample.shape(),
        "timings": {name: timing.record() for name, timing in timings.items()},
        "losses": losses,
    }


def _loss(problem: Problem, epsilon: float, steps: int) -> float:
    """Mean loss after one private run: near log 2 noise has decided, and little changes from step to step."""
    plan = plan_lasso(Budget(epsilon, 1 / problem.data.n_rows), Neighbours.ZERO_OUT, "tight", steps)
    weights = frank_wolfe(problem, L1Ball(RADIUS), steps, plan.selector(source_for(None)))
    return problem.loss.value(problem.data.margins(weights.coef), problem.targets)


def _ratio(results: Results, name: str, job: str) -> float | None:
    """Times the listing's speed; a fit is held against as many steps of the listing."""
    entry = results["data"].get(name)
    if entry is None:
        return None
    timings = entry["timings"]
    units = results["steps"] if job.startswith("fit") else 1
    return float(timings["listing"]["median"] * units / timings[job]["median"])


def checks(results: Results) -> list[Check]:
    found = []
    for name, goals in TARGETS.items():
        for epsilon, goal in zip(BUDGETS, goals, strict=True):
            ratio = _ratio(results, name, f"steps {epsilon:g}")
            found.append(at_least(f"{name}, ε = {epsilon:g}: listing / hardzero", goal, ratio))
    for name, goal in WITH_PREPARATION.items():
        ratio = _ratio(results, name, "fit 1")
        found.append(at_least(f"{name}, ε = 1, whole fit with preparation: listing / hardzero", goal, ratio))
    return found


def page(results: Results) -> str:
    head = [
        "data",
        "listing",
        "NumPy",
        *(f"hardzero, ε = {e:g}" for e in BUDGETS),
        *(f"fit, ε = {e:g}" for e in BUDGETS),
        "loss",
    ]
    rows = []
    for name, entry in results["data"].items():
        timings = entry["timings"]
        steps = [
            f"{time_text(timings[f'steps {e:g}']['median'])} ({number(_ratio(results, name, f'steps {e:g}'))}×)"
            for e in BUDGETS
        ]
        fits = [
            f"{time_text(timings[f'fit {e:g}']['median'])} ({number(_ratio(results, name, f'fit {e:g}'))}×)"
            for e in BUDGETS
        ]
        own = [time_text(timings[job]["median"]) for job in ("listing", "numpy")]
        losses = " / ".join(f"{entry['losses'][f'{e:g}']:.3f}" for e in BUDGETS)
        rows.append([_label(name, entry), *own, *steps, *fits, losses])
    cold = [name for name, entry in results["data"].items() if not entry["timings"]["listing"]["warm"]]
    note = f"\n\nOne turn only, for want of time: {', '.join(cold)}." if cold else ""
    return f"""\
Private Frank-Wolfe with λ = 10, δ = 1/n, T = {results["steps"]:,} and no intercept. *Listing* is the paper's Appendix
B with its names repaired (`benchmarks/listing.py`): a margin for every row, a full gradient and 2p Laplace noises at
every step. *NumPy* keeps the margins from step to step, as one would write it by hand, with the same noises. The cost
of a step of these two is constant, so they are timed on fewer steps. hardzero's steps are timed on data that is
prepared, all {results["steps"]:,} of them; *fit* is the whole `PrivateLassoLogisticRegression.fit` from the caller's
matrix, with checks, scaling and conversion. Time of one step, and of one fit; in brackets how many times as fast as
the listing (a fit: as {results["steps"]:,} of its steps, which need no preparation). *Loss* is the mean loss that one
private run reached at the two budgets: near log 2 = 0.693 noise decides what is chosen, few residuals move and lazy
steps are cheapest.

{table(head, rows)}{note}"""


def _label(name: str, entry: Results) -> str:
    kind = f"{entry['nonzeros'] / entry['rows']:.0f} a row" if entry["sparse"] else "dense"
    return f"{name} ({entry['rows']:,} × {entry['features']:,}, {kind})"
