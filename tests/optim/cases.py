"""Every loss, relation and storage that a sensitivity has to hold for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hardzero.optim.losses import Logistic, Softmax
from hardzero.privacy.budget import Neighbours

LOSSES = [Logistic(), Softmax(3)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "softmax"])
every_relation = pytest.mark.parametrize("relation", Neighbours, ids=lambda r: r.value)
dense_and_sparse = pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def on_drawn_neighbours(max_examples):
    """The test takes loss, relation, store and data: every one of them, and what Hypothesis draws."""

    def of_all(test):
        drawn = settings(max_examples=max_examples)(given(st.data())(test))
        return dense_and_sparse(every_relation(every_loss(drawn)))

    return of_all
