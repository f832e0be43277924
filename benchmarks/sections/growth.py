"""How time grows with rows, features, nonzeros, steps and classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RADIUS, Check, Progress, Results, Setting, at_most, table, time_text
from lookalikes import Sample, dense_sample, sparse_sample
from timing import Job, interleave

from hardzero import PrivateLassoLogisticRegression, SparsePrivateLogisticRegression

TITLE = "Growth"
STEPS = 200
PICTURE = "benchmark-growth"
AXES = {"nnz": "nonzeros", "n": "rows", "p": "features", "T": "steps", "K": "classes"}
HELD = {
    "nnz": "rows and features",
    "n": "features and nonzeros",
    "p": "rows and nonzeros",
    "T": "the data",
    "K": "rows and features (dense)",
}
Make = Callable[[int], tuple[Sample, int]]


def _axes(shrink: int) -> dict[str, tuple[list[int], Make]]:
    """For each axis its values, and what they mean: a sample and a number of steps."""
    rows, features, total = 40_000 // shrink, 100_000 // shrink, 4_000_000 // shrink
    sizes = [1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000]
    return {
        "nnz": (
            [size // shrink for size in sizes],
            lambda size: (sparse_sample(rows, features, max(size / rows, 1)), STEPS),
        ),
        "n": (
            [count // shrink for count in (10_000, 20_000, 40_000, 80_000, 160_000)],
            lambda count: (sparse_sample(count, features, max(total / count, 1)), STEPS),
        ),
        "p": (
            [count // shrink for count in (20_000, 60_000, 200_000, 600_000, 2_000_000)],
            lambda count: (sparse_sample(rows, count, min(max(total / rows, 1), count / 4)), STEPS),
        ),
        "T": (
            [max(steps // shrink, 2) for steps in (125, 250, 500, 1000, 2000)],
            lambda steps: (sparse_sample(rows, features, max(total / rows, 1)), steps),
        ),
        "K": (
            [2, 4, 8, 16],
            lambda classes: (dense_sample(20_000 // shrink, 200, classes=classes), STEPS),
        ),
    }


def _jobs(axis: str, sample: Sample, steps: int) -> dict[str, Job]:
    lasso = PrivateLassoLogisticRegression(
        1.0, 1 / sample.rows, bounds=sample.bounds, radius=RADIUS, n_iter=steps, classes="from-y"
    )
    jobs = {"Private LASSO": Job(lambda: lasso.fit(sample.X, sample.y))}
    if axis != "T":
        ours = SparsePrivateLogisticRegression(1.0, bounds=sample.bounds, classes="from-y")
        jobs["select-then-refit"] = Job(lambda: ours.fit(sample.X, sample.y))
    return jobs


def measure(setting: Setting, progress: Progress) -> Results:
    results: Results = {"steps": STEPS, "axes": {}}
    shrink = min(setting.shrink, 50)
    for axis, (values, make) in _axes(shrink).items():
        points: list[dict[str, Any]] = []
        for value in values if setting.name != "tiny" else values[:2]:
            sample, steps = make(value)
            timings = interleave(_jobs(axis, sample, steps), max(setting.rounds // 2, 1), setting.limit)
            size = sample.nonzeros if axis == "nnz" else value
            points.append({"value": size, "seconds": {name: timing.median for name, timing in timings.items()}})
            shown = ", ".join(f"{name} {time_text(timing.median)}" for name, timing in timings.items())
            progress.say(f"{axis} = {size:,}: {shown}")
        names = points[0]["seconds"]
        results["axes"][axis] = {"points": points, "slopes": {name: _slope(points, name) for name in names}}
    return results


def _slope(points: list[dict[str, Any]], name: str) -> float:
    """Slope of the line through the logarithms."""
    x = np.log([point["value"] for point in points])
    y = np.log([point["seconds"][name] for point in points])
    return float(np.polyfit(x, y, 1)[0])


def checks(results: Results) -> list[Check]:
    axes = results["axes"]
    slope = axes["nnz"]["slopes"]["Private LASSO"] if "nnz" in axes else None
    text = "Private LASSO, whole fit: slope in nonzeros"
    found = [Check(text, "0.9 to 1.1", "–", None)]
    if slope is not None:
        found = [Check(text, "0.9 to 1.1", f"{slope:.2f}", 0.9 <= slope <= 1.1)]
    for axis, goal in (("T", 1.05), ("p", 0.95)):
        value = axes[axis]["slopes"]["Private LASSO"] if axis in axes else None
        if value is not None and value <= 0.1:
            found.append(Check(f"Private LASSO, whole fit: slope in {AXES[axis]}", f"≤ {goal}", f"{value:.2f}", True))
        else:
            found.append(at_most(f"Private LASSO, whole fit: slope in {AXES[axis]}", goal, value, unit=""))
    return found


def page(results: Results) -> str:
    rows = []
    for axis, entry in results["axes"].items():
        points = entry["points"]
        span = f"{points[0]['value']:,} to {points[-1]['value']:,}"
        for name, slope in entry["slopes"].items():
            times = f"{time_text(points[0]['seconds'][name])} to {time_text(points[-1]['seconds'][name])}"
            rows.append([f"{AXES[axis]} ({axis})", name, HELD[axis], span, times, f"{slope:.2f}"])
    return f"""\
Time of a whole fit at ε = 1, preparation included, while one size grows and others are held. Private LASSO takes
{results["steps"]} steps, but for the row about steps. The slope is that of a line through the logarithms of all
points: 1 is linear growth, 0 none. Sparse data come from `sparse_sample`, dense from `dense_sample` in
`benchmarks/lookalikes.py`. A fit has parts that depend on one size and parts that do not, so a slope belongs to its
range.

![Time of a fit against each size, both on logarithmic scales](figures/{PICTURE}.svg)

{table(["what grows", "estimator", "held", "from … to", "time from … to", "slope"], rows)}"""


def draw(results: Results, folder: Path) -> None:
    """Draw one log-log panel for each size."""
    import matplotlib as mpl  # noqa: PLC0415 - only the page needs it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.rcParams["svg.hashsalt"] = PICTURE
    axes = results["axes"]
    figure, panels = plt.subplots(1, len(axes), figsize=(3.0 * len(axes), 3.1), sharey=True, layout="constrained")
    for panel, (axis, entry) in zip(np.atleast_1d(panels), axes.items(), strict=True):
        for (name, slope), marker in zip(entry["slopes"].items(), "os", strict=False):
            x = np.array([point["value"] for point in entry["points"]], dtype=float)
            y = np.array([point["seconds"][name] for point in entry["points"]])
            (line,) = panel.loglog(x, y, marker, markersize=4, label=f"{name}: {slope:.2f}")
            fitted = np.exp(np.log(y).mean() + slope * (np.log(x) - np.log(x).mean()))
            panel.loglog(x, fitted, color=line.get_color(), linewidth=1)
        panel.set_xlabel(AXES[axis])
        if x.max() < 100 * x.min():  # powers of ten would leave such an axis nearly without labels
            panel.set_xticks(
                x, [f"{value:,.0f}" if value < 1e5 else f"{value / 1e6:.3g}M" for value in x], fontsize=7
            )
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend(title="slope", fontsize=7, title_fontsize=7)
    np.atleast_1d(panels)[0].set_ylabel("seconds for a fit")
    for ending, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        figure.savefig(folder / f"{PICTURE}.{ending}", metadata=metadata, dpi=120)
    plt.close(figure)
