"""Tables for experiments/additive.py: public sets by whole variables, and simulations whose curves are known.

A table is a matrix of numbers, one column for each variable: a number between public bounds, with public cut points,
or the place of a category among public ones; a place after the last one means that it is not known.
"""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from hardzero import datasets
from hardzero.datasets.files import locate
from hardzero.schema.columns import Categorical, Numeric
from hardzero.schema.file import loads

FloatArray = NDArray[np.float64]

DOLLARS = (1, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 10_000, 15_000, 20_000, 30_000, 50_000)
CUTS: dict[str, dict[str, Sequence[float]]] = {
    "adult": {
        "age": range(20, 90, 5),
        "education-num": range(2, 17),
        "capital-gain": DOLLARS,
        "capital-loss": (1, *range(1_000, 3_000, 250), 3_000, 4_000),
        "hours-per-week": range(10, 95, 5),
    },
    "covtype": {
        "Elevation": range(1_100, 4_400, 100),
        "Aspect": range(15, 360, 15),
        "Slope": range(5, 90, 5),
        "Horizontal_Distance_To_Hydrology": (1, *range(100, 1_000, 100), *range(1_000, 10_000, 500)),
        "Vertical_Distance_To_Hydrology": (-500, -300, *range(-200, 201, 25), 300, 500),
        "Horizontal_Distance_To_Roadways": (*range(250, 3_000, 250), *range(3_000, 10_000, 500)),
        "Hillshade_9am": range(15, 255, 15),
        "Hillshade_Noon": range(15, 255, 15),
        "Hillshade_3pm": range(15, 255, 15),
        "Horizontal_Distance_To_Fire_Points": (*range(250, 3_000, 250), *range(3_000, 10_000, 500)),
    },
}
"""Round numbers in the units of a column; other columns get ten equal steps.

Not blind: who wrote them down knew these tables, and had seen quantiles of Covertype's columns.
"""
EQUAL_STEPS = 10

ADULT_GROUPS = (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41)
MUSHROOM_GROUPS = (6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7)
PHISHING_GROUPS = (
    (0, 30), (1, 40, 58), (2, 48), (3, 59), (4, 31), (5, 56), (6, 32, 49), (7, 33, 55), (8, 44), (9, 65), (10, 60),
    (11, 50), (12, 45), (13, 34, 63), (14, 35, 46), (15, 57, 67), (16, 36), (17, 37), (18, 64), (19, 51), (20, 61),
    (21, 52), (22, 62), (23, 41), (24, 53), (25, 38, 42), (26, 54), (27, 66), (28, 43, 47), (29, 39),
)  # fmt: skip
"""Which indicators encode one attribute, in LIBSVM's files: 14 of Adult, 21 of Mushroom, 30 of Phishing Websites.

Found in the records, as indicators of which no row has two, and not in a public document.
"""


@dataclass(frozen=True)
class Variable:
    """What is public about a column: the number of its categories, or its bounds and cut points."""

    name: str
    levels: int = 0
    lower: float = 0.0
    upper: float = 1.0
    cuts: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from and rows to test on; labels are 0 and 1."""

    variables: tuple[Variable, ...]
    X: FloatArray
    y: NDArray[np.int64]
    X_test: FloatArray
    y_test: NDArray[np.int64]


def numeric(name: str, lower: float, upper: float, cuts: Sequence[float] | None = None) -> Variable:
    """A number between bounds; without cut points ten equal steps."""
    if cuts is None:
        cuts = np.linspace(lower, upper, EQUAL_STEPS + 1)[1:-1].tolist()
    return Variable(name, 0, float(lower), float(upper), tuple(float(cut) for cut in cuts))


def indicators(variable: Variable, column: FloatArray) -> FloatArray:
    """What a linear model gets: x ≥ cut for each cut point, or one column for each category."""
    if variable.levels:
        return (column[:, None] == np.arange(variable.levels)).astype(np.float32)
    return (column[:, None] >= np.array(variable.cuts)).astype(np.float32)


def design(variables: Sequence[Variable], X: FloatArray) -> tuple[NDArray[np.float32], list[str]]:
    """All indicators side by side, and the variable to which each of them belongs."""
    parts = [indicators(variable, X[:, j]) for j, variable in enumerate(variables)]
    labels = [v.name for v, part in zip(variables, parts, strict=True) for _ in range(part.shape[1])]
    return np.hstack(parts), labels


def places(X: Any, groups: Sequence[Sequence[int]]) -> FloatArray:
    """One column for each group of indicators: the place of the one that is set, or the number of them."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    columns = []
    for group in groups:
        part = dense[:, list(group)] != 0
        columns.append(np.where(part.any(axis=1), part.argmax(axis=1), len(group)))
    return np.column_stack(columns).astype(np.float64)


