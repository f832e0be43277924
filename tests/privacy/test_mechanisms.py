import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.privacy import mechanisms
from hardzero.privacy.mechanisms import (
    NOBODY,
    Sensitive,
    count,
    gaussian,
    noisy_min_signed,
    select,
    select_signed,
    weight_table,
)
from hardzero.privacy.randomness import SeededSource

from .scores import signed
from .statistics import ALPHA, chi_square_p_value, noisy_min_law


class Fixed(SeededSource):
    """Answers every request for a uniform integer with the next of a list, and remembers the bound."""

    def __init__(self, *draws):
        self.draws = list(draws)
        self.bounds = []

    def below(self, bound):
        self.bounds.append(bound)
        return self.draws.pop(0)


class Path(SeededSource):
    """Answers every request for a uniform integer with the next of a list of shares of what was asked for."""

    def __init__(self, *shares):
        self.shares = list(shares)
        self.draws = []

    def below(self, bound):
        self.draws.append(int(Fraction(self.shares.pop(0)) * bound))
        return self.draws[-1]


def weights_of(values, sensitivity, eta, signs, padded):
    """The weight of every candidate by the definition, {(index, sign): weight}; that of level 0; and the least."""
    table = weight_table(eta, len(signs) * padded)
    unit = -(-sensitivity // table.levels)
    levels = {(i, s): math.floor(Fraction(s * v, unit)) for i, v in enumerate(values) for s in signs if v != NOBODY}
    best = max(levels.values())
    last = len(table.weights) - 1
    weights = {candidate: int(table.weights[min(best - level, last)]) for candidate, level in levels.items()}
    return weights, int(table.weights[min(max(best, 0), last)]), int(table.weights[last])


def distribution(values, sensitivity, eta):
    """Exact probabilities of every (index, sign), by running the mechanism on every weight's first and last draw."""
    weights, at_zero, _ = weights_of(values, sensitivity, eta, (1, -1), len(values))
    bounds = [max(weights[i, 1], weights[i, -1]) + at_zero for i in range(len(values))]
    at = 0
    for i, bound in enumerate(bounds):  # the code must accept exactly these intervals, in this order
        inside = at
        for outcome in ((i, 1), (i, -1)):
            source = Fixed(inside, inside + weights[outcome] - 1)
            assert select_signed(signed(values), sensitivity, eta, source) == outcome
            assert select_signed(signed(values), sensitivity, eta, source) == outcome
            assert source.bounds == [sum(bounds)] * 2
            inside += weights[outcome]
        at += bound
        if inside < at:  # what is left is rejected, and the next draw has that much less to draw from
            for place in (inside, at - 1):
                source = Fixed(place, 0)
                assert select_signed(signed(values), sensitivity, eta, source) == (0, 1)
                assert source.bounds == [sum(bounds), sum(bounds) - (at - inside)]
    return {outcome: Fraction(weight, sum(weights.values())) for outcome, weight in weights.items()}


@pytest.mark.parametrize("eta", [0.05, 0.5, 3.0])
def test_enumerated_range_is_within_eta_without_slack(eta):
    # All pairs of neighbours on a small grid: log-ratios of exact probabilities span at most η.
    sensitivity = 2**30
    points = [int(share * sensitivity) for share in (-1.7, -1.0, -0.001, 0.0, 0.999, 1.501)]
    widest = 0.0
    for a in itertools.product(points, repeat=2):
        p = distribution(a, sensitivity, eta)
        for shift in itertools.product((-sensitivity, sensitivity // 3, sensitivity), repeat=2):
            q = distribution((a[0] + shift[0], a[1] + shift[1]), sensitivity, eta)
            ratios = [math.log(p[outcome] / q[outcome]) for outcome in p]
            widest = max(widest, max(ratios) - min(ratios))
    assert widest <= eta
    assert widest >= 0.99 * eta  # and not much less: no noise is wasted


def accepted_by_hand(values, sensitivity, eta, signs, size, draws):
    """Follow the draws through rejections, with intervals written out one by one."""
    blocks = [range(start, min(start + size, len(values))) for start in range(0, len(values), size)]
    weights, at_zero, least = weights_of(values, sensitivity, eta, signs, size * len(blocks))
    heaviest = [max((weights.get((i, s), 0) for i in block for s in signs), default=0) or least for block in blocks]
    bounds = [size * (weight + (len(signs) - 1) * at_zero) for weight in heaviest]
    for draw in draws:
        ends = list(itertools.accumulate(bounds))
        b = next(i for i, end in enumerate(ends) if draw < end)
        inside = ends[b] - bounds[b]
        for candidate in ((i, s) for i in blocks[b] for s in signs):
            inside += weights.get(candidate, 0)
            if draw < inside:
                return candidate
        bounds[b] = -(-(inside - (ends[b] - bounds[b])) // size) * size
    raise AssertionError("all draws were rejected")


@given(
    st.lists(st.integers(-(2**50), 2**50) | st.just(NOBODY), min_size=1, max_size=40),
    st.integers(1, 2**40),
    st.floats(0.002, 50),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([(1,), (1, -1)]),
    st.integers(0, 2**32),
)
def test_any_draws_lead_where_the_weights_say(values, sensitivity, eta, size, signs, seed):
    """In blocks of any size, with places where there is nobody, through all rejections; to the last unit."""
    values = [*values, 5]  # somebody
    whole = np.array(values, dtype=np.int64)
    heights = np.abs(whole) if len(signs) == 2 else whole  # the magnitude of nobody is negative, too
    tops = Sensitive(np.maximum.reduceat(heights, np.arange(0, len(values), size)))
    if -(-len(values) // len(tops._secret)) != size:
        return  # blocks are told by their number, which needs them to be full enough
    rng = np.random.default_rng(seed)
    source = Path(*(Fraction(int(share), 2**62) for share in rng.integers(0, 2**62, 4000)))
    if len(signs) == 2:
        tops = Sensitive(np.maximum(tops._secret, 0))
        found = select_signed(signed(whole, tops._secret), sensitivity, eta, source)
    else:
        found = (select(Sensitive(whole), sensitivity, eta, source, tops), 1)
    if len(signs) == 1 or all(any(v != NOBODY for v in values[i : i + size]) for i in range(0, len(values), size)):
        assert found == accepted_by_hand(values, sensitivity, eta, signs, size, source.draws)
    assert values[found[0]] != NOBODY


@given(st.integers(1, 5000), st.integers(0, 2**32))
def test_tops_that_are_handed_in_change_nothing(count, seed):
    values = np.random.default_rng(seed).integers(-(2**40), 2**40, count)
    tops = Sensitive(mechanisms.block_maxima(values))
    drawn = [select(Sensitive(values), 2**35, 0.3, SeededSource(seed), *given) for given in ((), (tops,))]
    assert drawn[0] == drawn[1]


@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30), st.permutations(range(30)), st.integers(0, 99)
)
def test_a_candidate_is_called_by_its_public_number(values, shuffled, seed):
    """Whatever places they are held in: with a range at which noise cannot matter the best is found by its name."""
    scores = np.array(values) * 4 + np.arange(len(values)) % 3  # no ties of magnitude between neighbours in the list
    order = [place for place in shuffled if place < len(values)]
    held = signed(scores[order], names=order)
    for found, sign in (
        select_signed(held, 1, 1e4, SeededSource(seed)),
        noisy_min_signed(signed(-scores[order], names=order), 1, SeededSource(seed)),
    ):
        assert sign * scores[found] >= np.abs(scores).max() - 64


@given(st.permutations(range(6)))
def test_ties_of_noisy_min_go_by_public_numbers(order):
    """The same draws give the same winner in any order: with a scale of 1 and equal scores most draws have ties."""
    for seed in range(5):
        found = noisy_min_signed(signed([0] * 6, names=order), 1, SeededSource(seed))
        assert found == noisy_min_signed(signed([0] * 6), 1, SeededSource(seed))


@given(st.lists(st.integers(-(2**20), 2**20), min_size=2, max_size=9), st.integers(0, 99))
def test_noisy_min_draws_by_public_numbers(values, seed):
    """Not by places: the records may choose these."""
    order = np.random.default_rng(seed).permutation(len(values))
    one = noisy_min_signed(signed(values), 2**19, SeededSource(seed))
    assert noisy_min_signed(signed(np.array(values)[order], names=order), 2**19, SeededSource(seed)) == one


def test_selection_frequencies_fit_and_a_wrong_eta_does_not():
    values, sensitivity, eta, n = (900, -400, 100, 0, 650), 1000, 2.0, 20_000
    source = SeededSource(11)
    scores = signed(values)
    drawn = [select_signed(scores, sensitivity, eta, source) for _ in range(n)]
    outcomes = list(itertools.product(range(len(values)), (1, -1)))
    observed = [drawn.count(outcome) for outcome in outcomes]

    def softmax(rate):
        weights = np.exp([rate / 2 * sign * values[index] / sensitivity for index, sign in outcomes])
        return weights / weights.sum()

    assert chi_square_p_value(observed, softmax(eta)) > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert chi_square_p_value(observed, softmax(wrong * eta)) < ALPHA


def test_selection_among_many_blocks_fits():
    # More candidates than one block, a few of them likely.
    values = np.zeros(40_000, dtype=np.int64)
    values[[3, 20_000, 39_999]] = 13_000
    source = SeededSource(12)
    drawn = [select(Sensitive(values), 1000, 1.0, source) for _ in range(4000)]
    weight = math.exp(13 / 2)
    p = np.array([weight, weight, weight, 39_997]) / (3 * weight + 39_997)
    observed = [drawn.count(3), drawn.count(20_000), drawn.count(39_999)]
    assert chi_square_p_value([*observed, 4000 - sum(observed)], p) > ALPHA
    assert chi_square_p_value([*observed, 4000 - sum(observed)], p[[3, 0, 1, 2]]) < ALPHA


def test_one_selection_draws_once():
    source = Fixed(0)
    select_signed(signed([5, -3]), 1, 0.1, source)
    assert len(source.bounds) == 1


@pytest.mark.parametrize("eta", [1e-6, 0.0156, 1.0, 100.0, 1e5])
@pytest.mark.parametrize("candidates", [1, 2, 1000, 2_000_000])
def test_weight_tables_fall_stay_positive_and_fit_64_bits(eta, candidates):
    table = weight_table(eta, candidates)
    assert np.all(table.weights >= 1)
    assert np.all(np.diff(table.weights) <= 0)
    assert int(table.weights[0]) * candidates <= 2**62
    # The range over a move by `levels` up and `levels` down is the declared one, from the integers themselves.
    logs = np.log(table.weights.astype(float))
    steps = min(2 * table.levels, len(table.weights) - 1)
    assert np.max(logs[:-steps] - logs[steps:], initial=0) <= eta


def test_a_budget_too_small_to_sample_is_an_error():
    with pytest.raises(ValueError, match="fewer iterations"):
        weight_table(1e-12, 2_000_000)


def test_noisy_min_frequencies_fit_and_a_wrong_scale_does_not():
    source = SeededSource(13)
    scores = signed([400, -100])
    n = 10_000
    drawn = [noisy_min_signed(scores, 500, source) for _ in range(n)]
    outcomes = list(itertools.product((0, 1), (1, -1)))
    observed = [drawn.count(outcome) for outcome in outcomes]

    assert chi_square_p_value(observed, noisy_min_law([400, -400, -100, 100], 500)) > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert chi_square_p_value(observed, noisy_min_law([400, -400, -100, 100], wrong * 500)) < ALPHA


def count_distribution(value, lowest, highest, epsilon):
    """Exact law of the clipped, noised, clipped count, for the ratio that the code uses."""
    numerator, denominator = mechanisms.noise_ratio(highest - lowest, epsilon)
    q = math.exp(-denominator / numerator)
    law = {}
    for z in range(lowest, highest + 1):
        edge = z in (lowest, highest)
        law[z] = q ** abs(z - value) / (1 + q) * (1 if edge else 1 - q)
    return law


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
def test_enumerated_count_is_within_epsilon_without_slack(epsilon):
    laws = [count_distribution(value, 10, 20, epsilon) for value in range(10, 21)]
    worst = max(abs(math.log(a[z] / b[z])) for a in laws for b in laws for z in a)
    assert worst <= epsilon
    assert worst >= 0.999 * epsilon
    assert sum(laws[3].values()) == pytest.approx(1)


def test_count_frequencies_fit_and_a_wrong_epsilon_does_not():
    source = SeededSource(14)
    drawn = [count(Sensitive(13), 10, 16, 4.0, source) for _ in range(8000)]
    observed = [drawn.count(z) for z in range(10, 17)]
    assert chi_square_p_value(observed, list(count_distribution(13, 10, 16, 4.0).values())) > ALPHA
    for wrong in (2 / 3, 3 / 2):
        assert chi_square_p_value(observed, list(count_distribution(13, 10, 16, wrong * 4.0).values())) < ALPHA


@given(st.integers(-100, 100), st.integers(0, 2**32))
def test_counts_stay_within_their_bounds(value, seed):
    assert 2 <= count(Sensitive(value), 2, 5, 0.3, SeededSource(seed)) <= 5


@given(st.integers(1, 10**6), st.floats(1e-4, 1e4))
def test_noise_ratio_is_never_too_small(sensitivity, epsilon):
    numerator, denominator = mechanisms.noise_ratio(sensitivity, epsilon)
    assert Fraction(numerator, denominator) >= Fraction(sensitivity) / Fraction(epsilon)


def test_gaussian_is_centred_on_the_sums_with_the_declared_noise():
    sums = np.array([5_000_000, -3], dtype=np.int64)
    released = np.array([gaussian(Sensitive(sums), 1000, source) for source in map(SeededSource, range(4000))])
    z = (released - sums) / 1000
    assert np.all(np.abs(z.mean(axis=0)) < 5 / math.sqrt(4000))
    assert np.all(np.abs(z.std(axis=0) - 1) < 5 / math.sqrt(2 * 4000))
    assert abs(np.corrcoef(z.T)[0, 1]) < 5 / math.sqrt(4000)


def test_sensitive_values_do_not_show_copy_or_compute():
    secret = Sensitive(np.array([41, 42]))
    assert "42" not in repr(secret)
    assert "42" not in f"{secret}"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="sensitive"):
            copied(secret)
    with pytest.raises(TypeError):
        secret + 1
    with pytest.raises(TypeError):
        float(Sensitive(1.0))
    assert np.array_equal(mechanisms.exact(secret), [41, 42])


def test_noise_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="epsilon = 1e-12 is too small for a count over a range of 10"):
        count(Sensitive(3), 0, 10, 1e-12, SeededSource(0))
    with pytest.raises(ValueError, match="use a larger epsilon"):
        gaussian(Sensitive(np.zeros(2, dtype=np.int64)), 2**60, SeededSource(0))


def test_tables_of_weights_that_are_kept_take_little_memory():
    """However many budgets a process works through: at most 64 MB, the largest tables supposed."""
    for epsilon in range(1, 40):
        weight_table(epsilon * 1e-4, 400)
    kept = weight_table.cache_info()
    assert kept.currsize <= kept.maxsize
    assert kept.maxsize * 8 * (mechanisms._DEEPEST + 1) <= 2**26
