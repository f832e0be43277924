"""One fit in a process of its own; prints its memory before, its peak during the fit, and the size of the input."""

import json
import resource
import sys
from pathlib import Path

from lookalikes import sample

from hardzero import PrivateLassoLogisticRegression, SparsePrivateLogisticRegression

STATUS = Path("/proc/self/status")


def field(name: str) -> int:
    """A line of the kernel's own account, in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def forget_peak() -> bool:
    """Set the peak back to the present size, so that making the data does not count; False where it cannot be."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def main(name: str, shrink: int, estimator: str, steps: int) -> None:
    data = sample(name, shrink)
    if estimator == "select-then-refit":
        model = SparsePrivateLogisticRegression(1.0, bounds=data.bounds, classes="from-y")
    else:
        model = PrivateLassoLogisticRegression(1.0, 1 / data.rows, bounds=data.bounds, n_iter=steps, classes="from-y")
    small = sample("synth", 100)  # loads what a first fit loads
    type(model)(1.0, bounds=small.bounds, classes="from-y").fit(small.X, small.y)
    exact = STATUS.exists() and forget_peak()
    before = field("VmRSS") if STATUS.exists() else 0
    model.fit(data.X, data.y)
    peak = field("VmHWM") if exact else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**data.shape(), "before": before, "peak": peak, "only_fit": exact}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
