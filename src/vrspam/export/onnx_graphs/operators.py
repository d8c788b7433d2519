"""The parts of a score as ONNX operators: dates, curves, tables, kernels. All sums are in double."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.ensembles import find_places
from vrspam.export.onnx_graphs.graph import ML, Graph
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import Curve, KernelPart, Table
from vrspam.tables.texts import HOUR, MONTH, WEEKDAY, YEAR

NOT_A_TIME = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class Rows:
    """The columns of the rows to be scored, as values of a graph.

    Attributes
    ----------
    graph : Graph
    matrix : str
        All columns of numbers, in double.
    places : dict of int to int
        Which of its columns holds the column of this number.
    texts : dict of int to str
        The columns of categories, each as a value of shape (rows, 1).
    missing : dict of int to str
        The text that stands for a missing value in each of them.
    """

    graph: Graph
    matrix: str
    places: Mapping[int, int]
    texts: Mapping[int, str]
    missing: Mapping[int, str]

    def numbers(self, columns: Sequence[int]) -> str:
        """Some columns of numbers, side by side."""
        return self.graph.columns(self.matrix, [self.places[j] for j in columns], len(self.places))

    def codes(self, column: int, categories: Sequence[str]) -> str:
        """The place of each category in this list; behind it are a missing value, and then any other category."""
        names = [*categories, self.missing[column]]
        return self.graph.add(
            "LabelEncoder",
            self.texts[column],
            domain=ML,
            keys_strings=names,
            values_int64s=list(range(len(names))),
            default_int64=len(names),
        )


def missing_text(known: Collection[str]) -> str:
    """The text that stands for a missing value: "", unless that is a category.

    >>> missing_text(["Graz"]), missing_text(["", "Graz"])
    ('', '(missing)')
    """
    text = ""
    while text in known:
        text = f"({text or 'missing'})"
    return text


# Dates.


def date_parts(graph: Graph, moments: str, parts: Sequence[str]) -> list[str]:
    """Parts of dates, which are microseconds since 1970 as int64, in double; NaN for a missing one."""

    def whole(number: int) -> str:
        return graph.constant([number], np.int64)

    def op(name: str, value: str, number: int) -> str:
        return graph.add(name, value, whole(number))

    gone = graph.add("Equal", moments, whole(NOT_A_TIME))
    some = graph.add("Where", gone, whole(0), moments)
    day = 86_400_000_000  # in microseconds
    of_day = op("Mod", some, day)  # never negative: the division below is exact
    days = op("Div", graph.add("Sub", some, of_day), day)
    found = []
    hour_length = 3_600_000_000
    for part in parts:
        if part == YEAR:
            share = graph.add("Div", graph.cast(some, TensorProto.DOUBLE), graph.constant([86_400e6 * 365.2425]))
            value = graph.add("Add", graph.constant([1970.0]), share)
        else:
            counted = {
                MONTH: lambda: _month(graph, days, op),
                WEEKDAY: lambda: op("Add", op("Mod", op("Add", days, 3), 7), 1),
                HOUR: lambda: op("Div", of_day, hour_length),
            }[part]()
            value = graph.cast(counted, TensorProto.DOUBLE)
        found.append(graph.add("Where", gone, graph.constant([np.nan]), value))
    return found


def _month(graph: Graph, days: str, op: Any) -> str:
    """The month of a day, 1 to 12, by the calendar of 400 years that begins in March, so that leap days come last."""
    of_era = op("Mod", op("Add", days, 719_468), 146_097)
    leaps = graph.add(
        "Sub", op("Div", of_era, 36_524), graph.add("Add", op("Div", of_era, 1_460), _last(graph, of_era))
    )
    year = op("Div", graph.add("Add", of_era, leaps), 365)
    before = graph.add("Sub", graph.add("Add", op("Mul", year, 365), op("Div", year, 4)), op("Div", year, 100))
    of_year = graph.add("Sub", of_era, before)
    march = op("Div", op("Add", op("Mul", of_year, 5), 2), 153)
    return op("Add", op("Mod", op("Add", march, 2), 12), 1)


def _last(graph: Graph, of_era: str) -> str:
    return graph.add("Div", of_era, graph.constant([146_096], np.int64))


# Curves and tables.


def curve_matrix(graph: Graph, X: str, curves: Sequence[Curve]) -> str:
    """Each column of X through its curve, in double."""
    lines = all(curve.is_line for curve in curves)
    if lines:
        base, value, slope = (
            graph.constant([[float(part(curve)) for curve in curves]])
            for part in (lambda c: c.nodes[0], lambda c: c.values[0], lambda c: c.left)
        )
    else:
        segments = [curve.segments for curve in curves]
        starts = np.cumsum([0, *(part[0].size for part in segments[:-1])])
        places = find_places(graph, X, [curve.nodes for curve in curves], starts.tolist(), below=False)
        base, value, slope = (
            graph.add("Gather", graph.constant(np.concatenate([part[i] for part in segments])), places)
            for i in range(3)
        )
    found = graph.add("Add", value, graph.add("Mul", slope, graph.add("Sub", X, base)))
    missing = np.array([[curve.missing for curve in curves]])
    if np.isnan(missing).all():  # a row without a value has no score, and NaN stays NaN
        return found
    return graph.add("Where", graph.add("IsNaN", X), graph.constant(missing), found)


def sum_curves(rows: Rows, curves: Mapping[int, Curve]) -> list[str]:
    """What columns of numbers add to the score, each by its curve."""
    graph, found = rows.graph, []
    for straight in (True, False):
        chosen = {j: curve for j, curve in curves.items() if curve.is_line == straight}
        if not chosen:
            continue
        X, of = rows.numbers(list(chosen)), list(chosen.values())
        if straight and all(not c.nodes[0] and not c.values[0] and np.isnan(c.missing) for c in of):
            slopes = graph.constant([[curve.left] for curve in of])
            found.append(graph.add("Squeeze", graph.add("MatMul", X, slopes), graph.constant([1], np.int64)))
        else:
            found.append(graph.sum_columns(curve_matrix(graph, X, of)))
    return found


def sum_tables(rows: Rows, tables: Mapping[int, Table]) -> list[str]:
    """What columns of categories add to the score, each by its table."""
    graph, found = rows.graph, []
    for column, table in tables.items():
        values = graph.constant([*table.values.values(), table.missing, table.other], np.float64)
        found.append(graph.add("Gather", values, rows.codes(column, list(table.values))))
    return [graph.sum_columns(graph.side_by_side(found))] if found else []


# Kernels.


def kernel_score(rows: Rows, part: KernelPart, dtype: int) -> str:
    """What the bumps of a kernel add to the score; its matrix is computed in `dtype`."""
    graph = rows.graph
    single = dtype == TensorProto.FLOAT
    coef = graph.constant(part.coef[:, np.newaxis], np.float32 if single else np.float64)
    found = graph.add("MatMul", kernel_matrix(rows, part.encoders, part.landmarks, part.gamma, dtype), coef)
    found = graph.add("Squeeze", found, graph.constant([1], np.int64))
    return graph.cast(found, TensorProto.DOUBLE) if single else found


def kernel_matrix(rows: Rows, encoders: Sequence[Encoder], landmarks: np.ndarray, gamma: float, dtype: int) -> str:
    """exp(-gamma ‖u - z‖²) for the rows, as `encoders` encode them, and all landmarks z."""
    graph = rows.graph
    blocks: list[str] = []
    order: list[int] = []  # of the encoded columns in `blocks`
    start = 0
    ranks: list[tuple[int, int, Curve]] = []  # column, place of its rank, curve
    gaps: list[tuple[int, int]] = []
    for column, encoder in enumerate(encoders):
        if isinstance(encoder, Curves):
            ranks.append((column, start, Curve.of(encoder, np.ones(1))))
            if encoder.missing:
                gaps.append((column, start + 1))
        else:
            blocks.append(one_hot(rows, column, encoder))
            order += range(start, start + encoder.width)
        start += encoder.width
    for straight in (True, False):
        chosen = [one for one in ranks if one[2].is_line == straight]
        if chosen:
            blocks.append(curve_matrix(graph, rows.numbers([one[0] for one in chosen]), [one[2] for one in chosen]))
            order += [place for _, place, _ in chosen]
    if gaps:
        absent = graph.add("IsNaN", rows.numbers([column for column, _ in gaps]))
        blocks.append(graph.cast(absent, TensorProto.DOUBLE))
        order += [place for _, place in gaps]
    # -γ‖u - z‖² as one product: (u, ‖u‖², 1) · γ (2z, -1, -‖z‖²)
    u = graph.side_by_side(blocks)
    squares = graph.add("ReduceSum", graph.add("Mul", u, u), graph.constant([1], np.int64), keepdims=1)
    ones = graph.add("Add", graph.add("Mul", squares, graph.constant([0.0])), graph.constant([1.0]))
    left = graph.add("Concat", u, squares, ones, axis=1)
    z = landmarks[:, order]
    right = gamma * np.hstack([2.0 * z, -np.ones((len(z), 1)), -np.sum(z * z, axis=1, keepdims=True)])
    single = dtype == TensorProto.FLOAT
    kind = np.float32 if single else np.float64
    return graph.add(
        "Exp", graph.add("MatMul", graph.cast(left, dtype) if single else left, graph.constant(right.T, kind))
    )


def one_hot(rows: Rows, column: int, encoder: Indicators) -> str:
    """The indicators of the categories of a column, each times its scale."""
    names = [name for name in encoder.codes if name is not None]
    design = np.zeros((len(names) + 2, encoder.width))
    design[: len(names), : len(names)] = encoder.design[: len(names), : len(names)]
    if encoder.missing:
        design[-2, -1] = encoder.design[-1, -1]
    if encoder.grouped:
        design[-1, encoder.other] = encoder.design[encoder.other, encoder.other]
    chosen = rows.graph.add("Gather", rows.graph.constant(design), rows.codes(column, names))
    return rows.graph.add("Squeeze", chosen, rows.graph.constant([1], np.int64))
