"""Kernels in a graph: what bumps around landmarks add to the score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.curves import curve_matrix
from vrspam.export.onnx_graphs.rows import Rows
from vrspam.features.encoders import Indicators
from vrspam.features.parts import CurvePart, KernelPart
from vrspam.features.scoring import exponents


class _Rank(NamedTuple):
    """A column of numbers, the place of its rank among the encoded columns, and the curve that gives it."""

    column: int
    place: int
    curve: CurvePart


class _Encoded(NamedTuple):
    """Encoded rows, and the place that each of their columns has in a landmark."""

    matrix: str
    places: list[int]


def kernel_score(rows: Rows, part: KernelPart) -> str:
    """What the bumps of a kernel add to the score."""
    graph = rows.graph
    bumps = kernel_matrix(rows, part)
    return graph.as_vector(graph.add("MatMul", bumps, graph.constant(part.coef[:, np.newaxis])))


def kernel_matrix(rows: Rows, part: KernelPart) -> str:
    """exp(-gamma ‖u - z‖²) for the encoded rows u and all landmarks z."""
    graph = rows.graph
    u, places = _encode(rows, part)

    # -γ‖u - z‖² as one product, as in `exponents`
    squares = graph.add("ReduceSum", graph.add("Mul", u, u), graph.constant([1], np.int64), keepdims=1)
    zeros = graph.add("Mul", squares, graph.constant([0.0]))
    ones = graph.add("Add", zeros, graph.constant([1.0]))
    left = graph.add("Concat", u, squares, ones, axis=1)
    _, right = exponents(part.landmarks[:0], part.landmarks[:, places], part.gamma)
    return graph.add("Exp", graph.add("MatMul", left, graph.constant(right)))


def _encode(rows: Rows, part: KernelPart) -> _Encoded:
    """Rows as a kernel compares them: indicators of categories, ranks of numbers, indicators of missing values."""
    graph = rows.graph
    blocks: list[str] = []
    places: list[int] = []
    ranks: list[_Rank] = []
    gaps: dict[int, int] = {}  # the place of the indicator of missing values of a column of numbers
    start = 0
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Indicators):
            blocks.append(one_hot(rows, column, encoder))
            places += range(start, start + encoder.width)
        else:
            ranks.append(_Rank(column, start, CurvePart.of(encoder, np.ones(1))))
            if encoder.missing:
                gaps[column] = start + 1
        start += encoder.width

    lines = [rank for rank in ranks if rank.curve.is_line]
    bent = [rank for rank in ranks if not rank.curve.is_line]
    for alike in (lines, bent):
        if alike:
            X = rows.numbers([rank.column for rank in alike])
            blocks.append(curve_matrix(graph, X, [rank.curve for rank in alike]))
            places += [rank.place for rank in alike]

    if gaps:
        is_missing = graph.add("IsNaN", rows.numbers(list(gaps)))
        blocks.append(graph.cast(is_missing, TensorProto.DOUBLE))
        places += gaps.values()
    return _Encoded(graph.side_by_side(blocks), places)


def one_hot(rows: Rows, column: int, encoder: Indicators) -> str:
    """The indicators of the categories of a column, each times its scale."""
    none = np.zeros(encoder.width)
    return rows.lines(column, encoder, np.vstack([np.diag(encoder.scales), none]))
