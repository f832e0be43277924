"""Rows that are set aside while a table is read, and a model evaluated on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import checks
from ...atomic import Claim
from ...checks import InputError
from ...data.persons import Persons
from ...evaluation.assess import assessed, margins_of, planned
from ...evaluation.holdout import NO_LEDGER, Split, coins, with_note
from ...model import FittedModel
from ...model.composed import with_released_bounds
from ...model.evaluation import Evaluation
from ...privacy.budget import Neighbours
from ...privacy.randomness import Source, source_for
from ...schema.columns import Schema
from ...schema.target import NumericTarget
from .evaluate import order_of, schema_of
from .fit import Numbers, keep_text


@dataclass
class SetAside:
    """Takes rows away from a fit, each by its own coin, and keeps them for the evaluation.

    Privacy
    -------
    Sensitive.
    """

    share: float
    seed: int | None
    source: Source
    kept: list[tuple[Any, Any, Numbers | None]] = field(default_factory=list, repr=False)
    coins: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_), repr=False)
    split: Split | None = None

    def without(self, X: Any, places: Any, persons: Numbers | None = None) -> tuple[Any, Any, Numbers | None]:
        """Return the rows of a batch that are not set aside; all rows of a person share one coin.

        Privacy
        -------
        Sensitive. A coin depends on nothing.
        """
        first = len(self.coins)
        count = len(places) if persons is None else max(int(persons.max(initial=-1)) + 1 - first, 0)
        self.coins = np.concatenate([self.coins, coins(count, self.share, self.source)])
        aside = self.coins[first:] if persons is None else self.coins[persons]
        numbers = (None, None) if persons is None else (persons[aside], persons[~aside])
        self.kept.append((X[aside], places[aside], numbers[0]))
        return X[~aside], places[~aside], numbers[1]

    def settle(self, estimator: Any) -> None:
        """Divide the public number of rows, or of persons, and give the estimator its part and the δ of both.

        Privacy
        -------
        Data-independent: how many were set aside depends on coins alone.
        """
        stated = estimator.n_rows
        counted = (int(np.sum(~self.coins)), int(np.sum(self.coins)))
        delta = estimator.delta
        self.split = Split.between(self.share, estimator.epsilon, delta, counted if stated is None else stated)
        estimator.set_params(delta=self.split.budget.delta, n_rows=None if stated is None else self.split.fitted)

    def evaluated(self, model: FittedModel, estimator: Any, output: Claim) -> Evaluation:
        """Evaluate a model on the rows that were set aside, and keep what is found.

        Privacy
        -------
        Releases noisy counts. With the fit, which saw others, (ε, δ)-differential privacy for each row or person.
        Proof: docs/proofs/evaluation.md.
        """
        assert self.split is not None
        schema, budget = schema_of(model), self.split.budget
        X = sparse.vstack([rows for rows, _, _ in self.kept], format="csr")
        places = order_of(model, schema)[np.concatenate([places for _, places, _ in self.kept])]
        numbers = [part for _, _, part in self.kept if part is not None]
        persons = None if schema.person is None else Persons.of_numbers(np.concatenate(numbers))
        relation = Neighbours.parse(estimator.neighbours)
        plan = planned(model, self.split.evaluated, budget.epsilon, budget.delta, relation)
        found = assessed(model, margins_of(model, X), places, plan, self.seed, persons)
        privacy = with_released_bounds(found.privacy, schema)  # which all rows took part in
        found = with_note(replace(found, privacy=privacy), model.privacy, self.share)
        keep_text(found.to_json(), output, "evaluation")
        return found


def set_aside(
    share: float | None, schema: Schema, estimator: Any, scheduler: str | None, seed: int | None
) -> SetAside | None:
    """Make ready to set rows aside, if that is asked for, or say why it cannot be.

    Privacy
    -------
    Data-independent.
    """
    if share is None:
        return None
    checks.share("--holdout", share)
    if scheduler is not None:
        raise InputError("--holdout does not go with --scheduler; fit without it, and evaluate on another table")
    if getattr(estimator, "ledger", None) is not None:
        raise InputError(f"a ledger {NO_LEDGER}, or add --no-ledger")
    if isinstance(schema.target, NumericTarget):
        raise InputError("--holdout is for models that tell classes apart; the schema's target is a number")
    if not hasattr(estimator, "epsilon"):
        raise InputError("--holdout shares the budget of a private fit; this method is not private")
    return SetAside(share, seed, source_for(seed))


def evaluation_path(apart: SetAside | None, output: Path, asked: Path | None) -> Path | None:
    """Return where the evaluation goes, beside the model if nothing is said; None if there is none.

    Privacy
    -------
    Data-independent.
    """
    if apart is None and asked is not None:
        raise InputError("--evaluation goes with --holdout, which sets rows aside to evaluate on")
    return None if apart is None else asked or output.with_name(f"{output.stem}-evaluation.json")