def _runs(sizes: Sequence[int], start: int = 0) -> list[range]:
    ends = start + np.cumsum(sizes)
    return [range(end - size, end) for end, size in zip(ends.tolist(), sizes, strict=True)]


GROUPS: dict[str, Sequence[Sequence[int]]] = {
    "a9a": _runs(ADULT_GROUPS), "mushrooms": _runs(MUSHROOM_GROUPS), "phishing": PHISHING_GROUPS
}  # fmt: skip


def _adult_part(file: str) -> tuple[tuple[Variable, ...], FloatArray, NDArray[np.int64]]:
    path = locate(file)
    if path is None:
        raise SystemExit(f"{file} is not in the folder that HARDZERO_DATA names")
    rows = list(csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode())))
    text = resources.files("hardzero.datasets").joinpath("samples", "adult.toml").read_text(encoding="utf-8")
    schema = loads(text)
    variables, columns = [], []
    for column in schema.used:
        cells = [row[column.name] for row in rows]
        if isinstance(column, Numeric):
            cuts = CUTS["adult"][column.name]
            variables.append(numeric(column.name, column.lower, column.upper, cuts))
            columns.append(np.array(cells, dtype=np.float64))
        else:
            assert isinstance(column, Categorical)
            place = {value: k for k, value in enumerate(column.values)}
            variables.append(Variable(column.name, len(column.values)))
            columns.append(np.array([place.get(cell, len(place)) for cell in cells], dtype=np.float64))
    y = np.array([row[schema.target.name] == schema.target.positive for row in rows], dtype=np.int64)
    return tuple(variables), np.column_stack(columns), y


@lru_cache(maxsize=1)
def adult() -> Table:
    """UCI Adult as it was published, 13 columns and the official test part."""
    variables, X, y = _adult_part("adult.csv.xz")
    _, X_test, y_test = _adult_part("adult.test.csv.xz")
    return Table(variables, X, y, X_test, y_test)


@lru_cache(maxsize=1)
def _whole(name: str) -> tuple[tuple[Variable, ...], FloatArray, NDArray[np.int64]]:
    data = datasets.load(name)
    y = (data.y == data.classes[1]).astype(np.int64)
    names = data.feature_names or [f"x{j}" for j in range(data.X.shape[1])]
    if name in GROUPS:
        groups = GROUPS[name]
        return tuple(Variable(f"v{j}", len(group)) for j, group in enumerate(groups)), places(data.X, groups), y
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    if name == "splice":
        return tuple(Variable(each, 4) for each in names), X - 1, y
    if name == "w8a":
        return tuple(numeric(each, 0, 1, [0.5]) for each in names), X, y
    lower, upper = (np.broadcast_to(limit, X.shape[1]) for limit in data.bounds)
    cuts = CUTS.get(name, {})
    if name == "covtype":
        X = np.hstack([X[:, :10], places(X, _runs((4, 40), start=10))])
        categories = [Variable("Wilderness_Area", 4), Variable("Soil_Type", 40)]
    else:
        categories = []
    numbers = [numeric(names[j], lower[j], upper[j], cuts.get(names[j])) for j in range(X.shape[1] - len(categories))]
    return (*numbers, *categories), X, y


@lru_cache(maxsize=1)
def load_table(name: str, seed: int) -> Table:
    """One split: that of `hardzero.reproduce.splits.load_split`, except for Adult, which has a test part."""
    if name == "adult":
        return adult()
    if name.startswith("shapes"):
        return simulate(int(name.split("=")[1]), seed)
    variables, X, y = _whole(name)
    order = np.random.default_rng(seed).permutation(len(y))
    size = 426 if name == "breast-cancer" else int(0.8 * len(order))
    train, test = order[:size], order[size:]
    return Table(variables, X[train], y[train], X[test], y[test])


