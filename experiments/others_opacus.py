"""Models of Opacus for experiments/others.py: DP-SGD on batches drawn by coins, one record added or removed.

The package brings the gradients, the noise and the accountant. Model, loop and step size are the user's own.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from others_serve import Answer, Task, serve

PACKAGES = ("opacus==1.6.0", "torch==2.15.0")
PLAIN = {"rate": 0.05, "epochs": 10, "learning_rate": 1.0, "clip": 1.0, "hidden": 0}
"""Where nothing else is asked for: share of the rows in a batch, passes, step size, gradient norm, hidden units."""
GRID = tuple(
    (("rate", rate), ("epochs", epochs), ("learning_rate", step))
    for rate, epochs in ((0.05, 10), (0.25, 30))
    for step in (1.0, 4.0, 16.0)
)


def fit(task: Task) -> Answer:
    """Plain steps of gradient descent; the noise is what the accountant asks for to end at ε."""
    import torch  # noqa: PLC0415 - in an environment of its own
    from opacus import PrivacyEngine  # noqa: PLC0415
    from torch.utils.data import DataLoader  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    asked = PLAIN | task.settings
    X, y = torch.tensor(task.X, dtype=torch.float32), torch.tensor(task.y, dtype=torch.float32)[:, None]

    class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
        """Gives a batch in one piece, which is many times faster than row by row."""

        def __len__(self) -> int:
            return len(X)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
            return X[index], y[index]

        def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
            return [X[indices], y[indices]]

    model = _network(X.shape[1], int(asked["hidden"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=asked["learning_rate"])
    loader = DataLoader(Rows(), batch_size=max(1, round(asked["rate"] * len(X))), collate_fn=_as_it_is)
    noise = _noise(task.epsilon, task.delta, 1 / len(loader), int(asked["epochs"]))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=noise, max_grad_norm=asked["clip"]
    )
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(int(asked["epochs"])):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss(model(rows), labels).backward()
            optimizer.step()
    with torch.no_grad():
        margins = model(torch.tensor(task.X_test, dtype=torch.float32)).numpy()
        first = next(iter(model.parameters())).numpy()
    return Answer(margins, int(np.count_nonzero(np.abs(first).sum(axis=0))))


@cache  # three seconds, the same for all fits with this budget
def _noise(epsilon: float, delta: float, rate: float, epochs: int) -> float:
    """What ``make_private_with_epsilon`` calls as well."""
    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    return float(
        get_noise_multiplier(
            target_epsilon=epsilon, target_delta=delta, sample_rate=rate, epochs=epochs, accountant="prv"
        )
    )


def _network(columns: int, hidden: int):  # type: ignore[no-untyped-def]
    """A linear model that starts at zero, or one with a hidden layer."""
    from torch import nn  # noqa: PLC0415

    if hidden:
        return nn.Sequential(nn.Linear(columns, hidden), nn.Tanh(), nn.Linear(hidden, 1))
    model = nn.Linear(columns, 1)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return model


def _as_it_is(batch: list) -> list:  # type: ignore[type-arg]
    return batch


if __name__ == "__main__":
    serve(fit, "opacus")
