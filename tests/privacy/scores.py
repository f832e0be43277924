"""Scores to choose among, as the solvers hand them in."""

import numpy as np

from hardzero.privacy.mechanisms import Sensitive, SignedScores, block_maxima


def signed(values, tops=None, names=None):
    """Candidates in the given order; their numbers are their places unless ``names`` says otherwise."""
    values = np.asarray(values, dtype=np.int64)
    tops = block_maxima(np.abs(values)) if tops is None else np.asarray(tops)
    names = np.arange(len(values)) if names is None else np.asarray(names)
    return SignedScores(Sensitive(values), Sensitive(tops), Sensitive(names))
