"""Edges of bins: public, readable, and every number has its bin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.bounds.grid import Grid

FINITE = st.floats(-1e12, 1e12)


def test_without_limits_it_reaches_twelve_decades_on_both_sides_of_zero():
    edges = Grid(-1e9, 1e9).edges
    assert (edges[0], edges[-1]) == (-1e9, 1e9)
    assert {0.0, 0.001, 0.0012, -0.001, 15.0, 80.0, 1e8} <= set(edges.tolist())
    np.testing.assert_array_equal(edges, -edges[::-1])
    assert len(edges) == 243


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((0, 100), {0.0, 15.0, 80.0, 100.0}), ((1900, 2100), {1900.0, 1902.0, 1950.0, 2000.0, 2050.0, 2100.0})],
)
def test_limits_are_the_outermost_edges(limits, expected):
    edges = Grid(*limits).edges
    assert (edges[0], edges[-1]) == limits
    assert expected <= set(edges.tolist())


@given(FINITE, FINITE)
def test_edges_ascend_between_any_limits(lowest, highest):
    lowest, highest = sorted((lowest, highest))
    if highest - lowest < 1e-6:
        return
    edges = Grid(lowest, highest).edges
    assert (edges[0], edges[-1]) == (lowest, highest)
    assert np.all(np.diff(edges) > 0)


@given(st.lists(st.one_of(st.sampled_from(Grid(-1e9, 1e9).edges.tolist()), st.floats(allow_nan=False))))
def test_every_number_is_in_the_bin_around_it_or_in_the_outermost_one(numbers):
    grid = Grid(-1e9, 1e9)
    places = grid.places(np.array(numbers, dtype=np.float64))
    for number, place in zip(numbers, places, strict=True):
        assert 0 <= place < grid.bins
        assert grid.edges[place] <= number or place == 0
        assert number < grid.edges[place + 1] or place == grid.bins - 1
