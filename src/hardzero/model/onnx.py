"""The linear model with its preprocessing as an ONNX graph, for scoring where there is no Python."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import require
from ..data.bounded import FloatArray
from ..schema.cell_text import WORDS
from ..schema.columns import Boolean, Categorical, Numeric, Ordered, Schema
from . import FittedModel
from .statement_json import statement_to_dict

if TYPE_CHECKING:
    import onnx

TextColumn = Boolean | Categorical | Ordered

MATRIX = "X"
"""Name of the only input of a model without a schema."""

OUTPUTS = ("label", "probabilities", "prediction")
"""Names of outputs: two of a classifier, one of a regression."""

_OWN = "hardzero:"  # how the names of values inside the graph begin
_OPSETS = {"": 17, "ai.onnx.ml": 3}
_IR_VERSION = 8  # as old as these operators allow, so that older runtimes read it


def to_onnx(model: FittedModel) -> onnx.ModelProto:
    """Return the model as an ONNX graph.

    With a schema the graph takes one input of shape (rows, 1) for each column that has a nonzero weight: floats for
    numbers, doubles for numbers with cut points, strings for everything else. Numbers are clipped and scaled, or
    compared with their cut points, strings are compared with the values, unknown ones treated as other where there is
    an other. What the schema's policy does not encode (a missing value under "error" or "drop") has the probability
    NaN. Without a schema the graph takes one matrix ``X`` of floats. A classifier has the outputs ``label`` and
    ``probabilities``, a regression ``prediction``.

    Parameters
    ----------
    model : FittedModel
        What to export.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save`` writes it; its metadata hold the privacy statement.

    Privacy
    -------
    Post-processing.
    """
    helper = require("onnx.helper", "onnx")
    graph = _Graph()
    margins = _margins_of_matrix(graph, model) if model.schema is None else _margins_of_table(graph, model)
    if model.is_classifier:
        _add_classes(graph, model, margins)
    else:
        graph.output("prediction", graph.node("Cast", margins, to=graph.types.FLOAT), graph.types.FLOAT, 1)
    proto: onnx.ModelProto = helper.make_model(
        helper.make_graph(graph.nodes, model.method, graph.inputs, graph.outputs, graph.constants),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()],
        ir_version=_IR_VERSION,
        producer_name="hardzero",
        producer_version=model.hardzero_version,
        doc_string=repr(model.privacy),
    )
    helper.set_model_props(proto, {"hardzero.privacy": json.dumps(statement_to_dict(model.privacy))})
    return proto


class _Graph:
    """Nodes under construction; every value gets a name of its own, away from those of inputs."""

    def __init__(self) -> None:
        self.types = require("onnx", "onnx").TensorProto
        self._helper, self._arrays = require("onnx.helper", "onnx"), require("onnx.numpy_helper", "onnx")
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def _name(self) -> str:
        self._count += 1
        return f"{_OWN}{self._count}"

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = self._name()
        self.nodes.append(
            self._helper.make_node(operator, list(inputs), [name], name=name, domain=domain, **attributes)
        )
        return name

    def constant(self, values: Any) -> str:
        name = self._name()
        self.constants.append(self._arrays.from_array(np.asarray(values), name))
        return name

    def input(self, name: str, kind: int, width: int) -> str:
        if name in OUTPUTS or name.startswith(_OWN):
            raise ValueError(f"column {name!r} has a name that the graph uses itself; rename it in the schema")
        self.inputs.append(self._helper.make_tensor_value_info(name, kind, ["rows", width]))
        return name

    def output(self, name: str, value: str, kind: int, width: int | None) -> None:
        self.nodes.append(self._helper.make_node("Identity", [value], [name], name=f"{name}:output"))
        shape: list[Any] = ["rows"] if width is None else ["rows", width]
        self.outputs.append(self._helper.make_tensor_value_info(name, kind, shape))


def _margins_of_matrix(graph: _Graph, model: FittedModel) -> str:
    kept = model.kept
    X = graph.node("Cast", graph.input(MATRIX, graph.types.FLOAT, len(model.features)), to=graph.types.DOUBLE)
    columns = graph.node("Gather", X, graph.constant(kept.astype(np.int64)), axis=1)
    product = graph.node("MatMul", columns, graph.constant(model.coef_original[:, kept].T))
    return graph.node("Add", product, graph.constant(model.intercept_original))


def _margins_of_table(graph: _Graph, model: FittedModel) -> str:
    """Add up what each column contributes; columns without a weight need not be asked for, one at least."""
    assert model.schema is not None
    coef = np.array(model.coef_scaled).T
    margins = graph.constant(np.array([model.intercept_scaled]))
    terms: list[tuple[Numeric | TextColumn, FloatArray]] = []
    start = 0
    for column in model.schema.used:
        terms.append((column, coef[start : start + len(column.features)]))
        start += len(column.features)
    for column, weights in [term for term in terms if np.any(term[1] != 0)] or terms[:1]:
        if isinstance(column, Numeric):
            part = _number(graph, column, weights, model.schema)
        else:
            part = _text(graph, column, weights, model.schema)
        margins = graph.node("Add", margins, part)
    return margins


def _number(graph: _Graph, column: Numeric, weights: FloatArray, schema: Schema) -> str:
    if column.cuts:
        return _steps(graph, column, weights, schema)
    feature = column.features[0]
    x = graph.node("Cast", graph.input(column.name, graph.types.FLOAT, 1), to=graph.types.DOUBLE)
    clipped = graph.node("Clip", x, graph.constant(float(column.lower)), graph.constant(float(column.upper)))
    moved = graph.node("Sub", clipped, graph.constant(float(feature.offset)))
    scaled = graph.node("Div", moved, graph.constant(float(feature.scale)))
    missing = graph.constant(_missing(schema))
    encoded = graph.node("Where", graph.node("IsNaN", x), missing, scaled)
    return graph.node("MatMul", encoded, graph.constant(weights))


def _steps(graph: _Graph, column: Numeric, weights: FloatArray, schema: Schema) -> str:
    """Compare with the cut points that have a weight, as doubles: in single precision 0.7 is below 0.7."""
    x = graph.input(column.name, graph.types.DOUBLE, 1)
    kept = np.any(weights != 0, axis=1)
    reached = graph.node("GreaterOrEqual", x, graph.constant(np.array([column.cuts], dtype=np.float64)[:, kept]))
    encoded = graph.node("Cast", reached, to=graph.types.DOUBLE)
    sums = graph.node("MatMul", encoded, graph.constant(weights[kept]))
    return graph.node("Where", graph.node("IsNaN", x), graph.constant(_missing(schema)), sums)


def _text(graph: _Graph, column: TextColumn, weights: FloatArray, schema: Schema) -> str:
    """Look up what each value contributes: a row of the table for each known value, the last for all others."""
    rows = _encodings(column, schema)
    unknown = rows.pop(None)
    table = np.array([*rows.values(), unknown]) @ weights
    places = graph.node(
        "LabelEncoder",
        graph.input(column.name, graph.types.STRING, 1),
        domain="ai.onnx.ml",
        keys_strings=list(rows),
        values_int64s=list(range(len(rows))),
        default_int64=len(rows),
    )
    flat = graph.node("Reshape", places, graph.constant(np.array([-1])))
    return graph.node("Gather", graph.constant(table), flat, axis=0)


def _encodings(column: TextColumn, schema: Schema) -> dict[str | None, FloatArray]:
    """What the encoder makes of each value; None stands for all that are not listed."""
    width = len(column.features)
    missing = np.full(width, _missing(schema))
    match column:
        case Categorical():
            indicators = np.eye(width)
            listed = {feature.category: row for feature, row in zip(column.features, indicators, strict=True)}
            if not column.other:
                return {**listed, None: missing}
            other = indicators[-1]  # which also takes missing values, where the policy keeps them
            absent = other if schema.missing == "zero" else missing
            return {**dict.fromkeys(schema.missing_values, absent), **listed, None: other}
        case Boolean():
            false, true = WORDS
            zero, one = np.zeros(1), np.ones(1)
            return {false: zero, true: one, column.false: zero, column.true: one, None: missing}
        case Ordered():
            ranks = np.arange(len(column.values))[:, None] / column.features[0].scale
            if column.steps:
                ranks = np.tri(width + 1, width, -1)
            return {**dict(zip(column.values, ranks, strict=True)), None: missing}


def _missing(schema: Schema) -> float:
    """What a feature is where its value is missing; a graph can neither raise an error nor drop a row."""
    return 0.0 if schema.missing == "zero" else math.nan


def _add_classes(graph: _Graph, model: FittedModel, margins: str) -> None:
    if len(model.classes) == 2:
        margins = graph.node("Concat", graph.node("Sub", margins, margins), margins, axis=1)
    odds = graph.node("Softmax", margins, axis=1)
    labels = np.array(model.classes)
    kinds = {"U": graph.types.STRING, "b": graph.types.BOOL, "i": graph.types.INT64, "f": graph.types.DOUBLE}
    if labels.dtype.kind == "U":
        labels = labels.astype(object)  # as ONNX wants text
    likeliest = graph.node("ArgMax", odds, axis=1, keepdims=0)
    label = graph.node("Gather", graph.constant(labels), likeliest, axis=0)
    graph.output("label", label, kinds[np.array(model.classes).dtype.kind], None)
    probabilities = graph.node("Cast", odds, to=graph.types.FLOAT)
    graph.output("probabilities", probabilities, graph.types.FLOAT, len(model.classes))
