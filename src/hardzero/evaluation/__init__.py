"""Choosing and judging: what a fit will be worth, and what it is worth. Names are loaded when first used."""

from importlib import import_module
from typing import Any

_HOME_OF = {
    "Forecast": "planner_forecast",
    "Supposed": "planner_tables",
    "needed_epsilon": "planner",
    "needed_rows": "planner",
    "plan": "planner",
}

__all__ = ["Forecast", "Supposed", "needed_epsilon", "needed_rows", "plan"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
