"""How sure an estimator is of its weights, and how it says so."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.variables import Variables
from hardzero.estimators import select_refit
from hardzero.estimators._inference import kept_variables
from hardzero.model import FittedModel
from hardzero.model.inference import FALSE_DISCOVERY_RATE
from hardzero.optim.frank_wolfe import Evidence, VariableEvidence, Weights

LOWER, UPPER = np.array([0.0, -1.0, -8.0, 0.0]), np.array([2.0, 1.0, 4.0, 0.5])
SCALE = np.array([2.0, 1.0, 8.0, 0.5])
COEF = np.array([[1.5, 0.0, -0.75, 0.25]])
ERROR = np.array([[0.5, 0.1, 0.125, 0.5]])  # of a weight that was dropped too: it means nothing
Q_VALUE = np.array([[0.05, 0.01, 0.0, 0.9]])
COVERS = "the weights of this test"
DERIVED = ("coef_se_", "q_values_", "reliable_")


@pytest.fixture
def estimator(monkeypatch):
    """Fits that release given weights and evidence, for features scaled to [-1, 1]."""

    def fitted(evidence=True, outputs=1, **parameters):
        told = Evidence(np.tile(ERROR, (outputs, 1)), np.tile(Q_VALUE, (outputs, 1)), COVERS) if evidence else None
        weights = Weights(np.tile(COEF, (outputs, 1)), np.zeros(outputs), told)
        monkeypatch.setattr(select_refit, "select_and_refit", lambda problem, plan, source: weights)
        classes = list("abcdef")[: max(2, outputs)]
        model = SparsePrivateLogisticRegression(bounds=(LOWER, UPPER), classes=classes, **parameters)
        return model.fit(np.zeros((60, 4)), np.resize(classes, 60))

    return fitted


def test_standard_errors_are_in_the_units_of_the_weights(estimator):
    model = estimator()
    np.testing.assert_allclose(model.coef_, COEF / SCALE)
    np.testing.assert_allclose(model.coef_se_, [[0.25, np.nan, 0.125 / 8, 1.0]])
    np.testing.assert_array_equal(model.q_values_, Q_VALUE)
    assert model.inference_.covers == COVERS


def test_reliable_are_those_kept_whose_q_value_is_at_most_five_percent(estimator):
    """The second has a small q-value and no weight."""
    np.testing.assert_array_equal(estimator().reliable_, [[True, False, True, False]])


def test_a_weight_of_exactly_zero_is_no_part_of_its_variable():
    """Estimates exist for the first three; that of the second is zero to the last bit."""
    law = np.diag([1.0, 2.0, 3.0])
    told = VariableEvidence(np.array([0.01, 0.02]), np.array([0.5, 0.7]), np.array([0.1, 0.2, 0.3]), law)
    evidence = Evidence(np.array([[1.0, 1.4, 1.7, np.nan]]), np.zeros((1, 4)), COVERS, told)
    weights = Weights(np.array([[1.0, 0.0, 2.0, 0.0]]), np.zeros(1), evidence)
    second, first = kept_variables(Variables.of_labels(["a", "a", "b", "b"]), weights)
    assert (first.name, first.features, first.mean.tolist(), first.covariance.tolist()) == ("a", (0,), [0.1], [[1.0]])
    assert (second.name, second.features, second.covariance.tolist()) == ("b", (2,), [[3.0]])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_intervals_are_those_of_the_normal_law(estimator, level):
    model = estimator()
    lower, upper = model.conf_int(level=level)
    expected = norm.interval(level, loc=model.coef_, scale=model.coef_se_)
    np.testing.assert_allclose((lower, upper), expected, rtol=1e-12)
    assert np.isnan([lower[0, 1], upper[0, 1]]).all()


def test_the_usual_level_is_ninety_five_percent(estimator):
    model = estimator()
    np.testing.assert_array_equal(model.conf_int(), model.conf_int(0.95))


@pytest.mark.parametrize(
    ("level", "error"), [(0, ValueError), (1.0, ValueError), (95, ValueError), ("95 %", TypeError), (True, TypeError)]
)
def test_a_level_that_is_none_is_refused_by_name(estimator, level, error):
    with pytest.raises(error, match=r"^level must"):
        estimator().conf_int(level)


def test_several_classes_have_a_row_each(estimator):
    model = estimator(outputs=3)
    for part in (model.coef_se_, model.q_values_, model.reliable_, *model.conf_int()):
        assert part.shape == model.coef_.shape == (3, 4)


@pytest.mark.parametrize("name", DERIVED)
def test_before_a_fit_nothing_is_known(name):
    model = SparsePrivateLogisticRegression()
    assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted"):
        model.conf_int()


def test_a_fit_that_cannot_tell_says_so(estimator):
    model = estimator(evidence=False)
    assert model.inference_ is None
    assert not any(hasattr(model, name) for name in DERIVED)
    with pytest.raises(AttributeError, match=r"SparsePrivateLogisticRegression cannot tell how sure.*is None\)$"):
        model.conf_int()


def test_a_fit_of_several_classes_says_that_intervals_are_for_two(estimator):
    model = estimator(evidence=False, outputs=3)
    assert model.inference_ is None
    with pytest.raises(AttributeError, match=r"cannot tell how sure .*They are for two classes; this fit has more$"):
        model.conf_int()


@pytest.mark.parametrize("error", [0.0, -1.0, np.inf, np.nan])
def test_a_standard_error_that_is_none_does_not_cost_the_model(estimator, monkeypatch, error):
    monkeypatch.setitem(globals(), "ERROR", np.array([[error, 0.1, 0.125, 0.5]]))
    model = estimator()
    assert model.inference_ is None
    assert FittedModel.from_estimator(model).inference_scaled is None


@pytest.mark.filterwarnings("ignore:2 fits")
def test_another_fit_takes_nothing_over(estimator):
    model = estimator()
    again = estimator(evidence=False)
    model.fit(np.zeros((60, 4)), np.resize(["a", "b"], 60))
    assert model.inference_ is again.inference_ is None


def test_a_clone_knows_nothing_yet(estimator):
    assert not hasattr(clone(estimator()), "inference_")


@pytest.mark.parametrize(("prune", "rate"), [("none", None), ("reliable", FALSE_DISCOVERY_RATE)])
def test_the_plan_is_told_the_false_discovery_rate_to_prune_by(monkeypatch, estimator, prune, rate):
    plans = []
    run = select_refit.plan_select_refit
    monkeypatch.setattr(select_refit, "plan_select_refit", lambda *a, **k: plans.append(run(*a, **k)) or plans[-1])
    estimator(prune=prune)
    assert [plan.false_discoveries for plan in plans] == [rate]


def test_pruning_is_refused_where_nothing_tells_what_is_reliable(estimator):
    with pytest.raises(ValueError, match="prune='reliable' is for two classes"):
        estimator(outputs=3, prune="reliable")


@pytest.mark.parametrize("seed", [0, 1])
def test_pruning_costs_nothing_and_keeps_the_reliable_weights(seed):
    """With one seed both fits make the same releases; only those called real are left of what was kept."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(5000, 30))
    y = (rng.random(5000) < 1 / (1 + np.exp(-3 * X[:, 2] + 2 * X[:, 7]))).astype(int)
    plain, pruned = (
        SparsePrivateLogisticRegression(bounds=(-1, 1), classes=[0, 1], prune=prune, random_state=seed).fit(X, y)
        for prune in ("none", "reliable")
    )
    assert plain.privacy_.epsilon == pruned.privacy_.epsilon
    assert np.array_equal(pruned.coef_ != 0, plain.reliable_)
    assert {2, 7} <= set(pruned.support_.tolist()) <= set(plain.support_.tolist())


@pytest.mark.parametrize("prune", ["all", None, True])
def test_pruning_has_two_names(estimator, prune):
    with pytest.raises(ValueError, match="prune must be one of 'none', 'reliable', got"):
        estimator(prune=prune)


def test_nothing_is_told_of_a_feature_with_one_possible_value():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    bounds = np.array([-1.0, 4.0, 0.0]), np.array([1.0, 4.0, 0.0])
    parts = {"bounds": bounds, "classes": [False, True], "variables": ["a", "b", "a"]}
    for seed in range(8):
        model = SparsePrivateLogisticRegression(0.5, **parts, random_state=seed).fit(X, X[:, 0] > 0)
        assert np.all(np.isnan(model.coef_se_[0, 1:]))
        assert not model.reliable_[0, 1:].any()
        assert {j for variable in model.kept_variables_ for j in variable.features} == set(model.support_.tolist())
        assert FittedModel.from_estimator(model).kept.tolist() == model.support_.tolist()
