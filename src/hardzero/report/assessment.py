"""How good a model is, laid out: an ROC curve and a calibration curve in squares of 300 by 300."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import FittedModel, ModelFileError
from ..model.evaluation import TITLES, Evaluation, Figure, fingerprint_of
from . import wording

SIDE = 300.0
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_TOO_WIDE = 0.75  # of all that is possible: such an interval says nothing


@dataclass(frozen=True)
class Point:
    """A point of a curve with the ends of its intervals, in the picture's places, and in words."""

    x: float
    y: float
    across: tuple[float, float]
    down: tuple[float, float]
    text: str


def refuse_other(evaluation: Evaluation, model: FittedModel) -> None:
    """Refuse an evaluation of another model.

    Privacy
    -------
    Post-processing.
    """
    if evaluation.fingerprint != fingerprint_of(model):
        raise ModelFileError("the evaluation is of another model; evaluate this one, or report on that one")


def titled(evaluation: Evaluation) -> list[tuple[str, Figure]]:
    """Return the metrics with their names in words."""
    return [(title, evaluation.metrics[name]) for name, title in TITLES.items() if name in evaluation.metrics]


def told(figure: Figure) -> str:
    """Return a figure's value in words."""
    return "–" if figure.value is None else f"{figure.value:.3f}"


def ends(figure: Figure) -> str:
    """Return both ends of an interval in words."""
    return f"{figure.low:.3f} to {figure.high:.3f}"


def x(share: float) -> float:
    """Return where a share lies across."""
    return round(SIDE * share, 2)


def y(share: float) -> float:
    """Return where a share lies, counted from above."""
    return round(SIDE * (1 - share), 2)


def roc(evaluation: Evaluation) -> list[Point]:
    """Return the points of the ROC curve; noise does not make it turn back."""
    points: list[Point] = []
    furthest, highest = 0.0, 0.0
    for at, false, true in evaluation.roc:
        if false.value is None or true.value is None:
            return []
        furthest, highest = max(furthest, false.value), max(highest, true.value)
        text = (
            f"above {wording.percent(at)}: {wording.percent(true.value)} of {evaluation.classes[1]}, "
            f"{wording.percent(false.value)} of {evaluation.classes[0]}"
        )
        points.append(
            Point(x(furthest), y(highest), (x(false.low), x(false.high)), (y(true.high), y(true.low)), text)
        )
    return points


def calibration(evaluation: Evaluation) -> list[Point]:
    """Return the points of the calibration curve, but for those of which noise leaves nothing."""
    return [
        Point(
            x(part.predicted),
            y(part.observed.value),
            (x(part.low), x(part.high)),
            (y(part.observed.high), y(part.observed.low)),
            f"predicted {wording.percent(part.low)} to {wording.percent(part.high)}: "
            f"observed {wording.percent(part.observed.value)} ({ends(part.observed)})",
        )
        for part in evaluation.calibration
        if part.observed.value is not None and part.observed.high - part.observed.low < _TOO_WIDE
    ]
