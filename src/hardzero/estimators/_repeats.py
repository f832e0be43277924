"""What scikit-learn does to private estimators behind their users' backs: say so, once.

Fits that are repeated on the same rows spend their budget again: the warning gives the total.

Clones of an estimator, and the estimator itself, are a family. Cross-validation and searches clone before they fit,
in the process of the caller even if workers fit: when they make their first clone, the number of fits is known and
nothing has been spent. Elsewhere repetition shows at the second fit of a family.

Ensembles set every parameter that is called ``random_state``, asked or not, and a seeded fit is not private.
"""

from __future__ import annotations

import sys
import uuid
import warnings
import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

_CROSS_VALIDATION = "sklearn.model_selection._validation"
_SEARCH = "sklearn.model_selection._search"
_COUNTED = ("cross_validate", "cross_val_predict")
_ON_THE_WAY = ("sklearn", "hardzero", "joblib", "contextlib")
_SETTERS = ("set_params", "_set_params")
_SEED_WHERE_ASKED = ("sklearn.model_selection", "sklearn.utils")  # searches over seeds, and scikit-learn's own tests


class RepeatedFitWarning(UserWarning):
    """A private estimator is fitted several times, and each fit spends its own budget.

    Privacy
    -------
    Data-independent: numbers of fits and parameters.
    """


class SeededFitWarning(UserWarning):
    """An ensemble of scikit-learn has seeded a private estimator, whose fits are not private then.

    Privacy
    -------
    Data-independent: parameters.
    """


class _Family:
    """What an estimator and its clones share; one for each key in a process, also after pickling."""

    def __init__(self, key: str, warned: bool) -> None:
        self.key = key
        self.warned = warned
        self.warned_of_seed = False
        self.fits = 0
        self.epsilon = 0.0
        self.delta = 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return _family, (self.key, self.warned)

    def __deepcopy__(self, memo: Any) -> Self:
        return self


_FAMILIES: weakref.WeakValueDictionary[str, _Family] = weakref.WeakValueDictionary()


def _family(key: str, warned: bool) -> _Family:
    """Return the family with this key, a new one if this process does not know it."""
    found = _FAMILIES.setdefault(key, _Family(key, warned))
    found.warned = found.warned or warned
    return found


@dataclass(frozen=True)
class _Planned:
    """Fits that a function of scikit-learn is about to make."""

    caller: str
    fits: int
    epsilon: float
    exact: bool


class RepeatedFits:
    """Warns when a private estimator or its clones are fitted again, and when scikit-learn seeds them.

    Seeded fits are not private, and those that are charged to a ledger are counted there: neither is counted here.
    """

    epsilon: Any
    random_state: Any
    ledger: Any

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]  # of scikit-learn's base class
        copy._fit_family = family = self._own_family()
        if not family.warned and self._counts():
            planned = _planned_by_callers(self)
            if planned is not None and (planned.fits > 1 or not planned.exact):
                family.warned = True
                _warn(_planned_words(planned), RepeatedFitWarning)
        return copy

    def set_params(self, **params: Any) -> Self:
        """Set parameters, with a warning if scikit-learn sets a seed that nobody asked for.

        Parameters
        ----------
        **params
            New values of parameters by their names.

        Returns
        -------
        self : object
            The estimator.

        Privacy
        -------
        Data-independent.
        """
        unseeded = self.random_state is None
        super().set_params(**params)  # type: ignore[misc]  # of scikit-learn's base class
        if unseeded and self.random_state is not None and _set_by_scikit_learn():
            family = self._own_family()
            if not family.warned_of_seed:
                family.warned_of_seed = True
                _warn(_SEEDED, SeededFitWarning)
        return self

    def _counts(self) -> bool:
        """Whether nobody else keeps count: a ledger adds fits up better, and refuses what is too much."""
        return self.random_state is None and self.ledger is None

    def _own_family(self) -> _Family:
        if not hasattr(self, "_fit_family"):
            self._fit_family = _family(uuid.uuid4().hex, warned=False)
        return self._fit_family

    def _note_fit(self, epsilon: float, delta: float) -> None:
        """Add what a fit has spent, and warn at the second of the family."""
        if not self._counts():
            return
        family = self._own_family()
        family.fits += 1
        family.epsilon += epsilon
        family.delta += delta
        if family.fits > 1 and not family.warned:
            family.warned = True
            _warn(
                f"{family.fits} fits of this estimator and its clones have spent epsilon = {family.epsilon:g} and "
                f"delta = {family.delta:.3g} together, if they saw the same people; every further fit adds its own",
                RepeatedFitWarning,
            )


