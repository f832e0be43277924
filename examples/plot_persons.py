"""One person, many rows

Patients come several times, customers pay every month. A guarantee for each row is then no guarantee for each person:
someone with twenty rows has twenty times the ε. `groups=` says whose row each row is.
"""

# %%
# Made-up visits of 3,000 patients with 1 to 20 visits each: ten measurements a visit, three of which matter, and
# something about a patient that all visits share. Seeds, so that the text fits the figures: **not private**.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from hardzero import SparsePrivateLogisticRegression


def visits(patients, seed):
    """Rows, classes, and whose rows they are."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(patients), rng.integers(1, 21, patients))
    X = np.clip(rng.normal(0, 0.5, (len(who), 10)), -1, 1)
    score = X[:, :3] @ [3.0, -2.0, 1.5] + rng.normal(0, 1, patients)[who]
    return X, (rng.random(len(who)) < 1 / (1 + np.exp(-score))).astype(int), who


X, y, patients = visits(3000, seed=0)
others, outcomes, _ = visits(1000, seed=1)
model = SparsePrivateLogisticRegression(1.0, bounds=(-1, 1), classes=[0, 1], random_state=0)
model.fit(X, y, groups=patients)
print(model.privacy_)

# %%
# All rows of a patient together move every sum by no more than one row may. How many rows there are is as secret as
# what they say; how many patients there are counts as known.
#
# ## Beside the naive way
# With at most twenty rows each, ε/20 for every row is ε for every patient. That needs a public limit on rows, and
# where the budget is small it costs much.

epsilons = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0]


def area(epsilon, *, naive):
    """The area under the ROC curve on new patients, in percent: the mean of five fits."""
    areas = []
    for seed in range(5):
        budget, delta = (epsilon / 20, 1e-8) if naive else (epsilon, 1e-5)
        fitted = SparsePrivateLogisticRegression(budget, delta, bounds=(-1, 1), classes=[0, 1], random_state=seed)
        fitted.fit(X, y, groups=None if naive else patients)
        areas.append(100 * roc_auc_score(outcomes, fitted.decision_function(others)))
    return np.mean(areas)


figure, axes = plt.subplots()
for naive, label in ((False, "groups=patients"), (True, "ε/20 for every row")):
    axes.plot(epsilons, [area(epsilon, naive=naive) for epsilon in epsilons], "o-", label=label)
axes.set(title="Area under the ROC curve, percent", xscale="log", xlabel="ε for each patient")
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.legend()
plt.show()

# %%
# Where most have one or two rows and a few have many, the difference is larger; at a very small ε keeping one row of
# each person does as well. Figures, and what to do in a schema: [persons with many rows](../persons.md)
