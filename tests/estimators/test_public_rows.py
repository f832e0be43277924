"""The number of rows: published, or kept secret and replaced by a stated one."""

import pytest

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.bounded import MAX_ROWS
from hardzero.estimators._scattered import KeptRows

from ..guarantee.private_fits import CASES, fitted, records

EVERY_ESTIMATOR = pytest.mark.parametrize(
    "case", list({case.estimator: case for case in reversed(CASES)}.values()), ids=lambda case: case.estimator
)


@EVERY_ESTIMATOR
def test_add_remove_needs_a_public_number(case):
    with pytest.raises(ValueError, match=r"needs n_rows=…, a public number of rows"):
        fitted(case, records(case, 1), neighbours="add-remove")


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
@EVERY_ESTIMATOR
def test_the_others_take_none(case, relation):
    with pytest.raises(ValueError, match="n_rows goes with neighbours='add-remove'"):
        fitted(case, records(case, 1), neighbours=relation, n_rows=300)


@pytest.mark.parametrize(("n_rows", "error"), [(0, ValueError), (2.5, TypeError), (MAX_ROWS + 1, ValueError)])
@EVERY_ESTIMATOR
def test_it_must_be_a_number_of_rows(case, n_rows, error):
    with pytest.raises(error, match="n_rows must be"):
        fitted(case, records(case, 1), neighbours="add-remove", n_rows=n_rows)


@EVERY_ESTIMATOR
def test_the_statement_says_which_number_is_public(case):
    secret = repr(fitted(case, records(case, 1, 271), neighbours="add-remove", n_rows=250).privacy_)
    assert "the stated number of rows (250)" in secret
    assert "271" not in secret
    assert "the number of rows (271)" in repr(fitted(case, records(case, 1, 271)).privacy_)


@pytest.mark.parametrize(("n_rows", "most"), [(1, 2**26), (2**26, 2**26), (2**26 + 1, 2**30), (2**30, 2**30)])
def test_more_rows_than_sums_can_hold_beside_it_are_refused(n_rows, most):
    """Before records are looked at: here there are none, and only within the limit that is found out."""
    model = SparsePrivateLogisticRegression(
        bounds=(-1, 1), classes=[0, 1], neighbours="add-remove", n_rows=n_rows, delta=1e-6
    )
    with pytest.raises(ValueError, match=f"there are more than {most} rows, which cannot be summed exactly"):
        model.fit_kept(KeptRows(None, most + 1, 3))
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute"):
        model.fit_kept(KeptRows(None, most, 3))
