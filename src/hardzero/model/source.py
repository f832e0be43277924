"""What a fitted estimator has to say for its model file: labels, parameters and columns, as plain values."""

from __future__ import annotations

import dataclasses
import enum
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.bounded import Bounds
from ..schema.columns import Feature, Numeric, Schema
from .composed import with_released_bounds
from .fields import ModelFileError
from .inference import Inference

Label = str | int | float | bool
Pair = tuple[float, float]

_STATED_ELSEWHERE = ("bounds", "classes", "variables", "ledger")
_SECRET = "random_state"  # the name of a parameter; its value lets anyone subtract the noise


def parts_of(
    estimator: Any,
    schema: Schema | None = None,
    feature_names: Sequence[str] | None = None,
    assumed_public: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the parts of a model as a fitted estimator released them; see `FittedModel.from_estimator`.

    Privacy
    -------
    Post-processing.
    """
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "privacy_"):
        raise ModelFileError(f"{type(estimator).__name__} is not a fitted estimator of hardzero; call fit first")
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    classes = labels_of(getattr(estimator, "classes_", ()))
    features, bounds = columns_of(estimator, coef.shape[1], schema, feature_names)
    inference: Inference | None = getattr(estimator, "inference_", None)
    if schema is not None:
        if sorted(map(str, classes)) != sorted(schema.target.classes):
            raise ModelFileError("classes are not those of the schema's target; fit with classes=target.classes")
        if len(classes) == 2 and str(classes[0]) == schema.target.positive:
            classes, coef, intercept = classes[::-1], -coef, -intercept
    else:
        scale = np.array([feature.scale for feature in features])
        coef = coef * scale
        inference = None if inference is None else inference.divided_by(1 / scale)
    if inference is not None and not inference.variables_agree():  # in units beyond what squares of numbers hold
        inference = dataclasses.replace(inference, variables=())
    statement = estimator.privacy_
    if schema is not None and schema.person is not None and statement.unit != "person":
        raise ModelFileError(
            f"the schema says whose row each row is, by the column {schema.person!r}, but the fit protects single "
            "rows; fit with groups=…, what the encoder's encode(…).persons gives"
        )
    return {
        "method": type(estimator).__name__,
        "parameters": parameters_of(estimator),
        "classes": classes,
        "features": features,
        "bounds": bounds,
        "coef_scaled": tuple(tuple(row) for row in coef.tolist()),
        "intercept_scaled": tuple(intercept.tolist()),
        "privacy": with_released_bounds(
            dataclasses.replace(statement, assumed_public=(*statement.assumed_public, *assumed_public)), schema
        ),
        "schema": schema,
        "inference_scaled": inference,
    }


def labels_of(classes: Any) -> tuple[Label, ...]:
    """Return class labels as text, numbers or truth values."""
    return tuple(_plain("classes", label) for label in classes)


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters as JSON values, without the seed."""
    parameters = estimator.get_params(deep=False)
    return {
        name: _plain(name, value)
        for name, value in parameters.items()
        if name not in _STATED_ELSEWHERE and name != _SECRET
    }


def columns_of(
    estimator: Any, n_features: int, schema: Schema | None, feature_names: Sequence[str] | None
) -> tuple[tuple[Feature, ...], tuple[Pair, ...]]:
    """Return features and their public bounds in their own units, from the schema or from the estimator's bounds."""
    if schema is not None:
        if feature_names is not None:
            raise ModelFileError("feature_names and a schema were given; the schema has the names already")
        if len(schema.features) != n_features:
            raise ModelFileError(f"the schema makes {len(schema.features)} features, the model has {n_features}")
        return schema.features, bounds_of_schema(schema)
    names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(n_features)]
    if len(names) != n_features:
        raise ModelFileError(f"feature_names has {len(names)} names for {n_features} features")
    bounds = Bounds.parse(estimator.bounds, n_features)
    names = [str(name) for name in names]
    features = tuple(
        Feature(name, column, scale=scale)
        for name, column, scale in zip(names, _owners(estimator, names), bounds.scale.tolist(), strict=True)
    )
    return features, tuple(zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True))


def _owners(estimator: Any, names: Sequence[str]) -> list[str]:
    """Return the variable of each feature: what the estimator was told, else the feature itself."""
    variables = estimator._variables(len(names)) if hasattr(estimator, "_variables") else None
    return list(names) if variables is None else [variables.names[owner] for owner in variables.owners]


def bounds_of_schema(schema: Schema) -> tuple[Pair, ...]:
    """Return the bounds that columns state; indicators, steps and ranks run from 0 to their scale."""
    return tuple(
        (float(column.lower), float(column.upper))
        if isinstance(column, Numeric) and not feature.is_step
        else (0.0, float(feature.scale))
        for column in schema.columns
        for feature in column.features
    )


def _plain(name: str, value: Any) -> Any:
    """Turn a parameter into JSON: solvers and other frozen settings into their class and fields."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    match value:
        case None | bool() | str():
            return value
        case enum.Enum():
            return _plain(name, value.value)
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            if not math.isfinite(value):
                raise ModelFileError(f"{name} must be finite, got {value!r}")
            return float(value)
        case list() | tuple():
            return [_plain(name, item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = {part.name: _plain(name, getattr(value, part.name)) for part in dataclasses.fields(value)}
        return {"class": type(value).__name__, **fields}
    raise ModelFileError(f"{name} cannot be written to a model file: {type(value).__name__}")
