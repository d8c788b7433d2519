"""Converters for skl2onnx: pipelines that end in an estimator of this package become one graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import vrspam
from vrspam._utils.messages import require
from vrspam.export.onnx_graphs import operators
from vrspam.export.onnx_graphs.model import MATRIX, OUTPUTS, graph_of, label_type
from vrspam.features import MAPS
from vrspam.features.encoders import Curves
from vrspam.features.parts import Block, ColumnBlock, Curve, KernelPart
from vrspam.model.scorer import NUMBER, NotExportable, scorer_of

ESTIMATORS = (
    "AUCClassifier",
    "AUCClassifierCV",
    "OPAUCClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "VRSPAMClassifier",
)


def register_skl2onnx() -> None:
    """Let `skl2onnx` convert the estimators and feature maps of this package, alone and in pipelines.

    The outputs of the converted pipeline are those of `to_onnx`: "label", "score" and "probability". An estimator takes
    the numbers of the steps before it, as one matrix; to have dates inside the graph, and trees, fit an
    `AUCClassifierCV` with a feature map on the frame itself, and use `to_onnx`. The graph is in double if the rows that
    skl2onnx is shown are float64; in float32 every step of the pipeline rounds.

    Examples
    --------
    >>> import numpy as np, onnxruntime, skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import AUCClassifier
    >>> from vrspam.export import register_skl2onnx
    >>> register_skl2onnx()
    >>> X = np.random.default_rng(0).normal(5.0, 2.0, (200, 3))
    >>> pipeline = make_pipeline(StandardScaler(), AUCClassifier()).fit(X, X[:, 0] > 5.0)
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1])
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> label, score, probability = session.run(["label", "score", "probability"], {"X": X})
    >>> bool(np.abs(score - pipeline.decision_function(X)).max() < 1e-12)
    True
    """
    require("onnx", "skl2onnx")
    from skl2onnx import update_registered_converter

    for name in ESTIMATORS:
        update_registered_converter(
            getattr(vrspam, name), f"Vrspam{name}", _calculate_shapes, _convert, parser=_declare_outputs, overwrite=True
        )
    for kind in MAPS.values():
        update_registered_converter(kind, f"Vrspam{kind.__name__}", _calculate_width, _convert_map, overwrite=True)


def _kinds(estimator: Any, inputs: Any) -> tuple[Any, Any, Any]:
    """The types of labels, scores and probabilities."""
    from skl2onnx.common import data_types

    names: dict[int, str] = {TensorProto.STRING: "String", TensorProto.INT64: "Int64"}
    names |= {TensorProto.DOUBLE: "Double", TensorProto.BOOL: "Boolean"}
    numbers = _number_type(inputs)
    return getattr(data_types, f"{names[label_type(scorer_of(estimator))]}TensorType"), numbers, numbers


def _number_type(inputs: Any) -> Any:
    """The type of numbers that come out: double if any of the inputs is."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    return DoubleTensorType if _is_double(inputs) else FloatTensorType


def _is_double(inputs: Any) -> bool:
    return any(type(one.type).__name__ == "DoubleTensorType" for one in inputs)


