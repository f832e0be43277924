"""What a fit guarantees, and the parameters that say so: for private estimators, and for the one that is not."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from .. import checks
from ..data.bounded import MAX_ROWS
from ..ledger.ledger import Ledger
from ..ledger.units import Unit
from ..methods.plans import default_delta
from ..model.statement import PrivacyStatement
from ..privacy.budget import Budget, Neighbours
from ..privacy.events import NotPrivate
from ..privacy.randomness import source_for
from ._classifier import BinaryClassifier, LinearClassifier
from ._ledger import ChargedFits
from ._linear import Shape
from ._parameters import parameters
from ._regressor import LinearRegressor
from ._repeats import RepeatedFits


@parameters
class PrivateFit(RepeatedFits, ChargedFits):
    """Reads the parameters that every private estimator has."""

    _states_classes = True

    epsilon: float = field(default=1.0, kw_only=False)
    delta: float | None = field(default=None, kw_only=False)
    bounds: Any = None
    neighbours: str = "zero-out"
    n_rows: int | None = None
    random_state: int | None = None
    ledger: Ledger | None = None

    def _public_rows(self, counted: int) -> int:
        if self._relation() is not Neighbours.ADD_REMOVE:
            if self.n_rows is not None:
                raise ValueError(
                    f"n_rows goes with neighbours='add-remove'; with {self.neighbours!r} the table's own number of "
                    "rows is published: leave n_rows out, or change neighbours"
                )
            return counted
        if self.n_rows is None:
            raise ValueError(
                "neighbours='add-remove' needs n_rows=…, a public number of rows to use in place of the true one, "
                "which it keeps secret; state one known without counting the table, or use neighbours='zero-out'"
            )
        return checks.whole_within("n_rows", self.n_rows, 1, MAX_ROWS)

    def _size_in_words(self, counted: int, features: int, unit: Unit = "row") -> str:
        rows = self._public_rows(counted)
        if self._relation() is Neighbours.ADD_REMOVE:
            return (
                f"the number of features ({features}), feature names, and the stated number of {unit}s ({rows}); "
                "the true number is protected"
            )
        return f"the number of {unit}s ({rows}) and of features ({features}), and feature names"

    def _budget(self, n_rows: int) -> Budget:
        return Budget.asked(self.epsilon, default_delta(n_rows) if self.delta is None else self.delta)

    def _asked(self, shape: Shape) -> tuple[Budget, Neighbours]:
        return self._budget(shape.n_rows), self._relation()

    def _relation(self) -> Neighbours:
        return Neighbours.parse(self.neighbours)

    def _source(self) -> Any:
        return source_for(self.random_state)

    def _statement(
        self, plan: Any, assumed_public: tuple[str, ...], n_rows: int, unit: Unit = "row"
    ) -> PrivacyStatement:
        notes: tuple[str, ...] = ()
        if not plan.spent <= plan.budget:
            notes = (
                f"The published noise was asked for epsilon = {plan.budget.epsilon:g}; under "
                f"{plan.neighbours.value} neighbours it is proved only for the figure above.",
            )
        return PrivacyStatement(
            plan.spent.epsilon,
            plan.spent.delta,
            plan.neighbours,
            plan.events,
            assumed_public,
            seeded=self.random_state is not None,
            notes=notes,
            n_rows=n_rows,
            ledger=self._receipt,
            unit=unit,
        )


@parameters
class PrivateClassifier(PrivateFit, LinearClassifier):
    """A private linear classifier."""

    classes: Any = None


@parameters
class PrivateBinaryClassifier(PrivateFit, BinaryClassifier):
    """A private linear classifier for two classes only."""

    classes: Any = None


@parameters
class PrivateRegressor(PrivateFit, LinearRegressor):
    """A private linear model of a bounded number."""

    target_bounds: Any = None


@parameters
class NonPrivateFit:
    """Says that nothing is protected."""

    bounds: Any = None

    def _public_rows(self, counted: int) -> int:
        return counted

    def _size_in_words(self, counted: int, features: int, unit: Unit = "row") -> str:
        return f"the number of rows ({counted}) and of features ({features}), and feature names"

    def _statement(
        self, plan: Any, assumed_public: tuple[str, ...], n_rows: int, unit: Unit = "row"
    ) -> PrivacyStatement:
        event = NotPrivate("weights fitted without noise")
        return PrivacyStatement(np.inf, 0.0, Neighbours.ZERO_OUT, (event,), assumed_public, n_rows=n_rows)
