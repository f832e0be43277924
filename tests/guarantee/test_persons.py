"""Fits that protect all rows of a person: as today with one row each, and no more felt than one row with many."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hardzero
from hardzero.data.persons import Persons
from hardzero.estimators._persons import read_persons

from .private_fits import CASES, LASSO, SELECT_REFIT, STORAGES, TABLES, loops, records
from .replay import all_that_leaves, taped
from .test_neighbours import movements

__all__ = ["loops"]

ABLE = (SELECT_REFIT, LASSO, "PrivateLassoRegression")
FITS = [case for case in CASES if case.estimator in ABLE]
THRICE = [
    replace(case, parameters={**case.parameters, "max_rows_per_person": 3})
    for case in FITS
    if case.estimator != SELECT_REFIT and case.n_features < 400
]
every_case = pytest.mark.parametrize("case", FITS, ids=str)
every_way = pytest.mark.parametrize("case", [*FITS, *THRICE], ids=str)
PERSONS = 120


def owners_of(seed, persons=PERSONS, most=6):
    """Whose rows they are: every person has one at least, and rows of a person need not be together."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.repeat(np.arange(persons), rng.integers(1, most + 1, persons)))


def fitted(case, table, groups, storage="dense", **changes):
    X, y = table
    model = case.build(**changes)
    if storage in TABLES:
        return model.fit_table(STORAGES[storage](X), y, groups=groups)
    return model.fit(STORAGES[storage](X), y, groups=groups)


@every_case
@pytest.mark.parametrize("storage", ["dense", "csr", "stacked"])
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_with_one_row_each_the_result_is_the_same_to_the_last_bit(case, storage, relation):
    if storage in TABLES and case.n_classes == 0:
        pytest.skip("regressions take no stacked tables")
    stated = {"n_rows": 250} if relation == "add-remove" else {}
    table = records(case, 1)
    rows, persons = (
        fitted(case, table, groups, storage, random_state=3, neighbours=relation, **stated)
        for groups in (None, [f"person {i}" for i in np.random.default_rng(0).permutation(len(table[1]))])
    )
    assert np.array_equal(rows.coef_, persons.coef_)
    assert np.array_equal(rows.intercept_, persons.intercept_)
    assert (rows.privacy_.unit, persons.privacy_.unit) == ("row", "person")
    assert replace(persons.privacy_, unit="row", assumed_public=rows.privacy_.assumed_public) == rows.privacy_


@every_way
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_other_records_and_other_numbers_of_rows_give_the_same_output(case, storage, loops):
    """Played back: the number of persons is public, that of their rows leaves by no way."""
    tables = [(records(case, seed, len(owners_of(seed))), owners_of(seed)) for seed in (1, 2, 3)]
    assert len({len(owners) for _, owners in tables}) == 3
    with taped() as tape:
        expected = all_that_leaves(lambda: fitted(case, *tables[0], storage))
    for table in tables[1:]:
        with taped(tape):
            found = all_that_leaves(lambda table=table: fitted(case, *table, storage))
        for what, value in expected.items():
            assert found[what] == value, what


@every_way
def test_under_add_remove_the_number_of_persons_leaves_by_no_way_either(case):
    tables = [
        (records(case, persons, len(owners_of(persons, persons))), owners_of(persons, persons))
        for persons in (120, 60, 121)
    ]
    stated = {"neighbours": "add-remove", "n_rows": 110}
    with taped() as tape:
        expected = all_that_leaves(lambda: fitted(case, *tables[0], **stated))
    for table in tables[1:]:
        with taped(tape):
            assert all_that_leaves(lambda table=table: fitted(case, *table, **stated)) == expected


def crowd(case, own_rows):
    """Persons as usual, and at the end one with so many rows at the bounds, with the label that fits them least."""
    owners = np.append(owners_of(5), np.full(own_rows, PERSONS))
    X, y = records(case, 5, len(owners))
    X[-own_rows:] = np.where(np.arange(case.n_features) % 2, 1.0, -1.0)
    X[-own_rows:, :3] = 1.0
    y[-own_rows:] = -2 if case.n_classes == 0 else 0
    return X, y, owners


