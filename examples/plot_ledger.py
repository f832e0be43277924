"""A budget for a team

A guarantee for each fit is worth little if everyone may fit as often as they like. A ledger adds up all fits to a
data set, whoever makes them, and refuses what is beyond its cap before a record is read.
"""

# %%
# The owner decides what all fits together may cost. Then people fit, each with the same ledger.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from hardzero import Budget, BudgetExceededError, Ledger, SparsePrivateLogisticRegression

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(2_000, 8))
y = (X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(2_000) > 0).astype(int)

folder = tempfile.TemporaryDirectory()
ledger = Ledger(Path(folder.name) / "people.db", "people", cap=Budget(1.0, 1e-6))
public = {"bounds": (-1, 1), "classes": [0, 1], "ledger": ledger}

spent, refused = [], None
while refused is None:
    try:
        SparsePrivateLogisticRegression(epsilon=0.25, delta=1e-6, **public).fit(X, y)
        spent.append(ledger.entries()[-1].state.spent)
    except BudgetExceededError as error:
        refused = error
print(f"{len(spent)} fits of ε = 0.25 together cost ε = {spent[-1]:.3f}")
print(refused)

# %%
# ## Together they cost less than their sum
# All releases are composed, and converted to ε once.

figure, axes = plt.subplots()
fits = range(1, len(spent) + 1)
axes.plot(fits, spent, "o-", label="what the ledger charges")
axes.plot(fits, [0.25 * count for count in fits], "s--", label="the sum of ε")
axes.axhline(1.0, color="C4", label="cap")
axes.set(title="Spent on one data set", xlabel="fits of ε = 0.25", ylabel="ε", ylim=(0, None), xticks=fits)
axes.legend()
plt.show()

# %%
# ## Can the book be trusted?
# Every entry holds the hash of the one before it, and `verify` computes all of them anew. It lists what is wrong:

print(ledger.verify() or "nothing is wrong")
folder.cleanup()

# %%
# These fits have no seed: they are private, and the ledger says what they cost. On the command line, with
# PostgreSQL, with roles, and what a ledger cannot do: [keep a budget that lasts](../how-to/ledger.md).
