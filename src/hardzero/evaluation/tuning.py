"""The terms of a search: who takes part, what it may cost, and what it then guarantees. No rows are seen here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from .. import checks
from ..ledger.ledger import Ledger
from ..ledger.receipt import Receipt
from ..model.statement import FewRowsWarning, PrivacyStatement, WeakGuaranteeWarning
from ..privacy.budget import Neighbours
from ..privacy.events import RandomStopping
from ..privacy.randomness import IntArray, Source
from .assess import public_rows
from .holdout import Split
from .tuning_candidates import Candidate
from .tuning_plan import FEW, STRATEGIES, TuningPlan, plan_tuning
from .tuning_run import searched


@dataclass(frozen=True)
class Tuning:
    """What a search is about, checked.

    Attributes
    ----------
    candidates : tuple of Candidate
        Two or more.
    epsilon, delta : float
        The whole budget; a δ of None stands for the default.
    neighbours : Neighbours
        The relation.
    n_rows : int or None
        A stated number of rows, for add-remove.
    scoring : str
        By what candidates are compared.
    odds : int or None
        The mean number of runs in random stopping; None where all candidates are fitted.
    holdout : float
        The probability with which a row is set aside.
    seed : int or None
        Of a test run.
    ledger : Ledger or None
        Where the search is charged.

    Privacy
    -------
    Data-independent.
    """

    candidates: tuple[Candidate, ...]
    epsilon: float
    delta: float | None
    neighbours: Neighbours
    n_rows: int | None
    scoring: str
    odds: int | None
    holdout: float
    seed: int | None
    ledger: Ledger | None

    def split(self, fitted: int, aside: int) -> Split:
        """Return public numbers of rows and the budget; under add-remove they come from the stated number."""
        public_rows(self.neighbours, self.n_rows, fitted + aside)
        return Split.between(self.holdout, self.epsilon, self.delta, self.n_rows or (fitted, aside))

    def plan(self, split: Split, n_features: int) -> TuningPlan:
        """Return what everyone is told, before a record is looked at."""

        def releases(candidate: Candidate) -> Callable[[float], Any]:
            return lambda epsilon: candidate.events(split.fitted, n_features, **self._told(split, epsilon))

        return plan_tuning(split.budget, self.neighbours, [releases(each) for each in self.candidates], self.odds)

    def charged(self, plan: TuningPlan) -> AbstractContextManager[Receipt | None]:
        """Charge the whole search to its ledger while it is carried out, if there is one."""
        if self.ledger is None:
            return nullcontext()
        what = f"PrivateSearch over {len(self.candidates)} candidates"
        return self.ledger.charged(plan.events, plan.spent, plan.neighbours, what=what, seeded=self.seed is not None)

    def carried_out(
        self,
        plan: TuningPlan,
        split: Split,
        fit: Callable[[Any], Any],
        score: Callable[[Any], IntArray],
        source: Source,
    ) -> tuple[int, Any]:
        """Return the number of the chosen candidate and its fitted estimator.

        ``fit`` fits an estimator to the rows that were not set aside, ``score`` gives points to those that were.

        Privacy
        -------
        Releases a fitted estimator at the cost of the plan. Proof: docs/proofs/tuning.md.
        """

        def fitted(number: int, seed: int | None) -> Any:
            told = self._told(split, plan.told[number])
            estimator = self.candidates[number].with_budget(**told, random_state=seed)
            with warnings.catch_warnings():
                for category in (WeakGuaranteeWarning, FewRowsWarning):  # about the whole, said by whoever searches
                    warnings.simplefilter("ignore", category)
                fit(estimator)
            return estimator

        return searched(plan, fitted, score, source)

    def _told(self, split: Split, epsilon: float) -> dict[str, Any]:
        return {
            "epsilon": epsilon,
            "delta": split.budget.delta,
            "neighbours": self.neighbours.value,
            "n_rows": None if self.n_rows is None else split.fitted,
        }

    def settle(
        self, best: Any, plan: TuningPlan, split: Split, counted: int, receipt: Receipt | None
    ) -> PrivacyStatement:
        """Give the chosen estimator the budget and the statement of the whole, and return the statement.

        Privacy
        -------
        Post-processing: made from the plan and public numbers.
        """
        best.set_params(epsilon=plan.budget.epsilon, delta=plan.budget.delta, n_rows=self.n_rows)
        n_rows = self.n_rows or counted
        size, *others = best.privacy_.assumed_public
        size = best._size_in_words(counted, best.n_features_in_)
        best.privacy_ = PrivacyStatement(
            plan.spent.epsilon,
            plan.spent.delta,
            plan.neighbours,
            plan.events,
            (size, *others, f"the {len(self.candidates)} candidates of the search"),
            seeded=self.seed is not None,
            notes=(self._note(plan), advice(plan, split, n_rows)),
            n_rows=n_rows,
            ledger=receipt,
            instead=() if isinstance(plan.choice, RandomStopping) else (plan.choice,),
        )
        return best.privacy_  # type: ignore[no-any-return]

    def _note(self, plan: TuningPlan) -> str:
        how = (
            f"of which a random number was tried, {plan.choice.odds} on average"
            if isinstance(plan.choice, RandomStopping)
            else f"all of which were fitted; {plan.choice.describe()}"
        )
        return (
            f"Chosen among {len(self.candidates)} candidates, {how}. The choice looked at other rows, set aside with "
            f"probability {self.holdout:g}: it costs a row no more than the fits cost another, and the guarantee is "
            "for all of it. Intervals and q-values do not know that the model was chosen."
        )


def odds_of(strategy: Any, mean_runs: Any, candidates: int) -> int | None:
    """Return the mean number of runs in random stopping, or None where all candidates are fitted.

    Privacy
    -------
    Data-independent.
    """
    chosen = checks.choice("strategy", strategy, STRATEGIES)
    if chosen == "auto":
        chosen = "all" if candidates <= FEW and mean_runs is None else "random-stopping"
    if chosen == "random-stopping":
        return candidates if mean_runs is None else checks.whole("mean_runs", mean_runs, 2)
    if mean_runs is not None:
        raise ValueError("mean_runs goes with strategy='random-stopping'; leave it out to fit all candidates")
    return None


def advice(plan: TuningPlan, split: Split, n_rows: int) -> str:
    """Say what tuning costs in noise.

    Privacy
    -------
    Data-independent.
    """
    left = n_rows * (1 - split.share) / plan.untuned
    return (
        f"Every candidate has {plan.untuned:.2g} times the noise of one untuned fit with the whole budget, and "
        f"{1 - split.share:.0%} of the rows: against noise it is a table of {left:,.0f} rows in place of {n_rows:,}. "
        "Tuning pays only where the best candidate gains more than that loses."
    )
