"""The estimators by the names that the command line gives them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ... import estimators
from ...checks import InputError
from ...schema.columns import Schema
from ...schema.encoder import SchemaEncoder
from ...schema.target import NumericTarget, Target

_TAKEN = (
    "self",
    "bounds",
    "classes",
    "target_bounds",
    "variables",
    "max_variables",
    "epsilon",
    "delta",
    "neighbours",
    "n_rows",
    "random_state",
    "ledger",
    "prune",
    "solver",
    "count_solver",
)
_IN_GRIDS = ("max_variables", "prune")


OF_NUMBERS = {"sparsifier": "SparsifierRegression", "private-lasso": "PrivateLassoRegression"}
"""Methods that predict a number as well, and their estimators for it; the first is used if none is asked for."""


def method_for(asked: str | None, target: Target | NumericTarget) -> str:
    """Return the method that was asked for, or the usual one for what is to be predicted.

    Raises
    ------
    InputError
        The method tells classes apart, and the target is a number.

    Privacy
    -------
    Data-independent.
    """
    if not isinstance(target, NumericTarget):
        return asked or next(iter(estimators.CHOICES))
    if asked is not None and asked not in OF_NUMBERS:
        raise InputError(
            f"--method {asked} tells classes apart, but the schema's target {target.name!r} is a number between "
            f"{target.lower:g} and {target.upper:g}: use --method {' or '.join(OF_NUMBERS)}, or list the target's "
            "classes in the schema in place of its bounds"
        )
    return asked or next(iter(OF_NUMBERS))


def build_estimator(
    method: str,
    schema: Schema,
    privacy: Mapping[str, Any],
    options: Sequence[str] = (),
    *,
    prune: str = "none",
    max_variables: int | None = None,
) -> Any:
    """Return an unfitted estimator for rows that the schema's encoder makes, and labels as places in its classes.

    Parameters
    ----------
    method : str
        A key of `hardzero.estimators.CHOICES`.
    schema : Schema
        Says every label that can occur, and which features belong together.
    privacy : mapping
        epsilon, delta, neighbours, n_rows and random_state; of no use to a method that is not private.
    options : sequence of str
        Further parameters as ``name=value``. A number is predicted with an intercept unless they say otherwise.
    prune : str, default="none"
        "reliable" keeps only features that can be told from noise, which not every method can.
    max_variables : int, optional
        Most columns with nonzero weights, for methods that select whole variables.

    Privacy
    -------
    Data-independent.
    """
    target = schema.target
    asked_of: dict[str, Any]
    if isinstance(target, NumericTarget):
        kind, asked_of = estimators.named(OF_NUMBERS[method]), {"target_bounds": (target.lower, target.upper)}
    else:
        kind, asked_of = estimators.named(estimators.CHOICES[method]), {"classes": list(target.classes)}
    if schema.person is not None and not kind._takes_persons:
        able = " or ".join(name for name, of in estimators.CHOICES.items() if estimators.named(of)._takes_persons)
        raise InputError(
            f"the schema says whose row each row is, and {method} protects single rows only; use --method {able}, or "
            "leave [person] out of the schema where nobody has two rows"
        )
    parameters = inspect.signature(kind).parameters
    if prune != "none" and "prune" not in parameters:
        raise InputError(f"--prune {prune}: {method} cannot tell which of its weights are reliable; use select-refit")
    if max_variables is not None and "max_variables" not in parameters:
        raise InputError(f"--max-variables {max_variables}: {method} does not select variables; use select-refit")
    asked = {
        **privacy,
        "prune": prune,
        "variables": SchemaEncoder(schema).variables_for(target.classes),
        "max_variables": max_variables,
    }
    common = {name: value for name, value in asked.items() if name in parameters}
    offered = [name for name in parameters if name not in _TAKEN]
    further = _parsed(method, options, offered)
    if isinstance(target, NumericTarget) and further.get("calibration", "tight") == "tight":
        # Without one a blood pressure between 80 and 200 is as good as 0 where every feature is. No other calibration
        # has an intercept.
        further.setdefault("fit_intercept", True)
    return kind(bounds=(-1, 1), **asked_of, **common, **further)


def parsed_grid(grids: Sequence[str]) -> dict[str, list[Any]]:
    """Return lists of values by name, each written as ``name=value,value``.

    Raises
    ------
    InputError
        One is not written so, or names what the schema or another option says.

    Privacy
    -------
    Data-independent.
    """
    parsed: dict[str, list[Any]] = {}
    for grid in grids:
        name, equals, text = grid.partition("=")
        values = [value.strip() for value in text.split(",")]
        if not equals or not all(values):
            raise InputError(f"--grid {grid}: write a parameter and its values, such as max_features=5,10,20")
        if name in parsed:
            raise InputError(f"--grid {grid}: {name} has its values already; give all of them in one list")
        if name in _TAKEN and name not in _IN_GRIDS:
            raise InputError(f"--grid {grid}: {name} is the same for all candidates, by the schema or another option")
        parsed[name] = [_value(value) for value in values]
    return parsed


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _parsed(method: str, options: Sequence[str], offered: Sequence[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or name not in offered:
            raise InputError(f"--option {option}: {method} takes {', '.join(f'{name}=…' for name in offered)}")
        parsed[name] = _value(text)
    return parsed
