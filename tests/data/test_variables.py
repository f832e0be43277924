"""Variables: which features belong together, and what follows from that for how they vary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.data.variables import Variables, level_shares, level_values

seeds = st.integers(0, 10**6)


def of_kinds(*sizes):
    """Variables of (kind, number of features), nothing known of their directions."""
    kinds = tuple(kind for kind, _ in sizes)
    owners = tuple(number for number, (_, size) in enumerate(sizes) for _ in range(size))
    return Variables(tuple(f"v{i}" for i in range(len(sizes))), kinds, owners, (0,) * len(owners))


def rows_of(rng, kind, size, n_rows=200):
    """Rows of one variable as its features show them."""
    if kind == "number":
        return rng.uniform(-1, 1, size=(n_rows, size))
    level = rng.integers(0, size + 1, size=n_rows)  # 0: none of the features
    features = np.arange(1, size + 1)
    return (level[:, None] >= features if kind == "steps" else level[:, None] == features).astype(float)


@given(st.sampled_from(["categories", "steps"]), st.integers(1, 8), seeds)
def test_importance_is_the_spread_of_what_a_variable_adds(kind, size, seed):
    rng = np.random.default_rng(seed)
    X, coef = rows_of(rng, kind, size), rng.normal(size=(2, size))
    known = of_kinds((kind, size)).importances(coef, X.mean(axis=0), X.var(axis=0))
    assert known == pytest.approx([np.sqrt(sum((X @ row).var() for row in coef))], abs=1e-12)


def test_numbers_are_important_by_weight_and_spread_and_never_by_less_than_none():
    known = of_kinds(("number", 1), ("number", 1))
    assert known.importances(np.array([[-2.0, 3.0]]), np.zeros(2), np.array([0.25, -0.1])) == pytest.approx(
        [1.0, 0.0]
    )


@given(st.sampled_from(["categories", "steps"]), st.integers(2, 8), seeds)
def test_correlations_within_a_variable_follow_from_means(kind, size, seed):
    rng = np.random.default_rng(seed)
    X, Z = rows_of(rng, kind, size), rows_of(rng, "number", 2)
    variables = of_kinds((kind, size), ("number", 2))
    known = variables.correlations(np.concatenate([X.mean(axis=0), Z.mean(axis=0)]))
    varies = X.std(axis=0) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.atleast_2d(np.corrcoef(X.T))
    inside = known[:size, :size]
    assert inside[np.ix_(varies, varies)] == pytest.approx(expected[np.ix_(varies, varies)], abs=1e-9)
    assert np.all(np.diag(known) == 1)
    assert np.all(known[:size, size:] == 0)  # nothing is known across variables
    assert known[size, size + 1] == 0  # nor of numbers that are said to belong together


@given(st.sampled_from(["categories", "steps"]), st.lists(st.floats(-1, 2), min_size=1, max_size=9))
def test_shares_of_levels_are_shares_whatever_noise_did_to_means(kind, means):
    shares = level_shares(kind, np.array(means))
    assert len(shares) == len(means) + 1
    assert np.all(shares >= 0)
    assert shares.sum() == pytest.approx(1.0)


def test_levels_of_steps_add_up_and_categories_stand_alone():
    weights = np.array([1.0, -3.0, 0.5])
    assert level_values("steps", weights).tolist() == [0.0, 1.0, -2.0, -1.5]
    assert level_values("categories", weights).tolist() == [0.0, 1.0, -3.0, 0.5]
    assert level_shares("steps", np.array([0.9, 0.4, 0.1])) == pytest.approx([0.1, 0.5, 0.3, 0.1])
    assert level_shares("categories", np.array([0.2, 0.3, 0.1])) == pytest.approx([0.4, 0.2, 0.3, 0.1])


@given(st.integers(1, 6), seeds)
def test_cut_points_nearest_to_quantiles_take_part(count, seed):
    rng = np.random.default_rng(seed)
    cuts, values = np.linspace(0, 1, 102)[1:-1], rng.beta(2, 5, size=4000)
    variables = Variables(("other", "v"), ("number", "steps"), (0, *[1] * 100), (0,) * 101, (0, count))
    means = np.concatenate([[0.5], (values[:, None] >= cuts).mean(axis=0)])
    chosen = variables.at_quantiles(means)
    assert chosen[0]
    assert cuts[chosen[1:]] == pytest.approx(np.quantile(values, np.arange(1, count + 1) / (count + 1)), abs=0.011)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 120))
def test_steps_are_thinned_evenly_and_nothing_else_is(sizes, most):
    variables = of_kinds(("categories", 7), *(("steps", size) for size in sizes), ("number", 2))
    left = variables.thinned(most)
    assert np.array_equal(left, np.unique(left))
    kept = [np.isin(places, left) for places in variables.places]
    assert kept[0].all()
    assert kept[-1].all()
    counts = [part.sum() for part in kept[1:-1]]
    assert sum(counts) <= max(most, len(sizes))
    assert min(counts) >= 1
    each = max(counts)
    assert counts == [min(size, each) for size in sizes]
    for part in kept[1:-1]:
        gaps = np.diff(np.flatnonzero(part))
        assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1
    if sum(sizes) <= most:
        assert len(left) == variables.n_features


def test_all_cut_points_take_part_unless_fewer_are_wished():
    many = of_kinds(("steps", 5), ("categories", 3))
    assert many.at_quantiles(np.linspace(1, 0, 8)).all()
    few = Variables(many.names, many.kinds, many.owners, many.signs, (7, 0))
    assert few.at_quantiles(np.linspace(1, 0, 8)).all()


def test_labels_make_variables_in_the_order_of_their_first_features():
    variables = Variables.of_labels(["b", "a", "b", 3])
    assert variables.names == ("b", "a", "3")
    assert variables.owners == (0, 1, 0, 2)
    assert [places.tolist() for places in variables.places] == [[0, 2], [1], [3]]
    assert repr(variables) == "Variables(3 variables, 4 features)"


def test_a_subset_keeps_the_numbers_of_variables():
    variables = Variables(("a", "b"), ("steps", "number"), (0, 0, 1), (1, 1, -1))
    part = variables.subset(np.array([1, 2]))
    assert (part.names, part.owners, part.signs) == (("a", "b"), (0, 1), (1, -1))
    assert [places.tolist() for places in variables.subset([2]).places] == [[], [0]]
    assert variables.mirrored().signs == (-1, -1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": ("number",)}, "kinds must be"),
        ({"kinds": ("number", "strange")}, "kinds must be"),
        ({"signs": (0, 2, 0)}, "signs must be"),
        ({"signs": (0, 0)}, "signs must be"),
        ({"owners": (0, 1, 2)}, "owners must be"),
        ({"quantiles": (3,)}, "quantiles must be"),
    ],
)
def test_contradictions_are_refused(changes, message):
    parts = {"names": ("a", "b"), "kinds": ("steps", "number"), "owners": (0, 0, 1), "signs": (0, 0, 0)}
    with pytest.raises(ValueError, match=message):
        Variables(**(parts | changes))