NUMBERS, CATEGORIES, LEVELS, CORRELATION = 20, 2, 10, 0.3
HIGHEST = 100.0
TEST_ROWS = 20_000

SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "step": lambda x: 1.2 * (x >= 60),
    "ramp": lambda x: 1.6 * np.minimum(x / 40, 1),
    "hump": lambda x: 1.5 * np.exp(-(((x - 45) / 15) ** 2)),
    "u": lambda x: 2.0 * ((x - 50) / 50) ** 2,
    "linear": lambda x: -x / 50,
    "tail": lambda x: 2.0 * (x >= 80),
}
"""Effects on the log-odds of the first six variables, on [0, 100]; the other numbers have none."""
EFFECTS = (
    (0.0, 0.5, -0.5, 1.0, -1.0, 0.25, -0.25, 0.75, -0.75, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9, -0.9, 1.4),
)
"""Effects of the levels of the two categorical variables; high levels are rare."""
FREQUENCY = np.arange(LEVELS, 0, -1) / (LEVELS * (LEVELS + 1) / 2)
INTERCEPT = -1.6
SKEW = float(np.log(0.2) / np.log(0.02))
TRUE = len(SHAPES) + CATEGORIES
TRUTH = (*range(len(SHAPES)), *range(NUMBERS, NUMBERS + CATEGORIES))
"""Places of the variables that matter."""


def shape_variables() -> tuple[Variable, ...]:
    """Numbers on [0, 100] with cut points at every 5, and categories."""
    names = [*SHAPES, *(f"noise{j}" for j in range(len(SHAPES), NUMBERS))]
    cuts = np.arange(5, 100, 5).tolist()
    return (
        *(numeric(name, 0, HIGHEST, cuts) for name in names),
        *(Variable(f"category{k}", LEVELS) for k in range(CATEGORIES)),
    )


def quantiles(uniform: FloatArray, place: int) -> FloatArray:
    """Values of a variable for ranks in (0, 1): uniform ones, or skewed ones, with few high values.

    The tail and every third noise variable are skewed: a value above 80 has a chance of 2 percent.
    """
    skewed = place == list(SHAPES).index("tail") or (place >= len(SHAPES) and place % 3 == 0)
    return HIGHEST * (1 - (1 - uniform) ** SKEW if skewed else uniform)


def level_of(uniform: FloatArray) -> FloatArray:
    """The level of a category for ranks in (0, 1)."""
    return np.searchsorted(np.cumsum(FREQUENCY)[:-1], uniform, side="right").astype(np.float64)


def true_curve(place: int, column: FloatArray) -> FloatArray:
    """The effect of a variable on the log-odds."""
    if place >= NUMBERS:
        return np.array(EFFECTS[place - NUMBERS])[column.astype(int)]
    shapes = list(SHAPES.values())
    return shapes[place](column) if place < len(shapes) else np.zeros(len(column))


def true_margin(X: FloatArray) -> FloatArray:
    """The log-odds of rows."""
    return INTERCEPT + sum(true_curve(j, X[:, j]) for j in TRUTH)


def grid(points: int = 2_000) -> FloatArray:
    """Each variable at equally spaced ranks, so that plain means over rows are means over its distribution."""
    ranks = (np.arange(points) + 0.5) / points
    return np.column_stack(
        [*(quantiles(ranks, j) for j in range(NUMBERS)), *(level_of(ranks) for _ in range(CATEGORIES))]
    )


def simulate(rows: int, seed: int) -> Table:
    """A table of the additive logistic model; numbers are correlated, those without effect with the others too."""
    rng = np.random.default_rng([rows, seed])
    total = rows + TEST_ROWS
    normal = np.sqrt(1 - CORRELATION) * rng.standard_normal((total, NUMBERS))
    ranks = ndtr(normal + np.sqrt(CORRELATION) * rng.standard_normal((total, 1)))
    columns = [quantiles(ranks[:, j], j) for j in range(NUMBERS)]
    columns += [level_of(rng.random(total)) for _ in range(CATEGORIES)]
    X = np.column_stack(columns)
    y = (rng.random(total) < expit(true_margin(X))).astype(np.int64)
    return Table(shape_variables(), X[:rows], y[:rows], X[rows:], y[rows:])
