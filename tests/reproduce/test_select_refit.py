"""Variants of select-then-refit that its page compares: each really switches something off, and on again."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hardzero.methods.select_refit_plan import plan_select_refit
from hardzero.privacy.budget import Budget, Neighbours
from hardzero.reproduce.rows import Trial
from hardzero.reproduce.splits import Split

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

import select_refit  # noqa: E402

sys.path.remove(str(EXPERIMENTS))


def made_up():
    """2,000 rows of a well-specified model."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 20))
    y = (rng.random(2000) < 1 / (1 + np.exp(-X[:, :5] @ [3.0, -2.0, 2.0, -1.5, 1.5]))).astype(int)
    return Split(X, y, X[:0], y[:0])


def weights(method):
    return select_refit.fit(Trial("made up", method, 50.0, "zero-out", 0), made_up()).coef_[0]


@pytest.mark.parametrize("method", ["select only", "rows clipped by residual"])
def test_a_variant_has_other_weights_and_leaves_the_method_as_it_was(method):
    whole = weights("select-then-refit")
    assert not np.allclose(weights(method), whole, rtol=0.01)
    assert np.array_equal(weights("select-then-refit"), whole)


@pytest.mark.parametrize("rows", [3_000, 300_000])
def test_what_the_refit_would_have_cost_goes_to_the_eliminations(rows):
    """Steps that the curvature guides are part of it: to the last step, ρ is what it was."""
    plan = plan_select_refit(Budget(1.0, 1e-6), Neighbours.ZERO_OUT, rows, 300, 1)
    refit = plan.releases.stages[-1]
    assert (refit.guided > 0) == (rows == 300_000)

    def cost(stages):
        return sum(stage.steps / stage.pace.noise**2 for stage in stages)

    assert cost(select_refit.without_refit(plan).releases.stages) == pytest.approx(cost(plan.releases.stages))


def test_clipping_by_residuals_makes_weights_too_large():
    """Rows on the wrong side of the boundary lose most: what is left asks for larger margins."""
    assert np.abs(weights("rows clipped by residual")).sum() > 1.1 * np.abs(weights("select-then-refit")).sum()
