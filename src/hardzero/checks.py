"""Checks of parameters and of installed packages, with messages that name what was given and what to do."""

from __future__ import annotations

import importlib
import math
import numbers
from collections.abc import Sequence
from typing import Any


class InputError(ValueError):
    """What a user gave cannot be used; the message says what and how to mend it."""


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def not_negative(name: str, value: Any) -> float:
    """Return a finite number, zero allowed."""
    number = _number(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return number


def share(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    number = _number(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    return float(value)


def within(name: str, value: Any, low: float, high: float) -> float:
    """Return a number from ``low`` to ``high``."""
    number = _number(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
    return number


def whole(name: str, value: Any, at_least: int) -> int:
    """Return a whole number of at least ``at_least``; 3.0 is not whole enough."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value!r}")
    return int(value)


def whole_within(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``."""
    number = whole(name, value, low)
    if number > high:
        raise ValueError(f"{name} must be at most {high}, got {value!r}")
    return number


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return one of the named options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


class MissingPackageError(ImportError):
    """A package that the called function needs is not installed; the message says how to install it."""


def require(module: str, extra: str = "io") -> Any:
    """Import a module, or say which extra of hardzero brings it.

    Parameters
    ----------
    module : str
        Name of the module, dots allowed.
    extra : str, default="io"
        Name of the extra.

    Privacy
    -------
    Data-independent.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f"this needs the package {package}, which cannot be imported: pip install 'hardzero[{extra}]'",
            name=package,
        ) from error
