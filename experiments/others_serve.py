"""Fits of other packages in processes and environments of their own: one line of JSON in, one out, for each fit.

The package's side needs numpy alone (`serve`), and so does ours (`Server`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Settings = dict[str, Any]
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


class Task(NamedTuple):
    """What a package gets: rows within [lower, upper], labels 0 and 1, a budget, a seed, and how to fit."""

    X: FloatArray
    y: NDArray[np.int64]
    X_test: FloatArray
    lower: float
    upper: float
    epsilon: float
    delta: float
    seed: int
    settings: Settings


class Answer(NamedTuple):
    """What it gives: margins of the test rows, positive for class 1, and how many columns the model uses."""

    margins: FloatArray
    used: int


def serve(fit: Callable[[Task], Answer], package: str) -> None:
    """Answer requests until there are no more; the package is loaded first, so that no fit's time holds that."""
    out, sys.stdout = sys.stdout, sys.stderr  # what packages print is no answer
    warnings.simplefilter("ignore")  # seeds and modes that are not for production: this is an experiment
    import_module(package)
    for line in sys.stdin:
        request = json.loads(line)
        with np.load(request.pop("arrays")) as arrays:
            task = Task(arrays["X"], arrays["y"], arrays["X_test"], **request)
        start = time.perf_counter()
        margins, used = fit(task)
        seconds = time.perf_counter() - start
        out.write(json.dumps({"margins": np.ravel(margins).tolist(), "used": int(used), "seconds": seconds}) + "\n")
        out.flush()


@dataclass(frozen=True)
class Environment:
    """A folder with a Python of its own and the packages in it."""

    folder: Path
    packages: tuple[str, ...]

    def python(self) -> Path:
        """Return the interpreter, after installing what is missing; a few minutes the first time."""
        python, done = self.folder / "bin" / "python", self.folder / "installed.txt"
        wanted = "\n".join(self.packages)
        if not done.exists() or done.read_text() != wanted:
            subprocess.run([sys.executable, "-m", "venv", "--clear", self.folder], check=True)
            subprocess.run([python, *PIP, *self.packages], check=True)
            done.write_text(wanted)
        return python


class Server:
    """A running script that calls `serve`, in its environment; it ends when its input does."""

    def __init__(self, environment: Environment, script: Path) -> None:
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [environment.python(), script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=kept | threads,
        )

    def ask(self, arrays: Path, **request: Any) -> dict[str, Any]:
        """Have one model fitted."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arrays": str(arrays), **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args[1]} failed; its error stands above")  # type: ignore[index]
        return dict(json.loads(line))
