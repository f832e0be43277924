"""A full pass and an average step against the time one thread needs to read the data once."""

from __future__ import annotations

from dataclasses import dataclass

import machine
import numpy as np
from common import RADIUS, Check, Progress, Results, Setting, at_most, number, table, time_text
from lookalikes import Sample
from timing import Job, interleave

from hardzero.data.bounded import RESIDUAL_ONE
from hardzero.methods.private_lasso import plan_lasso
from hardzero.optim.balls import L1Ball
from hardzero.optim.frank_wolfe import Selector, frank_wolfe
from hardzero.optim.losses import residual_codes
from hardzero.optim.problem import Problem
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.mechanisms import SignedScores
from hardzero.privacy.randomness import source_for
from sections.steps import private_steps

TITLE = "The memory bound"
EPSILON = 50.0
BELOW_ONE_PASS = ("gisette-like", "rcv1-like", "news20-like", "big", "big, rare signal")
SLOWER_THAN_FULL_PASS = 1.3
SHORT_INDEX_ROWS = 65_536


def bytes_of_one_pass(sample: Sample) -> int:
    """Bytes of the values and indices that one pass over the data must read, stored tightly.

    Values take 4 bytes (17 bits are needed). By columns, a row's number takes 2 bytes up to 65,536 rows and 4 beyond.
    """
    index = 0 if not sample.is_sparse else 2 if sample.rows <= SHORT_INDEX_ROWS else 4
    return sample.nonzeros * (4 + index)


def full_pass(problem: Problem) -> Job:
    """One pass over all rows: the gradient of all features."""
    margins = np.zeros((problem.data.n_rows, 1))
    codes = residual_codes(problem.loss, margins, problem.targets, RESIDUAL_ONE)
    return Job(lambda: problem.data.gradient(codes))


@dataclass(frozen=True)
class Fresh:
    """A selector that allows no stale residual, so that (nearly) every step passes over all rows."""

    selector: Selector

    def __call__(self, scores: SignedScores, cap: int) -> tuple[int, int]:
        """Choose as the other one does."""
        return self.selector(scores, cap)

    def tolerances(self, n_rows: int, steps: np.ndarray, stalest: float) -> list[int]:
        """None."""
        return [0] * len(steps)


def full_pass_steps(problem: Problem, steps: int) -> Job:
    """The first steps of the same fit with fresh residuals: a look at all rows and a full pass each."""
    budget = Budget(EPSILON, 1 / problem.data.n_rows)
    selector = Fresh(plan_lasso(budget, Neighbours.ZERO_OUT, "tight", 1000).selector(source_for(None)))
    return Job(lambda: frank_wolfe(problem, L1Ball(RADIUS), steps, selector), steps)


def measure(setting: Setting, progress: Progress) -> Results:
    words = machine.memory(1000 if setting.name == "full" else 100)
    way, read = machine.fastest_reader(words)
    results: Results = {"way": way, "bytes_read": words.nbytes, "data": {}}
    for name in setting.lookalikes:
        sample = progress.sample(name, setting.shrink)
        if sample is None:
            continue
        problem = sample.problem()
        size = bytes_of_one_pass(sample)
        small = words[: max(size // 8, 1)]
        repeats = max(1, 2_000_000 // size)
        jobs = {
            "read": Job(lambda: read(words)),
            "read as much": Job(lambda small=small, repeats=repeats: [read(small) for _ in range(repeats)], repeats),
            "full pass": full_pass(problem),
            "step": private_steps(problem, EPSILON, setting.steps),
            "full-pass step": full_pass_steps(problem, min(setting.steps, max(3, 20_000_000 // sample.nonzeros))),
        }
        timings = {key: timing.record() for key, timing in interleave(jobs, setting.rounds, setting.limit).items()}
        speed = words.nbytes / timings["read"]["median"]
        results["data"][name] = {**sample.shape(), "pass_bytes": size, "bound": size / speed, "timings": timings}
        progress.say(
            f"{name}: {speed / 1e9:.1f} GB/s, bound {time_text(size / speed)}, "
            f"pass {time_text(timings['full pass']['median'])}, step {time_text(timings['step']['median'])}"
        )
    return results


def _pass_goal(entry: Results) -> float:
    if not entry["sparse"]:
        return 1.5
    return 3.0 if entry["rows"] <= SHORT_INDEX_ROWS else 5.0


def checks(results: Results) -> list[Check]:
    found = []
    for name, entry in results["data"].items():
        ratio = entry["timings"]["full pass"]["median"] / entry["bound"]
        found.append(at_most(f"{name}: full pass / bound", _pass_goal(entry), ratio))
    for name in BELOW_ONE_PASS:
        entry = results["data"].get(name)
        ratio = entry and entry["timings"]["step"]["median"] / entry["bound"]
        found.append(at_most(f"{name}: average step at ε = 50 / bound of one pass", 1.0, ratio))
    for name, entry in results["data"].items():
        ratio = entry["timings"]["step"]["median"] / entry["timings"]["full-pass step"]["median"]
        found.append(at_most(f"{name}: average step at ε = 50 / full-pass step", SLOWER_THAN_FULL_PASS, ratio))
    return found


def page(results: Results) -> str:
    rows = []
    for name, entry in results["data"].items():
        timings, bound = entry["timings"], entry["bound"]
        rows.append([
            name,
            f"{entry['pass_bytes'] / 1e6:,.1f} MB",
            f"{results['bytes_read'] / timings['read']['median'] / 1e9:.1f} GB/s",
            time_text(bound),
            time_text(timings["read as much"]["median"]),
            f"{time_text(timings['full pass']['median'])} ({number(timings['full pass']['median'] / bound)}×)",
            f"{time_text(timings['step']['median'])} ({number(timings['step']['median'] / bound)}×)",
            time_text(timings["full-pass step"]["median"]),
        ])  # fmt: skip
    head = [
        "data", "one pass reads", "bandwidth", "bound", "the same bytes, read alone", "full pass", "step, ε = 50",
        "full-pass step",
    ]  # fmt: skip
    return f"""\
No method that looks at all the data can take a step faster than one thread can read the data. The *bandwidth* is
measured in the same run, in turn with the rest: one read of {results["bytes_read"] / 1e9:.1f} GB, by the fastest of
four ways ({results["way"]}). The *bound* is that bandwidth on the bytes that one pass must read at least: 4 bytes a
value, and for sparse data 2 bytes a row number up to 65,536 rows, 4 beyond. Data that fit into a processor cache
can be read faster than that; the next column is a read of as many bytes, again and again, without any work on them.
*Full pass* is the exact gradient of all features from all rows; *step* is an average step of private Frank-Wolfe at
ε = 50 on prepared data; *full-pass step* is an average over the first steps of the same fit if no residual may be
stale, so that most steps pass over all rows. In brackets: times the bound.

{table(head, rows)}"""
