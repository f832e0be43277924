"""What the tests of constants draw, and how often."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

SMALL = settings(max_examples=60, deadline=None, derandomize=True)
UNIT = st.floats(-1, 1)
SEEDS = st.integers(0, 2**32 - 1)
