"""Selection by one draw of the operating system's randomness against noise on every candidate.

Interleaved: one of each in turn, so that each starts from the cache that the others left behind. In rounds: ten calls
of one, then ten of the next, as a solver repeats its selection.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from common import Check, Progress, Results, Setting, at_least, number, table, time_text
from timing import Job, in_rounds, interleave

from hardzero import kernels
from hardzero.privacy.mechanisms import Sensitive, SignedScores, block_size, select_signed
from hardzero.privacy.randomness import Source, SystemSource

TITLE = "Selection"
ETA = 0.0156  # ε = 1, δ = 1e-5, T = 1000
SENSITIVITY = 2**32
SIZES = {"full": (10_000, 100_000, 1_360_000), "quick": (10_000, 100_000), "tiny": (1_000,)}
SPREADS = (10, 1000)  # standard deviation of the scores, in sensitivities
TARGET = 100
TARGET_FEATURES = 1_360_000


def from_scratch(values: np.ndarray, source: Source) -> tuple[int, int]:
    """Find the largest magnitude of each block, then draw."""
    return in_a_step(values, kernels.block_tops(values, block_size(len(values))), source)


def in_a_step(values: np.ndarray, tops: np.ndarray, source: Source) -> tuple[int, int]:
    """Draw, with the largest magnitudes that the engine keeps from step to step."""
    return select_signed(
        SignedScores(Sensitive(values), Sensitive(tops), _names(len(values))), SENSITIVITY, ETA, source
    )


@cache
def _names(count: int) -> Sensitive[np.ndarray]:
    return Sensitive(np.arange(count))


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
        spreads = {}
        for spread in SPREADS:
            values = (rng.normal(size=features) * spread * SENSITIVITY).astype(np.int64)
            tops = kernels.block_tops(values, block_size(features))
            jobs = {
                "in a step": Job(lambda v=values, tops=tops: in_a_step(v, tops, source)),
                "from scratch": Job(lambda v=values: from_scratch(v, source)),
                "laplace": Job(lambda v=values: laplace_argmin(v, rng)),
                "gumbel": Job(lambda v=values: gumbel_argmax(v, rng)),
            }
            rounds = 4 * setting.rounds
            orders = {
                "interleaved": interleave(jobs, 5 * rounds, setting.limit),
                "rounds": in_rounds(jobs, 10, max(rounds // 10, 1)),
            }
            spreads[str(spread)] = {
                order: {name: timing.record() for name, timing in timings.items()}
                for order, timings in orders.items()
            }
            own = orders["interleaved"]
            ratio = own["laplace"].median / own["in a step"].median
            progress.say(f"p = {features:,}, spread {spread}: Laplace / hardzero {ratio:.1f}")
        results["sizes"][str(features)] = spreads
    return results


def checks(results: Results) -> list[Check]:
    found = []
    for spread in SPREADS:
        entry = results["sizes"].get(str(TARGET_FEATURES))
        timings = entry and entry[str(spread)]["interleaved"]
        for way in ("in a step", "from scratch"):
            ratio = timings and timings["laplace"]["median"] / timings[way]["median"]
            what = f"p = {TARGET_FEATURES:,}, scores spread over {spread} sensitivities, {way}: 2p Laplace / hardzero"
            found.append(at_least(what, TARGET, ratio))
    return found


def page(results: Results) -> str:
    rows = []
    for features, spreads in results["sizes"].items():
        for spread, orders in spreads.items():
            for order, timings in orders.items():
                own = timings["in a step"]["median"]
                others = [timings[name]["median"] for name in ("from scratch", "laplace", "gumbel")]
                cells = [f"{time_text(taken)} ({number(taken / own)}×)" for taken in others]
                rows.append([f"{int(features):,}", spread, order, time_text(own), *cells])
    return f"""\
One selection among 2p signed features with the operating system's randomness. *In a step*: `select_signed` with the
largest magnitude of each block at hand, as the engine keeps them from step to step. *From scratch*: finding them
first, one pass over the scores. Against 2p Laplace noises drawn by NumPy and the smallest score (the published way),
and against 2p Gumbel noises and the largest (the distribution that hardzero draws from). Scores are normal with a
standard deviation of so many sensitivities (*spread*): at 10 noise decides, at 1000 some features stand out.
*Interleaved* runs one of each in turn, so that each starts from the cache that the others left behind; *rounds* runs
ten of one, then ten of the next. In brackets: how many times the first column's time.

{table(["p", "spread", "order", "in a step", "from scratch", "2p Laplace noises", "2p Gumbel noises"], rows)}"""
