"""Functions of single columns in a graph: curves of numbers and tables of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vrspam.export.onnx_graphs.ensembles import find_places
from vrspam.export.onnx_graphs.graph import Graph
from vrspam.export.onnx_graphs.rows import Rows
from vrspam.features.parts import CategoryPart, CurvePart


def curve_matrix(graph: Graph, X: str, curves: Sequence[CurvePart]) -> str:
    """Each column of X through its curve, in double."""
    if all(curve.is_line for curve in curves):
        base = graph.constant([[curve.nodes[0] for curve in curves]], np.float64)
        value = graph.constant([[curve.values[0] for curve in curves]], np.float64)
        slope = graph.constant([[curve.left for curve in curves]], np.float64)
    else:
        base, value, slope = _segments_of_rows(graph, X, curves)

    rise = graph.add("Mul", slope, graph.add("Sub", X, base))
    heights = graph.add("Add", value, rise)

    missing = np.array([[curve.missing for curve in curves]])
    if np.isnan(missing).all():  # a row without a value has no score, and NaN stays NaN
        return heights
    return graph.add("Where", graph.add("IsNaN", X), graph.constant(missing), heights)


def _segments_of_rows(graph: Graph, X: str, curves: Sequence[CurvePart]) -> tuple[str, str, str]:
    """Base, value and slope of the line on which each number lies: value + slope · (x - base)."""
    segments = [curve.segments for curve in curves]
    sizes = [bases.size for bases, _, _ in segments]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()  # of the segments of each curve in the tables of all
    places = find_places(graph, X, [curve.nodes for curve in curves], starts, below=False)

    base = graph.add("Gather", graph.constant(np.concatenate([bases for bases, _, _ in segments])), places)
    value = graph.add("Gather", graph.constant(np.concatenate([values for _, values, _ in segments])), places)
    slope = graph.add("Gather", graph.constant(np.concatenate([slopes for _, _, slopes in segments])), places)
    return base, value, slope


def sum_curves(rows: Rows, curves: Mapping[int, CurvePart]) -> list[str]:
    """What columns of numbers add to the score, each by its curve."""
    lines = {column: curve for column, curve in curves.items() if curve.is_line}
    bent = {column: curve for column, curve in curves.items() if not curve.is_line}

    sums = []
    if lines:
        sums.append(_sum_lines(rows, lines))
    if bent:
        X = rows.numbers(list(bent))
        sums.append(rows.graph.sum_columns(curve_matrix(rows.graph, X, list(bent.values()))))
    return sums


def _sum_lines(rows: Rows, lines: Mapping[int, CurvePart]) -> str:
    """What columns of numbers add by straight lines: a product, where all begin at 0 and none fills a missing value."""
    graph = rows.graph
    X = rows.numbers(list(lines))
    if all(_is_slope_alone(line) for line in lines.values()):
        slopes = graph.constant([[line.left] for line in lines.values()])
        return graph.as_vector(graph.add("MatMul", X, slopes))
    return graph.sum_columns(curve_matrix(graph, X, list(lines.values())))


def _is_slope_alone(line: CurvePart) -> bool:
    return not line.nodes[0] and not line.values[0] and bool(np.isnan(line.missing))


def sum_tables(rows: Rows, tables: Mapping[int, CategoryPart]) -> list[str]:
    """What columns of categories add to the score, each by its table."""
    if not tables:
        return []
    graph = rows.graph
    blocks = []
    for column, table in tables.items():
        heights = graph.constant([*table.values.values(), table.missing, table.other], np.float64)
        codes = rows.codes(column, list(table.values))
        blocks.append(graph.add("Gather", heights, codes))
    return [graph.sum_columns(graph.side_by_side(blocks))]
