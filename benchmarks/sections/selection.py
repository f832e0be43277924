"""Selection by one draw of the operating system's randomness against noise on every candidate.

Interleaved: one of each in turn, so that each starts from the cache that the others left behind. In rounds: ten calls
of one, then ten of the next, as a solver repeats its selection.
"""

from __future__ import annotations

import numpy as np
from common import Check, Progress, Results, Setting, at_least, number, table, time_text
from timing import Job, in_rounds, interleave

from hardzero.privacy.mechanisms import Sensitive, select_signed
from hardzero.privacy.randomness import SystemSource

TITLE = "Selection"
ETA = 0.0156  # ε = 1, δ = 1e-5, T = 1000
SENSITIVITY = 2**36
SIZES = {"full": (10_000, 100_000, 1_360_000), "quick": (10_000, 100_000), "tiny": (1_000,)}
TARGET = 100
TARGET_FEATURES = 1_360_000


def laplace_argmin(values: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    """Add noise to all 2p scores, as the listing does."""
    scale = 2 * SENSITIVITY / ETA
    ahead = values + rng.laplace(scale=scale, size=len(values))
    back = rng.laplace(scale=scale, size=len(values)) - values
    return int(ahead.argmin()), int(back.argmin())


def gumbel_argmax(values: np.ndarray, rng: np.random.Generator) -> int:
    """Draw from the same distribution as hardzero, up to rounding, by noise on all 2p scores."""
    both = np.concatenate([values, -values]) * (ETA / 2 / SENSITIVITY)
    return int(np.argmax(both + rng.gumbel(size=len(both))))


def measure(setting: Setting, progress: Progress) -> Results:
    rng = np.random.default_rng(0)
    source = SystemSource()
    results: Results = {"sizes": {}}
    for features in SIZES[setting.name]:
        values = (rng.normal(size=features) * 1e3 * SENSITIVITY).astype(np.int64)
        jobs = {
            "hardzero": Job(lambda v=values: select_signed(Sensitive(v), SENSITIVITY, ETA, source)),
            "laplace": Job(lambda v=values: laplace_argmin(v, rng)),
            "gumbel": Job(lambda v=values: gumbel_argmax(v, rng)),
        }
        rounds = 4 * setting.rounds
        orders = {
            "interleaved": interleave(jobs, 5 * rounds, setting.limit),
            "rounds": in_rounds(jobs, 10, max(rounds // 10, 1)),
        }
        results["sizes"][str(features)] = {
            order: {name: timing.record() for name, timing in timings.items()} for order, timings in orders.items()
        }
        ratio = orders["interleaved"]["laplace"].median / orders["interleaved"]["hardzero"].median
        progress.say(f"p = {features:,}: Laplace / hardzero {ratio:.1f}")
    return results


def checks(results: Results) -> list[Check]:
    entry = results["sizes"].get(str(TARGET_FEATURES))
    timings = entry and entry["interleaved"]
    ratio = timings and timings["laplace"]["median"] / timings["hardzero"]["median"]
    return [at_least(f"p = {TARGET_FEATURES:,}, interleaved: 2p Laplace noises / hardzero", TARGET, ratio)]


def page(results: Results) -> str:
    rows = []
    for features, orders in results["sizes"].items():
        for order, timings in orders.items():
            own = timings["hardzero"]["median"]
            others = [timings[name]["median"] for name in ("laplace", "gumbel")]
            cells = [f"{time_text(taken)} ({number(taken / own)}×)" for taken in others]
            rows.append([f"{int(features):,}", order, time_text(own), *cells])
    return f"""\
One selection among 2p signed features from scratch: `select_signed` with the operating system's randomness, against
2p Laplace noises drawn by NumPy and the smallest score (the published way), and against 2p Gumbel noises and the
largest (the distribution that hardzero draws from). *Interleaved* runs one of each in turn; *rounds* runs ten of one,
then ten of the next. In brackets: how many times hardzero's time.

{table(["p", "order", "hardzero", "2p Laplace noises", "2p Gumbel noises"], rows)}"""
