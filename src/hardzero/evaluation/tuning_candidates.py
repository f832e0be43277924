"""Candidates of a search: estimators that differ, and none of which sets what the search sets."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from .. import checks
from ..estimators._labels import stated_classes
from ..estimators._linear import Shape
from ..estimators._scattered import class_loss
from ..optim.losses import Loss, Squared
from ..privacy.events import Event
from .tuning_scores import OF_CLASSES, OF_NUMBERS

SET_BY_SEARCH = ("epsilon", "delta", "neighbours", "n_rows", "random_state", "ledger")
"""Parameters that candidates share, and that no candidate may set."""
_SHARED = ("bounds", "classes", "target_bounds", "variables")


@dataclass(frozen=True)
class Candidate:
    """One estimator to try, and what sets it apart.

    Privacy
    -------
    Data-independent.
    """

    name: str
    estimator: Any
    params: Mapping[str, Any]

    def with_budget(self, **changes: Any) -> Any:
        """Return a new estimator, told what the search decides."""
        return type(self.estimator)(**{**self.estimator.get_params(deep=False), **changes})

    @property
    def is_classifier(self) -> bool:
        """Whether it tells classes apart."""
        return "classes" in self.estimator.get_params(deep=False)

    @property
    def loss(self) -> Loss:
        """What it minimises, by which plans are made."""
        if self.is_classifier:
            return class_loss(len(stated_classes(self.estimator.classes)))
        return Squared(checks.positive("radius", self.estimator.radius))

    def events(self, fitted_rows: int, n_features: int, **told: Any) -> Sequence[Event]:
        """Return what a fit to so many rows will release."""
        plan = self.with_budget(**told)._plan(Shape(fitted_rows, n_features, self.loss))
        return plan.events  # type: ignore[no-any-return]


def candidates_of(estimator: Any, param_grid: Any) -> tuple[Candidate, ...]:
    """Return all candidates: every point of a grid, for one estimator or for several of them.

    Parameters
    ----------
    estimator : estimator, sequence or mapping
        One private estimator of hardzero, a list of them, or names and estimators.
    param_grid : mapping, sequence of mappings, or None
        Lists of values by name of a parameter.

    Raises
    ------
    ValueError, TypeError
        There are fewer than two, one is not private, or one sets what the search sets.

    Privacy
    -------
    Data-independent.
    """
    named = _named(estimator)
    found = [
        Candidate(_label(name, point, len(named)), _built(given, point), point or _own(given))
        for name, given in named
        for point in _points(param_grid)
    ]
    if len(found) < 2:
        raise ValueError("a search needs two candidates or more; give param_grid=…, or a list of estimators")
    if len({candidate.is_classifier for candidate in found}) > 1:
        raise ValueError("candidates must all tell classes apart, or all predict a number; give one kind")
    return tuple(found)


def scoring_of(candidates: Sequence[Candidate], asked: Any) -> str:
    """Return the score that was asked for, or the usual one.

    Privacy
    -------
    Data-independent.
    """
    offered = OF_CLASSES if candidates[0].is_classifier else OF_NUMBERS
    return offered[0] if asked is None else checks.choice("scoring", asked, offered)


def _named(estimator: Any) -> list[tuple[str, Any]]:
    if isinstance(estimator, Mapping):
        named = [(str(name), given) for name, given in estimator.items()]
    elif isinstance(estimator, list | tuple):
        named = [(f"{type(given).__name__} {i}", given) for i, given in enumerate(estimator)]
    else:
        named = [("", estimator)]
    for name, given in named:
        _refuse(name or type(given).__name__, given)
    return named


def _refuse(name: str, given: Any) -> None:
    if isinstance(given, type) or not hasattr(given, "get_params") or not hasattr(given, "_plan"):
        raise TypeError(f"{name} must be a private estimator of hardzero, such as SparsePrivateLogisticRegression(…)")
    parameters = given.get_params(deep=False)
    if "epsilon" not in parameters:
        raise TypeError(f"{name} is not private; a search is over private estimators")
    usual = inspect.signature(type(given)).parameters
    for managed in SET_BY_SEARCH:
        if parameters[managed] != usual[managed].default:
            raise ValueError(f"{name} sets {managed}, which the search sets for all candidates; leave it out there")


def _points(param_grid: Any) -> list[dict[str, Any]]:
    if param_grid is None:
        return [{}]
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if not isinstance(grids, list | tuple) or not all(isinstance(grid, Mapping) for grid in grids):
        raise TypeError("param_grid must be a mapping from names of parameters to lists of values, or a list of such")
    for grid in grids:
        for name, values in grid.items():
            if name in SET_BY_SEARCH:
                raise ValueError(f"param_grid has {name}, which the search sets for all candidates; leave it out")
            if not isinstance(values, Sequence) or isinstance(values, str) or not len(values):
                raise TypeError(f"param_grid[{name!r}] must be a list of values, got {values!r}")
    return [dict(zip(grid, point, strict=True)) for grid in grids for point in product(*grid.values())]


def _built(given: Any, point: Mapping[str, Any]) -> Any:
    parameters = given.get_params(deep=False)
    if unknown := [name for name in point if name not in parameters]:
        offered = ", ".join(name for name in parameters if name not in SET_BY_SEARCH)
        raise ValueError(f"param_grid has {unknown[0]!r}, which {type(given).__name__} does not; it has {offered}")
    return type(given)(**{**parameters, **point})


def _own(given: Any) -> dict[str, Any]:
    """Return the parameters that are not the usual ones, except those that describe the table."""
    usual = inspect.signature(type(given)).parameters
    return {
        name: value
        for name, value in given.get_params(deep=False).items()
        if name not in _SHARED and value is not usual[name].default and value != usual[name].default
    }


def _label(name: str, point: Mapping[str, Any], several: int) -> str:
    stated = ", ".join(f"{key}={value!r}" for key, value in point.items())
    return ", ".join(part for part in (name if several > 1 or not stated else "", stated) if part)
