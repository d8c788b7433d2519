"""Dates in a graph: the numbers that a model makes of a moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.graph import Graph
from vrspam.tables.kinds.dates import MONTH, WEEKDAY, YEAR

NO_DATE = int(np.iinfo(np.int64).min)  # NaT
MICROSECONDS_OF_HOUR = 3_600_000_000
MICROSECONDS_OF_DAY = 86_400_000_000
MICROSECONDS_OF_YEAR = 86_400e6 * 365.2425


def date_parts(graph: Graph, moments: str, parts: Sequence[str]) -> list[str]:
    """Parts of dates, which are microseconds since 1970 as int64, in double; NaN for a missing one."""
    missing = graph.add("Equal", moments, graph.constant([NO_DATE], np.int64))
    known = graph.add("Where", missing, graph.constant([0], np.int64), moments)
    time = _with_number(graph, "Mod", known, MICROSECONDS_OF_DAY)  # never negative: the division below is exact
    days = _with_number(graph, "Div", graph.add("Sub", known, time), MICROSECONDS_OF_DAY)

    columns = []
    for part in parts:
        if part == YEAR:
            years = graph.add("Div", graph.cast(known, TensorProto.DOUBLE), graph.constant([MICROSECONDS_OF_YEAR]))
            numbers = graph.add("Add", graph.constant([1970.0]), years)
        elif part == MONTH:
            numbers = graph.cast(_month(graph, days), TensorProto.DOUBLE)
        elif part == WEEKDAY:
            numbers = graph.cast(_weekday(graph, days), TensorProto.DOUBLE)
        else:
            hours = _with_number(graph, "Div", time, MICROSECONDS_OF_HOUR)
            numbers = graph.cast(hours, TensorProto.DOUBLE)
        columns.append(graph.add("Where", missing, graph.constant([np.nan]), numbers))
    return columns


def _with_number(graph: Graph, operation: str, value: str, number: int) -> str:
    """An operation of whole numbers with the same second number in each row."""
    return graph.add(operation, value, graph.constant([number], np.int64))


def _weekday(graph: Graph, days: str) -> str:
    """The day of the week of a day, 1 for Monday to 7 for Sunday; 1970 began on a Thursday."""
    since_monday = _with_number(graph, "Mod", _with_number(graph, "Add", days, 3), 7)
    return _with_number(graph, "Add", since_monday, 1)


def _month(graph: Graph, days: str) -> str:
    """The month of a day, 1 to 12, by the calendar of 400 years that begins in March, so that leap days come last."""
    since_march = _with_number(graph, "Add", days, 719_468)
    day_of_era = _with_number(graph, "Mod", since_march, 146_097)

    # without the leap days that came before, an era has years of 365 days
    centuries = _with_number(graph, "Div", day_of_era, 36_524)
    corrections = graph.add(
        "Add", _with_number(graph, "Div", day_of_era, 1_460), _with_number(graph, "Div", day_of_era, 146_096)
    )
    leap_days = graph.add("Sub", centuries, corrections)
    year = _with_number(graph, "Div", graph.add("Add", day_of_era, leap_days), 365)

    days_of_years = graph.add("Add", _with_number(graph, "Mul", year, 365), _with_number(graph, "Div", year, 4))
    first_day = graph.add("Sub", days_of_years, _with_number(graph, "Div", year, 100))
    day_of_year = graph.add("Sub", day_of_era, first_day)

    fifths = _with_number(graph, "Add", _with_number(graph, "Mul", day_of_year, 5), 2)
    month_since_march = _with_number(graph, "Div", fifths, 153)
    since_january = _with_number(graph, "Mod", _with_number(graph, "Add", month_since_march, 2), 12)
    return _with_number(graph, "Add", since_january, 1)