def _declare_outputs(scope: Any, estimator: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Name the outputs of an estimator, which is the last step."""
    operator = scope.declare_local_operator(f"Vrspam{type(estimator).__name__}", estimator)
    operator.inputs = inputs
    for name, kind in zip(OUTPUTS, _kinds(estimator, inputs), strict=True):
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _calculate_shapes(operator: Any) -> None:
    for output, kind in zip(operator.outputs, _kinds(operator.raw_operator, operator.inputs), strict=True):
        output.type = kind([None])


def _calculate_width(operator: Any) -> None:
    """The shape of what a map gives."""
    operator.outputs[0].type = _number_type(operator.inputs)([None, operator.raw_operator.n_features_out_])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Copy the graph of an estimator into that of the pipeline, with names of its own."""
    double = _is_double(operator.inputs)
    scorer = scorer_of(operator.raw_operator)
    others = [one.name for one in scorer.inputs if one.kind != NUMBER]
    if others:
        raise NotExportable(
            f"Column {others[0]!r} holds text or dates, and skl2onnx hands an estimator one matrix of numbers: use "
            "vrspam.export.to_onnx for the estimator alone, or encode the column in a step before it."
        )
    graph = graph_of(replace(scorer, matrix=True), "float64" if double else "float32", inputs=not double).graph
    names = dict(zip(OUTPUTS, [output.full_name for output in operator.outputs], strict=True))
    names[MATRIX] = _one_matrix(scope, operator, container, double)
    _copy(graph.node, graph.initializer, names, scope, container)


def _convert_map(scope: Any, operator: Any, container: Any) -> None:
    """The features of a map that is a step of a pipeline; text comes as columns of their own."""
    output = "features"
    features, double = operator.raw_operator, _is_double(operator.inputs)
    numeric = features.numeric_columns
    columns = [one.full_name for one in operator.inputs]
    graph = operators.Graph([output, *columns])
    if all(numeric):
        taken = graph.cast(_one_matrix(scope, operator, container, double), TensorProto.DOUBLE)
        rows = operators.Rows(graph, taken, {j: j for j in range(len(numeric))}, {}, {})
    elif len(columns) == len(numeric):
        numbers = [j for j, is_number in enumerate(numeric) if is_number]
        parts = [graph.cast(columns[j], TensorProto.DOUBLE) for j in numbers]
        texts = {j: columns[j] for j, is_number in enumerate(numeric) if not is_number}
        places = {j: place for place, j in enumerate(numbers)}
        missing = {j: operators.missing_text(part.encoders_[j] for part in features.members) for j in texts}
        rows = operators.Rows(graph, graph.side_by_side(parts) if parts else "", places, texts, missing)
    else:
        raise NotExportable(
            f"{type(features).__name__} takes text, and the step before it hands on one matrix: let it take the "
            "columns of the frame themselves."
        )
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    blocks = [_block_matrix(rows, block, type(features).__name__) for block in features.blocks()]
    graph.add("Cast", graph.side_by_side(blocks), to=kind, output=output)
    _copy(graph.nodes, graph.used_constants(), {output: operator.outputs[0].full_name}, scope, container)


def _copy(nodes: Any, constants: Any, names: dict[str, str], scope: Any, container: Any) -> None:
    """Add constants and nodes to the graph of a pipeline, where some values have other `names`, or get them."""
    for constant in constants:
        names[constant.name] = scope.get_unique_variable_name(f"vrspam_{constant.name}")
        content = list(constant.string_data) if constant.string_data else numpy_helper.to_array(constant).ravel()
        container.add_initializer(names[constant.name], constant.data_type, list(constant.dims), content)
    for node in nodes:
        for name in node.output:
            if name not in names:
                names[name] = scope.get_unique_variable_name(f"vrspam_{name}")
        container.add_node(
            node.op_type,
            [names.get(name, name) for name in node.input],
            [names[name] for name in node.output],
            op_domain=node.domain,
            op_version=_version(node.op_type, node.domain, container),
            name=scope.get_unique_operator_name(node.op_type),
            **{one.name: helper.get_attribute_value(one) for one in node.attribute},
        )


def _one_matrix(scope: Any, operator: Any, container: Any, double: bool) -> str:
    """The name of the one input, or of all inputs side by side."""
    names = [one.full_name for one in operator.inputs]
    if len(names) == 1:
        return names[0]
    parts = []
    for name in names:
        parts.append(scope.get_unique_variable_name("vrspam_column"))
        kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
        container.add_node("Cast", [name], [parts[-1]], op_version=_version("Cast", "", container), to=kind)
    whole = scope.get_unique_variable_name("vrspam_matrix")
    container.add_node("Concat", parts, [whole], op_version=_version("Concat", "", container), axis=1)
    return whole


def _version(op: str, domain: str, container: Any) -> int:
    """The operator version of our opset or, if that is older, of the requested opset."""
    most = operators.ML_OPSET if domain else operators.OPSET
    return onnx.defs.get_schema(op, min(most, container.target_opset_any_domain(domain)), domain).since_version


def _block_matrix(rows: operators.Rows, block: Block, name: str) -> str:
    """The features of a block: those of a kernel, or of each column, side by side."""
    graph, blocks = rows.graph, []
    if isinstance(block, KernelPart):
        kernel = operators.kernel_matrix(rows, block, TensorProto.DOUBLE)
        return graph.add("MatMul", kernel, graph.constant(block.coef))
    if not isinstance(block, ColumnBlock):
        raise NotExportable(
            f"{name} cannot be converted inside a pipeline: give the map to AUCClassifierCV(features=...), and use "
            "vrspam.export.to_onnx."
        )
    numeric = {j: one for j, one in enumerate(block.encoders) if isinstance(one, Curves)}
    curves = {j: Curve.of(one, np.eye(one.table.shape[1])) for j, one in numeric.items()}  # with nodes of their own
    X, places = "", ""
    if numeric:
        X, nodes = rows.numbers(list(numeric)), [curve.nodes for curve in curves.values()]
        places = operators.find_places(graph, X, nodes, [0] * len(numeric), below=False)
    for column, encoder in enumerate(block.encoders):
        if not isinstance(encoder, Curves):
            blocks.append(operators.one_hot(rows, column, encoder))
            continue
        number = list(numeric).index(column)
        x, place = (graph.columns(whole, [number], len(numeric)) for whole in (X, places))
        place = graph.add("Squeeze", place, graph.constant([1], np.int64))
        base, values, slopes = curves[column].segments
        shifted = graph.add("Sub", x, graph.add("Gather", graph.constant(base[:, np.newaxis]), place))
        rise = graph.add("Mul", graph.add("Gather", graph.constant(slopes), place), shifted)
        height = graph.add("Add", graph.add("Gather", graph.constant(values), place), rise)
        absent = graph.add("IsNaN", x)
        blocks.append(graph.add("Where", absent, graph.constant([0.0]), height))
        if encoder.missing:
            blocks.append(graph.cast(absent, TensorProto.DOUBLE))
    found = graph.side_by_side(blocks)
    return found if block.scale == 1.0 else graph.add("Mul", found, graph.constant([block.scale]))
