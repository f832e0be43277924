"""Which features belong together: a variable is a column of a table, with all its categories or all its steps.

People think in variables, and so does the selection. That features belong to one variable also says how they vary
together: categories exclude each other, and a value that reaches a cut point has reached all lower ones. So all
second moments within a variable follow from means.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .bounded import FloatArray

Kind = Literal["number", "categories", "steps"]
"""What the features of a variable are: numbers, indicators of which one row has at most one, or indicators of cut
points in rising order, of which a row has all up to its value."""


@dataclass(frozen=True)
class Variables:
    """The variable of every feature, and what is publicly known about how it acts.

    Attributes
    ----------
    names : tuple of str
        Names of the variables.
    kinds : tuple of {"number", "categories", "steps"}
        What the features of each variable are.
    owners : tuple of int
        The variable of every feature, as a place in ``names``.
    signs : tuple of int
        For every feature 1 where its weight is known not to be negative, -1 where not positive, else 0.
    quantiles : tuple of int
        For each variable of steps the number of its cut points that take part, those nearest to as many released
        quantiles; 0 for all of them.

    Privacy
    -------
    Data-independent.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    owners: tuple[int, ...]
    signs: tuple[int, ...]
    quantiles: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.quantiles and len(self.quantiles) != len(self.names):
            raise ValueError(f"quantiles must be one number for each of {len(self.names)} variables, or none at all")
        if len(self.kinds) != len(self.names) or not all(kind in get_args(Kind) for kind in self.kinds):
            raise ValueError(f"kinds must be one of {get_args(Kind)} for each of {len(self.names)} variables")
        if len(self.signs) != len(self.owners) or not all(sign in (-1, 0, 1) for sign in self.signs):
            raise ValueError(f"signs must be -1, 0 or 1 for each of {len(self.owners)} features")
        if not all(0 <= owner < len(self.names) for owner in self.owners):
            raise ValueError(f"owners must be places among the {len(self.names)} variables")
        if len(set(self.names)) < len(self.names):
            raise ValueError("names must differ: two variables are written alike; rename one")

    def __repr__(self) -> str:
        return f"Variables({len(self.names)} variables, {len(self.owners)} features)"

    @classmethod
    def of_labels(cls, labels: Iterable[Hashable]) -> Variables:
        """Return the variables that features are labelled with, one label for each; nothing else is known of them."""
        labels = list(labels)
        places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        owners = tuple(places[label] for label in labels)
        kinds: tuple[Kind, ...] = tuple("number" for _ in places)
        return cls(tuple(map(str, places)), kinds, owners, (0,) * len(labels))

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.owners)

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], ...]:
        """The features of each variable, in their order."""
        order = np.argsort(self.owners, kind="stable")
        ends = np.cumsum(np.bincount(np.array(self.owners, dtype=np.intp), minlength=len(self.names)))
        return tuple(np.split(order, ends[:-1]))

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many features each variable has."""
        return np.bincount(np.array(self.owners, dtype=np.intp), minlength=len(self.names))

    def subset(self, features: Sequence[int] | NDArray[np.intp]) -> Variables:
        """Return the same for some of the features; variables keep their places, with or without features."""
        chosen = [int(place) for place in features]
        return replace(
            self,
            owners=tuple(self.owners[place] for place in chosen),
            signs=tuple(self.signs[place] for place in chosen),
        )

    def thinned(self, most: int) -> NDArray[np.intp]:
        """Return all features but some of the steps: ``most`` of them at most, evenly spread over each variable's.

        At least one step of every variable is left.
        """
        stepped = [len(places) for kind, places in zip(self.kinds, self.places, strict=True) if kind == "steps"]
        each = max(stepped, default=1)
        while each > 1 and sum(min(size, each) for size in stepped) > most:
            each -= 1
        parts = [
            places[((np.arange(each) + 0.5) * len(places) / each).astype(np.intp)]
            if kind == "steps" and len(places) > each
            else places
            for kind, places in zip(self.kinds, self.places, strict=True)
        ]
        return np.sort(np.concatenate(parts))

    def at_quantiles(self, means: FloatArray) -> NDArray[np.bool_]:
        """Say which features take part: of steps, where that is wished, those nearest to quantiles.

        Parameters
        ----------
        means : array of shape (features,)
            Released ones: of steps, the shares of rows that have reached each cut point.

        Privacy
        -------
        Post-processing.
        """
        chosen = np.ones(self.n_features, dtype=bool)
        for count, places in zip(self.quantiles, self.places, strict=False):  # none at all, or one each
            if 0 < count < len(places):
                wanted = 1 - np.arange(1, count + 1) / (count + 1)
                nearest = np.abs(means[places] - wanted[:, None]).argmin(axis=1)
                chosen[places] = np.isin(np.arange(len(places)), nearest)
        return chosen

    def mirrored(self) -> Variables:
        """Return the same for weights of opposite signs, which speak for the other one of two classes."""
        return replace(self, signs=tuple(-sign for sign in self.signs))

    def importances(self, coef: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the standard deviation of what each variable adds to the score, over all outputs.

        Parameters
        ----------
        coef : array of shape (outputs, features)
            The weights.
        means, variances : array of shape (features,)
            Released ones, in the weights' unit.

        Privacy
        -------
        Post-processing.
        """
        squares = [
            sum(_variance(kind, row[places], means[places], variances[places]) for row in coef)
            for kind, places in zip(self.kinds, self.places, strict=True)
        ]
        return np.sqrt(np.array(squares, dtype=np.float64))

    def correlations(self, means: FloatArray) -> FloatArray:
        """Return the correlations between features of the same variable, and 0 where they are not known.

        Features that are the same in all rows, as far as their means tell, are correlated with none.

        Privacy
        -------
        Post-processing.
        """
        means = np.clip(means, 0.0, 1.0)
        spread = np.sqrt(means * (1 - means))
        result = np.eye(self.n_features)
        for kind, places in zip(self.kinds, self.places, strict=True):
            if kind == "number" or len(places) < 2:
                continue
            own = means[places]
            # Both of two cut points are reached where the higher one is; of two categories a row has one.
            both = np.minimum.outer(own, own) if kind == "steps" else np.zeros((len(places), len(places)))
            size = np.outer(spread[places], spread[places])
            known = np.divide(both - np.outer(own, own), size, out=np.zeros_like(size), where=size > 0)
            np.fill_diagonal(known, 1.0)
            result[np.ix_(places, places)] = np.clip(known, -1.0, 1.0)
        return result


