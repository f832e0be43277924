"""What an evaluation released: figures with intervals, curves, the counts behind them, and the privacy statement.

`hardzero.evaluation` makes it; the file is JSON and read as strictly as a model file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from ..atomic import write_atomically
from ..version import __version__
from .fields import Field, ModelFileError, parse
from .file import FittedModel
from .plain_text import shown
from .reader import read_labels
from .source import Label
from .statement import PrivacyStatement
from .statement_json import statement_from_field, statement_to_dict

CLIP = 0.005
"""Log losses are those of probabilities within this distance from 0 and 1 at least."""

FORMAT, VERSION = "hardzero-evaluation", 2
_STATEMENT_VERSIONS = {1: 5, 2: 6}  # of model files, whose statements are the same
TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "log_loss": "log loss",
    "brier": "Brier score",
}
"""Metrics in words, in the order in which they are shown."""


class Figure(NamedTuple):
    """A value with its 95 % interval; the value is None where noise leaves nothing of it."""

    value: float | None
    low: float
    high: float

    def __str__(self) -> str:
        value = "?" if self.value is None else f"{self.value:.3f}"
        return f"{value} ({self.low:.3f} to {self.high:.3f})"


class Threshold(NamedTuple):
    """A point of the ROC curve: shares of the first and of the second class above a probability."""

    probability: float
    false_positives: Figure
    true_positives: Figure


class Reliability(NamedTuple):
    """A bin of the calibration curve: probabilities from low to high, and how many of its rows are of the class."""

    low: float
    high: float
    predicted: float
    observed: Figure


@dataclass(frozen=True, repr=False)
class EvaluationStatement(PrivacyStatement):
    """What an evaluation guarantees for the rows that it looked at.

    Privacy
    -------
    Post-processing: made from the plan alone.
    """

    _released: ClassVar[str] = "this evaluation"
    _made_by: ClassVar[str] = "this evaluation"


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How good a model is on rows of a table. Printing it gives the figures and the privacy statement.

    Every interval holds its true value with 95 % probability: the value for all rows that could be drawn from where
    these come from, with chance among rows and noise both allowed for.

    Attributes
    ----------
    fingerprint : str
        What tells the model from others.
    classes : tuple
        The model's classes; of two, the second is the positive one.
    metrics : mapping of str to Figure
        ``accuracy``, ``balanced_accuracy``, ``auc`` (two classes only), ``log_loss`` (of probabilities clipped to
        0.005 and 0.995) and ``brier`` (the mean square of 1 minus the probability of the true class).
    confusion : tuple of tuples of Figure
        Shares of all rows, a line for each true class, by predicted class.
    roc : tuple of Threshold
        Points of the ROC curve, from high thresholds to low ones; empty for more than two classes.
    calibration : tuple of Reliability
        Observed shares of the second class by predicted probability; empty for more than two classes.
    counts : mapping of str to lists of float
        What was released: ``by_class``, rows of each class by bin; or ``confusion`` and ``true_class``.
    edges : tuple of float
        Probabilities between the bins.
    noise : float
        Standard deviation of the noise of each count, in rows, or in persons.
    privacy : EvaluationStatement
        What was guaranteed, and what it cost.
    hardzero_version : str
        Version of the library that made it.

    Privacy
    -------
    Post-processing of noisy counts.
    """

    fingerprint: str
    classes: tuple[Label, ...]
    metrics: Mapping[str, Figure]
    confusion: tuple[tuple[Figure, ...], ...]
    roc: tuple[Threshold, ...]
    calibration: tuple[Reliability, ...]
    counts: Mapping[str, Any]
    edges: tuple[float, ...]
    noise: float
    privacy: EvaluationStatement
    hardzero_version: str = __version__

    def __repr__(self) -> str:
        lines = [f"{TITLES[name]:26}{figure}" for name, figure in self.metrics.items()]
        each = "" if self.privacy.unit == "row" else ", each person's together counting as one,"
        lines += ["", f"share of rows{each} by true class (lines) and prediction"]
        labels = [shown(label) for label in self.classes]
        widest = max(map(len, labels))
        rows = [("", labels), *zip(labels, self.confusion, strict=True)]
        lines += [" ".join([label.ljust(widest), *(f"{cell!s:>24}" for cell in cells)]) for label, cells in rows]
        return "\n".join([*lines, "", repr(self.privacy)])

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as JSON values.

        Privacy
        -------
        Post-processing.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "hardzero": self.hardzero_version,
            "fingerprint": self.fingerprint,
            "classes": list(self.classes),
            "metrics": {name: figure._asdict() for name, figure in self.metrics.items()},
            "confusion": [[figure._asdict() for figure in line] for line in self.confusion],
            "roc": [_plain(point) for point in self.roc],
            "calibration": [_plain(point) for point in self.calibration],
            "counts": dict(self.counts),
            "edges": list(self.edges),
            "noise": self.noise,
            "privacy": statement_to_dict(self.privacy),
        }

    def to_json(self) -> str:
        """Return the evaluation as JSON text.

        Privacy
        -------
        Post-processing.
        """
        lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in self.to_dict().items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Check and read JSON text.

        Privacy
        -------
        Post-processing.
        """
        entries = _entries(parse(text, "an evaluation file"))
        classes = read_labels(entries["classes"])
        if len(classes) < 2:
            entries["classes"].fail("must hold two labels or more")
        metrics = {name: _figure(part) for name, part in entries["metrics"].entries().items()}
        if unknown := [name for name in metrics if name not in TITLES]:
            entries["metrics"].fail(f"holds {unknown[0]!r}, which is no metric")
        confusion = tuple(tuple(_figure(cell) for cell in line.items()) for line in entries["confusion"].items())
        if [len(line) for line in confusion] != [len(classes)] * len(classes):
            entries["confusion"].fail("must have a line and a column for each class")
        return cls(
            entries["fingerprint"].text(),
            classes,
            metrics,
            confusion,
            tuple(_threshold(point) for point in entries["roc"].items()),
            tuple(_reliability(point) for point in entries["calibration"].items()),
            {name: part.plain() for name, part in entries["counts"].entries().items()},
            tuple(entries["edges"].numbers()),
            entries["noise"].number(),
            EvaluationStatement(
                **vars(statement_from_field(entries["privacy"], _STATEMENT_VERSIONS[entries["version"].whole(1)]))
            ),
            entries["hardzero"].text(),
        )

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the evaluation as a JSON file, completely or not at all.

        Privacy
        -------
        Post-processing.
        """
        write_atomically(path, self.to_json(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the file of an evaluation; nothing in it is executed.

        Privacy
        -------
        Post-processing.
        """
        try:
            return cls.from_json(Path(path).read_bytes().decode())
        except UnicodeDecodeError:
            raise ModelFileError(f"{path}: not an evaluation file: it is not UTF-8 text") from None
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None


def fingerprint_of(model: FittedModel) -> str:
    """Return what tells a model from others: a digest of its classes, the names of its features and its weights.

    Privacy
    -------
    Post-processing.
    """
    names = [feature.name for feature in model.features]
    parts = [list(model.classes), names, model.coef_scaled, model.intercept_scaled]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _plain(point: Threshold | Reliability) -> dict[str, Any]:
    return {name: part._asdict() if isinstance(part, Figure) else part for name, part in point._asdict().items()}


def _entries(field: Field) -> dict[str, Field]:
    """Look at format and version first: of a file from elsewhere nothing else needs to be said."""
    entries = field.entries()
    if "format" not in entries or entries["format"].value != FORMAT:
        field.fail(f"is not an evaluation file: its format is not {FORMAT!r}")
    if "version" not in entries or entries["version"].value not in tuple(_STATEMENT_VERSIONS):
        field.fail(f"has another version than 1 to {VERSION}, those that this hardzero reads")
    keys = (
        "fingerprint",
        "classes",
        "metrics",
        "confusion",
        "roc",
        "calibration",
        "counts",
        "edges",
        "noise",
        "privacy",
    )
    return field.object(("format", "version", "hardzero", *keys))


def _figure(field: Field) -> Figure:
    entries = field.object(Figure._fields)
    figure = Figure(entries["value"].number_or_none(), entries["low"].number(), entries["high"].number())
    if not figure.low <= (figure.low if figure.value is None else figure.value) <= figure.high:
        field.fail("must have its value between low and high")
    return figure


def _threshold(field: Field) -> Threshold:
    entries = field.object(Threshold._fields)
    figures: Sequence[Figure] = [_figure(entries[name]) for name in Threshold._fields[1:]]
    return Threshold(entries["probability"].number(), *figures)


def _reliability(field: Field) -> Reliability:
    entries = field.object(Reliability._fields)
    low, high, predicted = (entries[name].number() for name in Reliability._fields[:3])
    return Reliability(low, high, predicted, _figure(entries["observed"]))