def _planned_words(planned: _Planned) -> str:
    least = "" if planned.exact else "at least "
    return (
        f"{planned.caller} fits this private estimator {least}{planned.fits} times, and each fit spends its own "
        f"budget: {least}epsilon = {planned.epsilon:g} together, and as many times delta. The scores, and what is "
        "chosen by them, are not private either. Tune on public or synthetic data"
    )


_SEEDED = (
    "scikit-learn sets random_state of this private estimator, as its ensembles do whether or not they are asked to: "
    "its fits are NOT PRIVATE, because whoever knows or guesses a seed can subtract the noise. Fit private "
    "estimators outside of such ensembles"
)


def _set_by_scikit_learn() -> bool:
    """Whether scikit-learn sets a parameter on its own account, not for a user or a search that was told to."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name in _SETTERS:  # of pipelines and the like
        frame = frame.f_back
    setter = str(frame.f_globals.get("__name__"))
    return setter.startswith("sklearn.") and not setter.startswith(_SEED_WHERE_ASKED)


def _warn(message: str, category: type[UserWarning]) -> None:
    warnings.warn(message, category, stacklevel=_steps_to_caller() + 1)


def _steps_to_caller() -> int:
    """Count the frames up to the first that belongs neither to us nor to scikit-learn."""
    frame, steps = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] in _ON_THE_WAY:
        frame, steps = frame.f_back, steps + 1
    return steps - 1


def _planned_by_callers(estimator: Any) -> _Planned | None:
    """Look for cross-validation or a search among the callers of a clone; there, the number of fits is known."""
    frame: FrameType | None = sys._getframe(1)
    planned = None
    while frame is not None:
        module, function = frame.f_globals.get("__name__"), frame.f_code.co_name
        if module == _SEARCH and function == "evaluate_candidates":
            planned = _of_search(estimator, frame.f_locals) or planned
        elif module == _CROSS_VALIDATION and "cv" in frame.f_locals:
            planned = _of_cross_validation(estimator, function, frame.f_locals) or planned
        frame = frame.f_back
    return planned


def _of_search(estimator: Any, seen: dict[str, Any]) -> _Planned | None:
    search, candidates = seen.get("self"), seen.get("candidate_params")
    splits = seen.get("n_splits")
    if splits is None or not isinstance(candidates, list):
        return None
    epsilons = [_asked_epsilon(parameters, estimator.epsilon) for parameters in candidates]
    refit = bool(getattr(search, "refit", False))
    total = splits * sum(epsilons) + (max(epsilons) if refit else 0.0)
    exact = _is_all_that_is_fitted(estimator, getattr(search, "estimator", None)) and not hasattr(search, "factor")
    return _Planned(type(search).__name__, splits * len(candidates) + refit, total, exact)


def _of_cross_validation(estimator: Any, function: str, seen: dict[str, Any]) -> _Planned | None:
    try:
        splits = seen["cv"].get_n_splits(seen.get("X"), seen.get("y"), seen.get("groups"))
    except Exception:  # not a splitter yet, or one of the user's own: the warning comes at the second fit instead
        return None
    exact = function in _COUNTED and _is_all_that_is_fitted(estimator, seen.get("estimator"))
    return _Planned(function, splits, splits * _asked_epsilon({}, estimator.epsilon), exact)


def _asked_epsilon(parameters: dict[str, Any], default: Any) -> float:
    """Return the epsilon of a candidate, also of a step in a pipeline; what is no number is refused by the fit."""
    given = [value for name, value in parameters.items() if name.rpartition("__")[2] == "epsilon"]
    try:
        return float(given[-1] if given else default)
    except (TypeError, ValueError):
        return float("nan")


def _is_all_that_is_fitted(estimator: Any, handed_over: Any) -> bool:
    """Whether a fit of what was handed over is one fit of the estimator: itself, or a pipeline that ends with it."""
    if isinstance(handed_over, type(estimator)):
        return True
    steps = getattr(handed_over, "steps", None)
    return isinstance(steps, list) and bool(steps) and isinstance(steps[-1][-1], type(estimator))
