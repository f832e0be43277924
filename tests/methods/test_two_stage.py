"""Two-Stage: what a record can do to the votes, what is charged, and what is fitted with hardly any noise."""

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from hardzero import TwoStageLogisticRegression
from hardzero.data.bounded import RESIDUAL_ONE
from hardzero.datasets import make_synthetic
from hardzero.estimators._linear import Shape
from hardzero.methods import two_stage as module
from hardzero.methods.objective import Perturbation
from hardzero.methods.two_stage import plan_two_stage, two_stage, voted_features
from hardzero.optim.losses import Logistic
from hardzero.privacy import accounting, mechanisms
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.privacy.events import Selection
from hardzero.privacy.randomness import SeededSource

from ..optim.cases import dense_and_sparse, every_relation
from ..optim.neighbours import problem_of, records
from ..optim.recorder import recording
from .test_objective import rows_of, seen_by_the_fit

BUDGET = Budget(1.0, 1e-5)


@lru_cache
def plan_of(kept, blocks, relation=Neighbours.ZERO_OUT):
    return plan_two_stage(BUDGET, relation, kept, blocks, 10.0, 1.0, None, 0.5)


# --- Votes --------------------------------------------------------------------------------------------------------


class Owners(SeededSource):
    """Sends rows to given blocks: how the proof couples two neighbours."""

    def __init__(self, owners):
        super().__init__(0)
        self._owners = np.asarray(owners)

    def integers_below(self, bound, count):
        assert np.all(self._owners < bound)
        assert count == len(self._owners)
        return self._owners


def votes_of(vote, problem, plan, owners):
    """What is handed to the selections (whose answers do not depend on it), and each block's own weights."""
    blocks = []
    original = module.l1_optimum

    def listening(part, *args):
        optimum = original(part, *args)
        blocks.append(optimum.weights.coef)
        return optimum

    with pytest.MonkeyPatch.context() as patch, recording() as recorder:
        patch.setattr(module, "l1_optimum", listening)
        vote(problem, plan, Owners(owners))
    return recorder, blocks


def votes_of_both(vote, relation, X, y, owners, place, plan, newcomer=None, store=np.asarray):
    """Neighbours: the row at ``place`` leaves, or the newcomer, a row and a label, comes in its stead."""
    if relation is not Neighbours.REPLACE_ONE:
        other = np.delete(X, place, axis=0), np.delete(y, place), np.delete(owners, place)
    else:
        other = X.copy(), y.copy(), owners
        other[0][place], other[1][place] = newcomer
    return [
        votes_of(vote, problem_of(Logistic(), *side[:2], store), plan, side[2]) for side in ((X, y, owners), other)
    ]


def votes_hold(one, other):
    """Every count moves by no more than the sensitivity that its selection was told, which is one vote."""
    told = [*one.sensitivities, *other.sensitivities]
    moves = [np.abs(a - b).max() for a, b in zip(one.scores, other.scores, strict=True)]
    return all(sensitivity == RESIDUAL_ONE for sensitivity in told) and max(moves) <= RESIDUAL_ONE


@st.composite
def settings_of_a_vote(draw):
    X, y = draw(records(Logistic(), most_rows=9, most_features=5))
    kept, blocks = draw(st.integers(1, min(2, X.shape[1]))), draw(st.integers(1, 4))
    owners = np.array(draw(st.lists(st.integers(0, blocks - 1), min_size=len(X), max_size=len(X))))
    return X, y, owners, draw(st.integers(0, len(X) - 1)), replace(plan_of(2, 4), kept=kept, blocks=blocks)


@dense_and_sparse
@every_relation
@settings(max_examples=25)
@given(settings_of_a_vote(), st.integers(0, 100))
def test_one_record_changes_one_block_and_each_count_by_at_most_one(relation, store, case, seed):
    X, y, owners, place, plan = case
    newcomer = np.random.default_rng(seed).uniform(-1, 1, X.shape[1]), seed % 2
    both = votes_of_both(voted_features, relation, X, y, owners, place, plan, newcomer, store)
    (one, blocks), (other, others) = both
    assert votes_hold(one, other)
    assert one.etas == other.etas == [plan.eta] * plan.kept
    # All other blocks' weights are the same to the last bit.
    touched = sorted(set(owners)).index(owners[place])
    del blocks[touched]
    if relation is Neighbours.REPLACE_ONE or np.sum(owners == owners[place]) > 1:
        del others[touched]
    assert all(np.array_equal(a, b) for a, b in zip(blocks, others, strict=True))


