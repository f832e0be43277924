"""What all sections share: how much to measure, targets and whether they were met, numbers as text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lookalikes import Sample, sample

from hardzero.datasets import DataNotFound

RADIUS = 10.0
Results = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """How much is measured."""

    name: str
    shrink: int  # rows and features are divided by this
    steps: int  # of private Frank-Wolfe
    rounds: int  # turns that count
    limit: float  # seconds after which no new turn begins, for each data set
    patience: float  # seconds after which another package is cut off
    slice: float  # seconds of steps with constant cost in one turn
    lookalikes: tuple[str, ...]
    real: tuple[str, ...]
    install: bool = False  # whether an environment for diffprivlib may be made


FULL = Setting(
    "full", 1, 1000, 5, 20.0, 20.0, 0.7,
    ("synth", "a9a", "w8a", "gisette", "gisette-like", "rcv1-like", "news20-like", "big", "big, rare signal"),
    ("a9a", "covtype", "news20", "20news-bow"), True,
)  # fmt: skip
QUICK = Setting(
    "quick", 20, 100, 2, 1.0, 3.0, 0.1,
    ("synth", "a9a", "gisette-like", "rcv1-like", "news20-like", "big"), ("a9a", "news20"),
)  # fmt: skip
TINY = Setting("tiny", 400, 5, 1, 0.1, 0.5, 0.01, ("synth", "rcv1-like"), ("a9a",))


@dataclass
class Progress:
    """One line for each thing measured, and a list of what was left out."""

    section: str = ""
    skipped: list[str] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)

    def say(self, text: str) -> None:
        """Print one line, with the time since the start."""
        print(f"{time.perf_counter() - self.start:7.1f} s  {self.section:10s}  {text}", flush=True)

    def skip(self, what: str, why: str) -> None:
        """Leave something out, and say so here and on the page."""
        self.skipped.append(f"{what}: {why}")
        self.say(f"{what} skipped: {why}")

    def sample(self, name: str, shrink: int) -> Sample | None:
        """Make or load a sample; None, with a message, where its file is missing."""
        try:
            made = sample(name, shrink)
        except DataNotFound:
            self.skip(name, "its file is not here; set HARDZERO_DATA to the folder that has it")
            return None
        self.say(f"{name}: {made.rows:,} x {made.features:,}, {made.nonzeros:,} numbers")
        return made


Section = Callable[[Setting, Progress], Results]


@dataclass(frozen=True)
class Check:
    """A target beside what was measured; ``met`` is None where it was not measured."""

    what: str
    target: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """In one word."""
        return {True: "met", False: "**missed**", None: "not measured"}[self.met]


def at_least(what: str, goal: float, value: float | None, unit: str = "×", bound: str = "") -> Check:
    """Large is good. ``bound`` is put before the value, such as ≥ for a lower bound."""
    if value is None:
        return Check(what, f"≥ {number(goal)}{unit}", "–", None)
    return Check(what, f"≥ {number(goal)}{unit}", f"{bound}{number(value)}{unit}", value >= goal)


def at_most(what: str, goal: float, value: float | None, unit: str = "×", bound: str = "") -> Check:
    """Small is good. ``bound`` is put before the value, such as ≤ for an upper bound."""
    if value is None:
        return Check(what, f"≤ {number(goal)}{unit}", "–", None)
    return Check(what, f"≤ {number(goal)}{unit}", f"{bound}{number(value)}{unit}", value <= goal)


def number(value: float) -> str:
    """Three digits, without an exponent."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def time_text(seconds: float) -> str:
    """A time in the unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{float(f'{seconds / factor:.3g}'):,g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: first column text, the others figures."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])
