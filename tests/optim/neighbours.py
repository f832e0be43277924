"""Tables that differ in one record, and how far apart are the whole numbers that are made of them."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from hardzero.data.bounded import BoundedData, Bounds
from hardzero.optim.problem import Problem
from hardzero.privacy.budget import Neighbours

values = st.sampled_from([-1e9, -1.0, -0.5, 0.0, 0.0, 0.0, 0.3, 1.0, 7.0, 1e9]) | st.floats(-1.5, 1.5)


def problem_of(loss, X, y, store=np.asarray):
    """Rows within [-1, 1] however they are given; two classes have targets of shape (rows, 1)."""
    data = BoundedData.from_matrix(store(np.asarray(X, dtype=float)), Bounds.parse((-1, 1), np.shape(X)[1]))
    y = np.asarray(y)
    return Problem(data, y.astype(float)[:, None] if loss.outputs == 1 else y, loss)


@st.composite
def records(draw, loss, most_rows=5, most_features=4):
    """Rows and classes: outliers, zeros and constant columns are likely."""
    n = draw(st.integers(2, most_rows))
    p = draw(st.integers(1, most_features))
    X = np.array(draw(st.lists(st.lists(values, min_size=p, max_size=p), min_size=n, max_size=n)))
    if draw(st.booleans()):
        X[:, draw(st.integers(0, p - 1))] = draw(values)
    if draw(st.booleans()):
        X[draw(st.integers(0, n - 1))] = 0.0
    y = np.array(draw(st.lists(st.integers(0, max(loss.outputs - 1, 1)), min_size=n, max_size=n)))
    return X, y


def neighbours_of(relation, X, y):
    """The last row is the newcomer: dropped under add/remove, put in place of the first under replace-one."""
    if relation is not Neighbours.REPLACE_ONE:
        return (X, y), (X[:-1], y[:-1])
    return (X[:-1], y[:-1]), (np.vstack([X[-1:], X[1:-1]]), np.concatenate([y[-1:], y[1:-1]]))


def squared_distance(one, other):
    """In Python's whole numbers: no rounding, no overflow."""
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one, other, strict=True))


def within(one, other, sensitivity):
    return squared_distance(one, other) <= Fraction(sensitivity) ** 2