def moved(case, relation, own_rows):
    """By how much every release moves because of that person, as a share of what is charged."""
    X, y, owners = crowd(case, own_rows)
    stated = {"neighbours": relation, "random_state": 1} | (
        {"n_rows": PERSONS + 1} if relation == "add-remove" else {}
    )
    with taped() as one:
        model = fitted(case, (X, y), owners, **stated)
    others = owners < PERSONS
    left, left_y, left_owners = X[others], y[others], owners[others]
    if relation == "zero-out":  # the number of persons is published: the emptied table is run with it as a constant
        stated |= {"neighbours": "add-remove", "n_rows": PERSONS + 1}
    elif relation == "replace-one":  # by a person of two rows, the opposite of theirs
        left, left_y = np.vstack([left, -X[-1:], -X[-1:]]), np.append(left_y, y[[-1, -1]])
        left_owners = np.append(left_owners, [PERSONS, PERSONS])
    with taped(one) as other:
        fitted(case, (left, left_y), left_owners, **stated)
    return list(movements(one, other, model.privacy_.events, 1))


@every_way
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("own_rows", [1, 7, 1000])
def test_nothing_moves_by_more_than_is_charged(case, relation, own_rows):
    shares = moved(case, relation, own_rows)
    assert all(share <= 1 for share in shares)
    assert max(shares) > 0.3  # the crafted person is felt, so that a charge of a third would be noticed


class TestTwins:
    """Faults that a person with many rows shows."""

    def test_rows_are_clipped_and_persons_are_not(self, monkeypatch):
        monkeypatch.setattr(Persons, "divided", lambda self, codes: codes)
        assert max(moved(FITS[0], "zero-out", 100)) > 20

    def test_every_row_is_counted(self, monkeypatch):
        monkeypatch.setattr(Persons, "tally", lambda self, cells, size, whole: whole * np.bincount(cells, None, size))
        case = next(case for case in FITS if case.n_classes == 3)
        assert max(moved(case, "zero-out", 100)) > 20

    def test_all_rows_stand_for_a_person(self, monkeypatch):
        monkeypatch.setattr(Persons, "standing_in", lambda self, rows: np.arange(len(self.sizes)))
        case = next(case for case in FITS if case.estimator == LASSO)
        assert max(moved(case, "zero-out", 100)) > 20

    def test_three_rows_at_the_price_of_one(self, monkeypatch):
        from hardzero.estimators import private_lasso

        plan = private_lasso.plan_lasso

        def cheap(*asked, rows_per_person, **others):
            return plan(*asked, rows_per_person=1, **others)

        monkeypatch.setattr(private_lasso, "plan_lasso", cheap)
        assert max(moved(THRICE[0], "zero-out", 100)) > 2


def test_the_published_noise_says_what_several_rows_cost():
    """Three rows stand for a person, and the noise of the paper is for one: its honest ε is about three times it."""
    case = next(case for case in THRICE if case.parameters.get("calibration") == "paper")
    table, owners = records(case, 1, len(owners_of(1))), owners_of(1)
    thrice = fitted(case, table, owners, random_state=0).privacy_
    once = fitted(replace(case, parameters={**case.parameters, "max_rows_per_person": 1}), table, owners).privacy_
    assert 2.9 * once.epsilon < thrice.epsilon
    assert math.isfinite(thrice.epsilon)


@pytest.mark.parametrize("newcomer", [0.5, "a", None, True])
def test_an_identifier_in_a_list_changes_no_other_one(newcomer):
    names = [2**53 + 1, 2**53, 1.0, "1", True, 7]
    alone = read_persons(names).numbers.tolist()
    assert alone == [0, 1, 2, 2, 3, 4]
    assert read_persons([*names, newcomer]).numbers.tolist()[:-1] == alone


def test_these_estimators_take_persons_and_no_others():
    estimators = {name for name in hardzero.__all__ if hasattr(getattr(hardzero, name), "fit")}
    assert {name for name in estimators if getattr(getattr(hardzero, name), "_takes_persons", False)} == set(ABLE)
    assert {case.estimator for case in FITS} == set(ABLE)