def level_values(kind: Kind, weights: FloatArray) -> FloatArray:
    """Return what each level of a variable adds to the score: first where no feature is set, then up to each of them.

    Privacy
    -------
    Post-processing.
    """
    return np.concatenate([[0.0], np.cumsum(weights) if kind == "steps" else weights])


def level_shares(kind: Kind, means: FloatArray) -> FloatArray:
    """Return the shares of rows on these levels, from the features' released means, none negative.

    Privacy
    -------
    Post-processing.
    """
    means = np.clip(means, 0.0, 1.0)
    if kind == "steps":
        reached = np.minimum.accumulate(np.concatenate([[1.0], means]))
        return np.asarray(reached - np.append(reached[1:], 0.0))
    shares = np.append(max(1.0 - means.sum(), 0.0), means)
    return np.asarray(shares / max(shares.sum(), 1e-300))


def _variance(kind: Kind, weights: FloatArray, means: FloatArray, variances: FloatArray) -> float:
    """Return the variance of what a variable adds to the score."""
    if kind == "number":  # taken for uncorrelated, as nothing is known
        return float(weights**2 @ np.maximum(variances, 0.0))
    values, shares = level_values(kind, weights), level_shares(kind, means)
    mean = float(shares @ values)
    return float(shares @ (values - mean) ** 2)
