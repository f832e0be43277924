import numpy as np
import pytest
from scipy.special import expit

from hardzero.evaluation.bins import FEWEST, MOST, Bins, number_of_bins, probability

EVERY_NUMBER = pytest.mark.parametrize("count", [6, 8, 22, 64])


def test_the_number_of_bins_is_even_and_grows_with_rows_over_noise():
    numbers = [number_of_bins(n, 20.0) for n in (1, 100, 10_000, 10**6, 2**30)]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (FEWEST, MOST)
    assert all(number % 2 == 0 for number in numbers)


@EVERY_NUMBER
def test_the_threshold_is_exactly_an_edge(count):
    bins = Bins(count)
    assert bins.margins[count // 2 - 1] == 0.0
    assert bins.edges[count // 2 - 1] == pytest.approx(0.5, abs=1e-15)
    below, at, above = bins.of_margins(np.array([-5e-324, 0.0, 5e-324]))
    assert below == at == count // 2 - 1  # as predict has it: ½ is not above ½
    assert above == count // 2


@EVERY_NUMBER
def test_margins_and_probabilities_have_the_same_bins(count):
    margins = np.linspace(-9, 9, 1003) + 1e-4
    bins = Bins(count)
    np.testing.assert_array_equal(bins.of_margins(margins), bins.of_probabilities(expit(margins)))
    assert bins.of_margins(np.array([-1e30, 1e30])).tolist() == [0, count - 1]


@EVERY_NUMBER
def test_counts_spread_over_parts_add_up_to_themselves(count):
    spread = Bins(count).spread
    np.testing.assert_allclose(spread.reshape(count, -1, count).sum(axis=1), np.eye(count), atol=1e-12)


@pytest.mark.parametrize("power", [0, 1, 2])
@EVERY_NUMBER
def test_densities_up_to_parabolas_are_met(count, power):
    """Rows with density (power + 1)·place^power have ∫ p of place as their mean probability."""
    bins = Bins(count)
    masses = np.diff((np.arange(count + 1) / count) ** (power + 1))
    places = (np.arange(200_000) + 0.5) / 200_000
    expected = np.mean((power + 1) * places**power * probability(places))
    assert masses @ bins.means(lambda p: p) == pytest.approx(expected, abs=2e-4)


def test_pairs_in_order_are_those_of_two_densities():
    """Of densities 1 and 2·place, the second is larger with probability 2/3; of two equal ones, ½."""
    bins = Bins(6)
    even = np.full(6, 1 / 6)
    rising = np.diff((np.arange(7) / 6) ** 2)
    assert rising @ bins.orders @ even == pytest.approx(2 / 3, abs=1e-4)
    assert even @ bins.orders @ even == pytest.approx(0.5, abs=1e-12)


def test_centres_lie_in_their_bins():
    bins = Bins(10)
    ends = [0.0, *bins.edges, 1.0]
    assert all(low < centre < high for low, centre, high in zip(ends[:-1], bins.centres, ends[1:], strict=True))
