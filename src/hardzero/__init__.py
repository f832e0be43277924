"""Sparse linear models under differential privacy, with zeros that stay zero."""

from .estimators.lasso import LassoLogisticRegression, PrivateLassoLogisticRegression, PrivateLassoRegression
from .estimators.sparse_private import SparsePrivateLogisticRegression
from .estimators.sparsifier import SparsePrivateRegression, SparsifierLogisticRegression
from .optimum import ExactSolver, PlainFrankWolfe
from .plan import paper_iterations
from .privacy.budget import Budget, BudgetExceededError, Neighbours
from .statement import PrivacyStatement

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceededError",
    "ExactSolver",
    "LassoLogisticRegression",
    "Neighbours",
    "PlainFrankWolfe",
    "PrivacyStatement",
    "PrivateLassoLogisticRegression",
    "PrivateLassoRegression",
    "SparsePrivateLogisticRegression",
    "SparsePrivateRegression",
    "SparsifierLogisticRegression",
    "paper_iterations",
]
