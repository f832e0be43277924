"""Sparse linear models under differential privacy, with zeros that stay zero."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators._repeats import RepeatedFitWarning
    from .estimators.admm import PrivateADMMLogisticRegression
    from .estimators.exact_lasso import LassoLogisticRegression
    from .estimators.gradient_steps import DensePrivateLogisticRegression, PrivateIGHTLogisticRegression
    from .estimators.greedy import PrivateGreedyLogisticRegression
    from .estimators.lasso import PrivateLassoLogisticRegression, PrivateLassoRegression
    from .estimators.sparse_private import SparsePrivateLogisticRegression
    from .estimators.sparsifier import SparsePrivateRegression, SparsifierLogisticRegression
    from .estimators.two_stage import TwoStageLogisticRegression
    from .optimum import ExactSolver, PlainFrankWolfe
    from .plan import paper_iterations
    from .privacy.budget import Budget, BudgetExceededError, Neighbours
    from .statement import PrivacyStatement, WeakGuaranteeWarning

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceededError",
    "DensePrivateLogisticRegression",
    "ExactSolver",
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
    "SparsePrivateLogisticRegression",
    "SparsePrivateRegression",
    "SparsifierLogisticRegression",
    "TwoStageLogisticRegression",
    "WeakGuaranteeWarning",
    "paper_iterations",
]

# Names are loaded when first used, so that `hardzero --help` need not wait for scikit-learn.
_HOMES = {
    "baselines.admm": ("PrivateADMMLogisticRegression",),
    "baselines.gradient_steps": ("DensePrivateLogisticRegression", "PrivateIGHTLogisticRegression"),
    "baselines.greedy": ("PrivateGreedyLogisticRegression",),
    "baselines.two_stage": ("TwoStageLogisticRegression",),
    "estimators._repeats": ("RepeatedFitWarning",),
    "estimators.lasso": ("LassoLogisticRegression", "PrivateLassoLogisticRegression", "PrivateLassoRegression"),
    "estimators.sparse_private": ("SparsePrivateLogisticRegression",),
    "estimators.sparsifier": ("SparsePrivateRegression", "SparsifierLogisticRegression"),
    "optimum": ("ExactSolver", "PlainFrankWolfe"),
    "plan": ("paper_iterations",),
    "privacy.budget": ("Budget", "BudgetExceededError", "Neighbours"),
    "statement": ("PrivacyStatement", "WeakGuaranteeWarning"),
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
