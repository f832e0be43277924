"""What a ledger costs a fit in time, and what many fits cost together when they are composed and not added."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from common import Check, Progress, Results, Setting, at_most, number, table, time_text
from timing import Job, interleave

from hardzero import (
    Budget,
    DensePrivateLogisticRegression,
    Ledger,
    PrivateLassoLogisticRegression,
    RepeatedFitWarning,
    SparsePrivateLogisticRegression,
)
from hardzero.estimators._linear import Shape
from hardzero.ledger.filters import ACCOUNTANTS, Filter, cost_of
from hardzero.optim.losses import Logistic

TITLE = "The ledger"
CAP = Budget(1000.0, 1e-6)
"""Large enough for every fit that is timed."""
EARLIER = {"full": (0, 1000), "quick": (0, 100), "tiny": (0, 10)}
TARGET = 5.0  # percent of a fit
METHODS = {
    "select-then-refit": SparsePrivateLogisticRegression(1.0, bounds=(0, 1), classes="from-y"),
    "Private LASSO": PrivateLassoLogisticRegression(1.0, bounds=(0, 1), classes="from-y"),
}
MANY = 10
ROWS, FEATURES = 26_048, 123
TENTH = {
    "select-then-refit": SparsePrivateLogisticRegression,
    "gradient steps": DensePrivateLogisticRegression,
    "Private LASSO": PrivateLassoLogisticRegression,
}


def measure(setting: Setting, progress: Progress) -> Results:
    results: Results = {"fits": {}, "together": _together()}
    sample = progress.sample("a9a", setting.shrink)
    if sample is None:
        return results
    for name, model in METHODS.items():
        results["fits"][name] = {}
        plan = model._plan(Shape(sample.rows, sample.features, Logistic()))
        for earlier in EARLIER[setting.name]:
            with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # temporary folders may be kept in memory
                timings = _timed(
                    model, plan, sample, Ledger(Path(folder) / "ledger.db", "a9a", cap=CAP), earlier, setting
                )
            results["fits"][name][str(earlier)] = {job: timing.record() for job, timing in timings.items()}
            share = timings["ledger"].median / timings["fit"].median
            progress.say(
                f"{name}, {earlier:,} fits before: {time_text(timings['ledger'].median)}, {share:.1%} of a fit"
            )
    return results


def _timed(model, plan, sample, ledger, earlier, setting):
    def charge() -> None:
        ledger.refuse_beyond(plan.budget.epsilon, plan.budget.delta)
        with ledger.charged(plan.events, plan.spent, plan.neighbours, what=type(model).__name__):
            pass

    for _ in range(earlier + 1):
        charge()
    jobs = {"fit": Job(lambda: model.fit(sample.X, sample.y)), "ledger": Job(charge)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        return interleave(jobs, 4 * setting.rounds, setting.limit)


def _together() -> Results:
    """ε of ten fits of ε = 0.1 at δ = n^-1.5 each, as a table like a9a would have them, at δ = 1e-6."""
    found = {}
    for name, method in TENTH.items():
        model = method(0.1, bounds=(0, 1), classes=[0, 1])
        cost = cost_of(model._plan(Shape(ROWS, FEATURES, Logistic())).events * MANY)
        found[name] = {by: Filter.of_cap(by, Budget(1.0, 1e-6)).epsilon_of(cost) for by in ACCOUNTANTS}
    return found


def checks(results: Results) -> list[Check]:
    return [
        at_most(
            f"a9a, {name}, {int(earlier):,} fits before: ledger / fit",
            TARGET,
            100 * timings["ledger"]["median"] / timings["fit"]["median"],
            " %",
        )
        for name, sizes in results["fits"].items()
        for earlier, timings in sizes.items()
    ]


def page(results: Results) -> str:
    rows = [
        [
            f"{name}, {int(earlier):,} fits before",
            time_text(timings["fit"]["median"]),
            time_text(timings["ledger"]["median"]),
            f"{100 * timings['ledger']['median'] / timings['fit']['median']:.1f} %",
        ]
        for name, sizes in results["fits"].items()
        for earlier, timings in sizes.items()
    ]
    together = [[name, *(number(found[by]) for by in ACCOUNTANTS)] for name, found in results["together"].items()]
    return f"""\
What a ledger in a file adds to one fit to a9a: a look at what is left, the reservation, written to the disk before
the fit begins, and the note that it ended, which need not be. Fits and ledger run in turn. It does not matter how
many fits came before: each entry carries the sums. The disk decides: a reservation waits until the disk has it.

{table(["a9a", "fit", "ledger", "share"], rows)}

Ten fits of ε = 0.1 (δ = n^-1.5 each, n = {ROWS:,}, {FEATURES} features) cost together, at δ = 1e-6, by the two
accountants of [the ledger](how-to/ledger.md); one by one they would add up to ε = 1:

{table(["ten fits of", *ACCOUNTANTS], together)}
"""
