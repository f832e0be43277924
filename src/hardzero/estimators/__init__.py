"""The methods as scikit-learn estimators: validate, plan, run, present. No mathematics.

This is the one list of them: public names and the choices of the command line come from here. Each is loaded when
first used, so that `hardzero --help` need not wait for scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .admm import PrivateADMMLogisticRegression
    from .gradient_steps import DensePrivateLogisticRegression, PrivateIGHTLogisticRegression
    from .greedy import PrivateGreedyLogisticRegression
    from .lasso import LassoLogisticRegression
    from .private_lasso import PrivateLassoLogisticRegression, PrivateLassoRegression
    from .select_refit import SparsePrivateLogisticRegression
    from .sparsifier import SparsifierLogisticRegression, SparsifierRegression
    from .two_stage import TwoStageLogisticRegression

__all__ = [
    "DensePrivateLogisticRegression",
    "LassoLogisticRegression",
    "PrivateADMMLogisticRegression",
    "PrivateGreedyLogisticRegression",
    "PrivateIGHTLogisticRegression",
    "PrivateLassoLogisticRegression",
    "PrivateLassoRegression",
    "SparsePrivateLogisticRegression",
    "SparsifierLogisticRegression",
    "SparsifierRegression",
    "TwoStageLogisticRegression",
]

MODULES = {
    "SparsePrivateLogisticRegression": "select_refit",
    "SparsifierLogisticRegression": "sparsifier",
    "PrivateLassoLogisticRegression": "private_lasso",
    "TwoStageLogisticRegression": "two_stage",
    "PrivateADMMLogisticRegression": "admm",
    "PrivateIGHTLogisticRegression": "gradient_steps",
    "PrivateGreedyLogisticRegression": "greedy",
    "DensePrivateLogisticRegression": "gradient_steps",
    "LassoLogisticRegression": "lasso",
    "PrivateLassoRegression": "private_lasso",
    "SparsifierRegression": "sparsifier",
}
"""Where each estimator lives."""

CHOICES = {
    "select-refit": "SparsePrivateLogisticRegression",
    "sparsifier": "SparsifierLogisticRegression",
    "private-lasso": "PrivateLassoLogisticRegression",
    "two-stage": "TwoStageLogisticRegression",
    "admm": "PrivateADMMLogisticRegression",
    "ight": "PrivateIGHTLogisticRegression",
    "greedy": "PrivateGreedyLogisticRegression",
    "dense": "DensePrivateLogisticRegression",
    "lasso": "LassoLogisticRegression",
}
"""What the command line calls those that tell classes apart. The last is not private."""

PRUNINGS = ("none", "reliable")
"""What the parameter ``prune`` can be."""


def named(name: str) -> Any:
    """Return an estimator's class by its name.

    Privacy
    -------
    Data-independent.
    """
    return getattr(import_module(f".{MODULES[name]}", __name__), name)
