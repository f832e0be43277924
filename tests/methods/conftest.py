"""Data that tests of several methods fit."""

import numpy as np
import pytest

from hardzero import datasets


@pytest.fixture(scope="session")
def synthetic():
    """The paper's data, their labels moved so that one in five is positive and an intercept has work to do."""
    data, truth = datasets.make_synthetic(seed=0)
    score = data.X @ truth
    return data.X, (score > np.quantile(score, 0.8)).astype(int)
