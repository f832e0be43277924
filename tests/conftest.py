"""What all tests share: reproducible hypothesis runs, a small task, and the data sets that may be missing."""

import signal

import numpy as np
import pytest
from hypothesis import settings

from hardzero import datasets

from .postgres import running_server

settings.register_profile("hardzero", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("hardzero")


@pytest.fixture(scope="session")
def binary_task():
    """300 rows of 6 features on a grid of 1/64 within [-1, 1]: exact in float32, and in the library's own units."""
    rng = np.random.default_rng(7)
    X = rng.integers(-64, 65, size=(300, 6)) / 64
    y = (X @ [3.0, -2.0, 0.0, 0.0, 1.0, 0.0] + 0.3 * rng.standard_normal(300) > 0.2).astype(int)
    return X, y


@pytest.fixture(scope="session")
def a9a():
    try:
        return datasets.load("a9a")
    except datasets.DataNotFound as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def postgres():
    """The URL of a server that is stopped in the end."""
    with running_server() as url:
        yield url


@pytest.fixture
def heeded_signals():
    """New processes heed signals even where a shell runs the tests in the background, which ignores some of them."""
    heeded = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in heeded.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
