"""Whom a guarantee is about: one row of a table, or all rows of one person."""

from __future__ import annotations

from typing import Literal, get_args

Unit = Literal["row", "person"]
UNITS: tuple[Unit, ...] = get_args(Unit)
