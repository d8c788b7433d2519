"""The features of a map as ONNX operators, for maps that are a step of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.ensembles import find_places
from vrspam.export.onnx_graphs.operators import Rows, kernel_matrix, one_hot
from vrspam.features import FeatureMap
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import Block, ColumnBlock, Curve, KernelPart
from vrspam.model.scorer import NotExportable


def known_categories(features: FeatureMap, column: int) -> set[str]:
    """The categories of a column."""
    found: set[str] = set()
    for part in features.members:
        encoder = part.encoders_[column]
        found |= set(encoder.categories) if isinstance(encoder, Indicators) else set()
    return found


def map_matrix(rows: Rows, features: FeatureMap) -> str:
    """The features of rows under a fitted map, in double: shape (rows, n_features_out_)."""
    return rows.graph.side_by_side([_block_matrix(rows, block, type(features).__name__) for block in features.blocks()])


def _block_matrix(rows: Rows, block: Block, name: str) -> str:
    graph = rows.graph
    if isinstance(block, ColumnBlock):
        found = _encoded(rows, block.encoders)
        return found if block.scale == 1.0 else graph.add("Mul", found, graph.constant([block.scale]))
    if isinstance(block, KernelPart):
        kernel = kernel_matrix(rows, block.encoders, block.landmarks, block.gamma, TensorProto.DOUBLE)
        return graph.add("MatMul", kernel, graph.constant(block.coef))
    raise NotExportable(
        f"{name} in a pipeline would need a table of all leaves for each feature: use AUCClassifierCV with "
        "features='trees', and vrspam.export.to_onnx."
    )


def _encoded(rows: Rows, encoders: Sequence[Encoder]) -> str:
    """The features of each column, side by side."""
    graph, blocks = rows.graph, []
    numeric = {j: one for j, one in enumerate(encoders) if isinstance(one, Curves)}
    X, places = "", ""
    if numeric:
        X = rows.numbers(list(numeric))
        places = find_places(graph, X, [one.nodes for one in numeric.values()], [0] * len(numeric), below=False)
    for column, encoder in enumerate(encoders):
        if not isinstance(encoder, Curves):
            blocks.append(one_hot(rows, column, encoder))
            continue
        number = list(numeric).index(column)
        x, place = (graph.columns(whole, [number], len(numeric)) for whole in (X, places))
        place = graph.add("Squeeze", place, graph.constant([1], np.int64))
        base, values, slopes = _segments(encoder)
        shifted = graph.add("Sub", x, graph.add("Gather", graph.constant(base), place))
        rise = graph.add("Mul", graph.add("Gather", graph.constant(slopes), place), shifted)
        height = graph.add("Add", graph.add("Gather", graph.constant(values), place), rise)
        absent = graph.add("IsNaN", x)
        blocks.append(graph.add("Where", absent, graph.constant([0.0]), height))
        if encoder.missing:
            blocks.append(graph.cast(absent, TensorProto.DOUBLE))
    return graph.side_by_side(blocks)


def _segments(encoder: Curves) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Base (as a column), values and slopes of all functions of a column, for each number of nodes up to x."""
    found = []
    for values in encoder.table.T:
        curve = Curve(encoder.nodes, values)
        base, heights, slopes = curve.segments
        if encoder.extend and encoder.nodes.size > 1:
            slopes[[0, -1]] = slopes[[1, -2]]
        found.append((heights, slopes))
    heights, slopes = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
    return base[:, np.newaxis], heights, slopes
