"""How good a model is, told privately: what a table of rows says about it, under a guarantee for these rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.evaluation import Evaluation
    from .assess import evaluate
    from .holdout import fit_and_evaluate

__all__ = ["Evaluation", "evaluate", "fit_and_evaluate"]

_HOME_OF = {
    "Evaluation": "..model.evaluation",
    "evaluate": ".assess",
    "fit_and_evaluate": ".holdout",
}

if not TYPE_CHECKING:  # loaded when first used

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name], __name__), name)
