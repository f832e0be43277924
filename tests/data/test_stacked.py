"""A table in blocks gives the same numbers, to the last bit, as the same rows in one piece."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from hardzero import DensePrivateLogisticRegression, SparsePrivateLogisticRegression, TwoStageLogisticRegression
from hardzero.data import packed as packed_module
from hardzero.data import stacked as stacked_module
from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE, BoundedData, Bounds
from hardzero.data.stacked import StackedData

P = 7
BOUNDS = Bounds.parse((-1, 1), P)
CUTS = [[0, 300], [0, 1, 300], [0, 100, 100, 250, 300]]  # an empty block among them

STORES = {
    "dense": lambda batches: batches,
    "sparse": lambda batches: [sparse.csr_array(batch) for batch in batches],
    "mixed": lambda batches: [sparse.csr_array(b) if i % 2 else b for i, b in enumerate(batches)],
}


def table(store="dense", cuts=CUTS[-1], seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.3, 1.3, size=(300, P)) * (rng.random((300, P)) < 0.6)  # values beyond the bounds, and zeros
    batches = [X[a:b] for a, b in itertools.pairwise(cuts)]
    return BoundedData.from_matrix(X, BOUNDS), StackedData.from_batches(STORES[store](batches), BOUNDS)


every_store = pytest.mark.parametrize("store", STORES)


@every_store
@pytest.mark.parametrize("cuts", CUTS, ids=len)
def test_every_sum_is_the_same(store, cuts):
    whole, stacked = table(store, cuts)
    rng = np.random.default_rng(1)
    codes = rng.integers(-RESIDUAL_ONE, RESIDUAL_ONE, size=(300, 3))
    coef = rng.normal(size=(3, P))
    centre, scale = rng.uniform(-0.5, 0.5, size=P), rng.uniform(0.1, 1, size=P)
    for one, other in [(whole, stacked), (whole.subset(np.array([5, 0, 2])), stacked.subset(np.array([5, 0, 2])))]:
        features = np.array([5, 0, 2]) if one.n_features == 3 else np.arange(P)
        assert (other.n_rows, other.n_features) == (one.n_rows, one.n_features)
        assert np.array_equal(one.gradient(codes), other.gradient(codes))
        assert np.array_equal(one.square_gradient(codes[:, 0]), other.square_gradient(codes[:, 0]))
        assert np.array_equal(one.margins(coef[:, features]), other.margins(coef[:, features]))
        moments = centre[features], scale[features]
        assert np.array_equal(one.row_squares(*moments), other.row_squares(*moments))
        margins = np.zeros((2, 300))
        one.add_column(margins[0], 1, 0.3)
        other.add_column(margins[1], 1, 0.3)
        assert np.array_equal(margins[0], margins[1])


@every_store
@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize("rows", [1, 120, 2**14])
def test_packing_changes_no_sum(store, cuts, rows, monkeypatch):
    """Indicators beside other numbers, packed a few rows at a time or all together."""
    monkeypatch.setattr(packed_module, "_rows_of_piece", lambda *_: rows)
    rng = np.random.default_rng(3)
    X = np.sign(rng.uniform(-1, 1, size=(300, P))) * (rng.random((300, P)) < 0.5)
    X[:, 2], X[:, 5] = rng.uniform(-1, 1, size=300), np.abs(X[:, 5])
    batches = STORES[store]([X[a:b] for a, b in itertools.pairwise(cuts)])
    codes, coef = rng.integers(-RESIDUAL_ONE, RESIDUAL_ONE, size=(300, 3)), rng.normal(size=(3, P))
    whole, stacked = BoundedData.from_matrix(X, BOUNDS), StackedData.from_batches(batches, BOUNDS)
    for features in (np.arange(P), np.array([5, 0, 2])):
        one, other = whole.subset(features), stacked.subset(features).packed()
        assert np.array_equal(one.gradient(codes), other.gradient(codes))
        for size in (1.0, 1e5):  # weights beyond 32 bits too
            assert np.array_equal(one.margins(size * coef[:, features]), other.margins(size * coef[:, features]))


@every_store
def test_a_subset_of_a_subset_picks_the_right_features(store):
    whole, stacked = table(store)
    picked = stacked.subset(np.array([6, 1, 4])).subset(np.array([2, 0]))
    columns = picked.columns()
    assert np.array_equal(columns if store == "dense" else columns.todense(), whole.columns()[:, [4, 6]])


@every_store
def test_a_constant_and_blocks_by_owner(store):
    whole, stacked = table(store)
    constant = stacked.with_constant().columns(np.array([P]))
    assert np.all((constant if store == "dense" else constant.todense()) == 1)
    owners = np.random.default_rng(2).integers(0, 5, size=300)
    for one, other in zip(whole.blocks(owners, 5), stacked.blocks(owners, 5), strict=True):
        assert np.array_equal(one.codes, other.codes if store == "dense" else other.codes.todense())


@every_store
@pytest.mark.parametrize("cuts", CUTS, ids=len)
def test_features_have_the_same_order(store, cuts):
    whole, stacked = table(store, cuts)
    assert np.array_equal(stacked.popularity, whole.popularity)


def test_blocks_take_four_bytes_a_number_and_subsets_none(monkeypatch):
    monkeypatch.setattr(stacked_module, "_CACHED", 50 * P)
    whole, stacked = table()
    assert max(len(block) for block in stacked._blocks) == 50
    assert sum(block.nbytes for block in stacked._blocks) == whole.codes.nbytes == 4 * whole.codes.size
    assert all(
        one is other for one, other in zip(stacked._blocks, stacked.subset(np.array([1]))._blocks, strict=True)
    )
    assert all(np.array_equal(block, np.rint(block)) for block in stacked._blocks)
    assert max(np.abs(block).max(initial=0) for block in stacked._blocks) <= FEATURE_ONE


def test_nothing_of_the_rows_is_shown():
    assert repr(table()[1]) == "StackedData(300 rows, 7 features, 3 blocks)"


@every_store
@pytest.mark.parametrize(
    "estimator",
    [SparsePrivateLogisticRegression, DensePrivateLogisticRegression, TwoStageLogisticRegression],
    ids=lambda estimator: estimator.__name__,
)
def test_models_are_the_same(store, estimator):
    whole, stacked = table(store)
    y = np.random.default_rng(3).integers(0, 2, size=300)
    names = [f"f{j}" for j in range(P)]
    settings = {"epsilon": 3.0, "bounds": (-1, 1), "classes": [0, 1], "random_state": 4}
    one, other = (estimator(**settings).fit_table(data, y, names) for data in (whole, stacked))
    from_array = estimator(**settings).fit(whole.codes / FEATURE_ONE, y)
    # Blocks' own weights and minimisers come from floating point, whose last bits differ between dense and sparse.
    tolerance = 1e-5 if estimator is TwoStageLogisticRegression else 0
    assert np.allclose(one.coef_, other.coef_, rtol=0, atol=tolerance)
    assert np.array_equal(one.coef_, from_array.coef_)
    assert list(one.feature_names_in_) == names
    assert one.n_features_in_ == P


def test_wrong_bounds_and_lengths_are_refused():
    _, stacked = table()
    y = np.zeros(300)
    with pytest.raises(ValueError, match="bounds must be"):
        SparsePrivateLogisticRegression(bounds=(0, 1), classes="from-y").fit_table(stacked, y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[300, 299\]"):
        SparsePrivateLogisticRegression(bounds=(-1, 1), classes="from-y").fit_table(stacked, y[:-1])
