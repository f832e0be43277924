"""How sure a model is of each of its weights: standard errors, intervals, and which of them can be believed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .. import checks
from ..data.bounded import FloatArray

LEVEL = 0.95
"""The level of intervals wherever a model is shown."""

FALSE_DISCOVERY_RATE = 0.05
"""The share of reliable weights that may be noise, over all candidates taken together."""


AGREEMENT = 1e-9
"""How closely two ways to write the same must agree."""


Ends = tuple[float, float]
"""The lower and the upper end of an interval."""


def reach_of(standard_error: float) -> float:
    """Return how far the interval that is shown goes to either side.

    Privacy
    -------
    Post-processing.
    """
    return float(-ndtri((1 - LEVEL) / 2)) * standard_error


def same_variances(covariance: FloatArray, standard_error: FloatArray) -> bool:
    """Whether the diagonal of a covariance is what standard errors say.

    Privacy
    -------
    Post-processing.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = standard_error**2
    return bool(np.all(squares > 0) and np.allclose(np.diag(covariance), squares, rtol=AGREEMENT, atol=0))


@dataclass(frozen=True, eq=False)
class VariableInference:
    """How sure one variable is, of which weights were kept: that it matters at all, and its weights together.

    Attributes
    ----------
    name : str
        The variable's name.
    q_value : float
        The false-discovery rate of calling real all variables that are at least as convincing.
    importance : float
        Standard deviation of what the variable adds to the score, from released moments.
    features : tuple of int
        Its kept features, as places among all.
    mean : array
        Released means of these features.
    covariance : array
        Joint covariance of their weights.

    Privacy
    -------
    Post-processing: made from released values.
    """

    name: str
    q_value: float
    importance: float
    features: tuple[int, ...]
    mean: FloatArray
    covariance: FloatArray

    @property
    def reliable(self) -> bool:
        """Whether the variable can be told from noise, with a false-discovery rate of at most 5 %."""
        return self.q_value <= FALSE_DISCOVERY_RATE

    def divided_by(self, scale: FloatArray) -> VariableInference:
        """Return the same for weights that are divided by ``scale``, one number for each feature of the model.

        Privacy
        -------
        Post-processing.
        """
        own = scale[list(self.features)]
        with np.errstate(over="ignore"):
            return replace(self, mean=self.mean * own, covariance=self.covariance / own[:, None] / own)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same."""
        if not isinstance(other, VariableInference):
            return NotImplemented
        mine, others = ((v.name, v.q_value, v.importance, v.features) for v in (self, other))
        arrays = (self.mean, other.mean), (self.covariance, other.covariance)
        return mine == others and all(np.array_equal(a, b) for a, b in arrays)

    __hash__ = None  # type: ignore[assignment]  # arrays have none


@dataclass(frozen=True, eq=False)
class Inference:
    """How sure each weight is, in the order and shape of the weights: one row for each output.

    Attributes
    ----------
    standard_error : array
        In the unit of the weight and above 0; NaN where a weight was dropped.
    q_value : array
        Between 0 and 1, for dropped weights too: the false-discovery rate of calling real everything that is at least
        as convincing; 1 where nothing is known.
    covers : str
        What intervals cover, as the end of the sentence "95 % intervals cover …", without a full stop.
    variables : tuple of VariableInference
        The kept variables, the most important first; none where features were not taken together.

    Privacy
    -------
    Post-processing: made from released values.
    """

    standard_error: FloatArray
    q_value: FloatArray
    covers: str
    variables: tuple[VariableInference, ...] = ()

    @property
    def reliable(self) -> NDArray[np.bool_]:
        """Weights that were kept and have a false-discovery rate of at most 5 %."""
        return ~np.isnan(self.standard_error) & (self.q_value <= FALSE_DISCOVERY_RATE)

    def intervals(self, coef: FloatArray, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper ends of the weights' intervals; NaN where a weight was dropped.

        Parameters
        ----------
        coef : array
            The weights, in the unit of the standard errors.
        level : float, default=0.95
            How often such intervals cover what they are about, between 0 and 1.

        Returns
        -------
        lower, upper : array
            In the shape of ``coef``.

        Privacy
        -------
        Post-processing.
        """
        reach = -ndtri((1 - checks.share("level", level)) / 2) * self.standard_error
        return coef - reach, coef + reach

    def variables_agree(self) -> bool:
        """Whether covariances have the squared standard errors on their diagonals, which can be out of range.

        Privacy
        -------
        Post-processing.
        """
        return all(
            np.all(np.isfinite(variable.mean))
            and np.all(np.isfinite(variable.covariance))
            and same_variances(variable.covariance, self.standard_error[0, list(variable.features)])
            for variable in self.variables
        )

    def divided_by(self, scale: FloatArray) -> Inference:
        """Return the same for weights that are divided by ``scale``, one number for each feature.

        Privacy
        -------
        Post-processing.
        """
        with np.errstate(over="ignore"):
            variables = tuple(variable.divided_by(scale) for variable in self.variables)
            return replace(self, standard_error=self.standard_error / np.abs(scale), variables=variables)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same, NaN among them."""
        if not isinstance(other, Inference):
            return NotImplemented
        return (
            np.array_equal(self.standard_error, other.standard_error, equal_nan=True)
            and np.array_equal(self.q_value, other.q_value)
            and self.covers == other.covers
            and self.variables == other.variables
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none
