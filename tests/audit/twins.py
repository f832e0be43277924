"""Deliberately broken versions of the library. An audit that they pass proves nothing.

Each says how it is broken, and in which cases, with how many runs on each input, it is caught nine times of ten.
How often it is caught stands in docs/audit.md; `python -m tests.audit.power` measures it, with seeds of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hardzero.audit import audit
from hardzero.audit.estimator_cases import FITS, evaluation_cases, fit_case
from hardzero.audit.mechanism_cases import mechanism_cases
from hardzero.audit.person_cases import person_cases
from hardzero.cli.actions.file_cases import file_cases
from hardzero.data import bounded
from hardzero.data.persons import Persons
from hardzero.estimators import _private, named
from hardzero.methods import rows
from hardzero.privacy import accounting, events, mechanisms, randomness
from hardzero.schema import cells

Patch = pytest.MonkeyPatch
LASSO, REFIT = "PrivateLassoLogisticRegression", "SparsePrivateLogisticRegression"
DENSE = "DensePrivateLogisticRegression"


def less_gaussian_noise(patch: Patch) -> None:
    right = randomness.rounded_gaussian
    patch.setattr(mechanisms, "rounded_gaussian", lambda source, count, sigma: right(source, count, sigma) // 2)


def less_laplace_noise(patch: Patch) -> None:
    right = randomness.discrete_laplace

    def halved(source, count, numerator, denominator=1):
        return right(source, count, numerator, 2 * denominator)

    patch.setattr(mechanisms, "discrete_laplace", halved)


def sharper_choices(patch: Patch) -> None:
    """Scores count twice: the exponential mechanism with half its noise."""
    right = mechanisms.weight_table
    patch.setattr(mechanisms, "weight_table", lambda eta, candidates: right(2 * eta, candidates))


def count_without_noise(patch: Patch) -> None:
    """The listing of Appendix B: its second clip starts from the raw count again."""
    patch.setattr(mechanisms, "count", lambda value, lowest, highest, *_: min(max(value._secret, lowest), highest))


def signs_of_zeros(patch: Patch) -> None:
    """A weight of zero is negative if there are two classes: equal to zero, and yet telling."""
    kind = named(LASSO)
    fit = kind.fit

    def telling(self, X, y):
        fit(self, X, y)
        self.coef_[self.coef_ == 0] = -0.0 if np.ptp(y) else 0.0
        return self

    patch.setattr(kind, "fit", telling)


def one_seed_for_all_fits(patch: Patch) -> None:
    patch.setattr(_private, "source_for", lambda random_state: randomness.SeededSource(7))


def one_noise_for_all_sums(patch: Patch) -> None:
    """The noise of every sum of a release is the same, as if each sum had its own copy of one generator."""
    right = randomness.rounded_gaussian

    def repeated(source, count, sigma):
        return np.repeat(right(source, 1, sigma), count)

    patch.setattr(mechanisms, "rounded_gaussian", repeated)


def rows_not_clipped(patch: Patch) -> None:
    """Neither to the bounds of the features nor to the length of a row."""
    right = bounded._dense_codes
    patch.setattr(bounded, "_dense_codes", lambda X, bounds: right(X / 100, bounds) * 100)
    patch.setattr(
        rows.ClippedRows, "of", lambda problem, norm: rows.ClippedRows(problem, np.ones(problem.data.n_rows), norm)
    )


def persons_with_many_voices(patch: Patch) -> None:
    """Each row is clipped, and a person is not."""
    patch.setattr(Persons, "divided", lambda self, codes: codes)
    patch.setattr(Persons, "tally", lambda self, cells, size, whole: whole * np.bincount(cells, minlength=size))


def steps_for_the_price_of_one(patch: Patch) -> None:
    patch.setattr(events.Repeated, "cost", property(lambda self: self.event.cost))
    right = accounting.stretches
    patch.setattr(accounting, "stretches", lambda released: right([getattr(one, "event", one) for one in released]))


def steps_for_the_root_of_their_price(patch: Patch) -> None:
    """T selections are paid for as √T: the advanced composition of a wrong memory."""

    def cost(self):
        return events.Cost(*(math.sqrt(self.times) * part for part in self.event.cost))

    patch.setattr(events.Repeated, "cost", property(cost))
    monotone = accounting.selection_eta

    def too_large(budget, times, others=(), accountant="zcdp"):
        return monotone(budget, max(math.isqrt(times), 1), others, accountant)

    patch.setattr(accounting, "selection_eta", too_large)


def types_by_one_record(patch: Patch) -> None:
    """A column of numbers in which one cell is text is read as text: no other record has a number then."""
    right = cells.encode_column

    def guessed(column, array, missing_values):
        texts = pa.array(array).to_pylist()
        if column.name == "age" and any(text and not str(text).isdigit() for text in texts):
            array = pa.array(["?"] * len(texts))
        return right(column, array, missing_values)

    patch.setattr(cells, "encode_column", guessed)


@dataclass(frozen=True)
class Twin:
    """A fault, and the cases in which it is caught with so many runs on each input."""

    break_library: Callable[[Patch], None]
    caught_in: dict[str, int]

    @property
    def name(self) -> str:
        return self.break_library.__name__.replace("_", "-")


TWINS = (
    Twin(
        less_gaussian_noise,
        {"gaussian": 400, "composed-mixture": 400, "evaluate-2-classes": 250, DENSE: 600, REFIT: 450},
    ),
    Twin(less_laplace_noise, {"count": 3000, "noisy-min": 3000}),
    Twin(
        sharper_choices,
        {"select": 3000, "select-signed": 3000, "choose-without-replacement": 3000, "composed-selections": 600}
        | {LASSO: 800, "PrivateLassoRegression": 1200},
    ),
    Twin(count_without_noise, {"count": 100}),
    Twin(signs_of_zeros, {LASSO: 100}),
    Twin(one_seed_for_all_fits, {LASSO: 100, REFIT: 60, DENSE: 60}),
    Twin(one_noise_for_all_sums, {"gaussian": 100}),
    Twin(rows_not_clipped, {LASSO: 1000, DENSE: 200}),
    Twin(steps_for_the_price_of_one, {"composed-selections": 350, "composed-mixture": 700, f"{DENSE}-20-steps": 150}),
    Twin(steps_for_the_root_of_their_price, {"composed-selections": 500}),
    Twin(persons_with_many_voices, {f"{REFIT}-persons": 200}),
    Twin(types_by_one_record, {"read-text-for-a-number": 1, "read-beyond-bounds": 1}),
)


def case_named(name: str, folder: Path, runs: int):
    """Build one case, with the library as it is at this moment."""
    fits = [fit for fit in FITS if fit.name == name]
    if fits:
        return replace(fit_case(fits[0]), quick=runs)
    others = (
        file_cases(folder)
        if name.startswith(("read", "file"))
        else [
            *mechanism_cases(),
            *evaluation_cases(),
            *person_cases(),
        ]
    )
    (case,) = (case for case in others if case.name == name)
    return replace(case, quick=runs) if hasattr(case, "quick") else case


def outcome_of(name: str, runs: int, seed: int, folder: Path, break_library=None):
    """Audit one case, of the library or of a broken twin."""
    with pytest.MonkeyPatch.context() as patch:
        if break_library is not None:
            break_library(patch)
        return audit([case_named(name, folder, runs)], quick=True, seed=seed)[0]
