"""The model file: JSON with released and public values only, and prediction from it without the training data.

Loading executes nothing. A file is read strictly: unknown or missing fields, wrong types, numbers that are not
finite and parts that contradict each other are errors that name the field.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..atomic import write_atomically
from ..data.bounded import FloatArray
from ..schema.columns import Feature, Schema
from ..version import __version__
from .fields import ModelFileError, parse
from .inference import Inference
from .inference_json import inference_to_dict
from .matrix import matrix_of
from .prediction import LinearPredictions, linear_margins
from .reader import FORMAT, VERSION, read_parts
from .source import Label, parts_of
from .statement import PrivacyStatement
from .statement_json import statement_to_dict


@dataclass(frozen=True)
class FittedModel(LinearPredictions):
    """A fitted linear model, as much of it as was released.

    With a schema it predicts from the matrix that `encode` makes of a table, else from features in their own units.

    Attributes
    ----------
    method : str
        Name of the estimator's class.
    parameters : mapping
        The estimator's parameters, except bounds and classes, which stand below, and the seed of a seeded fit:
        whoever knows it can subtract the noise.
    classes : tuple of str, int, float or bool
        Labels in the order of the probabilities; of two, the second is the positive one. Empty for a regression.
    features : tuple of Feature
        All features, kept or not, in the order of the matrix.
    bounds : tuple of pairs
        Public lower and upper bound of each feature, in its own unit.
    coef_scaled, intercept_scaled : tuple
        Weights of the features scaled to [-1, 1], one row for two classes or a regression, else one for each class.
    privacy : PrivacyStatement
        What was guaranteed.
    schema : Schema or None
        How a table becomes the matrix; without it the matrix is in the features' own units.
    hardzero_version : str
        Version of the library that fitted the model.
    inference_scaled : Inference or None
        How sure each of ``coef_scaled`` is; None where the method cannot tell, and in files of versions 1 and 2.

    Privacy
    -------
    Post-processing: nothing but released weights and public values.
    """

    method: str
    parameters: Mapping[str, Any]
    classes: tuple[Label, ...]
    features: tuple[Feature, ...]
    bounds: tuple[tuple[float, float], ...]
    coef_scaled: tuple[tuple[float, ...], ...]
    intercept_scaled: tuple[float, ...]
    privacy: PrivacyStatement
    schema: Schema | None = None
    hardzero_version: str = __version__
    inference_scaled: Inference | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        schema: Schema | None = None,
        feature_names: Sequence[str] | None = None,
        assumed_public: Sequence[str] = (),
    ) -> Self:
        """Take what a fitted estimator released.

        Parameters
        ----------
        estimator : estimator of hardzero
            Fitted; with a schema, on the matrix that its encoder makes.
        schema : Schema, optional
            Gives features their names, units and scales, and says which class is the positive one.
        feature_names : sequence of str, optional
            Names for columns that had none when fitting; not together with a schema.
        assumed_public : sequence of str, optional
            What else the guarantee takes for known to everyone, such as the schema, for the privacy statement.

        Privacy
        -------
        Post-processing.
        """
        parts = parts_of(estimator, schema, feature_names, assumed_public)
        return cls.from_json(cls(**parts).to_json())  # what cannot be read back must not be written

    @property
    def positive(self) -> Label | None:
        """The class whose odds the weights are about, if there are two."""
        return self.classes[1] if len(self.classes) == 2 else None

    @property
    def is_classifier(self) -> bool:
        """Whether the model predicts classes, not a number."""
        return bool(self.classes)

    @cached_property
    def coef_original(self) -> FloatArray:
        """Weights by the features' own units, one row as in ``coef_scaled``."""
        with np.errstate(over="ignore"):
            return np.asarray(np.array(self.coef_scaled) / self._scale + 0.0)  # never a negative zero

    @cached_property
    def intercept_original(self) -> FloatArray:
        """Intercepts for features in their own units."""
        offset = np.array([feature.offset for feature in self.features])
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.array(self.intercept_scaled) - self.coef_original @ offset + 0.0)

    @cached_property
    def inference_original(self) -> Inference | None:
        """How sure weights by the features' own units are, if the method can tell."""
        return None if self.inference_scaled is None else self.inference_scaled.divided_by(self._scale)

    @property
    def _scale(self) -> FloatArray:
        return np.array([feature.scale for feature in self.features])

    @property
    def kept(self) -> NDArray[np.intp]:
        """Features with a nonzero weight."""
        return np.flatnonzero(np.any(np.array(self.coef_scaled) != 0, axis=0))

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns of a table that predictions need: those with a nonzero weight, and one in any case.

        Without a schema these are features by their names.
        """
        features = [self.features[j] for j in self.kept] or self.features[:1]
        names = (feature.name if self.schema is None else feature.column for feature in features)
        return tuple(dict.fromkeys(names))

    @property
    def reliable(self) -> NDArray[np.intp] | None:
        """Features with a weight that can be told from noise, or None where the method cannot tell."""
        told = self.inference_scaled
        return None if told is None else np.flatnonzero(np.any(told.reliable, axis=0))

    def encode(self, table: Any) -> Any:
        """Return the matrix that this model predicts from a table, by its schema.

        Features of columns that predictions do not need are 0 in it.

        Parameters
        ----------
        table : table
            Must have the columns in ``needed``: pyarrow, pandas, polars, or a dictionary of columns.

        Returns
        -------
        scipy.sparse.csr_array of float64
            One row for each row of the table.

        Raises
        ------
        ModelFileError
            The model has no schema.
        EncodingError
            A needed column is not there, or has a missing value and the schema's policy is not "zero".

        Privacy
        -------
        Sensitive for the people in the table.
        """
        if self.schema is None:
            raise ModelFileError("the model has no schema; predict its features in their own units")
        from ..schema.encoder import SchemaEncoder  # noqa: PLC0415 - needs scikit-learn, which reading a model does not

        return SchemaEncoder(self.schema).encode(table, target=False, columns=self.needed).complete()

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes``.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        if not self.is_classifier:
            raise TypeError(f"{self.method} predicts a number; it has no probabilities of classes")
        return super().predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Return the likeliest class of each row, or the number that a regression expects.

        Privacy
        -------
        Post-processing, as far as the training data are concerned.
        """
        if not self.is_classifier:
            return self.decision_function(X)
        return np.array(self.classes)[self.predict_proba(X).argmax(axis=1)]

    def _margins(self, X: Any) -> FloatArray:
        names = [feature.name for feature in self.features]
        matrix = matrix_of(X, names, encoded=self.schema is not None)
        if self.schema is None:
            return linear_margins(matrix, self.coef_original, self.intercept_original)
        return linear_margins(matrix, np.array(self.coef_scaled), np.array(self.intercept_scaled))

    def to_json(self) -> str:
        """Return the model as JSON text, one feature a line.

        Privacy
        -------
        Post-processing.
        """
        values = {
            "format": FORMAT,
            "version": VERSION,
            "hardzero": self.hardzero_version,
            "method": self.method,
            "parameters": dict(self.parameters),
            "classes": list(self.classes),
            "positive": self.positive,
            "features": [
                {**vars(feature), "lower": lower, "upper": upper}
                for feature, (lower, upper) in zip(self.features, self.bounds, strict=True)
            ],
            "coefficients": {
                "scaled": {
                    "weights": (np.array(self.coef_scaled) + 0.0).tolist(),
                    "intercepts": (np.array(self.intercept_scaled) + 0.0).tolist(),
                },
                "original": {"weights": self.coef_original.tolist(), "intercepts": self.intercept_original.tolist()},
            },
            "inference": inference_to_dict(self.inference_scaled, self._scale),
            "schema": None if self.schema is None else self.schema.to_dict(),
            "privacy": statement_to_dict(self.privacy),
        }
        try:
            lines = [f"{json.dumps(key)}: {_one_item_a_line(value)}" for key, value in values.items()]
        except ValueError:
            raise ModelFileError("the model holds a number that is not finite; use other units or bounds") from None
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Check and read JSON text.

        Privacy
        -------
        Post-processing.
        """
        try:
            model = cls(**read_parts(parse(text)))
        except RecursionError:
            raise ModelFileError("not a model file: it is nested too deeply") from None
        return model

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the model file, completely or not at all.

        Privacy
        -------
        Post-processing.
        """
        write_atomically(path, self.to_json(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file; nothing in it is executed.

        Privacy
        -------
        Post-processing.
        """
        try:
            text = Path(path).read_bytes().decode()
        except UnicodeDecodeError:
            raise ModelFileError(f"{path}: not a model file: it is not UTF-8 text") from None
        try:
            return cls.from_json(text)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None


def _one_item_a_line(value: Any) -> str:
    """Lists of objects become readable and comparable line by line; everything else stays on one line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {json.dumps(item, allow_nan=False)}" for item in value) + "\n]"
    return json.dumps(value, allow_nan=False)
