"""The estimators by the names that the command line gives them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ... import estimators
from ...checks import InputError

_TAKEN = (
    "self",
    "bounds",
    "classes",
    "epsilon",
    "delta",
    "neighbours",
    "n_rows",
    "random_state",
    "prune",
    "solver",
    "count_solver",
)


def build_estimator(
    method: str,
    classes: Sequence[str],
    privacy: Mapping[str, Any],
    options: Sequence[str] = (),
    *,
    prune: str = "none",
) -> Any:
    """Return an unfitted estimator for rows scaled to [-1, 1].

    Parameters
    ----------
    method : str
        A key of `hardzero.estimators.CHOICES`.
    classes : sequence of str
        Every label that can occur.
    privacy : mapping
        epsilon, delta, neighbours, n_rows and random_state; of no use to a method that is not private.
    options : sequence of str
        Further parameters as ``name=value``.
    prune : str, default="none"
        "reliable" keeps only features that can be told from noise, which not every method can.

    Privacy
    -------
    Data-independent.
    """
    kind = estimators.named(estimators.CHOICES[method])
    parameters = inspect.signature(kind).parameters
    if prune != "none" and "prune" not in parameters:
        raise InputError(f"--prune {prune}: {method} cannot tell which of its weights are reliable; use select-refit")
    asked = {**privacy, "prune": prune}
    common = {name: value for name, value in asked.items() if name in parameters}
    offered = [name for name in parameters if name not in _TAKEN]
    return kind(bounds=(-1, 1), classes=list(classes), **common, **_parsed(method, options, offered))


def _parsed(method: str, options: Sequence[str], offered: Sequence[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or name not in offered:
            raise InputError(f"--option {option}: {method} takes {', '.join(f'{name}=…' for name in offered)}")
        try:
            parsed[name] = json.loads(text)
        except json.JSONDecodeError:
            parsed[name] = text
    return parsed
