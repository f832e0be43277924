"""What was measured on: public facts of the machine, and how fast one thread reads memory."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from timing import Job, interleave

PACKAGES = ("hardzero", "numpy", "scipy", "scikit-learn", "skglm", "numba", "matplotlib")


def facts() -> dict[str, Any]:
    """CPU model, cores, memory, versions, date: nothing that names the machine or its folders."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "load_before": round(os.getloadavg()[0], 1),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


Reader = Callable[[np.ndarray], object]
READERS: dict[str, Reader] = {
    "sum of doubles": lambda words: words.view(np.float64).sum(),
    "sum of whole numbers": lambda words: words.sum(),
    "largest whole number": lambda words: words.max(),
    "product of two vectors": lambda words: np.dot(words.view(np.float64), words.view(np.float64)),
}


def memory(megabytes: int) -> np.ndarray:
    """Return an array that large, every page of it touched."""
    return np.ones(megabytes * 125_000, dtype=np.int64)


def fastest_reader(words: np.ndarray) -> tuple[str, Reader]:
    """Return the way of reading an array once that takes the least time."""
    jobs = {name: Job(lambda read=read: read(words)) for name, read in READERS.items()}
    timings = interleave(jobs, rounds=3, limit=10)
    name = min(timings, key=lambda name: timings[name].median)
    return name, READERS[name]
