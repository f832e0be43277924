"""A fitted estimator as a small piece of HTML, for notebooks. Needs the standard library only."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from functools import partial
from html import escape

from ..model import FittedModel
from ..model.curves import Curve, count_variables, curves_of, has_variables
from ..model.inference import Ends
from ..model.plain_text import shown
from ..model.presentation import NOISE, Effect, Output, compared_with, effect_heads, how_sure, outputs_of, reliable_of
from . import privacy, wording

_MOST_ROWS = 15
_MOST_VARIABLES = 8
_CELL = "text-align:right;padding:.15em .7em"
_AMBER = "background:#fff3d9;color:#7a4a00;border:1px solid #7a4a00;border-radius:.3em;padding:.4em .7em"
_LEVEL = "text-align:left;padding:.1em .7em .1em 1.4em;font-weight:normal"
_NAME = "text-align:left;padding:.15em .7em .15em 0"


def fragment(model: FittedModel) -> str:
    """Return the largest weights and the guarantee as HTML in the notebook's own colours.

    Privacy
    -------
    Post-processing.
    """
    why = privacy.stamp(model.privacy)
    promise = f"<strong>NOT PRIVATE.</strong> {escape(why)}" if why else escape(_promise(model))
    curves = curves_of(model) if has_variables(model) else ()
    if curves:
        tables = "".join(map(partial(_variables, model), outputs_of(model), curves))
        kept = _kept(len({curve.name for row in curves for curve in row}), count_variables(model), "variable")
        reliable: Sized | None = {curve.name for row in curves for curve in row if curve.reliable}
    else:
        tables = "".join(_leading(model, output) + _uncertain(output) for output in outputs_of(model))
        kept, reliable = _kept(len(model.kept), len(model.features), "feature"), model.reliable
    if model.reliable is not None:
        kept += reliable_of(reliable)
    few, weak = model.privacy.too_few_rows, model.privacy.weaknesses
    return (
        f'<div class="hardzero-model" style="overflow-x:auto"><p><strong>{_text(model.method)}</strong>: {kept}</p>'
        f"{_warned('Too few rows:', [few] if few else [])}{tables}{_how_sure(model, bool(curves))}<p>{promise}</p>"
        f"{_warned('Differentially private, weakly.', weak)}</div>"
    )


def _kept(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {wording.counted(total, noun)} kept"


def _variables(model: FittedModel, output: Output, curves: Sequence[Curve]) -> str:
    """The most important variables with their levels, and the names of those that may be chance."""
    leading = [curve for curve in curves if not curve.is_uncertain]
    uncertain = [curve for curve in curves if curve.is_uncertain]
    caption = f"{_text(output.label)}, compared with {compared_with(curves)}"
    rows = [row for curve in leading[:_MOST_VARIABLES] for row in _variable_rows(curve, model.is_classifier)]
    rest = len(leading) - _MOST_VARIABLES
    more = f"<p>and {wording.counted(rest, 'less important variable')}; summary() shows all</p>" if rest > 0 else ""
    head = "odds ratio" if model.is_classifier else "change"
    table = _table(caption, (head,), rows, of="variable") if rows else f"<p>{caption}: no variable is reliable</p>"
    if not uncertain:
        return (table if curves else f"<p>{_text(output.label)}: no variable was kept</p>") + more
    count, names = wording.counted(len(uncertain), "kept variable"), ", ".join(_text(c.name) for c in uncertain)
    return f"{table}{more}<details><summary>{count} {NOISE}</summary><p>{names}</p></details>"


def _variable_rows(curve: Curve, as_odds: bool) -> list[str]:
    written = wording.ratio if as_odds else wording.signed
    unit = f" <small>{_text(curve.unit)}</small>" if curve.unit else ""
    head = f'<tr><th scope="rowgroup" colspan="2" style="{_NAME}"><bdi>{_text(curve.name)}</bdi>{unit}</th></tr>'
    return [
        head,
        *(
            f'<tr><th scope="row" style="{_LEVEL}"><bdi>{_text(level.label)}</bdi></th>'
            f'<td style="{_CELL}">{_cell(written(level.value), level.interval, as_odds=as_odds)}</td></tr>'
            for level in curve.listed
        ),
    ]


def _text(name: str) -> str:
    return escape(shown(name))


def _warned(what: str, reasons: Sequence[str]) -> str:
    """In colours of its own, because a notebook's may be light or dark."""
    text = escape(" ".join(reasons))
    return f'<p style="{_AMBER}"><strong>{what}</strong> {text}</p>' if text else ""


def _promise(model: FittedModel) -> str:
    return f"{privacy.guarantee(model.privacy)}, {model.privacy.neighbours.value} neighbours"


def _how_sure(model: FittedModel, by_variable: bool) -> str:
    meaning = " ".join(map(_text, how_sure(model, by_variable=by_variable)))
    return f"<p>{meaning}</p>" if meaning else ""


def _leading(model: FittedModel, output: Output) -> str:
    caption = f"{_text(output.label)}, intercept {wording.signed(output.intercept)}"
    if output.uncertain and not output.leading:
        return f"<p>{caption}: no feature is reliable</p>"
    rows = [_row(effect, _cells(effect, model.is_classifier)) for effect in output.leading[:_MOST_ROWS]]
    rest = len(output.leading) - _MOST_ROWS
    more = f"<p>and {wording.counted(rest, 'smaller effect')}; summary() shows all</p>" if rest > 0 else ""
    return _table(caption, ("weight", *effect_heads(model)), rows) + more


def _uncertain(output: Output) -> str:
    """Folded: the shorter list of what may be chance."""
    if not output.uncertain:
        return ""
    count = wording.counted(len(output.uncertain), "kept feature")
    rows = [_row(effect, [_weight(effect)]) for effect in output.uncertain]
    return f"<details><summary>{count} {NOISE}</summary>{_table(_text(output.label), ('weight',), rows)}</details>"


def _table(caption: str, heads: Sequence[str], rows: Sequence[str], of: str = "feature") -> str:
    head = "".join(f'<th scope="col" style="{_CELL}">{text}</th>' for text in heads)
    return (
        '<table style="border-collapse:collapse;margin:.6em 0">'
        f'<caption style="text-align:left">{caption}</caption>'
        f'<thead><tr><th scope="col" style="{_NAME}">{of}</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _row(effect: Effect, cells: Sequence[str]) -> str:
    numbers = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return f'<tr><th scope="row" style="{_NAME}"><bdi>{_text(effect.name)}</bdi></th>{numbers}</tr>'


def _cells(effect: Effect, as_odds: bool) -> list[str]:
    if not as_odds:
        return [_weight(effect), _cell(wording.signed(effect.change), effect.change_interval, as_odds=False)]
    per_unit = _cell(wording.ratio(effect.weight), effect.interval, as_odds=True)
    return [_weight(effect), per_unit, _cell(wording.ratio(effect.change), effect.change_interval, as_odds=True)]


def _weight(effect: Effect) -> str:
    return _cell(wording.signed(effect.weight), effect.interval, as_odds=False)


def _cell(number: str, interval: Ends | None, *, as_odds: bool) -> str:
    """A number, and below it its interval where there is one."""
    ends = "" if interval is None else f"<br><small>{escape(wording.ends(interval, as_odds=as_odds))}</small>"
    return escape(number) + ends
