"""Plans never spend more than was asked, and the published noise is reported for what it is."""

import itertools
import math

import pytest

from hardzero.data.bounded import FEATURE_ONE, RESIDUAL_ONE
from hardzero.methods import private_lasso as plans
from hardzero.methods.plans import default_delta
from hardzero.methods.private_lasso import intercept_steps, paper_iterations, paper_noise, plan_lasso
from hardzero.optim.frank_wolfe import ExponentialSelector, LaplaceSelector, NoisyIntercept
from hardzero.optim.losses import Logistic, Softmax, Squared
from hardzero.privacy import accounting
from hardzero.privacy.budget import Budget, BudgetExceededError, Neighbours
from hardzero.privacy.events import GaussianRelease, PureRelease, Repeated, Selection
from hardzero.privacy.randomness import SystemSource

ONE = Budget(1.0, 1e-5)
ADD, REPLACE = Neighbours.ZERO_OUT, Neighbours.REPLACE_ONE


@pytest.mark.parametrize("extras", [{}, {"fit_intercept": True}, {"count_epsilon": 0.0001}, {"per_class": 4}])
@pytest.mark.parametrize("relation", Neighbours)
def test_a_plan_stays_within_what_was_asked(relation, extras):
    for epsilon, delta, n_iter in itertools.product(
        [0.001, 0.01, 0.1, 1, 8], [1e-9, 1e-5, 1e-2], [1, 10, 1000, 10**6]
    ):
        budget = Budget(epsilon, delta)
        plan = plan_lasso(budget, relation, "tight", n_iter, **extras)
        assert plan.spent <= budget
        assert accounting.spent(plan.events, delta, "zcdp") == plan.spent  # the events alone account for it


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_a_plan_with_everything_uses_what_was_asked(epsilon):
    plan = plan_lasso(
        Budget(epsilon, 1e-6), REPLACE, "tight", 500, per_class=3, fit_intercept=True, count_epsilon=epsilon / 20
    )
    assert 0.999 * epsilon <= plan.spent.epsilon <= epsilon
    assert [type(event) for event in plan.events] == [PureRelease, Repeated, Repeated]
    count, intercept, selections = plan.events
    assert count.bound == epsilon / 20
    assert isinstance(intercept.event, GaussianRelease)
    assert intercept.times == 10
    assert isinstance(selections.event, Selection)
    assert selections.times == 1500


def test_the_relation_changes_the_noise_and_not_the_spending():
    plan = {relation: plan_lasso(ONE, relation, "tight", 100, fit_intercept=True) for relation in Neighbours}
    assert plan[ADD].spent == plan[REPLACE].spent
    source = SystemSource()
    for relation in Neighbours:
        assert plan[relation].selector(source) == ExponentialSelector(
            plan[relation].eta, relation.contributions, source
        )
        rule = plan[relation].intercept_rule(5000, source)
        assert rule == NoisyIntercept(
            intercept_steps(100), plan[relation].intercept_noise, relation.contributions, 5000, source
        )


def test_the_intercept_takes_a_tenth():
    plan = plan_lasso(ONE, ADD, "tight", 100, fit_intercept=True)
    intercept, selections = plan.events
    assert intercept.cost.rho == pytest.approx(0.1 * accounting.rho_of_budget(ONE))
    assert selections.cost.rho == pytest.approx(0.9 * accounting.rho_of_budget(ONE))


def test_without_an_intercept_there_is_no_rule():
    assert plan_lasso(ONE, ADD, "tight", 10).intercept_rule(100, SystemSource()) is None


class TestPaper:
    @pytest.mark.parametrize(("epsilon", "delta", "n_iter"), [(1.0, 1e-5, 1000), (0.1, 1e-6, 500), (5.0, 1e-3, 10)])
    def test_the_scale_is_the_published_one(self, epsilon, delta, n_iter):
        """λL√(8T·log(1/δ))/(nε) on the mean gradient at corners of size λ is √(8T·log(1/δ))/ε on the plain sum."""
        plan = plan_lasso(Budget(epsilon, delta), ADD, "paper", n_iter)
        n, radius, lipschitz = 3000, 7.0, 1.0
        published = radius * lipschitz * math.sqrt(8 * n_iter * math.log(1 / delta)) / (n * epsilon)
        assert plan.laplace * radius * lipschitz / n == pytest.approx(published, rel=1e-12)
        selector = plan.selector(SystemSource())
        assert isinstance(selector, LaplaceSelector)
        assert selector.scale == math.ceil(plan.laplace * RESIDUAL_ONE * FEATURE_ONE)

    def test_the_honest_figure_is_reported_for_each_relation(self):
        assert plan_lasso(ONE, ADD, "paper", 1000).spent.epsilon == pytest.approx(0.758, abs=5e-4)
        replaced = plan_lasso(ONE, REPLACE, "paper", 1000)
        assert replaced.spent.epsilon == pytest.approx(1.626, abs=5e-4)
        assert not replaced.spent <= replaced.budget
        assert replaced.laplace == plan_lasso(ONE, ADD, "paper", 1000).laplace  # published noise knows no relation

    def test_the_count_is_taken_from_epsilon(self):
        plan = plan_lasso(ONE, ADD, "paper", 100, count_epsilon=0.2)
        assert plan.laplace == pytest.approx(paper_noise(Budget(0.8, 1e-5), 100))

    def test_per_class_uses_algorithm_3s_constants(self):
        plan = plan_lasso(ONE, ADD, "paper", 100, per_class=4)
        assert plan.laplace == pytest.approx(2 * math.sqrt(8 * 100 * math.log(4e5)) / 0.25)
        assert plan.events[-1].times == 400

    def test_noise_too_large_to_draw_is_refused(self):
        with pytest.raises(ValueError, match=r"epsilon = 1e-08 is too small: noise of .* records cannot be drawn"):
            plan_lasso(Budget(1e-8, 1e-5), ADD, "paper", 1000)


