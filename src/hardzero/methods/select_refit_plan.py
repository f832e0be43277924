"""How select-then-refit spends its budget: every number from public quantities (docs/select-refit.md has them)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..data.variables import Variables
from ..optim.descent import Pace
from ..privacy import accounting
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import Event, GaussianRelease, Repeated, Selection
from .plans import charged

# Shares of the budget (ρ). Screening and its base rate come off the top, and only where they are needed.
_SCREEN, _SCREEN_RATE = 0.25, 0.02
_LENGTH, _MOMENTS, _CURVATURE = 0.02, 0.08, 0.1
_FINAL = 0.5  # of what is left, for the refit
_ELIMINATIONS = 2
_TAIL, _FINAL_TAIL, _PLAIN_TAIL = 0.5, 0.8, 0.3
"""Shares of a descent's steps that count for where it lands: a refit starts near its end. The last is for several
classes, which have no Newton step to make up for the way there."""
_LEANING, _LEANING_SIGNAL = 1.0, 500.0
"""Where a weight is to be called real, the first plus the second over the signal more features count as noise."""
_TELLING_SIGNAL = 200.0
"""With less signal than this no weight is called real: so little of it cannot bear a judgement of its own."""
# Steps of a descent: proportional to (signal to noise)^⅔, as Corollary 3 has it for Frank-Wolfe.
_STEPS, _FEWEST_STEPS, _MOST_STEPS = 0.33, 8, 300
_CURVATURE_SIGNAL = 14.0
"""The curvature of k features is released where the signal exceeds this times k^1.5: below, it would be noise."""
_FEATURES, _FEATURES_OF_VARIABLES = 2.0, 5.0
"""Weights kept at most, by the root of the number of features: features alone, and those of whole variables."""
_FEWEST_CUTS, _SIGNAL_OF_STEPS = 15, 180.0
"""So many cut points of a variable take part anyway; more as long as all steps together are at most the square of the
signal over the second: with more, noise would hide how far single ones spread."""
_FEWEST_VARIABLES, _VARIABLES = 12, 3.0
"""So many variables fit on a page; or the second times the root of their number are kept, where that is more."""


class Stage(NamedTuple):
    """One descent, after which ``kept`` weights survive, of at most ``variables`` variables.

    ``guided`` is how many steps follow those of ``pace``, with the same noise, once the curvature has been released.
    """

    pace: Pace
    kept: int
    variables: int
    guided: int = 0

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return self.pace.steps + self.guided

    @property
    def landing_steps(self) -> int:
        """How many of them count for where the descent lands."""
        return self.guided or int(self.pace.tail * self.pace.steps)


@dataclass(frozen=True)
class Screen:
    """A first choice of ``kept`` features, one selection of bounded range ``eta`` each."""

    rate_noise: float
    eta: float
    kept: int


@dataclass(frozen=True)
class Releases:
    """All that a fit will release, and with how much noise; ``curvature_noise`` is None where there is none.

    Privacy
    -------
    Data-independent.
    """

    screen: Screen | None
    length_eta: float
    moments_noise: float
    stages: tuple[Stage, ...]
    curvature_noise: float | None

    @property
    def events(self) -> tuple[Event, ...]:
        """What accounting needs to know, in the order of time."""
        events: list[Event] = []
        if self.screen is not None:
            events += [
                GaussianRelease("class rates", self.screen.rate_noise),
                Repeated(Selection(self.screen.eta, "one feature"), self.screen.kept),
            ]
        events += [
            Selection(self.length_eta, "a typical row length"),
            GaussianRelease("feature moments and class rates", self.moments_noise),
        ]
        paces = (stage.pace for stage in self.stages)
        events += [Repeated(GaussianRelease("weighted gradients", pace.noise), pace.steps) for pace in paces]
        if self.curvature_noise is not None:
            events.append(
                GaussianRelease("curvature of the kept features, and how gradients vary", self.curvature_noise)
            )
        refit = self.stages[-1]
        if refit.guided:
            events.append(Repeated(GaussianRelease("weighted gradients", refit.pace.noise), refit.guided))
        return tuple(events)


@dataclass(frozen=True)
class SelectRefitPlan:
    """How one fit will spend its budget, from public quantities alone.

    ``leaning`` is how many more features count as noise where weights are to be called real, ``tells`` whether there
    is signal enough to call any so; ``n_features`` how many there are to choose from; ``variables`` which belong
    together, if that was said, and ``features`` those of them that take part; ``false_discoveries``, if given, the
    false-discovery rate up to which weights are kept.

    Privacy
    -------
    Data-independent.
    """

    budget: Budget
    neighbours: Neighbours
    releases: Releases
    events: tuple[Event, ...]
    spent: Budget
    leaning: float
    tells: bool
    n_features: int
    variables: Variables | None = None
    features: tuple[int, ...] | None = None
    false_discoveries: float | None = None


def plan_select_refit(
    budget: Budget,
    neighbours: Neighbours,
    n_rows: int,
    n_features: int,
    outputs: int,
    max_features: int | None = None,
    false_discoveries: float | None = None,
    variables: Variables | None = None,
    max_variables: int | None = None,
) -> SelectRefitPlan:
    """Split the budget and decide on sizes and numbers of steps.

    Parameters
    ----------
    outputs : int
        1 for two classes, otherwise the number of classes.
    max_features : int or None
        Most nonzero weights, times the number of outputs; 2√p by default, 5√p where there are whole variables, fewer
        where the budget is small.
    false_discoveries : float or None
        Keep only weights that can be called real with this false-discovery rate; two classes only.
    variables : Variables or None
        Which features belong together; each is a variable of its own by default.
    max_variables : int or None
        Most variables with nonzero weights: 12 by default, or 3√v of v variables where that is more.

    Privacy
    -------
    Data-independent.
    """
    records, rho_left = n_rows / neighbours.contributions, accounting.rho_left(budget)
    if variables is None:
        features, taking_part, count, many = None, n_features, n_features, n_features
        wished = int(_FEATURES * math.sqrt(n_features))
    else:
        features = tuple(variables.thinned(_most_steps(_signal(records, rho_left), variables)).tolist())
        taking_part, count = len(features), len(variables.names)
        many = max(_FEWEST_VARIABLES, int(_VARIABLES * math.sqrt(count)))
        wished = int(_FEATURES_OF_VARIABLES * math.sqrt(taking_part))
    layout = _Layout(
        records,
        taking_part,
        outputs,
        wished if max_features is None else max_features,
        min(count, many if max_variables is None else max_variables),
        count,
        variables is None or not ("steps" in variables.kinds or any(variables.signs)),
        rho_left,
    )
    rho = accounting.most_within(budget, lambda rho: layout.releases(rho).events, layout.rho)
    releases = layout.releases(rho)
    spent = charged(budget, releases.events)
    leaning = _LEANING + _LEANING_SIGNAL / layout.signal
    return SelectRefitPlan(
        budget,
        neighbours,
        releases,
        releases.events,
        spent,
        leaning,
        layout.signal >= _TELLING_SIGNAL,
        taking_part,
        variables,
        features,
        false_discoveries,
    )


@dataclass(frozen=True)
class _Layout:
    """Sizes and shares, from what zCDP says the budget holds; the exact accountant then allows somewhat more.

    Cut points correlate too much for steps to be guided by so noisy a curvature. And where weights keep their signs,
    to put them back one by one, as descents do, is right for steps of one size only: after guided ones the others
    would be as if these were free.
    """

    records: float  # rows by contributions to a sum
    n_features: int
    outputs: int
    wished: int
    wished_variables: int
    n_variables: int
    may_be_guided: bool
    rho: float

    @property
    def signal(self) -> float:
        """Standard deviations of noise between the extremes of a sum that is released with the whole budget."""
        return _signal(self.records, self.rho)

    @property
    def kept(self) -> int:
        affordable = max(5, int(self.signal / 12))
        return max(1, min(self.n_features, self.wished, affordable))

    def releases(self, rho: float) -> Releases:
        """Noise for all releases if they may cost ρ together."""
        screen, screened, left = None, self.n_features, self.rho
        if self.n_features > max(self.signal, self.kept):
            screened = min(self.n_features, max(self.kept, int(self.signal / 3)))
            screen = Screen(_noise(_SCREEN_RATE * rho), math.sqrt(8 * _SCREEN * rho / screened), screened)
            left = (1 - _SCREEN - _SCREEN_RATE) * self.rho
        share = left / self.rho
        stages = []
        for part, kept, variables, tail in self._descents(screened):
            signal = self.records * math.sqrt(2 * part * left)
            steps = min(max(round(_STEPS * math.pow(2 * signal, 2 / 3)), _FEWEST_STEPS), _MOST_STEPS)
            stages.append(Stage(Pace(steps, _noise(part * share * rho / steps), tail), kept, variables))
        if self._has_curvature and self.may_be_guided:
            stages[-1] = _guided(stages[-1])
        curvature = _noise(_CURVATURE * share * rho) if self._has_curvature else None
        length_eta = math.sqrt(8 * _LENGTH * share * rho)
        return Releases(screen, length_eta, _noise(_MOMENTS * share * rho), tuple(stages), curvature)

    @property
    def _has_curvature(self) -> bool:
        return self.outputs == 1 and self.signal >= _CURVATURE_SIGNAL * self.kept**1.5

    def _descents(self, features: int) -> list[tuple[float, int, int, float]]:
        """Eliminations by equal factors, then the refit of what is left; one descent if nothing needs to go.

        For each its share, the numbers of weights and of variables that survive it, and the tail that counts.
        """
        left = 1 - _LENGTH - _MOMENTS - (_CURVATURE if self._has_curvature else 0.0)
        weights, kept = features * self.outputs, self.kept * self.outputs
        tail, final_tail = (_TAIL, _FINAL_TAIL) if self.outputs == 1 else (_PLAIN_TAIL, _PLAIN_TAIL)
        if weights <= kept and self.n_variables <= self.wished_variables:
            return [(left, kept, self.wished_variables, tail)]
        sizes = zip(_shrinking(weights, kept), _shrinking(self.n_variables, self.wished_variables), strict=True)
        share = (1 - _FINAL) * left / _ELIMINATIONS
        eliminations = [(share, size, variables, tail) for size, variables in sizes]
        return [*eliminations, (_FINAL * left, kept, self.wished_variables, final_tail)]


def _guided(refit: Stage) -> Stage:
    """Have the steps that count for where the refit lands guided by the curvature; the others come before it."""
    steps, noise, tail = refit.pace
    plain = round((1 - tail) * steps)
    return refit._replace(pace=Pace(plain, noise, _TAIL), guided=steps - plain)


def _shrinking(many: int, few: int) -> list[int]:
    """Sizes on the way from many to few, by equal factors."""
    return [round(many * min(few / many, 1.0) ** ((i + 1) / _ELIMINATIONS)) for i in range(_ELIMINATIONS)]


def _most_steps(signal: float, variables: Variables) -> int:
    """How many steps take part at most, over all variables."""
    return max(_FEWEST_CUTS * variables.kinds.count("steps"), int((signal / _SIGNAL_OF_STEPS) ** 2))


def _signal(records: float, rho: float) -> float:
    return records * math.sqrt(2 * rho)


def _noise(rho: float) -> float:
    """Noise, in sensitivities, of a Gaussian release that costs ρ."""
    return 1 / math.sqrt(2 * rho)
