"""Choosing several candidates one after the other: none twice, each by a selection of its own, the best likeliest."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.optim.frank_wolfe import choose_several
from hardzero.privacy.mechanisms import NOBODY, Candidates, Sensitive
from hardzero.privacy.randomness import SeededSource

from .recorder import recording


def candidates(scores):
    return Candidates(Sensitive(scores))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=12), st.data())
def test_choices_are_different_and_in_order_and_leave_the_scores_alone(scores, data):
    count = data.draw(st.integers(1, len(scores)))
    given_scores = np.array(scores)
    chosen = choose_several(
        candidates(given_scores), count, 2**20, 0.5, SeededSource(data.draw(st.integers(0, 1000)))
    )
    assert len(chosen) == count
    assert np.all(np.diff(chosen) > 0)
    assert np.all((chosen >= 0) & (chosen < len(scores)))
    assert given_scores.tolist() == scores


def test_every_choice_is_one_selection_among_those_that_are_left():
    """With the sensitivity and the range that were asked for, each time."""
    scores = np.array([10, 20, 30, 40, 50])
    with recording(seed=1) as recorder:
        chosen = choose_several(candidates(scores), 3, 7, 0.25, None)
    assert recorder.sensitivities == [7, 7, 7]
    assert recorder.etas == [0.25] * 3
    left = [set(handed_in[handed_in != NOBODY].tolist()) for handed_in in recorder.scores]
    assert [len(one) for one in left] == [5, 4, 3]
    taken = [a - b for a, b in itertools.pairwise(left)]
    assert [len(one) for one in taken] == [1, 1]
    assert set().union(*taken) < {int(score) for score in scores[chosen]}


@given(st.permutations(range(8)), st.integers(1, 8))
def test_a_large_range_chooses_the_best(ranks, count):
    """Scores whole sensitivities apart at η = 60: each other candidate is e⁻³⁰ times as likely."""
    scores = np.array(ranks) * 2**20
    chosen = choose_several(candidates(scores), count, 2**20, 60.0, SeededSource(2))
    assert sorted(np.array(ranks)[chosen]) == list(range(8 - count, 8))


def test_how_often_a_pair_is_chosen_is_as_the_mechanism_says():
    """Three candidates, weights 4 : 2 : 1, two choices: every pair's probability by hand, five standard errors."""
    eta, runs = 2 * math.log(2), 3000
    scores = np.array([2, 1, 0]) * 2**20  # one sensitivity is worth η/2
    source = SeededSource(3)
    pairs = [tuple(choose_several(candidates(scores), 2, 2**20, eta, source).tolist()) for _ in range(runs)]
    weights = np.array([4.0, 2.0, 1.0])

    def chance(i, j):
        first = weights / weights.sum()
        return first[i] * weights[j] / (7 - weights[i]) + first[j] * weights[i] / (7 - weights[j])

    for pair in ((0, 1), (0, 2), (1, 2)):
        expected = chance(*pair)
        error = math.sqrt(expected * (1 - expected) / runs)
        assert pairs.count(pair) / runs == pytest.approx(expected, abs=5 * error + 0.005)  # rounding to whole levels


def test_more_than_there_are_cannot_be_chosen():
    with pytest.raises(ValueError, match="4 candidates cannot be chosen among 3"):
        choose_several(candidates(np.array([1, 2, 3])), 4, 1, 0.5, SeededSource(0))


def test_thousands_of_candidates_are_chosen_in_blocks():
    """The best thirty of 5000 at a range at which noise cannot matter, some of them in one block."""
    scores = np.random.default_rng(0).integers(0, 2**30, 5000)
    scores[100:120] += 2**40
    chosen = choose_several(candidates(scores), 30, 1, 1000.0, SeededSource(1))
    assert set(chosen) == set(np.argsort(scores)[-30:])
