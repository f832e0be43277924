"""Names of tests that many mutants share. The plain loops are asked for, so that no compiler is needed."""

SELECT_REFIT, SELECT_REFIT_WIDE, SELECT_REFIT_WIDE_3 = (
    f"SparsePrivateLogisticRegression-{kind}" for kind in ("2", "2-wide", "3-wide")
)
SELECT_REFIT_CURVED = f"{SELECT_REFIT}-epsilon=50.0"
LASSO = "PrivateLassoLogisticRegression-2-n_iter=60"
LASSO_INTERCEPT = f"{LASSO},fit_intercept=True"
LASSO_INTERCEPT_3 = "PrivateLassoLogisticRegression-3-n_iter=60,fit_intercept=True"
SPARSIFIER = "SparsifierLogisticRegression-2-n_iter=30"
REGRESSION = "PrivateLassoRegression-0-n_iter=60,fit_intercept=True"
TWO_STAGE = "TwoStageLogisticRegression-2-fit_intercept=True"
GREEDY = "PrivateGreedyLogisticRegression-2-n_iter=20,fit_intercept=True"
DENSE = "DensePrivateLogisticRegression-2-n_iter=20,fit_intercept=True"


def replayed(case, storage="dense", loops="reference"):
    """Other records with the same answers of the mechanisms give the same output."""
    return f"tests/guarantee/test_replay.py::test_other_records_give_the_same_output[{loops}-{case}-{storage}]"


def replayed_by_size(case):
    """So do tables of other sizes under add-remove."""
    return f"tests/guarantee/test_replay.py::test_under_add_remove_the_number_of_rows_leaves_by_no_way[{case}]"


def moved(case, relation="zero-out", storage="dense", loops="reference"):
    """Neighbours' sums and scores lie no further apart than is charged."""
    test = "tests/guarantee/test_neighbours.py::test_nothing_moves_by_more_than_is_charged"
    return f"{test}[{loops}-{case}-{relation}-{storage}]"


def in_file(file, *names):
    return tuple(f"tests/{file}.py::{name}" for name in names)
