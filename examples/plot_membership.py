"""Was this person in the table?

A membership-inference attack: someone who knows all other records, and has seen a model, says whether one more
person took part. Without privacy that is easy. With it, no attack can do better than a bound that ε states
beforehand.
"""

# %%
# ## The easiest person to find
# A hundred made-up records of five numbers and a rare mark. One person has the mark, and answers against the trend.
# The attacker fits models of the same kind with that person and without, and looks at what is published: the
# weights.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from hardzero import LassoLogisticRegression, SparsePrivateLogisticRegression
from hardzero.model.statement import WeakGuaranteeWarning

warnings.simplefilter("ignore", WeakGuaranteeWarning)  # one of the fits below is meant to be weak
rng = np.random.default_rng(0)
others = np.hstack([rng.uniform(-1, 1, (99, 5)), np.zeros((99, 1))])
answers = (rng.random(99) < 1 / (1 + np.exp(-3 * others[:, 0] + 2 * others[:, 1]))).astype(int)
with_person = np.vstack([others, [-1, 1, 1, 1, 1, 1]]), np.append(answers, 1)
tables = {True: with_person, False: (others, answers)}
public = {"bounds": (-1, 1), "classes": [0, 1]}


def margins(estimator, times):
    """Tell how strongly each of many models expects the person's answer: with the person and without."""
    return {
        member: np.array([estimator().fit(*table).decision_function(with_person[0][-1:])[0] for _ in range(times)])
        for member, table in tables.items()
    }


def private(epsilon):
    """Make estimators: the number of rows is not published, 100 is known to everyone."""
    return lambda: SparsePrivateLogisticRegression(epsilon, 1e-5, neighbours="add-remove", n_rows=100, **public)


kinds = {
    "not private": margins(lambda: LassoLogisticRegression(**public), 2),
    "ε = 100, weak": margins(private(100.0), 60),
    "ε = 1": margins(private(1.0), 60),
}

# %%
# ## What the attacker sees
# Each stroke is a model: how strongly it expects the answer that the person gave.

figure, panels = plt.subplots(1, 3, figsize=(7.2, 3.2), sharey=True)
for axes, (name, seen) in zip(panels, kinds.items(), strict=True):
    axes.eventplot([seen[False], seen[True]], lineoffsets=[0, 1], linelengths=0.7, colors=["C0", "C1"])
    axes.set(title=name, yticks=[0, 1], yticklabels=["without", "with"], xlabel="margin of the answer")
plt.show()

# %%
# Without privacy the two models differ, and one look is enough. Under ε = 1 the strokes are mixed.
#
# ## How often is the attacker right?
# A rule learnt from one half of the models is tried on the other half. The bound holds for every attack, however
# clever, on members and others alike: $e^\varepsilon / (e^\varepsilon + 1)$, but for δ.


def success(seen):
    """Share of right answers of the best threshold on the first half, on the second half."""
    half = len(seen[True]) // 2
    learnt = np.concatenate([seen[True][:half], seen[False][:half]])
    right = [np.mean(seen[True][:half] >= cut) + np.mean(seen[False][:half] < cut) for cut in learnt]
    cut = learnt[np.argmax(right)]
    return (np.mean(seen[True][half:] >= cut) + np.mean(seen[False][half:] < cut)) / 2


for (name, seen), epsilon in zip(kinds.items(), (np.inf, 100.0, 1.0), strict=True):
    print(f"{name:14} right {100 * success(seen):3.0f} % of the time; at most {100 / (1 + np.exp(-epsilon)):.0f} %")

# %%
# Sixty models leave an error of some six points; guessing is right half of the time. An attack that learns from all
# weights, many more models, every ε from 0.5 to 16 and the published method: [the attack,
# measured](../membership.md).
