"""The outputs of a graph: label, score and probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from vrspam.export.onnx_graphs.curves import curve_matrix
from vrspam.export.onnx_graphs.graph import Graph
from vrspam.features.parts import CurvePart
from vrspam.model.inputs import NotExportable
from vrspam.model.model import Model
from vrspam.model_selection.calibration import Isotonic, Sigmoid

LABEL, SCORE, PROBABILITY = OUTPUTS = ("label", "score", "probability")
BATCH = "rows"


def write_outputs(graph: Graph, model: Model, score: str, number_type: int) -> list[ValueInfoProto]:
    """Name the outputs of a graph that has a score, where numbers have this type (a number of `TensorProto`)."""
    graph.add("Cast", score, to=number_type, output=SCORE)
    if model.ranks:
        return [_output_info(SCORE, number_type, f"Higher is {model.outcome.higher}.")]

    probability = _probability(graph, model, score)
    _write_label(graph, model, score, probability)
    graph.add("Cast", probability, to=number_type, output=PROBABILITY)
    return [
        _output_info(LABEL, label_type(model), _label_note(model)),
        _output_info(SCORE, number_type, "Higher is more likely the second class."),
        _output_info(PROBABILITY, number_type, _probability_note(model)),
    ]


def _output_info(name: str, dtype: int, note: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, [BATCH], note)


def _label_note(model: Model) -> str:
    threshold = model.threshold
    if threshold is None:
        return "The likelier class."
    positive = model.classes[1]
    return f"{positive!r} where the score is at least {threshold.threshold:g} ({threshold.words})."


def _probability_note(model: Model) -> str:
    if model.calibration is None:
        return "NaN: the model has no calibration."
    return f"Probability of {model.classes[1]!r}."


def _probability(graph: Graph, model: Model, score: str) -> str:
    """The probability of the second class, in double; NaN without a calibration."""
    raw = score
    if model.baseline:
        raw = graph.add("Sub", score, graph.constant([model.baseline]))

    calibration = model.calibration
    if calibration is None:
        zeros = graph.add("Mul", raw, graph.constant([0.0]))
        return graph.add("Add", zeros, graph.constant([np.nan]))
    if isinstance(calibration, Sigmoid):
        line = graph.add("Mul", raw, graph.constant([-calibration.slope]))
        power = graph.add("Exp", graph.add("Sub", line, graph.constant([calibration.offset])))
        one = graph.constant([1.0])
        return graph.add("Div", one, graph.add("Add", one, power))
    if isinstance(calibration, Isotonic):
        curve = CurvePart(calibration.scores, calibration.probabilities, missing=float("nan"))
        return graph.as_vector(curve_matrix(graph, graph.as_column(raw), [curve]))
    raise NotExportable(f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic.")


def _write_label(graph: Graph, model: Model, score: str, probability: str) -> None:
    """The class of each row, by the threshold, the limit of the score, or the probability."""
    is_positive = _is_positive(graph, model, score, probability)
    negative, positive = model.classes
    kind = label_type(model)
    if kind == TensorProto.BOOL:
        is_true = is_positive
        if not positive:
            is_true = graph.add("Not", is_positive)
        graph.add("Cast", is_true, to=kind, output=LABEL)
        return

    dtypes: dict[int, Any] = {TensorProto.STRING: object, TensorProto.DOUBLE: np.float64, TensorProto.INT64: np.int64}
    negative_label = graph.constant(np.array([negative], dtype=dtypes[kind]))
    positive_label = graph.constant(np.array([positive], dtype=dtypes[kind]))
    graph.add("Where", is_positive, positive_label, negative_label, output=LABEL)


def _is_positive(graph: Graph, model: Model, score: str, probability: str) -> str:
    """Whether each row has the second class."""
    if model.limit is None:
        is_positive = graph.add("Greater", probability, graph.constant([0.5]))
    else:
        is_positive = graph.add("Greater", score, graph.constant([model.limit]))
    if model.threshold is not None:
        is_positive = graph.add("GreaterOrEqual", score, graph.constant([model.threshold.threshold]))
    return is_positive


def label_type(model: Model) -> int:
    """The type of the labels, a number of `TensorProto`."""
    classes: tuple[Any, Any] = model.classes
    if all(isinstance(label, bool) for label in classes):
        return TensorProto.BOOL
    if all(isinstance(label, int | float) for label in classes):
        if all(float(label).is_integer() and abs(label) < 2**63 for label in classes):
            return TensorProto.INT64
        return TensorProto.DOUBLE
    if all(isinstance(label, str) for label in classes):
        return TensorProto.STRING
    raise NotExportable(
        f"The classes {classes[0]!r} and {classes[1]!r} are neither numbers nor texts: train with those."
    )