def test_tight_noise_is_well_below_the_published():
    """Scales of noise in the same units: 2/η against the Laplace scale; at most 0.43 at ε = 1, δ = 1e-5, T = 1000."""
    tight, paper = (plan_lasso(ONE, ADD, calibration, 1000) for calibration in ("tight", "paper"))
    assert 2 / tight.eta <= 0.43 * paper.laplace


@pytest.mark.parametrize("extras", [{}, {"count_epsilon": 0.05}])
def test_the_recursion_needs_less_noise_and_stays_within_budget(extras):
    tight, recursion = (plan_lasso(ONE, ADD, calibration, 12, **extras) for calibration in ("tight", "recursion"))
    assert recursion.spent <= ONE
    assert recursion.spent.epsilon > 0.9
    if not extras:  # a count beside it is added by basic composition, which costs more than zCDP
        assert recursion.eta > tight.eta
    assert isinstance(recursion.selector(SystemSource()), ExponentialSelector)


@pytest.mark.parametrize("calibration", ["recursion", "paper"])
def test_an_intercept_needs_the_tight_calibration(calibration):
    with pytest.raises(ValueError, match=f"fit_intercept=True needs calibration='tight', got '{calibration}'"):
        plan_lasso(ONE, ADD, calibration, 10, fit_intercept=True)


@pytest.mark.parametrize("count", [1.0, 1.5])
@pytest.mark.parametrize("calibration", ["tight", "recursion", "paper"])
def test_the_count_cannot_take_everything(calibration, count):
    with pytest.raises(ValueError, match=f"epsilon_count = {count:g} must be smaller than epsilon = 1"):
        plan_lasso(ONE, ADD, calibration, 10, count_epsilon=count)


def test_a_count_that_leaves_nothing_is_refused():
    """0.99 of ε is more zCDP than (ε, δ) holds."""
    with pytest.raises(ValueError, match=r"the other releases cost .* give them less or ask for a larger epsilon"):
        plan_lasso(ONE, ADD, "tight", 10, count_epsilon=0.99)


@pytest.mark.parametrize("calibration", ["tight", "recursion"])
def test_a_plan_that_costs_too_much_is_never_returned(monkeypatch, calibration):
    monkeypatch.setattr(plans.accounting, "spent", lambda *_: Budget(1.0000001, 1e-5))
    with pytest.raises(BudgetExceededError, match="costs epsilon = 1, more than 1"):
        plan_lasso(ONE, ADD, calibration, 5)


@pytest.mark.parametrize("n_iter", [1, 2, 3, 9, 10, 11, 100, 1000, 12345])
def test_intercept_steps_are_a_few_within_the_run(n_iter):
    steps = intercept_steps(n_iter)
    assert len(steps) == min(10, n_iter)  # distinct: each is paid for once
    assert min(steps) == 1
    assert max(steps) == n_iter


@pytest.mark.parametrize("n_rows", [1, 2, 100, 10**6])
def test_default_delta_is_below_one_in_n(n_rows):
    assert 0 < default_delta(n_rows) < min(1 / n_rows, 0.5)
    assert default_delta(10_000) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("loss", "radius", "expected"),
    [
        (Logistic(), 10.0, (0.25 * 100 * 5000 * 0.5 / 10) ** (2 / 3)),
        (Softmax(3), 4.0, (0.25 * 16 * 5000 * 0.5 / 4) ** (2 / 3)),
        (Squared(2.0), 2.0, (4 * 5000 * 0.5 / (5.0 * 2)) ** (2 / 3)),
    ],
)
def test_the_papers_number_of_steps(loss, radius, expected):
    assert paper_iterations(5000, 0.5, radius, loss) == round(expected)


def test_the_papers_number_of_steps_is_at_least_one():
    assert paper_iterations(1, 1e-6, 1.0, Logistic()) == 1
