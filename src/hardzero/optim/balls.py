"""The feasible sets, seen only through their corners: which scores to choose among, and what a choice means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..data.bounded import FloatArray, IntArray
from ..privacy.mechanisms import Sensitive, SignedScores


class Vertex(NamedTuple):
    """A corner of the feasible set: one nonzero entry."""

    output: int
    feature: int
    value: float


class Ball(Protocol):
    """A feasible set for weights of shape (outputs, features)."""

    @property
    def radius(self) -> float:
        """Largest L1 norm of one ball."""

    def largest_norms(self, outputs: int) -> FloatArray:
        """L1 norms of outputs that no point of the set exceeds: not the largest, not the two largest together, …"""

    def scores(self, gradient: IntArray, tops: IntArray, features: IntArray) -> list[SignedScores]:
        """What each selection of a step chooses among; ``features`` says whose slopes a column holds, -1 for none."""

    def vertex(self, selection: int, name: int, sign: int, n_features: int) -> Vertex:
        """The corner chosen in one of the selections, by its public number."""


@dataclass(frozen=True)
class L1Ball:
    """Weights whose absolute values, over all outputs together, sum to at most ``radius``."""

    radius: float

    def largest_norms(self, outputs: int) -> FloatArray:
        """All of it could be one output's."""
        norms = np.zeros(outputs)
        norms[0] = self.radius
        return norms

    def scores(self, gradient: IntArray, tops: IntArray, features: IntArray) -> list[SignedScores]:
        """All signed corners at once: one selection per step. Corners are numbered output by output."""
        n_features = int(features.max()) + 1
        names = (np.arange(len(gradient))[:, None] * n_features + features).ravel()
        return [SignedScores(Sensitive(gradient.ravel()), Sensitive(tops.ravel()), Sensitive(names))]

    def vertex(self, selection: int, name: int, sign: int, n_features: int) -> Vertex:
        """The corner ± radius · E[output, feature]."""
        return Vertex(*divmod(name, n_features), value=sign * self.radius)


@dataclass(frozen=True)
class L1BallPerOutput:
    """An L1 ball of its own for each output: the version that the paper's Appendix A proves private."""

    radius: float

    def largest_norms(self, outputs: int) -> FloatArray:
        """Every output has a ball of its own."""
        return np.full(outputs, self.radius)

    def scores(self, gradient: IntArray, tops: IntArray, features: IntArray) -> list[SignedScores]:
        """One selection for each output and step; corners are numbered by their feature."""
        names = Sensitive(features)
        return [SignedScores(Sensitive(row), Sensitive(top), names) for row, top in zip(gradient, tops, strict=True)]

    def vertex(self, selection: int, name: int, sign: int, n_features: int) -> Vertex:
        """The corner ± radius · e[feature] of that output's ball."""
        return Vertex(selection, name, sign * self.radius)


def project_l1(values: FloatArray, radius: float) -> FloatArray:
    """Return the nearest point with L1 norm at most ``radius``; small entries become exactly zero.

    Duchi et al. 2008: soft thresholding at the level that makes the norm fit.
    """
    magnitude = np.abs(values)
    if magnitude.sum() <= radius:
        return values
    falling = np.sort(magnitude, axis=None)[::-1]
    excess = (np.cumsum(falling) - radius) / np.arange(1, len(falling) + 1)
    inside = np.flatnonzero(falling > excess)
    if not len(inside):  # a radius below the rounding of the values
        return np.zeros_like(values)
    level = excess[inside[-1]]
    return np.asarray(np.sign(values) * np.maximum(magnitude - level, 0.0))
