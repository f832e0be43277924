"""Goodness of fit for samplers, at an error rate low enough for a test suite that runs every day.

All tests here use fixed seeds, so they always pass or always fail; ALPHA says how surprising a failure would be
if the sampler were right and the seed had been drawn at random.
"""

import numpy as np
from scipy import stats

ALPHA = 1e-6


def chi_square_p_value(observed, probabilities):
    """p-value of Pearson's test, cells with fewer than 5 expected counts pooled."""
    observed = np.asarray(observed, dtype=float)
    expected = np.asarray(probabilities, dtype=float) * observed.sum()
    small = expected < 5
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    keep = expected > 0
    assert observed[~keep].sum() == 0, "an impossible outcome occurred"
    return stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected[keep].sum()).pvalue


def noisy_min_law(scores, scale):
    """Probability that each score plus Laplace noise is the smallest, by numerical integration."""
    scores = np.asarray(scores, dtype=float)
    x = np.linspace(scores.min() - 40 * scale, scores.max() + 40 * scale, 400_001)
    noise = stats.laplace(loc=scores[:, None], scale=scale)
    density, above = noise.pdf(x), noise.sf(x)
    others = [np.prod(np.delete(above, i, axis=0), axis=0) for i in range(len(scores))]
    law = np.array([np.trapezoid(d * o, x) for d, o in zip(density, others, strict=True)])
    return law / law.sum()
