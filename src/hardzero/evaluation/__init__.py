"""What a fit will be worth, before a record is read, and how good a model is, told privately under a guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.evaluation import Evaluation
    from .assess import evaluate
    from .holdout import fit_and_evaluate
    from .planner import needed_epsilon, needed_rows, plan
    from .planner_forecast import Forecast
    from .planner_tables import Supposed
    from .search import PrivateSearch

__all__ = [
    "Evaluation",
    "Forecast",
    "PrivateSearch",
    "Supposed",
    "evaluate",
    "fit_and_evaluate",
    "needed_epsilon",
    "needed_rows",
    "plan",
]

_HOME_OF = {
    "Evaluation": "..model.evaluation",
    "Forecast": ".planner_forecast",
    "PrivateSearch": ".search",
    "Supposed": ".planner_tables",
    "evaluate": ".assess",
    "fit_and_evaluate": ".holdout",
    "needed_epsilon": ".planner",
    "needed_rows": ".planner",
    "plan": ".planner",
}

if not TYPE_CHECKING:  # loaded when first used

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name], __name__), name)
