"""Cut points of a number: listed, or spread over its public bounds. Nothing is learnt from the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from . import fields
from .fields import Path, SchemaError, plain_number

Spacing = Literal["even", "log"]
"""How cut points are spread: evenly, or evenly on a log scale above the lower bound, for money and the like."""

MOST_CUTS = 1_000
"""Cut points of one column at most."""

_NARROW = 2.0
"""Whole bounds no further apart say nothing of whole values: shares lie in [0, 1], correlations in [-1, 1]."""

_DECIMALS = 6  # beyond these a power that should be a whole number is one, and is not rounded up to the next


def spread_cuts(lower: float, upper: float, count: int, spacing: Spacing = "even") -> tuple[float, ...]:
    """Return at most ``count`` cut points above ``lower`` and up to ``upper``, in ascending order.

    Between whole bounds they are rounded up to whole numbers, and repeated ones are left out, so that a variable with
    few whole values has one cut point for each; else they are rounded to a few digits.

    Parameters
    ----------
    lower, upper : float
        The public bounds of the variable.
    count : int
        How many cut points.
    spacing : {"even", "log"}, default="even"
        Whether they are spread evenly, or ever wider apart from the lower bound on.

    Privacy
    -------
    Data-independent.

    Examples
    --------
    >>> spread_cuts(0, 100, 4), spread_cuts(1, 4, 100), spread_cuts(0, 1, 3)
    ((20.0, 40.0, 60.0, 80.0), (2.0, 3.0, 4.0), (0.25, 0.5, 0.75))
    >>> spread_cuts(0, 9999, 3, "log")
    (9.0, 99.0, 999.0)
    """
    width, parts = upper - lower, count + 1
    if spacing == "log":
        places = [lower + math.expm1(k / parts * math.log1p(width)) for k in range(1, parts)]
    else:
        places = [lower + width * k / parts for k in range(1, parts)]  # exact where the result is a whole number
    if lower == int(lower) and upper == int(upper) and width > _NARROW:
        places = [float(math.ceil(round(place, _DECIMALS))) for place in places]
    else:
        places = _readable(places, lower, upper)
    return tuple(sorted({place for place in places if lower < place <= upper})) or (float(upper),)


def _readable(places: Sequence[float], lower: float, upper: float) -> list[float]:
    """Round each place by at most a twentieth of the distance to its nearest neighbour."""
    gaps = [right - left for left, right in pairwise([lower, *places, upper])]
    return [
        round(place, 1 - math.floor(math.log10(gap))) if gap > 0 else place
        for place, gap in zip(places, map(min, pairwise(gaps)), strict=True)
    ]


def parse_cuts(entry: dict[str, Any], lower: float, upper: float, path: Path) -> tuple[float, ...]:
    """Return the cut points that the entry of a column lists or asks for; else none."""
    _, cuts = fields.all_of(
        (lambda: _check_spacing(entry, (*path, "spacing")), lambda: _listed_or_spread(entry, lower, upper, path))
    )
    return tuple(cuts)


def _check_spacing(entry: dict[str, Any], place: Path) -> None:
    if entry.get("spacing") is not None:
        fields.choice(entry["spacing"], place, get_args(Spacing))
        if not isinstance(entry.get("cuts"), int):
            raise SchemaError("goes with a number of cut points; write cuts = 16, or remove it", place)


def _listed_or_spread(entry: dict[str, Any], lower: float, upper: float, path: Path) -> tuple[float, ...]:
    place = (*path, "cuts")
    match entry.get("cuts"):
        case None:
            return ()
        case list(listed):
            if not listed:
                raise SchemaError("is empty; list the cut points, or leave it out", place)
            cuts = tuple(fields.items(lambda cut: fields.number(cut, place, "next"), listed, place))
            check_cuts(cuts, lower, upper, place)
            return cuts
        case int(count) if not isinstance(count, bool):
            if not 1 <= count <= MOST_CUTS:
                raise SchemaError(f"must be from 1 to {MOST_CUTS:,}; without cut points leave it out", place)
            return spread_cuts(lower, upper, count, entry.get("spacing") or "even")
    raise SchemaError("must be a list of numbers, such as [20, 30, 45], or how many, such as 16", place)


def parse_quantiles(entry: dict[str, Any], path: Path) -> int:
    """Return how many of the cut points take part, those nearest to released quantiles; 0 for all of them."""
    place = (*path, "quantiles")
    match entry.get("quantiles"):
        case None:
            return 0
        case int(count) if not isinstance(count, bool) and 1 <= count <= MOST_CUTS:
            if entry.get("cuts") is None:
                raise SchemaError("chooses among cut points; add cuts = 127, or remove it", place)
            return count
    raise SchemaError(f"must be a whole number from 1 to {MOST_CUTS:,}", place)


def check_cuts(cuts: Sequence[float], lower: float, upper: float, place: Path) -> None:
    """Refuse cut points that are too many, outside the bounds, or not in ascending order."""
    if len(cuts) > MOST_CUTS:
        raise SchemaError(f"lists {len(cuts):,} cut points; a column can have {MOST_CUTS:,}", place)
    problems = [
        f"lists {plain_number(cut)}, outside the bounds; a cut point lies above lower, {plain_number(lower)}, "
        f"and at most at upper, {plain_number(upper)}"
        for cut in cuts
        if not lower < cut <= upper
    ]
    for left, right in pairwise(cuts):
        if left == right:
            problems.append(f"lists {plain_number(left)} more than once; remove the repetition")
        if left > right:
            problems.append(f"lists {plain_number(left)} before {plain_number(right)}; put them in ascending order")
    if problems:
        raise fields.together([SchemaError(problem, place) for problem in problems])
