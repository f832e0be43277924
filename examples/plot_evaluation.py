"""How good is it? Asked privately

Accuracy on test records is learnt from records, so it costs privacy too. `evaluate` tells all figures from one
noisy histogram, each with an interval that covers chance and noise.
"""

# %%
# A model of 12,000 people is judged by 4,000 others. The exact AUC is drawn here because the sample is public; of
# private records nobody would see it. Seeds, so that the text fits the figures: **not private**.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from hardzero import SparsePrivateLogisticRegression, evaluate
from hardzero.datasets import load_adult_sample

train, test = load_adult_sample("train"), load_adult_sample("test")
model = SparsePrivateLogisticRegression(1.0, bounds=train.bounds, classes=train.classes, random_state=0)
model.fit(train.X, train.y)
found = evaluate(model, test.X, test.y, epsilon=0.5, random_state=1)
print(found)

# %%
# ## Curves with intervals
# The ROC curve, and whether predicted probabilities come true.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6))
alarms, hits = ([getattr(point, name) for point in found.roc] for name in ("false_positives", "true_positives"))
around = [[hit.value - hit.low for hit in hits], [hit.high - hit.value for hit in hits]]
left.errorbar([alarm.value for alarm in alarms], [hit.value for hit in hits], yerr=np.maximum(around, 0), fmt="o-")
left.plot([0, 1], [0, 1], color="C4", linestyle=":")
left.set(title="ROC", xlabel="false positives", ylabel="true positives")

known = [part for part in found.calibration if part.observed.value is not None]
seen = [part.observed for part in known]
around = [[share.value - share.low for share in seen], [share.high - share.value for share in seen]]
right.errorbar(
    [part.predicted for part in known],
    [share.value for share in seen],
    yerr=np.maximum(around, 0),
    fmt="o",
    color="C1",
)
right.plot([0, 1], [0, 1], color="C4", linestyle=":")
right.set(title="Calibration", xlabel="predicted", ylabel="observed")
plt.show()

# %%
# ## What a smaller ε costs

exact = roc_auc_score(test.y == train.classes[1], model.decision_function(test.X))
epsilons = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
areas = [evaluate(model, test.X, test.y, epsilon=e, random_state=3).metrics["auc"] for e in epsilons]
figure, axes = plt.subplots()
axes.vlines(epsilons, [area.low for area in areas], [area.high for area in areas], color="C0", linewidth=2)
axes.plot(epsilons, [area.value for area in areas], "o", label="private, with 95 % interval")
axes.axhline(exact, color="C1", linestyle="--", label="exact, of these rows")
axes.set(title="Area under the ROC curve", xscale="log", xlabel="ε of the evaluation")
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.legend()
plt.show()

# %%
# At small ε the interval says honestly that little is known. `fit_and_evaluate` sets rows aside and evaluates on
# them at no cost on top. Where it is weak, with figures: [how good is it?](../evaluation.md)
