"""Rows on a cluster

Records that are elsewhere, in parts, with Dask. Workers send sums over their rows and nothing else; noise is added
here. The model is the one that a single machine gives, bit for bit.
"""

# %%
# A cluster of two workers in this process stands for a real one, whose address `Client` would get. The table is cut
# into eight parts. The seed lets two fits be compared, and makes them **not private**.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from hardzero import SparsePrivateLogisticRegression

rng = np.random.default_rng(0)
numbers = rng.uniform(-1, 1, size=(8_000, 12))
chance = 1 / (1 + np.exp(-3 * numbers[:, 2] + 2 * numbers[:, 5]))
labels = (rng.random(8_000) < chance).astype(int)

X = da.from_array(numbers, chunks=(1_000, 12))  # usually dask.dataframe.read_parquet("people/*.parquet")
y = da.from_array(labels, chunks=1_000)
model = SparsePrivateLogisticRegression(epsilon=1.0, bounds=(-1, 1), classes=[0, 1], random_state=0)

with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"):
    there = model.fit(X, y).coef_.copy()
here = model.fit(numbers, labels).coef_.copy()
print("the same bits:", np.array_equal(there, here))

# %%
# ## One model

figure, axes = plt.subplots()
places = np.arange(here.size)
axes.bar(places - 0.2, here[0], 0.4, label="one machine")
axes.bar(places + 0.2, there[0], 0.4, label="eight parts, two workers")
axes.set(title="Weights, fitted in two ways", xlabel="feature", xticks=places)
axes.legend()
plt.show()

# %%
# Features 2 and 5 made the labels. What happens when a worker is lost, and what a cluster gets to see: [fit on a
# cluster](../how-to/cluster.md). How large a table may be: [scaling](../scaling.md).