def test_a_count_can_move_by_the_whole_sensitivity():
    """The only row of a block takes its vote with it."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1, 1, 1])
    args = voted_features, Neighbours.ZERO_OUT, X, y, np.array([0, 1, 2]), 1, plan_of(1, 3)
    (one, _), (other, _) = votes_of_both(*args)
    assert (one.scores[0] / RESIDUAL_ONE).tolist() == [2, 1]
    assert (other.scores[0] / RESIDUAL_ONE).tolist() == [2, 0]


def test_empty_blocks_vote_for_nothing_and_each_other_block_for_at_most_as_many_as_are_kept():
    rng = np.random.default_rng(70)
    X, y = rng.uniform(-1, 1, size=(60, 5)), rng.integers(0, 2, size=60)
    for owners, voters in ((np.full(60, 2), 1), (np.arange(60) % 3, 3)):
        recorder, blocks = votes_of(voted_features, problem_of(Logistic(), X, y), plan_of(2, 5), owners)
        assert len(blocks) == voters
        assert recorder.scores[0].sum() <= 2 * voters * RESIDUAL_ONE
        assert recorder.scores[0].max() <= voters * RESIDUAL_ONE


class Listening(SeededSource):
    """Remembers which blocks were drawn."""

    def integers_below(self, bound, count):
        self.owners = super().integers_below(bound, count)
        return self.owners


def test_rows_go_to_blocks_by_chance_and_not_by_position():
    """40,000 rows, 3 blocks: rows in a block, and pairs next to each other in one, within five standard errors."""
    source = Listening(71)
    voted_features(problem_of(Logistic(), np.ones((40_000, 1)), np.ones(40_000)), plan_of(1, 3), source)
    third, error = 40_000 / 3, (40_000 * 2 / 9) ** 0.5
    assert np.bincount(source.owners, minlength=3) == pytest.approx(third, abs=5 * error)
    assert np.sum(source.owners[1:] == source.owners[:-1]) == pytest.approx(third, abs=5 * error)


# --- The plan -----------------------------------------------------------------------------------------------------

PLANS = [
    (0.1, 1e-6, 3, None, 0.3, Neighbours.ZERO_OUT),
    (1.0, 1e-5, 1, 0.5, 0.2, Neighbours.REPLACE_ONE),
    (8.0, 1e-3, 20, 0.2, 0.5, Neighbours.ZERO_OUT),
    (1e5, 1e-2, 5, 1e-3, 0.9, Neighbours.ZERO_OUT),
]


@pytest.mark.parametrize(("epsilon", "delta", "kept", "l2_penalty", "share", "relation"), PLANS)
def test_a_plan_spends_its_budget_and_no_more(epsilon, delta, kept, l2_penalty, share, relation):
    budget = Budget(epsilon, delta)
    plan = plan_two_stage(budget, relation, kept, 10, 10.0, 1.0, l2_penalty, share)
    assert accounting.spent(plan.events, delta) == plan.spent <= budget
    assert plan.spent.epsilon > 0.99 * epsilon
    votes = plan.events[0]
    assert (votes.event.eta, votes.times) == (plan.eta, kept)
    assert votes.cost.rho == pytest.approx(min(share * accounting.rho_of_budget(budget), kept * plan.eta))
    assert plan.fit.convexity >= 2 * 0.25 / epsilon


@pytest.mark.parametrize(("epsilon", "kept", "l2_penalty"), [(0.2, 5, None), (1.0, 1, 0.5), (50.0, 3, 0.01)])
def test_the_largest_share_that_is_not_refused_leaves_a_fit(epsilon, kept, l2_penalty):
    """Just below the share that is refused; one choice has a pure cost too, which is of no use beside the fit."""

    def plan(share):
        return plan_two_stage(Budget(epsilon, 1e-5), Neighbours.ZERO_OUT, kept, 9, 10.0, 1.0, l2_penalty, share)

    low, high = 1e-3, 1 - 1e-9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "plan_perturbation", lambda *_: Perturbation(1.0, 1.0, 1.0, ()))
        for _ in range(20):
            middle = (low + high) / 2
            try:
                plan(middle)
                low = middle
            except ValueError as error:
                assert "use a smaller selection_share" in str(error)  # noqa: PT017
                high = middle
    found = plan(low)
    assert found.spent.epsilon <= epsilon
    assert found.fit.noise < 1000 / min(epsilon, 1.0)


@pytest.mark.parametrize("epsilon", [0.9, 1.3, 7.0])
def test_too_small_a_penalty_is_refused_with_the_inequality_and_a_number_that_works(epsilon):
    def plan(l2_penalty):
        return plan_two_stage(Budget(epsilon, 1e-5), Neighbours.ZERO_OUT, 2, 9, 10.0, 1.0, l2_penalty, 0.1)

    with pytest.raises(ValueError, match=r"l2_penalty ≥ 2·H/epsilon, where H = row_norm²/4") as refusal:
        plan(0.99 * 0.5 / epsilon)
    advice = float(re.search(r"at least ([\d.e+-]+),", str(refusal.value))[1])
    assert 0.5 / epsilon <= advice < 1.02 * 0.5 / epsilon
    assert plan(advice).fit.convexity == advice


def test_a_share_that_leaves_nothing_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"selection_share = 0.99 .*log\(1 \+ H/l2_penalty\).*larger l2_penalty"):
        TwoStageLogisticRegression(bounds=(-1, 1), selection_share=0.99, classes="from-y").fit([[0.0], [1.0]], [0, 1])


def test_defaults_are_square_roots_of_public_numbers():
    plan = TwoStageLogisticRegression(bounds=(0, 1), delta=1e-6, classes="from-y")._plan(Shape(1000, 50, Logistic()))
    assert (plan.blocks, plan.kept, plan.budget) == (31, 7, Budget(1.0, 1e-6))


# --- The fit ------------------------------------------------------------------------------------------------------


def releases(problem, plan, fit=two_stage):
    """How many times something leaves the data in a whole fit."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gaussian", "select", "perturbed_minimum"):
            original = getattr(mechanisms, name)
            patch.setattr(mechanisms, name, lambda *args, f=original, name=name: seen.append(name) or f(*args))
        fit(problem, plan, True, SeededSource(72))
    return seen


