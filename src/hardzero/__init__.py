"""Sparse linear models under differential privacy, with zeros that stay zero."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import estimators
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .bounds.private import PrivateBounds, private_bounds
    from .estimators import *  # noqa: F403
    from .estimators._repeats import RepeatedFitWarning, SeededFitWarning
    from .evaluation import evaluate, fit_and_evaluate
    from .evaluation.planner import needed_epsilon, needed_rows, plan
    from .evaluation.planner_forecast import Forecast
    from .evaluation.planner_tables import Supposed
    from .evaluation.search import PrivateSearch
    from .ledger.ledger import Ledger
    from .ledger.store import LedgerError
    from .methods.private_lasso import paper_iterations
    from .model import FittedModel
    from .model.evaluation import Evaluation
    from .model.inference import Inference
    from .model.statement import FewRowsWarning, PrivacyStatement, WeakGuaranteeWarning
    from .optim.optimum import ExactSolver, PlainFrankWolfe
    from .privacy.budget import Budget, BudgetExceededError, Neighbours
    from .schema import Schema, load_schema

__all__ = [
    "Budget",
    "BudgetExceededError",
    "Evaluation",
    "ExactSolver",
    "FewRowsWarning",
    "FittedModel",
    "Forecast",
    "Inference",
    "Ledger",
    "LedgerError",
    "Neighbours",
    "PlainFrankWolfe",
    "PrivacyStatement",
    "PrivateBounds",
    "PrivateSearch",
    "RepeatedFitWarning",
    "Schema",
    "SeededFitWarning",
    "Supposed",
    "WeakGuaranteeWarning",
    "evaluate",
    "fit_and_evaluate",
    "load_schema",
    "needed_epsilon",
    "needed_rows",
    "paper_iterations",
    "plan",
    "private_bounds",
]
__all__ += estimators.__all__

# Names are loaded when first used, so that `hardzero --help` need not wait for scikit-learn.
_HOME_OF = {name: f"estimators.{module}" for name, module in estimators.MODULES.items()} | {
    "Budget": "privacy.budget",
    "BudgetExceededError": "privacy.budget",
    "Evaluation": "model.evaluation",
    "ExactSolver": "optim.optimum",
    "FewRowsWarning": "model.statement",
    "FittedModel": "model",
    "Forecast": "evaluation.planner_forecast",
    "Inference": "model.inference",
    "Ledger": "ledger.ledger",
    "LedgerError": "ledger.store",
    "Neighbours": "privacy.budget",
    "PlainFrankWolfe": "optim.optimum",
    "PrivacyStatement": "model.statement",
    "PrivateBounds": "bounds.private",
    "PrivateSearch": "evaluation.search",
    "RepeatedFitWarning": "estimators._repeats",
    "Schema": "schema",
    "SeededFitWarning": "estimators._repeats",
    "Supposed": "evaluation.planner_tables",
    "WeakGuaranteeWarning": "model.statement",
    "evaluate": "evaluation",
    "fit_and_evaluate": "evaluation",
    "load_schema": "schema",
    "needed_epsilon": "evaluation.planner",
    "needed_rows": "evaluation.planner",
    "paper_iterations": "methods.private_lasso",
    "plan": "evaluation.planner",
    "private_bounds": "bounds.private",
}

_RENAMED = {"SparsePrivateRegression": "SparsifierRegression"}

if not TYPE_CHECKING:  # else a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _RENAMED:
            warnings.warn(f"{name} is called {_RENAMED[name]} now", DeprecationWarning, stacklevel=2)
            return __getattr__(_RENAMED[name])
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value  # found at once from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
