"""What a fit will be worth: forecasts, what is needed for an effect, and pictures of utility."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import checks
from ...checks import InputError
from ...data.bounded import MAX_ROWS
from ...evaluation.planner import NEEDED_REPEATS, REPEATS, needed_epsilon, needed_rows, plan
from ...evaluation.planner_forecast import Forecast
from ...evaluation.planner_picture import utility_page, utility_picture
from ...evaluation.planner_worlds import MOST_FEATURES
from ...schema.file import load_schema

_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""A picture shows these multiples of ε."""
_PICTURED_REPEATS = 30
_DRAWN_BY = {".svg": utility_picture, ".html": utility_page}


@dataclass(frozen=True)
class Request:
    """What was asked: the size of the table, ε, and all that `plan` takes besides."""

    rows: int
    epsilon: float
    others: dict[str, Any]
    repeats: int | None


def stated_table(features: int | None, schema_path: Path | None, *, steps: bool) -> dict[str, Any]:
    """Return what is known of the table's columns, from either option.

    Privacy
    -------
    Data-independent.
    """
    if (features is None) == (schema_path is None):
        raise InputError("say how many features there are with --features, or which with --schema; not both")
    if schema_path is None:
        return {"n_features": checks.whole_within("--features", features, 2, MOST_FEATURES)}
    schema = load_schema(schema_path)
    return {"schema": schema.with_steps() if steps else schema}


def refuse_misuse(rows: int, find_effect: float | None, share: float | None, picture: Path | None) -> None:
    """Refuse a table that is too large, and options that do not go together, before anything is rehearsed.

    Privacy
    -------
    Data-independent.
    """
    checks.whole_within("--rows", rows, 1, MAX_ROWS)
    if share is not None and find_effect is None:
        raise InputError("--share goes with --find-effect, which says how strong the category's effect is")
    if picture is not None and find_effect is not None:
        raise InputError("--picture shows utility against ε; leave it out, or --find-effect")
    if picture is not None and picture.suffix not in _DRAWN_BY:
        raise InputError(f"--picture {picture}: name a file that ends in .svg or .html")


def forecast(request: Request) -> Forecast:
    """Return what the fit will be worth.

    Privacy
    -------
    Data-independent.
    """
    return _planned(request, request.epsilon, request.repeats or REPEATS)


def pictured(request: Request, path: Path) -> tuple[Forecast, str]:
    """Return the forecast, and a picture or page of it beside those for other ε.

    Privacy
    -------
    Data-independent.
    """
    repeats = request.repeats or _PICTURED_REPEATS
    forecasts = [
        forecast(request) if factor == 1 else _planned(request, factor * request.epsilon, repeats)
        for factor in _FACTORS
    ]
    return forecasts[_FACTORS.index(1)], _DRAWN_BY[path.suffix](forecasts)


def _planned(request: Request, epsilon: float, repeats: int) -> Forecast:
    return plan(request.rows, epsilon=epsilon, repeats=repeats, **request.others)


def needs(request: Request, odds_ratio: float, share: float | None) -> dict[str, Any]:
    """Return the ε that an effect needs with these rows, and the rows that it needs with this ε.

    Privacy
    -------
    Data-independent.
    """
    wanted: dict[str, Any] = {"odds_ratio": odds_ratio, "share": share, "repeats": request.repeats or NEEDED_REPEATS}
    return {
        "odds_ratio": odds_ratio,
        "share": share,
        "rows": request.rows,
        "epsilon": request.epsilon,
        "needed_epsilon": needed_epsilon(request.rows, **request.others, **wanted),
        "needed_rows": needed_rows(epsilon=request.epsilon, **request.others, **wanted),
    }


def needs_in_words(needs: dict[str, Any]) -> str:
    """Return the same in words.

    Privacy
    -------
    Data-independent.
    """
    share, epsilon, rows = needs["share"], needs["needed_epsilon"], needs["needed_rows"]
    what = (
        "of a number, from lower to upper bound"
        if share is None
        else f"of a category of {100 * share:g} % of the rows"
    )
    return "\n".join(
        [
            f"To find an odds ratio of {needs['odds_ratio']:g} {what}, with probability 0.9:",
            f"  with {needs['rows']:,} rows: "
            + ("no ε up to 50 is enough" if epsilon is None else f"epsilon = {epsilon:.2g}"),
            f"  with epsilon = {needs['epsilon']:g}: "
            + ("no table that can be fitted has enough rows" if rows is None else f"about {_rounded(rows):,} rows"),
        ]
    )


def _rounded(count: int) -> int:
    """Two digits, rounded up."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // unit) * unit


def as_json(values: dict[str, Any]) -> str:
    """Return values as one line of JSON.

    Privacy
    -------
    Data-independent.
    """
    return json.dumps(values)
