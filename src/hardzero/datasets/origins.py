"""The registry of data sets: where each comes from and how it is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

Basis: TypeAlias = Literal["public", "clip", "published", "derived"]
Classes: TypeAlias = tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from and how it is read; ``samples/sources.toml`` explains the fields.

    Notes
    -----
    **Privacy.** Data-independent, but for what ``bounds_basis`` says of the bounds.
    """

    format: str
    parts: Mapping[str, Mapping[str, str]]
    n_features: int
    classes: Classes
    origin: str
    description: str
    bounds_basis: Basis
    bounds: tuple[float, float] | None = None
    columns: str | None = None
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    gaps: Sequence[str] = ()
    absent: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sorted_values: bool = False
    against_rest: str | None = None
    sparse: bool = True


@cache
def origins() -> Mapping[str, Origin]:
    """Give the registry: a `Origin` for each known name.

    Notes
    -----
    **Privacy.** Data-independent.
    """

    def source(table: dict[str, Any]) -> Origin:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
        return Origin(**fields)

    return {name: source(table) for name, table in tomllib.loads(bundled("sources.toml").decode()).items()}


def bundled(file: str) -> bytes:
    """Read a file that comes with the package."""
    return resources.files(__package__).joinpath("samples", file).read_bytes()
