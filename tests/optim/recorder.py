"""Releases intercepted where they leave.

A recorder takes the place of ``mechanisms.gaussian`` and ``mechanisms.select``, notes the whole numbers that were
handed in, and answers with values that do not depend on them. So two neighbours follow the same released path, and
what they hand in may be compared.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from hardzero.privacy import mechanisms


class Recorder:
    """Notes what is handed to the mechanisms; its answers depend on a seed and on σ alone."""

    def __init__(self, seed=0, spread=1.0):
        self.sums, self.sigmas = [], []
        self.scores, self.sensitivities, self.etas = [], [], []
        self._answers = np.random.default_rng(seed)
        self._spread = spread

    def gaussian(self, values, sigma, source):
        self.sums.append(values._secret.copy())
        self.sigmas.append(sigma)
        noise = self._answers.standard_normal(len(values._secret))
        return np.rint(self._spread * sigma * noise).astype(np.int64)

    def select(self, scores, sensitivity, eta, source, tops=None):
        self.scores.append(scores._secret.copy())
        self.sensitivities.append(sensitivity)
        self.etas.append(eta)
        there = np.flatnonzero(scores._secret != mechanisms.NOBODY)
        return int(there[self._answers.integers(len(there))])


@contextmanager
def recording(**options):
    with pytest.MonkeyPatch.context() as patch:
        recorder = Recorder(**options)
        patch.setattr(mechanisms, "gaussian", recorder.gaussian)
        patch.setattr(mechanisms, "select", recorder.select)
        yield recorder
