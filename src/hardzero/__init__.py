"""Sparse linear models under differential privacy, with zeros that stay zero."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators._repeats import RepeatedFitWarning
    from .estimators.admm import PrivateADMMLogisticRegression
    from .estimators.gradient_steps import DensePrivateLogisticRegression, PrivateIGHTLogisticRegression
    from .estimators.greedy import PrivateGreedyLogisticRegression
    from .estimators.lasso import LassoLogisticRegression
    from .estimators.private_lasso import PrivateLassoLogisticRegression, PrivateLassoRegression
    from .estimators.select_refit import SparsePrivateLogisticRegression
    from .estimators.sparsifier import SparsePrivateRegression, SparsifierLogisticRegression
    from .estimators.two_stage import TwoStageLogisticRegression
    from .methods.private_lasso import paper_iterations
    from .model import FittedModel
    from .model.statement import PrivacyStatement, WeakGuaranteeWarning
    from .optim.optimum import ExactSolver, PlainFrankWolfe
    from .privacy.budget import Budget, BudgetExceededError, Neighbours
    from .schema import Schema, load_schema

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceededError",
    "DensePrivateLogisticRegression",
    "ExactSolver",
    "FittedModel",
    "LassoLogisticRegression",
    "Neighbours",
    "PlainFrankWolfe",
    "PrivacyStatement",
    "PrivateADMMLogisticRegression",
    "PrivateGreedyLogisticRegression",
    "PrivateIGHTLogisticRegression",
    "PrivateLassoLogisticRegression",
    "PrivateLassoRegression",
    "RepeatedFitWarning",
    "Schema",
    "SparsePrivateLogisticRegression",
    "SparsePrivateRegression",
    "SparsifierLogisticRegression",
    "TwoStageLogisticRegression",
    "WeakGuaranteeWarning",
    "load_schema",
    "paper_iterations",
]

# Names are loaded when first used, so that `hardzero --help` need not wait for scikit-learn.
_HOMES = {
    "estimators._repeats": ("RepeatedFitWarning",),
    "estimators.admm": ("PrivateADMMLogisticRegression",),
    "estimators.gradient_steps": ("DensePrivateLogisticRegression", "PrivateIGHTLogisticRegression"),
    "estimators.greedy": ("PrivateGreedyLogisticRegression",),
    "estimators.lasso": ("LassoLogisticRegression",),
    "estimators.private_lasso": ("PrivateLassoLogisticRegression", "PrivateLassoRegression"),
    "estimators.select_refit": ("SparsePrivateLogisticRegression",),
    "estimators.sparsifier": ("SparsePrivateRegression", "SparsifierLogisticRegression"),
    "estimators.two_stage": ("TwoStageLogisticRegression",),
    "methods.private_lasso": ("paper_iterations",),
    "model": ("FittedModel",),
    "model.statement": ("PrivacyStatement", "WeakGuaranteeWarning"),
    "optim.optimum": ("ExactSolver", "PlainFrankWolfe"),
    "privacy.budget": ("Budget", "BudgetExceededError", "Neighbours"),
    "schema": ("Schema", "load_schema"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # else a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value  # found at once from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
