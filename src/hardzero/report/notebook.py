"""A fitted estimator as a small piece of HTML, for notebooks. Needs the standard library only."""

from __future__ import annotations

from html import escape

from ..model import FittedModel
from ..model.plain_text import shown
from ..model.presentation import Output, effect_heads, outputs_of
from . import privacy, wording

_MOST_ROWS = 15
_CELL = "text-align:right;padding:.15em .7em"
_AMBER = "background:#fff3d9;color:#7a4a00;border:1px solid #7a4a00;border-radius:.3em;padding:.4em .7em"
_NAME = "text-align:left;padding:.15em .7em .15em 0"


def fragment(model: FittedModel) -> str:
    """Return the largest weights and the guarantee as HTML in the notebook's own colours.

    Privacy
    -------
    Post-processing.
    """
    why = privacy.stamp(model.privacy)
    promise = f"<strong>NOT PRIVATE.</strong> {escape(why)}" if why else escape(_promise(model))
    tables = "".join(_table(model, output) for output in outputs_of(model))
    return (
        f'<div class="hardzero-model"><p><strong>{_text(model.method)}</strong>: '
        f"{len(model.kept):,} of {wording.counted(len(model.features), 'feature')} kept</p>"
        f"{tables}<p>{promise}</p>{_weak(model)}</div>"
    )


def _text(name: str) -> str:
    return escape(shown(name))


def _weak(model: FittedModel) -> str:
    """In colours of its own, because a notebook's may be light or dark."""
    reasons = " ".join(escape(reason) for reason in model.privacy.weaknesses)
    return f'<p style="{_AMBER}"><strong>Differentially private, weakly.</strong> {reasons}</p>' if reasons else ""


def _promise(model: FittedModel) -> str:
    return f"{privacy.guarantee(model.privacy)}, {model.privacy.neighbours.value} neighbours"


def _table(model: FittedModel, output: Output) -> str:
    head = "".join(f'<th scope="col" style="{_CELL}">{text}</th>' for text in ("weight", *effect_heads(model)))
    rows = []
    for effect in output.effects[:_MOST_ROWS]:
        if model.is_classifier:
            cells = [wording.ratio(effect.weight), wording.ratio(effect.change)]
        else:
            cells = [wording.signed(effect.change)]
        numbers = "".join(
            f'<td style="{_CELL}">{escape(text)}</td>' for text in [wording.signed(effect.weight), *cells]
        )
        rows.append(f'<tr><th scope="row" style="{_NAME}"><bdi>{_text(effect.name)}</bdi></th>{numbers}</tr>')
    rest = len(output.effects) - _MOST_ROWS
    more = f"<p>and {wording.counted(rest, 'smaller effect')}; summary() shows all</p>" if rest > 0 else ""
    return (
        '<table style="border-collapse:collapse;margin:.6em 0">'
        f'<caption style="text-align:left">{_text(output.label)}, '
        f"intercept {wording.signed(output.intercept)}</caption>"
        f'<thead><tr><th scope="col" style="{_NAME}">feature</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{more}"
    )
