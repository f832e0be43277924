"""Read the intervals

A kept feature predicts; that does not make it real. Every weight of the main method comes with a 95 % interval,
paid for inside ε. Look at the interval, not at the size of the weight.
"""

# %%
# The bundled sample of UCI Adult: 12,000 people, 107 features. The text below speaks of what this fit found, so its
# noise comes from a seed, and **it is not private**. Leave `random_state` out for records of your own.

import matplotlib.pyplot as plt
import numpy as np

from hardzero import SparsePrivateLogisticRegression
from hardzero.datasets import load_adult_sample

people = load_adult_sample("train")
model = SparsePrivateLogisticRegression(epsilon=1.0, bounds=people.bounds, classes=people.classes, random_state=9)
model.fit(people.X, people.y)
lower, upper = (ends[0] for ends in model.conf_int(level=0.95))
reliable, weights = model.reliable_[0], model.coef_[0]
print(f"{len(model.support_)} of {weights.size} features kept, {reliable.sum()} of them reliable")

# %%
# ## Large and unsure, small and sure
# Indicators only, so that all weights have one unit: the logarithm of an odds ratio.

indicators = [j for j in model.support_ if people.feature_names[j].count("=") == 1]
indicators.sort(key=lambda j: abs(weights[j]))
figure, axes = plt.subplots(figsize=(7.2, 5.2))
for sure, colour, label in ((True, "C0", "reliable"), (False, "C1", "cannot be told from noise")):
    places = [place for place, j in enumerate(indicators) if reliable[j] == sure]
    chosen = [indicators[place] for place in places]
    around = np.array([weights[chosen] - lower[chosen], upper[chosen] - weights[chosen]])
    axes.errorbar(weights[chosen], places, xerr=around, fmt="o" if sure else "D", color=colour, label=label)
axes.axvline(0, color="C4", linewidth=1)
axes.set_yticks(range(len(indicators)), [people.feature_names[j] for j in indicators], fontsize=8)
axes.set(title="Weights with 95 % intervals, the largest on top", xlabel="log odds ratio")
axes.legend()
plt.show()

# %%
# In this fit, whose seed was chosen to show it, the largest weights are the least believable: few people have such a
# category, so that the noise, which does not know how many there are, weighs most where it matters least. They still
# take part in predictions; to leave them out, fit with `prune="reliable"`.
#
# ## What the intervals do not cover
# The model says it itself:

print(model.inference_.covers)

# %%
# How far that can be believed was [measured](../reliability.md), and so was where it cannot.