@every_relation
def test_every_release_is_charged(relation):
    rng = np.random.default_rng(73)
    plan = plan_of(3, 10, relation)
    problem = problem_of(Logistic(), rng.uniform(-1, 1, size=(100, 6)), rng.integers(0, 2, size=100))
    assert sum(event.times for event in plan.events) == len(releases(problem, plan))
    assert releases(problem, plan) == ["select"] * 3 + ["perturbed_minimum", "gaussian"]
    assert isinstance(plan.events[0].event, Selection)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_with_hardly_any_noise_the_chosen_columns_are_fitted_as_scikit_learn_does(fit_intercept):
    """Rows, with the constant, are clipped to length 1, and the penalty of 1 holds for the constant as well."""
    data, truth = make_synthetic(seed=0)
    model = TwoStageLogisticRegression(
        1e8, 1e-6, bounds=data.bounds, max_features=7, fit_intercept=fit_intercept, random_state=74, classes="from-y"
    ).fit(data.X, data.y)
    assert model.support_.tolist() == np.flatnonzero(truth >= 4).tolist()  # the seven strong ones
    chosen = data.X[:, model.support_]
    if fit_intercept:
        chosen = np.column_stack([chosen, np.ones(len(chosen))])
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, solver="newton-cholesky")
    coef = theirs.fit(seen_by_the_fit(rows_of(chosen, data.y)), data.y).coef_[0]
    assert model.coef_[0, model.support_] == pytest.approx(coef[:7], abs=1e-3)
    assert model.intercept_ == pytest.approx(coef[7:] if fit_intercept else [0.0], abs=1e-3)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(75)
    X = rng.integers(-64, 65, size=(400, 12)) / 64 * (rng.random((400, 12)) < 0.5)
    return X, (X @ np.linspace(-3, 3, 12) + 0.3 * rng.standard_normal(400) > 0).astype(int)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_dense_and_sparse_records_give_the_same_model(small, fit_intercept):
    X, y = small
    one, other = (
        TwoStageLogisticRegression(
            2.0, 1e-4, bounds=(-1, 1), max_features=4, fit_intercept=fit_intercept, random_state=76, classes="from-y"
        ).fit(store(X), y)
        for store in (np.asarray, sparse.csr_array)
    )
    assert len(one.support_) == 4  # exactly as many as asked for
    assert one.support_.tolist() == other.support_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-5)
    assert one.intercept_ == pytest.approx(other.intercept_, abs=1e-5)
    assert (one.intercept_ != 0) == fit_intercept


def test_three_classes_are_refused(small):
    with pytest.raises(ValueError, match=r"Only binary classification is supported. The target has 3 classes"):
        TwoStageLogisticRegression(bounds=(-1, 1), classes="from-y").fit(small[0], np.arange(400) % 3)
