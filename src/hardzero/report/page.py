"""The report page: one HTML file with its style, its charts and its data."""

from __future__ import annotations

import os
from collections.abc import Sized
from functools import cache
from typing import Any

from ..atomic import write_atomically
from ..checks import require
from ..model import FittedModel
from ..model.curves import Curve, count_variables, curves_of, has_variables
from ..model.plain_text import shown
from ..model.presentation import INTERVAL, NOISE, compared_with, contrasts, how_sure, outputs_of, reliable_of
from . import chart, pictures, privacy, wording
from .rerun import snippet

_SHORT_LIST = 12
_MOST_NAMES = 2000
_PALETTE = 6
_SHAPES = {
    "line": "a straight line",
    "steps": "steps",
    "categories": "a bar for each category",
    "parts": "a bar for each of its features, over the bounds",
}


def render_report(model: FittedModel, *, title: str | None = None) -> str:
    """Return the report as an HTML page that needs no network, no fonts and no scripts.

    Parameters
    ----------
    model : FittedModel
        What to report.
    title : str, optional
        The page's heading; by default what the model predicts.

    Returns
    -------
    str
        The page, with the whole model embedded as JSON in the element ``hardzero-model``.

    Privacy
    -------
    Post-processing.
    """
    outputs = outputs_of(model)
    curves = curves_of(model) if has_variables(model) else ()
    panels = pictures.draw(curves, as_odds=model.is_classifier) if curves else None
    releases = privacy.releases(model.privacy)
    names = _dropped(model, by_column=bool(curves))
    shares = [release.share for release in releases if release.share is not None]
    return str(
        _template().render(
            model=model,
            statement=model.privacy,
            title=title or _title(model),
            headline=_headline(model, curves),
            stamp=privacy.stamp(model.privacy),
            outputs=[(output, chart.draw(output.leading, as_odds=model.is_classifier)) for output in outputs],
            panels=panels,
            kept=_counts(model, curves),
            scale=panels and panels.scale,
            pictures=pictures,
            shapes=_SHAPES,
            how_sure=" ".join(how_sure(model)),
            how_sure_by_variable=" ".join(how_sure(model, by_variable=True)),
            compared_with=compared_with([curve for row in curves for curve in row]),
            interval_head=INTERVAL,
            noise=NOISE,
            has_units=any(effect.unit for output in outputs for effect in output.effects),
            dropped=names[:_MOST_NAMES],
            dropped_count=len(names),
            short_list=_SHORT_LIST,
            most_bars=chart.MOST_BARS,
            releases=releases,
            has_shift=any(event.cost.shift > 0 for event in model.privacy.events),
            slices=chart.slices(shares),
            palette=_PALETTE,
            privacy=privacy,
            wording=wording,
            snippet=snippet(model),
            embedded=_for_script(model.to_json()),
        )
    )


def ready() -> None:
    """Raise an error now if a report could not be made later, for want of a package.

    Privacy
    -------
    Data-independent.
    """
    _template()


def write_report(
    model: FittedModel, path: str | os.PathLike[str], overwrite: bool = False, *, title: str | None = None
) -> None:
    """Write the report, completely or not at all.

    Parameters
    ----------
    model : FittedModel
        What to report.
    path : path
        The HTML file.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    title : str, optional
        The page's heading.

    Privacy
    -------
    Post-processing.
    """
    write_atomically(path, render_report(model, title=title), overwrite=overwrite)


@cache
def _template() -> Any:
    return environment().get_template("report.html.j2")


def environment() -> Any:
    """Return how templates are read: everything escaped, nothing unknown."""
    jinja2 = require("jinja2", "report")
    return jinja2.Environment(
        loader=jinja2.PackageLoader("hardzero.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: Any) -> Any:
    """HTML has no way to write control characters; a name that holds one shows an escape."""
    return shown(value, keep="\n\t") if type(value) is str else value  # what is marked as HTML stays as it is


def _for_script(text: str) -> str:
    """JSON in which nothing can end or open an element; it means the same."""
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _dropped(model: FittedModel, *, by_column: bool) -> list[str]:
    """Return features without a weight, or columns of which no feature has one."""
    features = model.features
    every = [feature.column if by_column else feature.name for feature in features]
    kept = {every[j] for j in model.kept.tolist()}
    return [name for name in (dict.fromkeys(every) if by_column else every) if name not in kept]


def _counts(model: FittedModel, curves: tuple[tuple[Curve, ...], ...]) -> tuple[int, int, str]:
    """Return how many features or variables were kept, of how many, and what they are."""
    if not curves:
        return len(model.kept), len(model.features), "feature"
    return len({curve.name for row in curves for curve in row}), count_variables(model), "variable"


def _title(model: FittedModel) -> str:
    if model.schema is not None:
        return f"Model of {model.schema.target.name}"
    if not model.is_classifier:
        return "Linear model of a number"
    if len(model.classes) == 2:
        return f"Model of {contrasts(model.classes)[0]}"
    return f"Model of {len(model.classes)} classes"


def _headline(model: FittedModel, curves: tuple[tuple[Curve, ...], ...]) -> str:
    """Say in one sentence what the model does, from what, and under which guarantee."""
    if not model.is_classifier:
        what = "predicts a number"
    elif model.schema is not None and len(model.classes) == 2:
        what = f"predicts whether {model.schema.target.name} is {model.positive}"
    elif len(model.classes) == 2:
        what = f"tells {model.classes[1]} from {model.classes[0]}"
    else:
        what = f"tells {len(model.classes)} classes apart"
    count, total, what_kept = _counts(model, curves)
    reliable: Sized | None = model.reliable
    if reliable is not None and curves:
        reliable = {curve.name for row in curves for curve in row if curve.reliable}
    used = f"{count:,} of {wording.counted(total, what_kept)}{reliable_of(reliable)}"
    if not model.privacy.is_private:
        return f"This model {what} using {used}, and is not private."
    weak = " weak" if model.privacy.weaknesses else ""
    return (
        f"This model {what} using {used}, and was fitted with{weak} {privacy.guarantee(model.privacy)} "
        "for each record."
    )
