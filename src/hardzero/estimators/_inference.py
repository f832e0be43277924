"""Standard errors, intervals and reliability of the weights, for estimators whose method can tell."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..data.bounded import FloatArray
from ..data.variables import Variables
from ..model.inference import LEVEL, Inference, VariableInference
from ..optim.frank_wolfe import Weights


def kept_variables(variables: Variables | None, fitted: Weights) -> tuple[VariableInference, ...]:
    """Return what is known about the variables with kept weights, the most important first."""
    evidence = fitted.evidence
    if variables is None or evidence is None or evidence.variables is None:
        return ()
    told, known = evidence.variables, []
    kept = np.flatnonzero(~np.isnan(evidence.standard_error[0]))
    for number, places in enumerate(variables.subset(kept).places):
        inside = places[fitted.coef[0, kept[places]] != 0]  # an estimate may be zero to the last bit
        if len(inside):
            known.append(
                VariableInference(
                    variables.names[number],
                    float(told.q_value[number]),
                    float(told.importance[number]),
                    tuple(kept[inside].tolist()),
                    told.mean[inside],
                    told.covariance[np.ix_(inside, inside)],
                )
            )
    return tuple(sorted(known, key=lambda variable: -variable.importance))


class WeightInference(abc.ABC):
    """What ``inference_`` says, under the names that people look for."""

    coef_: FloatArray
    inference_: Inference | None

    def _note_evidence(self, fitted: Weights) -> None:
        """Keep the evidence, unless a standard error is no number: no file could hold a model that is paid for."""
        evidence, kept = fitted.evidence, fitted.coef != 0
        self.inference_ = None
        if evidence is not None and all(0 < error < np.inf for error in evidence.standard_error[kept]):
            errors = np.where(kept, evidence.standard_error, np.nan)
            told = kept_variables(self._variables(fitted.coef.shape[1]), fitted)
            self.inference_ = Inference(errors, evidence.q_value, evidence.covers, told)

    @abc.abstractmethod
    def _variables(self, n_features: int) -> Variables | None:
        """Return which features belong together, if that was said."""

    @property
    def coef_se_(self) -> FloatArray:
        """Standard errors of ``coef_``, in the same units; NaN where a weight was dropped.

        Privacy
        -------
        Post-processing.
        """
        return self._told().standard_error

    @property
    def q_values_(self) -> FloatArray:
        """For each weight the false-discovery rate of calling real all that are at least as convincing.

        Privacy
        -------
        Post-processing.
        """
        return self._told().q_value

    @property
    def reliable_(self) -> NDArray[np.bool_]:
        """Which weights can be told from noise, with a false-discovery rate of 5 % over all candidates.

        Privacy
        -------
        Post-processing.
        """
        return self._told().reliable

    @property
    def kept_variables_(self) -> tuple[VariableInference, ...]:
        """The variables with nonzero weights, the most important first; none unless ``variables`` was given.

        Privacy
        -------
        Post-processing.
        """
        return self._told().variables

    def conf_int(self, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
        """Return intervals of the weights, in the features' own units.

        Parameters
        ----------
        level : float, default=0.95
            How often such intervals cover what ``inference_.covers`` says, between 0 and 1.

        Returns
        -------
        lower, upper : array
            In the shape of ``coef_``; NaN where a weight was dropped.

        Privacy
        -------
        Post-processing.
        """
        return self._told().intervals(self.coef_, level)

    def _told(self) -> Inference:
        check_is_fitted(self)
        if self.inference_ is None:
            raise AttributeError(
                f"this fit of {type(self).__name__} cannot tell how sure its weights are: it has no standard errors, "
                f"intervals or q-values (inference_ is None){self._reason()}"
            )
        return self.inference_

    def _reason(self) -> str:
        return ". They are for two classes; this fit has more" if len(self.coef_) > 1 else ""
